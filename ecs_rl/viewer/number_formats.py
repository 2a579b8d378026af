"""Numbers as a HUD shows them: short, of steady width, and never an exception."""

from __future__ import annotations

import math

NOTHING = "-"
"""What stands where there is no number."""
SIZES = {1e9: "G", 1e6: "M", 1e3: "k"}


def count(value: float | None) -> str:
    """Return a count such as `950`, `204.8k` or `1.5M`."""
    if value is None or not math.isfinite(value):
        return NOTHING
    for size, letter in SIZES.items():
        if abs(value) >= size * 0.99995:
            digits = 3 if abs(value) < size * 99.95 else 4
            return f"{value / size:.{digits}g}{letter}"
    return f"{value:.0f}"


def result(value: float) -> str:
    """Return a number of a curve: `218`, `0.012`, `1.5k`."""
    if 1e-4 < abs(value) < 0.1:
        return f"{value:.2g}"
    return count(value) if abs(value) >= 1000 else short(value)


def steady(value: float | None) -> str:
    """Return a count that is as long a moment later, so that a line of them does not dance: `41.0k`, `1.50M`."""
    if value is None or not math.isfinite(value):
        return NOTHING
    size = next((size for size in SIZES if abs(value) >= size), 0.0)
    return f"{value / size:.{1 if size == 1e3 else 2}f}{SIZES[size]}" if size else f"{value:.0f}"


def short(value: float | None, digits: int = 3) -> str:
    """Return a number with about so many digits: `0.012`, `-3.40`, `218`, `1.2e-05`."""
    if value is None or not math.isfinite(value):
        return NOTHING
    size = abs(value)
    if size >= 10_000:
        return count(value)
    if 0 < size < 10 ** -(digits + 1):
        return f"{value:.1e}"
    before = len(str(int(size)))
    return f"{value:.{max(0, digits - before)}f}"


def fixed(value: float | None, places: int = 2) -> str:
    """Return a number with a sign's place before it, so that columns do not dance: ` 0.12`, `-0.12`."""
    if value is None or not math.isfinite(value):
        return NOTHING
    if abs(value) >= 10_000:
        return count(value)
    return f"{value: z.{places if abs(value) < 100 else max(0, places - 1)}f}"  # z: never a minus before nothing


def signed(value: float) -> str:
    """Return a score with its sign: `+205.2`, `-38.1`."""
    return f"{value:+z.1f}" if math.isfinite(value) else NOTHING


def duration(seconds: float | None) -> str:
    """Return a time such as `0:40` or `1:02:09`."""
    if seconds is None or not math.isfinite(seconds) or seconds < 0:
        return NOTHING
    minutes, rest = divmod(round(seconds), 60)
    hours, minutes = divmod(minutes, 60)
    return f"{hours}:{minutes:02}:{rest:02}" if hours else f"{minutes}:{rest:02}"


def speed(times: float | None) -> str:
    """Return a speed such as `1/16x`, `1x`, `12.3x` or `max`."""
    if times is None or math.isnan(times):
        return NOTHING
    if math.isinf(times):
        return "max"
    if 0 < times < 1 and math.isclose(1 / times, round(1 / times)):
        return f"1/{round(1 / times)}x"
    return f"{times:.3g}x"
