"""The mind tells what the agent saw, did and expected, and what really came of it, over the ends of episodes."""

from __future__ import annotations

import math
from collections.abc import Callable, Iterator, Mapping
from dataclasses import replace
from pathlib import Path
from typing import Any, cast

import numpy as np
import pygame
import pytest
from mixed_controls import MIXED
from numpy.typing import NDArray
from viewer_views import painted

from ecs_rl.agents.base import Agent, PolicyOutput
from ecs_rl.agents.config import PPOConfig
from ecs_rl.arrays import F64
from ecs_rl.components import Observation
from ecs_rl.loading import load_scene
from ecs_rl.physics.physics import Physics
from ecs_rl.scene import Arena, Body, Box, Disc, Levers, Push, Scene, Start, Vx, X, beyond, jitter
from ecs_rl.spaces import ActMode, Decision, Floats
from ecs_rl.training.scene_agents import make_agents
from ecs_rl.viewer.live_episode import LiveEpisode
from ecs_rl.viewer.mind import KNOWN, WINDOW, Thought, came
from ecs_rl.viewer.panels.mind_panel import MindPanel
from ecs_rl.viewer.tick_log import Fate
from ecs_rl.viewer.view import MindView, Option

NAN = math.nan


class Thinker:
    """An agent that finds the first number that it sees times ten its value."""

    def __init__(
        self, actions: int = 4, kind: str = "probabilities", discount: float = 0.9, spread: Floats | None = None
    ) -> None:
        self.actions, self.kind, self.discount, self.spread = actions, kind, discount, spread
        self.asked: list[int] = []
        """How many rows there were in each call."""

    def introspect(self, observation: Floats) -> PolicyOutput:
        self.asked.append(len(observation))
        does = np.tile(np.linspace(0.1, 0.4, self.actions, dtype=np.float32), (len(observation), 1))
        spread = np.full(self.actions, 0.25, np.float32) if self.kind == "levers" else self.spread
        return PolicyOutput(self.kind, does, spread, observation[:, 0].astype(np.float64) * 10)  # type: ignore[arg-type]


class Stages:
    """Stages whose agents are asked what they think, while a function decides what they do."""

    def __init__(self) -> None:
        self.shows: list[LiveEpisode] = []

    def of(self, scene: Scene, minds: Mapping[str, object], decide: Callable[..., Any], arenas: int = 2) -> LiveEpisode:
        show = LiveEpisode(scene, cast(Mapping[str, Agent], minds), seeds=range(arenas))
        for policy in show.world.policies:
            show.world.drive(policy, decide)
        self.shows.append(show)
        return show

    def lander(self, **minds: object) -> LiveEpisode:
        random = np.random.default_rng(3)
        return self.of(load_scene("lander"), minds, lambda seen, state: random.integers(0, 4, 2))

    def sliding(self, mind: Thinker, max_ticks: int = 10) -> LiveEpisode:
        scene = Scene("slides", max_ticks, gravity=(0.0, 0.0), name="sliding", reference="sliding", build=_sliding)
        return self.of(scene, {"policy": mind}, lambda seen, state: np.full((3, 1), 2.0, np.float32), 3)


@pytest.fixture
def stages() -> Iterator[Stages]:
    made = Stages()
    yield made
    for show in made.shows:
        show.close()


def run(show: LiveEpisode, ticks: int = 1) -> list[Thought]:
    """Run so many ticks of the world, over the ends of episodes; return the agent's part of each."""
    found: list[Thought] = []
    while len(found) < ticks:
        before = show.world.ticks
        show.tick()
        if show.world.ticks > before:
            found.append(show.mind.current)
    return found


def obvious(thoughts: list[Thought], discount: float) -> F64:
    """The slow way: for each tick go forward, adding up, to the end of its episode."""
    found = []
    for start in range(len(thoughts)):
        total, factor, at = 0.0, 1.0, start
        while True:
            total += factor * thoughts[at].reward
            factor *= discount
            if thoughts[at].fate is not Fate.RUNNING or at == len(thoughts) - 1:
                break
            at += 1
        last = thoughts[at]
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
        thoughts = [
            Thought(
                nothing,
                nothing,
                random.normal(),
                fates[random.integers(len(fates))],
                nothing,
                nothing,
                nothing,
                (),
                (),
                value_after=random.choice([NAN, 5.0]),
            )
            for _ in range(random.integers(0, 120))
        ]
        np.testing.assert_allclose(came(thoughts, discount), obvious(thoughts, discount), rtol=1e-9)


def test_what_came_of_a_whole_episode_is_its_discounted_rewards(stages: Stages) -> None:
    mind = Thinker()
    show = stages.lander(policy=mind)
    rewards: list[float] = []
    while show.outcome is None:
        rewards += [thought.reward for thought in run(show)]
    view = show.mind.view()
    assert len(view.came) == len(view.expected) == min(WINDOW, len(rewards))
    assert view.came[0] == pytest.approx(sum(r * mind.discount**i for i, r in enumerate(rewards)), rel=1e-6)
    assert view.came[-1] == pytest.approx(rewards[-1])
    assert np.isfinite(view.came).all()


def test_a_running_episode_is_known_as_soon_as_the_rest_hardly_counts(stages: Stages) -> None:
    show = stages.lander(policy=Thinker(discount=0.9))
    run(show, 40)
    known = np.isfinite(show.mind.view().came)
    enough = math.ceil(math.log(KNOWN) / math.log(0.9))
    assert known.tolist() == [True] * (40 - enough + 1) + [False] * (enough - 1)


def _sliding(arena: Arena) -> None:
    body = arena.spawn("body", Body(), Disc(0.5), Start(x=jitter(0.5), vx=1.0))
    arena.agent(sees=[X(body), Vx(body)], does=Levers(push=Push(body, 1.0)), earns={"alive": 1.0, "right": X(body)})


def test_an_episode_that_time_cut_goes_on_as_the_agent_expected_of_its_last_sight(stages: Stages) -> None:
    mind = Thinker(1, "levers")
    show = stages.sliding(mind)
    show.go_to(1)
    last = run(show, 10)[-1]
    calls = len(mind.asked)
    view = show.mind.view()
    assert last.fate is Fate.TRUNCATED
    assert last.after[0] > last.seen[0], "the sight before the next episode began"
    assert view.came[-1] == pytest.approx(last.reward + 0.9 * 10 * float(last.after[0]))
    assert np.isfinite(view.came).all()
    assert mind.asked[calls:] == [10 + 1], "all of it in one call"


def test_levers_show_their_mean_their_spread_and_what_the_world_made_of_them(stages: Stages) -> None:
    show = stages.sliding(Thinker(1, "levers"))
    run(show)
    (push,) = show.mind.view().does
    assert push.value == pytest.approx(0.1)
    assert (push.name, push.spread, push.taken, push.chosen) == ("push", 0.25, 1.0, False)


@pytest.mark.parametrize("by_row", [False, True])
def test_every_part_of_a_mixture_is_shown_a_trigger_by_how_probable_it_is_to_be_on(
    stages: Stages, tmp_path: Path, by_row: bool
) -> None:
    path = tmp_path / "mixed.py"
    path.write_text(MIXED)
    taken = np.array([[2.0, -7.0, 1.0], [0.0, 0.25, 0.0]], np.float32)
    spread = np.array([NAN, NAN, NAN, 0.25, NAN, NAN], np.float32)
    spread = np.stack([spread, spread + 9.0]) if by_row else spread  # the newest moment's is the first
    mind = Thinker(6, "mixture", spread=spread)
    show = stages.of(load_scene(str(path)), {"policy": mind}, lambda seen, state: taken)
    for arena in (0, 1):
        show.go_to(arena)
        run(show)
        view = show.mind.view()
        assert view.kind == "mixture"
        assert [option.name for option in view.does] == ["steer left", "steer straight", "steer right", "gas", "fire"]
        assert [option.value for option in view.does] == pytest.approx([0.1, 0.16, 0.22, 0.28, 0.4])
        assert [option.chosen for option in view.does] == [arena == 1, False, arena == 0, False, arena == 0]
        assert [option.taken for option in view.does] == [None, None, None, (-1.0, 0.25)[arena], None]
        assert view.does[3].spread == 0.25


def test_the_choice_that_was_made_is_marked(stages: Stages) -> None:
    show = stages.lander(policy=Thinker())
    for _ in range(8):
        (thought,) = run(show)
        view = show.mind.view()
        assert [option.name for option in view.does] == ["coast", "left", "main", "right"]
        assert [option.chosen for option in view.does].index(True) == int(thought.did)
        assert sum(option.chosen for option in view.does) == 1


def test_it_sees_what_it_decided_on_and_ranges_only_grow(stages: Stages) -> None:
    show = stages.lander(policy=Thinker())
    widths = [[2.0] * 8]
    for _ in range(90):
        before = sight(show)
        run(show)
        view = show.mind.view()
        assert [seen.value for seen in view.sees] == before
        assert view.expected[-1] == pytest.approx(10 * before[0])
        assert all(seen.low <= min(-1.0, seen.value) and seen.high >= max(1.0, seen.value) for seen in view.sees)
        widths.append([seen.high - seen.low for seen in view.sees])
    assert (np.diff(widths, axis=0) >= 0).all()
    assert widths[-1] != widths[0]


def sight(show: LiveEpisode) -> list[float]:
    """Return what the first agent of the watched arena sees now."""
    seen = show.world.of(show.world.batches[0].entity, Observation).value[show.arena]
    return [float(number) for number in seen]


def test_terms_of_the_tick_add_up_to_those_of_the_episode(stages: Stages) -> None:
    show = stages.lander(policy=Thinker())
    totals = dict.fromkeys(show.world.arena.agents[0].earns, 0.0)
    for _ in range(30):
        run(show)
        for term in show.mind.view().earned:
            totals[term.name] += term.now
            assert term.total == pytest.approx(totals[term.name])
    assert totals["fuel"] < 0


def test_an_agent_that_lets_nobody_look_still_shows_what_it_sees_and_earns(stages: Stages) -> None:
    minds: list[dict[str, object]] = [{}, {"policy": object()}]
    for mind in minds:
        show = stages.lander(**mind)
        run(show)
        view = show.mind.view()
        assert view.does == ()
        assert np.isnan(view.expected).all()
        assert len(view.sees) == 8
        assert len(view.earned) == 6


def test_before_the_first_tick_it_tells_what_is_seen_and_that_nothing_was_done(stages: Stages) -> None:
    show = stages.lander(policy=Thinker())
    view = show.mind.view()
    assert [seen.value for seen in view.sees] == sight(show)
    assert len(view.expected) == 1
    assert not any(option.chosen for option in view.does)
    assert {(term.now, term.total) for term in view.earned} == {(0.0, 0.0)}


def test_nothing_is_asked_again_while_nothing_happens(stages: Stages) -> None:
    mind = Thinker()
    show = stages.lander(policy=mind)
    run(show, 40)
    calls = len(mind.asked)
    assert show.mind.view() is show.mind.view()
    assert mind.asked[calls:] == [40]
    assert len(show.mind.view().expected) == 40


def test_another_agent_says_at_once_what_it_thinks_and_what_was_expected_stays(stages: Stages) -> None:
    show = stages.lander(policy=Thinker())
    run(show, 20)
    first = show.mind.view()
    show.use(cast(Mapping[str, Agent], {"policy": Thinker(kind="values")}), "another")
    second = show.mind.view()
    assert (first.kind, second.kind) == ("probabilities", "values")
    assert second.expected.tolist() == first.expected.tolist()


@pytest.mark.parametrize("leave", [LiveEpisode.restart, LiveEpisode.new_episode, lambda show: show.go_to(2)])
def test_the_plot_goes_no_further_back_than_to_what_is_on_the_stage_now(
    stages: Stages, leave: Callable[[LiveEpisode], None]
) -> None:
    show = stages.sliding(Thinker(1, "levers", 0.99), 30)
    run(show, 12)
    leave(show)
    run(show, 30)
    assert np.isfinite(show.mind.view().came).tolist() == [True] * 30
    leave(show)
    run(show, 3)
    assert len(show.mind.view().came) == 33, "that episode came to its end"


def test_an_exploded_episode_is_never_known(stages: Stages) -> None:
    show = stages.sliding(Thinker(1, "levers", 0.99), 30)
    run(show)
    show.world.engine_as(Physics).state[0, 0, 0] = 1e6
    show.world.rebuild()
    (last,) = run(show)
    assert last.fate is Fate.CUT
    assert np.isnan(show.mind.view().came).all()
    run(show, 3)
    assert len(show.mind.view().came) == 3, "nothing follows from it"


def test_the_window_rolls_over_many_episodes(stages: Stages) -> None:
    show = stages.sliding(Thinker(1, "levers"), 7)
    run(show, WINDOW + 55)
    view = show.mind.view()
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


def test_of_several_agents_the_first_is_watched_with_its_own_rewards(stages: Stages) -> None:
    scene = Scene("two", 20, gravity=(0.0, 0.0), name="two", reference="two", build=_two)
    show = stages.of(scene, {"policy": Thinker(1, "levers")}, lambda seen, state: np.zeros((4, 1), np.float32))
    run(show, 3)
    view = show.mind.view()
    assert [seen.value for seen in view.sees] == [-1.0]
    assert [(term.name, term.now, term.total) for term in view.earned] == [("alive", 1.0, 3.0), ("place", -1.0, -3.0)]


def test_watching_changes_nothing(stages: Stages) -> None:
    show = stages.lander(policy=Thinker())
    for _ in range(5):
        run(show)
        before = show.world.save_columns()
        show.mind.view()
        show.mind.ribbon()
        after = show.world.save_columns()
        assert all(np.array_equal(before[name], after[name]) for name in before)


def test_the_beginnings_of_episodes_are_told_so_that_no_line_leads_over_them(stages: Stages) -> None:
    show, ticks = stages.lander(policy=Thinker()), 0
    while not show.mind.view().begins:
        ticks += len(run(show))
    assert show.mind.view().begins == (ticks,)
    run(show)
    assert show.mind.view().begins == (ticks,)
    assert len(show.mind.view().expected) == ticks + 1


def test_in_a_mixture_a_lever_is_drawn_as_a_lever_and_a_choice_as_a_bar() -> None:
    steer = Option("steer left", 0.7, chosen=True), Option("steer right", 0.3)
    gas, fire = Option("gas", 0.2, taken=0.6, spread=0.3), Option("fire", 0.9)

    def drawn(*does: Option) -> NDArray[np.uint8]:
        surface = pygame.Surface((320, 400))
        painted(MindPanel(), surface, MindView(kind="mixture", does=does))
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


def test_of_several_agents_the_mind_is_one_at_a_time_and_says_whose(stages: Stages) -> None:
    scene = Scene(about="Two discs.", max_ticks=40, build=pair)
    minds = {"one": Thinker(1, "levers"), "two": Thinker(1, "levers")}
    show = stages.of(scene, minds, lambda seen, state: np.zeros((len(seen), 1), np.float32))
    run(show)
    first = show.mind.view()
    assert (first.who, [seen.name for seen in first.sees]) == ("one", ["one x", "one vx"])
    assert first.earned[1].total == 1.0
    show.mind.turn()
    assert show.mind.view().who == "two"
    assert show.mind.view().earned[1].total == 2.0, "what it did while nobody looked"
    run(show)
    view = show.mind.view()
    assert [seen.name for seen in view.sees] == ["two x", "two vx"]
    assert [(term.name, term.now, term.total) for term in view.earned][1] == ("number", 2.0, 4.0)
    assert view.expected[-1] == pytest.approx(10 * view.sees[0].value)
    show.mind.turn()
    assert show.mind.view().who == "one"


def test_a_lone_agent_has_no_name_and_nobody_to_turn_to(stages: Stages) -> None:
    show = stages.lander(policy=Thinker())
    run(show)
    show.mind.turn()
    assert (show.mind.view().who, len(show.mind.view().expected)) == ("", 1)


def test_the_mind_of_what_remembers_is_that_of_its_decisions() -> None:
    scene = load_scene("balance")
    agents = make_agents(scene, "ppo", PPOConfig(network="gru", hidden=(8,), state=4), arenas=2, seed=0)
    show = LiveEpisode(scene, agents, seeds=range(2))
    show.go_to(1)
    told: list[float] = []

    def decide(observation: Floats, state: Floats) -> Decision:
        (agent,) = agents.values()
        told.append(float(agent.introspect(observation, state).value[1]))  # type: ignore[attr-defined]
        return agent.act(observation, ActMode.SAMPLE, state)

    decide.state = 8  # type: ignore[attr-defined]
    show.world.drive("policy", decide)
    run(show, 40)
    np.testing.assert_allclose(show.mind.view().expected, told, rtol=1e-4, atol=1e-6)
    assert len(show.mind.view().begins) > 0
    show.use({"policy": next(iter(make_agents(scene, "ppo", PPOConfig(), arenas=2, seed=0).values()))}, "another")
    run(show)
    assert np.isfinite(show.mind.view().expected[-1])
    show.close()
