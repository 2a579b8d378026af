"""A monkey at the window: random keys, clicks, drags and resizes, on all kinds of scenes, end in no mistake of ours."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

import lesson_scenes
import pytest
from live_windows import SMALL as SHORT
from live_windows import TINY, seeing
from monkey import Monkey, let_loose

from ecs_rl.commands import play as play_command
from ecs_rl.commands import train as train_command
from ecs_rl.viewer.controls.keeping import Keeping

EVENTS, MANY = 400, 5000
"""Events of a kind of window in the suite, and in the slow one, where all kinds together have 100,000."""
SEA = """
from ecs_rl.scene import *

SCENE = Scene(about="Two fish and a shark.", max_ticks=100, gravity=(0, 0), camera=View((-8, 8), (-4.5, 4.5)))


def build(arena):
    fish = arena.spawn("fish", Body(), Disc(0.5), Start(x=(-3, 3), y=1.0), count=2)
    shark = arena.spawn("shark", Body(), Disc(0.8), Start(y=-2.0))
    arena.agent(name="fish", policy="fish", of=fish, sees=[X(fish), Y(fish)], does=Levers(across=Push(fish, x=3.0)),
                earns={"still": 1.0}, ends={"away": beyond(X(fish), 4.0)})
    arena.agent(name="shark", policy="shark", sees=[X(shark)], does=Choice(up=Push(shark, y=3.0), down=Push(shark)),
                earns={"still": 1.0})
"""
Kind = Callable[[Path], list[str]]
"""Returns the arguments of the command whose window the monkey gets; it may train a run in a folder first."""


def training(scene: str, *more: str) -> Kind:
    settings = TINY if "--agent" not in more else SHORT
    return lambda runs: ["train", scene, *settings, "--steps", "10M", "--watch", *more]


def own(text: str, *more: str) -> Kind:
    """Return the training of a scene file."""

    def kind(runs: Path) -> list[str]:
        (runs / "own.py").write_text(text)
        return training(str(runs / "own.py"), *more)(runs)

    return kind


def playing(scene: str, *more: str) -> Kind:
    """Return what plays a run that has just been trained."""

    def kind(runs: Path) -> list[str]:
        assert train_command.main([scene, *TINY, "--runs", str(runs / "runs")]) == 0
        (run,) = (runs / "runs").glob("*/v1/*")
        return ["play", str(run), *more]

    return kind


def pilot(scene: str, *more: str) -> Kind:
    return lambda runs: ["play", scene, *more]


def episode(runs: Path) -> list[str]:
    """Return what plays an episode that has just been kept."""
    _, run = playing("balance")(runs)
    with seeing(run) as live:
        while not live.show.resting:
            live.window.advance(1 / 60, 1.0)
        live.hit("K")
        live.control(Keeping).close(live.window)
    (kept,) = (Path(run) / "episodes").iterdir()
    return ["play", str(kept)]


SMALL: dict[str, Kind] = {
    "one agent": training("lander"),
    "self-play": training("sumo", "--self-play", "--pool-every", "500"),
    "kinds": own(SEA),
    "lessons": own(lesson_scenes.SCHOOL),
    "gymnasium": training("gym:CartPole-v1"),
    "run": playing("balance"),
    "compare": playing("balance", "--compare", "1000", "latest", "--episodes", "3"),
    "human": playing("lander", "--human"),
    "episode": episode,
}
LARGE: dict[str, Kind] = {
    **SMALL,
    "dqn": training("lander", "--agent", "dqn"),
    "soccer": training("soccer"),
    "sheepdog": training("sheepdog"),
    "forager": training("forager"),
    "walker": training("walker"),
    "levers": training("gym:Pendulum-v1"),
    "moth": own(lesson_scenes.LAMP),
    "run of kinds": playing("sheepdog"),
    "gymnasium run": playing("gym:CartPole-v1"),
    "pilot": pilot("racer"),
    "human alone": pilot("asteroids", "--human"),
}


def let_it(kind: Kind, seed: int, events: int, folder: Path, patch: pytest.MonkeyPatch) -> None:
    """Let a monkey loose on the window of a command, which must end as if nothing had been."""
    patch.chdir(folder)  # the films of pilots go there
    monkey = Monkey(seed)
    program, *args = kind(folder)
    let_loose(patch, monkey, events)
    main = train_command.main if program == "train" else play_command.main
    code = main([*args, "--runs", str(folder / "runs")])
    assert code == 0, "\n".join(monkey.log[-30:])
    assert len(monkey.log) >= events


@pytest.mark.parametrize("name", SMALL)
def test_a_monkey_finds_no_mistake(name: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    let_it(SMALL[name], 1, EVENTS, tmp_path, monkeypatch)


@pytest.mark.slow
@pytest.mark.parametrize("name", LARGE)
def test_a_monkey_finds_no_mistake_in_many_events(name: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    let_it(LARGE[name], 2, MANY, tmp_path, monkeypatch)
