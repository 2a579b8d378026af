"""Stages of both engines query what they declare, and a new stage needs two places."""

from __future__ import annotations

import json
import shutil
import subprocess
import sys
from collections.abc import Callable
from dataclasses import replace
from functools import partial
from pathlib import Path

import pytest
from world_helpers import random_policies, random_world

from ecs_rl.components import Amount, Clock, Force, Motion, Observation, PolicyState, Pose
from ecs_rl.ecs import Entry, Stage
from ecs_rl.ecs.entries import ScheduleError
from ecs_rl.environments import gym_engine
from ecs_rl.environments.gym_engine import GymEngine
from ecs_rl.loading import load_scene
from ecs_rl.physics.checked import CheckedPhysics
from ecs_rl.physics.physics import Physics
from ecs_rl.processors.guard import Guard
from ecs_rl.processors.simulate import Simulate
from ecs_rl.scene.engine import Engine
from ecs_rl.schedule import PLAYING, tick_of
from ecs_rl.world import World

CARTPOLE = "gym:CartPole-v1"


def read_force(stage: Stage) -> None:
    assert isinstance(stage.context, World)
    assert stage.context.block(Force).shape[0] == 3


def read_state(stage: Stage) -> None:
    assert stage.context.one(PolicyState).value.shape[0] == 2


def write_clock(stage: Stage) -> None:
    stage.context.one(Clock).episode[0] += 7


def write_observation(stage: Stage) -> None:
    stage.context.one(Observation).value[0] += 1.0


@pytest.mark.parametrize(
    ("scene", "stage", "secret", "message"),
    [
        ("balance", Guard, read_force, "'guard' queries Force without saying so"),
        ("balance", Simulate, write_clock, "'simulate' changes Clock without saying so"),
        (CARTPOLE, gym_engine.StepEnvironments, read_state, "'simulate' queries PolicyState without saying so"),
        (CARTPOLE, gym_engine.StepEnvironments, write_observation, "'simulate' changes Observation without saying so"),
    ],
)
def test_a_debug_run_catches_what_an_engine_stage_does_in_secret(
    scene: str, stage: type[Stage], secret: Callable[[Stage], None], message: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    world = random_world(scene, 2, debug=True)
    world.tick()
    honest = stage.run

    def run(self: Stage) -> None:
        honest(self)
        secret(self)

    monkeypatch.setattr(stage, "run", run)
    with pytest.raises(ScheduleError, match=message):
        world.tick()
    world.close()


@pytest.mark.parametrize(
    ("stage", "kind"),
    [("judge", Pose), ("judge", Amount), ("sense", Motion), ("simulate", Force)],
)
def test_a_debug_run_catches_what_rules_and_the_engine_read_without_a_declaration(stage: str, kind: type) -> None:
    scene = load_scene("lander")

    def tick(world: World) -> list[Entry]:
        honest = tick_of(world, PLAYING)
        return [
            replace(entry, reads=tuple(set(entry.reads) - {kind})) if entry.name == stage else entry for entry in honest
        ]

    made = partial(World, scene, arenas=2, tick=tick, engine=CheckedPhysics, policies=random_policies(scene))
    with pytest.raises(ScheduleError, match=f"'{stage}' (queries|reads) {kind.__name__} without saying so"):
        made(debug=True).tick()


@pytest.mark.parametrize(("scene", "kind", "starts_midway"), [("balance", Physics, True), (CARTPOLE, GymEngine, False)])
def test_a_world_has_the_engine_that_its_scene_names(scene: str, kind: type, starts_midway: bool) -> None:
    world = random_world(scene, 2)
    engine: Engine = world.engine
    assert isinstance(engine, kind)
    assert engine.starts_midway == starts_midway
    assert (engine.picture is None) == starts_midway
    world.close()


def test_a_stage_is_refused_by_an_engine_that_it_was_not_written_for() -> None:
    world = random_world(CARTPOLE, 2)
    with pytest.raises(TypeError, match="this stage needs Physics, not GymEngine"):
        Simulate(world)
    world.close()


# --- a new stage ----------------------------------------------------------------------------------------------------

STAGE = '''
"""tire: Force -> Force."""

from ecs_rl.components import Force
from ecs_rl.ecs import Stage
from ecs_rl.world import World


class Tire(Stage):
    """Weaken every force."""

    def __init__(self, world: World) -> None:
        self.force = world.block(Force)

    def run(self) -> None:
        """Halve the forces."""
        self.force *= 0.5
'''
ROW = """    Entry("tire", Tire, "all forces are half as strong", plays=True, reads=(Force,), writes=(Force,)),
"""
ROOT = Path(__file__).parents[2]


@pytest.fixture
def package_with_a_stage(tmp_path: Path) -> Path:
    """Return a copy of the package in which a stage has a file and a row in the schedule, and nothing else knows it."""
    shutil.copytree(ROOT / "ecs_rl", tmp_path / "ecs_rl", ignore=shutil.ignore_patterns("__pycache__"))
    (tmp_path / "ecs_rl/processors/tire.py").write_text(STAGE)
    file = tmp_path / "ecs_rl/schedule.py"
    text, row = file.read_text(), '    Entry("interact"'
    text = text.replace(
        "from ecs_rl.scene.forces", "from ecs_rl.processors.tire import Tire\nfrom ecs_rl.scene.forces", 1
    )
    file.write_text(text.replace(row, ROW + row, 1))
    for name in ("train.py", "scenes/balance.py"):
        (tmp_path / name).parent.mkdir(exist_ok=True)
        shutil.copy(ROOT / name, tmp_path / name)
    return tmp_path


def places_that_differ(copy: Path) -> list[str]:
    files = sorted(path.relative_to(copy) for path in (copy / "ecs_rl").rglob("*.py"))
    return [
        str(file)
        for file in files
        if not (ROOT / file).is_file() or (ROOT / file).read_text() != (copy / file).read_text()
    ]


def test_a_new_stage_needs_two_places(package_with_a_stage: Path) -> None:
    assert places_that_differ(package_with_a_stage) == ["ecs_rl/processors/tire.py", "ecs_rl/schedule.py"]
    command = [sys.executable, "train.py", "scenes/balance.py", "--check", "--json", "--arenas", "4"]
    done = subprocess.run(command, cwd=package_with_a_stage, capture_output=True, text=True, timeout=600, check=False)
    assert done.returncode == 0, done.stderr
    facts = json.loads(done.stdout)
    assert facts["deterministic"]
    assert facts["resumable"]
    stages = [row["stage"] for row in facts["tick"]]
    assert stages[stages.index("tire") - 1] == "actuate"
    assert next(row for row in facts["tick"] if row["stage"] == "tire") == {
        "stage": "tire",
        "reads": ["Force"],
        "writes": ["Force"],
        "own": False,
        "about": "all forces are half as strong",
    }
