"""A stop in the middle of an update or an evaluation saves at once, and a resumed run never shows it."""

from __future__ import annotations

import contextlib
import os
import signal
from collections.abc import Iterator
from pathlib import Path

import pytest
from exact_resume_cases import TWO
from survival_runs import Told, assert_same_end, assert_same_logs, train

from ecs_rl.runs import read_manifest
from ecs_rl.training import evaluator as evaluate
from ecs_rl.training.training import Training
from ecs_rl.world import World

# 8 arenas: an update every 16 ticks (128 steps), a checkpoint with every fourth of them, evaluations between and at it.
EVERY = ("--arenas", 8, "--schedule-steps", "24k", "--checkpoint-every", 512, "--eval-every", 384, "--threads", 1)
STEPS = 1536
PPO = ("--ppo.rollout", 16, "--ppo.minibatch", 32, "--ppo.epochs", 3, "--ppo.hidden", 16)
DQN = ("--agent", "dqn", "--dqn.warm-up", 64, "--dqn.learn-every", 2, "--dqn.batch", 32, "--dqn.hidden", 16)
AGENTS = {"ppo": PPO, "dqn": (*DQN, "--dqn.memory", 1000)}


@contextlib.contextmanager
def signal_in(stage: str, step: int, slices: int) -> Iterator[None]:
    """Send this process SIGINT once so many slices of a stage are done in the tick that reaches `step`."""
    whole = World.slices

    def signalled(world: World, first: str = "") -> Iterator[str]:
        count = 0
        for name in whole(world, first):
            count += name == stage
            if count == slices and stops and training[-1].session.total_steps == step:
                stops.clear()
                os.kill(os.getpid(), signal.SIGINT)
            yield name

    training: list[Training] = []
    stops = [step]
    tick = Training.tick

    def noted(each: Training) -> None:
        training[:] = [each]
        tick(each)

    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(World, "slices", signalled)
        patch.setattr(Training, "tick", noted)
        yield
    assert not stops, "the signal was never sent"


def command(scene: object, agent: str, name: str, folder: Path) -> tuple[object, ...]:
    return (scene, *EVERY, "--eval-episodes", 3, "--steps", STEPS, *AGENTS[agent], "--name", name, "--runs", folder)


def stopped(stage: str, step: int, slices: int, *args: object) -> Told:
    with signal_in(stage, step, slices):
        told = train(*args)
    assert (told.json["status"], told.json["steps"]) == ("interrupted", step), told.err
    manifest = read_manifest(told.run / "checkpoints" / "latest.safetensors")
    assert (manifest.step, manifest.resume["left_at"]) == (step, stage)
    return told


@pytest.mark.parametrize("agent", AGENTS)
@pytest.mark.parametrize(
    ("stage", "step", "slices"),
    [
        ("learn", 640, 1),  # nothing else is due
        ("learn", 512, 2),  # a checkpoint is due in the same tick
        ("learn", 1152, 3),  # an evaluation is
        ("learn", STEPS, 2),  # everything is, and it is the last tick
        ("evaluate", 384, 1),  # before its world is made
        ("evaluate", 1152, 9),
        ("evaluate", STEPS, 5),
    ],
)
def test_a_tick_that_was_left_is_done_once_and_whole(
    agent: str, stage: str, step: int, slices: int, tmp_path: Path
) -> None:
    slices = min(slices, 3) if agent == "dqn" and stage == "learn" else slices
    wanted = train(*command("balance", agent, "whole", tmp_path))
    first = stopped(stage, step, slices, *command("balance", agent, "left", tmp_path))
    assert first.sha != wanted.sha or stage == "evaluate"
    resumed = train("balance", "--resume", first.run, "--runs", tmp_path)
    assert (resumed.json["status"], resumed.sha) == ("finished", wanted.sha)
    assert_same_logs(resumed.run, wanted.run)
    assert_same_end(resumed.run, wanted.run)
    assert {key: resumed.json[key] for key in ("best_eval", "best_step", "episodes")} == {
        key: wanted.json[key] for key in ("best_eval", "best_step", "episodes")
    }


def test_one_tick_can_be_left_again_and_again(tmp_path: Path) -> None:
    scene = tmp_path / "two.py"
    scene.write_text(TWO)
    wanted = train(*command(scene, "ppo", "whole", tmp_path))
    args, run = command(scene, "ppo", "left", tmp_path), Path()
    # 12 minibatches of each of two agents, the second one's update after the first one's, then an evaluation.
    for stage, slices in (("learn", 5), ("learn", 4), ("learn", 8), ("evaluate", 2), ("evaluate", 4)):
        run = stopped(stage, 768, slices, *args).run
        args = (scene, "--resume", run, "--runs", tmp_path)
    resumed = train(*args)
    assert resumed.sha == wanted.sha
    assert_same_logs(resumed.run, wanted.run)
    assert_same_end(resumed.run, wanted.run)


def test_a_stop_in_the_evaluation_after_the_last_tick_is_an_interruption(tmp_path: Path) -> None:
    args = (*command("balance", "ppo", "last", tmp_path), "--schedule-steps", "24k")
    args = (*args[: args.index("--steps")], "--steps", 1400, *args[args.index("--steps") + 2 :])
    wanted = train(*(x if x != "last" else "whole" for x in args))
    assert wanted.json["best_step"] is not None
    evaluate = Training.evaluate

    def signalled(training: Training) -> Iterator[None]:
        for count, _ in enumerate(evaluate(training)):
            if count == 4:
                os.kill(os.getpid(), signal.SIGINT)
            yield

    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(Training, "evaluate", signalled)
        first = train(*args)
    assert (first.json["status"], first.json["steps"]) == ("interrupted", 1400)
    resumed = train("balance", "--resume", first.run, "--runs", tmp_path)
    assert (resumed.json["status"], resumed.json["best_eval"]) == ("finished", wanted.json["best_eval"])
    assert_same_logs(resumed.run, wanted.run)
    assert_same_end(resumed.run, wanted.run)


def test_a_run_that_was_resumed_twice_with_more_steps_is_one_that_was_not(tmp_path: Path) -> None:
    def args(name: str, steps: int) -> tuple[object, ...]:
        return ("balance", *EVERY, "--eval-episodes", 3, "--steps", steps, *PPO, "--name", name, "--runs", tmp_path)

    wanted = train(*args("whole", 1400))
    first = train(*args("parts", 200))
    assert (first.json["status"], first.json["best_step"]) == ("finished", 200), "a short run has a best"
    assert (first.run / "checkpoints" / "best.safetensors").is_file()
    second = train("balance", "--resume", first.run, "--runs", tmp_path, "--steps", 1000)
    again = train("balance", "--resume", first.run, "--runs", tmp_path, "--steps", 1000)
    assert {key: again.json[key] for key in ("params_sha256", "best_eval", "best_step")} == {
        key: second.json[key] for key in ("params_sha256", "best_eval", "best_step")
    }
    third = train("balance", "--resume", first.run, "--runs", tmp_path, "--steps", 1400)
    assert third.sha == wanted.sha
    assert_same_logs(third.run, wanted.run)
    assert_same_end(third.run, wanted.run)


def test_many_episodes_have_several_worlds_and_end_as_they_do_in_one(tmp_path: Path) -> None:
    args = ("balance", *EVERY, "--steps", 800, *PPO, "--eval-episodes", 20, "--runs", tmp_path)
    one = train(*args, "--name", "one")
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(evaluate, "AT_ONCE", 8)
        several = train(*args, "--name", "several")
    assert_same_logs(several.run, one.run)
