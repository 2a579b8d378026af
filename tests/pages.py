"""The pages of documentation: what several tests take from them, found by its mark wherever it stands."""

from __future__ import annotations

import re
from pathlib import Path

ROOT = Path(__file__).parents[1]
PAGES = {
    name: (ROOT / name).read_text(encoding="utf-8")
    for name in (
        "README.md",
        "ecs_rl/README.md",
        "ecs_rl/agents/README.md",
        "ecs_rl/agents/PPO_DETAILS.md",
        "scenes/README.md",
        "scenes/REFERENCE.md",
        "tests/bench/README.md",
    )
}
"""Text by path, in the order in which they are read."""
README = PAGES["README.md"]
TEXT = "\n".join(PAGES.values())


def example(mark: str) -> str:
    """Return the code that stands under `<!-- example MARK: ... -->` in one of the pages."""
    found = re.findall(rf"<!-- example {mark}: [^>]*-->\n```python\n(.*?)```", TEXT, re.DOTALL)
    assert len(found) == 1, f"the pages have {len(found)} examples {mark}"
    return str(found[0])


def between(mark: str) -> str:
    """Return what stands between `<!-- MARK: made from ... -->` and `<!-- end of MARK -->`."""
    found = re.findall(rf"<!-- {mark}: [^>]*-->\n(.*?)\n<!-- end of {mark} -->", TEXT, re.DOTALL)
    assert len(found) == 1, f"the pages have {len(found)} parts {mark}"
    return str(found[0])


GRAVITY = "    gravity=(0.0, -4.0),\n"
LOOK = re.compile(r"below `gravity`, goes `(.+?)` and as the last line of `build` comes `(.+?)`\.")


def tutorial(number: int) -> str:
    """Return the reader's file after a step: whole ones are copied, the last one adds to the one before."""
    if number < 4:
        return example(f"bee {number}")
    ((shown, decorated),) = LOOK.findall(" ".join(PAGES["scenes/README.md"].split()))
    text = example("bee 3")
    assert text.count(GRAVITY) == 1
    text = text.replace(GRAVITY, f"{GRAVITY}    {shown}\n")
    return f"{text}    {decorated}\n\n\n{example('bee 4')}"
