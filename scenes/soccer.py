"""Two against two: dribble, pass and kick the ball into the other goal; a kick-off after each; self-play."""

import numpy as np

from ecs_rl.scene import *

LONG, WIDE, GOAL, DEEP = 5.1, 3.4, 1.3, 0.9  # metres from the middle to goal line and side line; half a goal, its depth
REACH, KICK, REST, TICK = 0.95, 7.0, 0.6, 1 / 20  # metres, metres per second, and seconds until the next kick; a tick
SCENE = Scene(
    about="Two against two play for goals.", max_ticks=400, dt=TICK, substeps=2,
    score="goals", solved_at=0.5, gravity=(0.0, 0.0), backdrop="meadow",
    camera=View(x=(-LONG - 1.3, LONG + 1.3), y=(-WIDE - 0.8, WIDE + 0.8)),
    recipes={
        "ppo": {
            "self_play": True, "against": f"{__file__}:chase", "steps": "2M",
            "arenas": 128, "eval_every": 102_400, "pool_every": "100k", "pool_size": 4, "checkpoint_every": "500k",
            "lr": 1e-3, "rollout": 32, "minibatch": 512, "epochs": 4, "gamma": 0.98,
        }
    },
)  # fmt: skip
THINGS = ("own", "moves", "ball", "mate", "foe 0", "foe 1", "ball moves", "mate moves")
SEEN = [f"{thing} {axis}" for thing in THINGS for axis in "xy"]


@component
class Leg:
    """A player's leg: how many seconds it must rest until it can kick again."""

    tired: float = 0.0


def chase(seen: dict[str, np.ndarray]) -> np.ndarray:
    """Play simply: run to the near side of the ball, and kick when it lies ahead."""
    x, y = seen["ball x"], seen["ball y"]
    behind = x > 0.2
    way = np.where(behind, x, x - 1.0), np.where(behind | (x < -1.5), y, y - 0.9 * np.sign(y))
    far = np.maximum(np.hypot(*way), 0.1)
    return np.stack((way[0] / far, way[1] / far, x > -0.2), axis=1)


def stand_walls(arena: Arena) -> None:
    """Let the ball bounce off the edge of the pitch, cut at the corners, and rest in the goals."""
    for x, y in ((-1, -1), (-1, 1), (1, -1), (1, 1)):  # a quarter of the pitch each
        arena.wall((0.0, y * WIDE), (x * (LONG - 1.4), y * WIDE), elasticity=0.8)
        arena.wall((x * (LONG - 1.4), y * WIDE), (x * LONG, y * (WIDE - 1.4)), elasticity=0.8)
        arena.wall((x * LONG, y * (WIDE - 1.4)), (x * LONG, y * GOAL), elasticity=0.8)
        arena.wall((x * LONG, y * GOAL), (x * (LONG + DEEP), y * GOAL))
        arena.wall((x * (LONG + DEEP), y * GOAL), (x * (LONG + DEEP), 0.0))


def build(arena: Arena) -> None:
    """A pitch with two goals, two teams of two and a ball."""
    arena.mark("pitch", Box(2 * LONG, 2 * WIDE), Look("green", "sprites/pitch.png"))
    stand_walls(arena)
    leather = Look("#f4f6fa", "sprites/ball.png", 0.6)
    ball = arena.spawn("ball", Body(0.2, elasticity=0.8, drag=0.6), Disc(0.28), Start(y=jitter(2.0)), leather)
    goals, scored = arena.number("goals"), arena.number("scored")
    stuck = arena.use(Lasting(lambda: (np.abs(ball.x) > LONG - 1.5) | (np.abs(ball.y) > WIDE - 0.8), ticks=40))

    def team(name: str, colour: str, side: int) -> Role:
        arena.mark(f"{name} goal", Box(DEEP, 2 * GOAL), Look(colour), at=(side * (LONG + DEEP / 2), 0.0))
        start = Start(x=(side * 1.6, side * 3.4), y=jitter(2.5), angle=np.pi * (side > 0))
        look = Look(colour, f"sprites/player_{name}.png", 1.2)
        return arena.spawn(name, Body(drag=3.0, spins=False), Disc(0.4), start, look, Leg(), count=2)

    orange, blue = team("orange", "vermilion", -1), team("blue", "blue", 1)
    kicks, goal = {orange: Trigger(), blue: Trigger()}, {orange: (LONG + DEEP, 0.0), blue: (-LONG - DEEP, 0.0)}

    @arena.system(reads=(Action,), writes=(Pose, Leg, goals, scored))
    def play() -> None:
        """Let players kick what is near, bring in a ball that is stuck, count goals, and kick off after one."""
        for who, kick in kicks.items():
            way = ball.position[:, None] - who.position
            far = np.linalg.norm(way, axis=2, keepdims=True)
            aim = (goal[who] - ball.position)[:, None]
            aim = way / far + aim / np.linalg.norm(aim, axis=2, keepdims=True)
            hits = kick.on & (far[..., 0] < REACH) & (who[Leg].tired <= 0.0)
            ball.velocity += (KICK / 2 * aim * hits[..., None]).sum(axis=1)
            who[Leg].tired = np.maximum(who[Leg].tired - TICK, REST * hits)
            who.angle = np.arctan2(who.vy + 0.3 * way[..., 1], who.vx + 0.3 * way[..., 0])
        scored.value = np.sign(ball.x) * (np.abs(ball.x) > LONG + 0.3)
        goals.value += scored.value
        ball.place(stuck(), y=jitter(1.5))
        arena.restart(scored.value != 0, ball, orange, blue)

    def off(who: Role, side: int) -> np.ndarray:  # metres from behind the ball, where one kicks it from
        return np.hypot(who.x + 0.6 * side - ball.x[:, None], who.y - ball.y[:, None])

    def join(who: Role, foes: Role, side: int) -> None:  # both see the pitch as if they played to the right
        def sight() -> np.ndarray:
            there = [ball.position[:, None], who.position[:, ::-1], foes.position[:, :1], foes.position[:, 1:]]
            ways = [who.position, who.velocity, *(each - who.position for each in there)]
            ways += [ball.velocity[:, None] + 0.0 * who.position, who.velocity[:, ::-1]]
            return side * np.concatenate(ways, axis=2)

        arena.agent(
            of=who,
            policy=who.name,
            sees=[Feels(SEEN, sight), Feel("tired", lambda: who[Leg].tired)],
            does=Controls(right=Push(who, x=14.0 * side), up=Push(who, y=14.0 * side), kick=kicks[who]),
            earns={
                "goal": lambda: 10.0 * side * scored.value,
                "ball": lambda: 0.2 * side * ball.vx,
                "behind": lambda: -0.05 * off(who, side),
            },
        )

    arena.score("goals", lambda: goals.value)
    join(orange, blue, 1)
    join(blue, orange, -1)
