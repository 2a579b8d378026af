"""What is learned from data alone, and what 20,000 steps of acting add: a table in Markdown.

`python tests/bench/offline_table.py lander` records three sets of data (20 episodes of the pilot, 20 of a PPO that
stopped long before it was good, 3 episodes of the pilot alone), all with sampled actions, and learns from each. One
training after the other runs, with one thread.
"""

from __future__ import annotations

import argparse
import json
import subprocess
import sys
from pathlib import Path
from typing import Any

from ecs_rl.loading import load_scene
from ecs_rl.session.bootstrap import summary

ROOT = Path(__file__).parents[2]
SCENES = ("lander", "walker", "racer", "forager")
ALGORITHMS: dict[str, tuple[str, ...]] = {
    "BC": ("--iql.beta", "0"),
    "AWAC": ("--iql.value", "policy"),
    "IQL": (),
}


def called(program: str, *words: str) -> dict[str, Any]:
    """Return the object that a command prints last; its messages are shown if it fails."""
    line = [sys.executable, str(ROOT / f"{program}.py"), *words, "--json"]
    done = subprocess.run(line, capture_output=True, text=True, check=False)
    if done.returncode:
        raise SystemExit(f"{' '.join(line)}: {done.stderr}")
    found: dict[str, Any] = json.loads(done.stdout.splitlines()[-1])
    return found


def record(scene: str, folder: Path, steps: str) -> dict[str, Path]:
    """Return the three files of data."""
    half = str(folder / "half.safetensors")
    if not Path(half).exists():
        run = called("train", scene, "--agent", "ppo", "--steps", steps, "--runs", str(folder / "half"))["run"]
        Path(half).write_bytes((Path(run) / "checkpoints" / "latest.safetensors").read_bytes())
    sets = {"pilot": ((scene, "--pilot"), 20), "half-trained": ((half,), 20), "three episodes": ((scene, "--pilot"), 3)}
    files = {name: folder / f"{name}.data" for name in sets}
    for name, (target, episodes) in sets.items():
        files[name].unlink(missing_ok=True)
        more = ("--headless", "--stochastic", "--episodes", str(episodes), "--seed", "500")
        called("play", *target, *more, "--save-data", str(files[name]))
    return files


def last_score(run: Path, scene: str) -> float:
    """Return what the run's last evaluation came to: the mean score, or the mean return."""
    score = load_scene(scene).score
    name = f"eval/score/{score}" if score else "eval/mean_return"
    rows = [json.loads(row) for row in (run / "metrics.jsonl").read_text().splitlines()]
    return float([row[name] for row in rows if name in row][-1])


def in_words(scores: list[float]) -> str:
    """Return the mean with its interval."""
    found = summary(scores)
    assert found is not None
    return f"{found.mean:.0f} ({found.low:.0f} to {found.high:.0f})"


def main() -> None:
    """Print a row for each scene and set of data."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("scenes", nargs="*", default=SCENES)
    parser.add_argument("--folder", type=Path, default=Path("offline"))
    parser.add_argument("--seeds", type=int, default=5)
    parser.add_argument("--steps", default="5k")
    parser.add_argument("--online", default="20k")
    parser.add_argument("--half", default="100k", help="steps of the half-trained PPO")
    asked = parser.parse_args()
    print(f"| scene | data | {' | '.join(ALGORITHMS)} | IQL, then {asked.online} steps online |")
    print("|---|---|" + "---|" * (len(ALGORITHMS) + 1))
    for scene in asked.scenes:
        folder = asked.folder / scene
        folder.mkdir(parents=True, exist_ok=True)
        for data, path in record(scene, folder, asked.half).items():
            cells = []
            common = (scene, "--agent", "iql", "--runs", str(folder / "runs"), "--threads", "1", "--eval-every", "100k")
            begun: list[str] = []
            for more in ALGORITHMS.values():
                learning = (*common, "--offline", str(path), "--steps", asked.steps, *more)
                begun = [called("train", *learning, "--seed", str(seed))["run"] for seed in range(asked.seeds)]
                cells.append(in_words([last_score(Path(run), scene) for run in begun]))
            scores = []
            for seed, run in enumerate(begun):
                weights = str(Path(run) / "checkpoints" / "latest.safetensors")
                online = ("--init-from", weights, "--steps", asked.online, "--seed", str(seed))
                scores.append(last_score(Path(called("train", *common, *online)["run"]), scene))
            print(f"| `{scene}` | {data} | {' | '.join([*cells, in_words(scores)])} |", flush=True)


if __name__ == "__main__":
    main()
