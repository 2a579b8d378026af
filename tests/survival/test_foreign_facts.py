"""Checkpoints with a right seal and wrong facts, and settings out of their range: one sentence, the right exit code."""

from __future__ import annotations

import json
import shutil
import tracemalloc
from collections.abc import Callable
from pathlib import Path
from typing import Any

import msgspec
import pytest
import torch
from survival_runs import SMALL_DQN, SMALL_PPO, SMALL_SAC, Told, train

from ecs_rl.commands import play as play_command
from ecs_rl.errors import CheckpointError
from ecs_rl.runs import read_checkpoint, sealed_pieces

SMALL = ["balance", "--arenas", "8", "--steps", "2000", "--checkpoint-every", "1000", "--eval-every", "1000"]
SMALL += ["--eval-episodes", "2"]
GONE = object()

FACTS: dict[str, tuple[str, Any]] = {
    "no logs": ("logs", GONE),
    "no session": ("session", GONE),
    "no seconds": ("seconds", GONE),
    "no evaluation": ("exam", GONE),
    "a text for seconds": ("seconds", "12"),
    "a list for the session": ("session", []),
    "nothing for the logs": ("logs", None),
    "negative seconds": ("seconds", -1.0),
    "a log of negative length": ("logs", {"metrics.jsonl": -5}),
    "a log of a text": ("logs", {"metrics.jsonl": "5"}),
    "a log that is not counted": ("logs/train_episodes.jsonl", GONE),
    "a log that is longer than the file": ("logs/metrics.jsonl", 10**9),
    "a log that ends within a row": ("logs/metrics.jsonl", 5),
    "a number of 400 digits": ("written_at", 10**400),
    "stage times of texts": ("seconds_in", {"learn": "long"}),
    "an evaluation without a key": ("exam", {"taken_at": 0}),
    "negative steps": ("session/total_steps", -8),
    "other steps": ("session/total_steps", 8),
    "no steps": ("session/total_steps", GONE),
    "episodes as text": ("session/total_episodes", "3"),
    "a statistic of nothing": ("session/stats/episodes", []),
    "a statistic of texts": ("session/stats/mean_return", ["1"]),
    "statistics of no list": ("session/stats", 5),
    "other episodes": ("session/total_episodes", 10**6),
    "an evaluation to come": ("exam/taken_at", 10**6),
    "a solution to come": ("exam/solved_step", 10**6),
    "rows to come": ("written_at", 10**6),
    "a stage that there is not": ("left_at", "nowhere"),
    "a stage that nobody leaves": ("left_at", "sense"),
}


@pytest.fixture(scope="module")
def runs(tmp_path_factory: pytest.TempPathFactory) -> dict[str, Path]:
    folder = tmp_path_factory.mktemp("runs")
    return {
        agent: train(*SMALL, *more, "--name", agent, "--runs", folder).run
        for agent, more in (("ppo", SMALL_PPO), ("dqn", SMALL_DQN))
    }


def copied(run: Path, tmp_path: Path) -> Path:
    path = tmp_path / "runs" / "copy" / "v1" / run.name
    shutil.copytree(run, path)
    return path


def change(run: Path, edit: Callable[[dict[str, Any], dict[str, torch.Tensor]], None], which: str = "*") -> None:
    """Edit manifest and tensors of checkpoints and give them a right seal again."""
    for path in (run / "checkpoints").glob(f"{which}.safetensors"):
        manifest, tensors = read_checkpoint(path)
        edited = msgspec.to_builtins(manifest)
        edit(edited, tensors)
        path.unlink()  # latest is a second name of a step
        forge(path, tensors, edited)


def forge(path: Path, tensors: dict[str, torch.Tensor], manifest: dict[str, Any]) -> None:
    """Write a checkpoint with a right seal, whatever its manifest says."""
    from ecs_rl.runs import Manifest

    known = {name: manifest[name] for name in Manifest.__struct_fields__ if name not in ("policies", "evaluation")}
    policies = msgspec.convert(manifest["policies"], type=tuple[Any, ...])
    path.write_bytes(b"".join(sealed_pieces(tensors, Manifest(**known, policies=policies))))


def put(place: str, value: Any) -> Callable[[dict[str, Any], dict[str, torch.Tensor]], None]:
    def edit(manifest: dict[str, Any], _: dict[str, torch.Tensor]) -> None:
        *path, last = place.split("/")
        inner = manifest["resume"]
        if not manifest["full"]:
            return
        for each in path:
            inner = inner[each]
        if value is GONE:
            del inner[last]
        else:
            inner[last] = value

    return edit


def resumed(run: Path) -> Told:
    return train("balance", "--resume", run, "--steps", "3000", "--runs", run.parents[2])


def assert_one_sentence(told: Told, code: int = CheckpointError.exit_code) -> str:
    assert told.code == code, told.err
    last = told.err.splitlines()[-1]
    assert last.startswith(("train.py: ", "play.py: "))
    assert "Traceback" not in told.err
    assert all(line.isprintable() for line in told.err.splitlines())
    return last


@pytest.mark.parametrize("odd", FACTS)
def test_facts_that_are_missing_or_of_another_type_are_refused(runs: dict[str, Path], tmp_path: Path, odd: str) -> None:
    run = copied(runs["ppo"], tmp_path)
    change(run, put(*FACTS[odd]))
    before = (run / "train_episodes.jsonl").read_bytes()
    assert_one_sentence(resumed(run))
    assert (run / "train_episodes.jsonl").read_bytes() == before


def test_a_checkpoint_with_odd_facts_is_passed_over_for_the_one_before(runs: dict[str, Path], tmp_path: Path) -> None:
    run = copied(runs["ppo"], tmp_path)
    newest = max((run / "checkpoints").glob("step_*"), key=lambda path: int(path.stem[5:]))
    change(run, put("seconds", "12"), newest.stem)
    change(run, put("seconds", "12"), "latest")
    told = resumed(run)
    assert told.json["steps"] == 3000
    assert "passed over: " in told.err
    assert "does not tell how to go on" in told.err


def test_the_last_words_say_what_is_wrong_where_the_newest_name_is_missing(
    runs: dict[str, Path], tmp_path: Path
) -> None:
    run = copied(runs["ppo"], tmp_path)
    change(run, put("seconds", "12"))
    (run / "checkpoints" / "latest.safetensors").unlink()
    told = resumed(run)
    assert "does not tell how to go on" in assert_one_sentence(told)
    assert "latest" not in told.err


def tensor(name: str, made: Callable[[torch.Tensor], torch.Tensor]) -> Callable[..., None]:
    def edit(_: dict[str, Any], tensors: dict[str, torch.Tensor]) -> None:
        if name in tensors:
            tensors[name] = made(tensors[name])

    return edit


TENSORS: dict[str, tuple[str, str, Callable[[torch.Tensor], torch.Tensor]]] = {
    "a negative minibatch": ("ppo", "agent/update/step", lambda t: t - 9),
    "rows that are not there": ("ppo", "agent/update/order", lambda _: torch.tensor([10**6])),
    "other weights of what is earned": ("ppo", "world/now/@arena/RewardWeights/value", lambda t: t + 0.125),
    "no random numbers": ("ppo", "agent/random/train", torch.zeros_like),
    "a world of floats": ("ppo", "world/now/@arena/Clock/tick", lambda t: t.double()),
    "a world of other arenas": ("ppo", "world/now/@arena/Clock/tick", lambda t: t[:3]),
    "a world of brain floats": ("ppo", "world/now/@arena/Clock/tick", lambda t: t.bfloat16()),
    "a choice that is not there": ("ppo", "world/actions/0", lambda t: t + 77),
    "actions of another shape": ("ppo", "world/actions/0", lambda t: t[..., None]),
    "actions of brain floats": ("ppo", "world/actions/0", lambda t: t.bfloat16()),
    "actions without ticks": ("ppo", "world/actions/0", lambda _: torch.tensor(1)),
    "a memory past its end": ("dqn", "agent/memory/next", lambda t: t + 10**9),
    "a memory of other choices": ("dqn", "agent/memory/rows", lambda t: t - 50),
    "negative counts": ("dqn", "agent/count/due", lambda t: t - 10**6),
    "a memory of choices that are not there": ("sac", "agent/memory/rows", lambda t: t - 50),
    "steps due that are no number": ("sac", "agent/count/due", lambda t: t * float("nan")),
}


@pytest.mark.parametrize("odd", TENSORS)
def test_tensors_that_no_training_can_have_saved_are_refused(runs: dict[str, Path], tmp_path: Path, odd: str) -> None:
    agent, name, made = TENSORS[odd]
    small = {"ppo": SMALL_PPO, "dqn": SMALL_DQN, "sac": SMALL_SAC}[agent]
    told = train(*SMALL, *small, "--steps", "1500", "--runs", tmp_path / "runs")
    change(told.run, tensor(name, made))
    assert_one_sentence(resumed(told.run))


def test_settings_that_are_missing_are_those_of_the_checkpoints(runs: dict[str, Path], tmp_path: Path) -> None:
    run = copied(runs["ppo"], tmp_path)
    settings = json.loads((run / "config.json").read_text())
    (run / "config.json").unlink()
    assert resumed(run).json["steps"] == 3000
    again = json.loads((run / "config.json").read_text())
    assert again == {**settings, "steps": 3000}


@pytest.mark.parametrize(
    "odd",
    [
        {"ppo": 5},
        {"ppo": {"hidden": "wide"}},
        {"ppo": {"hidden": [100_000, 100_000]}},
        {"arenas": -3},
        {"arenas": "\x1b[2Jmany"},
        {"agent": {"a": 1}},
        {"seed": 10**30},
    ],
    ids=str,
)
def test_odd_settings_of_a_run_are_refused(runs: dict[str, Path], tmp_path: Path, odd: dict[str, Any]) -> None:
    run = copied(runs["ppo"], tmp_path)
    settings = json.loads((run / "config.json").read_text())
    (run / "config.json").write_text(json.dumps({**settings, **odd}))
    assert_one_sentence(resumed(run))


def test_settings_without_those_of_the_agent_are_refused_where_the_scenes_own_do_not_fit(
    runs: dict[str, Path], tmp_path: Path
) -> None:
    run = copied(runs["ppo"], tmp_path)
    settings = json.loads((run / "config.json").read_text())
    del settings["ppo"]
    (run / "config.json").write_text(json.dumps(settings))
    assert "does not fit" in assert_one_sentence(resumed(run))


@pytest.mark.parametrize("agent", ["ppo", "dqn"])
@pytest.mark.parametrize("hidden", [[60_000, 60_000], [4000, 4000], [16, 16], [16] * 400])
def test_a_network_that_the_file_does_not_hold_is_refused_before_it_is_made(
    runs: dict[str, Path], tmp_path: Path, capsys: pytest.CaptureFixture[str], agent: str, hidden: list[int]
) -> None:
    def announce(manifest: dict[str, Any], _: dict[str, torch.Tensor]) -> None:
        manifest["config"][agent]["hidden"] = hidden

    run = copied(runs[agent], tmp_path)
    change(run, announce, "best")
    made: list[int] = []
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr("ecs_rl.agents.networks.Parameters.__init__", lambda *_: made.append(1))
        code = play_command.main([str(run), "--headless"])
    assert made == []
    told = assert_one_sentence(Told(code, "", capsys.readouterr().err))
    assert f"{run}/checkpoints/best.safetensors does not fit its own settings: " in told or "its settings of" in told


def test_a_file_that_says_too_much_takes_no_memory(runs: dict[str, Path], tmp_path: Path) -> None:
    def announce(manifest: dict[str, Any], _: dict[str, torch.Tensor]) -> None:
        manifest["config"]["ppo"]["hidden"] = [60_000, 60_000]

    run = copied(runs["ppo"], tmp_path)
    change(run, announce, "best")
    tracemalloc.start()
    assert play_command.main([str(run), "--headless"]) == CheckpointError.exit_code
    assert tracemalloc.get_traced_memory()[1] < 50_000_000
    tracemalloc.stop()


@pytest.mark.parametrize(
    ("hidden", "told"),
    [
        (["100000", "100000"], "a list of at most 16 whole numbers from 1 to 8,192"),
        (["8"] * 17, "a list of at most 16 whole numbers from 1 to 8,192"),
        (["8192"] * 3, "with at most 32,000,000 weights between them"),
    ],
)
@pytest.mark.parametrize("agent", ["ppo", "dqn"])
def test_a_network_that_is_too_large_is_refused_with_what_is_allowed(
    tmp_path: Path, agent: str, hidden: list[str], told: str
) -> None:
    refused = train("balance", "--agent", agent, f"--{agent}.hidden", *hidden, "--runs", tmp_path)
    assert f"--{agent}.hidden" in assert_one_sentence(refused, 2)
    assert told in refused.err
    assert not list(tmp_path.iterdir())


def test_more_than_there_is_memory_for_is_one_sentence(tmp_path: Path) -> None:
    refused = train("balance", "--arenas", "100000", "--ppo.rollout", "1000000", "--runs", tmp_path)
    assert "needs more memory than there is" in assert_one_sentence(refused, 2)


@pytest.mark.parametrize("deep", ["a = " + "[" * 100_000, "[" + "a." * 50_000 + "a]", "ppo = " + "{a=" * 50_000])
def test_a_deeply_nested_configuration_is_refused(tmp_path: Path, deep: str) -> None:
    path = tmp_path / "deep.toml"
    path.write_text(deep)
    assert f"{path}" in assert_one_sentence(train("balance", "--config", path, "--runs", tmp_path / "runs"), 2)


@pytest.mark.parametrize("value", ["0x" + "f" * 9000, '"' + "x" * 1_000_000 + '"', '"\\u001b[2J\\n"', "[[[[1]]]]"])
def test_odd_values_of_a_configuration_are_quoted_on_one_short_line(tmp_path: Path, value: str) -> None:
    path = tmp_path / "odd.toml"
    path.write_text(f"arenas = {value}\n")
    told = assert_one_sentence(train("balance", "--config", path, "--runs", tmp_path / "runs"), 2)
    assert "arenas" in told
    assert len(told) < 1000
