"""The scores of an arena: numbers, each by a rule, that say what an episode came to whatever was earned."""

from __future__ import annotations

from functools import cached_property
from typing import TYPE_CHECKING

from ecs_rl.errors import SceneError
from ecs_rl.scene.checks import plain, ruling
from ecs_rl.scene.rules import Remembering
from ecs_rl.scene.sensors import Rule, Sensor


class Scores:
    """What of an arena is about scores."""

    if TYPE_CHECKING:

        def use(self, rule: Sensor | Remembering) -> Sensor | Remembering:
            """See `Arena.use`."""

    @cached_property
    def scores(self) -> dict[str, Rule]:
        """What each named score is worked out by, in order."""
        return {}

    def score(self, name: str, rule: Rule) -> Rule:
        """Name a number of the arena, such as coins, whose value when an episode ends is a score of it; returns `rule`.

        The rule gives (arenas,). `Scene(score=name)` makes it what `best`, `solved_at` and evaluations go by.
        """
        if plain("a score", name) in self.scores:
            raise SceneError(f"there is a score '{name}' already: give this one another name")
        self.scores[name] = ruling(f"the score '{name}'", rule, "`lambda: coins.value`")
        if isinstance(rule, (Sensor, Remembering)):
            self.use(rule)
        return rule
