"""What the window costs: `python tests/bench/bench_window.py [--scene lander] [--seconds 4] [--rounds 6]`.

One training runs in turns without a window, with it, and in turbo, so that every rate is measured on the same machine
in the same minute and on policies of the same age; the ratios are of the medians over the rounds. Without DISPLAY it
draws for SDL's dummy driver, which shows nothing: `xvfb-run -s '-screen 0 1600x900x24'` makes it a real window.
"""

from __future__ import annotations

import argparse
import os
import tempfile
from collections.abc import Callable
from itertools import pairwise
from statistics import median
from time import perf_counter

if not os.environ.get("DISPLAY"):
    os.environ.setdefault("SDL_VIDEODRIVER", "dummy")

from ecs_rl.agents.config import PPOConfig
from ecs_rl.cli.plan import plan_of
from ecs_rl.garbage import small_collections
from ecs_rl.tasks.assemble import assemble, recorded
from ecs_rl.training.training import Training
from ecs_rl.viewer.live.screen_process import ScreenProcess
from ecs_rl.viewer.live.watch import Loop, WatchWindow
from ecs_rl.viewer.live.window import Window
from ecs_rl.viewer.panels.profile import Profile

SIZE = (1280, 720)


def rate(training: Training, seconds: float, go_on: Callable[[], None]) -> float:
    """Return steps per second while something goes on for so long."""
    steps, began = training.session.total_steps, perf_counter()
    while perf_counter() < began + seconds and not training.done:
        go_on()
    return (training.session.total_steps - steps) / (perf_counter() - began)


def main() -> None:
    """Measure and print."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0] if __doc__ else "")
    parser.add_argument("--scene", default="lander")
    parser.add_argument("--seconds", type=float, default=4.0)
    parser.add_argument("--rounds", type=int, default=6)
    chosen = parser.parse_args()
    with tempfile.TemporaryDirectory() as folder:
        plan, training = assemble(plan_of([chosen.scene, "--runs", folder, "--steps", "100M"]))
        settings = plan.settings
        assert isinstance(settings.ppo, PPOConfig)
        run = recorded(training, plan)
        training.session.write_behind()
        opened = WatchWindow.open(training, ScreenProcess.start(chosen.scene, SIZE))
        window = opened.window(training, run.path, lambda: None)
        loop = Loop(window)
        with small_collections():
            for _ in range(30):  # fonts, layers, and whatever else is made but once
                loop.frame()
            rates, gaps, parts = measure(training, loop, window, chosen.seconds, chosen.rounds)
        report(chosen.scene, window, rates, gaps)
        print("  a frame, mean: " + ", ".join(f"{part} {each:.2f} ms" for part, each in parts.items()))
        training.stop = "measured"
        training.close()
        opened.close()


def measure(
    training: Training, loop: Loop, window: Window, seconds: float, rounds: int
) -> tuple[dict[str, list[float]], list[float], dict[str, float]]:
    """Return the rates of each way to run, one for each round, and of watching the gaps and parts of frames.

    Gaps are seconds from frame to frame, sorted; parts are mean milliseconds.
    """
    rates: dict[str, list[float]] = {"headless": [], "watching": [], "turbo": []}
    gaps: list[float] = []
    display = window.screen
    assert isinstance(display, ScreenProcess)
    parts: list[dict[str, float]] = []

    profile = window.panels["profile"]
    assert isinstance(profile, Profile)
    for _ in range(rounds):
        assert window.run.background is not None
        window.run.background.finish_tick()
        rates["headless"].append(rate(training, seconds, training.tick))
        window.run.background.turbo = False
        for _ in range(3):
            loop.frame()  # the pause before them is no gap between two frames
        display.shown.clear()
        rates["watching"].append(rate(training, seconds, loop.frame))
        shown = list(display.shown)
        gaps += [after - before for before, after in pairwise(shown)]
        parts.append(dict(profile.profiler.view().frame))
        window.run.background.turbo = True
        rates["turbo"].append(rate(training, seconds, loop.frame))
    return rates, sorted(gaps), {part: median(each[part] for each in parts) for part in parts[0]}


def report(scene: str, window: Window, rates: dict[str, list[float]], gaps: list[float]) -> None:
    """Print the rates, their ratios, and how evenly the frames came while watching."""
    headless = median(rates["headless"])
    print(f"{scene}, {window.screen.driver} driver, {SIZE[0]}x{SIZE[1]}, all panels")
    for name, values in rates.items():
        print(f"  {name:10} {median(values):10,.0f} steps/s   ratio {median(values) / headless:.2f}")
    over_25 = sum(gap > 0.025 for gap in gaps)
    p99, longest = gaps[int(len(gaps) * 0.99)], gaps[-1]
    over = f"99th percentile {p99 * 1e3:.1f} ms, longest {longest * 1e3:.1f} ms, {over_25} over 25 ms"
    print(f"  from frame to frame, {len(gaps)} of them: median {median(gaps) * 1e3:.1f} ms, {over}")


if __name__ == "__main__":
    main()
