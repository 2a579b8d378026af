"""Two wrestlers in a ring: push the other one out, or be nearer to the middle when time is up; self-play.

Each can push only where he looks, and charge now and then: who gets to the other one's side, or steps aside, wins.
"""

import numpy as np

from ecs_rl.scene import *

RING, SIZE, TICK = 3.0, 0.6, 1 / 25  # metres, metres, seconds
CHARGE, REST = 3.0, 1.5  # metres per second that a charge adds, and seconds until the next one
SCENE = Scene(
    about="Push the other wrestler out of the ring.",
    max_ticks=250,
    dt=TICK,
    substeps=2,
    score="won",
    solved_at=0.8,
    gravity=(0.0, 0.0),
    camera=View(x=(-6.4, 6.4), y=(-4.2, 4.2)),
    recipes={
        "ppo": {
            "self_play": True, "against": f"{__file__}:rush", "steps": "500k", "checkpoint_every": "125k",
            "arenas": 64, "eval_every": 40_960, "pool_every": "25k", "pool_size": 16,
            "pool_also": f"{__file__}:rush",
            "lr": 1e-3, "rollout": 64, "minibatch": 1024, "gamma": 0.98,
        }
    },
)  # fmt: skip


@component
class Breath:
    """A wrestler's breath."""

    short: float = 0.0
    """Seconds until he can charge again."""


class Shove(Effect):
    """A push of 14 newtons to where a wrestler looks."""

    def apply(self, dt: float) -> None:
        """Add it."""
        self.role.force.force += 14.0 * self.amount[:, None] * self.role.heading


def rush(seen: dict[str, np.ndarray]) -> np.ndarray:
    """Play simply: turn to the other one, run at him, and charge whenever there is breath."""
    ahead, aside = seen["foe ahead"], seen["foe aside"]
    faces = np.abs(aside) < 0.4 * ahead
    return np.stack((np.ones_like(ahead), np.sign(aside) * np.minimum(2.0 * np.abs(aside), 1.0), faces), axis=1)


def build(arena: Arena) -> None:
    """The ring, the crowd, and the two."""
    arena.mark("clay", Box(8.0, 8.0), Look(sprite="sprites/dohyo.png"))
    for side in (-1, 1):
        look = Look(sprite="sprites/crowd.png", width=1.6)
        arena.mark(f"crowd {side}", Box(1.6, 8.0), look, at=(5.2 * side, 0.0), angle=np.pi * (side > 0))
    body = Body(drag=1.5, spin_drag=8.0, elasticity=0.3, friction=0.3)

    def wrestler(name: str, colour: str, side: int) -> Role:
        start = Start(x=side * 1.2, y=jitter(1.0), angle=np.pi * (side > 0))
        look = Look(colour, f"sprites/sumo_{name}.png", 2.5 * SIZE)
        return arena.spawn(name, body, Disc(SIZE), start, look, Breath())

    orange, blue = wrestler("orange", "vermilion", -1), wrestler("blue", "blue", 1)
    charges = {orange: Trigger(), blue: Trigger()}

    @arena.system(reads=(Action, Pose), writes=(Motion, Breath))
    def charge() -> None:
        """Throw oneself forward with the breath there is."""
        for me, trigger in charges.items():
            goes = trigger.on & (me[Breath].short <= 0.0)
            me.velocity[goes] += CHARGE * me.heading[goes]
            me[Breath].short = np.maximum(me[Breath].short - TICK, REST * goes)

    def out(wrestler: Role) -> np.ndarray:
        return np.hypot(wrestler.x, wrestler.y)

    def along(me: Role, way: np.ndarray) -> np.ndarray:
        """Return ways, (arenas, 2), as a wrestler sees them: ahead and aside."""
        cos, sin = me.heading.T
        return np.stack((cos * way[:, 0] + sin * way[:, 1], cos * way[:, 1] - sin * way[:, 0]), axis=1)

    ahead = arena.shared(lambda: out(blue) - out(orange))
    over = above(lambda: np.maximum(out(orange), out(blue)), RING)

    def fight(me: Role, foe: Role, side: int) -> None:
        arena.agent(
            name=me.name,
            policy=me.name,
            sees=[
                Feels(("foe ahead", "foe aside"), lambda: along(me, foe.position - me.position)),
                Feels(("middle ahead", "middle aside"), lambda: along(me, -me.position)),
                Feels(("moves ahead", "moves aside"), lambda: along(me, me.velocity)),
                Feels(("foe moves ahead", "foe moves aside"), lambda: along(me, foe.velocity)),
                Feels(("foe looks ahead", "foe looks aside"), lambda: along(me, foe.heading)),
                *(Feel("turns", lambda: me.spin), Feel("foe turns", lambda: foe.spin)),
                *(Feel("breath", lambda: me[Breath].short), Feel("foe breath", lambda: foe[Breath].short)),
            ],
            does=Controls(push=Shove(me), turn=Twist(me, 5.0), charge=charges[me]),
            earns={"won": lambda: 5.0 * side * np.sign(ahead()) * over(), "further in": lambda: 0.03 * side * ahead()},
            ends={"out": over},
        )

    arena.score("won", lambda: np.sign(ahead()))
    fight(orange, blue, 1)
    fight(blue, orange, -1)
