"""When Python looks for garbage, and at how much at once: to look through all of torch takes longer than an update."""

from __future__ import annotations

import gc
from collections.abc import Iterator
from contextlib import contextmanager

AT_START = gc.get_freeze_count()
"""Objects that Python passes over by itself: some of its versions have a few hundred."""
OFTEN = 2
"""Looks at younger garbage between two at the oldest, of which Python takes 10 unless told."""


@contextmanager
def passing_over() -> Iterator[None]:
    """Let looks for garbage pass over what is there now; one inside another leaves what the outer one passes over."""
    outermost = gc.get_freeze_count() <= AT_START
    gc.collect(1)  # the young garbage must not stay; to look through all that is there takes a tenth of a second
    gc.freeze()
    try:
        yield
    finally:
        if outermost:
            gc.unfreeze()


@contextmanager
def small_collections() -> Iterator[None]:
    """Let Python look often and in little as well, for a window: to look through all that is new takes a frame.

    Each physics that is made anew leaves thousands of objects that only such a look finds.
    """
    before = gc.get_threshold()
    with passing_over():
        gc.collect()  # nothing old is known any more: from here on it goes by what is new
        gc.set_threshold(before[0], before[1], OFTEN)
        try:
            yield
        finally:
            gc.set_threshold(*before)
