"""All that a scene file imports: `from ecs_rl.scene import *` gives parts, joints, sensors, effects and rules."""

from ecs_rl.components import Action, Amount, Force, Ground, Here, Motion, Pose, Touch
from ecs_rl.ecs.component import column, component
from ecs_rl.scene.arena import Arena
from ecs_rl.scene.chance import Spread, between, jitter
from ecs_rl.scene.controls import Choice, Levers
from ecs_rl.scene.effects import Effect, Motor, Push, Thrust, Twist
from ecs_rl.scene.grid import Grid
from ecs_rl.scene.joints import Groove, Pivot, Spring, TurnLimit, TurnSpring
from ecs_rl.scene.look import Look
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
    "Action", "Amount", "Angle", "Arena", "Body", "Box", "Choice", "Closing", "Dice", "Disc", "Draw", "Effect",
    "Feel", "Feels", "Force", "Grid", "Groove", "Ground", "Heading", "Here", "Lasting", "Levers", "Look", "Motion",
    "Motor", "Nearest", "Number", "Pivot", "Polygon", "Pose", "Progress", "Push", "Rays", "Rod", "Role", "Scene",
    "Sensor", "Spin", "Spread", "Spring", "Start", "Thrust", "Touch", "Touching", "Toward", "TurnLimit", "TurnSpring",
    "Twist", "Vx", "Vy", "X", "Y", "above", "below", "between", "beyond", "column", "component", "jitter",
]
# fmt: on
