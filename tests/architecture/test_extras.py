"""Whoever lacks an optional package is given one command, the same in messages and pages, with an extra that exists."""

from __future__ import annotations

import re
import tomllib
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[2]
EXTRAS = tomllib.loads((ROOT / "pyproject.toml").read_text())["project"]["optional-dependencies"]
SOURCES = sorted((ROOT / "ecs_rl").rglob("*.py"))
PAGES = [ROOT / folder / "README.md" for folder in (".", "ecs_rl", "ecs_rl/agents", "scenes")]
OF_A_CLONE = {"-e .", ".", "-e '.[dev]'"}


def test_messages_install_extras_of_the_project() -> None:
    named = [name for path in SOURCES for name in re.findall(r"\{install\(['\"](\w+)['\"]\)\}", path.read_text())]
    assert {"ray", "sweep", "gym", "atari", "video", "onnx", "tb", "mlflow", "wandb"} <= set(named) <= set(EXTRAS)
    others = [path.name for path in SOURCES if "pip install" in path.read_text()]
    assert others == ["errors.py"], "the command stands in one place"


@pytest.mark.parametrize("page", PAGES, ids=lambda path: path.parent.name)
def test_pages_install_them_by_the_same_command(page: Path) -> None:
    for what in re.findall(r"pip install ((?:-e )?(?:'[^']*'|[\w.\[\]-]+))", page.read_text()):
        extra = re.fullmatch(r"'ecs-rl\[(\w+)\]'", what)
        assert what in OF_A_CLONE or (extra is not None and extra[1] in EXTRAS), what
