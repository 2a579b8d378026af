"""Which agents in which scenes are stopped and resumed, and where the interesting moments lie."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path

from games import GAMES, TEXTS
from lesson_scenes import SCHOOL
from mixed_controls import MIXED
from racing_scene import RACING
from readme_scenes import BEACONS
from score_scenes import DUEL, SHARED_DUEL
from survival_runs import SMALL_DQN, SMALL_IQL, SMALL_PPO, SMALL_SAC, SMALL_TD3, Told, train

from ecs_rl.commands.play import main as play

ARENAS, STEPS = 8, 2400
POOL = ("--pool-every", "300", "--pool-size", "3")
EVERY = ("--arenas", ARENAS, "--schedule-steps", "24k", "--checkpoint-every", 500, "--eval-every", 750)
SMALL = tuple(map(str, (*EVERY, "--eval-episodes", 2, "--keep", 2, "--threads", 1)))
CHECKPOINT, BOTH = 63, 188
"""Ticks of a checkpoint (504 steps), and of a checkpoint and an evaluation at once (1,504 steps)."""
TICKS = (1, CHECKPOINT - 1, CHECKPOINT, CHECKPOINT + 1, 94, 95, 144, 171, BOTH, STEPS // ARENAS - 1)
"""The first; before, at and after a checkpoint; an evaluation, after it; a full rollout; nothing at all; one to go."""

TWO = '''
"""Two carts side by side, each with an agent and a policy of its own."""

from ecs_rl.scene import *

SCENE = Scene(about="Two carts, two policies.", max_ticks=40)


def build(arena: Arena) -> None:
    """Two carts on grooves, each sees the other."""
    starts = [Start(x=jitter(0.5), y=2.0 * i) for i in (0, 1)]
    carts = [arena.spawn(f"cart {i}", Body(spins=False), Box(0.5, 0.3), start) for i, start in enumerate(starts)]
    for i, cart in enumerate(carts):
        arena.join(Groove(arena.ground, cart, (-9.0, 2.0 * i), (9.0, 2.0 * i)))
        arena.agent(
            name=f"agent {i}",
            policy=f"policy {i}",
            sees=[X(cart), Vx(cart), X(carts[1 - i])],
            does=Choice(left=Push(cart, -5.0 - 5.0 * i), right=Push(cart, 5.0 + 5.0 * i)),
            earns={"middle": lambda cart=cart: 1.0 - abs(cart.x), "number": i + 1.0},
            ends={"out": beyond(X(cart), 0.7 + i)},
        )
'''
WILD = '''
"""A ball that bounces about and now and then leaves its arena, which counts as an explosion."""

from ecs_rl.scene import *

SCENE = Scene(about="A ball in a leaky box.", max_ticks=25, gravity=(0.0, -9.8), extent=3.0)


def build(arena: Arena) -> None:
    """A ball between a floor and one wall."""
    start = Start(x=jitter(1.0), y=1.0, vx=jitter(9.0))
    ball = arena.spawn("ball", Body(elasticity=0.8, friction=0.5), Disc(0.3), start)
    arena.wall((-3.0, 0.0), (3.0, 0.0), friction=0.8, elasticity=0.8)
    arena.wall((-2.0, 0.0), (-2.0, 2.0), elasticity=0.9)
    high = arena.use(Lasting(above(Y(ball), 0.5), ticks=3))
    arena.agent(
        sees=[X(ball), Y(ball), Vx(ball), Vy(ball), Spin(ball), Touching(ball, arena.ground)],
        does=Choice(left=Push(ball, -12.0), right=Push(ball, 12.0), up=Push(ball, y=25.0)),
        earns={"inside": 0.1, "high": high, "right": Progress(X(ball))},
        ends={"sank": below(Y(ball), -1.0)},
    )
'''


@dataclass(frozen=True)
class Case:
    """An agent in a scene."""

    name: str
    scene: str
    agent: tuple[str, ...]
    text: str = ""
    """The scene's file, where it is not one that comes with the project."""
    everywhere: bool = False
    """Whether no stop point of it is left to the slow tests."""
    slow: bool = False
    """Whether all of them are."""
    offline: bool = False
    """Whether it learns from recorded random play, without acting."""


CASES = (
    Case("ppo balance", "balance", SMALL_PPO),
    Case("dqn balance", "balance", SMALL_DQN),
    Case("ppo swingup", "swingup", SMALL_PPO),
    Case("sac swingup", "swingup", SMALL_SAC),
    Case("td3 swingup", "swingup", SMALL_TD3),
    Case("iql swingup", "swingup", SMALL_IQL),
    Case("iql from data", "swingup", SMALL_IQL, offline=True),
    Case("td3 from data", "swingup", SMALL_TD3, offline=True),
    Case("ppo lander", "lander", SMALL_PPO),
    Case("dqn lander", "lander", SMALL_DQN),
    Case("ppo by path", "wild", SMALL_PPO, WILD),
    Case("ppo two policies", "two", SMALL_PPO, TWO),
    Case("dqn two policies", "two", SMALL_DQN, TWO),
    Case("ppo own systems", "beacons", SMALL_PPO, BEACONS, everywhere=True),
    Case("dqn own systems", "beacons", SMALL_DQN, BEACONS),
    Case("ppo mixed controls", "mixed", SMALL_PPO, MIXED),
    Case("sac mixed controls", "mixed", SMALL_SAC, MIXED),
    Case("iql mixed controls", "mixed", (*SMALL_IQL, "--iql.value", "policy"), MIXED),
    Case("ppo forces and lines", "racing", SMALL_PPO, RACING),
    Case("ppo lessons", "school", SMALL_PPO, SCHOOL, everywhere=True),
    Case("dqn lessons", "school", SMALL_DQN, SCHOOL, slow=True),
    Case("ppo that remembers, two policies", "two", (*SMALL_PPO, "--network", "gru", "--ppo.state", "8"), TWO),
    Case("ppo that remembers, members", "tag", (*SMALL_PPO, "--network", "gru", "--ppo.shared"), TEXTS["tag"]),
    Case("ppo attention", "shooter", (*SMALL_PPO, "--network", "attention"), TEXTS["shooter"], slow=True),
    Case("ppo self-play", "sumo", (*SMALL_PPO, *POOL, "--pool-also", "random"), TEXTS["sumo"]),
    Case("dqn self-play", "duel", (*SMALL_DQN, *POOL, "--self-play"), DUEL),
    Case("ppo self-play of one policy", "duel", (*SMALL_PPO, *POOL, "--self-play"), SHARED_DUEL, slow=True),
    *(
        Case(f"ppo {name}", name, SMALL_PPO, TEXTS[name], slow=name not in ("shooter", "tag"))
        for name in GAMES
        if name != "sumo"
    ),
)


def recorded(scene: str, folder: Path) -> Path:
    """Return the file of two episodes of random play."""
    path = folder / "random.data"
    line = (scene, "--checkpoint", "random", "--headless", "--episodes", "2", "--save-data", str(path))
    assert path.exists() or play([*line, "--json"]) == 0
    return path


class Trained:
    """A case with a folder of its own for its runs."""

    def __init__(self, case: Case, folder: Path) -> None:
        self.case, self.folder = case, folder
        self.scene = case.scene
        if case.text:
            path = folder / f"{case.scene}.py"
            path.write_text(case.text)
            self.scene = str(path)
        self.data: tuple[str, ...] = ()
        if case.offline:
            self.data = ("--offline", str(recorded(self.scene, folder)))

    def args(self, name: str, *more: object) -> tuple[str, ...]:
        """Return the command of a new run of this name."""
        return (
            self.scene,
            *SMALL,
            *self.case.agent,
            *self.data,
            "--name",
            name,
            "--runs",
            str(self.folder),
            *map(str, more),
        )

    def again(self, run: Path, *more: object) -> tuple[str, ...]:
        """Return the command that goes on with a run to the end."""
        return (self.scene, "--resume", str(run), "--runs", str(self.folder), "--steps", str(STEPS), *map(str, more))

    def run_named(self, name: str) -> Path:
        """Return the only run of this name."""
        (found,) = (self.folder / name / "v1").iterdir()
        return found

    def whole(self, *more: object) -> Told:
        """Train all steps in one go."""
        return train(*self.args("whole", "--steps", STEPS, *more))
