"""Whole numbers as people write them: `500k`, `2M`, `5e5`, `1_000_000`."""

from __future__ import annotations

import re
from decimal import Decimal

from ecs_rl.errors import CommandError, visible

LARGEST = 2**63 - 1
"""Counts are stored in 64 signed bits everywhere: numpy, torch, safetensors."""

_FORM = re.compile(r"(-?[0-9]+(?:_[0-9]+)*(?:\.[0-9]+)?(?:[eE]\+?[0-9]{1,3})?)([kKmM]?)")
_UNIT = {"": 1, "k": 1_000, "m": 1_000_000}


def parse_count(text: str) -> int:
    """Return the whole number that a person wrote, whatever its sign; anything else is a `CommandError`."""
    form, shown = _FORM.fullmatch(text.strip()), visible(text, 60)
    if form is None:
        raise CommandError(f"'{shown}' is not a whole number: write it like 5000, 500k, 2M, 5e5 or 1_000_000")
    # Decimal and not float: 0.7M is exactly 700000, and 2**53 + 1 keeps its last digit.
    number = Decimal(form[1]) * _UNIT[form[2].lower()]
    if abs(number) > LARGEST:
        raise CommandError(f"'{shown}' is too large: the largest number is {LARGEST}")
    if number != int(number):
        raise CommandError(f"'{shown}' is not a whole number: it has a fraction")
    return int(number)
