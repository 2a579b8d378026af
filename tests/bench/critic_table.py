"""Critics that see more than their policies: `python tests/bench/critic_table.py [soccer sheepdog] [--seeds 10]`.

In `soccer` the critic of each player sees what both team-mates see (`critic_sees="team"`). The dog of `sheepdog` has no
team: its critic sees where each sheep is in the meadow. Every training is the scene's recipe until solved, on one
thread, with and without. Printed are how many seeds solved the scene, their steps and processor seconds. With
`--to FILE.jsonl` an interrupted table goes on.
"""

from __future__ import annotations

import argparse
from collections.abc import Callable
from dataclasses import replace
from functools import partial
from pathlib import Path
from typing import Any

from bench_pairs import row, trial
from trial_file import TrialFile

from ecs_rl.loading import load_scene
from ecs_rl.scene import Arena, Feels
from ecs_rl.scene.scene import Scene


def team(arena: Arena) -> Any:
    """Return what the critic of a player sees."""
    return "team"


def flock(arena: Arena) -> Any:
    """Return what the critic of the dog sees: the place of each sheep, zeros for those that are home."""
    (sheep,) = (role for role in arena.roles if role.name == "sheep")
    names = [f"sheep {i} {axis}" for i in range(sheep.members) for axis in "xy"]
    return [Feels(names, lambda: (sheep.position * sheep.here[..., None]).reshape(len(sheep.here), -1))]


CRITICS: dict[str, Callable[[Arena], Any]] = {"soccer": team, "sheepdog": flock}


def with_critic(scene: Scene, sees: Callable[[Arena], Any]) -> Scene:
    """Return the scene with critics that see this as well."""

    def build(arena: Arena) -> None:
        add_agent = arena.agent
        arena.agent = lambda **settings: add_agent(**settings, critic_sees=sees(arena))  # type: ignore[method-assign]
        scene.build(arena)

    return replace(scene, build=build, outline={})


def main() -> None:
    """Train what is missing and print the table."""
    parser = argparse.ArgumentParser(description="Critics that see more than their policies.")
    parser.add_argument("scenes", nargs="*", default=[*CRITICS], metavar="SCENE", help=", ".join(CRITICS))
    parser.add_argument("--seeds", type=int, default=10, help="trainings of each row, seeds from 0 (default: 10)")
    parser.add_argument("--to", type=Path, metavar="FILE.jsonl", help="a file of trainings, which are not run again")
    asked = parser.parse_args()
    file = TrialFile(asked.to)
    print("| scene | critic | solved | steps, median | steps, most | processor s, median | processor s, most |")
    print("|---|---|---|---:|---:|---:|---:|", flush=True)
    for name in asked.scenes:
        plain = load_scene(name)
        for critic, scene in (("as the policy", plain), ("sees more", with_critic(plain, CRITICS[name]))):
            trials = []
            for seed in range(asked.seeds):
                train = partial(trial, f"{name}:ppo", seed, loaded=scene)
                trials.append(file.trial((name, critic, seed), train))
            print(row(f"{name}:{critic}", trials), flush=True)


if __name__ == "__main__":
    main()
