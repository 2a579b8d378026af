"""Find the way round a wall to the exit: nothing is earned before it, and chance does not lead there."""

from ecs_rl.scene import *

LONG, HIGH = 4.5, 2.4
SCENE = Scene(
    about="Find the exit of a maze that pays nothing on the way.",
    max_ticks=400,
    score="found",
    solved_at=0.9,
    gravity=(0.0, 0.0),
    camera=View(x=(-LONG - 0.5, LONG + 0.5), y=(-HIGH - 0.5, HIGH + 0.5)),
    recipes={
        "ppo": {
            "arenas": 64, "threads": 1, "steps": "400k", "eval_every": 51_200, "eval_episodes": 50,
            "lr": 1e-3, "rollout": 64, "minibatch": 512, "epochs": 4, "entropy": 0.003, "curiosity": 0.2,
        }
    },
)  # fmt: skip


def build(arena: Arena) -> None:
    mouse = arena.spawn(
        "mouse",
        Body(drag=2.0, spins=False),
        Disc(0.3),
        Start(x=between(-4.0, -3.0), y=between(-1.9, -1.0)),
        Look("yellow"),
    )
    for side in (-1, 1):
        arena.wall((side * LONG, -HIGH), (side * LONG, HIGH))
        arena.wall((-LONG, side * HIGH), (LONG, side * HIGH))
    arena.wall((-LONG, 0.0), (LONG - 1.4, 0.0))  # open at the right
    arena.mark("exit", Box(1.4, 1.4), Look("green"), at=(0.8 - LONG, HIGH - 0.8))
    found = arena.number("found")

    @arena.system(reads=(Pose,), writes=(found,))
    def look() -> None:
        found.value[:] = (mouse.x < 1.5 - LONG) & (mouse.y > HIGH - 1.5)

    arena.score("found", lambda: found.value)
    arena.agent(
        sees=[X(mouse, 0.2), Y(mouse, 0.2), Vx(mouse, 0.2), Vy(mouse, 0.2)],
        does=Levers(right=Push(mouse, x=20.0), up=Push(mouse, y=20.0)),
        earns={"found": lambda: 1.0 * found.value},
        ends={"found": lambda: found.value > 0.5},
    )
