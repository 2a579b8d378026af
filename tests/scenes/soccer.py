"""Two against two: push the ball into the other side's goal; after a goal there is a kick-off."""

import numpy as np

from ecs_rl.scene import *

LONG, WIDE, GOAL = 5.0, 3.5, 1.5
SCENE = Scene(
    about="Two against two push a ball into each other's goal.",
    max_ticks=300,
    dt=1 / 20,
    substeps=2,
    score="goals",
    solved_at=3,
    gravity=(0.0, 0.0),
    recipes={"ppo": {"steps": "300k", "lr": 1e-3, "rollout": 32, "minibatch": 512, "gamma": 0.98, "against": "random"}},
)


def build(arena: Arena) -> None:
    for x, y in ((-1, -1), (-1, 1), (1, -1), (1, 1)):  # a quarter of the field each
        arena.wall((0.0, y * WIDE), (x * LONG, y * GOAL), elasticity=0.9)
        arena.wall((x * LONG, y * GOAL), (x * (LONG + 1), y * GOAL))
        arena.wall((x * (LONG + 1), y * GOAL), (x * (LONG + 1), 0.0))
    slow = Start(vx=jitter(0.5), vy=jitter(0.5))
    ball = arena.spawn("ball", Body(mass=0.3, elasticity=0.9, drag=0.4), Disc(0.3), slow)
    goals, scored = arena.number("goals"), arena.number("scored")
    stuck = arena.use(Lasting(lambda: np.hypot(ball.vx, ball.vy) < 0.3, ticks=20))

    def side(name: str, sign: int) -> Role:
        arena.mark(f"{name} goal", Box(1.0, 2 * GOAL), Look(name), at=(sign * (LONG + 0.5), 0.0))
        start = Start(x=(sign * 1.5, sign * 3.0), y=jitter(1.5))
        return arena.spawn(name, Body(drag=3.0, spins=False), Disc(0.45), start, Look(name), count=2)

    def play(team: Role, sign: int) -> None:
        arena.agent(
            of=team,
            policy=team.name,
            sees=[X(team), Y(team), Vx(team), Vy(team), Toward(team, ball), Closing(team, ball), Nearest(team, team)],
            does=Levers(right=Push(team, x=12.0), up=Push(team, y=12.0)),
            earns={
                "goal": lambda: 20.0 * sign * scored.value,
                "ball": lambda: 0.3 * sign * ball.vx,
                "behind": lambda: -0.05 * np.hypot(team.x + 0.7 * sign - ball.x[:, None], team.y - ball.y[:, None]),
            },
        )

    orange, blue = side("orange", -1), side("blue", 1)
    play(orange, 1)
    play(blue, -1)
    arena.score("goals", lambda: goals.value)

    @arena.system(writes=(Pose, goals, scored))
    def referee() -> None:
        """Count goals, and start all anew after one; what got stuck goes back to the middle."""
        scored.value = np.sign(ball.x) * (np.abs(ball.x) > LONG + 0.1)
        goals.value += scored.value
        arena.restart(scored.value != 0, ball, orange, blue)
        ball.place(stuck(), y=jitter(1.5))
