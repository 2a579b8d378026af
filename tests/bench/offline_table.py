"""What is learned from data alone, and what steps of acting add: a table in Markdown.

`python tests/bench/offline_table.py lander` records three sets of data (20 episodes of the pilot, 20 of a PPO that
stopped long before it was good, 3 episodes of the pilot alone), all with sampled actions, and learns from each. One
training after the other runs, with one thread. What the folder's `scores.json` has is not measured again.
"""

from __future__ import annotations

import argparse
import contextlib
import io
import json
from collections.abc import Callable
from pathlib import Path
from typing import Any

from ecs_rl.commands.play import main as play
from ecs_rl.commands.train import main as train
from ecs_rl.loading import load_scene
from ecs_rl.session.bootstrap import summary

SCENES = ("lander", "walker", "racer", "forager")
ALGORITHMS: dict[str, tuple[str, ...]] = {
    "BC": ("--iql.beta", "0"),
    "AWAC": ("--iql.value", "policy"),
    "IQL": (),
}
DATA = {"pilot": ("pilot", 20), "half-trained": ("half", 20), "three episodes": ("pilot", 3)}
"""Who plays, and how many episodes."""


def called(command: Callable[[list[str]], int], *words: str) -> dict[str, Any]:
    """Return the object that a command prints last; its messages are printed if it fails."""
    out, err = io.StringIO(), io.StringIO()
    with contextlib.redirect_stdout(out), contextlib.redirect_stderr(err):
        code = command([*words, "--json"])
    if code:
        raise SystemExit(f"{' '.join(words)}: {err.getvalue()}")
    report: dict[str, Any] = json.loads(out.getvalue().splitlines()[-1])
    return report


def record(scene: str, name: str, folder: Path, steps: str) -> Path:
    """Return the file of a set of data, recorded if it is not there."""
    file, half, (who, episodes) = folder / f"{name}.data", folder / "half.safetensors", DATA[name]
    if file.exists():
        return file
    if who == "half" and not half.exists():
        run = called(train, scene, "--agent", "ppo", "--steps", steps, "--runs", str(folder / "half"))["run"]
        half.write_bytes((Path(run) / "checkpoints" / "latest.safetensors").read_bytes())
    target = (str(half),) if who == "half" else (scene, "--pilot")
    more = ("--headless", "--stochastic", "--episodes", str(episodes), "--seed", "500")
    called(play, *target, *more, "--save-data", str(file))
    return file


def last_score(run: Path, scene: str) -> float:
    """Return what the run's last evaluation came to: the mean score, or the mean return."""
    score = load_scene(scene).score
    name = f"eval/score/{score}" if score else "eval/mean_return"
    rows = [json.loads(row) for row in (run / "metrics.jsonl").read_text().splitlines()]
    return float([row[name] for row in rows if name in row][-1])


def in_words(scores: list[float], digits: int) -> str:
    """Return the mean with its interval."""
    found = summary(scores)
    assert found is not None
    return f"{found.mean:.{digits}f} ({found.low:.{digits}f} to {found.high:.{digits}f})"


def measure(scene: str, name: str, asked: argparse.Namespace, known: dict[str, float]) -> list[list[float]]:
    """Return the scores of each column, and note in `known` what was measured."""
    folder: Path = asked.folder / scene
    folder.mkdir(parents=True, exist_ok=True)
    data = str(record(scene, name, folder, asked.half))
    common = ("--agent", "iql", "--runs", str(folder / "runs"), "--threads", "1", "--eval-every", "100M")
    columns: list[list[float]] = [[] for _ in range(len(ALGORITHMS) + 1)]
    for seed in range(asked.seeds):
        weights = folder / f"{name}-{seed}.safetensors"
        ways = {who: ("--offline", data, "--steps", asked.steps, *more) for who, more in ALGORITHMS.items()}
        ways["online"] = ("--init-from", str(weights), "--remember", data, "--steps", asked.online)
        for column, (who, more) in zip(columns, ways.items(), strict=True):
            key = f"{scene}, {name}, {who}, seed {seed}, {asked.steps} steps, {asked.online} online"
            if key not in known:
                run = Path(called(train, scene, *common, "--seed", str(seed), *more)["run"])
                if who == "IQL":
                    weights.write_bytes((run / "checkpoints" / "latest.safetensors").read_bytes())
                known[key] = last_score(run, scene)
                (asked.folder / "scores.json").write_text(json.dumps(known, indent=1))
            column.append(known[key])
    return columns


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
    scores = asked.folder / "scores.json"
    known: dict[str, float] = json.loads(scores.read_text()) if scores.exists() else {}
    print(f"| scene | data | {' | '.join(ALGORITHMS)} | IQL, then {asked.online} steps online |")
    print("|---|---|" + "---|" * (len(ALGORITHMS) + 1))
    for scene in asked.scenes:
        digits = 1 if load_scene(scene).score else 0
        for name in DATA:
            cells = [in_words(column, digits) for column in measure(scene, name, asked, known)]
            print(f"| `{scene}` | {name} | {' | '.join(cells)} |", flush=True)


if __name__ == "__main__":
    main()
