"""One arena of a scene put into a pymunk Space at its own place: bodies, shapes, joints and ground."""

from __future__ import annotations

import weakref
from dataclasses import dataclass, field

import pymunk

from ecs_rl.scene.arena import Arena, Terrain, Wall
from ecs_rl.scene.checks import Point
from ecs_rl.scene.effects import Motor
from ecs_rl.scene.joints import Groove, Joint, Pivot, Spring, TurnLimit, TurnSpring
from ecs_rl.scene.parts import Disc, Shape
from ecs_rl.scene.roles import Role

SEGMENT_RADIUS = 0.02  # metres; thinner ground lets fast corners sink in further before they are pushed out


@dataclass
class Built:
    """What one arena put into its Space."""

    bodies: list[pymunk.Body]
    still: pymunk.Body
    """What ground and joints are fixed to: an arena's own, or numbers that are not finite would spread through it."""
    joints: list[pymunk.Constraint] = field(default_factory=list)
    """Joints in the scene's order, then its motors."""
    motors: list[pymunk.SimpleMotor] = field(default_factory=list)
    shapes: list[pymunk.Shape] = field(default_factory=list)
    terrain: list[pymunk.Segment] = field(default_factory=list)
    """The segments that each episode moves, over all terrains in order."""


def add_arena(space: pymunk.Space, arena: Arena, x: float) -> Built:
    """Add one arena's things to the Space, its origin at (x, 0), roles in order."""
    built = Built([_body(role) for role in arena.roles], pymunk.Body(body_type=pymunk.Body.STATIC))
    space.add(*built.bodies)
    # Shapes want a body of their Space, but adding it would cost a row in every batch call.
    built.still._space = weakref.ref(space)
    masks = arena.collisions
    for role, body in zip(arena.roles, built.bodies, strict=True):
        if masks[role.number]:  # what can touch nothing costs nothing
            built.shapes += [_shape(shape, role, body, masks[role.number]) for shape in role.shapes]
    space.add(*built.shapes)
    _add_joints(space, arena, x, built)
    _add_ground(space, arena, x, built)
    return built


def mend_arena(space: pymunk.Space, arena: Arena, x: float, built: Built) -> None:
    """Make everything anew that remembers numbers of an arena that went astray; its bodies keep their rows."""
    for joint in reversed(built.joints):  # the last joints of the Space fill the gaps: so they keep their order
        space.remove(joint)
    for shape in built.shapes:  # contacts and places in the tree go with them
        space.remove(shape)
    for body, place in [(body, (x, 0.0)) for body in built.bodies] + [(built.still, (0.0, 0.0))]:
        pymunk.Body.update_position(body, 0.0)  # forgets how contacts wanted to push it out
        body.velocity, body.angular_velocity = (0.0, 0.0), 0.0
        body.angle = 0.0  # first, as a position is set with the help of the angle
        body.position = place
    space.add(*built.shapes)
    _add_joints(space, arena, x, built)


def _body(role: Role) -> pymunk.Body:
    assert role.body is not None
    return pymunk.Body(role.body.mass, role.moment)


def _shape(shape: Shape, role: Role, body: pymunk.Body, mask: int) -> pymunk.Shape:
    made: pymunk.Shape
    made = pymunk.Circle(body, shape.radius, shape.at) if isinstance(shape, Disc) else pymunk.Poly(body, shape.points)
    assert role.body is not None
    made.friction, made.elasticity = role.body.friction, role.body.elasticity
    made.filter = pymunk.ShapeFilter(categories=1 << role.number, mask=mask)
    return made


def _constraint(joint: Joint, a: pymunk.Body, b: pymunk.Body, x: float) -> pymunk.Constraint:
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


def _add_joints(space: pymunk.Space, arena: Arena, x: float, built: Built) -> None:
    built.joints.clear()
    for joint in arena.joints:
        fixed = joint.a.body is None
        a = built.still if fixed else built.bodies[joint.a.number]
        built.joints.append(_constraint(joint, a, built.bodies[joint.b.number], x if fixed else 0.0))
    built.motors = [_motor(motor, built) for motor in arena.motors]
    built.joints += built.motors
    space.add(*built.joints)


def _motor(motor: Motor, built: Built) -> pymunk.SimpleMotor:
    """Return the joint of a motor, standing still; its rate is that of the second body against the first, reversed."""
    base, role = (built.still if side.body is None else built.bodies[side.number] for side in (motor.base, motor.role))
    made = pymunk.SimpleMotor(role, base, 0.0)
    made.max_force = motor.strength
    return made


def _add_ground(space: pymunk.Space, arena: Arena, x: float, built: Built) -> None:
    bit = 1 << len(arena.roles)
    roles = pymunk.ShapeFilter(categories=bit, mask=bit - 1)

    def segment(start: Point, end: Point, surface: Wall | Terrain) -> pymunk.Segment:
        moved = (start[0] + x, start[1]), (end[0] + x, end[1])
        made = pymunk.Segment(space.static_body, *moved, SEGMENT_RADIUS)
        made.friction, made.elasticity, made.filter = surface.friction, surface.elasticity, roles
        return made

    space.add(*(segment(*wall.ends, wall) for wall in arena.walls))
    for terrain in arena.terrains:
        # Anywhere: they are moved before the first tick.
        built.terrain += [segment((i, -1.0), (i + 1.0, -1.0), terrain) for i in range(terrain.points - 1)]
    space.add(*built.terrain)
