"""Catch: a small pygame game of its own, played by a pilot; it learns without a window, in some seconds.

python catch.py --train     learn, into runs/catch
python catch.py             watch the pilot play; the arrow keys take over
"""

from __future__ import annotations

import sys
from pathlib import Path

import numpy as np
import pygame

import ecs_rl
from ecs_rl.agents import ActMode, Discrete, DQNConfig, Experience, PolicySpec, make_agent
from ecs_rl.pilots.pilot import Pilot
from ecs_rl.runs import TrainingRun
from ecs_rl.session import TrainingSession

MOVES = ("left", "stay", "right")
SEES = ("basket x", "apple x", "apple y", "apple vx")
TICKS = 400
"""Of a game at most; a missed apple ends it before."""


class Game:
    """Apples fall through a field of 1 by 1, one after the other, and bounce off its sides; the basket catches them."""

    def __init__(self, seed: int) -> None:
        self.random = np.random.default_rng(seed)
        self.basket, self.ticks, self.caught, self.missed = 0.5, 0, 0, False
        self.drop()

    def drop(self) -> None:
        self.x, self.y, self.vx = float(self.random.uniform()), 1.0, float(self.random.uniform(-0.02, 0.02))

    def seen(self) -> dict[str, float]:
        """Return what the pilot is told."""
        return dict(zip(SEES, (self.basket, self.x, self.y, 50 * self.vx), strict=True))

    def step(self, move: int) -> float:
        """Play a tick, and return what it earned: 1 for an apple, -1 for one that is missed."""
        self.ticks += 1
        self.basket = min(max(self.basket + 0.04 * (move - 1), 0.0), 1.0)
        self.x, self.y = self.x + self.vx, self.y - 0.04
        if not 0.0 <= self.x <= 1.0:
            self.x, self.vx = min(max(self.x, 0.0), 1.0), -self.vx
        if self.y > 0.0:
            return 0.0
        self.missed = abs(self.x - self.basket) > 0.1
        self.caught += not self.missed
        self.drop()
        return -1.0 if self.missed else 1.0

    @property
    def over(self) -> bool:
        return self.missed or self.ticks == TICKS


def train(steps: int = 20_000, runs: str | Path = "runs") -> None:
    """Learn by playing, and keep the best as `best` of a run."""
    config = DQNConfig(epsilon_steps=steps // 2, learn_every=4, warm_up=500, gamma=0.95, lr=1e-3)
    agent = make_agent("dqn", PolicySpec(SEES, Discrete(MOVES)), config, seed=0, rows=1)
    run = TrainingRun.create("catch", runs_dir=runs, agent="dqn")
    session = TrainingSession(agent).with_run(run).with_max_steps(steps)
    evaluate_at = 2_500
    while not session.is_done:
        game = Game(seed=session.total_episodes)
        while not game.over and not session.is_done:
            before = array(game)
            action = session.act(before, ActMode.EXPLORE)
            reward = game.step(int(action))
            truncated = game.over and not game.missed
            session.observe(Experience(before, action, reward, array(game), game.missed, truncated))  # type: ignore[arg-type]
        session.on_episode(game.caught, game.ticks, "Terminated" if game.missed else "Truncated")
        if session.total_steps >= evaluate_at or session.is_done:
            evaluate_at += 2_500
            evaluate(session)
    session.close()


def evaluate(session: TrainingSession) -> None:
    """Play ten games as well as it can, always the same ones."""
    for seed in range(10_000, 10_010):
        game = Game(seed)
        while not game.over:
            game.step(int(session.act(array(game), ActMode.GREEDY)))
        session.on_eval_episode(game.caught, game.ticks, "Terminated" if game.missed else "Truncated", seed=seed)
    session.maybe_save_best()


def array(game: Game) -> np.ndarray:
    return np.array(list(game.seen().values()), np.float32)


def play(pilot: Pilot, frames: float = float("inf"), fps: int = 60) -> tuple[int, int]:
    """Play game after game until the window is closed; return how many apples were caught and missed."""
    pygame.display.init()
    screen, clock = pygame.display.set_mode((400, 500)), pygame.time.Clock()
    game, caught, missed = Game(seed=1), 0, 0
    while frames > 0 and not any(event.type == pygame.QUIT for event in pygame.event.get()):
        keys = pygame.key.get_pressed()
        by_hand = keys[pygame.K_RIGHT] - keys[pygame.K_LEFT]
        game.step(1 + by_hand if by_hand else pilot.act(game.seen()))
        draw(screen, game)
        clock.tick(fps)
        frames -= 1
        if game.over:
            caught, missed = caught + game.caught, missed + game.missed
            game = Game(seed=1 + caught + missed)
    pygame.display.quit()
    return caught + game.caught, missed


def draw(screen: pygame.Surface, game: Game) -> None:
    screen.fill("#1d2330")
    pygame.draw.circle(screen, "#e8575a", (20 + 360 * game.x, 470 - 440 * game.y), 10)
    pygame.draw.rect(screen, "#f0c05a", (20 + 360 * game.basket - 36, 470, 72, 14), border_radius=6)
    for apple in range(min(game.caught, 30)):
        pygame.draw.circle(screen, "#e8575a", (12 + 12 * apple, 10), 4)
    pygame.display.flip()


if __name__ == "__main__":
    if "--train" in sys.argv:
        train()
    else:
        play(ecs_rl.load("runs/catch", backend="numpy"))
