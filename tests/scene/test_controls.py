"""Several controls at once: what they drive, how rules and systems read them, and what is refused."""

from __future__ import annotations

import re
from typing import Any

import numpy as np
import pytest
from mixed_controls import MIXED
from numpy.typing import NDArray
from scene_files import DOES, GOOD, Save, run, with_line

from ecs_rl.components import Amount, Reward
from ecs_rl.errors import SceneError
from ecs_rl.loading import load_scene
from ecs_rl.scene import Choice, Controls, Lever, Trigger
from ecs_rl.spaces import Composed, Continuous, Discrete
from ecs_rl.world import World
from ecs_rl.worlds import make_world

STEER = "steer=Choice(left=Push(disc, -1.0), none=None)"
PARTS = f"does=Controls({STEER}, gas=Twist(other, 1.0), fire=Trigger(Push(other))),"


def world_of(save: Save, text: str, arenas: int = 3, **more: Any) -> World:
    return make_world(load_scene(str(save(text))), arenas=arenas, **more)


def drive(world: World, *rows: tuple[float, ...]) -> None:
    """Let every tick take these actions, one row for each arena."""
    action = np.array(rows, np.float32)
    world.drive("policy", lambda seen, state: action)


# --- what they are ----------------------------------------------------------------------------------------------------


def test_the_space_of_an_agent_has_a_part_for_each_control(save: Save) -> None:
    does = load_scene(str(save(with_line(DOES, PARTS)))).describe().agents[0].does
    assert does.names == ("steer", "gas", "fire")
    assert does.space == Composed(
        (Discrete(("left", "none"), "steer"), Continuous(("gas",)), Discrete(("off", "on"), "fire"))
    )


def test_each_column_works_the_effects_of_its_own_control(save: Save) -> None:
    does = (
        "does=Controls(gas=(Push(disc, 1.0), Push(disc, y=1.0)), fire=Trigger((Twist(disc, 1.0), Push(other, 1.0))), "
        "steer=Choice(left=Push(disc, -1.0), none=None, right=Push(disc, 2.0)), alone=Trigger()),"
    )
    world = world_of(save, with_line(DOES, does))
    drive(world, (0.5, 1.0, 0.0, 1.0), (-7.0, 0.0, 1.0, 0.0), (0.0, 1.0, 2.0, 1.0))
    ticked = world.stages["actuate"]
    world.tick()
    ticked.run()  # again, with the amounts that an episode's start may have cleared
    amount = world.of(world.batches[0].entity, Amount).value
    assert amount.T.tolist() == [[0.5, 0.5, 1, 1, 1, 0], [-1, -1, 0, 0, 0, 0], [0, 0, 1, 1, 0, 1]]
    world.close()


def test_a_trigger_moves_a_body_in_full_or_not_at_all(save: Save) -> None:
    world = world_of(save, with_line(DOES, "does=Controls(fire=Trigger(Push(disc, 1.0))),"), arenas=2)
    drive(world, (0.0,), (1.0,))
    world.tick()
    speed = world.arena.roles[0].vx
    assert speed[0] == 1.0
    assert speed[1] == pytest.approx(1.02, abs=1e-6)
    world.close()


# --- how they are read ------------------------------------------------------------------------------------------------


def reading(*, debug: bool = False, save: Save) -> tuple[World, Any]:
    scene = load_scene(str(save(MIXED)))
    world = make_world(scene, arenas=3, debug=debug)
    drive(world, (0.0, 0.5, 1.0), (1.0, -0.25, 0.0), (2.0, 0.0, 1.0))
    return world, world.arena.agents[0].does


@pytest.mark.parametrize("debug", [False, True])
def test_rules_and_systems_read_what_is_on_and_what_is_picked(save: Save, debug: bool) -> None:
    world, does = reading(save=save, debug=debug)
    steer, gas, fire = does.parts
    assert fire.on.tolist() == [False] * 3, "nothing before the first decision"
    for ticks in (1, 2, 3):
        world.tick()
        assert (fire.on.tolist(), fire.on.dtype) == ([True, False, True], np.dtype(bool))
        assert (steer.picked.tolist(), steer.picked.dtype) == ([0, 1, 2], np.dtype(np.int64))
        assert gas.effects[0].amount.tolist() == [0.5, -0.25, 0.0]
        shots, turns = (number.value.tolist() for number in world.arena.numbers)
        assert (shots, turns) == ([ticks, 0, ticks], [ticks, 0, ticks])
    world.close()


AIMING = (
    with_line(DOES, "does=Controls(aim=aim, go=Lever(Push(disc, 1.0))),")
    .replace("    arena.agent(", "    aim = Lever()\n    arena.agent(")
    .replace('earns={"x": X(disc)}', 'earns={"aim": lambda: aim.amount}')
)


def test_a_lever_without_effects_is_for_rules_to_read(save: Save) -> None:
    world = world_of(save, AIMING, arenas=3)
    does = world.arena.agents[0].does
    assert isinstance(does, Controls)
    assert does.space == Composed((Continuous(("aim",)), Continuous(("go",))))
    aim, go = does.parts
    assert isinstance(aim, Lever)
    assert isinstance(go, Lever)
    assert (aim.amount.tolist(), aim.effects) == ([0.0] * 3, ())
    drive(world, (0.25, 1.0), (-7.0, 0.0), (1.5, -1.0))
    world.tick()
    assert (aim.amount.tolist(), aim.amount.dtype) == ([0.25, -1.0, 1.0], np.dtype(np.float64))
    assert go.amount.tolist() == go.effects[0].amount.tolist() == [1.0, 0.0, -1.0]
    assert world.of(world.batches[0].entity, Reward).value.tolist() == [0.25, -1.0, 1.0]
    with pytest.raises(ValueError, match="read-only"):
        aim.amount[0] = 1
    world.close()


def test_what_is_read_cannot_be_written(save: Save) -> None:
    world, does = reading(save=save)
    world.tick()
    for array in (does.parts[0].picked, does.parts[2].on):
        with pytest.raises(ValueError, match="read-only"):
            array[0] = 1
    with pytest.raises(AttributeError):
        does.parts[2].on = np.ones(3, bool)
    world.close()


def test_a_lone_choice_tells_what_is_picked_too(save: Save) -> None:
    text = GOOD.replace("    arena.agent(", "    pick = Choice(left=None, stay=None, right=None)\n    arena.agent(")
    text = text.replace('earns={"x": X(disc)}', 'earns={"x": lambda: pick.picked}').replace(
        "does=Choice(left=Push(disc, -1.0), right=Push(disc, 1.0))", "does=pick"
    )
    world = world_of(save, text)
    world.drive("policy", lambda seen, state: np.array([0, 1, 2]))
    world.tick()
    does = world.arena.agents[0].does
    assert isinstance(does, Choice)
    assert does.picked.tolist() == [0, 1, 2]
    world.close()


def test_a_debug_run_finds_a_system_that_reads_a_control_without_saying_so(save: Save) -> None:
    world = world_of(save, MIXED.replace("reads=(Action, Amount)", "reads=(Amount,)"), debug=True)
    drive(world, *[(0.0, 0.0, 1.0)] * 3)
    with pytest.raises(SceneError, match="line 27: the system 'count' reads Action without saying so"):
        world.tick()
    world.close()


def test_a_system_cannot_write_what_the_agent_decided(save: Save) -> None:
    with pytest.raises(SceneError, match="'count' writes Action, which only the engine writes"):
        world_of(save, MIXED.replace("writes=(shots, turns)", "writes=(shots, turns, Action)"))


def test_of_many_agents_of_a_kind_each_has_its_own(save: Save) -> None:
    fire, steer = Trigger(), Choice(left=None, right=None)
    does = Controls(steer=steer, fire=fire)
    rows: NDArray[np.float32] = np.array([[0, 1], [1, 0], [1, 1], [0, 0], [1, 0], [0, 1]], np.float32)
    members = rows.reshape(3, 2, 2)  # three members of two arenas, all arenas of the first member first
    does.bind(members.swapaxes(0, 1), None)
    assert fire.on.tolist() == [[True, True, False], [False, False, True]]
    assert steer.picked.tolist() == [[0, 1, 1], [1, 0, 0]]


# --- what is refused --------------------------------------------------------------------------------------------------

REFUSED = [
    ("none at all", "does=Controls(),", "Controls need at least one control"),
    ("one without a name", "does=Controls(Push(disc)),", "each effect in Controls needs a name"),
    ("a trigger alone", "does=Trigger(Push(disc)),", "name it, as in Controls(fire=Trigger())"),
    ("Controls in Controls", "does=Controls(a=Controls(b=Push(disc))),", "the control 'a' is Controls: name its"),
    ("Levers in Controls", "does=Controls(a=Levers(b=Push(disc))),", "the control 'a' is Levers: name its controls"),
    ("nothing", "does=Controls(a=None),", "the control 'a' works nothing: give it an effect, or Trigger() or Lever()"),
    ("a lever alone", "does=Lever(Push(disc)),", "name it, as in Controls(aim=Lever())"),
    ("a lever among levers", "does=Levers(a=Lever()),", "Controls(...) mixes choices, triggers and levers"),
    ("a lever of a trigger", "does=Controls(a=Lever(Trigger())),", "made of effects such as Push or Thrust, not"),
    (
        "one lever twice",
        "does=(lambda lever: Controls(a=lever, b=lever))(Lever()),",
        "the Lever of 'b' is the control 'a' already: make another one for each control, inside build",
    ),
    ("an empty tuple", "does=Controls(a=()),", "the control 'a' works nothing"),
    ("a number", "does=Controls(a=1.0),", "made of effects such as Push or Thrust, not of 1.0"),
    ("a list", "does=Controls(a=[Push(disc)]),", "several go into a tuple"),
    ("a trigger of a trigger", "does=Controls(a=Trigger(Trigger())),", "made of effects such as Push or Thrust, not"),
    ("a trigger in a choice", "does=Choice(a=Trigger(), b=None),", "made of effects such as Push or Thrust, not"),
    ("a role of a trigger", "does=Controls(a=Trigger(disc)),", "made of effects such as Push or Thrust, not of Role"),
    (
        "an effect of a lever and a choice",
        "does=(lambda p: Controls(gas=p, steer=Choice(left=p, none=None)))(Push(disc)),",
        "'gas' and 'steer' both work the same Push: give each control an effect of its own",
    ),
    (
        "an effect of two triggers",
        "does=(lambda p: Controls(a=Trigger(p), b=Trigger((Push(disc), p))))(Push(disc)),",
        "'a' and 'b' both work the same Push",
    ),
    (
        "a trigger under two names",
        "does=(lambda t: Controls(a=t, b=t))(Trigger()),",
        "the Trigger of 'b' is the control 'a' already: make another one for each control, inside build",
    ),
    (
        "two controls that are told alike",
        "does=Controls(**{'steer': Choice(left=None, right=None), 'steer left': Push(disc)}),",
        "two controls are told as 'steer left': give one of them another name",
    ),
    (
        "a name twice",
        "does=Controls(**{'a': Push(disc)}, **{'a': Trigger()}),",
        "got multiple values for keyword argument 'a'",
    ),
]


@pytest.mark.parametrize(("what", "text", "message"), REFUSED, ids=[row[0] for row in REFUSED])
def test_controls_that_make_no_sense_are_refused_with_file_and_line(
    save: Save, what: str, text: str, message: str
) -> None:
    path = save(with_line(DOES, text))
    with pytest.raises(SceneError, match=re.escape(message)) as refused:
        load_scene(str(path))
    assert re.match(rf"{re.escape(str(path))}, line 1[02]: ", str(refused.value))
    assert refused.value.exit_code == 2


READ_AMISS = [
    ("before the world runs", "print(fire.on)", "'fire.on' has no numbers before the world runs"),
    (
        "of no agent",
        "print(Trigger().on)",
        "is no control of any agent so far: name it, as in does=Controls(",
    ),
]


@pytest.mark.parametrize(("what", "line", "message"), READ_AMISS, ids=[row[0] for row in READ_AMISS])
def test_a_control_that_is_read_too_early_is_told_by_file_and_line(
    save: Save, what: str, line: str, message: str
) -> None:
    path = save(f"{MIXED}    {line}\n")
    with pytest.raises(SceneError, match=re.escape(message)) as refused:
        load_scene(str(path)).describe()
    assert str(refused.value).startswith(f"{path}, line {len(MIXED.splitlines()) + 1}: ")


def test_a_trigger_that_is_made_outside_build_is_refused_in_the_second_world(save: Save) -> None:
    text = MIXED.replace("    fire = Trigger(flash)\n", "").replace("\ndef build", "fire = Trigger()\n\n\ndef build")
    scene = load_scene(str(save(text)))
    with pytest.raises(SceneError, match=r"the Trigger of 'fire' is the control 'fire' already: .*inside build"):
        scene.describe()


def test_a_lone_choice_of_several_agents_works_but_is_not_read(save: Save) -> None:
    text = GOOD.replace("    arena.agent(", "    pick = Choice(a=None, b=None)\n    arena.agent(")
    text = text.replace("does=Choice(left=Push(disc, -1.0), right=Push(disc, 1.0))", "does=pick")
    second = '    arena.agent(name="two", sees=[X(other)], does=pick, earns={"x": RULE})\n'
    assert run(load_scene(str(save(text + second.replace("RULE", "1.0"))))).ticks == 20
    with pytest.raises(SceneError, match="several agents or worlds: make it inside build, a new one for each agent"):
        run(load_scene(str(save(text + second.replace("RULE", "lambda: pick.picked")))))


@pytest.mark.parametrize(
    "other",
    [
        "Controls(steer=Choice(left=Push(other, -1.0), none=None, right=None), gas=Push(other), fire=Trigger())",
        "Controls(steer=Choice(left=Push(other, -1.0), none=None), fire=Trigger(), gas=Push(other))",
        "Levers(steer=Push(other), gas=Push(other), fire=Push(other))",
    ],
)
def test_agents_of_one_policy_must_have_controls_of_the_same_form(save: Save, other: str) -> None:
    text = with_line(DOES, PARTS.replace("gas=Twist(other, 1.0)", "gas=Push(disc)"))
    more = '    arena.agent(name="two", sees=[X(other)], does=OTHER, earns={"x": 1.0})\n'
    told = "Controls(steer=Choice(left, none), gas, fire=Trigger())"
    with pytest.raises(SceneError, match=re.escape(told)) as refused:
        load_scene(str(save(text + more.replace("OTHER", other)))).describe()
    assert "both must see and do alike" in str(refused.value)


def test_agents_of_one_policy_may_have_controls_of_other_names(save: Save) -> None:
    text = with_line(DOES, PARTS)
    does = "Controls(turn=Choice(up=None, down=None), go=Push(other), shoot=Trigger())"
    more = f'    arena.agent(name="two", sees=[X(other)], does={does}, earns={{"x": 1.0}})\n'
    world = world_of(save, text + more, arenas=2)
    drive(world, (0, 0.5, 1), (1, -0.5, 0), (1, 0.25, 1), (0, 2.0, 1))
    world.tick()
    first, second = (agent.does.parts[2].on.tolist() for agent in world.arena.agents)  # type: ignore[union-attr]
    assert (first, second) == ([True, False], [True, True])
    assert world.arena.agents[1].does.effects[0].amount.tolist() == [0.25, 1.0]
    world.close()
