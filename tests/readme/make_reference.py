"""Makes `scenes/REFERENCE.md` from the docstrings anew: `python tests/readme/make_reference.py`.

What a scene may use is what `ecs_rl.scene` exports; `ecs_rl.scene.members` lists what of it is for scenes and not for
the engine.
"""

from __future__ import annotations

import ast
import inspect
import re
import textwrap
from dataclasses import fields, is_dataclass
from pathlib import Path
from typing import Any

import ecs_rl.scene
from ecs_rl.ecs.component import is_component
from ecs_rl.scene.members import MEMBERS

PAGE = Path(__file__).resolve().parents[2] / "scenes" / "REFERENCE.md"
HEAD = """# Reference: everything that a scene may use

All of it comes with `from ecs_rl.scene import *`. How the pieces work together is told in [README.md](README.md).
Made from the docstrings by `python tests/readme/make_reference.py`.

Lengths are metres, times seconds, masses kilograms, angles radians (counter-clockwise); x goes to the right and y up.

| in signatures | |
|---|---|
| `(arenas,)` | the shape of a column: a number for each arena; of a kind, `spawn(..., count=8)`, `(arenas, count)` |
| `Rule` | a function without arguments that gives a column, or a sensor; it reads and changes nothing |
| `Chosen` | a number, a tuple with one for each member of a kind, a `Spread` that each draws from, or a rule |
| `Point` | two numbers, `(x, y)` |
| `Roles` | a role, a kind, `arena.ground`, or a list of them |
| `Effects` | an effect, several in a tuple, or None |
| `Goal` | a number, or a `Spread` that each episode draws from |
| `Above` | what `score_above`, `return_above` and `elo_above` return |
| `Shaping` | a function from `(arenas, draws)` numbers in [0, 1) to `(arenas, points, 2)` metres |
"""
GROUPS: dict[str, tuple[str, ...]] = {
    "The scene and its arena": ("Scene", "Arena"),
    "What a role is made of": ("Body", "Box", "Rod", "Disc", "Polygon", "Start", "Look"),
    "Joints": ("Pivot", "Groove", "TurnLimit", "TurnSpring", "Spring"),
    "What an agent sees": (
        *("X", "Y", "Vx", "Vy", "Angle", "Spin", "Heading", "Toward", "Closing"),
        *("Touching", "Rays", "Nearest", "Grid", "Feel", "Feels", "Sensor"),
    ),
    "What an agent does": ("Choice", "Levers", "Controls", "Trigger", "Lever"),
    "Effects, which it does it by": ("Push", "Thrust", "Twist", "Motor", "Pull", "Jump", "Effect"),
    "Rules, for what it earns and how episodes end": ("beyond", "above", "below", "Progress", "Lasting"),
    "Chance": ("jitter", "between", "Spread"),
    "Lessons": ("Lesson", "score_above", "return_above", "elo_above"),
    "What the arena hands out": ("Role", "Number", "Draw", "Dice", "Taught", "Draws", "Earth", "Line", "Mark"),
    "Components and systems of your own": ("component", "column"),
    "Components that systems read and write": (
        *("Pose", "Motion", "Here", "Force", "Touch", "Ground", "Action", "Amount"),
    ),
    "The camera": ("Follow", "View"),
}
HANDED_OUT = {"Arena", *GROUPS["What the arena hands out"]}
"""What a scene is given, and never makes itself."""
LOADED = "Set by "
"""What the docstrings of that which the engine fills in say."""
WIDE = 110
"""Letters of the longest line of code."""
PROSE = 120
"""Letters of the longest line of prose."""


def page() -> str:
    """Return the whole page."""
    listed = "\n".join(wrapped(f"- {title}: {', '.join(map(_linked, names))}") for title, names in GROUPS.items())
    parts = [f"## {title}\n\n" + "\n".join(map(entry, names)) for title, names in GROUPS.items()]
    return "\n".join((HEAD, listed, "", *parts)).rstrip() + "\n"


def wrapped(line: str) -> str:
    """Return a paragraph or an entry of a list in lines short enough to compare; short code stays in one line."""
    line = re.sub(r"`[^`]+`", lambda code: code[0].replace(" ", "\0") if len(code[0]) < WIDE else code[0], line)
    after = "  " if line.startswith("- ") else ""
    lines = textwrap.wrap(line, PROSE, subsequent_indent=after, break_long_words=False, break_on_hyphens=False)
    return "\n".join(lines).replace("\0", " ")


def _linked(name: str) -> str:
    return f"[{name}](#{name.lower()})"


def entry(name: str) -> str:
    """Return what the page says about a public name."""
    thing = getattr(ecs_rl.scene, name)
    told = [f"### {name}", ""]
    if name not in HANDED_OUT and not is_component(thing):
        told += ["```python", signature(name, thing), "```", ""]
    told += ["\n\n".join(map(wrapped, text_of(thing).split("\n\n"))), ""]
    if is_dataclass(thing) and name not in HANDED_OUT:
        told += [wrapped(f"- `{each}`: {text}") for each, text in settings(thing).items()]
    told += [wrapped(member(thing, each)) for each in MEMBERS.get(name, ())]
    return "\n".join(told).rstrip() + "\n"


def text_of(thing: Any) -> str:
    """Return a docstring with each of its paragraphs in one line."""
    return "\n\n".join(" ".join(part.split()) for part in (inspect.getdoc(thing) or "").split("\n\n"))


class Written(str):
    """An annotation as it is written in the source, which `inspect` would put into quotes."""

    __slots__ = ()
    __repr__ = str.__str__


def signature(name: str, thing: Any) -> str:
    """Return how it is called, in one line if that is not too long."""
    unsaid = {"self", "unnamed"}
    if is_dataclass(thing):
        unsaid |= {each.name for each in fields(thing)} - set(settings(thing))
    asked = [each for each in inspect.signature(thing).parameters.values() if each.name not in unsaid]
    shown = [str(each.replace(annotation=Written(each.annotation))) for each in asked]
    shown = [re.sub(r"<(\w+\.\w+): .*>", r"\1", each) for each in shown]  # a member of an Enum
    shown = [each.replace(": Any", "").replace("<factory>", "{}") for each in shown]
    alone = next((i for i, each in enumerate(asked) if each.kind is each.KEYWORD_ONLY), None)
    if alone is not None and not any(each.kind is each.VAR_POSITIONAL for each in asked):
        shown.insert(alone, "*")
    line = f"{name}({', '.join(shown)})"
    return line if len(line) <= WIDE else f"{name}(\n" + textwrap.indent(",\n".join(shown), "    ") + ",\n)"


def attributes(kind: type) -> dict[str, str]:
    """Return what a class and those that it is made from declare, with the text below each, '' where none is."""
    found = dict[str, str]()
    for each in reversed(kind.__mro__[:-1]):
        (made,) = ast.parse(textwrap.dedent(inspect.getsource(each))).body
        assert isinstance(made, ast.ClassDef)
        for said, below in zip(made.body, [*made.body[1:], None], strict=True):
            targets = [said.target] if isinstance(said, ast.AnnAssign) else getattr(said, "targets", [])
            text = below.value.value if isinstance(below, ast.Expr) and isinstance(below.value, ast.Constant) else ""
            found |= {target.id: " ".join(str(text).split()) for target in targets if isinstance(target, ast.Name)}
    return found


def settings(kind: Any) -> dict[str, str]:
    """Return what is given to a dataclass when it is made, but for what the engine fills in."""
    texts = attributes(kind)
    return {each.name: texts[each.name] for each in fields(kind) if each.init and LOADED not in texts[each.name]}


def member(kind: type, name: str) -> str:
    """Return what the page says about a method, a property or an attribute."""
    said = inspect.getattr_static(kind, name, None)
    if inspect.isfunction(said):
        called = (
            "[Component]"
            if name == "__getitem__"
            else " ".join(signature(f".{name}", said).split()).replace("( ", "(").replace(", )", ")")
        )
        return f"- `{called}`: {text_of(said)}".replace("\n\n", " ")
    text = text_of(said) if isinstance(said, property) else attributes(kind)[name]
    return f"- `.{name}`: {text}".replace("\n\n", " ")


if __name__ == "__main__":
    PAGE.write_text(page(), encoding="utf-8")
    print(f"{PAGE} has {page().count(chr(10))} lines")
