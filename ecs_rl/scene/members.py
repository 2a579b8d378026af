"""What scenes use of the classes of which the engine uses more: the reference lists it, and messages offer it."""

from __future__ import annotations

MEMBERS: dict[str, tuple[str, ...]] = {
    "Arena": (
        *("spawn", "join", "agent", "ground", "number", "random", "dice", "draws", "add", "system", "shared", "use"),
        *("lesson", "always", "wall", "terrain", "path", "through", "restart", "score", "mark"),
    ),
    "Role": (
        *("x", "y", "position", "angle", "heading", "vx", "vy", "velocity", "spin", "here", "__getitem__", "point"),
        *("velocity_at", "place", "leave", "force", "name", "count"),
    ),
    "Touching": ("began", "ended", "impulse"),
    "Sensor": ("write",),
    "Choice": ("picked", "keys"),
    "Levers": ("keys",),
    "Controls": ("keys",),
    "Trigger": ("on",),
    "Lever": ("amount",),
    "Effect": ("amount", "apply"),
    "Number": ("value",),
    "Taught": ("value",),
    "Draws": ("value",),
    "Earth": ("points", "height", "slope"),
    "Line": ("points", "length", "at", "along", "off", "heading", "laps"),
}


def offered_by(value: object) -> list[str]:
    """Return the names that a scene may use of an object; all that are public where its class is not listed."""
    kind = type(value)
    listed = [name for each in kind.__mro__ for name in MEMBERS.get(each.__name__, ())]
    names = listed if listed and kind.__module__.startswith("ecs_rl.") else dir(value)
    return sorted({name for name in names if not name.startswith("_")})
