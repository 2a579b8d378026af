"""A dog drives a flock home: sheep keep together, run from what comes near, and are safe once they are in the fold."""

import numpy as np

from ecs_rl.scene import *

WIDE, HIGH, GATE, FOLD = 9.0, 6.0, 2.0, 3.0  # metres from the middle to the fences, half of the gate, and of the fold
SHEEP, FEAR, ROOM = 8, 3.5, 0.9  # how many, and metres at which they fear the dog, and make room for each other
FLIGHT, EASE = 3.5, 0.3  # metres per second of a sheep in fear, and of one that grazes
SCENE = Scene(
    about="Drive a flock of sheep home into the fold.",
    max_ticks=600, dt=1 / 20, score="home", solved_at=6,
    gravity=(0.0, 0.0), backdrop="meadow",
    camera=View(x=(-WIDE - 0.5, WIDE + FOLD + 0.5), y=(-HIGH - 0.8, HIGH + 0.8)),
    recipes={
        "ppo": {
            "arenas": 64, "steps": "1.5M", "eval_every": 81_920, "checkpoint_every": "300k",
            "lr": 1e-3, "rollout": 128, "minibatch": 1024, "epochs": 5,
        }
    },
)  # fmt: skip


def stand_fences(arena: Arena) -> None:
    """Fence the meadow in, and the fold behind its gate."""
    arena.wall((-WIDE, -HIGH), (-WIDE, HIGH))
    arena.wall((WIDE + FOLD, -2.4), (WIDE + FOLD, 2.4))
    for side in (-1, 1):
        arena.wall((-WIDE, side * HIGH), (WIDE, side * HIGH))
        arena.wall((WIDE, side * HIGH), (WIDE, side * GATE))
        arena.wall((WIDE, side * 2.4), (WIDE + FOLD, side * 2.4))


def build(arena: Arena) -> None:
    """A meadow with a gate to the right, eight sheep and a dog."""
    arena.mark("fold", Box(FOLD, 4.8), Look("yellow", "sprites/fold.png", FOLD), at=(WIDE + FOLD / 2, 0.0))
    stand_fences(arena)
    wool, coat = Look("#f4f2ea", "sprites/sheep.png", 1.3), Look("orange", "sprites/dog.png", 1.8)
    east, north = arena.random("flock east", between(-4.0, 3.0)), arena.random("flock north", jitter(3.0))
    round, far = np.linspace(0.0, 2.0 * np.pi, SHEEP, endpoint=False), np.resize((0.6, 1.5, 1.1), SHEEP)
    grazing = Start(
        x=lambda: east.value[:, None] + far * np.cos(round),
        y=lambda: north.value[:, None] + far * np.sin(round),
        angle=jitter(3.0),
    )
    fleece = Body(solid=False)
    sheep = arena.spawn("sheep", fleece, Disc(0.4), grazing, wool, count=SHEEP)
    safe = arena.spawn("safe sheep", fleece, Disc(0.4), wool, count=SHEEP, here=False)
    dog = arena.spawn("dog", Body(drag=2.0, spins=False), Disc(0.35), Start(x=-8.0, y=jitter(5.0)), coat)
    whim = arena.dice(jitter(0.4), of=sheep)
    hay = np.stack((np.full(8, WIDE + 1.75), np.linspace(-1.9, 1.9, 8)), axis=1)

    @arena.system(writes=(Pose, Motion))
    def flock() -> None:
        """Let sheep run from the dog, keep together, make room and shy from fences; or graze."""
        off = sheep.position[:, :, None] - sheep.position[:, None]
        gap = np.sqrt((off**2).sum(axis=3, keepdims=True)) + 1e-6
        with_me = sheep.here[:, None, :, None]
        room = (off / gap * np.maximum(ROOM - gap, 0.0) * with_me).sum(axis=2)
        together = -(off * (gap < 5.0) * with_me).sum(axis=2) / SHEEP
        away = sheep.position - dog.position[:, None]
        far = np.sqrt((away**2).sum(axis=2, keepdims=True)) + 1e-6
        fear = np.clip(1.4 * (1.0 - far / FEAR), 0.0, 1.0)
        edge = np.clip(np.abs(sheep.position) - (WIDE - 1.0, HIGH - 1.0), 0.0, 1.0) * np.sign(sheep.position)
        edge[..., 0] *= (np.abs(sheep.y) > GATE) | (sheep.x < 0.0)
        way = FLIGHT * fear * away / far + 0.8 * together + 4.0 * room - 3.0 * edge + EASE * sheep.heading
        sheep.velocity += 0.3 * (way - sheep.velocity) * sheep.here[..., None]
        turn = np.arctan2(sheep.vy, sheep.vx) - sheep.angle
        sheep.angle += np.where(fear[..., 0] > 0.0, 0.4 * np.arctan2(np.sin(turn), np.cos(turn)), whim())

    @arena.system(writes=(Pose, Motion))
    def shut_in() -> None:
        """Hold sheep at the fences, let those through the gate be safe and go to the hay, and turn the dog."""
        home = sheep.here & (sheep.x > WIDE)
        safe.place(home, x=sheep.x, y=sheep.y, angle=sheep.angle)
        sheep.leave(home)
        at_gate = np.abs(sheep.y) < GATE - 0.3
        sheep.x = np.clip(sheep.x, 0.4 - WIDE, np.where(at_gate, WIDE + 1.0, WIDE - 0.4))
        sheep.y = np.clip(sheep.y, 0.4 - HIGH, HIGH - 0.4)
        safe.velocity = 0.8 * (hay - safe.position) * safe.here[..., None]
        safe.angle *= 0.95
        dog.angle = np.arctan2(dog.vy, dog.vx)

    drive(arena, dog, sheep, safe)


def drive(arena: Arena, dog: Role, sheep: Role, safe: Role) -> None:
    """Let an agent run the dog, and earn by sheep that come closer to the gate and through it."""

    def count() -> np.ndarray:
        return np.asarray(safe.here.sum(axis=1))

    def astray() -> np.ndarray:
        return np.asarray((np.hypot(sheep.x - WIDE - 0.5, sheep.y) * sheep.here).sum(axis=1))

    def middle() -> np.ndarray:
        flock = (sheep.position * sheep.here[..., None]).sum(axis=1) / np.maximum(sheep.here.sum(axis=1), 1)[:, None]
        return np.concatenate((flock - dog.position, flock - (WIDE + 0.5, 0.0)), axis=1)

    arena.score("home", count)
    arena.agent(
        sees=[
            *(X(dog), Y(dog), Vx(dog), Vy(dog)),
            Feels(("flock x", "flock y", "flock to gate x", "flock to gate y"), middle),
            Nearest(dog, sheep, SHEEP, velocity=1.0),
        ],
        does=Levers(right=Push(dog, x=14.0), up=Push(dog, y=14.0)),
        earns={"closer": Progress(lambda: -0.2 * astray()), "home": Progress(lambda: 2.0 * count())},
        ends={"all are home": above(count, SHEEP - 0.5)},
    )
