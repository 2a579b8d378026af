"""Command lines of learners so small that a test can wait for them."""

from __future__ import annotations

PPO = ("--ppo.rollout", "16", "--ppo.minibatch", "64", "--ppo.epochs", "2", "--ppo.hidden", "16")
DQN = ("--agent", "dqn", "--dqn.warm-up", "64", "--dqn.learn-every", "32", "--dqn.batch", "32", "--dqn.hidden", "16")


def _with_critics(agent: str) -> tuple[str, ...]:
    settings = {"warm-up": 64, "updates-per-step": 0.03125, "batch": 32, "hidden": 16}
    return ("--agent", agent, *(word for name, value in settings.items() for word in (f"--{agent}.{name}", str(value))))


SAC, TD3, IQL = map(_with_critics, ("sac", "td3", "iql"))
