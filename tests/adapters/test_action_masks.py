"""The `action_mask` of a Gymnasium environment: no policy, person or random play chooses what it forbids.

The decks of `odd_environments` raise where a card is played twice: a command that ends with 0 has never done so.
"""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
import pytest

from ecs_rl.commands.train import main
from ecs_rl.components import ActionLog, Clock, Observation, Snapshots, UserInput
from ecs_rl.errors import CommandError, SceneError
from ecs_rl.loading import load_scene
from ecs_rl.schedule import ON_STAGE
from ecs_rl.training.snapshots import restore_world, save_world
from ecs_rl.world import World, policy_specs
from ecs_rl.worlds import make_world

pytest.importorskip("gymnasium")

ODD = "gym:odd_environments:"
SETTINGS: dict[str, tuple[object, ...]] = {
    "ppo": ("--ppo.rollout", 16, "--ppo.minibatch", 32, "--ppo.hidden", 8),
    "dqn": ("--dqn.warm-up", 64, "--dqn.batch", 16, "--dqn.hidden", 8),
    "sac": ("--sac.warm-up", 64, "--sac.batch", 16, "--sac.hidden", 8, "--sac.updates-per-step", 0.25),
}


def opened(name: str, **more: Any) -> World:
    """Return a world in which a policy always wants the first option."""
    scene = load_scene(ODD + name)
    first = policy_specs(scene.describe())["policy"].actions.none
    return make_world(scene, **{"arenas": 3} | more, policies={"policy": lambda seen, state: first(len(seen))})


def tick_on(world: World, ticks: int) -> None:
    for _ in range(ticks):
        world.tick()


@pytest.mark.parametrize(
    ("name", "sees", "first"),
    [
        ("Deck-v0", ("0", "1", *(f"{i} allowed" for i in range(1, 5))), 2),
        ("DeckInSight-v0", (*(f"action_mask {i}" for i in range(4)), "observation 0", "observation 1"), 0),
        (
            "TwoDecks-v0",
            ("0", "1", *(f"choice 0 {i} allowed" for i in range(4)), *(f"choice 1 {i} allowed" for i in range(3))),
            2,
        ),
    ],
)
def test_a_policy_sees_the_mask_as_numbers_that_allow_its_options(name: str, sees: Any, first: int) -> None:
    (spec,) = policy_specs(load_scene(ODD + name).describe()).values()
    assert spec.observations == sees
    assert spec.allowed == tuple((first + i, i) for i in range(len(spec.actions.names)))


@pytest.mark.parametrize("name", ["Deck-v0", "DeckInSight-v0", "TwoDecks-v0", "OneRow-v0"])
def test_the_mask_of_every_tick_is_seen_and_a_forbidden_option_becomes_an_allowed_one(name: str) -> None:
    world = opened(name)
    (spec,) = world.specs.values()
    columns, seen = [column for column, _ in spec.allowed], world.each(Observation)[0][0].value
    episode = 3 if "Two" in name or "Row" in name else 4
    for tick in range(3 * episode):
        masks = np.split(seen[:, columns], np.cumsum([4])[: len(columns) > 4], axis=1)
        for mask in masks:
            assert (mask == (np.arange(mask.shape[1]) >= tick % episode)).all()
        world.tick()
    assert world.one(Clock).episode.tolist() == [3, 3, 3]
    world.close()


@pytest.mark.parametrize(
    ("agent", "name"),
    [
        *(("ppo", "Deck-v0"), ("ppo", "DeckInSight-v0"), ("ppo", "TwoDecks-v0")),
        *(("dqn", "Deck-v0"), ("dqn", "OneRow-v0"), ("sac", "Deck-v0"), ("sac", "TwoDecks-v0")),
    ],
)
def test_every_algorithm_trains_and_is_evaluated_without_a_forbidden_option(
    agent: str, name: str, tmp_path: Path
) -> None:
    every = ("--agent", agent, "--steps", 500, "--arenas", 2, "--eval-every", 250, "--eval-episodes", 3)
    words = [ODD + name, *every, "--runs", tmp_path, *SETTINGS[agent]]
    assert main([str(word) for word in words]) == 0


def test_ppo_learns_which_card_is_the_best_of_those_that_are_left(tmp_path: Path) -> None:
    flags = ("--steps", "40k", "--arenas", 16, "--ppo.rollout", 32, "--ppo.minibatch", 128, "--eval-every", "40k")
    words = [ODD + "Deck-v0", *flags, "--ppo.hidden", 32, "--ppo.lr", 3e-3, "--runs", tmp_path]
    assert main([str(word) for word in words]) == 0
    (log,) = tmp_path.rglob("eval_episodes.jsonl")
    earned = [float(line.split('"total_reward":')[1].split(",")[0]) for line in log.read_text().splitlines()[-20:]]
    assert np.mean(earned) > 1.5  # at random it is 1


@pytest.mark.slow
def test_a_scene_that_is_checked_plays_at_random_without_a_forbidden_option(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    assert main([ODD + "Deck-v0", "--check"]) == 0


def test_a_world_with_masks_comes_back_to_the_last_bit() -> None:
    both = [opened("TwoDecks-v0", seed=seed, resources=(ActionLog(), Snapshots())) for seed in (0, 5)]
    for _ in range(13):
        both[0].tick()
    assert restore_world(both[1], save_world(both[0]))
    for world in both:
        for _ in range(13):
            world.tick()
    first, again = (world.save_columns() for world in both)
    assert {key: column.tobytes() for key, column in first.items()} == {
        key: column.tobytes() for key, column in again.items()
    }
    for world in both:
        world.close()


def test_an_environment_without_information_has_no_mask() -> None:
    assert load_scene(ODD + "NoInfo-v0").describe().agents[0].allowed == ()


def test_arenas_that_rest_or_are_not_watched_need_no_option() -> None:
    evaluation = opened("Deck-v0", seeds=(1, 2, 3))
    watched = opened("Deck-v0", seeds=(1, 2, 3), stages=ON_STAGE, resources=(UserInput(arena=1),))
    for world in (evaluation, watched):
        for _ in range(6):
            world.tick()
        world.start_over()
        world.tick()
        world.close()


@pytest.mark.parametrize(
    ("name", "words"),
    [
        (
            "EmptyHand-v0",
            r"^'gym:.*:EmptyHand-v0' gave an action_mask that leaves 'agent' no option of its choice in arena 0 at",
        ),
        ("ShortMask-v0", r"failed in step\(\) in arena 0 at tick 2 .*info\['action_mask'\] has 3 numbers, not 4: one"),
        ("LosesMask-v0", r"failed in step\(\) in arena 0 at tick 2 .*info has no 'action_mask', which it had at the"),
        ("Grown-v0", r"shows \(2, 2\) of float32 in arena 0 at tick 2 of its episode, not \(6,\) numbers as its"),
    ],
)
def test_a_mask_that_goes_wrong_is_named_by_arena_and_tick(name: str, words: str) -> None:
    world = opened(name)
    with pytest.raises(SceneError, match=words):
        tick_on(world, 3)
    world.close()


@pytest.mark.parametrize(
    ("name", "words", "kind"),
    [
        ("WrongAtOnce-v0", r"failed in reset\(\): ValueError: .* has 3 \+ 4 numbers, not 4 \+ 3: one", SceneError),
        ("WideMask-v0", "sees an 'action_mask' of 5 numbers for 4 options: it must be", CommandError),
    ],
)
def test_a_mask_of_another_form_than_the_actions_is_refused_at_once(name: str, words: str, kind: Any) -> None:
    with pytest.raises(kind, match=words):
        load_scene(ODD + name)
