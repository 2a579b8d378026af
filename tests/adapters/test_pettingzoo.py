"""Scenes of several agents by PettingZoo's parallel API: its own tests, and who is out."""

from __future__ import annotations

import re
from pathlib import Path

import pytest
from pettingzoo.test import parallel_api_test, parallel_seed_test

from ecs_rl.adapters.pettingzoo import parallel_env
from ecs_rl.loading import load_scene
from ecs_rl.shipped import scene_names

GAMES = Path(__file__).parents[1] / "scenes"


def of_several_agents(scene: str) -> bool:
    agents = load_scene(scene).describe().agents
    return len(agents) > 1 or agents[0].count is not None


SCENES = sorted(filter(of_several_agents, [*scene_names(), *map(str, GAMES.glob("*.py"))]))


@pytest.mark.parametrize("scene", SCENES)
@pytest.mark.filterwarnings("ignore::DeprecationWarning")
def test_the_library_s_own_tests_pass(scene: str) -> None:
    parallel_api_test(parallel_env(scene), num_cycles=400)
    parallel_seed_test(lambda: parallel_env(scene), num_cycles=100)


def test_agents_have_their_names_and_members_their_numbers() -> None:
    assert parallel_env(str(GAMES / "soccer.py")).possible_agents == ["orange 0", "orange 1", "blue 0", "blue 1"]


def test_a_player_that_is_out_is_done_and_the_others_go_on() -> None:
    env = parallel_env(str(GAMES / "tag.py"))
    env.reset(seed=0)
    out: dict[str, int] = {}
    for tick in range(1_000):
        _, _, terminated, truncated, _ = env.step({name: env.action_space(name).sample() for name in env.agents})
        done = [name for name in terminated if terminated[name] or truncated[name]]
        assert not set(done) & set(env.agents)
        out |= {name: tick for name in done if name not in out}
        if not env.agents:
            break
    assert len(out) == 4
    assert len(set(out.values())) > 1, "nobody went out before the others"


def test_an_agent_without_an_action_is_named() -> None:
    env = parallel_env(str(GAMES / "soccer.py"))
    env.reset(seed=0)
    with pytest.raises(ValueError, match=re.escape("'orange 0' is still there: give it an action")):
        env.step({})
