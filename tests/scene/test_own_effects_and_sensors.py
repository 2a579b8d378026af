"""A scene may bring effects and sensors of its own; one that lacks something is refused when the scene is built."""

from __future__ import annotations

import re

import numpy as np
import pytest
from scene_files import GOOD, Save, run

from ecs_rl.components import NextObservation
from ecs_rl.errors import SceneError
from ecs_rl.loading import load_scene
from ecs_rl.scene.controls import Choice


def with_effect(body: str, made: str = "Wind(disc)") -> str:
    """Return a scene with an effect of its own, whose class begins in line 4."""
    text = GOOD.replace("import *\n", f"import *\n\n{body}\n", 1)
    return text.replace("right=Push(disc, 1.0)", f"right={made}")


def with_sensor(body: str, made: str = "Height(disc)") -> str:
    """Return a scene with a sensor of its own, whose class begins in line 4."""
    return GOOD.replace("import *\n", f"import *\n\n{body}\n", 1).replace("sees=[X(disc)]", f"sees=[X(disc), {made}]")


BLOWS = "    def apply(self, dt):\n        self.role.force.force[:, 0] += 2.0 * self.amount\n"
EFFECTS = [
    ("by its parent's __init__", f"class Wind(Effect):\n{BLOWS}", "Wind(disc)"),
    (
        "with an __init__ of its own",
        f"class Wind(Effect):\n    def __init__(self, role, how):\n        super().__init__(role)\n{BLOWS}",
        "Wind(disc, 1.0)",
    ),
    (
        "that sets its role itself",
        f"class Wind(Effect):\n    def __init__(self, role):\n        self.role = role\n{BLOWS}",
        "Wind(disc)",
    ),
    (
        "that is a dataclass",
        f"from dataclasses import dataclass\n@dataclass\nclass Wind(Effect):\n    how: float = 1.0\n{BLOWS}",
        "Wind(disc, 2.0)",
    ),
    (
        "that is a dataclass and checks itself",
        "from dataclasses import dataclass\n@dataclass(eq=False)\nclass Wind(Effect):\n    how: float = 1.0\n"
        f"    def __post_init__(self):\n        assert self.how > 0\n{BLOWS}",
        "Wind(disc, 2.0)",
    ),
    (
        "that turns too",
        "class Wind(Effect):\n    def apply(self, dt):\n        self.role.force.torque += dt * self.amount\n",
        "(Wind(disc), Push(disc, 1.0))",
    ),
]


@pytest.mark.parametrize(("what", "body", "made"), EFFECTS, ids=[row[0] for row in EFFECTS])
def test_an_effect_of_its_own_works(save: Save, what: str, body: str, made: str) -> None:
    world = run(load_scene(str(save(with_effect(body, made)))), ticks=1)
    world.drive("policy", lambda seen, state: np.ones(len(seen), int))
    before = world.arena.roles[0].vx.copy()
    world.tick()
    assert (world.arena.roles[0].vx > before).all()
    world.close()


def test_two_effects_that_are_equal_stay_two(save: Save) -> None:
    body = f"from dataclasses import dataclass\n@dataclass\nclass Wind(Effect):\n    how: float = 1.0\n{BLOWS}"
    text = with_effect(body, "Wind(disc, 1.0)").replace("left=Push(disc, -1.0)", "left=Wind(disc, 1.0)")
    does = load_scene(str(save(text))).describe().agents[0].does
    assert isinstance(does, Choice)
    assert does.table.tolist() == [[1.0, 0.0], [0.0, 1.0]]


NO_SUPER = "class Wind(Effect):\n    def __init__(self, how):\n        self.how = how\n"
BAD_EFFECTS = [
    ("a bare one", "", "Effect(disc)", "Effect does not say how it works: take Push, Thrust, Twist or Motor"),
    ("without apply", "class Wind(Effect):\n    pass\n", "Wind(disc)", "give Wind a method apply(self, dt)"),
    (
        "whose apply takes nothing",
        "class Wind(Effect):\n    def apply(self):\n        pass\n",
        "Wind(disc)",
        "Wind.apply must take the length of a tick: write def apply(self, dt)",
    ),
    ("without super", NO_SUPER + BLOWS, "Wind(1.0)", "call super().__init__(role) in Wind.__init__"),
    ("on a name", f"class Wind(Effect):\n{BLOWS}", "Wind('disc')", "a Wind works on a role, which arena.spawn(...)"),
    (
        "on a name it sets itself",
        f"class Wind(Effect):\n    def __init__(self):\n        self.role = 'disc'\n{BLOWS}",
        "Wind()",
        "Wind works on a role, which arena.spawn(...) returns, not 'disc'",
    ),
]


@pytest.mark.parametrize(("what", "body", "made", "message"), BAD_EFFECTS, ids=[row[0] for row in BAD_EFFECTS])
def test_an_effect_that_lacks_something_is_refused_with_line_and_cure(
    save: Save, what: str, body: str, made: str, message: str
) -> None:
    text = with_effect(body, made)
    path = save(text)
    line = 1 + next(i for i, line in enumerate(text.splitlines()) if "does=" in line)
    with pytest.raises(SceneError, match=re.escape(message)) as refused:
        load_scene(str(path))
    assert str(refused.value).startswith(f"{path}, line {line}: ")


WRITES = "    def write(self, out):\n        out[:, 0] = self.role.y + 3.0\n"
SENSORS = [
    (
        "by super",
        "class Height(Sensor):\n    def __init__(self, role):\n"
        "        super().__init__('height', lambda: role.y + 3.0)\n",
    ),
    (
        "by names and write",
        "class Height(Sensor):\n    def __init__(self, role):\n"
        f"        self.role, self.names = role, ['height']\n{WRITES}",
    ),
    (
        "by a dataclass",
        "from dataclasses import dataclass\n@dataclass\nclass Height(Sensor):\n    role: Role\n"
        f"    names = ('height',)\n{WRITES}",
    ),
    (
        "by a property",
        "class Height(Sensor):\n    def __init__(self, role):\n        self.role = role\n"
        f"    @property\n    def names(self):\n        return ('height',)\n{WRITES}",
    ),
    (
        "by super and write",
        "class Height(Sensor):\n    def __init__(self, role):\n        super().__init__('height', lambda: role.y)\n"
        f"        self.role = role\n{WRITES}",
    ),
]


@pytest.mark.parametrize(("what", "body"), SENSORS, ids=[row[0] for row in SENSORS])
def test_a_sensor_of_its_own_works(save: Save, what: str, body: str) -> None:
    world = run(load_scene(str(save(with_sensor(body)))), ticks=3)
    (seen,) = world.each(NextObservation)[0]
    assert seen.value[:, 1] == pytest.approx(world.arena.roles[0].y + 3.0)
    world.close()


INIT = "class Height(Sensor):\n    def __init__(self, role):\n        self.role = role\n"
CURE = "in Height.__init__ call super().__init__(name, rule), or set self.names and give Height a write(self, out)"
BAD_SENSORS = [
    ("without anything", INIT, f"Height has no names for what it sees: {CURE}"),
    ("without names", INIT + WRITES, f"Height has no names for what it sees: {CURE}"),
    ("without write", INIT + "        self.names = ('a',)\n", f"Height does not say what it sees: {CURE}"),
    ("with one text for names", INIT + "        self.names = 'height'\n" + WRITES, "must be a tuple of texts, as in"),
    ("with numbers for names", INIT + "        self.names = (1, 2)\n" + WRITES, "must be a tuple of texts, as in"),
    (
        "with more names than numbers",
        "class Height(Sensor):\n    def __init__(self, role):\n        super().__init__('a', lambda: role.y)\n"
        "        self.names = ('a', 'b')\n",
        "Height has 2 names, but one number: give it a write(self, out) that fills all",
    ),
]


@pytest.mark.parametrize(("what", "body", "message"), BAD_SENSORS, ids=[row[0] for row in BAD_SENSORS])
def test_a_sensor_that_lacks_something_is_refused_with_line_and_cure(
    save: Save, what: str, body: str, message: str
) -> None:
    text = with_sensor(body)
    path = save(text)
    line = 1 + text.splitlines().index("    arena.agent(")
    with pytest.raises(SceneError, match=re.escape(message)) as refused:
        load_scene(str(path))
    assert str(refused.value).startswith(f"{path}, line {line}: ")


def test_a_sensor_without_a_rule_cannot_be_one(save: Save) -> None:
    text = with_sensor(INIT + "        self.names = ('a',)\n" + WRITES).replace('{"x": X(disc)}', '{"x": Height(disc)}')
    with pytest.raises(SceneError, match=re.escape("line 8: Height is no rule: call super().__init__(name, rule)")):
        run(load_scene(str(save(text))))
