"""What ships with the code: scenes, assets, pilots, recorders, and scenes of other packages. It imports nothing heavy.

In a clone both folders lie beside the package, in an installed package inside it. Another package names its scenes in
the entry points of the group `ecs_rl.scenes`, each with the module that is the scene's file. No code of that package
runs before one of its scenes is loaded: a package that is broken breaks nothing but its scenes.
"""

from __future__ import annotations

import ast
import re
import sys
from collections.abc import Iterator
from functools import cache
from importlib.machinery import PathFinder
from importlib.metadata import entry_points
from pathlib import Path

from ecs_rl.console import tell
from ecs_rl.errors import quoted, visible

GROUP = "ecs_rl.scenes"
NAME = re.compile(r"[A-Za-z0-9][A-Za-z0-9._-]{0,63}")
"""How a scene may be called: a run has the same name."""

RECORDERS = {"tensorboard": "TensorboardRecorder", "mlflow": "MlflowRecorder", "wandb": "WandbRecorder"}
"""The class of each recorder that comes with the project, in the module `runs/NAME_recorder.py`."""

_PACKAGE = Path(__file__).resolve().parent


def _folder(name: str) -> Path:
    """Return the folder of this name inside the package, or beside it where there is none inside."""
    inside = _PACKAGE / name
    return inside if inside.is_dir() else _PACKAGE.parent / name


SCENES = _folder("scenes")
ASSETS = _folder("assets")
PILOTS = ASSETS / "pilots"


@cache
def scene_files() -> dict[str, Path]:
    """Return the file of every scene that has a name, in the order of the names; ours come before all others."""
    ours = {path.stem: path for path in SCENES.glob("*.py") if not path.stem.startswith("_")}
    return dict(sorted({**dict(_scenes_of_packages()), **ours}.items()))


def _scenes_of_packages() -> Iterator[tuple[str, Path]]:
    """Yield the scenes of other packages by name; one line says of a package which scene of it cannot be."""
    for entry_point in entry_points(group=GROUP):
        path, problem = _file_of(entry_point.value), ""
        if not NAME.fullmatch(entry_point.name):
            problem = f"{quoted(entry_point.name)} is no name for a scene"
        elif path is None:
            problem = f"its scene '{entry_point.name}' is left out: there is no module {quoted(entry_point.value)}"
        else:
            yield entry_point.name, path
        if problem:
            package = entry_point.dist.name if entry_point.dist is not None else "unknown"
            tell(visible(f"ecs_rl: the package {package}: {problem}: install it again, or remove it"), sys.stderr)


def _file_of(module: str) -> Path | None:
    """Return the file of a module, None if there is none; nothing is run.

    Python's own search, `find_spec`, would run the packages around the module.
    """
    top, *inner = module.split(".")
    if not all(map(str.isidentifier, (top, *inner))):
        return None
    finders = (finder for finder in sys.meta_path if hasattr(finder, "find_spec"))
    spec = next((found for finder in finders if (found := finder.find_spec(top, None)) is not None), None)
    for name in inner:
        if spec is None or spec.submodule_search_locations is None:
            return None
        spec = PathFinder.find_spec(name, spec.submodule_search_locations)
    return Path(spec.origin).resolve() if spec is not None and spec.origin else None


def reference_of(path: Path) -> str:
    """Return how runs name the scene of a file: by its name where it has one, else by the path."""
    return next((name for name, file in scene_files().items() if file == path), str(path))


def scene_names() -> list[str]:
    """Return the names of the scenes that come with the project, and of those that other packages bring."""
    return list(scene_files())


def pilot_file(scene: str) -> Path | None:
    """Return the checkpoint of the trained policy that comes with a scene of this name, None where none does."""
    path = PILOTS / f"{scene}.safetensors"
    return path if scene in scene_names() and path.is_file() else None


def scene_abouts() -> dict[str, str]:
    """Return what each scene is about, by its name: the text is read from the file, no scene is run."""
    return {name: _about(path) for name, path in scene_files().items()}


def _about(path: Path) -> str:
    """Return the `about` of a scene file's `SCENE = Scene(about="...", ...)`, or nothing if it cannot be read."""
    try:
        tree = ast.parse(path.read_text(encoding="utf-8"))
    except (SyntaxError, ValueError, OSError, RecursionError, MemoryError):
        return ""  # the loader says what is wrong with it, once it is wanted
    calls = (node for node in ast.walk(tree) if isinstance(node, ast.Call) and ast.unparse(node.func) == "Scene")
    given = (word.value for call in calls for word in call.keywords if word.arg == "about")
    return next((str(each.value) for each in given if isinstance(each, ast.Constant)), "")
