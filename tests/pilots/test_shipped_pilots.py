"""The pilots that come with the project: every scene has one, small, whole, and as good as the table says."""

from __future__ import annotations

import math
from pathlib import Path
from statistics import fmean

import make_pilots
import msgspec
import pytest

from ecs_rl.errors import CheckpointError
from ecs_rl.loading import load_scene
from ecs_rl.pilots.pilot_scores import BEGINNING, PilotEntry, gallery
from ecs_rl.runs import read_checkpoint
from ecs_rl.shipped import PILOTS, SCENES, pilot_file
from ecs_rl.spaces import ActMode
from ecs_rl.training.playback import Player

NAMES = sorted(path.stem for path in PILOTS.glob("*.safetensors"))
TO_COME: set[str] = set()
"""Scenes whose pilot is still in training."""
LONGEST = 150
"""Characters of a line of the table at most, so that a change of it can be read."""


def entry(scene: str) -> PilotEntry:
    return gallery()[scene]


def tolerance(of: PilotEntry, episodes: int) -> float:
    """Return how far a mean may be off: on another processor, where last bits differ, episodes are other episodes."""
    return 3.0 * of.std / math.sqrt(episodes) + 0.01 * abs(of.score)


def test_every_scene_has_a_pilot_and_every_pilot_a_row() -> None:
    scenes = {path.stem for path in SCENES.glob("*.py") if not path.stem.startswith("_")}
    assert scenes - set(NAMES) <= TO_COME
    assert not TO_COME & set(NAMES)
    assert list(gallery()) == NAMES, "each has its scene, its file and its row"


@pytest.mark.parametrize("scene", NAMES)
def test_a_pilot_is_a_small_policy_alone_that_says_its_scene_score_and_day(scene: str) -> None:
    path, told = PILOTS / f"{scene}.safetensors", entry(scene)
    assert pilot_file(scene) == path
    assert path.stat().st_size < make_pilots.MOST_BYTES
    manifest, tensors = read_checkpoint(path)
    assert all(name.startswith("policy/") for name in tensors)
    assert (manifest.scene, manifest.agent, manifest.step) == (scene, told.agent, told.steps)
    assert (manifest.best_eval, manifest.best_step, manifest.made_on) == (told.score, told.steps, told.made_on)
    assert manifest.evaluation is not None
    assert (manifest.evaluation.seed, manifest.evaluation.episodes) == (told.first, told.episodes)
    assert not manifest.full
    text = msgspec.json.encode(manifest).decode()
    assert "/" not in text.replace('"policy/', "").replace("/s", ""), "it says nothing of where it was made"
    assert told.first >= 10_000 + 100_000 or told.first == make_pilots.FIRST


@pytest.mark.parametrize("scene", NAMES)
def test_the_pilot_is_that_of_the_seed_in_the_middle_and_its_scene_is_solved(scene: str) -> None:
    told = entry(scene)
    ranked = sorted(told.trained.values())
    assert told.trained[str(told.seed)] == ranked[(len(ranked) - 1) // 2]
    assert told.low <= told.score <= told.high
    # Self-play goes by its rating, and its best player need not be the best against the one that the scene names.
    assert told.score >= (0.0 if told.against else told.solved_at or 0.0)


@pytest.mark.parametrize("scene", NAMES)
def test_twenty_episodes_of_a_pilot_come_to_what_the_table_says(scene: str) -> None:
    told = entry(scene)
    found = make_pilots.results(load_scene(scene), PILOTS / f"{scene}.safetensors", told.first, BEGINNING)
    assert fmean(found) == pytest.approx(told.beginning, abs=tolerance(told, BEGINNING))


@pytest.mark.slow
@pytest.mark.parametrize("scene", NAMES)
def test_all_episodes_of_a_pilot_come_to_what_the_table_says(scene: str) -> None:
    told = entry(scene)
    found = make_pilots.results(load_scene(scene), PILOTS / f"{scene}.safetensors", told.first, told.episodes)
    assert fmean(found) == pytest.approx(told.score, abs=tolerance(told, told.episodes))


@pytest.mark.parametrize("scene", NAMES)
def test_a_pilot_does_better_than_its_untrained_self_by_more_than_the_tolerance(scene: str) -> None:
    told, path = entry(scene), PILOTS / f"{scene}.safetensors"
    player = Player.load(path)
    for agent in player.agents.values():
        state = agent.policy_state()
        agent.load_policy_state({name: each * 0 if ".weight" in name else each for name, each in state.items()})
    opponent = make_pilots.opponent_in(player.scene)
    records = player.play(4, told.first, ActMode.GREEDY, opponent)
    blank = fmean(record.result(player.scene.score) for record in records)
    assert blank < told.score - tolerance(told, BEGINNING), "what cannot be told apart tests nothing"


@pytest.mark.parametrize("content", [b'{"lander": "\xff"}', b"[[", b'{"lander": {"agent": 3}}', b"[" * 100_000])
def test_a_damaged_table_of_pilots_is_told(content: bytes, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    path = tmp_path / "pilots.json"
    path.write_bytes(content)
    monkeypatch.setattr("ecs_rl.pilots.pilot_scores.FILE", path)
    with pytest.raises(CheckpointError, match="cannot read the table of pilots"):
        gallery()
