"""Makes the pilots anew: `python tests/readme/make_pilots.py [SCENE ...]` (hours for all of them; needs no display).

For each scene it trains the recipe with five seeds, takes the best policy of the seed in the middle, plays it greedily
on 200 seeds that neither its training nor its evaluations ever saw, and writes `assets/pilots/SCENE.safetensors`, the
policy alone, and the scene's row of `assets/pilots/pilots.json`. What was trained stays in `build/pilots`: the same
command goes on where it was stopped, and trains nothing twice as long as the scene is the same; `--again` does.
"""

from __future__ import annotations

import argparse
import subprocess
import sys
from dataclasses import dataclass
from datetime import UTC, datetime
from pathlib import Path
from statistics import fmean, pstdev

import msgspec

from ecs_rl.cli.plan import recipes_of
from ecs_rl.errors import CheckpointError
from ecs_rl.loading import load_scene
from ecs_rl.pilots.pilot_scores import BEGINNING, PilotEntry
from ecs_rl.runs import (
    EvalSettings,
    Metadata,
    join_sections,
    read_checkpoint,
    read_manifest,
    read_metadata,
    sealed_pieces,
    section,
)
from ecs_rl.runs.layout import CHECKPOINTS, milestones, runs_in, sound_manifest
from ecs_rl.scene.scene import Scene
from ecs_rl.shipped import PILOTS, SCENES
from ecs_rl.spaces import ActMode
from ecs_rl.training.evaluator import SEED
from ecs_rl.training.opponent import RANDOM, Opponent, opponent_of
from ecs_rl.training.playback import Player

ROOT = Path(__file__).resolve().parents[2]
SEEDS = 5
FIRST, EPISODES = 20_000, 200
"""The seeds that a pilot is judged by; a training's own evaluations go from 10,000 on."""
MOST_BYTES = 200_000
LONGER: dict[str, tuple[str, ...]] = {}
"""Flags of scenes whose pilot is trained longer than the recipe, which stops where they are solved."""


@dataclass(frozen=True)
class Plan:
    """Where it is trained and written to, and how much."""

    runs: Path = ROOT / "build" / "pilots"
    to: Path = PILOTS
    seeds: int = SEEDS
    threads: int = 1
    again: bool = False
    """Train anew what is finished."""
    as_it_is: bool = False
    """Train nothing: take the finished runs there are, also of an earlier version of the scene's file."""
    more: tuple[str, ...] = ()
    """More flags for the trainings."""


def make(name: str, plan: Plan) -> PilotEntry:
    """Train, choose, judge and write the pilot of one scene; return its row of the table."""
    scene = load_scene(name)
    runs = [each for seed in range(plan.seeds) if (each := trained(scene, seed, plan)) is not None]
    if not runs:
        raise SystemExit(f"make_pilots.py: {name}: no run is finished: leave --as-it-is out, and train it")
    worths = [worth(scene, *each) for each in runs]
    run, known = middle(runs, worths)
    path = plan.to / f"{name}.safetensors"
    plan.to.mkdir(parents=True, exist_ok=True)
    checkpoint = best_of(scene, run)
    trained_to = {str(each.seed): found for (_, each), found in zip(runs, worths, strict=True)}
    entry = judged(scene, checkpoint, known, trained_to)
    write_pilot(checkpoint, path, entry)
    write_row(plan.to / "pilots.json", name, entry)
    return entry


# --- training ---------------------------------------------------------------------------------------------------------


def trained(scene: Scene, seed: int, plan: Plan) -> tuple[Path, Metadata] | None:
    """Return the finished run of a seed, trained now, or on from where it was stopped, if need be."""
    version = plan.runs / scene.name / f"seed_{seed}"
    found = [] if plan.again else [run for run in runs_in(version) if is_of(scene, run, changed=plan.as_it_is)]
    done = next((run for run in found if read_metadata(run).status == "finished"), None)
    if done is None and plan.as_it_is:
        return None
    if done is None:
        stopped = next((run for run in found if sound_manifest(run) is not None), None)
        train(scene.name, seed, plan, stopped)
        done = runs_in(version)[0]
    known = read_metadata(done)
    if known.status != "finished":
        raise SystemExit(f"make_pilots.py: {done} is {known.status}: the same command goes on with it")
    return done, known


def is_of(scene: Scene, run: Path, *, changed: bool) -> bool:
    """Return whether a run can be read and is of the scene as it is now; as it once was is enough where `changed`."""
    try:
        return changed or read_metadata(run).scene_sha256 == scene.sha256
    except CheckpointError:
        return False


def train(name: str, seed: int, plan: Plan, stopped: Path | None) -> None:
    """Train one seed to its end in a process of its own."""
    words = ["train.py", name, "--seed", seed, "--threads", plan.threads, "--name", name, "--version", f"seed_{seed}"]
    words += ["--runs", plan.runs.absolute(), *LONGER.get(name, ()), *plan.more]
    words += [] if stopped is None else ["--resume", stopped.absolute()]
    process = subprocess.Popen([sys.executable, *map(str, words)], cwd=ROOT)
    try:
        code = process.wait()
    except KeyboardInterrupt:
        process.wait()  # it saves
        raise
    if code:
        raise SystemExit(code)


# --- choosing and judging ---------------------------------------------------------------------------------------------


def middle(runs: list[tuple[Path, Metadata]], worths: list[float]) -> tuple[Path, Metadata]:
    """Return the run whose worth is the median, the worse one of two; of equals the sooner is better."""
    ranked = sorted(zip(worths, runs, strict=True), key=lambda each: (each[0], -(each[1][1].best_step or 0)))
    return ranked[(len(ranked) - 1) // 2][1]


def worth(scene: Scene, run: Path, known: Metadata) -> float:
    """Return what a run is ranked by: its best evaluation, or of self-play what its best policy scores.

    A rating is held against the run's own policies, and tells nothing of those of another run.
    """
    best = best_of(scene, run)
    return fmean(results(scene, best, SEED, EPISODES)) if learned_by_self_play(best) else known.best_eval or 0.0


def learned_by_self_play(checkpoint: Path) -> bool:
    """Return whether a policy was trained against its earlier selves."""
    return bool(read_manifest(checkpoint).config.get("self_play"))


def best_of(scene: Scene, run: Path) -> Path:
    """Return the best checkpoint of a run, or its last one where that does as well on ten times as many episodes.

    `best` is the first policy of several that are as good, or one that was lucky; the one that has trained longest is
    the calmest. The episodes begin with those of the evaluations, and are none of those that the pilot is judged by.
    Who learned by self-play is rated by games against its likes, and may forget what beats a simpler opponent: there
    the milestones are asked as well, and the one that does best against the scene's own opponent is taken.
    """
    best, latest = (run / CHECKPOINTS / f"{name}.safetensors" for name in ("best", "latest"))
    earlier = milestones(run) if learned_by_self_play(best) else {}
    from_the_latest = (latest, best, *(earlier[step] for step in sorted(earlier, reverse=True)))
    return max(from_the_latest, key=lambda path: fmean(results(scene, path, SEED, EPISODES)))


def results(scene: Scene, checkpoint: Path, first: int, episodes: int) -> list[float]:
    """Return the score, or else the return, of greedy episodes."""
    records = Player.load(checkpoint, scene=scene).play(episodes, first, ActMode.GREEDY, opponent_in(scene))
    return [record.result(scene.score) for record in records]


def opponent_in(scene: Scene) -> Opponent | None:
    """Return whom a pilot is judged against, that of the recipe or else random actions; None where there is nobody."""
    if len(scene.describe().agents) < 2:
        return None
    recipe = next(iter(recipes_of(scene.reference).values()))
    return opponent_of(scene, str(recipe.get("against", RANDOM)), Path)


def judged(scene: Scene, checkpoint: Path, known: Metadata, trained: dict[str, float]) -> PilotEntry:
    """Return how good a policy is on the seeds that nobody saw."""
    found = results(scene, checkpoint, FIRST, EPISODES)
    return PilotEntry(
        agent=known.agent,
        steps=read_manifest(checkpoint).step,
        seed=known.seed,
        trained=trained,
        score=fmean(found),
        std=pstdev(found),
        low=min(found),
        high=max(found),
        first=FIRST,
        episodes=EPISODES,
        beginning=fmean(found[:BEGINNING]),
        solved_at=scene.solved_at,
        counts=scene.score,
        against=Path(opponent.reference).name if (opponent := opponent_in(scene)) is not None else "",
        made_on=f"{datetime.now(UTC):%Y-%m-%d}",
    )


# --- writing ----------------------------------------------------------------------------------------------------------


def write_pilot(checkpoint: Path, path: Path, entry: PilotEntry) -> None:
    """Write the policy of a checkpoint alone, with its score and date, and nothing of the place where it was made."""
    manifest, tensors = read_checkpoint(checkpoint)
    told = msgspec.structs.replace(
        manifest,
        config={name: manifest.config[name] for name in ("agent", "arenas", manifest.agent)},
        best_eval=entry.score,
        best_step=manifest.step,
        evaluation=EvalSettings(seed=entry.first, episodes=entry.episodes),
        made_on=entry.made_on,
        full=False,
        resume={},
    )
    data = b"".join(sealed_pieces(join_sections({"policy": section(tensors, "policy")}), told))
    if len(data) > MOST_BYTES:
        raise SystemExit(f"make_pilots.py: {path} would have {len(data):,} bytes: the most is {MOST_BYTES:,}")
    replace_file(path, data)


def write_row(table: Path, name: str, entry: PilotEntry) -> None:
    """Write or replace one row of the table."""
    rows = msgspec.json.decode(table.read_bytes(), type=dict[str, PilotEntry]) if table.is_file() else {}
    rows = dict(sorted((rows | {name: entry}).items()))
    replace_file(table, msgspec.json.format(msgspec.json.encode(rows), indent=2) + b"\n")


def replace_file(path: Path, data: bytes) -> None:
    """Write a file whole or not at all."""
    new = path.with_name(f"{path.name}.new")
    new.write_bytes(data)
    new.replace(path)


def main() -> None:
    """Make the pilots of the scenes that are named, of all without a name."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0] if __doc__ else "")
    parser.add_argument("scenes", nargs="*", default=sorted(path.stem for path in SCENES.glob("[!_]*.py")))
    parser.add_argument("--runs", type=Path, default=Plan.runs, help="the folder of the trainings")
    parser.add_argument("--to", type=Path, default=Plan.to, help="the folder the pilots are written to")
    parser.add_argument("--seeds", type=int, default=SEEDS, help="how many seeds are trained")
    parser.add_argument("--threads", type=int, default=1, help="of each training")
    parser.add_argument("--again", action="store_true", help="train anew what is finished")
    parser.add_argument("--as-it-is", action="store_true", help="train nothing: take the runs that are finished")
    asked = vars(parser.parse_args())
    for name in asked.pop("scenes"):
        entry = make(name, Plan(**asked))
        print(f"{name}: {entry.score:,.1f} ± {entry.std:,.1f}, seed {entry.seed} of {len(entry.trained)}", flush=True)


if __name__ == "__main__":
    main()
