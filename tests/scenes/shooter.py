"""Turn, fly and shoot: rocks drift about, two shots break one, and the gun must cool down."""

import numpy as np

from ecs_rl.scene import *

SIZE = 8.0
SCENE = Scene(
    about="Turn, fly and shoot rocks that drift about.",
    max_ticks=500,
    score="broken",
    solved_at=5,
    gravity=(0.0, 0.0),
    recipes={"ppo": {"steps": "600k", "lr": 1e-3, "rollout": 64, "minibatch": 512}},
)


@component
class Gun:
    heat: float = 0.0


@component
class Health:
    points: float = 2.0


def build(arena: Arena) -> None:
    ship = arena.spawn("ship", Body(drag=0.8, spin_drag=4.0), Polygon(((0.5, 0.0), (-0.4, 0.3), (-0.4, -0.3))), Gun())
    far = Start(x=(-SIZE, SIZE, -SIZE, SIZE, 0.0), y=jitter(SIZE), vx=jitter(1.5), vy=jitter(1.5))
    rocks = arena.spawn("rock", Body(solid=False), Disc(0.8), far, Health(), Look("orange"), count=5)
    shots = arena.spawn("shot", Body(solid=False), Disc(0.15), Look("yellow"), count=4, here=False)
    hits, crash, fire, broken = Touching(shots, rocks), Touching(ship, rocks), Trigger(), arena.number("broken")

    @arena.system
    def cool(gun: Gun) -> None:
        """Every gun cools down."""
        gun.heat = np.maximum(gun.heat - 0.08, 0.0)

    @arena.system(reads=(Action, Touch), writes=(Gun, Health, Pose, broken))
    def shoot() -> None:
        """Break what was hit twice, bring back what flies out on the other side, and let the next shot fly."""
        rocks[Health].points -= hits().any(axis=1)
        broken.value += (rocks[Health].points <= 0.0).sum(axis=1)
        rocks.place(rocks[Health].points <= 0.0)
        for role in (ship, rocks):
            role.position[...] = (role.position + SIZE) % (2 * SIZE) - SIZE
        shots.leave(hits().any(axis=2) | (np.abs(shots.position) > SIZE).any(axis=2))
        fires = ~shots.here & (np.cumsum(~shots.here, axis=1) == 1) & (fire.on & (ship[Gun].heat <= 0.0))[:, None]
        shots.place(fires, x=ship.x, y=ship.y, vx=12.0 * ship.heading[:, 0], vy=12.0 * ship.heading[:, 1])
        ship[Gun].heat[fires.any(axis=1)] = 1.0

    arena.score("broken", lambda: broken.value)
    arena.agent(
        sees=[Spin(ship), Feel("heat", lambda: ship[Gun].heat), Nearest(ship, rocks, 3, velocity=1.0)],
        does=Controls(turn=Choice(left=Twist(ship, 3), on=None, right=Twist(ship, -3)), gas=Thrust(ship, 8), fire=fire),
        earns={"hit": lambda: hits().any(axis=(1, 2)), "crash": lambda: -5.0 * crash().any(axis=1)},
        ends={"crash": lambda: crash().any(axis=1)},
    )
