"""What `--help` of the two commands begins with: the scenes there are, and the commands that most people want."""

from __future__ import annotations

import textwrap

from ecs_rl.cli.called import program, typed
from ecs_rl.shipped import scene_abouts, scene_names

WIDTH = 79
"""Characters in a line of text; the frames below it are as wide."""


def about_training() -> str:
    """Return the text above the flags of `train.py`."""
    return f"""\
Train an agent in a scene; with nothing but SCENE, its own defaults solve it.

Scenes:
{_table({**scene_abouts(), "FILE.py": "A scene of your own, by the path of its file."})}

`{typed("train")} lander --watch` shows the lander learning in a window.
`{program("train")} SCENE --help` shows that scene's own defaults.
`{program("train")} --version`, with nothing else, tells the version.

Numbers may be written 5e5, 500k, 2M or 1_000_000. A flag comes before the
--config file, the file before the scene's defaults."""


def about_playing() -> str:
    """Return the text above the flags of `play.py`."""
    play, scenes = typed("play"), scene_names()
    examples = {f"{play} --list": "The runs there are, and the pilots that come with the project."}
    examples |= {f"{play} {name}": f"The newest run of {name}, or else its pilot." for name in scenes}
    return f"""\
Play back what a run has learnt; without a target, the best checkpoint of the
newest run, and where there is no run yet, a pilot of your choice.

{_table(examples)}"""


def _table(rows: dict[str, str]) -> str:
    """Return one line for each row, or several where its text is long."""
    column = max(map(len, rows)) + 4
    filled = (
        textwrap.fill(text, WIDTH, initial_indent=f"  {name}".ljust(column), subsequent_indent=" " * column)
        for name, text in rows.items()
    )
    return "\n".join(filled)
