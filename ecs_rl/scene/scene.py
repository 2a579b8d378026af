"""What a scene file says besides its arena: the clock, the goal, and how to train it well."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from pathlib import Path

from ecs_rl.errors import RuleError, SceneError, nearest, visible
from ecs_rl.scene.arena import Arena
from ecs_rl.scene.camera import Camera, Follow, View
from ecs_rl.scene.checks import Point, finite, point, quote, whole
from ecs_rl.scene.engine import MakeEngine
from ecs_rl.scene.look import BACKDROPS
from ecs_rl.scene.outline import Outline, refuse_another
from ecs_rl.user_files.opened import differing

Recipe = dict[str, object]
"""Good training settings for one agent: run settings and the algorithm's own, by the names of the command line."""


@dataclass(frozen=True)
class Scene:
    """What a scene file says besides its arena: the clock, the goal, and how to train it well.

    A scene file has one, `SCENE = Scene(...)`, and a function `build(arena)`.
    """

    about: str
    """One sentence for lists and windows."""
    max_ticks: int
    """Decisions after which an episode is cut."""
    solved_at: float | None = None
    """Mean of the greedy evaluation that counts as solved: of the score if there is one, else of the return."""
    dt: float = 1 / 50
    """Seconds of one tick."""
    substeps: int = 1
    """Physics steps in one tick."""
    gravity: Point = (0.0, -9.81)
    """Metres per second squared, to the right and up; (0, 0) for a game that is seen from above."""
    extent: float = 50.0
    """Nothing may get further than this from the arena's origin, metres; what does is cut as an explosion."""
    camera: Camera | None = None
    """What window and films show: a `Follow` or a `View`; None shows everything that an arena visits."""
    backdrop: str = "night"
    """What lies behind the arena in windows and films: `night`, `space`, `dusk` or `meadow`."""
    recipes: Mapping[str, Recipe] = field(default_factory=dict)
    """Settings by algorithm, `{"ppo": {"arenas": 64, "steps": "1M", "lr": 1e-3}}`; the first is the scene's default."""
    score: str = ""
    """The `arena.score` that `best`, `solved_at` and evaluations go by; '' goes by the return."""
    name: str = ""
    """Set by the loader, from the file's name."""
    file: str = ""
    """Its path. Set by the loader."""
    reference: str = ""
    """Its name, or its path for one that does not come with the project. Set by the loader."""
    sha256: str = ""
    """Of its file and of what that imports from its folder, to tell whether it was trained. Set by the loader."""
    data: Mapping[str, str] = field(default_factory=dict)
    """What is in the files that it opens below its folder, by path (see opened.py). Set by the loader."""
    outline: Outline = field(default_factory=dict)
    """What `build` described at first, and must describe each time. Set by the loader."""
    build: Callable[[Arena], None] = lambda arena: None
    """The function of that name in its file. Set by the loader."""
    engine: MakeEngine | None = None
    """Makes the engine of a world; None stands for the project's own physics. Set by a loader."""

    def __post_init__(self) -> None:
        if not isinstance(self.about, str):
            raise SceneError(f"about must be a text, not {quote(self.about)}")
        if not isinstance(self.score, str):
            raise SceneError(f"score must be the name of an arena.score, not {quote(self.score)}")
        if self.solved_at is not None:
            finite("solved_at", self.solved_at)
        whole("max_ticks", self.max_ticks, 1), whole("substeps", self.substeps, 1)
        for what, number in (("dt", self.dt), ("extent", self.extent)):
            if not (isinstance(number, (int, float)) and 0 < number < float("inf")):
                raise SceneError(f"{what} must be a finite number above zero, not {quote(number)}")
        point("gravity", self.gravity)
        if self.camera is not None and not isinstance(self.camera, (Follow, View)):
            raise SceneError(f"a camera must be a Follow(role, width=...) or a View(x, y), not {quote(self.camera)}")
        if self.backdrop not in BACKDROPS:
            message = f"a backdrop cannot be {quote(self.backdrop)}"
            raise SceneError(f"{message}: {nearest(str(self.backdrop), BACKDROPS)}")
        if not isinstance(self.recipes, Mapping):
            raise SceneError(f"recipes must be a dict of agents and their recipes, not {quote(self.recipes)}")
        for agent, recipe in self.recipes.items():
            if not isinstance(agent, str) or not agent.isidentifier():
                message = "an algorithm is named by a word, as in {'ppo': {...}}"
                raise SceneError(f"a recipe for an unknown agent '{agent}': {message}")
            if not isinstance(recipe, dict):
                raise SceneError(f"the recipe for '{agent}' must be a dict of settings, not {quote(recipe)}")

    @property
    def can_be_shared(self) -> bool:
        """Whether several processes can share its arenas: an engine of its own keeps them in one process."""
        return self.engine is None

    @property
    def data_files(self) -> list[Path]:
        """Return the files that it opens below its folder."""
        return [Path(self.file).parent / name for name in self.data]

    def changed_file(self, sha256: str, data: Mapping[str, str] | None) -> str:
        """Return the first of its files that is not as it was, "" if all are; "" and None say what is not known."""
        if sha256 not in ("", self.sha256):
            return self.file
        changed = [] if data is None else differing(data, self.data)
        return visible(str(Path(self.file).parent / changed[0])) if changed else ""

    def describe(self) -> Arena:
        """Return a new description of one arena, with handles of its own."""
        arena = Arena(self.file)
        self.build(arena)
        arena.finish()
        refuse_another(self.file, arena, self.outline)
        if self.score and self.score not in arena.scores:
            message = f"Scene(score='{self.score}') names a score that `build` does not declare"
            cure = nearest(self.score, arena.scores) if arena.scores else f"add arena.score('{self.score}', rule)"
            raise RuleError(f"{message}: {cure}", self.build)
        if message := arena.check_lessons([*arena.scores], self.score):
            raise RuleError(message, self.build)
        if isinstance(self.camera, Follow):
            self.camera.check(arena, self.file)
        return arena
