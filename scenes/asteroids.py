"""Turn, fly and shoot: rocks split in two, shots need the gun to cool down, and three ships are all there are."""

import numpy as np

from ecs_rl.scene import *

WIDE, HIGH = 10.0, 6.5  # metres from the middle to the edges, beyond which everything comes back on the other side
SHOT = 14.0  # metres per second
SHIP = Look("sky", "sprites/ship.png", width=1.15)
SCENE = Scene(
    about="Turn, fly and shoot rocks that split, with three ships in all.",
    max_ticks=1000,
    dt=1 / 25,
    score="points",
    solved_at=30,
    gravity=(0.0, 0.0),
    backdrop="space",
    camera=View(x=(-WIDE, WIDE), y=(-HIGH, HIGH)),
    recipes={"ppo": {"arenas": 64, "steps": "1M", "eval_every": 102_400, "lr": 1e-3, "rollout": 64, "minibatch": 512}},
)


@component
class Gun:
    """A ship's gun."""

    heat: float = 0.0
    """Seconds until it can fire again."""


@component
class Hull:
    """A ship's hull."""

    shield: float = 1.5
    """Seconds for which nothing can break the new ship."""


def fade(gun: Gun, hull: Hull) -> None:
    """Let the gun cool down and the shield fade."""
    gun.heat = np.maximum(gun.heat - 1 / 25, 0.0)
    hull.shield = np.maximum(hull.shield - 1 / 25, 0.0)


def build(arena: Arena) -> None:
    """One ship, four rocks of which each splits in two, and six shots at a time."""
    far = Start(x=(-WIDE, WIDE, -WIDE, WIDE), y=jitter(HIGH), vx=jitter(1.2), vy=jitter(1.2), spin=jitter(1.0))
    floating = Body(solid=False)
    shots = arena.spawn("shot", floating, Disc(0.12), Look("yellow", glow=0.4), count=6, here=False)
    rocks = arena.spawn("rock", floating, Disc(1.0), far, Look("purple", "sprites/rock.png", 2.1), count=4)
    stones = arena.spawn("stone", floating, Disc(0.5), Look("purple", "sprites/rock.png", 1.05), count=8, here=False)
    hull = Polygon(((0.5, 0.0), (-0.4, 0.35), (-0.4, -0.35)))
    ship = arena.spawn("ship", Body(solid=False, drag=0.6, spin_drag=5.0), hull, SHIP, Gun(), Hull())
    hits = {each: Touching(shots, each) for each in (rocks, stones)}
    bumps = {each: Touching(ship, each) for each in (rocks, stones)}
    fire, points, ships = Trigger(), arena.number("points"), arena.number("ships", start=3.0)

    arena.system(fade)

    @arena.system(reads=(Touch,), writes=(Pose, Gun, Hull, points, ships))
    def collide() -> None:
        """Split rocks and take stones that were hit; a ship without a shield breaks, and the next one comes."""
        split, broken = (hits[each]().any(axis=1) for each in (rocks, stones))
        shots.leave(hits[rocks]().any(axis=2) | hits[stones]().any(axis=2))
        points.value += split.sum(axis=1) + broken.sum(axis=1)
        stones.leave(broken)
        x, y = np.repeat(rocks.x, 2, axis=1), np.repeat(rocks.y, 2, axis=1)
        stones.place(np.repeat(split, 2, axis=1), x=x, y=y, vx=jitter(2.5), vy=jitter(2.5), spin=jitter(2.0))
        rocks.leave(split)
        rocks.place(~(rocks.here.any(axis=1) | stones.here.any(axis=1)))
        lost = (bumps[rocks]().any(axis=1) | bumps[stones]().any(axis=1)) & (ship[Hull].shield <= 0.0)
        ships.value -= lost
        ship.place(lost)

    @arena.system(reads=(Action,), writes=(Pose, Gun))
    def fly() -> None:
        """Bring back what flies out on the other side, and let the next shot fly."""
        size = np.array((WIDE, HIGH))
        for role in (ship, rocks, stones):
            role.position[...] = (role.position + size) % (2 * size) - size
        shots.leave((np.abs(shots.position) > size).any(axis=2))
        fires = ~shots.here & (np.cumsum(~shots.here, axis=1) == 1) & (fire.on & (ship[Gun].heat <= 0.0))[:, None]
        shots.place(fires, x=ship.x, y=ship.y, vx=SHOT * ship.heading[:, 0], vy=SHOT * ship.heading[:, 1])
        ship[Gun].heat = np.maximum(ship[Gun].heat, 0.2 * fires.any(axis=1))

    arena.mark("shield", Disc(0.8), Look("sky"), at=lambda: ship.position, where=lambda: ship[Hull].shield > 0.0)
    for number in range(3):
        left, at = above(lambda: ships.value, number), (number - 1.0, HIGH - 0.8)
        arena.mark(f"ship {number}", Disc(0.3), SHIP, at=at, angle=np.pi / 2, where=left)
    arena.score("points", lambda: points.value)
    arena.agent(
        sees=[
            *(X(ship), Y(ship), Vx(ship), Vy(ship), Heading(ship), Spin(ship)),
            Feel("heat", lambda: ship[Gun].heat),
            Feel("shield", lambda: ship[Hull].shield),
            Nearest(ship, rocks, 2, velocity=1.0),
            Nearest(ship, stones, 3, velocity=1.0),
        ],
        does=Controls(turn=Choice(left=Twist(ship, 3), on=None, right=Twist(ship, -3)), gas=Thrust(ship, 8), fire=fire),
        earns={"points": Progress(lambda: points.value), "ships": Progress(lambda: 5.0 * ships.value)},
        ends={"no ship left": below(lambda: ships.value, 0.5)},
    )
