"""What looks for garbage pass over, and that nothing of it stays behind."""

from __future__ import annotations

import gc

import pytest

from ecs_rl.garbage import OFTEN, passing_over, small_collections


def test_what_is_there_is_passed_over_until_the_end_also_where_a_window_comes_and_goes() -> None:
    looks = gc.get_threshold()
    with passing_over():
        here = gc.get_freeze_count()
        assert here > 1000
        with small_collections():
            assert gc.get_threshold() == (*looks[:2], OFTEN)
        assert gc.get_threshold() == looks
        assert gc.get_freeze_count() >= here
    assert gc.get_freeze_count() == 0


def test_a_training_that_fails_leaves_nothing_passed_over() -> None:
    with pytest.raises(ZeroDivisionError), small_collections():
        raise ZeroDivisionError
    assert gc.get_freeze_count() == 0
