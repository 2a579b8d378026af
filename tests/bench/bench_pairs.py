"""Every scene by every recipe that it has, until solved: `python tests/bench/bench_pairs.py [SCENE:AGENT ...]`.

One training after the other on one thread, each by its recipe alone, with a run directory as `train.py` has one.
Printed are how many seeds solved
the scene, the steps that it took (median and most) and the processor seconds of the whole training until then, its
evaluations included and its start left out; with `--json` each training is printed as well.
"""

from __future__ import annotations

import json
import tempfile
from statistics import median
from time import process_time
from typing import Any

from trial_file import asked_rows

from ecs_rl.cli.plan import plan_of
from ecs_rl.loading import load_scene
from ecs_rl.scene.scene import Scene
from ecs_rl.shipped import SCENES
from ecs_rl.tasks.assemble import assemble, recorded

Trial = dict[str, Any]


def pairs() -> list[str]:
    """Return every scene that comes along with every agent that it has a recipe for."""
    scenes = sorted(path.stem for path in SCENES.glob("*.py") if not path.stem.startswith("_"))
    return [f"{scene}:{agent}" for scene in scenes for agent in load_scene(scene).recipes]


def trial(pair: str, seed: int, *more: str, loaded: Scene | None = None) -> Trial:
    """Train until solved or out of steps, with `more` flags, in the `loaded` scene if there is one.

    Return `solved_step` (None: never), `steps`, `best` and `processor`.
    """
    scene, agent = pair.split(":")
    with tempfile.TemporaryDirectory() as runs:
        flags = ["--agent", agent, "--seed", str(seed), "--until-solved", "--threads", "1", "--runs", runs, *more]
        plan, training = assemble(plan_of([scene, *flags], loaded=loaded))
        recorded(training, plan)
        began = process_time()
        while not training.done:
            training.tick()
        spent = process_time() - began
        training.close()
    step, session = training.evaluation.solved_step, training.session
    return {"solved_step": step, "steps": session.total_steps, "best": session.best_eval, "processor": spent}


def row(pair: str, trials: list[Trial]) -> str:
    """Return a row of the table: a seed that did not solve its scene counts with all of its steps."""
    steps = [each["solved_step"] or each["steps"] for each in trials]
    seconds = [each["processor"] for each in trials]
    solved = sum(each["solved_step"] is not None for each in trials)
    scene, agent = pair.split(":")
    numbers = f"{solved} of {len(trials)} | {median(steps):,.0f} | {max(steps):,}"
    return f"| `{scene}` | {agent} | {numbers} | {median(seconds):.1f} | {max(seconds):.1f} |"


def main() -> None:
    """Train the pairs that were asked for and print the table."""
    asked = asked_rows("Every recipe, until its scene is solved.", pairs(), "SCENE:AGENT")
    print("| scene | agent | solved | steps, median | steps, most | processor s, median | processor s, most |")
    print("|---|---|---|---:|---:|---:|---:|", flush=True)
    for pair in asked.rows:
        trials = []
        for seed in asked.seeds:
            trials.append(trial(pair, seed))
            if asked.json:
                print(json.dumps({"pair": pair, "seed": seed, **trials[-1]}), flush=True)
        print(row(pair, trials), flush=True)


if __name__ == "__main__":
    main()
