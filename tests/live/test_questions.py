"""Why did it do that: pulls and turned inputs in the mind, ways not gone and the value map on the stage."""

from __future__ import annotations

import math
from collections.abc import Iterator
from pathlib import Path

import numpy as np
import pygame
import pytest
from games import game
from live_windows import TINY, Live, down, moved, same, up, watching
from mixed_controls import MIXED

from ecs_rl.agents.base import Agent, output_of
from ecs_rl.agents.config import DQNConfig, PPOConfig, SACConfig, TD3Config
from ecs_rl.agents.explain import pulls
from ecs_rl.loading import load_scene
from ecs_rl.physics.physics import Physics
from ecs_rl.spaces import ActMode
from ecs_rl.training.scene_agents import deciding, make_agents
from ecs_rl.viewer.canvas import Canvas
from ecs_rl.viewer.ghosts import Ghosts, ways_of
from ecs_rl.viewer.live_episode import LiveEpisode
from ecs_rl.viewer.mind_sheet import range_of
from ecs_rl.viewer.panels.mind_panel import MindPanel
from ecs_rl.viewer.why import ACROSS, UP, ValueMap, Why, best_of, chosen_row, place_of, pushes, rows_of

CONFIGS = {
    "ppo": PPOConfig(hidden=(8,)),
    "dqn": DQNConfig(hidden=(8,)),
    "sac": SACConfig(hidden=(8,)),
    "td3": TD3Config(hidden=(8,)),
    "gru": PPOConfig(hidden=(8,), network="gru", state=8),
}


def show_of(scene: str, agent: str = "ppo", *, arenas: int = 2) -> LiveEpisode:
    loaded = load_scene(scene)
    name = "ppo" if agent == "gru" else agent
    agents: dict[str, Agent] = make_agents(loaded, name, CONFIGS[agent], arenas=1, seed=3)
    return LiveEpisode(loaded, agents, seeds=range(arenas))


@pytest.fixture(params=["ppo", "gru", "dqn", "sac", "levers", "td3", "mixed", "tag", "sumo"])
def show(request: pytest.FixtureRequest, tmp_path: Path) -> Iterator[LiveEpisode]:
    if request.param == "mixed":
        path = tmp_path / "mixed.py"
        path.write_text(MIXED)
        made = show_of(str(path), "sac")
    elif request.param in ("tag", "sumo"):
        made = show_of(game(request.param))
    elif request.param in ("levers", "td3"):
        made = show_of("swingup", "td3" if request.param == "td3" else "ppo")
    else:
        made = show_of("lander", request.param)
    for _ in range(12):
        made.tick()
    yield made
    made.close()


# --- pulls ------------------------------------------------------------------------------------------------------------


def test_what_pulls_is_told_of_the_action_that_was_taken(show: LiveEpisode) -> None:
    why, plain = Why(show), show.mind.view()
    told = why.view()
    moment, space = show.mind.current, show.mind.space
    assert moment is not None
    assert moment.state is not None
    assert told.why is not None
    row = chosen_row(space, moment)
    assert (told.why.row, told.why.of) == (row, plain.does[row].name)
    if any(option.chosen for option in plain.does):
        assert plain.does[row].chosen or plain.does[row].taken is not None
    wanted = pulls(show.mind.agent, moment.seen[None], [rows_of(space)[row]], moment.state[None])
    assert wanted is not None
    assert told.why.pulls == tuple(wanted[0].tolist())
    assert any(told.why.pulls)
    assert (told.sees, told.does) == (plain.sees, plain.does)


def test_another_row_can_be_explained_and_the_same_click_goes_back(show: LiveEpisode) -> None:
    why = Why(show)
    rows = len(show.mind.view().does)
    for row in range(rows):
        why.row = None
        why.explain(row)
        told = why.view().why
        assert told is not None
        assert told.row == row
        assert told.of == show.mind.view().does[row].name
    why.explain(rows - 1)
    assert why.row is None


def test_a_number_that_is_turned_shows_what_the_agent_would_do_and_nothing_else_changes(show: LiveEpisode) -> None:
    why, before = Why(show), show.world.save_columns()
    plain = show.mind.view()
    why.turn(1, 0.77)
    told, moment = why.view(), show.mind.current
    assert moment is not None
    assert moment.state is not None
    assert told.sees[1].value == pytest.approx(0.77)
    assert [seen.value for i, seen in enumerate(told.sees) if i != 1] == [
        seen.value for i, seen in enumerate(plain.sees) if i != 1
    ]
    turned = moment.seen.copy()
    turned[1] = 0.77
    agent = show.mind.agent
    assert agent is not None
    output = output_of(agent, turned[None], moment.state[None])
    assert output is not None
    rows = rows_of(show.mind.space)
    assert [option.value for option in told.does] == pytest.approx([float(output.does[0][row]) for row in rows])
    assert told.why is not None
    assert told.why.value == pytest.approx(float(output.value[0]))
    assert told.why.did == plain.does
    greedy = agent.act(turned[None], ActMode.GREEDY, moment.state[None]).action[0]
    assert np.atleast_1d(greedy).tolist() == pytest.approx(best_of(show.mind.space, output.does[0]).tolist(), abs=1e-6)
    assert same(show.world.save_columns(), before)
    why.turned = {}
    assert why.view().sees == plain.sees


def test_an_algorithm_that_cannot_tell_says_so_in_a_word() -> None:
    show = show_of("balance")
    show.tick()

    class Opaque:
        name = "opaque"
        spec = show.agents["policy"].spec
        discount = 0.9

    show.mind.use({"policy": Opaque()})  # type: ignore[dict-item]
    told = Why(show).view()
    assert told.why is not None
    assert told.why.pulls is None
    canvas, surface = Canvas(), pygame.Surface((300, 600))
    canvas.begin(surface)
    with canvas.painting("mind"):
        MindPanel().paint(canvas, told, surface.get_rect())
    assert any("not told" in text for _, text in canvas.texts())
    show.close()


# --- ways not gone ----------------------------------------------------------------------------------------------------


def finished(ghosts: Ghosts) -> Ghosts:
    for _ in range(4000):
        ghosts.look(0.05)
        if ghosts.is_done:
            return ghosts
    raise AssertionError("the ways never come to an end")


def test_the_policys_own_way_is_the_one_that_the_stage_then_takes() -> None:
    show = show_of("swingup")  # nothing touches: the physics has no memory
    for _ in range(20):
        show.tick()
    before = show.world.save_columns()
    ghosts = finished(Ghosts(show))
    assert [ghost.name for ghost in ghosts.paths] == ["", "push -1", "push +1"]
    assert same(show.world.save_columns(), before), "the stage stands where it stood"
    own = ghosts.paths[0]
    assert own.tone is None
    assert len(own.paths[0]) == 1 + round(1.0 / show.scene.dt)
    reader = show.reader
    rows, at = reader.tips_of(show.mind.watched[1])  # type: ignore[union-attr]
    for tick in range(len(own.paths[0])):
        x, y, angle = show.world.engine_as(Physics).state[:3, rows, 0]
        tips = np.stack(
            (
                x + np.cos(angle) * at[:, 0] - np.sin(angle) * at[:, 1],
                y + np.sin(angle) * at[:, 0] + np.cos(angle) * at[:, 1],
            ),
            axis=1,
        )
        np.testing.assert_allclose([path[tick] for path in own.paths], tips, atol=1e-6)
        show.tick()
    ends = [ghost.paths[0][-1] for ghost in ghosts.paths]
    assert math.dist(ends[1], ends[2]) > 0.5, "all the way left is not all the way right"
    ghosts.close()
    show.close()


def test_each_way_does_one_thing_all_the_while_and_ends_where_the_episode_would() -> None:
    show = show_of("balance")
    show.tick()
    ghosts = finished(Ghosts(show))
    left, right = ghosts.paths[1:]
    assert (left.name, right.name) == ("left", "right")
    assert math.dist(left.paths[0][-1], right.paths[0][-1]) > 0.1
    assert left.paths[0][0].tolist() == right.paths[0][0].tolist()
    assert left.tone == right.tone == "bad"
    assert len(left.paths[0]) < 1 + round(1.0 / show.scene.dt), "it falls within the second"
    ghosts.close()
    show.close()


def test_every_kind_of_control_has_its_ways_and_only_the_watched_agents_part_is_forced(show: LiveEpisode) -> None:
    ghosts = finished(Ghosts(show))
    assert [ghost.name for ghost in ghosts.paths[1:]] == [name for name, _ in ways_of(show.mind.space)][:12]
    assert len(ghosts.paths) > 2
    for ghost in ghosts.paths:
        assert all(np.isfinite(path).all() for path in ghost.paths)
    world = ghosts._world
    assert world is not None
    decide = deciding(show.agents, ActMode.GREEDY)[show.mind.watched[0].name]
    batch = next(each for each in world.batches if each.name == show.mind.watched[0].name)
    seen = np.random.default_rng(0).normal(size=(batch.rows, len(batch.spec.observations))).astype(np.float32)
    state = np.zeros((batch.rows, getattr(decide, "state", 0)), np.float32)
    free = np.asarray(decide(seen, state).action, float).reshape(batch.rows, -1)  # type: ignore[union-attr]
    for _, (columns, value) in ways_of(show.mind.space):
        ghosts.forced, row = (columns, value), show.mind.place
        forced = np.asarray(world.policies[batch.name](seen, state).action, float).reshape(batch.rows, -1)  # type: ignore[union-attr]
        assert (forced[row, columns] == value).all()
        forced[row, columns] = free[row, columns]
        np.testing.assert_array_equal(forced, free)
    ghosts.close()


def first_point(ghosts: Ghosts) -> list[float]:
    return [float(number) for number in ghosts.paths[0].paths[0][0]]


def test_ways_begin_anew_where_the_stage_goes_on_and_also_in_the_past() -> None:
    show = show_of("swingup")
    for _ in range(30):
        show.tick()
    ghosts = finished(Ghosts(show))
    now = first_point(ghosts)
    show.tick()
    ghosts.look(0.0)
    assert len(ghosts.paths) == 0
    finished(ghosts)
    assert ghosts.is_done
    assert first_point(ghosts) != now
    show.rewind.go(show.rewind.here - 1)
    finished(ghosts)
    assert first_point(ghosts) == now
    ghosts.close()
    show.close()


# --- the value map ----------------------------------------------------------------------------------------------------


def whole(found: ValueMap, bounds: tuple[tuple[float, float], tuple[float, float]] | None) -> ValueMap:
    for _ in range(50):
        found.look(bounds)
        if found.view is not None:
            return found
    raise AssertionError("no map came of it")


def test_the_map_lies_on_the_arena_and_is_what_the_agent_expects_there() -> None:
    show = show_of("lander")
    for _ in range(10):
        show.tick()
    slot = show.mind.watched[1]
    place = place_of(slot)
    assert place is not None
    assert [slot.spec.observation_names[i] for i in (place.across, place.up)] == ["hull x", "hull y"]
    view = whole(ValueMap(show, Why(show)), ((-4.0, 0.0), (4.0, 6.0))).view
    assert view is not None
    assert view.on_stage
    assert view.names == ("hull x", "hull y")
    assert view.values.shape == (UP, ACROSS)
    moment, agent = show.mind.current, show.mind.agent
    assert moment is not None
    assert agent is not None
    for row, column in ((0, 0), (UP - 1, 3), (7, ACROSS - 1)):
        seen = moment.seen.copy()
        seen[place.across] = np.linspace(-4.0, 4.0, ACROSS)[column] * place.metre_across
        seen[place.up] = np.linspace(0.0, 6.0, UP)[row] * place.metre_up
        told = output_of(agent, seen[None])
        assert told is not None
        assert view.values[row, column] == pytest.approx(float(told.value[0]), rel=1e-4, abs=1e-4)
    hull = next(role for role in show.world.arena.roles if role.name == "hull")
    assert view.here == pytest.approx(hull.position[0].tolist(), abs=0.2)
    show.close()


def test_arrows_point_where_the_best_action_pushes() -> None:
    show = show_of("balance")
    show.tick()
    slot, space = show.mind.watched[1], show.mind.space
    does = np.array([[0.9, 0.1], [0.2, 0.8]], np.float32)
    assert pushes(slot, space, does, [0.0, 0.0]).tolist() == [[-1.0, 0.0], [1.0, 0.0]]
    show.close()
    levers = show_of("forager")
    levers.tick()
    set_to = np.array([[0.5, 0.5], [0.0, 0.0], [-1.0, 0.0]], np.float32)
    both = pushes(levers.mind.watched[1], levers.mind.space, set_to, [0.0, 0.0])
    assert both[0] == pytest.approx([0.5 * (1 + math.sqrt(0.5)) * math.sqrt(0.5)] * 2)
    assert both[1:].tolist() == [[0.0, 0.0], [-1.0, 0.0]]
    levers.close()


def test_where_the_two_are_no_place_the_map_is_a_plot_and_other_numbers_can_be_chosen(show: LiveEpisode) -> None:
    why = Why(show)
    found = ValueMap(show, why)
    names = show.mind.plan.observation_names
    found.choose(2)
    first = found.chosen()
    assert first[0] == 2
    found.choose(3)
    assert found.chosen() == (3, 2)
    found.choose(3)
    assert found.chosen() == (2, 3), "the same again swaps them"
    view = whole(found, ((-1.0, -1.0), (1.0, 1.0))).view
    assert view is not None
    assert (view.names, view.on_stage) == ((names[2], names[3]), False)
    assert np.isfinite(view.values).all()
    assert view.arrows.shape == (UP, ACROSS, 2)


def test_what_is_turned_by_hand_changes_the_map_too() -> None:
    show = show_of("lander")
    for _ in range(5):
        show.tick()
    why = Why(show)
    found = whole(ValueMap(show, why), ((-4.0, 0.0), (4.0, 6.0)))
    before = found.view
    why.turn(3, -0.9)
    for _ in range(30):
        found.look(((-4.0, 0.0), (4.0, 6.0)))
    assert before is not None
    assert found.view is not None
    assert not np.allclose(found.view.values, before.values)
    show.close()


# --- in the window ----------------------------------------------------------------------------------------------------


@pytest.fixture
def live(tmp_path: Path) -> Iterator[Live]:
    with watching(tmp_path, "lander", *TINY) as opened:
        opened.slices(20)
        for _ in range(20):
            opened.show.tick()
        opened.draw()
        yield opened
        opened.window.stage.questions.close()


def frames(live: Live, count: int) -> None:
    for _ in range(count):
        live.window.advance(1 / 60, 0.01)
        live.draw()


def row_pixel(live: Live, section: str, number: int, share: float = 0.5) -> tuple[int, int]:
    return live.at("mind", "bar" if section == "sees" else "option", number, share)


def test_the_mouse_turns_what_the_agent_sees_and_escape_turns_it_back_and_then_leaves(live: Live) -> None:
    live.hit("I")
    frames(live, 2)
    assert live.show.paused
    before, trained = live.state(), live.trains.world.save_columns()
    start, there = row_pixel(live, "sees", 3, 0.5), row_pixel(live, "sees", 3, 0.1)
    live.answer(down(start), moved((start[0] + 9, start[1])), moved(there))
    frames(live, 1)
    mind = live.window.views["mind"]
    assert mind.why.turned == (3,)
    low, high = range_of(mind.sees[3])
    assert mind.sees[3].value == pytest.approx(low + 0.1 * (high - low), abs=0.01 * (high - low))
    live.answer(up(there))
    assert live.show.hand.role is None
    other = row_pixel(live, "sees", 0, 0.9)
    live.answer(down(other), up(other))
    frames(live, 1)
    assert live.window.views["mind"].why.turned == (0, 3)
    assert same(live.state(), before)
    assert same(live.trains.world.save_columns(), trained)
    live.hit("Esc")
    frames(live, 1)
    assert "WHY?" in live.chips
    assert live.window.views["mind"].why is not None
    live.hit("Esc")
    frames(live, 1)
    assert "WHY?" not in live.chips
    assert live.window.views["mind"].why is None


def test_a_click_on_what_it_does_asks_about_that(live: Live) -> None:
    live.hit("I")
    frames(live, 1)
    at = row_pixel(live, "does", 2)
    live.answer(down(at), up(at))
    frames(live, 1)
    mind = live.window.views["mind"]
    assert mind.why is not None
    assert (mind.why.row, mind.why.of) == (2, mind.does[2].name)


def test_ghosts_come_slice_by_slice_while_the_stage_rests_and_go_when_it_goes_on(live: Live) -> None:
    live.hit("I")
    frames(live, 300)
    assert {ghost.name for ghost in live.window.views["stage"].ghosts} == {"", "coast", "left", "main", "right"}
    live.hit("Space")
    live.draw()
    assert live.window.views["stage"].ghosts == ()
    live.hit("I", "I")
    assert live.show.paused


def test_the_map_tints_the_stage_while_it_learns_and_a_name_is_another_axis(live: Live) -> None:
    live.hit("X")
    frames(live, 30)
    stage = live.stage
    assert stage is not None
    assert stage.field is not None
    assert "VALUE MAP" in live.chips
    first = stage.field
    live.slices(600)
    live.window.stage.questions._map._since = -math.inf  # type: ignore[union-attr]
    frames(live, 20)
    assert live.stage.field is not None
    assert live.stage.field is not first
    name = live.at("mind", "name", 4, 0.05)
    live.answer(down(name), up(name))
    frames(live, 30)
    assert "plot" in live.window.views
    assert live.window.views["plot"].names == ("hull angle", "hull x")
    assert live.stage.field is None
    live.hit("Esc")
    live.draw()
    assert "plot" not in live.window.views


def test_where_there_is_no_one_agent_nothing_is_asked(live: Live) -> None:
    live.hit("G", "I", "X")
    assert "no one agent" in live.said()
    live.draw()
    assert not live.window.stage.questions.asks_why
    assert not live.window.stage.questions.maps
    live.hit("G", "I", "X")
    frames(live, 3)
    live.hit("G")
    frames(live, 2)
    assert "stage" not in live.window.views
    live.hit("G", "B")
    frames(live, 2)


def test_an_environment_tells_what_pulls_and_has_a_plot_for_a_map(tmp_path: Path) -> None:
    with watching(tmp_path, "gym:CartPole-v1", *TINY) as live:
        for _ in range(5):
            live.show.tick()
        live.hit("I", "X")
        frames(live, 12)
        assert live.window.views["mind"].why.pulls is not None
        assert live.window.views["stage"].ghosts == ()
        assert "plot" in live.window.views
        live.window.stage.questions.close()
