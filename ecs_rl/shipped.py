"""What ships with the project beside its code: the scenes and the assets. Nothing heavy is imported here.

In a clone both folders lie beside the package, in an installed package inside it.
"""

from __future__ import annotations

import ast
from pathlib import Path

_PACKAGE = Path(__file__).resolve().parent


def _folder(name: str) -> Path:
    """Return the folder of this name inside the package, or beside it where there is none inside."""
    inside = _PACKAGE / name
    return inside if inside.is_dir() else _PACKAGE.parent / name


SCENES = _folder("scenes")
ASSETS = _folder("assets")


def scene_names() -> list[str]:
    """Return the names of the scenes that come with the project."""
    return sorted(path.stem for path in SCENES.glob("*.py") if not path.stem.startswith("_"))


def scene_abouts() -> dict[str, str]:
    """Return what each scene is about, by its name: the text is read from the file, no scene is run."""
    return {name: _about(SCENES / f"{name}.py") for name in scene_names()}


def _about(path: Path) -> str:
    """Return the `about` of a scene file's `SCENE = Scene(about="...", ...)`, or nothing if it cannot be read."""
    try:
        tree = ast.parse(path.read_text(encoding="utf-8"))
    except (SyntaxError, ValueError, OSError):
        return ""  # the loader says what is wrong with it, once it is wanted
    calls = (node for node in ast.walk(tree) if isinstance(node, ast.Call) and ast.unparse(node.func) == "Scene")
    given = (word.value for call in calls for word in call.keywords if word.arg == "about")
    return next((str(each.value) for each in given if isinstance(each, ast.Constant)), "")
