"""Play nine cards against the dealer's, each once: the lowest card that wins is the one to play."""

import numpy as np

from ecs_rl.scene import *

CARDS = 9
SCENE = Scene(
    about="Beat the dealer's cards, each of yours once.",
    max_ticks=CARDS + 1,
    score="won",
    solved_at=7.0,
    recipes={
        "ppo": {"arenas": 64, "threads": 1, "steps": "60k", "lr": 3e-3, "rollout": 36, "minibatch": 768, "gamma": 0.95},
        "dqn": {"arenas": 64, "threads": 1, "steps": "60k", "lr": 2e-3, "gamma": 0.95, "epsilon_steps": "20k"},
        "sac": {"arenas": 64, "threads": 1, "steps": "40k", "updates_per_step": 0.05, "choice_entropy": 0.05},
    },
)


@component
class Table:
    held: float = (1.0,) * CARDS  # type: ignore[assignment]
    """1 for each card that is still in the hand."""
    shown: float = 4.0
    """The dealer's card."""
    won: float = 0.0


def build(arena: Arena) -> None:
    table = arena.spawn("table", Body(moves="never"), Disc(0.5), Start(x=jitter(0.1)), Table(shown=between(0.0, CARDS)))
    luck = arena.dice(between(0.0, CARDS))

    def held() -> np.ndarray:
        return table[Table].held > 0.5

    cards = Choice(**{f"card_{i}": None for i in range(CARDS)}, allowed=held)

    @arena.system(reads=(Action, luck), writes=(Table,))
    def play() -> None:
        own, arenas = table[Table], np.arange(len(luck.value))
        has_it = own.held[arenas, cards.picked] > 0.5
        own.won += has_it & (cards.picked >= np.floor(own.shown))
        own.held[arenas, cards.picked] = 0.0
        own.shown = luck.value

    arena.score("won", lambda: table[Table].won)
    arena.agent(
        sees=[
            Feels(
                [f"dealt {i}" for i in range(CARDS)], lambda: np.floor(table[Table].shown)[:, None] == np.arange(CARDS)
            )
        ],
        does=cards,
        earns={"won": Progress(lambda: table[Table].won)},
        ends={"played": lambda: ~held().any(axis=1)},
    )
