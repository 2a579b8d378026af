"""interact: UserInput -> Force."""

from __future__ import annotations

import math

import numpy as np

from ecs_rl.components import Force, Motion, Pose, UserInput
from ecs_rl.ecs import Stage
from ecs_rl.scene.roles import Role
from ecs_rl.world import World

STIFFNESS = 2.0 * math.pi * 7.5
"""Angular frequency of the spring between hand and body, radians per second; it is critically damped."""
MOST_WEIGHTS = 6.0
"""The spring pulls no harder than so many times the body's weight."""
BRAKING = 0.7
"""The share of that which a body may need to stop at the hand; the rest is for its weight and what hangs on it."""

CALMING = 3.0
"""Per second, how fast a body that is held stops turning about the hand: without this it would swing for ever."""


class Interact(Stage):
    """Pull at a body by a soft spring, or kick it: what a person's hand does on the window's stage."""

    def __init__(self, world: World) -> None:
        self.roles, self.state, self.force = world.arena.roles, world.block(Pose, Motion), world.block(Force)
        self.hand, self.dt = world.one(UserInput), world.scene.dt
        self.lead = world.scene.dt / world.scene.substeps
        self.falls = self.dt * np.array(world.scene.gravity)
        """By how much a tick of gravity changes a velocity."""
        self.gravity = math.hypot(*world.scene.gravity) or 9.81
        self.blown = np.zeros(self.force.shape[1])
        """(rows,) The mass of everything that forces move freely, 0 of all else."""
        for role in world.arena.roles:
            if role.body is not None and role.body.moves == "freely":
                self.blown[role.rows] = role.body.mass

    def run(self) -> None:
        """Add the hand's forces to those of the agents."""
        hand = self.hand
        if any(hand.air):
            self.force[:2, :, hand.arena] += np.multiply.outer(hand.air, self.blown)
        if hand.role is not None:
            self._pull(self.roles[hand.role], hand.member)
        if hand.kicked is not None:
            self._kick(self.roles[hand.kicked], hand.kicked_member)
            hand.kicked = None

    def _pull(self, role: Role, member: int) -> None:
        """Add the force that a stiff spring has at the end of the tick: taken at its beginning, it would swing up."""
        hand, h = self.hand, self.dt
        mass, row = _mass(role), role.rows.start + member
        x, y, turned_by, vx, vy, spin = self.state[:, row, hand.arena]
        position, velocity = np.array((x, y)), np.array((vx, vy))
        # The physics moves bodies before it looks at forces: what counts is where they are then.
        angle = turned_by + self.lead * spin
        cos, sin = math.cos(angle), math.sin(angle)
        arm = np.array((cos * hand.at[0] - sin * hand.at[1], sin * hand.at[0] + cos * hand.at[1]))
        turned = np.array((-arm[1], arm[0]))  # by how much the point moves when the body turns
        off = position + self.lead * velocity + arm - hand.to
        inverse = _inverse(role.moment)
        calmed = spin * min(0.5, CALMING * h * (1.0 + mass * (arm @ arm) * inverse))
        speed = velocity + (spin - calmed) * turned + self.falls
        most = MOST_WEIGHTS * mass * self.gravity
        # From afar the spring is softer: a body that it made faster than its limit can brake would swing past the hand.
        rate = min(STIFFNESS / 2.0, math.sqrt(2.0 * BRAKING * most / mass / max(math.hypot(*off), 1e-12)))
        c = 2.0 * mass * STIFFNESS
        k = c * rate
        yields = np.eye(2) / mass + np.outer(turned, turned) * inverse
        force = np.linalg.solve(np.eye(2) + (c * h + k * h * h) * yields, -(k * off + (c + h * k) * speed))
        force *= min(1.0, most / max(math.hypot(*force), 1e-12))
        turn = arm[0] * force[1] - arm[1] * force[0] - (calmed / h / inverse if inverse else 0.0)
        self.force[:, row, hand.arena] += (*force, turn)

    def _kick(self, role: Role, member: int) -> None:
        vx, vy, spin = self.hand.kick
        row, share = role.rows.start + member, _mass(role) / self.dt
        turn = spin * role.moment / self.dt if math.isfinite(role.moment) else 0.0
        self.force[:, row, self.hand.arena] += (vx * share, vy * share, turn)


def _mass(role: Role) -> float:
    return role.body.mass if role.body is not None else 1.0


def _inverse(moment: float) -> float:
    return 1.0 / moment if math.isfinite(moment) and moment > 0 else 0.0
