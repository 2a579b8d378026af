"""The help can be read in every window."""

from __future__ import annotations

import pytest
import viewer_views  # noqa: F401  chooses the dummy display

from ecs_rl.viewer.fonts import font
from ecs_rl.viewer.frame import scale_for
from ecs_rl.viewer.live.commands import COMMANDS
from ecs_rl.viewer.panels.help import help_groups, sheet_for

UNTRAINED = [row for row in COMMANDS if not row.trains]

SIZES = [(640, 400), (922, 518), (1280, 720), (1920, 1080), (2560, 1440)]


@pytest.mark.parametrize("size", SIZES)
@pytest.mark.parametrize("trains", [True, False])
def test_all_of_the_help_fits_in_the_window(size: tuple[int, int], trains: bool) -> None:
    groups = help_groups(COMMANDS if trains else UNTRAINED)
    sheet = sheet_for(groups, size, scale_for(size))
    assert sheet.size[0] <= size[0]
    assert sheet.size[1] <= size[1]
    assert [group for column in sheet.columns for group in column] == list(groups)


@pytest.mark.parametrize("size", SIZES[1:])
def test_from_a_usual_window_on_letters_keep_their_size(size: tuple[int, int]) -> None:
    assert sheet_for(help_groups(COMMANDS), size, scale_for(size)).canvas.scale == scale_for(size)


def test_in_the_smallest_window_letters_are_still_large_enough_to_read() -> None:
    sheet = sheet_for(help_groups(COMMANDS), (640, 400), scale_for((640, 400)))
    assert font("words", sheet.canvas._pixels(12.0)).get_height() >= 9
