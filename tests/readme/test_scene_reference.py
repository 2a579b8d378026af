"""The reference of what a scene may use has all of it, says what each is, and is what the docstrings say today."""

from __future__ import annotations

import inspect
import re
from dataclasses import is_dataclass

import make_reference
import pytest
from pages import PAGES, ROOT, TEXT

import ecs_rl.scene
from ecs_rl.scene import Arena, Role
from ecs_rl.scene.members import MEMBERS

LISTED = [name for names in make_reference.GROUPS.values() for name in names]


def test_it_is_made_from_the_docstrings_of_today() -> None:
    told = "run `python tests/readme/make_reference.py`"
    assert PAGES["scenes/REFERENCE.md"] == make_reference.page(), told


def test_it_has_every_public_name_once() -> None:
    assert sorted(LISTED) == sorted(ecs_rl.scene.__all__)


@pytest.mark.parametrize("name", LISTED)
def test_each_name_has_a_docstring_in_sentences_and_so_has_each_of_its_settings(name: str) -> None:
    thing = getattr(ecs_rl.scene, name)
    told = inspect.getdoc(thing) or ""
    assert not told.startswith(f"{name}("), "what dataclasses make by themselves"
    assert len(told) > 8
    assert told.endswith((".", "`")), told
    if is_dataclass(thing) and name not in make_reference.HANDED_OUT:
        for setting, text in make_reference.settings(thing).items():
            assert len(text) > 5, f"{name}.{setting}"
    for member in MEMBERS.get(name, ()):
        assert len(make_reference.member(thing, member).partition(": ")[2]) > 5, f"{name}.{member}"


def test_it_has_what_scenes_use_of_an_arena_and_of_roles() -> None:
    scenes = [path.read_text("utf-8") for folder in ("scenes", "tests/scenes") for path in (ROOT / folder).glob("*.py")]
    asked = set(re.findall(r"\barena\.(\w+)", "\n".join([*scenes, TEXT])))
    assert {name for name in asked if hasattr(Arena, name)} <= set(MEMBERS["Arena"])
    asked = set(re.findall(r"\b[a-z]\w*\.(\w+)", "\n".join(scenes)))
    public = {name for name in dir(Role) if not name.startswith("_")} & asked
    assert public - {"members", "body"} <= set(MEMBERS["Role"])
