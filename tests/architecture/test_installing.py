"""What `python -m pip install` puts into an environment: by path from a clone, and whole in a wheel.

The environments are new and see the packages of the running one; only the build's own tool comes from the index.
"""

from __future__ import annotations

import json
import os
import shutil
import subprocess
import sys
import tarfile
import venv
import zipfile
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[2]
TOP = ("pyproject.toml", "README.md", ".gitignore", "train.py", "play.py", "ecs_rl", "scenes", "assets", "tests")
WHERE = "import ecs_rl, ecs_rl.runs; from ecs_rl.shipped import SCENES; print(ecs_rl.runs.__file__, SCENES, sep='\\n')"
TRAIN = (
    "from ecs_rl.commands.train import main; "
    "raise SystemExit(main(['balance', '--steps', '2k', '--eval-every', '1k', '--eval-episodes', '2', '--json']))"
)


@pytest.fixture(scope="module")
def clone(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Return a copy of the project in a folder that has the package's own name, with a folder `runs`."""
    folder = tmp_path_factory.mktemp("parent") / "ecs_rl"
    folder.mkdir()
    for name in TOP:
        if (ROOT / name).is_dir():
            shutil.copytree(ROOT / name, folder / name, ignore=shutil.ignore_patterns("__pycache__"))
        else:
            shutil.copy(ROOT / name, folder / name)
    (folder / "runs").mkdir()
    (folder / "notes.txt").write_text("of whoever works on the clone")
    return folder


@pytest.fixture(scope="module")
def wheel(clone: Path) -> Path:
    done("-m", "pip", "wheel", "--quiet", "--no-deps", "--wheel-dir", clone.parent, clone)
    (built,) = clone.parent.glob("ecs_rl-*.whl")
    return built


@pytest.fixture(scope="module")
def archive(clone: Path) -> Path:
    """Return the source archive, built by the build's own tool."""
    tools = clone.parent / "tools"
    done("-m", "pip", "--quiet", "install", "--target", tools, "hatchling>=1.26")
    code = f"import sys; sys.path.insert(0, {str(tools)!r}); from hatchling.build import build_sdist as b; b('..')"
    done("-c", code, cwd=clone)
    (built,) = clone.parent.glob("ecs_rl-*.tar.gz")
    return built


def done(*args: object, python: Path | str = sys.executable, cwd: Path | None = None) -> str:
    """Run Python with these arguments and return what it said."""
    env = {name: value for name, value in os.environ.items() if name != "PYTHONPATH"}
    asked = [str(python), *map(str, args)]
    told = subprocess.run(asked, cwd=cwd, env=env, capture_output=True, text=True, timeout=240, check=False)
    assert told.returncode == 0, told.stderr
    return told.stdout


def installed(folder: Path, *what: object) -> Path:
    """Return the Python of a new environment in which this is installed, and which sees the running one's packages."""
    venv.create(folder, symlinks=True, with_pip=False)
    python = folder / "bin" / "python"
    done("-m", "pip", "--quiet", "--python", python, "install", "--no-deps", *what)
    site = Path(done("-c", "import sysconfig; print(sysconfig.get_path('purelib'))", python=python).strip())
    # After the project's own entry: files with paths are read in the order of their names.
    (site / "zz_running.pth").write_text("\n".join(path for path in sys.path if "-packages" in path))
    return python


def test_a_clone_named_as_the_package_is_found_from_its_parent_folder_and_by_a_script_beside_it(
    clone: Path, tmp_path: Path
) -> None:
    python = installed(tmp_path / "env", "-e", clone)
    wanted = [str(clone / "ecs_rl" / "runs" / "__init__.py"), str(clone / "scenes")]
    assert done("-c", WHERE, python=python, cwd=clone.parent).splitlines() == wanted
    script = clone.parent / "mine.py"
    script.write_text(WHERE)
    assert done(script, python=python, cwd=tmp_path).splitlines() == wanted


def test_a_wheel_trains_and_plays_in_an_empty_folder(wheel: Path, tmp_path: Path) -> None:
    python, folder = installed(tmp_path / "env", wheel), tmp_path / "empty"
    folder.mkdir()
    code, scenes = done("-c", WHERE, python=python, cwd=folder).splitlines()
    assert Path(code).is_relative_to(tmp_path)
    assert Path(scenes) == Path(code).parents[1] / "scenes"
    told = json.loads(done("-c", TRAIN, python=python, cwd=folder).splitlines()[-1])
    assert (told["scene"], told["steps"]) == ("balance", 2016)
    play = (python.with_name("ecs-rl"), "play", "--headless", "--json")
    assert json.loads(done(*play, python=python, cwd=folder))["episodes"] == 20
    landed = json.loads(done(*play, "lander", "--episodes", "2", python=python, cwd=folder))
    assert Path(landed["checkpoint"]).is_relative_to(tmp_path), "the pilot comes with the wheel"
    assert landed["mean_return"] > 100


def test_a_wheel_holds_every_module_scene_font_and_licence_and_nothing_else(wheel: Path) -> None:
    with zipfile.ZipFile(wheel) as file:
        found = {name for name in file.namelist() if ".dist-info/" not in name}
    wanted = {each.relative_to(ROOT).as_posix() for each in (ROOT / "ecs_rl").rglob("*.py")} | {"ecs_rl/py.typed"}
    wanted |= {f"ecs_rl/scenes/{each.name}" for each in (ROOT / "scenes").glob("*.py")}
    assets = {each.relative_to(ROOT) for each in (ROOT / "assets").rglob("*") if each.is_file()}
    wanted |= {f"ecs_rl/{each.as_posix()}" for each in assets if each.parts[1] != "pictures"}
    assert found == wanted
    assert "ecs_rl/assets/fonts/LICENSE" in found


def test_a_source_archive_holds_what_a_clone_does_and_nothing_that_lies_about_in_it(archive: Path) -> None:
    with tarfile.open(archive) as file:
        found = {name.partition("/")[2] for name in file.getnames()}
    folders = [each for each in TOP if (ROOT / each).is_dir()]
    every = [each for folder in folders for each in (ROOT / folder).rglob("*") if each.is_file()]
    wanted = {each.relative_to(ROOT).as_posix() for each in every if not {"__pycache__", ".hypothesis"} & {*each.parts}}
    assert found == wanted | {each for each in TOP if each not in folders} | {"PKG-INFO"}


def test_a_source_archive_installs_what_the_wheel_does_and_trains_in_an_empty_folder(
    archive: Path, wheel: Path, tmp_path: Path
) -> None:
    done("-m", "pip", "wheel", "--quiet", "--no-deps", "--wheel-dir", tmp_path, archive)
    (again,) = tmp_path.glob("ecs_rl-*.whl")
    names = [sorted(zipfile.ZipFile(each).namelist()) for each in (wheel, again)]
    assert names[0] == names[1]
    python = installed(tmp_path / "env", again)
    (tmp_path / "empty").mkdir()
    told = json.loads(done("-c", TRAIN, python=python, cwd=tmp_path / "empty").splitlines()[-1])
    assert told["status"] == "finished"


def test_a_scene_of_another_package_is_trained_and_played_by_its_name(tmp_path: Path) -> None:
    package, facts = tmp_path / "jumping" / "scenes", tmp_path / "jumping-1.0.dist-info"
    package.mkdir(parents=True)
    facts.mkdir()
    shutil.copy(ROOT / "scenes" / "balance.py", package / "hop.py")
    (facts / "METADATA").write_text("Metadata-Version: 2.1\nName: jumping\nVersion: 1.0\n")
    told = "[ecs_rl.scenes]\njump = jumping.scenes.hop\nbalance = jumping.scenes.hop\ngone = jumping.scenes.gone\n"
    (facts / "entry_points.txt").write_text(told)
    code = (
        f"import sys; sys.path.insert(0, {str(tmp_path)!r})\n"
        "from ecs_rl.commands import play, train\n"
        "from ecs_rl.shipped import SCENES, scene_files\n"
        "assert scene_files()['balance'].parent == SCENES and 'gone' not in scene_files()\n"
        "assert train.main(['jump', '--steps', '1k', '--eval-every', '1k', '--eval-episodes', '2', '--json']) == 0\n"
        "assert play.main(['runs/jump', '--headless', '--episodes', '2', '--json']) == 0\n"
    )
    lines = done("-c", code, cwd=tmp_path).splitlines()
    assert json.loads(lines[0])["scene"] == "jump"
    assert json.loads(lines[-1])["episodes"] == 2
