"""The mind's log tells what the agent saw, did and expected, and what really came of it, over the ends of episodes."""

from __future__ import annotations

import math
from collections.abc import Iterator, Mapping
from dataclasses import replace
from pathlib import Path
from typing import Any, cast

import numpy as np
import pygame
import pytest
from mixed_controls import MIXED
from numpy.typing import NDArray

from ecs_rl.agents.base import Agent, PolicyOutput
from ecs_rl.agents.config import PPOConfig
from ecs_rl.arrays import F64
from ecs_rl.components import UserInput
from ecs_rl.loading import load_scene
from ecs_rl.physics.physics import Physics
from ecs_rl.processors.render import Render
from ecs_rl.scene import Arena, Body, Box, Disc, Levers, Push, Scene, Start, Vx, X, beyond, jitter
from ecs_rl.schedule import ON_STAGE, PLAYING
from ecs_rl.spaces import ActMode, Decision, Floats
from ecs_rl.training.policies import make_agents
from ecs_rl.viewer.canvas import Canvas
from ecs_rl.viewer.mind_log import KNOWN, WINDOW, Fate, MindLog, Moment, came
from ecs_rl.viewer.panels.mind_panel import draw_mind
from ecs_rl.viewer.view import MindView, Option
from ecs_rl.world import World
from ecs_rl.worlds import make_world

NAN = math.nan


class Thinker:
    """An agent that finds the first number that it sees times ten its value."""

    def __init__(
        self, actions: int = 4, kind: str = "probabilities", discount: float = 0.9, spread: Floats | None = None
    ) -> None:
        self.actions, self.kind, self.discount, self.asked, self.spread = actions, kind, discount, 0, spread

    def introspect(self, observation: Floats) -> PolicyOutput:
        self.asked += 1
        does = np.tile(np.linspace(0.1, 0.4, self.actions, dtype=np.float32), (len(observation), 1))
        spread = np.full(self.actions, 0.25, np.float32) if self.kind == "levers" else self.spread
        return PolicyOutput(self.kind, does, spread, observation[:, 0].astype(np.float64) * 10)  # type: ignore[arg-type]


def agents(**minds: object) -> Mapping[str, Agent]:
    return cast(Mapping[str, Agent], minds)


def watched(world: World, log: MindLog, arena: int = 0) -> None:
    """Let the log see every tick of an arena from its place in the tick."""
    render = world.stages["render"]
    assert isinstance(render, Render)
    render.look = lambda: log.saw(arena)


def lander(**more: Any) -> World:
    random = np.random.default_rng(3)
    stages = ("decide", "actuate", "simulate", "guard", "sense", "judge", "render", "respawn")
    assert set(PLAYING) <= set(stages)
    return make_world(
        load_scene("lander"), arenas=2, seed=4, stages=stages,
        policies={"policy": lambda seen, state: random.integers(0, 4, 2)}, **more,
    )  # fmt: skip


@pytest.fixture
def world() -> Iterator[World]:
    made = lander()
    yield made
    made.close()


def obvious(moments: list[Moment], discount: float) -> F64:
    """The slow way: for each moment go forward, adding up, to the end of its episode."""
    found = []
    for start in range(len(moments)):
        total, factor, at = 0.0, 1.0, start
        while True:
            total += factor * moments[at].reward
            factor *= discount
            if moments[at].fate is not Fate.RUNNING or at == len(moments) - 1:
                break
            at += 1
        last = moments[at]
        if last.fate is Fate.TERMINATED:
            found.append(total)
        elif last.fate is Fate.TRUNCATED and math.isfinite(last.value_after):
            found.append(total + factor * last.value_after)
        else:
            found.append(total if factor < KNOWN else NAN)
    return np.array(found)


@pytest.mark.parametrize("discount", [1.0, 0.99, 0.8])
def test_what_came_is_what_adding_up_by_hand_gives(discount: float) -> None:
    random = np.random.default_rng(0)
    nothing: NDArray[Any] = np.zeros(1, np.float32)
    fates = [*Fate, *([Fate.RUNNING] * 26)]
    for _ in range(30):
        moments = [
            Moment(
                nothing,
                nothing,
                random.normal(),
                fates[random.integers(len(fates))],
                value_after=random.choice([NAN, 5.0]),
            )
            for _ in range(random.integers(0, 120))
        ]
        np.testing.assert_allclose(came(moments, discount), obvious(moments, discount), rtol=1e-9)


def test_what_came_of_a_whole_episode_is_its_discounted_rewards(world: World) -> None:
    log, mind = MindLog(world, agents(policy=Thinker())), Thinker()
    watched(world, log)
    ends: list[int] = []
    before = 0
    while not ends:
        world.tick()
        if world.stages["respawn"].clock.episode[0] > before:  # type: ignore[attr-defined]
            ends.append(world.ticks)
    view = log.view()
    rewards = [moment.reward for moment in log._moments]
    assert len(view.came) == len(view.expected) == min(WINDOW, ends[0])
    assert view.came[0] == pytest.approx(sum(r * mind.discount**i for i, r in enumerate(rewards)), rel=1e-6)
    assert view.came[-1] == pytest.approx(rewards[-1])
    assert np.isfinite(view.came).all()


def test_a_running_episode_is_known_as_soon_as_the_rest_hardly_counts(world: World) -> None:
    log = MindLog(world, agents(policy=Thinker(discount=0.9)))
    watched(world, log)
    for _ in range(40):
        world.tick()
    known = np.isfinite(log.view().came)
    enough = math.ceil(math.log(KNOWN) / math.log(0.9))
    assert known.tolist() == [True] * (40 - enough + 1) + [False] * (enough - 1)


def _sliding(arena: Arena) -> None:
    body = arena.spawn("body", Body(), Disc(0.5), Start(x=jitter(0.5), vx=1.0))
    arena.agent(sees=[X(body), Vx(body)], does=Levers(push=Push(body, 1.0)), earns={"alive": 1.0, "right": X(body)})


def _sliding_world(max_ticks: int = 10) -> World:
    scene = Scene("slides", max_ticks, gravity=(0.0, 0.0), name="sliding", reference="sliding", build=_sliding)
    return make_world(
        scene, arenas=3, stages=(*PLAYING, "render"),
        policies={"policy": lambda seen, state: np.full((3, 1), 2.0, np.float32)},
    )  # fmt: skip


def test_an_episode_that_time_cut_goes_on_as_the_agent_expected_of_its_last_sight() -> None:
    world, mind = _sliding_world(), Thinker(1, "levers")
    log = MindLog(world, agents(policy=mind))
    watched(world, log, arena=1)
    for _ in range(10):
        world.tick()
    view = log.view()
    world.close()
    last = log._moments[-1]
    assert last.fate is Fate.TRUNCATED
    assert last.after is not None
    assert last.after[0] > last.seen[0] > 0, "the sight before the next episode began"
    assert view.came[-1] == pytest.approx(last.reward + 0.9 * 10 * float(last.after[0]))
    assert np.isfinite(view.came).all()
    assert mind.asked == 1, "all of it in one call"


def test_levers_show_their_mean_their_spread_and_what_the_world_made_of_them() -> None:
    world = _sliding_world()
    log = MindLog(world, agents(policy=Thinker(1, "levers")))
    watched(world, log)
    world.tick()
    (push,) = log.view().does
    world.close()
    assert push.value == pytest.approx(0.1)
    assert (push.name, push.spread, push.taken, push.chosen) == ("push", 0.25, 1.0, False)


@pytest.mark.parametrize("by_row", [False, True])
def test_every_part_of_a_mixture_is_shown_a_trigger_by_how_probable_it_is_to_be_on(
    tmp_path: Path, by_row: bool
) -> None:
    path = tmp_path / "mixed.py"
    path.write_text(MIXED)
    taken = np.array([[2.0, -7.0, 1.0], [0.0, 0.25, 0.0]], np.float32)
    world = make_world(
        load_scene(str(path)), arenas=2, stages=ON_STAGE, resources=(UserInput(),),
        policies={"policy": lambda seen, state: taken},
    )  # fmt: skip
    spread = np.array([NAN, NAN, NAN, 0.25, NAN, NAN], np.float32)
    spread = np.stack([spread, spread + 9.0]) if by_row else spread  # the newest moment's is the first
    log = MindLog(world, agents(policy=Thinker(6, "mixture", spread=spread)))
    for arena in (0, 1):
        watched(world, log, arena)
        world.tick()
        view = log.view()
        assert view.kind == "mixture"
        assert [option.name for option in view.does] == ["steer left", "steer straight", "steer right", "gas", "fire"]
        assert [option.value for option in view.does] == pytest.approx([0.1, 0.16, 0.22, 0.28, 0.4])
        assert [option.chosen for option in view.does] == [arena == 1, False, arena == 0, False, arena == 0]
        assert [option.taken for option in view.does] == [None, None, None, (-1.0, 0.25)[arena], None]
        assert view.does[3].spread == 0.25
    world.close()


def test_the_choice_that_was_made_is_marked(world: World) -> None:
    log = MindLog(world, agents(policy=Thinker()))
    watched(world, log)
    for _ in range(8):
        world.tick()
        view = log.view()
        assert [option.name for option in view.does] == ["coast", "left", "main", "right"]
        assert [option.chosen for option in view.does].index(True) == int(log._moments[-1].did)
        assert sum(option.chosen for option in view.does) == 1


def test_it_sees_what_it_decided_on_and_ranges_only_grow(world: World) -> None:
    log = MindLog(world, agents(policy=Thinker()))
    watched(world, log)
    batch = world.batches[0]
    widths = [[2.0] * 8]
    for _ in range(90):
        shown = log._seen.value[batch.slots[0].rows.start].copy()
        world.tick()
        view = log.view()
        assert [seen.value for seen in view.sees] == shown.tolist()
        assert view.expected[-1] == pytest.approx(10 * shown[0])
        assert all(seen.low <= min(-1.0, seen.value) and seen.high >= max(1.0, seen.value) for seen in view.sees)
        widths.append([seen.high - seen.low for seen in view.sees])
    assert (np.diff(widths, axis=0) >= 0).all()
    assert widths[-1] != widths[0]


def test_terms_of_the_tick_add_up_to_those_of_the_episode(world: World) -> None:
    log = MindLog(world, agents(policy=Thinker()))
    watched(world, log)
    totals = dict.fromkeys(world.arena.agents[0].earns, 0.0)
    for _ in range(30):
        world.tick()
        for term in log.view().earned:
            totals[term.name] += term.now
            assert term.total == pytest.approx(totals[term.name])
    assert totals["fuel"] < 0


def test_an_agent_that_lets_nobody_look_still_shows_what_it_sees_and_earns(world: World) -> None:
    for mind in ({}, {"policy": object()}):
        log = MindLog(world, agents(**mind))
        watched(world, log)
        world.tick()
        view = log.view()
        assert view.does == ()
        assert np.isnan(view.expected).all()
        assert len(view.sees) == 8
        assert len(view.earned) == 6


def test_before_the_first_tick_there_is_nothing_to_tell(world: World) -> None:
    view = MindLog(world, agents(policy=Thinker())).view()
    assert len(view.expected) == len(view.came) == 0
    assert view.does == ()
    assert all(math.isnan(seen.value) for seen in view.sees)


def test_nothing_is_asked_again_while_nothing_happens(world: World) -> None:
    mind = Thinker()
    log = MindLog(world, agents(policy=mind))
    watched(world, log)
    for _ in range(70):
        world.tick()
    assert mind.asked == 0
    assert log.view() is log.view()
    assert mind.asked == 1
    assert len(log.view().expected) == 70


def test_another_agent_says_at_once_what_it_thinks_and_the_log_stays(world: World) -> None:
    log = MindLog(world, agents(policy=Thinker()))
    watched(world, log)
    for _ in range(20):
        world.tick()
    first = log.view()
    log.use(agents(policy=Thinker(kind="values")))
    second = log.view()
    assert (first.kind, second.kind) == ("probabilities", "values")
    assert second.expected.tolist() == first.expected.tolist()


@pytest.mark.parametrize("by_hand", [True, False])
def test_an_episode_that_was_changed_by_hand_is_never_known(by_hand: bool) -> None:
    world = _sliding_world(30)
    log = MindLog(world, agents(policy=Thinker(1, "levers", 0.99)))
    watched(world, log, arena=0)
    for _ in range(12):
        world.tick()
    if by_hand:
        log.forget()
    watched(world, log, arena=2)
    for _ in range(18):
        world.tick()
    known = np.isfinite(log.view().came)
    world.close()
    assert known.tolist() == [True] * 18, "the plot goes no further back than to what is on the stage now"


def test_an_exploded_episode_is_never_known() -> None:
    world = _sliding_world(30)
    log = MindLog(world, agents(policy=Thinker(1, "levers", 0.99)))
    watched(world, log)
    world.tick()
    world.engine_as(Physics).state[0, 0, 0] = 1e6
    world.rebuild()
    world.tick()
    assert log._moments[-1].fate is Fate.CUT
    assert np.isnan(log.view().came).all()
    world.close()


def test_the_window_rolls_over_many_episodes() -> None:
    world = _sliding_world(7)
    log = MindLog(world, agents(policy=Thinker(1, "levers")))
    watched(world, log)
    for _ in range(WINDOW + 55):
        world.tick()
    view = log.view()
    world.close()
    assert len(view.expected) == len(view.came) == WINDOW
    assert np.isfinite(view.expected).all()


def _two(arena: Arena) -> None:
    bodies = [arena.spawn(name, Body(), Box(0.4, 0.4), Start(x=x)) for name, x in (("one", -1.0), ("two", 1.0))]
    for number, body in enumerate(bodies):
        arena.agent(
            sees=[X(body)],
            does=Levers(push=Push(body, 1.0)),
            earns={"alive": 1.0 + number, "place": X(body)},
            ends={"ran off": beyond(X(body), 5.0)},
            name=body.name,
        )


def test_of_several_agents_the_first_is_watched_with_its_own_rewards() -> None:
    scene = Scene("two", 20, gravity=(0.0, 0.0), name="two", reference="two", build=_two)
    world = make_world(
        scene, arenas=2, stages=(*PLAYING, "render"),
        policies={"policy": lambda seen, state: np.zeros((4, 1), np.float32)},
    )  # fmt: skip
    log = MindLog(world, agents(policy=Thinker(1, "levers")))
    watched(world, log)
    for _ in range(3):
        world.tick()
    view = log.view()
    world.close()
    assert [seen.value for seen in view.sees] == [-1.0]
    assert [(term.name, term.now, term.total) for term in view.earned] == [("alive", 1.0, 3.0), ("place", -1.0, -3.0)]


def test_watching_changes_nothing(world: World) -> None:
    log = MindLog(world, agents(policy=Thinker()))
    for _ in range(5):
        world.tick()
        before = world.save_columns()
        log.saw(0)
        log.view()
        after = world.save_columns()
        assert all(np.array_equal(before[name], after[name]) for name in before)


def test_the_beginnings_of_episodes_are_told_so_that_no_line_leads_over_them(world: World) -> None:
    log = MindLog(world, agents(policy=Thinker()))
    watched(world, log)
    while not log.view().begins:
        world.tick()
    (begin,) = log.view().begins
    assert begin == len(log._moments)
    world.tick()
    assert log.view().begins == (begin,)
    assert len(log.view().expected) == begin + 1


def test_in_a_mixture_a_lever_is_drawn_as_a_lever_and_a_choice_as_a_bar() -> None:
    steer = Option("steer left", 0.7, chosen=True), Option("steer right", 0.3)
    gas, fire = Option("gas", 0.2, taken=0.6, spread=0.3), Option("fire", 0.9)

    def drawn(*does: Option) -> NDArray[np.uint8]:
        surface = pygame.Surface((320, 400))
        draw_mind(surface, surface.get_rect(), MindView(kind="mixture", does=does), Canvas())
        return pygame.surfarray.array3d(surface)

    def rows(before: NDArray[np.uint8], after: NDArray[np.uint8]) -> tuple[int, int]:
        changed = np.flatnonzero((before != after).any(axis=(0, 2)))
        return int(changed[0]), int(changed[-1])

    plain = drawn(*steer, gas, fire)
    lever = rows(plain, drawn(*steer, replace(gas, taken=-0.6), fire))
    trigger = rows(plain, drawn(*steer, gas, replace(fire, chosen=True)))
    choice = rows(plain, drawn(*steer[:1], replace(steer[1], value=0.1), gas, fire))
    assert choice[1] < lever[0] <= lever[1] < trigger[0], "each in a row of its own"
    wide = drawn(*steer, replace(gas, spread=0.6), fire)
    assert lever[0] <= rows(plain, wide)[0] <= rows(plain, wide)[1] <= lever[1]
    as_lever = drawn(replace(steer[0], taken=0.7, chosen=False), steer[1], gas, fire)
    assert (as_lever != plain).any(), "a lever has a mark where it stands, not a bar"


def pair(arena: Arena) -> None:
    for y, name in enumerate(("one", "two")):
        disc = arena.spawn(name, Body(), Disc(0.2), Start(x=jitter(1.0), y=2.0 * y))
        arena.agent(
            name=name,
            policy=name,
            sees=[X(disc), Vx(disc)],
            does=Levers(push=Push(disc, 5.0)),
            earns={"x": X(disc), "number": y + 1.0},
        )


def test_of_several_agents_the_mind_is_one_at_a_time_and_says_whose() -> None:
    world = make_world(
        Scene(about="Two discs.", max_ticks=40, build=pair), arenas=2, stages=(*PLAYING, "render"),
        policies=dict.fromkeys(("one", "two"), lambda seen, state: np.zeros((len(seen), 1), np.float32)),
    )  # fmt: skip
    log = MindLog(world, agents(one=Thinker(1, "levers"), two=Thinker(1, "levers")))
    watched(world, log)
    world.tick()
    first = log.view()
    assert (first.who, [seen.name for seen in first.sees]) == ("one", ["one x", "one vx"])
    assert first.earned[1].total == 1.0
    log.turn()
    assert log.view().who == "two"
    assert len(log.view().expected) == 0, "what the other thought is no thought of this one"
    world.tick()
    told = log.view()
    assert [seen.name for seen in told.sees] == ["two x", "two vx"]
    assert [(term.name, term.now, term.total) for term in told.earned][1] == ("number", 2.0, 4.0)
    assert told.expected[-1] == pytest.approx(10 * told.sees[0].value)
    log.turn()
    assert log.view().who == "one"
    world.close()


def test_a_lone_agent_has_no_name_and_nobody_to_turn_to(world: World) -> None:
    log = MindLog(world, agents(policy=Thinker()))
    watched(world, log)
    world.tick()
    log.turn()
    assert (log.view().who, len(log.view().expected)) == ("", 1)


def test_the_mind_of_what_remembers_is_that_of_its_decisions() -> None:
    scene = load_scene("balance")
    agents = make_agents(scene, "ppo", PPOConfig(network="gru", hidden=(8,), state=4), arenas=2, seed=0)
    told: list[float] = []

    def decide(observation: Floats, state: Floats) -> Decision:
        (agent,) = agents.values()
        told.append(float(agent.introspect(observation, state).value[1]))  # type: ignore[attr-defined]
        return agent.act(observation, ActMode.SAMPLE, state)

    decide.state = 8  # type: ignore[attr-defined]
    world = make_world(scene, arenas=2, stages=ON_STAGE, policies={"policy": decide}, resources=(UserInput(),))
    log = MindLog(world, agents)
    watched(world, log, arena=1)
    for _ in range(40):
        world.tick()
    np.testing.assert_allclose(log.view().expected, told, rtol=1e-4, atol=1e-6)
    assert len(log.view().begins) > 0
    world.drive("policy", lambda observation, state: np.zeros(len(observation), int))
    log.use({"policy": next(iter(make_agents(scene, "ppo", PPOConfig(), arenas=2, seed=0).values()))})
    world.tick()
    assert np.isfinite(log.view().expected[-1])
    world.close()
