"""Text is kept, cut with an ellipsis where it is too long, and numbers are always something to show."""

from __future__ import annotations

import gc
import math
import weakref

import pygame
import pytest
import viewer_views  # noqa: F401  starts the fonts

from ecs_rl.viewer import number_formats as numbers
from ecs_rl.viewer.canvas import WIDEST, Canvas
from ecs_rl.viewer.fonts import FILES, FONTS, KEPT


def test_the_fonts_lie_in_assets_with_their_licence() -> None:
    for name in FILES.values():
        assert (FONTS / name).stat().st_size < 400_000
        assert name in (FONTS / "LICENSE").read_text()


def test_a_string_is_rendered_once_and_anew_in_another_size_or_colour() -> None:
    text = Canvas()
    first = text.picture("hull angle", 12, (255, 255, 255), "words")
    assert text.picture("hull angle", 12, (255, 255, 255), "words") is first
    assert text.picture("hull angle", 14, (255, 255, 255), "words") is not first
    assert text.picture("hull angle", 12, (255, 0, 255), "words") is not first


def test_old_strings_are_forgotten() -> None:
    text = Canvas()
    gone = weakref.ref(text.picture("soon gone", 12, (255, 255, 255), "numbers"))
    for i in range(KEPT + 100):
        text.picture(str(i), 12, (255, 255, 255), "numbers")
    gc.collect()
    assert gone() is None


@pytest.mark.parametrize("width", [0, 5, 20, 60, 100])
def test_a_long_name_is_cut_with_an_ellipsis(width: int) -> None:
    text = Canvas()
    cut = text.cut("left leg touches the ground", width)
    assert text.width(cut) <= width
    assert cut == "" or (cut.endswith("…") and "left leg touches the ground".startswith(cut[:-1]))


@pytest.mark.parametrize("width", [0, 20, 60, 100])
def test_names_that_differ_at_their_ends_are_told_apart_when_they_are_squeezed(width: int) -> None:
    text = Canvas()
    told = [text.squeeze(f"raider to gem {i} moves {axis}", width) for i in (0, 1) for axis in ("x", "y")]
    assert all(text.width(each) <= width for each in told)
    assert width < 100 or len(set(told)) == 4
    assert all(each == "" or (each[0] in "r…" and each[-1] in "xy") for each in told)


def test_a_short_name_is_not_squeezed() -> None:
    assert Canvas().squeeze("cart x", 200) == "cart x"


def test_a_short_name_is_not_cut() -> None:
    assert Canvas().cut("cart x", 200) == "cart x"


@pytest.mark.parametrize("anchor", ["left", "middle", "right"])
def test_an_anchor_says_where_the_point_is(anchor: str) -> None:
    rect = Canvas().write(pygame.Surface((300, 40)), "speed", (150, 20), anchor=anchor)  # type: ignore[arg-type]
    assert {"left": rect.left, "middle": rect.centerx, "right": rect.right}[anchor] == pytest.approx(150, abs=1)


def test_names_with_odd_characters_are_drawn() -> None:
    surface = pygame.Surface((200, 40))
    for name in ("a\0b", "tab\there", "line\nbreak", "日本", "\ud800", ""):
        Canvas().write(surface, name, (0, 20), width=150)


@pytest.mark.parametrize("tell", [numbers.count, numbers.short, numbers.fixed, numbers.duration, numbers.speed])
@pytest.mark.parametrize("value", [None, math.nan, math.inf, -math.inf, 0.0, -0.0, 1e-300, 1e300, -3.0, 12345.6])
def test_every_number_has_a_text(tell: object, value: float | None) -> None:
    assert callable(tell)
    assert 1 <= len(tell(value)) < 310


@pytest.mark.parametrize(
    ("value", "shown"),
    [(0, "0"), (950, "950"), (204_800, "204.8k"), (1_500_000, "1.5M"), (999_999, "1M"), (10_000, "10k")],
)
def test_counts_are_short(value: float, shown: str) -> None:
    assert numbers.count(value) == shown


def test_speeds_and_times_read_like_speeds_and_times() -> None:
    assert [numbers.speed(s) for s in (1 / 16, 1, 12.34, math.inf)] == ["1/16x", "1x", "12.3x", "max"]
    assert [numbers.duration(s) for s in (40, 3729)] == ["0:40", "1:02:09"]


@pytest.mark.parametrize("value", [0.0, -0.0, -1e-300, -0.0049, 0.0049])
def test_what_rounds_to_nothing_has_no_minus(value: float) -> None:
    assert (numbers.fixed(value), numbers.signed(value)) == (" 0.00", "+0.0")
    assert (numbers.fixed(-0.006), numbers.signed(-0.06)) == ("-0.01", "-0.1")


def test_steps_keep_their_length_while_they_are_counted() -> None:
    assert [numbers.steady(value) for value in (950.0, 41_000.0, 41_049.0, 204_800.0, 1_500_000.0)] == [
        "950", "41.0k", "41.0k", "204.8k", "1.50M"
    ]  # fmt: skip
    assert numbers.steady(math.nan) == numbers.steady(None) == "-"


def test_no_digit_is_wider_than_the_one_that_room_is_kept_for() -> None:
    text = Canvas()
    widest = max(text.width(f"{digit}.{digit} s") for digit in range(10))
    assert text.width("1.1 s".translate(WIDEST)) == text.width("7.3 s".translate(WIDEST)) >= widest
