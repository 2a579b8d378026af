"""A training that starts from recorded episodes: `train.py SCENE --imitate FILE`, `train.py SCENE --offline FILE`."""

from __future__ import annotations

from pathlib import Path

from ecs_rl.agents.base import Agent, Imitating, LearnsOffline
from ecs_rl.agents.make import USUAL
from ecs_rl.errors import CheckpointError, CommandError
from ecs_rl.runs.demonstrations import Demonstrations, read_demonstrations
from ecs_rl.training.same_policies import refuse_other_spec
from ecs_rl.training.training import Training


def imitate(training: Training, path: Path) -> str:
    """Let the policy that was demonstrated do as was shown, before its first step; return how that went, in words."""
    demonstrations, agent = _recorded(training, path)
    if not isinstance(agent, Imitating):
        message = f"{agent.name} cannot begin by imitating"
        raise CommandError(f"--imitate {path}: {message}: leave it out, or take --agent {USUAL}")
    decisions = sum(int(episode.imitated.sum()) for episode in demonstrations.episodes)
    if not decisions:
        raise CheckpointError(f"{path} shows no decision of a person: play with play.py SCENE --human --save-demo FILE")
    share = agent.imitate(demonstrations.episodes)
    return f"imitates {told_of(demonstrations)}: {share:.0%} of {decisions:,} decisions are made alike"


def remember(training: Training, path: Path, *, stay: bool = False) -> str:
    """Let the recorded policy's agent remember the episodes; return it in words.

    They are all that it learns from. With `stay` it acts too, and they stay in its memory.
    """
    demonstrations, agent = _recorded(training, path)
    if not any(len(episode) + episode.terminated > 1 for episode in demonstrations.episodes):
        raise CheckpointError(
            f"{path} holds no decision whose result is known: record some with play.py RUN --save-data FILE"
        )
    return remember_all(agent, f"{'--remember' if stay else '--offline'} {path}", demonstrations, stay=stay)


def remember_all(agent: Agent, source: str, demonstrations: Demonstrations, *, stay: bool = False) -> str:
    """Let the agent remember the episodes; return them in words. `source` names the flag."""
    if not isinstance(agent, LearnsOffline):
        message = f"{agent.name} learns only from what it has just done itself"
        raise CommandError(f"{source}: {message}: take --agent iql, or leave {source.split(maxsplit=1)[0]} out")
    agent.remember(demonstrations.episodes, stay=stay)
    how = "and from what it does" if stay else "without acting"
    return f"learns from {told_of(demonstrations)}, {demonstrations.ticks:,} decisions, {how}"


def _recorded(training: Training, path: Path) -> tuple[Demonstrations, Agent]:
    """Return what a file holds, and the agent of its policy; CheckpointError if it does not fit the scene."""
    demonstrations = read_demonstrations(path)
    agent = training.agents.get(demonstrations.spec.name)
    if agent is None:
        there = ", ".join(training.agents)
        raise CheckpointError(f"{path} demonstrates the policy '{demonstrations.spec.name}', and the scene has {there}")
    refuse_other_spec(
        path, training.world.scene.name, demonstrations.spec, training.world.specs[demonstrations.spec.name]
    )
    return demonstrations, agent


def told_of(demonstrations: Demonstrations) -> str:
    """Return how many episodes there are, and how good they were on average."""
    count = len(demonstrations.episodes)
    mean = sum(episode.result for episode in demonstrations.episodes) / count
    return f"{count} episode{'s' if count > 1 else ''} of {mean:.1f} each"
