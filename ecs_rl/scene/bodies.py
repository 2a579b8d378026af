"""What the physics asks of a described arena: which rows its bodies have, who collides with whom."""

from __future__ import annotations

from functools import cached_property
from typing import TYPE_CHECKING

import numpy as np

from ecs_rl.arrays import F64
from ecs_rl.scene.joints import Joint
from ecs_rl.scene.roles import Role

if TYPE_CHECKING:
    from ecs_rl.scene.lines import Terrain, Wall


class Bodies:
    """The bodies of an arena; `Arena` is this and the builder that a scene fills in."""

    roles: list[Role]
    joints: list[Joint]
    walls: list[Wall]
    terrains: list[Terrain]
    passing: list[set[str]]
    """Roles that pass through each other."""

    def number_rows(self) -> None:
        """Give every role its rows in the blocks of bodies: what is solid first, what stays where it is placed last."""
        first = 0
        for role in self.in_rows:
            role.rows, first = slice(first, first + role.members), first + role.members

    @property
    def in_rows(self) -> list[Role]:
        """The roles in the order of their rows."""
        return sorted(self.roles, key=lambda role: (not role.solid, bool(role.body and role.body.moves == "never")))

    @property
    def bodies(self) -> int:
        """How many bodies there are."""
        return sum(role.members for role in self.roles)

    @property
    def solid(self) -> int:
        """How many of them are in the physics: the first rows."""
        return sum(role.members for role in self.roles if role.solid)

    @property
    def mobile(self) -> int:
        """How many of the solid bodies move: the first rows."""
        return sum(role.members for role in self.roles if role.solid and role.body and role.body.moves != "never")

    @cached_property
    def comes_and_goes(self) -> bool:
        """Whether anything does; asked once everything is there."""
        return any(role.comes_and_goes for role in self.roles)

    @property
    def moving(self) -> int:
        """How many rows there are of what is solid, or moves."""
        return sum(role.members for role in self.roles if role.solid or (role.body and role.body.moves != "never"))

    @cached_property
    def bits(self) -> dict[int, int]:
        """The bit by which the physics knows each solid role; the ground's comes after the last."""
        return {role.number: bit for bit, role in enumerate(role for role in self.roles if role.solid)}

    @cached_property
    def collisions(self) -> dict[int, int]:
        """For each solid role the bits of all it collides with: members of its own kind, other roles, the ground.

        Joined roles do not collide, nor do those that pass through each other.
        """
        ground = 1 << len(self.bits)
        everyone = (ground << 1) - 1 if self.walls or self.terrains else ground - 1
        masks = dict.fromkeys(self.bits, everyone)
        joined = [{joint.a.name, joint.b.name} for joint in self.joints]
        for one in self.roles:
            for other in self.roles:
                alone = one is other and one.count is None
                names = {one.name, other.name}
                apart = any(names <= each for each in self.passing) or names in joined
                if one.solid and other.solid and (alone or apart):
                    masks[one.number] &= ~(1 << self.bits[other.number])
        return masks

    @property
    def collides(self) -> bool:
        """Whether anything can touch anything."""
        return any(self.collisions.values())

    @cached_property
    def masses(self) -> F64:
        """(mobile bodies,) Kilograms, by row; 0 for what the physics does not move."""
        bodies = [(role, role.body) for role in self.in_rows for _ in range(role.members)][: self.mobile]
        return np.array([body.mass if body and role.yields else 0.0 for role, body in bodies])
