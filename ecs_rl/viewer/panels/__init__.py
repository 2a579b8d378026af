"""The panels of the window, one file each."""

from __future__ import annotations

from typing import Any

from ecs_rl.viewer.panel import Panel
from ecs_rl.viewer.panels.chips import Chips
from ecs_rl.viewer.panels.end_card import EndCard
from ecs_rl.viewer.panels.finding import FindingLine
from ecs_rl.viewer.panels.grid import AllArenas
from ecs_rl.viewer.panels.help import Help
from ecs_rl.viewer.panels.hints import Hints
from ecs_rl.viewer.panels.inspector import Inspector
from ecs_rl.viewer.panels.joy import Joy
from ecs_rl.viewer.panels.learning import Learning
from ecs_rl.viewer.panels.messages import Messages
from ecs_rl.viewer.panels.mind_panel import MindPanel
from ecs_rl.viewer.panels.profile import Profile
from ecs_rl.viewer.panels.ribbon import Ribbon
from ecs_rl.viewer.panels.scrubber import Scrubber
from ecs_rl.viewer.panels.settings import Settings
from ecs_rl.viewer.panels.stage import Stage
from ecs_rl.viewer.panels.status import Status
from ecs_rl.viewer.panels.tour import Tour
from ecs_rl.viewer.panels.value_plot import ValuePlot
from ecs_rl.viewer.panels.weather import Weather

PANELS: tuple[type[Panel[Any]], ...] = (
    *(Stage, AllArenas, Chips, Hints),
    *(Ribbon, Scrubber),
    *(Status, MindPanel, Learning, FindingLine),
    *(ValuePlot, Joy, EndCard, Weather, Settings, Inspector, Profile, Messages),
    *(Tour, Help),
)
"""From the lowest to the topmost."""
