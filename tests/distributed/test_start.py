"""What process 0 sends at the start, and that a process with another version or another file refuses to take part."""

from __future__ import annotations

import os
import tempfile
from pathlib import Path
from typing import Any
from unittest.mock import patch

import pytest
from groups import in_group

from ecs_rl.cli.command_settings import TrainSettings
from ecs_rl.cli.plan import Plan
from ecs_rl.distributed.group import Group
from ecs_rl.distributed.processes import Processes
from ecs_rl.errors import CommandError
from ecs_rl.loading import load_scene
from ecs_rl.tasks import workers
from ecs_rl.tasks.same_everywhere import versions

TEXT = """
from ecs_rl.scene import *

SCENE = Scene(about="A ball.", max_ticks=50)

def build(arena):
    ball = arena.spawn("ball", Body(mass=1.0), Disc(0.5), Start(x=jitter(0.05)))
    arena.agent(sees=[X(ball)], does=Choice(left=Push(ball, -9.0), right=Push(ball, 9.0)), earns={"x": lambda: ball.x})
"""


def begins(group: Group, scene: str, what: str) -> None:
    """Begin as a training does; in process 1 something is otherwise."""
    assert isinstance(group, Processes)
    if group.rank == 0:
        workers.start_of(Plan(TrainSettings(scene=scene, agent="ppo", workers=2), load_scene(scene)), group)
        return
    otherwise: Any = {
        "version": patch.object(workers, "versions", lambda with_ray=False: {**versions(), "ecs_rl": "0.0"}),
        "file": patch.object(workers, "contents", lambda files: dict.fromkeys(files, "0" * 64)),
        "no file": patch.object(workers, "contents", lambda files: dict.fromkeys(files, "")),
    }[what]
    with otherwise, tempfile.TemporaryDirectory() as folder:
        workers.learn_along(group, Path(folder))


@pytest.mark.parametrize(
    ("what", "message"),
    [
        ("version", "a node of the cluster has ecs_rl 0.0, and this machine "),
        ("file", "a node of the cluster has another {scene} than there was here"),
        ("no file", "a node of the cluster has no file {scene}: copy it there"),
    ],
)
def test_what_is_otherwise_in_one_process_ends_all_with_one_sentence(tmp_path: Path, what: str, message: str) -> None:
    (scene := tmp_path / "ball.py").write_text(TEXT)
    answers = in_group(2, begins, str(scene), what)
    assert [type(answer) for answer in answers] == [CommandError] * 2, answers
    for answer in answers:
        assert message.format(scene=scene) in str(answer)
    assert os.listdir(tmp_path) == ["ball.py"]
