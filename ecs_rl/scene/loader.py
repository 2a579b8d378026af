"""Finding and reading scene files; a bug in one is told by file and line, never as a bare traceback."""

from __future__ import annotations

import importlib.util
import inspect
import re
import sys
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from types import ModuleType

from ecs_rl.errors import CommandError, EcsRlError, SceneError, nearest
from ecs_rl.scene.arena import Arena, Scene
from ecs_rl.scene.blame import lines_in, told

SCENES = Path(__file__).resolve().parents[2] / "scenes"


def scene_names() -> list[str]:
    """Return the names of the scenes that come with the project."""
    return sorted(path.stem for path in SCENES.glob("*.py") if not path.stem.startswith("_"))


def scene_path(scene: str) -> Path:
    """Return the file of a scene given by name or by path, or refuse with the nearest name."""
    if scene.startswith("gym:"):
        raise CommandError(
            f"'{scene}': Gymnasium environments cannot be trained yet; pick a scene: {', '.join(scene_names())}"
        )
    given = Path(scene)
    if scene.endswith(".py") or len(given.parts) > 1:
        if not given.is_file():
            raise CommandError(f"there is no scene file {scene}: check the path")
        return given.resolve()
    if scene not in scene_names():
        raise CommandError(
            f"there is no scene '{scene}': {nearest(scene, scene_names())} (or give a path to a .py file)"
        )
    return SCENES / f"{scene}.py"


@contextmanager
def blaming(file: str) -> Iterator[None]:
    """Turn whatever goes wrong in a scene's own lines into a SceneError that names the line."""
    try:
        yield
    except SyntaxError as error:
        line = f", line {error.lineno}" if error.lineno else ""  # a file that is no text has none
        raise SceneError(f"{error.filename or file}{line}: {error.msg}") from error
    except (Exception, SystemExit) as error:
        if file and str(error).startswith(file):
            raise  # said already, further in
        lines = lines_in(file, error)
        if isinstance(error, SceneError) and not lines and file:
            raise SceneError(f"{file}: {error}") from error
        if not lines or (isinstance(error, EcsRlError) and not isinstance(error, SceneError)):
            raise
        caller = f" (called in line {lines[-2]})" if len(set(lines)) > 1 else ""
        raise SceneError(f"{file}, line {lines[-1]}: {told(error)}{caller}") from error


def load_scene(scene: str) -> Scene:
    """Return the scene named on a command line."""
    path = scene_path(scene)
    with blaming(str(path)):
        module = _run_file(path)
        found, build = getattr(module, "SCENE", None), getattr(module, "build", None)
    if not isinstance(found, Scene):
        raise SceneError(f"{path}: has no `SCENE = Scene(...)`")
    if not callable(build) or not _takes_one(build):
        raise SceneError(f"{path}: has no `def build(arena): ...`")

    def build_blamed(arena: Arena) -> None:
        with blaming(str(path)):
            build(arena)

    loaded = found.named(_name_of(path), str(path), path.stem if path.parent == SCENES else str(path), build_blamed)
    try:
        loaded.describe()
    except SceneError as error:
        raise error if str(path) in str(error) else SceneError(f"{path}: {error}") from error
    return loaded


def _takes_one(build: Callable[..., object]) -> bool:
    try:
        inspect.signature(build).bind(None)
    except TypeError:
        return False
    return True


def _name_of(path: Path) -> str:
    """Return the file's stem, made fit to name a run directory."""
    return re.sub(r"[^A-Za-z0-9._-]", "_", path.stem).lstrip("._-")[:64] or "scene"


def _run_file(path: Path) -> ModuleType:
    name = f"ecs_rl_scene_{path.stem}"
    spec = importlib.util.spec_from_file_location(name, path)
    if spec is None or spec.loader is None:
        raise CommandError(f"{path} cannot be read as a Python file")
    module = importlib.util.module_from_spec(spec)
    sys.modules[name] = module  # dataclasses in the file look their module up
    spec.loader.exec_module(module)
    return module
