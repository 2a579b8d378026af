"""Rays: how near things are, seen in several directions from a role."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

import numpy as np

from ecs_rl.arrays import F32
from ecs_rl.components import Ground, Touch
from ecs_rl.errors import SceneError
from ecs_rl.geometry.ray_lengths import Fan, NearGround
from ecs_rl.scene.checks import Point, finite, point, positive, quote, seen_at_once
from ecs_rl.scene.parts import Disc
from ecs_rl.scene.roles import Role, is_role
from ecs_rl.scene.sensors import Roles, Several, here_of, known, members_of, told_apart

MOST_RAYS = 1_000
"""Rays of a fan; ten thousand in 64 arenas with 50 walls leave one or two ticks per second."""
Hits = Roles | Mapping[str, Roles]


class Rays(Several):
    """See how near things are along rays that turn with the role: 1 touching, 0 nothing within reach.

    `angles` are radians from the role's own first axis, `reach` is metres, and the rays begin `at` a point of the
    role's own axes. They hit everything but the role itself, or only what `hits`
    names: roles, kinds, `arena.ground`. A dict of these gives the nearness of each apart, all rays of one after the
    other. What is not here is not hit, and a member of a kind never hits itself. What `hits` does not name hides
    nothing, nor does one of a dict's groups hide another. A fan has at most 1,000 rays.
    """

    def __init__(
        self, role: Role, angles: Sequence[float], reach: float, *, at: Point = (0.0, 0.0), hits: Hits | None = None
    ) -> None:
        is_role("Rays look from", role)
        if np.ndim(angles) != 1:
            raise SceneError(f"the angles of rays must be a tuple, as in (0.0, 1.57), not {quote(angles)}")
        if not len(angles):
            raise SceneError("rays need at least one angle")
        self.role, self.reach, self.at = role, positive("a ray's reach", reach), point("where rays begin", at)
        if len(angles) > MOST_RAYS:
            raise SceneError(
                f"a fan has at most {MOST_RAYS:,} rays, not {len(angles):,}: each takes its time in each tick"
            )
        self.angles = np.array([finite("a ray's angle", angle) for angle in angles])
        self.hits = None if hits is None else told_apart(role, hits, "what rays hit")
        """The roles by the name under which they are told apart, ''; None until it is known what there is."""
        seen_at_once("a fan of Rays", len(self.angles) * len(self.hits or [""]))
        self.names = self.named_from(0)
        super().__init__(self.names, self._nearness)
        self._fan, self._near = Fan(self.angles, self.reach, self.at), NearGround(self.reach)
        self._ground: Ground | None = None

    def among(self, roles: Sequence[Role], ground: Role) -> None:
        """Take note of all there is, when the arena is complete."""
        if self.hits is None:
            others = [role for role in roles if role is not self.role or role.count is not None]
            self.hits = {"": (*others, ground)}
        every = [role for each in self.hits.values() for role in each]
        known(self, [self.role, *every], (*roles, ground))
        self._sizes = {role: _size(role) for role in every if role.body is not None}

    def bind(self, touch: Touch, ground: Ground) -> None:
        """Take the world's ground."""
        self._ground = ground

    def named_from(self, first: int) -> tuple[str, ...]:
        """Return the names of the rays by their numbers, from `first` on, and by what they see where that is told."""
        rays = [f"{self.role.name} ray {i}" for i in range(first, first + len(self.angles))]
        return tuple(f"{ray} {what}".rstrip() for what in self.hits or [""] for ray in rays)

    def _nearness(self) -> F32:
        if self._ground is None or self.hits is None:
            raise SceneError(f"'{self.names[0]}' is not known to the arena: pass it to sees")
        position = self.role.position
        fan, viewers = self._fan, position.reshape(-1, 2)
        fan.stand(viewers, self.role.heading.reshape(-1, 2))
        shares = np.ones((len(self.hits), len(self.angles), len(viewers)), np.float32)
        for share, roles in zip(shares, self.hits.values(), strict=True):
            for role in roles:
                if role.body is None:
                    self._hit_ground(share, self._ground)
                else:
                    self._hit(share, role, len(position))
        return np.asarray((1.0 - shares.reshape(-1, len(viewers))).T).reshape(*position.shape[:-1], -1)

    def _hit_ground(self, share: F32, ground: Ground) -> None:
        if ground.segments.shape[1]:
            self._near.look(self._fan.start, ground.segments, ground.stamp)
            self._fan.hit_ground(share, self._near)

    def _hit(self, share: F32, other: Role, arenas: int) -> None:
        """Let the rays hit those members of another role, or of their own kind, that are within reach."""
        places, here = members_of(other, other.position), here_of(other)
        start = self._fan.start.reshape(2, arenas, -1, 1)
        away = (places[:, None, :, 0] - start[0]) ** 2 + (places[:, None, :, 1] - start[1]) ** 2
        near = away <= (self.reach + self._sizes[other]) ** 2
        if here is not None:
            near &= here[:, None]
        if other is self.role:
            near &= ~np.eye(near.shape[1], dtype=bool)
        arena, viewer, member = near.nonzero()
        if not len(arena):
            return
        viewer = arena * near.shape[1] + viewer
        position, (cos, sin) = places[arena, member].T, members_of(other, other.heading)[arena, member].T
        for shape in other.shapes:
            points = np.array([shape.at] if isinstance(shape, Disc) else shape.points)[:, :, None]
            x = position[0] + cos * points[:, 0] - sin * points[:, 1]  # (points, pairs)
            y = position[1] + sin * points[:, 0] + cos * points[:, 1]
            own = self._fan.own(viewer, x, y)
            if isinstance(shape, Disc):
                self._fan.hit_discs(share, viewer, own[0][0], own[1][0], shape.radius)
            else:
                x, y = (np.stack((each, np.roll(each, -1, axis=0))).reshape(2, -1) for each in own)
                self._fan.hit_segments(share, np.tile(viewer, len(points)), x, y)


def _size(role: Role) -> float:
    """Return how far from its origin a role reaches."""
    discs = [float(np.hypot(*s.at)) + s.radius for s in role.shapes if isinstance(s, Disc)]
    return max(discs + [float(np.hypot(*at)) for s in role.shapes if not isinstance(s, Disc) for at in s.points])
