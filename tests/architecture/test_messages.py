"""No wording changes by accident: all texts of the package stand in one file."""

from __future__ import annotations

from pathlib import Path

import messages


def test_every_message_is_worded_as_the_golden_file_has_it() -> None:
    accepted, now = set(messages.GOLDEN.read_text(encoding="utf-8").splitlines()), set(messages.messages())
    changed = [*(f"- {text}" for text in sorted(accepted - now)), *(f"+ {text}" for text in sorted(now - accepted))]
    assert not changed, "\n".join(["read these, then run `python tests/architecture/messages.py`:", *changed])


def test_a_message_does_not_depend_on_names_and_a_flag_is_read_with_its_help(tmp_path: Path) -> None:
    code = '''
"""A page of no interest."""

class RunSettings:
    """A class of no interest."""

    steps: int = 3
    """Steps to train."""

def refuse(name):
    """Do what is of no interest."""
    raise ValueError(f"there is no '{name!r}' here" + "plain")
'''
    (tmp_path / "code.py").write_text(code)
    assert messages.messages(tmp_path) == [repr("there is no '{}' here"), repr("Steps to train.")]
