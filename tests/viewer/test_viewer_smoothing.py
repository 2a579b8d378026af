"""Pictures one pixel wide or high: pygame's own smooth scaling reads past their end, of which a program may die."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

import numpy as np
import pygame
import pytest

import ecs_rl
from ecs_rl.viewer.draw import smoothed

AT_THE_END = """
import ctypes, mmap, sys
import pygame
from ecs_rl.viewer.draw import smoothed

w, h = int(sys.argv[1]), int(sys.argv[2])
libc = ctypes.CDLL(None, use_errno=True)
room = mmap.mmap(-1, 2 * mmap.PAGESIZE)
start = ctypes.addressof(ctypes.c_char.from_buffer(room))
if libc.mprotect(ctypes.c_void_p(start + mmap.PAGESIZE), mmap.PAGESIZE, 0):
    sys.exit("mprotect failed")
pixels = (ctypes.c_char * (w * h * 4)).from_address(start + mmap.PAGESIZE - w * h * 4)
smoothed(pygame.image.frombuffer(pixels, (w, h), "RGBA"), (5 * w, 5 * h))
print("read nothing else", flush=True)
"""
"""A picture whose last pixel is the last byte that may be read."""


@pytest.mark.skipif(sys.platform == "win32", reason="protects memory by mprotect")
@pytest.mark.parametrize("size", [(1, 1), (1, 24), (2, 2)])
def test_nothing_behind_a_picture_is_read(size: tuple[int, int]) -> None:
    command = [sys.executable, "-c", AT_THE_END, *map(str, size)]
    done = subprocess.run(command, check=False, capture_output=True, text=True, timeout=60)
    assert done.returncode == 0, done.stderr
    assert "read nothing else" in done.stdout


@pytest.mark.parametrize("size", [(1, 1), (1, 24), (24, 1)])
def test_pygame_is_never_asked_for_a_single_row_or_column(
    size: tuple[int, int], monkeypatch: pytest.MonkeyPatch
) -> None:
    asked: list[tuple[int, int]] = []
    smoothscale = pygame.transform.smoothscale

    def noted(picture: pygame.Surface, size: tuple[int, int]) -> pygame.Surface:
        asked.append(picture.get_size())
        return smoothscale(picture, size)

    monkeypatch.setattr(pygame.transform, "smoothscale", noted)
    smoothed(pygame.Surface(size), (120, 80))
    assert asked
    assert min(min(each) for each in asked) >= 2


def test_a_row_is_smoothed_like_two_equal_rows() -> None:
    colours = np.random.default_rng(0).integers(0, 256, (24, 1, 3), dtype=np.uint8)
    row, two = pygame.surfarray.make_surface(colours), pygame.surfarray.make_surface(colours.repeat(2, axis=1))
    drawn = pygame.surfarray.array3d(smoothed(row, (120, 8)))
    assert np.array_equal(drawn, pygame.surfarray.array3d(pygame.transform.smoothscale(two, (120, 8))))


def test_nothing_scales_without_it() -> None:
    files = sorted(Path(ecs_rl.__file__).parent.rglob("*.py"))
    assert [path.name for path in files if "smoothscale(" in path.read_text()] == ["draw.py"]
