from __future__ import annotations

import pytest

from ecs_rl.errors import CommandError
from ecs_rl.values import LARGEST, parse_count


@pytest.mark.parametrize(
    ("text", "number"),
    [
        ("0", 0),
        ("007", 7),
        ("5000", 5_000),
        ("500k", 500_000),
        ("500K", 500_000),
        ("2M", 2_000_000),
        ("2m", 2_000_000),
        ("1.5M", 1_500_000),
        ("0.7M", 700_000),
        ("1.0", 1),
        ("5e5", 500_000),
        ("5E+5", 500_000),
        ("1.25e3", 1_250),
        ("1_000_000", 1_000_000),
        ("1_000k", 1_000_000),
        (" 12 ", 12),
        (str(LARGEST), LARGEST),
        ("-5", -5),
        ("-1k", -1_000),
    ],
)
def test_every_form_people_write_is_read_exactly(text: str, number: int) -> None:
    assert parse_count(text) == number


@pytest.mark.parametrize(
    "text",
    [
        *("", " ", "--1", "- 1", "+1", "1.5", "0.0001k", "nan", "inf", "-inf", "Infinity", "1e-3", "k", "M", "1kk"),
        *("1 k", "1__0", "_1", "1_", "0x10", "1,000", "five", "1e", "1.", ".5M", "1G", "²", "٣"),
    ],
)
def test_anything_else_is_refused_with_the_text_in_the_message(text: str) -> None:
    with pytest.raises(CommandError) as refusal:
        parse_count(text)
    assert f"'{text}' is not a whole number" in str(refusal.value)


@pytest.mark.parametrize("text", [str(LARGEST + 1), "1e19", "1e999", "9e18M", "-1e999"])
def test_a_number_beyond_64_bits_is_refused_at_once(text: str) -> None:
    with pytest.raises(CommandError, match="too large"):
        parse_count(text)


def test_an_exponent_that_would_fill_the_memory_is_refused() -> None:
    with pytest.raises(CommandError, match="not a whole number"):
        parse_count("1e999999999")
