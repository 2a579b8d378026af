"""A scene whose file was saved while it trains: whether the training can go on in it as it is now."""

from __future__ import annotations

from typing import TYPE_CHECKING

from ecs_rl.errors import SceneError
from ecs_rl.loading import load_scene
from ecs_rl.scene.scene import Scene
from ecs_rl.world import World, policy_specs
from ecs_rl.worlds import make_world

if TYPE_CHECKING:
    from ecs_rl.training.training import Training


def scene_in_file(reference: str) -> Scene:
    """Return the scene as its file is now; SceneError where it is none."""
    try:
        return load_scene(reference)
    except KeyboardInterrupt as error:  # Ctrl-C raises nothing while something trains: the file's own code does
        raise SceneError(f"{reference}: raises KeyboardInterrupt when it is read") from error


def scene_of_now(training: Training) -> Scene | None:
    """Return the scene as its file is now, None where that is what is trained; SceneError where it is none."""
    before = training.world.scene
    scene = scene_in_file(before.reference)
    return scene if scene.changed_file(before.sha256, before.data) else None


def why_not(training: Training, scene: Scene) -> str:
    """Return why a training cannot go on in a changed scene, '' if it can: rules may give other numbers, no others."""
    before, specs = training.world.scene, policy_specs(scene.describe())
    for name, spec in training.world.specs.items():
        now = specs.get(name)
        if now is None or (now.observations, now.actions.names) != (spec.observations, spec.actions.names):
            return f"what '{name}' sees or does is another"
    if len(specs) != len(training.world.specs):
        return "it has other policies"
    old, new = make_world(before, arenas=1), make_world(scene, arenas=1)
    try:
        return _difference(old, new)
    finally:
        old.close()
        new.close()


def _difference(old: World, new: World) -> str:
    """Return what of two worlds of one arena cannot be brought from one to the other."""
    facts = {
        "the reward terms": (old.terms, new.terms),
        "the ends": (old.reasons, new.reasons),
        "the scores": (tuple(old.arena.scores), tuple(new.arena.scores)),
    }
    for what, (before, now) in facts.items():
        if before != now:
            return f"{what} are others, {', '.join(sorted(set(before) ^ set(now))) or 'in another order'}"
    was, is_now = ({key: (a.shape, a.dtype) for key, a in world.save_columns().items()} for world in (old, new))
    odd = sorted(key for key in was.keys() | is_now.keys() if was.get(key) != is_now.get(key))
    return f"its entities or components are others, {', '.join(odd[:3])}" if odd else ""
