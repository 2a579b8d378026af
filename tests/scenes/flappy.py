"""Fly through the gaps: the pipes come on for ever, each gap somewhere else."""

from ecs_rl.scene import *

GAP, EVERY, SPEED = 1.5, 5.0, 3.0
SCENE = Scene(
    about="Fly through the gaps between pipes that come on for ever.",
    max_ticks=600,
    score="passed",
    solved_at=5,
    camera=View(x=(-3.0, 13.0), y=(-5.0, 5.0)),
    recipes={"ppo": {"steps": "300k", "lr": 1e-3, "rollout": 64, "minibatch": 512, "epochs": 5}},
)


def build(arena: Arena) -> None:
    upper = Polygon(((-0.5, GAP), (0.5, GAP), (0.5, 9.0), (-0.5, 9.0)))
    lower = Polygon(((-0.5, -9.0), (0.5, -9.0), (0.5, -GAP), (-0.5, -GAP)))
    start = Start(x=(EVERY, 2 * EVERY, 3 * EVERY), y=jitter(3.0), vx=-SPEED)
    bird = arena.spawn("bird", Body(spins=False), Disc(0.3), Look("yellow"))
    pipes = arena.spawn("pipe", Body(solid=False, moves="scripted"), upper, lower, start, Look("green"), count=3)
    for y in (-5.0, 5.0):
        arena.wall((-1.0, y), (1.0, y))
    hit, bumped, passed = Touching(bird, pipes), Touching(bird, arena.ground), arena.number("passed")

    @arena.system(writes=(Pose, passed))
    def come_again() -> None:
        """Bring a pipe that is gone in again, its gap somewhere else, and count those that the bird has passed."""
        pipes.place(pipes.x < -3.0, x=pipes.x + 3 * EVERY, y=jitter(3.0))
        passed.value += ((pipes.x < 0.0) & (pipes.x >= -SPEED / 50)).any(axis=1)

    arena.score("passed", lambda: passed.value)
    arena.agent(
        sees=[Y(bird), Vy(bird), Nearest(bird, pipes, 2)],
        does=Choice(glide=None, flap=Push(bird, y=40.0)),
        earns={"flies": 0.1, "passed": Progress(lambda: passed.value)},
        ends={"hit": lambda: hit().any(axis=1) | bumped()},
    )
