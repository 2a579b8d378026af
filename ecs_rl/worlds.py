"""How a world is made: a scene, its engine, and the stages that its tick has."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from functools import partial
from typing import Any

from ecs_rl.scene.scene import Scene
from ecs_rl.schedule import PLAYING, tick_of
from ecs_rl.world import World


def make_world(scene: Scene, *, stages: Sequence[str] = PLAYING, **settings: Any) -> World:
    """Return a new world of a scene with these stages of the schedule; `settings` are those of `World`."""
    engine: Callable[..., World] = scene.engine or World
    return engine(scene, tick=partial(tick_of, names=stages), **settings)
