"""All that a scene file imports: `from ecs_rl.scene import *` gives parts, joints, sensors, effects and rules."""

from ecs_rl.components import Action, Amount, Force, Ground, Here, Motion, Pose, Touch
from ecs_rl.ecs.component import column, component
from ecs_rl.scene.arena import Arena
from ecs_rl.scene.camera import Follow, View
from ecs_rl.scene.chance import Spread, between, jitter
from ecs_rl.scene.controls import Choice, Controls, Lever, Levers, Trigger
from ecs_rl.scene.effects import Effect, Motor, Push, Thrust, Twist
from ecs_rl.scene.forces import Jump, Pull
from ecs_rl.scene.grid import Grid
from ecs_rl.scene.ground import Draws, Earth, Line
from ecs_rl.scene.joints import Groove, Pivot, Spring, TurnLimit, TurnSpring
from ecs_rl.scene.lessons import Lesson, Taught, elo_above, return_above, score_above
from ecs_rl.scene.look import Look
from ecs_rl.scene.marks import Mark
from ecs_rl.scene.nearest import Nearest
from ecs_rl.scene.parts import Body, Box, Disc, Polygon, Rod, Start
from ecs_rl.scene.rays import Rays
from ecs_rl.scene.roles import Dice, Draw, Number, Role
from ecs_rl.scene.rules import Lasting, Progress, above, below, beyond
from ecs_rl.scene.scene import Scene
from ecs_rl.scene.sensors import Angle, Closing, Feel, Feels, Heading, Sensor, Spin, Toward, Vx, Vy, X, Y
from ecs_rl.scene.touching import Touching

# fmt: off
__all__ = [
    "Action", "Amount", "Angle", "Arena", "Body", "Box", "Choice", "Closing", "Controls", "Dice", "Disc", "Draw",
    "Draws", "Earth", "Effect", "Feel", "Feels", "Follow", "Force", "Grid", "Groove", "Ground", "Heading", "Here",
    "Jump", "Lasting", "Lesson", "Lever", "Levers", "Line", "Look", "Mark", "Motion", "Motor", "Nearest", "Number",
    "Pivot", "Polygon", "Pose", "Progress", "Pull", "Push", "Rays", "Rod", "Role", "Scene", "Sensor", "Spin",
    "Spread", "Spring", "Start", "Taught", "Thrust", "Touch", "Touching", "Toward", "Trigger", "TurnLimit",
    "TurnSpring", "Twist", "View", "Vx", "Vy", "X", "Y", "above", "below", "between", "beyond", "column", "component",
    "elo_above", "jitter", "return_above", "score_above",
]
# fmt: on
