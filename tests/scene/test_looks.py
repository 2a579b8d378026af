"""A scene says how its roles look; that changes no number, reads no picture, and a bad look is refused by its line."""

from __future__ import annotations

import re
import subprocess
import sys
from pathlib import Path

import numpy as np
import pytest

from ecs_rl.errors import SceneError
from ecs_rl.loading import load_scene
from ecs_rl.scene import Arena, Body, Box, Choice, Disc, Look, Push, Scene, Start, X, jitter
from ecs_rl.scene.look import COLOURS, sprite_file
from ecs_rl.shipped import ASSETS, SCENES, scene_names
from ecs_rl.viewer import palette
from ecs_rl.viewer.shapes import role_looks
from ecs_rl.worlds import make_world

TEXT = """\
from ecs_rl.scene import *

SCENE = Scene(about="A test.", max_ticks=20)


def build(arena):
    disc = arena.spawn("disc", Body(), Disc(0.1), LOOK)
    arena.agent(sees=[X(disc)], does=Choice(a=Push(disc), b=None), earns={"x": 1.0})
"""
LINE = 7


def scene_with(folder: Path, look: str) -> Path:
    path = folder / "mine.py"
    path.write_text(TEXT.replace("LOOK", look))
    return path


@pytest.mark.parametrize("name", COLOURS)
def test_a_colour_has_the_name_that_the_palette_gives_it(name: str) -> None:
    arena = Arena()
    role = arena.spawn("disc", Disc(0.1), Look(name))
    assert role.colour == getattr(palette, name.upper())
    assert role_looks(arena, frozenset())[0].colour == role.colour


def test_a_colour_may_be_mixed_freely() -> None:
    assert Arena().spawn("disc", Disc(0.1), Look("#0a80FF")).colour == (10, 128, 255)


def test_a_role_without_a_look_leaves_it_to_the_window() -> None:
    arena = Arena()
    plain = arena.spawn("disc", Disc(0.1))
    assert (plain.look, plain.colour, arena.ground.colour) == (None, None, None)
    assert role_looks(arena, frozenset())[0].colour == palette.role_colour(0)
    assert arena.spawn("box", Disc(0.1), Look(sprite="box.png")).colour is None


BAD = [
    (
        "a misspelt colour",
        "Look('ornage')",
        "a colour must be a name or '#rrggbb', not 'ornage': did you mean 'orange'",
    ),
    ("a colour of another case", "Look('Sky')", "did you mean 'sky'?"),
    ("a short colour", "Look('#fff')", "a colour must be a name or '#rrggbb', not '#fff': there is: blue, green"),
    ("a colour that is longer", "Look('#ffffff\\n')", "a colour must be"),
    ("a colour in numbers", "Look((255, 0, 0))", "a colour must be a name or '#rrggbb', not (255, 0, 0)"),
    ("an empty colour", "Look('')", "a colour must be a name"),
    ("a sprite that is a number", "Look(sprite=1)", "a sprite needs a name"),
    ("a sprite of another kind", "Look(sprite='cart.jpg')", "a sprite must be a PNG file, not 'cart.jpg'"),
    ("no width", "Look(sprite='cart.png', width=0.0)", "a sprite's width must be above zero"),
    ("a width in words", "Look(sprite='cart.png', width='1')", "a sprite's width must be a finite number"),
    ("a NaN place", "Look(sprite='cart.png', at=(0.0, float('nan')))", "a sprite's place y must be a finite number"),
    ("a place that is a number", "Look(sprite='cart.png', at=1.0)", "a sprite's place must be a pair"),
    ("a width of nothing", "Look('sky', width=1.0)", "a look's width and at are those of its sprite"),
    ("a place of nothing", "Look('sky', at=(1.0, 0.0))", "a look's width and at are those of its sprite"),
    ("two looks", "Look('sky'), Look('blue')", "'disc' has 2 looks"),
    ("a misspelt part of it", "Look(color='sky')", "did you mean 'colour'?"),
    ("a sprite that is nowhere", "Look(sprite='cart.png')", "there is no sprite 'cart.png' in "),
    ("a folder for a sprite", "Look(sprite='folder.png')", "there is no sprite 'folder.png' in "),
    ("a path with a NUL byte", "Look(sprite='a\\0.png')", "there is no sprite"),
]


@pytest.mark.parametrize(("what", "look", "message"), BAD, ids=[row[0] for row in BAD])
def test_a_bad_look_is_refused_with_file_and_line(tmp_path: Path, what: str, look: str, message: str) -> None:
    (tmp_path / "folder.png").mkdir()
    path = scene_with(tmp_path, look)
    with pytest.raises(SceneError, match=re.escape(message)) as refused:
        load_scene(str(path))
    assert str(refused.value).startswith(f"{path}, line {LINE}: ")


def test_a_sprite_lies_beside_the_scene_or_below_it(tmp_path: Path) -> None:
    (tmp_path / "art").mkdir()
    for name in ("disc.png", "art/Disc.PNG"):
        (tmp_path / name).touch()
        scene = load_scene(str(scene_with(tmp_path, f"Look('sky', {name!r}, width=0.4, at=(0.0, 0.1))")))
        (role,) = scene.describe().roles
        assert role.look == Look("sky", name, 0.4, (0.0, 0.1))
        assert role.look is not None
        assert sprite_file(role.look, scene.describe().file) == tmp_path / name


def test_a_sprite_lies_in_assets_and_one_beside_the_scene_comes_first(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    assets, beside = tmp_path / "assets", tmp_path / "scenes"
    for folder in (assets, beside):
        folder.mkdir()
    monkeypatch.setattr("ecs_rl.scene.look.ASSETS", assets)
    look = Look(sprite="disc.png")
    (assets / "disc.png").touch()
    scene = load_scene(str(scene_with(beside, "Look(sprite='disc.png')")))
    assert sprite_file(look, scene.file) == assets / "disc.png"
    (beside / "disc.png").touch()
    assert sprite_file(look, scene.file) == beside / "disc.png"


def test_the_assets_are_the_project_s_own() -> None:
    assert SCENES.parent / "assets" == ASSETS
    assert ASSETS.is_dir()


def test_a_scene_that_was_read_from_no_file_is_not_asked_for_its_sprite_before_a_window_wants_it() -> None:
    def build(arena: Arena) -> None:
        disc = arena.spawn("disc", Disc(0.1), Look(sprite="nowhere.png"))
        arena.agent(sees=[X(disc)], does=Choice(a=Push(disc), b=None), earns={"x": 1.0})

    scene = Scene(about="", max_ticks=5, build=build)
    look = scene.describe().roles[0].look
    assert look is not None
    with pytest.raises(SceneError, match=r"there is no sprite 'nowhere\.png'"):
        sprite_file(look, scene.file)
    assert sprite_file(Look("sky"), scene.file) is None


def _columns(*looks: Look) -> dict[str, np.ndarray]:
    def build(arena: Arena) -> None:
        disc = arena.spawn("disc", *looks, Body(), Disc(0.1), Start(x=jitter(0.5), vx=jitter(1.0)))
        box = arena.spawn("box", Body(), Box(0.2, 0.3), Start(x=2.0, y=jitter(0.5)), *looks)
        does = Choice(left=Push(disc, -1.0), right=Push(box, 1.0))
        arena.agent(sees=[X(disc), X(box)], does=does, earns={"x": X(disc)})

    scene = Scene(about="", max_ticks=7, build=build)
    world = make_world(scene, arenas=5, seed=3, policies={"policy": lambda seen, state: np.arange(5) % 2})
    for _ in range(20):
        world.tick()
    columns = world.save_columns()
    world.close()
    return columns


def test_a_look_changes_no_bit_of_what_happens() -> None:
    plain, looking = _columns(), _columns(Look("#123456", "a.png", width=2.0, at=(0.5, 0.0)))
    assert plain.keys() == looking.keys()
    assert all(np.array_equal(plain[name], looking[name]) for name in plain)


def test_a_scene_with_a_sprite_trains_without_reading_it(tmp_path: Path) -> None:
    (tmp_path / "disc.png").write_text("no picture at all")
    path = scene_with(tmp_path, "Look(sprite='disc.png')")
    code = f"""
import sys
import numpy as np
from ecs_rl.loading import load_scene
from ecs_rl.worlds import make_world
world = make_world(load_scene({str(path)!r}), arenas=2, policies={{"policy": lambda seen, state: np.array([0, 1])}})
world.tick()
sys.exit("pygame" in sys.modules)
"""
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=False, timeout=60)
    assert done.returncode == 0, done.stderr


@pytest.mark.parametrize("name", scene_names())
def test_every_role_of_a_shipped_scene_has_a_colour(name: str) -> None:
    roles = load_scene(name).describe().roles
    assert all(role.colour for role in roles)
    assert len({role.colour for role in roles}) > 1 or len(roles) == 1
