"""A scene says what its picture shows, and what is drawn there: no number changes, and mistakes are told by line."""

from __future__ import annotations

import re
from pathlib import Path

import numpy as np
import pytest
from scene_files import GOOD, OTHER, SCENE, Save, run, with_line

from ecs_rl.errors import SceneError
from ecs_rl.loading import load_scene
from ecs_rl.scene import Arena, Body, Choice, Disc, Follow, Look, Push, Scene, View, X, jitter
from ecs_rl.worlds import make_world

MARK = "other = arena.spawn('other', Body(), Box(0.1, 0.2)); "
BAD = [
    ("no width", SCENE, 'SCENE = Scene(about="", max_ticks=9, camera=Follow("disc", width=0))', "must be above zero"),
    (
        "a negative width",
        SCENE,
        'SCENE = Scene(about="", max_ticks=9, camera=Follow("disc", -4))',
        "must be above zero",
    ),
    ("no role", SCENE, 'SCENE = Scene(about="", max_ticks=9, camera=Follow("disk", 4))', "did you mean 'disc'?"),
    (
        "a member of one",
        SCENE,
        'SCENE = Scene(about="", max_ticks=9, camera=Follow("disc", 4, member=1))',
        "leave member=",
    ),
    (
        "half a member",
        SCENE,
        'SCENE = Scene(about="", max_ticks=9, camera=Follow("disc", 4, member=0.5))',
        "whole number",
    ),
    (
        "looking back",
        SCENE,
        'SCENE = Scene(about="", max_ticks=9, camera=Follow("disc", 4, ahead=-1))',
        "not be negative",
    ),
    ("no name", SCENE, 'SCENE = Scene(about="", max_ticks=9, camera=Follow(5, 4))', "needs a name"),
    ("an empty view", SCENE, 'SCENE = Scene(about="", max_ticks=9, camera=View((1, 1), (0, 2)))', "from low to high"),
    ("half a view", SCENE, 'SCENE = Scene(about="", max_ticks=9, camera=View((0, 1), 2))', "must be a pair"),
    ("a camera in words", SCENE, 'SCENE = Scene(about="", max_ticks=9, camera="disc")', "a camera must be a Follow"),
    ("a mark twice", OTHER, MARK + "arena.mark('m', Disc(1)); arena.mark('m', Disc(1))", "a mark 'm' already"),
    ("no name of a mark", OTHER, MARK + "arena.mark('', Disc(1))", "a mark needs a name"),
    ("a mark of one point", OTHER, MARK + "arena.mark('m', ((0, 0),))", "a line of at least two points"),
    ("a mark of a body", OTHER, MARK + "arena.mark('m', disc)", "a line of at least two points"),
    ("a mark of NaN", OTHER, MARK + "arena.mark('m', ((0, 0), (1, float('nan'))))", "must be a finite number"),
    ("a look in words", OTHER, MARK + "arena.mark('m', Disc(1), 'red')", "looks as a Look says"),
    ("a mark at a role", OTHER, MARK + "arena.mark('m', Disc(1), at=disc)", "must be a pair (x, y)"),
    (
        "a rule with arguments",
        OTHER,
        MARK + "arena.mark('m', Disc(1), at=lambda t: t)",
        "without arguments such as a point",
    ),
    ("an angle in words", OTHER, MARK + "arena.mark('m', Disc(1), angle='up')", "must be a finite number"),
    ("a truth for where", OTHER, MARK + "arena.mark('m', Disc(1), where=True)", "must be a rule such as"),
    ("half a layer", OTHER, MARK + "arena.mark('m', Disc(1), Look(layer=0.5))", "layer must be a whole number"),
    ("no picture", OTHER, MARK + "arena.mark('m', Disc(1), Look(sprite='no.png'))", "there is no sprite 'no.png'"),
]


@pytest.mark.parametrize(("what", "line", "text", "message"), BAD, ids=[row[0] for row in BAD])
def test_a_bad_camera_or_mark_is_refused_by_its_line(save: Save, what: str, line: int, text: str, message: str) -> None:
    path = save(with_line(line, text))
    with pytest.raises(SceneError, match=re.escape(message)) as refused:
        load_scene(str(path))
    assert str(refused.value).startswith(f"{path}, line {line}: ")


WRONG = [
    ("one number for a place", "at=lambda: disc.x", "at of the mark 'm' must give two numbers per arena"),
    ("a wrong name", "at=lambda: disk.position", "name 'disk' is not defined"),
    ("places of too few", "at=lambda: disc.position[:2]", "two numbers per arena, not (2, 2)"),
    ("nothing", "at=lambda: None", "is its `return` missing?"),
    ("two numbers for an angle", "angle=lambda: disc.position", "angle of the mark 'm' must give one number per arena"),
    ("numbers for where", "where=lambda: disc.x", "where of the mark 'm' must give one truth per arena"),
]


@pytest.mark.parametrize(("what", "argument", "message"), WRONG, ids=[row[0] for row in WRONG])
def test_a_mark_whose_rule_cannot_work_is_refused_when_the_world_is_made(
    save: Save, what: str, argument: str, message: str
) -> None:
    path, line = save(f"{GOOD}    arena.mark('m', Disc(1), {argument})\n"), 1 + len(GOOD.splitlines())
    scene = load_scene(str(path))
    with pytest.raises(SceneError, match=re.escape(message)) as refused:
        run(scene, ticks=0)
    assert str(refused.value).startswith(f"{path}, line {line}: ")


def built(arena: Arena, *, marks: bool) -> None:
    disc = arena.spawn("disc", Body(), Disc(0.1), Look(layer=3 if marks else 0))
    x = arena.random("x", jitter(2.0))
    if marks:
        arena.mark("target", Disc(0.5), at=lambda: np.stack((x.value, disc.y), -1), where=lambda: x.value > 0)
        arena.mark("line", [(0, 1), (2, 3)], Look("sky", layer=-1))
    arena.agent(sees=[X(disc)], does=Choice(a=Push(disc, 1.0), b=None), earns={"x": lambda: x.value - disc.x})


def test_marks_layers_and_cameras_change_no_number() -> None:
    states = []
    for marks, camera in ((False, None), (True, Follow("disc", 3.0)), (True, View((-1, 1), (0, 1)))):
        build = lambda arena, marks=marks: built(arena, marks=marks)  # noqa: E731
        scene = Scene("a test", 10, camera=camera, name="test", build=build)
        world = make_world(scene, arenas=3, policies={"policy": lambda seen, state: np.zeros(3, int)}, debug=True)
        for _ in range(15):
            world.tick()
        states.append(world.save_columns())
        world.close()
    plain, *others = states
    for each in others:
        assert each.keys() == plain.keys()
        assert all(each[name].tobytes() == plain[name].tobytes() for name in plain)


def test_a_mark_gives_one_place_for_each_arena() -> None:
    scene = Scene("a test", 10, name="test", build=lambda arena: built(arena, marks=True))
    world = make_world(scene, arenas=5, policies={"policy": lambda seen, state: np.zeros(5, int)})
    target, line = world.arena.marks
    at, angle, here = target.placed(5)
    x = world.arena.numbers[0].value
    assert at.shape == (5, 2)
    assert np.array_equal(at[:, 0], x)
    assert np.array_equal(here, x > 0)
    assert not angle.any()
    assert (target.stands, line.stands) == (False, True)
    assert line.shape == ((0.0, 1.0), (2.0, 3.0))
    world.close()


def test_a_camera_and_marks_are_there_in_a_file(tmp_path: Path) -> None:
    text = with_line(OTHER, MARK + "arena.mark('goal', Box(1, 2), Look('sky'), at=(3, 0))")
    text = text.replace("max_ticks=20", 'max_ticks=20, camera=Follow("other", width=12.5)')
    path = tmp_path / "mine.py"
    path.write_text(text)
    scene = load_scene(str(path))
    assert scene.camera == Follow("other", 12.5)
    assert [mark.name for mark in scene.describe().marks] == ["goal"]
    assert load_scene(str(path.with_name("mine.py"))).camera == scene.camera
    assert "camera" not in GOOD
