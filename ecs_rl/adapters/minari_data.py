"""Data sets of Minari: `train.py SCENE --minari NAME` reads one, `play.py --save-data FILE --minari NAME` writes one.

Written against the documented interface of minari 0.5. Levers lie within -1 and 1 here: on reading they are scaled from
the bounds of the data set's actions. A data set ends each episode with one observation more than it has actions. Ours
lack it, and the last one is written twice.
"""

from __future__ import annotations

from importlib import import_module
from typing import Any

import numpy as np
from numpy.typing import NDArray

from ecs_rl.agents.base import Demonstration
from ecs_rl.errors import CheckpointError, CommandError, install
from ecs_rl.runs.demonstrations import Demonstrations
from ecs_rl.spaces import ActionSpace, Composed, Discrete, PolicySpec


def minari_module() -> Any:
    """Return the package; CommandError if it is missing."""
    try:
        import_module("minari.data_collector")
        return import_module("minari")
    except ImportError as error:
        raise CommandError(f"--minari needs minari: {install('minari')}, or leave --minari out") from error


def refuse_mixtures(spec: PolicySpec) -> None:
    """Refuse a policy that sets choices and levers at once."""
    if isinstance(spec.actions, Composed) and spec.actions.levers:
        raise CommandError("--minari takes choices or levers, and this scene has both: use --save-data and --offline")


def read_minari(name: str, spec: PolicySpec) -> tuple[Demonstration, ...]:
    """Return the episodes of a local data set; CheckpointError where they are not of this policy."""
    minari = minari_module()
    refuse_mixtures(spec)
    try:
        data = minari.load_dataset(name)
    except ImportError as error:
        raise CommandError(f"--minari {name}: {error}") from error
    except FileNotFoundError as error:
        raise CheckpointError(f"--minari {name}: there is no such data set here: minari download {name}") from error
    return tuple(_episode(name, data.action_space, episode, spec) for episode in data.iterate_episodes())


def _episode(name: str, space: Any, episode: Any, spec: PolicySpec) -> Demonstration:
    ticks = len(episode.rewards)
    seen, action = np.asarray(episode.observations), np.asarray(episode.actions)
    if seen.dtype.kind not in "fiub" or seen.size != (ticks + 1) * len(spec.numbers):
        raise CheckpointError(f"--minari {name}: it sees {seen.shape[1:]} numbers, and the scene {len(spec.numbers)}")
    if not isinstance(spec.actions, Discrete) and hasattr(space, "low") and action.dtype.kind == "f":
        action = (2.0 * (action - space.low) / (space.high - space.low) - 1.0).reshape(ticks, -1)
    action = spec.actions.clipped(action.astype(spec.actions.none(1).dtype))
    wrong = spec.actions.wrong(action, ticks)
    if wrong is not None:
        raise CheckpointError(
            f"--minari {name}: it does not do what the scene does: an episode {wrong.what} {wrong.why}"
        )
    reward = np.asarray(episode.rewards, np.float32).reshape(ticks)
    return Demonstration(
        seed=int(episode.id),
        observation=seen.reshape(ticks + 1, -1)[:-1].astype(np.float32),
        action=action,
        reward=reward,
        imitated=np.ones(ticks, bool),
        terminated=bool(ticks and np.asarray(episode.terminations)[-1]),
        result=float(reward.sum()),
    )


def write_minari(name: str, data: Demonstrations) -> None:
    """Write all episodes as a new local data set; CommandError where its name is taken or none."""
    minari = minari_module()
    refuse_mixtures(data.spec)
    buffers = [
        minari.data_collector.EpisodeBuffer(
            id=number,
            seed=episode.seed,
            observations=_and_last(episode.observation),
            actions=episode.action,
            rewards=episode.reward.tolist(),
            terminations=_at_end(len(episode), holds=episode.terminated),
            truncations=_at_end(len(episode), holds=not episode.terminated),
        )
        for number, episode in enumerate(data.episodes)
    ]
    spaces = {"action_space": _action_space(data.spec.actions), "observation_space": _observation_space(data.spec)}
    try:
        minari.create_dataset_from_buffers(name, buffers, **spaces)
    except (ValueError, ImportError) as error:  # its storage may be missing, such as h5py
        raise CommandError(f"--minari {name}: {error}") from error


def _observation_space(spec: PolicySpec) -> Any:
    most = float(np.finfo(np.float32).max)
    return import_module("gymnasium").spaces.Box(-most, most, (len(spec.numbers),), np.float32)


def _action_space(actions: ActionSpace) -> Any:
    spaces = import_module("gymnasium").spaces
    if isinstance(actions, Discrete):
        return spaces.Discrete(len(actions.names))
    if actions.levers:
        return spaces.Box(-1.0, 1.0, (actions.levers,), np.float32)
    return spaces.MultiDiscrete([len(part.names) for part in actions.parts])


def _and_last(observation: NDArray[Any]) -> NDArray[Any]:
    return np.concatenate([observation, observation[-1:]])


def _at_end(ticks: int, *, holds: bool) -> list[bool]:
    return [False] * (ticks - 1) + [holds]
