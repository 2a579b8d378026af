"""What a `build` described, as much as decides which columns a world has and what its agents are: never another one."""

from __future__ import annotations

from ecs_rl.errors import SceneError
from ecs_rl.scene.arena import Arena

Outline = dict[str, str]
"""Which there are of each kind of part, by what messages call them."""


def outline_of(arena: Arena) -> Outline:
    """Return the outline of a described arena."""
    roles = [(each.name, each.count, each.solid, each.comes_and_goes) for each in arena.roles]
    agents = [
        (agent.name, agent.policy, agent.observation_names, agent.critic_names, agent.does.space)
        for agent in arena.agents
    ]
    parts_by_name = {
        "roles": roles,
        "joints": [(type(each).__name__, each.a.name, each.b.name) for each in arena.joints],
        "numbers": [(each.name, each.count) for each in arena.numbers],
        "components": [*map(type, arena.own_parts), *(memory.count for memory in arena.memories)],
        "agents": agents,
        "rewards": [(*each.earns,) for each in arena.agents],
        "ends": [(*each.ends,) for each in arena.agents],
        "scores": [*arena.scores],
        "systems": [each.name for each in arena.systems],
        "walls, terrains or paths": [len(arena.walls), *(each.points for each in arena.terrains), len(arena.paths)],
        "draws": arena.draw_count,
    }
    return {name: repr(parts) for name, parts in parts_by_name.items()}


def refuse_another(file: str, arena: Arena, before: Outline) -> None:
    """Refuse an arena with another outline than before; nothing is compared with an empty one."""
    now = outline_of(arena) if before else before
    differ = [name for name in before if before[name] != now[name]]
    if differ:
        message = (
            f"{file}: `build` describes another arena than the first time, with other {' and other '.join(differ)}"
        )
        cure = "it must not depend on chance, on time or on calls before: take jitter, between or arena.random"
        raise SceneError(f"{message}; {cure}")
