"""How a world is made: a scene, its engine, and the stages that its tick has."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from functools import partial

from ecs_rl.callbacks import NOTHING, Callbacks
from ecs_rl.physics.checked import CheckedPhysics
from ecs_rl.physics.physics import Physics
from ecs_rl.scene.scene import Scene
from ecs_rl.schedule import PLAYING, tick_of
from ecs_rl.world import DecideAction, World


def make_world(
    scene: Scene,
    *,
    arenas: int,
    seed: int = 0,
    threads: int = 1,
    seeds: Sequence[int] | None = None,
    stages: Sequence[str] = PLAYING,
    policies: Mapping[str, DecideAction] | None = None,
    resources: Sequence[object] = (),
    callbacks: Callbacks = NOTHING,
    debug: bool = False,
    share: tuple[int, int] | None = None,
) -> World:
    """Return a new world of a scene with these stages of the schedule; see `World` for all other arguments."""
    return World(
        scene,
        arenas=arenas,
        seed=seed,
        threads=threads,
        seeds=seeds,
        tick=partial(tick_of, names=stages),
        engine=scene.engine or (CheckedPhysics if debug else Physics),
        policies=policies,
        resources=resources,
        callbacks=callbacks,
        debug=debug,
        share=share,
    )
