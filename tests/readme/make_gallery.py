"""Makes the gallery anew: `python tests/readme/make_gallery.py [SCENE ...]` (about a minute; needs no display).

Of each scene that has a pilot a short gif of that pilot at play, `assets/pictures/gallery/SCENE.gif`; of the tutorial's
game, `bee`, one of the best policy of a training. And the gallery's table in `scenes/README.md`, from the pilots'
scores, the README's table of scenes and the scenes' files. Nothing in the pictures is staged; only the episode and the
moment are chosen.
"""

from __future__ import annotations

import argparse
import json
import os
import re
import sys
import tempfile
from collections.abc import Sequence
from dataclasses import dataclass, replace
from pathlib import Path

os.environ["SDL_VIDEODRIVER"] = "dummy"

sys.path.insert(0, str(Path(__file__).resolve().parents[1]))  # what tests share

import pygame
from pages import tutorial

from ecs_rl.commands.train import main as train
from ecs_rl.loading import load_scene
from ecs_rl.training.playback import Player
from ecs_rl.viewer.canvas import Canvas
from ecs_rl.viewer.films.encoder import Film
from ecs_rl.viewer.films.studio import film_episode, film_still
from ecs_rl.viewer.live_episode import LiveEpisode
from ecs_rl.viewer.stage import draw_stage, fitting
from ecs_rl.viewer.view import StageView

ROOT = Path(__file__).resolve().parents[2]
PILOTS, PICTURES = ROOT / "assets" / "pilots", ROOT / "assets" / "pictures" / "gallery"
PAGE, README = ROOT / "scenes" / "README.md", ROOT / "README.md"
SIZE, FPS, COLOURS = (480, 270), 20.0, 64
MOST_BYTES = 6_000_000
"""Of all pictures together."""


@dataclass(frozen=True)
class Exhibit:
    """What the gallery says about a scene, and which moment of its pilot it shows."""

    teaches: str
    seed: int = 10_000
    skip: float = 0.0
    """Seconds of the episode before the picture begins."""
    seconds: float = 5.0
    speed: float = 1.0
    """How much faster than real time it plays."""


EXHIBITS: dict[str, Exhibit] = {
    "balance": Exhibit("the smallest scene: one choice, one pivot, two ends"),
    "swingup": Exhibit("a lever instead of a choice; what must get worse before it gets better"),
    "lander": Exhibit("contacts, joints and springs; ground that is new each time; shaped rewards"),
    "reacher": Exhibit("motors in joints; a score that is not the reward; a target that moves on"),
    "flappy": Exhibit("a trigger; systems that move scripted things; sprites"),
    "forager": Exhibit("many of a kind; seeing the nearest; walls"),
    "asteroids": Exhibit("things that come and go; components of its own; several controls at once"),
    "racer": Exhibit("random levels; tyres that slide; laps along a path; rays"),
    "walker": Exhibit("a body of many joints; rough ground; rays; four levers"),
    "sheepdog": Exhibit("a flock that follows rules of its own; steering what cannot be steered", seconds=8.0),
    "sumo": Exhibit("one against one by self-play; an opponent of one's own"),
    "soccer": Exhibit("two against two by self-play; agents of a kind; kick-offs"),
}


def make(folder: Path, names: Sequence[str], size: tuple[int, int] = SIZE) -> None:
    """Write the gif of each of these scenes."""
    folder.mkdir(parents=True, exist_ok=True)
    for name in (name for name in names if name != "bee"):
        film_pilot(folder / f"{name}.gif", Player.load(PILOTS / f"{name}.safetensors"), EXHIBITS[name], size)
    if "bee" in names:
        with tempfile.TemporaryDirectory() as place:
            film_pilot(folder / "bee.gif", bee(Path(place)), Exhibit("", seconds=6.0), size)
    whole = sum(path.stat().st_size for path in folder.glob("*.gif"))
    print(f"{folder}: {whole:,} bytes")
    if whole > MOST_BYTES:
        raise SystemExit(f"the gallery must not have more than {MOST_BYTES:,} bytes: take fewer seconds or COLOURS")


def bee(place: Path) -> Player:
    """Return the tutorial's game with the best policy of a training that solved it."""
    file = place / "bee.py"
    file.write_text(tutorial(4), encoding="utf-8")
    if train([str(file), "--until-solved", "--runs", str(place / "runs")]):
        raise SystemExit("the tutorial's game could not be trained")
    (best,) = place.glob("runs/bee/v1/*/checkpoints/best.safetensors")
    return Player.load(best, scene=load_scene(str(file)))


def film_pilot(path: Path, player: Player, shown: Exhibit, size: tuple[int, int]) -> None:
    """Write the gif of a pilot at play."""
    show = LiveEpisode(player.scene, player.agents, seeds=(shown.seed,))
    show.stays, show.speed = True, shown.speed
    canvas = Canvas(1.0)

    def draw(picture: pygame.Surface) -> None:
        stage, area = bare(show.stage()), picture.get_rect()
        draw_stage(picture, area, stage, fitting(stage, area, canvas), canvas)

    try:
        for _ in range(round(shown.skip / player.scene.dt)):
            show.advance(player.scene.dt / shown.speed)
        with Film(path, size, FPS, colours=COLOURS) as film:
            for part in (film_episode([show], film, draw, lambda: shown.seconds), film_still(film, draw, 0.5)):
                for _ in part:
                    pass
    finally:
        show.close()
    print(f"{path.name}: {film.seconds:.1f} s, {path.stat().st_size:,} bytes")


def bare(stage: StageView) -> StageView:
    """Return the stage without words, for which a small picture has no room."""
    objects = tuple(replace(each, look=replace(each.look, leads=False)) for each in stage.objects)
    return replace(stage, objects=objects, caption="")


def table() -> str:
    """Return the gallery's table: what is known of each scene that has a pilot."""
    scores = json.loads((PILOTS / "pilots.json").read_text(encoding="utf-8"))
    times = dict(re.findall(r"^\| `(\w+)` \|.*\| ([^|]+) \|$", README.read_text(encoding="utf-8"), re.MULTILINE))
    rows = [
        "| | scene | teaches | its pilot's score, of 200 episodes | solved at | time to solve | lines, about |",
        "|---|---|---|---|---|---|---|",
    ]
    for name in (name for name in EXHIBITS if name in scores and (PICTURES / f"{name}.gif").exists()):
        score = scores[name]
        code = (ROOT / "scenes" / f"{name}.py").read_text(encoding="utf-8")
        lines = sum(bool(line.strip()) for line in code.splitlines())
        picture = f"![{name}](../assets/pictures/gallery/{name}.gif)"
        counts = f" {score['counts']}" if "counts" in score else ""
        told = f"{score['score']:.1f} ± {score['std']:.1f}{counts}"
        told += f", against `{score['against']}`" if "against" in score else ""
        parts = (
            picture,
            f"[`{name}`]({name}.py)",
            EXHIBITS[name].teaches,
            told,
            f"{load_scene(name).solved_at:g}",
            times[name],
            str(round(lines, -1)),
        )
        rows.append(f"| {' | '.join(parts)} |")
    return "\n".join(rows)


def write_table() -> None:
    """Put the table into the page."""
    text = PAGE.read_text(encoding="utf-8")
    begins, ends = (text.index(mark) for mark in ("<!-- gallery: ", "\n<!-- end of gallery -->"))
    begins = text.index("-->\n", begins) + len("-->\n")
    PAGE.write_text(text[:begins] + table() + text[ends:], encoding="utf-8")


if __name__ == "__main__":
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0] if __doc__ else "")
    parser.add_argument("scenes", nargs="*", help="those whose pictures are made; all that have a pilot without any")
    given = parser.parse_args().scenes or [
        *(name for name in EXHIBITS if (PILOTS / f"{name}.safetensors").exists()),
        "bee",
    ]
    make(PICTURES, given)
    write_table()
