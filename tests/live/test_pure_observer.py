"""The window only looks: whatever is done in it, training comes to the same bits as without it."""

from __future__ import annotations

import json
from collections.abc import Callable, Iterator
from functools import cache
from pathlib import Path

import pygame
import pytest
from game_scene import GAME
from games import GAMES, game
from live_commands import Said, train
from live_windows import PPO, Script, Scripted, down, in_order, keys, layout_of, moved, post, up, wait
from mixed_controls import MIXED
from readme_scenes import BEACONS

from ecs_rl.errors import EcsRlError
from ecs_rl.viewer.live.screen import Screen
from ecs_rl.viewer.live.window import Window
from ecs_rl.viewer.objects import BodyId
from ecs_rl.viewer.panel import App
from ecs_rl.viewer.panels.learning import DrawerView, Learning

EVALUATED = ("--eval-every", "1000", "--eval-episodes", "2", "--checkpoint-every", "1000", "--keep", "9")
BALANCE = ("balance", "--arenas", "8", "--steps", "3k", *EVALUATED, *PPO)
LANDER = ("lander", "--arenas", "8", "--steps", "3k", *EVALUATED, *PPO)
DQN = (
    *("balance", "--arenas", "8", "--steps", "3k", *EVALUATED, "--agent", "dqn", "--dqn.warm-up", "64"),
    *("--dqn.learn-every", "32", "--dqn.batch", "32", "--dqn.hidden", "16"),
)
GAME_OF_KINDS = ("game", "--arenas", "8", "--steps", "12k", *EVALUATED, *PPO)
REMEMBERS = (*LANDER, "--network", "gru", "--ppo.state", "8")
SCENES = {"balance": BALANCE, "lander": LANDER, "remembers": REMEMBERS, "dqn": DQN, "game": GAME_OF_KINDS}
SCENES |= {name: (game(name), *LANDER[1:]) for name in GAMES}
SCENES["environment"] = ("gym:CartPole-v1", *LANDER[1:])
OTHERS = [
    *(
        "lander",
        pytest.param("remembers", marks=pytest.mark.slow),
        "environment",
        pytest.param("dqn", marks=pytest.mark.slow),
        "beacons",
        "mixed",
        "game",
    ),
    *(pytest.param(name, marks=pytest.mark.slow) for name in GAMES),
]


@pytest.fixture(scope="module", autouse=True)
def own_scenes(tmp_path_factory: pytest.TempPathFactory) -> None:
    """Let the README's scene with systems of its own, one with mixed controls, and a small game be files."""
    mixed = MIXED.replace("solved_at=34", "solved_at=40")
    for name, text in (("beacons", BEACONS), ("mixed", mixed), ("game", GAME)):
        path = tmp_path_factory.mktemp("scene") / f"{name}.py"
        path.write_text(text)
        SCENES[name] = (str(path), *SCENES.get(name, LANDER)[1:])


@pytest.fixture(scope="module")
def headless(tmp_path_factory: pytest.TempPathFactory) -> Callable[[str], Said]:
    """Train each scene without a window, once."""

    @cache
    def trained(scene: str) -> Said:
        told = train(*SCENES[scene], "--json", "--runs", tmp_path_factory.mktemp("headless"))
        assert told.code == 0, told.err
        return told

    return trained


def watched(scene: str, runs: Path, *more: object) -> Said:
    return train(*SCENES[scene], "--watch", "--json", "--runs", runs, *more)


def drag(window: Window) -> Iterator[None]:
    """Pull at whatever is in the middle of the stage, through every pixel on the way."""
    x, y = layout_of(window).stage.center
    for at in ((x, y), (x, y + 40), (x - 6, y + 60)):
        post(down(at))
        for i in range(4):
            post(moved((at[0] + 20 * i, at[1] - 15 * i), (20, -15)))
            yield
        post(up(at))
        yield


def click_around(window: Window) -> Iterator[None]:
    area = layout_of(window).stage
    for x, y in ((0.5, 0.5), (0.1, 0.2), (0.6, 0.5)):
        at = round(area.x + x * area.w), round(area.y + y * area.h)
        post(down(at), up(at))
        yield


def scrub(window: Window) -> Iterator[None]:
    """Go along the scrubber, and pull at a body in the past."""
    assert isinstance(window.screen, Screen)
    place = window.screen.painter.canvas.place_of("scrubber")
    if place is not None:  # an environment has none
        post(down(place.center), moved((place.x + 20, place.y)), up(place.midleft))
    yield
    yield from drag(window)


def turn_inputs(window: Window) -> Iterator[None]:
    """Turn what the agent sees, choose another axis of the map, and ask about another action."""
    area = layout_of(window).rooms["mind"]
    for x, y, to in ((0.6, 0.06, 0.75), (0.55, 0.09, 0.9), (0.1, 0.12, 0.1), (0.6, 0.34, 0.6)):
        at = round(area.x + x * area.w), round(area.y + y * area.h)
        there = round(area.x + to * area.w), at[1]
        post(down(at), moved(there, (9, 0)), up(there))
        yield
        post(down(at), up(at))
        yield


SCRIPTS: dict[str, Script] = {
    "watched": wait(30),
    "stage paused": in_order(wait(3), keys("Space"), wait(20), keys("Right", "Right", "Right", "Space"), wait(3)),
    "poked": in_order(*[in_order(keys("P"), wait(2))] * 8),
    "dragged": in_order(wait(2), drag, wait(3), drag),
    "sped up": in_order(keys(*"======="), wait(10), keys(*"-----------"), wait(2), keys("0")),
    "sampled": in_order(keys("D"), wait(15), keys("D", "R", "Backspace", "R"), wait(3)),
    "rewound": in_order(
        *(wait(8), keys("Left", "Left", "PgUp", "Right"), wait(2), keys("Space"), wait(4), keys("P", "Left")),
        *(scrub, keys("Enter"), wait(3), keys("Left", "Left", "R"), wait(4), keys("Left", "D", "D", "Left", "Esc")),
        *(keys("Space"), wait(2), keys("Left", "Backspace", "Left", "G", "G", "Left", ",", "L", "Space")),
    ),
    "replayed": in_order(
        *(keys("K", *"======="), wait(20), keys("W"), wait(3), keys("Left", "Left", "P", "W", "K"), wait(3)),
        *(keys("W", "W", "K", "Esc", "0", "W"), wait(2), keys("Backspace", "R", "G", "G", "W", "Esc")),
    ),
    "asked": in_order(
        *(keys("I"), wait(12), click_around, keys("X"), wait(9), turn_inputs, wait(4), keys("Space"), wait(3)),
        *(keys("Left", "Left"), wait(6), keys("Esc", "G", "I", "X", "G", "I"), wait(4), keys("B", "B", "Esc", "Esc")),
    ),
    "grid": in_order(keys("G", "]", "]", "[", "Enter"), wait(3), keys("P", "G"), click_around, wait(3), keys("R")),
    "turbo": in_order(keys("U"), wait(20), keys("U"), wait(3)),
    "training paused": in_order(wait(3), keys("T"), wait(10), keys("P", "G", "T"), wait(3), keys("T", "Ctrl+E", "T")),
    "checkpoint switched": in_order(wait(45), keys(",", ",", ",", "D", ".", "P"), wait(3), keys(".", ".", ".")),
    "saved": in_order(wait(7), keys("Ctrl+S"), wait(11), keys("Ctrl+S", "Ctrl+S"), wait(6), keys("Ctrl+S")),
    "evaluated": in_order(wait(5), keys("Ctrl+E"), wait(13), keys("Ctrl+E"), wait(5), keys("Ctrl+E", "Ctrl+S")),
    "panels": keys("F1", "F3", "Tab", "M", "F11", "Ctrl+P", "F11", "Esc", "Esc", "Home", "Tab", "M"),
}
ALL = in_order(*(script for name, script in SCRIPTS.items() if name not in ("watched", "checkpoint switched")))


@pytest.mark.parametrize("script", SCRIPTS.values(), ids=SCRIPTS)
def test_whatever_is_done_in_the_window_the_training_of_balance_is_the_same(
    script: Script, headless: Callable[[str], Said], tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    driver = Scripted(monkeypatch, script)
    told = watched("balance", tmp_path)
    assert told.code == 0, told.err
    assert driver.is_done, "the training was over before the script"
    assert_same(told, headless("balance"))


@pytest.mark.parametrize("scene", OTHERS)
def test_everything_done_in_one_window_leaves_other_scenes_and_agents_the_same_too(
    scene: str, headless: Callable[[str], Said], tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    driver = Scripted(monkeypatch, ALL, {"dqn": 5, "game": 4, "environment": 6}.get(scene, 8))
    told = watched(scene, tmp_path)
    assert told.code == 0, told.err
    assert driver.is_done, "the training was over before the script"
    assert_same(told, headless(scene))


@pytest.mark.parametrize(
    "scene", ["balance", "lander", *(pytest.param(name, marks=pytest.mark.slow) for name in ("dqn", "beacons", "game"))]
)
def test_without_a_script_the_window_leaves_the_training_the_same(
    scene: str, headless: Callable[[str], Said], tmp_path: Path
) -> None:
    """At this machine's own pace: how many slices lie between two frames is up to the clock."""
    told = watched(scene, tmp_path)
    assert told.code == 0, told.err
    assert_same(told, headless(scene))


def assert_same(told: Said, headless: Said) -> None:
    ours, theirs = told.json, headless.json
    assert told.sha == headless.sha
    for name in ("status", "steps", "episodes", "solved_step"):
        assert ours[name] == theirs[name], name
    regular = [row for row in evaluations(headless.run) if row]
    assert [row for row in evaluations(told.run) if row[0] in {step for step, _ in regular}] == regular


def evaluations(run: Path) -> list[tuple[int, float]]:
    rows = [json.loads(line) for line in (run / "eval_episodes.jsonl").read_bytes().splitlines()]
    return [(row["total_steps_at_eval"], row["total_reward"]) for row in rows]


# --- the window goes away ---------------------------------------------------------------------------------------------


def close(window: Window) -> Iterator[None]:
    post(pygame.event.Event(pygame.QUIT))
    yield


@pytest.mark.parametrize("scene", ["balance", "lander", pytest.param("dqn", marks=pytest.mark.slow), "beacons", "game"])
def test_closed_half_way_and_resumed_without_a_window_it_is_the_same(
    scene: str, headless: Callable[[str], Said], tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    with monkeypatch.context() as patch:
        Scripted(patch, in_order(wait(20), keys("P", "Ctrl+S"), wait(5), close))
        closed = watched(scene, tmp_path)
    assert (closed.code, closed.json["status"]) == (0, "interrupted")
    assert 0 < closed.json["steps"] < headless(scene).json["steps"]
    resumed = train(SCENES[scene][0], "--resume", closed.run, "--json")
    assert resumed.code == 0, resumed.err
    assert_same(resumed, headless(scene))


def test_resumed_in_a_window_it_is_the_same_too(
    headless: Callable[[str], Said], tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    with monkeypatch.context() as patch:
        Scripted(patch, in_order(wait(20), close))
        closed = watched("balance", tmp_path)
    Scripted(monkeypatch, in_order(keys("P", "G"), wait(5)))
    resumed = train("balance", "--resume", closed.run, "--watch", "--json")
    assert_same(resumed, headless("balance"))


def dies_at(patch: pytest.MonkeyPatch, frame: int) -> list[int]:
    """Let the screen refuse this frame."""
    shown: list[int] = []

    def flip() -> None:
        shown.append(len(shown))
        if len(shown) >= frame:
            raise pygame.error("the X server went away")

    patch.setattr(pygame.display, "flip", flip)
    return shown


@pytest.mark.parametrize("frame", [1, 20])
def test_when_the_display_dies_training_goes_on_without_it_and_says_so(
    frame: int, headless: Callable[[str], Said], tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    shown = dies_at(monkeypatch, frame)
    Scripted(monkeypatch, in_order(keys("T"), wait(3), keys("T", "Ctrl+S", "P"), wait(99)))
    told = watched("balance", tmp_path)
    assert told.code == 0
    assert len(shown) == frame
    (line,) = [line for line in told.err.splitlines() if "the window is gone" in line]
    assert line == "train.py: the window is gone (the X server went away): training goes on without it"
    assert "Traceback" not in told.err
    assert_same(told, headless("balance"))


def test_a_display_that_dies_while_training_rests_wakes_the_training(
    headless: Callable[[str], Said], tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    dies_at(monkeypatch, 15)
    Scripted(monkeypatch, in_order(wait(3), keys("T"), wait(99)))
    assert_same(watched("balance", tmp_path), headless("balance"))


def test_a_problem_with_a_file_in_drawing_does_not_end_the_training(
    headless: Callable[[str], Said], tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    frames = []
    view = Learning.view

    def broken(panel: Learning, app: App) -> DrawerView | None:
        frames.append(panel)
        if len(frames) == 10:
            raise EcsRlError("cannot read metrics.jsonl")
        return view(panel, app)

    monkeypatch.setattr(Learning, "view", broken)
    Scripted(monkeypatch, wait(99))
    told = watched("balance", tmp_path)
    assert told.code == 0, told.err
    assert "cannot read metrics.jsonl" in told.err
    assert_same(told, headless("balance"))


FRAGILE = """
from ecs_rl.scene import *

SCENE = Scene(about="Nobody moves the bystander.", max_ticks=100, gravity=(0.0, 0.0))


def build(arena):
    cart = arena.spawn("cart", Body(mass=1.0, spins=False), Box(0.5, 0.3), Start(x=jitter(0.5)))
    bystander = arena.spawn("bystander", Body(mass=1.0), Box(0.2, 0.2), Start(x=2.0, y=1.5))

    def calm():
        if abs(bystander.vx).max() > 1e-6:
            raise ValueError("the bystander moved")
        return 1.0 - abs(cart.x)

    arena.agent(
        sees=[X(cart), Vx(cart)],
        does=Choice(left=Push(cart, -10.0), right=Push(cart, +10.0)),
        earns={"calm": calm},
        ends={"ran off": beyond(X(cart), 3.0)},
    )
"""


def test_a_rule_that_fails_only_after_a_kick_does_not_hurt_the_training(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    scene = tmp_path / "fragile.py"
    scene.write_text(FRAGILE)
    args = (scene, "--arenas", "8", "--steps", "3k", "--eval-every", "1000", "--eval-episodes", "2", *PPO, "--json")
    alone = train(*args, "--runs", tmp_path / "alone")
    said: list[str] = []

    def kick(window: Window) -> Iterator[None]:
        for key in ("P", "P", "Space"):
            window.stage.selected = BodyId("bystander")
            yield from keys(key)(window)
            window.stage.set_speed(8.0)
            yield from wait(6)(window)
            said.extend(message.text for message in window.messages)
        window.stage.selected = BodyId("bystander")
        yield from keys("P", "Right", "Right", "Space", "Space")(window)
        yield from wait(6)(window)
        said.extend(message.text for message in window.messages)
        before = window.show.world.ticks
        yield from keys("Backspace", "0", "Space", "Right")(window)
        yield
        assert window.show.world.ticks > before

    driver = Scripted(monkeypatch, kick)
    told = train(*args, "--watch", "--runs", tmp_path / "watched")
    assert told.code == 0, told.err
    assert driver.is_done
    assert any("the bystander moved" in text for text in said), said
    assert (told.sha, told.json["status"]) == (alone.sha, "finished")
