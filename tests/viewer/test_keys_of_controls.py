"""Every control of every scene has a key of its own: as the scene says, by its name, or by order."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest

from ecs_rl.errors import SceneError
from ecs_rl.loading import load_scene
from ecs_rl.shipped import scene_names
from ecs_rl.viewer.live.hands import KeysOfControls

SCENE = """
from ecs_rl.scene import *
SCENE = Scene(about="Nothing.", max_ticks=10)
def build(arena):
    body = arena.spawn("body", Body(), Disc(0.3))
    fire = Trigger()
    arena.agent(sees=[X(body)], does={does}, earns={{"one": 1.0}})
"""


@pytest.mark.parametrize("name", scene_names())
def test_every_control_of_a_shipped_scene_has_a_key_of_its_own(name: str) -> None:
    for agent in load_scene(name).describe().agents:
        keys = KeysOfControls(agent.does)
        assert len(keys.used) == len(keys.keys)
        worked = {(key.column, key.option, key.way) for key in keys.keys}
        assert {column for column, *_ in worked} == set(range(keys.space.columns))


def told(scene: str) -> dict[str, str]:
    (agent,) = load_scene(scene).describe().agents
    return {what: key for key, what in KeysOfControls(agent.does).legend}


def test_controls_get_the_keys_that_their_names_suggest() -> None:
    assert told("lander") == {"left": "←", "main": "↑", "right": "→"}
    assert told("asteroids") == {"left": "←", "right": "→", "gas": "↑ ↓", "fire": "Space"}
    assert told("racer") == {"gas": "↑ ↓", "steer": "← →"}
    assert told("flappy") == {"flap": "Space"}
    assert told("walker")["near knee"] == "R F"


def keys_of(does: str, folder: Path) -> KeysOfControls:
    """Return the keys of a scene's controls."""
    path = folder / "keyed.py"
    path.write_text(SCENE.format(does=does), encoding="utf-8")
    (agent,) = load_scene(str(path)).describe().agents
    return KeysOfControls(agent.does)


def test_a_scene_says_which_keys_it_wants(tmp_path: Path) -> None:
    does = 'Controls(turn=Choice(a=Twist(body, 1), b=None).keys(a="k"), go=Push(body, x=1.0), fire=fire)'
    keys = keys_of(does + '.keys(go=("m", "n"), fire="enter")', tmp_path)
    assert {what: key for key, what in keys.legend} == {"a": "K", "go": "M N", "fire": "Enter"}
    assert keys.action({"m": 0.5, "enter": 1.0}, np.zeros(3), 0).tolist() == [1.0, 0.5, 1.0]
    assert keys.action({"k": 1.0, "n": 1.0}, np.zeros(3), 0).tolist() == [0.0, -1.0, 0.0]


@pytest.mark.parametrize(
    ("does", "told"),
    [
        ('Levers(gas=Push(body, x=1.0)).keys(gaz="m")', "there is no such control"),
        ('Levers(gas=Push(body, x=1.0)).keys(gas="M")', "a key is a small letter"),
        ('Levers(gas=Push(body, x=1.0)).keys(gas=("m", 3))', "a key is a small letter"),
    ],
)
def test_a_key_that_is_none_or_of_no_control_is_refused(does: str, told: str, tmp_path: Path) -> None:
    with pytest.raises(SceneError, match=told):
        keys_of(does, tmp_path)


def test_controls_without_telling_names_get_keys_by_order(tmp_path: Path) -> None:
    three = "Choice(one=Push(body, x=1.0), two=Push(body, x=2.0), three=Push(body, x=3.0))"
    assert keys_of(three, tmp_path).legend == (("1", "one"), ("2", "two"), ("3", "three"))
    two = "Choice(one=Push(body, x=1.0), two=Push(body, x=2.0))"
    assert keys_of(two, tmp_path).legend == (("←", "one"), ("→", "two"))
    levers = ", ".join(f"motor{i}=Twist(body, {i + 1}.0)" for i in range(3))
    assert keys_of(f"Levers({levers})", tmp_path).legend == (("Q A", "motor0"), ("W S", "motor1"), ("E D", "motor2"))


def test_what_has_no_rest_stays_as_it_was_and_options_held_together_take_turns(tmp_path: Path) -> None:
    keys = keys_of("Choice(one=Push(body, x=1.0), two=Push(body, x=2.0))", tmp_path)
    assert keys.action({}, np.array([1]), 0).tolist() == [1.0]
    both = {"left": 1.0, "right": 1.0}
    assert [int(keys.action(both, np.array([0]), turn)[0]) for turn in range(4)] == [0, 1, 0, 1]


def test_sticks_work_levers_in_order_and_away_from_oneself_is_more(tmp_path: Path) -> None:
    levers = ", ".join(f"motor{i}=Twist(body, {i + 1}.0)" for i in range(3))
    assert keys_of(f"Levers({levers})", tmp_path).axes == (("a", "q"), ("w", "s"), ("d", "e"))
    assert keys_of("Controls(up=Push(body, y=1.0), fire=fire)", tmp_path).buttons == ("space",)
