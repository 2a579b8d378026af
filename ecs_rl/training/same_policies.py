"""Whether the policies of a file are those of a scene: they see and do the same."""

from __future__ import annotations

from pathlib import Path

from ecs_rl.errors import CheckpointError
from ecs_rl.runs import Manifest
from ecs_rl.spaces import Composed, PolicySpec


def check_same(path: Path, manifest: Manifest, now: dict[str, PolicySpec], scene: str) -> None:
    """Refuse a checkpoint whose policies see or do something else than those of the scene, and say what differs."""
    saved = {entry.name: entry.spec() for entry in manifest.policies}
    if list(saved) != list(now):
        raise CheckpointError(
            f"{path} does not fit the scene '{scene}': it holds the policies {list(saved)}, the scene has {list(now)}; "
            "use another one, or begin anew"
        )
    for name, before in saved.items():
        refuse_other_spec(path, scene, before, now[name])


def refuse_other_spec(path: Path, scene: str, before: PolicySpec, after: PolicySpec) -> None:
    """Refuse a file whose policy sees or does something else than the one of the scene, and say what differs."""
    for what, old, new in (
        ("sees", before.observations, after.observations),
        ("has a critic that sees", before.critic_sees, after.critic_sees),
        ("does", _actions(before), _actions(after)),
    ):
        if old != new:
            gone, come = [x for x in old if x not in new], [x for x in new if x not in old]
            change = f"{gone} there and {come} here" if gone or come else "the same in another order"
            raise CheckpointError(
                f"{path} does not fit the scene '{scene}': '{before.name}' {what} {change}; "
                "use another one, or begin anew"
            )


def _actions(spec: PolicySpec) -> tuple[str, ...]:
    """Return a policy's actions as they are compared and told: of several at once each with what it can be set to."""
    space = spec.actions
    several = tuple(f"{name}: {what}" for name, what in space.about.items())
    return (type(space).__name__, *(several if isinstance(space, Composed) else space.names))
