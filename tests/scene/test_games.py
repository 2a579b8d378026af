"""Nine small games keep the promises of every scene."""

from __future__ import annotations

from pathlib import Path

import pytest
from games import GAMES, TEXTS, game
from scene_contract import SceneContract

from ecs_rl.agents.config import PPOConfig
from ecs_rl.commands import train
from ecs_rl.loading import load_scene
from ecs_rl.physics.physics import Physics
from ecs_rl.tasks import check
from ecs_rl.tasks.check import random_chooser
from ecs_rl.training.prepare import prepare
from ecs_rl.training.settings import TrainingSettings
from ecs_rl.training.training import Training
from ecs_rl.world import World, policy_specs
from ecs_rl.worlds import make_world

SMALL = PPOConfig(rollout=16, minibatch=64, epochs=2, hidden=(16,))


class TestShooter(SceneContract):
    scene = game("shooter")


class TestForager(SceneContract):
    scene = game("forager")


class TestSoccer(SceneContract):
    scene = game("soccer")


class TestFlappy(SceneContract):
    scene = game("flappy")


class TestWalker(SceneContract):
    scene = game("walker")


class TestMaze(SceneContract):
    scene = game("maze")


class TestCards(SceneContract):
    scene = game("cards")


class TestSumo(SceneContract):
    scene = game("sumo")


class TestTag(SceneContract):
    scene = game("tag")


def random_world(name: str, arenas: int, *, threads: int = 1, debug: bool = False) -> World:
    """Return a world of the game in which every action is a function of the tick."""
    scene = load_scene(game(name))

    def tick() -> int:
        return world.ticks

    choosers = {policy: random_chooser(spec, 0, tick) for policy, spec in policy_specs(scene.describe()).items()}
    world = make_world(scene, arenas=arenas, seed=5, threads=threads, policies=choosers, debug=debug)
    return world


def columns(world: World) -> dict[str, bytes]:
    """Return every column that a checkpoint would save."""
    return {name: column.tobytes() for name, column in world.save_columns().items()}


@pytest.mark.parametrize("name", GAMES)
def test_a_game_is_a_file_of_less_than_60_lines(name: str) -> None:
    assert len(TEXTS[name].splitlines()) < 60


def test_every_game_is_tested() -> None:
    others = {"balance_unseen"}  # no game: what recurrent policies are for
    assert {path.stem for path in Path(game("tag")).parent.glob("*.py")} - others == set(GAMES)


@pytest.mark.parametrize("name", GAMES)
def test_a_debug_run_finds_nothing_read_or_written_that_is_not_declared(name: str) -> None:
    world = random_world(name, 3, debug=True)
    for _ in range(150):
        world.tick()
    world.close()


@pytest.mark.parametrize("name", GAMES)
def test_a_game_in_slices_leads_to_the_same_agent_as_in_whole_ticks(name: str) -> None:
    def training() -> Training:
        scene = load_scene(game(name))
        return prepare(scene, "ppo", SMALL, TrainingSettings(arenas=4, steps=320, eval_every=160, eval_episodes=1))

    whole, sliced = training(), training()
    while not whole.done:
        whole.tick()
    while not sliced.done:
        for _ in sliced.slices():
            pass
    assert whole.session.agent.parameters_sha256() == sliced.session.agent.parameters_sha256()
    assert whole.evaluation.last == sliced.evaluation.last
    assert columns(whole.world) == columns(sliced.world)
    whole.close()
    sliced.close()


@pytest.mark.parametrize("name", GAMES)
def test_a_game_on_two_threads_is_the_same_as_on_one(name: str, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("ecs_rl.physics.physics.os.cpu_count", lambda: 2)
    one, two = random_world(name, 256), random_world(name, 256, threads=2)
    assert (one.engine_as(Physics).threads, two.engine_as(Physics).threads) == (1, 2)
    for _ in range(40):
        one.tick()
        two.tick()
        assert columns(one) == columns(two)
    one.close()
    two.close()


@pytest.mark.parametrize("name", GAMES)
def test_check_finds_a_game_sound(
    name: str, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setattr(check, "LONGEST", 300)
    assert train.main([game(name), "--check", "--arenas", "4"]) == 0
    assert "300 ticks of 4 arenas" in capsys.readouterr().out
