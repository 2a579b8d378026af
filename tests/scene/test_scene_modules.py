"""A scene may import modules from its own folder; its SHA-256 covers them, and no two folders get mixed up."""

from __future__ import annotations

import hashlib
import importlib.util
import py_compile
import sys
from pathlib import Path

import numpy as np
import pytest

from ecs_rl.errors import CommandError, SceneError
from ecs_rl.loading import load_scene
from ecs_rl.scene.scene import Scene
from ecs_rl.shipped import scene_names
from ecs_rl.worlds import make_world

TEXT = """\
import numpy as np
from ecs_rl.scene import *
{imports}

SCENE = Scene(about="A test.", max_ticks=20)


def build(arena):
    disc = arena.spawn("disc", Body(mass={mass}), Disc(0.1))
    arena.agent(sees=[X(disc)], does=Choice(left=Push(disc, -1.0), right=Push(disc, 1.0)), earns={{"x": {earns}}})
"""


def write(folder: Path, imports: str, mass: str = "1.0", earns: str = "X(disc)", **modules: str) -> str:
    """Write a scene and modules beside it (`a__b` is `a/b.py`); return the scene's path."""
    folder.mkdir(exist_ok=True, parents=True)
    for name, text in modules.items():
        path = folder / f"{name.replace('__', '/')}.py"
        path.parent.mkdir(exist_ok=True)
        path.write_text(text)
    scene = folder / "mine.py"
    scene.write_text(TEXT.format(imports=imports, mass=mass, earns=earns))
    return str(scene)


def mass_of(scene: Scene) -> float:
    (role,) = scene.describe().roles
    assert role.body is not None
    return float(role.body.mass)


@pytest.mark.parametrize(
    ("imports", "mass", "modules"),
    [
        ("import helper", "helper.MASS", {"helper": "MASS = 3.5"}),
        ("from helper import *", "MASS", {"helper": "MASS = 3.5"}),
        ("import helper as h", "h.MASS", {"helper": "from deeper import MASS", "deeper": "MASS = 3.5"}),
        ("import parts.heavy", "parts.heavy.MASS", {"parts__heavy": "MASS = 3.5"}),
        ("import parts.heavy as p", "p.MASS", {"parts__heavy": "from . import i\nMASS = i.M", "parts__i": "M = 3.5"}),
        ("from parts import heavy", "heavy.MASS", {"parts__heavy": "MASS = 3.5"}),
        ("from .helper import MASS", "MASS", {"helper": "MASS = 3.5"}),
        ("from scene import MASS", "MASS", {"scene": "MASS = 3.5"}),
    ],
)
def test_a_scene_imports_from_its_own_folder(imports: str, mass: str, modules: dict[str, str], tmp_path: Path) -> None:
    before, path = set(sys.modules), list(sys.path)
    assert mass_of(load_scene(write(tmp_path, imports, mass, **modules))) == 3.5
    assert sys.path == path
    assert all(name.startswith("ecs_rl_scene_") for name in set(sys.modules) - before)


def test_two_folders_may_each_have_a_module_of_one_name(tmp_path: Path) -> None:
    light = load_scene(write(tmp_path / "a", "import helper", "helper.MASS", helper="MASS = 1.5"))
    heavy = load_scene(write(tmp_path / "b", "import helper", "helper.MASS", helper="MASS = 2.5"))
    assert [mass_of(scene) for scene in (light, heavy, light)] == [1.5, 2.5, 1.5]
    with pytest.raises(SceneError, match="No module named 'helper'"):
        load_scene(write(tmp_path / "c", "import helper", "helper.MASS"))


def test_what_a_rule_imports_only_when_it_is_asked_is_found_too(tmp_path: Path) -> None:
    rule = "def late():\n    import helper\n    return np.full(3, helper.PAY)\n"
    path = write(tmp_path, rule, earns="late", helper="PAY = 0.25")
    world = make_world(load_scene(path), arenas=3, policies={"policy": lambda seen, state: np.zeros(len(seen), int)})
    load_scene(write(tmp_path / "other", "import helper", "helper.PAY", helper="PAY = 9.0"))
    world.tick()


def test_a_helper_may_hold_dataclasses_and_do_without_an_absent_library(tmp_path: Path) -> None:
    helper = (
        "from __future__ import annotations\nfrom dataclasses import dataclass\n"
        "try:\n    import no_such_library\nexcept ImportError:\n    no_such_library = None\n"
        "@dataclass\nclass Ship:\n    mass: float = 4.5\n"
    )
    imports = "from helper import Ship\ntry:\n    import fancy\nexcept ImportError:\n    fancy = None"
    path = write(tmp_path, imports, "Ship().mass", helper=helper, fancy="import no_such_library")
    assert mass_of(load_scene(path)) == 4.5


def test_a_mistake_in_a_helper_is_told_with_its_file_and_line(tmp_path: Path) -> None:
    path = write(tmp_path, "import helper", helper="\n\nMASS = nothing\n")
    with pytest.raises(SceneError) as refused:
        load_scene(path)
    helper = tmp_path / "helper.py"
    assert str(refused.value) == f"{path}, line 3: {helper}, line 3: NameError: name 'nothing' is not defined"
    helper.write_text("MASS = (\n")
    with pytest.raises(SceneError, match=r"helper\.py, line 1: .*never closed"):
        load_scene(path)


def test_a_file_called_like_a_module_of_python_or_this_project_is_not_meant(tmp_path: Path) -> None:
    path = write(tmp_path, "import random", random="raise SystemExit", ecs_rl="raise SystemExit")
    assert load_scene(path).sha256 == hashlib.sha256(Path(path).read_bytes()).hexdigest()


def test_a_folder_without_init_does_not_hide_an_installed_library(tmp_path: Path) -> None:
    (tmp_path / "numpy").mkdir()
    assert load_scene(write(tmp_path, "", "float(np.float64(2.0))")).describe()


def test_a_scene_is_run_from_its_text_not_from_a_compiled_copy_of_something_else(tmp_path: Path) -> None:
    path = write(tmp_path, "import helper", "helper.MASS", helper="MASS = 1.5")
    bad = tmp_path / "bad.py"
    bad.write_text("raise SystemExit")
    for name in ("mine", "helper"):
        compiled = importlib.util.cache_from_source(str(tmp_path / f"{name}.py"))
        py_compile.compile(str(bad), compiled, invalidation_mode=py_compile.PycInvalidationMode.UNCHECKED_HASH)
    assert mass_of(load_scene(path)) == 1.5


def test_an_edited_helper_is_read_anew_with_the_next_load(tmp_path: Path) -> None:
    path = write(tmp_path, "import helper", "helper.MASS", helper="MASS = 1.5")
    before = load_scene(path)
    (tmp_path / "helper.py").write_text("MASS = 2.5")
    after = load_scene(path)
    assert (mass_of(before), mass_of(after)) == (1.5, 2.5)
    assert before.sha256 != after.sha256


@pytest.mark.parametrize("name", scene_names())
def test_the_hash_of_a_scene_without_helpers_is_that_of_its_file(name: str) -> None:
    scene = load_scene(name)
    assert scene.sha256 == hashlib.sha256(Path(scene.file).read_bytes()).hexdigest()


def test_the_hash_covers_what_is_imported_by_name_and_content_and_nothing_else(tmp_path: Path) -> None:
    imports = "import helper\nif False:\n    from other import thing"
    modules = {"helper": "import deeper", "deeper": "A = 1", "other": "thing = 1"}

    def sha(folder: str, imports: str = imports, **changed: str) -> str:
        return load_scene(write(tmp_path / folder, imports, **{**modules, **changed})).sha256

    first = sha("first")
    assert sha("elsewhere") == first
    assert sha("beside", stranger="B = 1") == first
    changed = [sha("h", helper="import deeper\n"), sha("d", deeper="A = 2"), sha("o", other="thing = 2")]
    renamed = sha("r", helper="import deeper2", deeper2="A = 1")
    swapped = sha("s", deeper="thing = 1", other="A = 1")
    assert len({first, *changed, renamed, swapped}) == 6


def test_more_code_than_anybody_writes_is_refused_before_it_is_read(tmp_path: Path) -> None:
    scene = write(tmp_path, "import law", law="MASS = 1.0")
    with (tmp_path / "law.py").open("ab") as file:
        file.truncate(10**11)  # takes no room on the disk
    told = r"law\.py cannot be read: a file and its helpers may have 16,000,000 bytes of code"
    with pytest.raises(CommandError, match=told):
        load_scene(scene)
