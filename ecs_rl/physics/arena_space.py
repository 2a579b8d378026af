"""One arena of a scene put into a pymunk Space at its own place: bodies, shapes, joints and ground."""

from __future__ import annotations

import weakref

import pymunk

from ecs_rl.physics.direct import add_shapes
from ecs_rl.scene.arena import Arena
from ecs_rl.scene.checks import Point
from ecs_rl.scene.effects import Motor
from ecs_rl.scene.joints import Groove, Joint, Pivot, Spring, TurnLimit, TurnSpring
from ecs_rl.scene.lines import Terrain, Wall
from ecs_rl.scene.parts import Disc, Shape
from ecs_rl.scene.roles import Role

NOTHING = pymunk.ShapeFilter(categories=0, mask=0)
SEGMENT_RADIUS = 0.02  # metres; thinner ground lets fast corners sink in further before they are pushed out


class Built:
    """The bodies, shapes, joints and ground of one arena in its Space, with the origin at (x, 0)."""

    def __init__(self, space: pymunk.Space, arena: Arena, x: float) -> None:
        self.space, self.arena, self.x = space, arena, x
        solid = [role for role in arena.in_rows if role.solid for _ in range(role.members)]
        self.bodies = [_body(role) for role in solid]
        """In the order of the rows of the columns."""
        space.add(*self.mobile)
        self.still = pymunk.Body(body_type=pymunk.Body.STATIC)
        """What joints are fixed to: an arena's own, or numbers that are not finite would spread through it."""
        for body in (*self.static, self.still):
            # pymunk wants joints and shapes on a body of their Space; there it would cost a row in every batch call.
            body._space = weakref.ref(space)
        self.shapes: list[pymunk.Shape] = []
        self.filters: list[tuple[list[pymunk.Shape], pymunk.ShapeFilter] | None] = [None] * len(solid)
        """For each body its shapes, and whom they collide with."""
        for row, (role, body) in enumerate(zip(solid, self.bodies, strict=True)):
            if mask := arena.collisions[role.number]:  # what can touch nothing costs nothing
                collides = pymunk.ShapeFilter(categories=1 << arena.bits[role.number], mask=mask)
                shapes = [_shape(shape, role, body, collides) for shape in role.shapes]
                self.shapes += shapes
                self.filters[row] = (shapes, collides)
        add_shapes(space, self.shapes, self.static)
        self._add_joints()
        space.add(*(self._segment(*wall.ends, wall) for wall in arena.walls))
        # Anywhere: they are moved before the first tick.
        lines = [(terrain, i) for terrain in arena.terrains for i in range(terrain.points - 1)]
        self.terrain = [self._segment((i, -1.0), (i + 1.0, -1.0), terrain) for terrain, i in lines]
        """The segments that each episode moves, over all terrains in order."""
        space.add(*self.terrain)

    @property
    def mobile(self) -> list[pymunk.Body]:
        """The bodies that have a row in the batch calls of their Space."""
        return self.bodies[: self.arena.mobile]

    @property
    def static(self) -> list[pymunk.Body]:
        """The static bodies, which move only when a rule or a person places them."""
        return self.bodies[self.arena.mobile :]

    def park(self, row: int, *, here: bool) -> None:
        """Switch the collisions of a body on or off."""
        if (held := self.filters[row]) is not None:
            for shape in held[0]:
                shape.filter = held[1] if here else NOTHING

    def shapes_of(self, row: int) -> list[pymunk.Shape]:
        """Return the shapes of a body; an empty list if it cannot touch anything."""
        held = self.filters[row]
        return held[0] if held is not None else []

    def mend(self) -> None:
        """Replace joints, shapes and body states of an arena that exploded; its bodies keep their rows."""
        for joint in reversed(self.joints):  # the last joints of the Space fill the gaps: so they keep their order
            self.space.remove(joint)
        for shape in self.shapes:  # contacts and places in the tree go with them
            self.space.remove(shape)
        for body in (*self.bodies, self.still):
            pymunk.Body.update_position(body, 0.0)  # forgets how contacts wanted to push it out
            body.velocity, body.angular_velocity = (0.0, 0.0), 0.0
            body.angle = 0.0  # first, as a position is set with the help of the angle
            body.position = (0.0 if body is self.still else self.x, 0.0)
        add_shapes(self.space, self.shapes, self.static)
        self._add_joints()

    def _add_joints(self) -> None:
        self.motors = [self._motor(motor, *pair) for motor in self.arena.motors for pair in motor.pairs]
        joined = [(joint, *pair) for joint in self.arena.joints for pair in joint.pairs]
        self.joints = [*(self._constraint(*each) for each in joined), *self.motors]
        """Joints in the scene's order, then its motors."""
        self.space.add(*self.joints)

    def _of(self, row: int | None) -> pymunk.Body:
        return self.still if row is None else self.bodies[row]

    def _constraint(self, joint: Joint, one: int | None, other: int) -> pymunk.Constraint:
        a, b, x = self._of(one), self._of(other), self.x if one is None else 0.0
        match joint:
            case Groove():
                start, end = (joint.start[0] + x, joint.start[1]), (joint.end[0] + x, joint.end[1])
                return pymunk.GrooveJoint(a, b, start, end, joint.at)
            case Pivot():
                return pymunk.PivotJoint(a, b, (joint.at[0] + x, joint.at[1]), joint.hinge)
            case TurnLimit():
                return pymunk.RotaryLimitJoint(a, b, joint.low, joint.high)
            case TurnSpring():
                # pymunk measures the angle of a against b.
                return pymunk.DampedRotarySpring(a, b, -joint.rest, joint.stiffness, joint.damping)
            case _:
                assert isinstance(joint, Spring)
                at = (joint.at[0] + x, joint.at[1])
                return pymunk.DampedSpring(a, b, at, joint.hinge, joint.rest, joint.stiffness, joint.damping)

    def _motor(self, motor: Motor, role: int | None, base: int | None) -> pymunk.SimpleMotor:
        """Return a motor at rest; pymunk's rate is that of the first body against the second."""
        made = pymunk.SimpleMotor(self._of(role), self._of(base), 0.0)
        made.max_force = motor.strength
        return made

    def _segment(self, start: Point, end: Point, surface: Wall | Terrain) -> pymunk.Segment:
        ends = (start[0] + self.x, start[1]), (end[0] + self.x, end[1])
        made = pymunk.Segment(self.space.static_body, *ends, SEGMENT_RADIUS)
        made.friction, made.elasticity = surface.friction, surface.elasticity
        bit = 1 << len(self.arena.bits)
        made.filter = pymunk.ShapeFilter(categories=bit, mask=bit - 1)
        return made


def _body(role: Role) -> pymunk.Body:
    assert role.body is not None
    match role.body.moves:
        case "freely":
            return pymunk.Body(role.body.mass, role.moment)
        case "never":
            return pymunk.Body(body_type=pymunk.Body.STATIC)
        case _:
            return pymunk.Body(body_type=pymunk.Body.KINEMATIC)


def _shape(shape: Shape, role: Role, body: pymunk.Body, collides: pymunk.ShapeFilter) -> pymunk.Shape:
    made: pymunk.Shape
    made = pymunk.Circle(body, shape.radius, shape.at) if isinstance(shape, Disc) else pymunk.Poly(body, shape.points)
    assert role.body is not None
    made.friction, made.elasticity = role.body.friction, role.body.elasticity
    made.filter = collides
    return made
