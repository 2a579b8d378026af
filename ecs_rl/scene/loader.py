"""Finding and reading scene files; a bug in one is told by file and line, never as a bare traceback."""

from __future__ import annotations

import re
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import replace
from pathlib import Path

from ecs_rl.errors import CommandError, EcsRlError, SceneError, is_interrupt, nearest
from ecs_rl.scene.arena import Arena
from ecs_rl.scene.blame import explained, scene_lines_in
from ecs_rl.scene.checks import fits
from ecs_rl.scene.outline import outline_of
from ecs_rl.scene.scene import Scene
from ecs_rl.shipped import reference_of, scene_files, scene_names
from ecs_rl.user_files.file_errors import problem_at, syntax_problem
from ecs_rl.user_files.known import remember
from ecs_rl.user_files.opened import OpenedFiles
from ecs_rl.user_files.sources import Sources, read_sources


def scene_path(scene: str) -> Path:
    """Return the file of a scene given by name or by path, or refuse with the nearest name."""
    given = Path(scene)
    if scene.endswith(".py") or len(given.parts) > 1:
        if not given.is_file():
            raise CommandError(f"there is no scene file {scene}: check the path")
        return given.resolve()
    if scene not in scene_names():
        raise CommandError(
            f"there is no scene '{scene}': {nearest(scene, scene_names())} (or give a path to a .py file)"
        )
    return scene_files()[scene]


@contextmanager
def blaming_scene(file: str) -> Iterator[None]:
    """Turn whatever goes wrong in a scene's own lines into a SceneError that names the line."""
    try:
        yield
    except SyntaxError as error:
        raise SceneError(syntax_problem(error, file)) from error
    except BaseException as raised:
        if is_interrupt(raised) or (isinstance(raised, EcsRlError) and file and str(raised).startswith(file)):
            raise  # nobody's mistake, or said already, further in
        mistake = _stopped(raised)
        lines = scene_lines_in(file, mistake)
        if isinstance(mistake, SceneError) and not lines and file:
            raise SceneError(f"{file}: {mistake}") from mistake
        if not lines or (isinstance(mistake, EcsRlError) and not isinstance(mistake, SceneError)):
            raise
        raise SceneError(problem_at(file, lines, explained(mistake))) from mistake


def _stopped(error: BaseException) -> BaseException:
    """Return the StopIteration that a generator of the engine turned into another error, or the error itself."""
    cause = error.__cause__
    return cause if isinstance(error, RuntimeError) and isinstance(cause, StopIteration) else error


def load_file(scene: str) -> Scene:
    """Return the scene of a name or a file; the file counts as run by the user from now on."""
    path = scene_path(scene)
    if path.suffix != ".py":
        raise CommandError(f"{path} cannot be read as a Python file")
    sources = sources_of(path)
    if reference_of(path) not in scene_names():
        remember(sources)
    return scene_of(sources)


def sources_of(path: Path) -> Sources:
    """Return a scene's file and its helpers as they were read; nothing is run."""
    with blaming_scene(str(path)):
        try:
            return read_sources(path)
        except OSError as error:
            raise CommandError(f"{error.filename} cannot be read: {error.strerror}") from error


def scene_of(sources: Sources) -> Scene:
    """Return the scene that these files make; they are run as they were read."""
    path = sources.main.file
    opened = OpenedFiles(path.parent)
    with blaming_scene(str(path)), opened.watching():
        module = sources.run(blaming_scene)
        scene, build = getattr(module, "SCENE", None), getattr(module, "build", None)
    if not isinstance(scene, Scene):
        raise SceneError(f"{path}: has no `SCENE = Scene(...)`")
    if not callable(build) or fits(build, None):
        raise SceneError(f"{path}: has no `def build(arena): ...`")

    def build_blamed(arena: Arena) -> None:
        with blaming_scene(str(path)), opened.watching():
            build(arena)

    reference = reference_of(path)
    loaded = replace(
        scene,
        name=reference if reference in scene_names() else _name_of(path),
        file=str(path),
        reference=reference,
        build=build_blamed,
        sha256=sources.sha256,
    )
    with blaming_scene(str(path)):
        outline = outline_of(loaded.describe())
    return replace(loaded, data=dict(opened.contents), outline=outline)


def _name_of(path: Path) -> str:
    """Return the file's stem, made fit to name a run directory."""
    return re.sub(r"[^A-Za-z0-9._-]", "_", path.stem).lstrip("._-")[:64] or "scene"
