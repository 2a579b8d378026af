"""The show: one arena played in real time in a world of its own, for a window or a film. It never feeds the learner."""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping, Sequence
from dataclasses import replace
from time import perf_counter

import numpy as np

from ecs_rl.agents.base import Agent
from ecs_rl.callbacks import Callbacks
from ecs_rl.components import Chance, Clock, EpisodeEnd, Terms, UserInput
from ecs_rl.results import Results
from ecs_rl.scene.lessons import teach
from ecs_rl.scene.roles import Role
from ecs_rl.scene.scene import Scene
from ecs_rl.schedule import ON_STAGE
from ecs_rl.spaces import ActMode
from ecs_rl.training.opponent import Driver
from ecs_rl.training.scene_agents import deciding
from ecs_rl.viewer.gather import EnvReader, Reader, reader_of
from ecs_rl.viewer.mind import Mind
from ecs_rl.viewer.number_formats import signed
from ecs_rl.viewer.objects import BodyId
from ecs_rl.viewer.played_episodes import Ended, PlayedEpisodes, reasons_of, record_of, tone_of
from ecs_rl.viewer.shapes import place
from ecs_rl.viewer.tick_log import Rewind, TickLog
from ecs_rl.viewer.view import Point, StageOverlay, StageView
from ecs_rl.world import World
from ecs_rl.worlds import make_world

PAYS = 5.0
"""A bad ending that earns so many times what another tick does is said to."""
REST = 1.0
"""Seconds for which the picture of an ending stays: real ones, or the stage's where those pass faster."""
KICK = 2.0
"""Metres per second that a kick adds, about."""
MEASURE = 0.5
"""Seconds over which the reached speed is measured."""


class LiveEpisode:
    """Plays the episodes that `seeds` name, each in an arena of its own, and watches one of them."""

    replays = False
    """Whether what is done was decided before."""

    def __init__(
        self,
        scene: Scene,
        agents: Mapping[str, Agent],
        *,
        seeds: Sequence[int],
        sampled: bool = False,
        label: str = "",
        stays: bool = False,
        opponent: Driver | None = None,
    ) -> None:
        self.scene, self.seeds, self.arena = scene, tuple(seeds), 0
        self.names = [f"seed {seed}" for seed in seeds]
        self.sampled, self.stays = sampled, stays
        self.counted = "score" if scene.score else "return"
        """What `total` is, in a word."""
        self.paused, self.speed, self.reached = False, 1.0, 1.0
        self.touched = False
        self.note, self.overlay = "", StageOverlay()
        """What else the caption says."""
        self.ended: list[Ended] = []
        """Episodes since somebody last looked, who clears it."""
        self.outcome: Ended | None = None
        """How the episode ended whose last picture still stands."""
        self.hand = UserInput()
        self.watchers: list[Callable[[], None]] = []
        """Called when a tick is in the log, before anything of it is lost."""
        self.world = make_world(
            scene,
            arenas=len(self.seeds),
            seeds=self.seeds,
            policies=deciding(agents, self.mode),
            stages=ON_STAGE,
            resources=(self.hand,),
            callbacks=Callbacks(render=self._look),
        )
        self.opponent = self.rival = opponent
        """Who drives the other side: here, and where another agent plays the episode that is to be seen."""
        if opponent is not None:
            opponent.drive(self.world)
        self.clock, self.terms = self.world.one(Clock), self.world.one(Terms)
        self._keys = self.world.one(Chance).key.copy()
        self.reader = reader_of(self.world)
        self.agents, self.label = agents, label
        self._billed = (label, sampled)
        self._fair = True
        """The running episode was played by one policy in one mode."""
        self._chance = np.random.default_rng(self.seeds[0] & 0xFFFFFFFF)
        self.held: StageView | None = None
        """The last picture of an episode that has ended, as long as it stands."""
        self._rest = 0.0
        self._owed = 0.0
        """Ticks that are due, the broken part of one included."""
        self._speedometer = Speedometer()
        self.reader.follow(0)
        self.log = TickLog(self)
        self.rewind, self.played = Rewind(self), PlayedEpisodes(self)
        self.mind = Mind(self.world, agents, self.rewind)
        self.log.note(begins=True)

    # --- who plays --------------------------------------------------------------------------------------------------

    @property
    def mode(self) -> ActMode:
        """Whether actions are sampled or the best ones."""
        return ActMode.SAMPLE if self.sampled else ActMode.GREEDY

    def use(self, agents: Mapping[str, Agent], label: str) -> None:
        """Let other agents play from the next tick on."""
        if agents is not self.agents:
            self.log.cut()
        self.agents, self.label, self._fair = agents, label, False
        self.mind.use(agents)
        for policy, choose in deciding(agents, self.mode).items():
            self.world.drive(policy, choose)
        if self.opponent is not None:
            self.opponent.drive(self.world)

    def sample(self, sampled: bool) -> None:
        """Draw the actions as training does, or take the best ones."""
        self.sampled = sampled
        self.use(self.agents, self.label)

    # --- which episode ----------------------------------------------------------------------------------------------

    @property
    def episodes(self) -> int:
        """How many different episodes there are to watch."""
        return len(self.seeds)

    @property
    def episode(self) -> int:
        """Which episode of the arena is to be seen; while its ending stands, the arena itself is in the next."""
        return int(self.clock.episode[self.arena]) - int(self.resting and self.rewind.at is None)

    def go_to(self, arena: int, episode: int = 0) -> None:
        """Watch this arena's episode from its beginning, exactly as an evaluation plays it."""
        self.rewind.leave()
        self.world.one(Chance).key[:] = self._keys
        self.names = [f"seed {seed}" for seed in self.seeds]
        self._start(arena % len(self.seeds), episode)

    def _start(self, arena: int, episode: int) -> None:
        self.arena = arena
        self.clock.episode[:] = episode
        self.hand.arena, self.hand.role, self.hand.kicked, self._owed = self.arena, None, None, 0.0
        self._start_world()
        self.log.begin()
        self._begin()

    def _start_world(self) -> None:
        self.world.start_over()

    def restart(self) -> None:
        """Begin the same episode again, in the past the one that is seen there."""
        key, name, episode = self.world.one(Chance).key, self.names[self.arena], self.episode
        named = key[self.arena]
        self.rewind.leave()
        key[self.arena], self.names[self.arena] = named, name
        self._start(self.arena, episode)

    def new_episode(self) -> None:
        """Begin the next episode of the arena."""
        self.rewind.leave()
        self._start(self.arena, self.episode + 1)

    def adopt(self, source: World, arena: int, name: str) -> None:
        """Go on here from where an arena of another world of the same scene stands, until somebody goes elsewhere."""
        self.rewind.leave()
        self.world.copy_arena(source, arena, self.arena)
        teach(self.world.arena.lessons, 0)  # the running episode goes on as it is, and the next is the full task
        self.names[self.arena], self._owed = name, 0.0
        self.world.rebuild()
        self.log.adopt()
        self._begin()

    def _begin(self, *, anew: bool = True) -> None:
        """Let an episode be seen from here on that nobody has touched."""
        self.held, self.outcome, self._rest, self.touched, self._fair = None, None, 0.0, False, True
        self.reader.follow(self.arena, anew=anew)
        self.log.note(begins=True)

    # --- time -------------------------------------------------------------------------------------------------------

    def advance(self, seconds: float, budget: float = math.inf) -> None:
        """Let so many seconds of real time pass: run the ticks that are due, as far as the budget of seconds goes."""
        if self.paused or seconds <= 0:
            return
        until = perf_counter() + budget
        passed = seconds * self.speed
        if self.rewind.at is not None:
            self.rewind.advance(seconds, passed)
            return
        if self.held is not None:
            self._rest -= max(passed, seconds)
            if self._rest > 0 or self.stays:
                return
            self._go_on()
        owed, done = self._owed + passed / self.scene.dt, 0
        while owed >= 1.0 and perf_counter() < until:
            self._tick()
            owed, done = owed - 1.0, done + 1
            if self.held is not None:
                if math.isfinite(self.speed) or math.isinf(budget) or self.stays:
                    break
                self._go_on()  # nobody could see it
        # What the budget left out stays out: the stage falls behind, it never catches up in a rush.
        self._owed = owed % 1.0 if math.isfinite(owed) else 0.0
        self.reached = self._speedometer.note(self.speed, seconds, done * self.scene.dt)

    def tick(self) -> None:
        """Run exactly one tick, in the past the next one again; the picture of an ending first gives way."""
        if self.rewind.at is not None:
            self.rewind.go(self.rewind.here + 1)
            return
        if self.held is not None:
            self._rest = 0.0
            if not self.stays:
                self._go_on()
            return
        self._tick()
        self._owed = 0.0

    def _tick(self) -> None:
        self.log.take_hand()
        self.world.tick()
        self.log.begin_anew()
        if self.held is None:  # else its end was noted in the middle of the tick
            self.log.note()

    def go_on_from_here(self) -> bool:
        """Let the moment of the past that is seen be the present; False where an episode ended with it."""
        if self.rewind.at is not None:
            if not self.rewind.branch():
                return False
            self._owed, self._fair = 0.0, False
        return True

    def _go_on(self) -> None:
        """Leave the picture of an ending."""
        self.hand.kicked = None  # who kicked it kicked nothing
        self._begin(anew=False)

    # --- hands ------------------------------------------------------------------------------------------------------

    def grab(self, chosen: BodyId, at: Point) -> None:
        """Hold a body where it is at this point of the arena, if forces move it at all."""
        role = self._role(chosen.role)
        if self.resting or chosen not in self._bodies() or not self.go_on_from_here():
            return
        (x, y), angle = self._pose(role, chosen.member)
        self.hand.arena, self.hand.role, self.hand.member, self.hand.to = self.arena, role.number, chosen.member, at
        self.hand.at = place((0.0, 0.0), -angle, (at[0] - x, at[1] - y))
        self.touched = True

    def drag(self, to: Point) -> None:
        """Move the hand that holds a body."""
        self.hand.to = to

    def let_go(self) -> None:
        """Hold nothing."""
        self.hand.role = None

    def poke(self, chosen: BodyId | None = None) -> str:
        """Kick a body, any solid one unless told, in a random direction; return its name, empty where there is none."""
        bodies = [body for body in self._bodies() if chosen == body or (chosen is None and self._role(body.role).solid)]
        if self.resting or not bodies or not self.go_on_from_here():
            return ""
        chosen = bodies[int(self._chance.integers(len(bodies)))]
        role = self._role(chosen.role)
        angle, spin = self._chance.uniform(-math.pi, math.pi), self._chance.normal(0.0, 2.0)
        self.hand.arena, self.hand.kicked, self.hand.kicked_member = self.arena, role.number, chosen.member
        self.hand.kick = (KICK * math.cos(angle), KICK * math.sin(angle), float(spin))
        self.touched = True
        return chosen.label(many=role.count is not None)

    def _role(self, name: str) -> Role:
        return next(role for role in self.world.arena.roles if role.name == name)

    def _bodies(self) -> list[BodyId]:
        """Return all bodies that are here and that forces move."""
        if isinstance(self.reader, EnvReader):
            return []
        places = self.reader.places
        here = places.at(self.arena).here
        return [
            BodyId(role.name, member)
            for role in self.world.arena.roles
            if role.body is not None and role.body.moves == "freely"
            for member in np.flatnonzero(here[places.slices[role.number]]).tolist()
        ]

    def _pose(self, role: Role, member: int) -> tuple[Point, float]:
        """Return position and angle of a body."""
        at, angle = role.position[self.arena].reshape(-1, 2)[member], np.ravel(role.angle[self.arena])[member]
        return (float(at[0]), float(at[1])), float(angle)

    # --- pictures ---------------------------------------------------------------------------------------------------

    def stage(self, *, selected: BodyId | None = None) -> StageView:
        """Return the picture of this moment."""
        if self.held is not None:
            prompt = self.overlay.prompt
            return replace(self.held, ending=prompt, ending_detail="") if prompt else self.held
        owed = self._owed if self.rewind.at is None else self.rewind.owed
        blend = 1.0 if self.paused or self.hand.role is not None else min(1.0, owed)
        view = self.reader.stage(self.arena, blend=blend, caption=self.caption, selected=selected)
        return replace(view, grip=self._grip(), ending=self.overlay.prompt)

    @property
    def resting(self) -> bool:
        """Whether an episode has ended and its last picture still stands."""
        return self.held is not None

    @property
    def rested(self) -> bool:
        """Whether that picture has stood long enough."""
        return self.held is not None and self._rest <= 0 and self.rewind.at is None

    @property
    def total(self) -> float:
        """What stands for the episode that is to be seen, so far: its score, or what it has earned."""
        return self.outcome.total if self.outcome is not None else float(Results(self.world).now()[self.arena])

    @property
    def who(self) -> str:
        """Who plays, and in which mode."""
        return f"{self.label}, {'sampled' if self.sampled else 'greedy'}".removeprefix(", ")

    @property
    def caption(self) -> str:
        """Who plays which episode, since when, and what it earned so far."""
        who = self.who if self.rewind.at is None else self.rewind.current.who
        return "  ·  ".join(filter(None, (who, self.short_caption, f"{self.counted} {signed(self.total)}", self.note)))

    @property
    def short_caption(self) -> str:
        """Which episode it is, and since when it runs."""
        tick = self.outcome.length if self.outcome is not None else int(self.clock.tick[self.arena])
        which = self.names[self.arena] + (f", episode {self.episode}" if self.episode else "")
        return f"{which}  ·  {tick * self.scene.dt:.1f} s"

    def _grip(self) -> tuple[Point, Point] | None:
        if self.hand.role is None:
            return None
        role = self.world.arena.roles[self.hand.role]
        return place(*self._pose(role, self.hand.member), self.hand.at), self.hand.to

    # --- what the world's render stage calls --------------------------------------------------------------------------

    def _look(self) -> None:
        self._lose_what_left()
        self.reader.follow(self.arena, held=self.hand.role is not None)
        self.log.append()
        for watcher in self.watchers:
            watcher()
        if self.world.one(EpisodeEnd).ended[self.arena]:
            self._end()

    def _lose_what_left(self) -> None:
        """Hold a body no longer that is not here any more."""
        if self.hand.role is not None:
            role = self.world.arena.roles[self.hand.role]
            if BodyId(role.name, self.hand.member) not in self._bodies():
                self.let_go()

    def _end(self) -> None:
        arena, total, reasons = self.arena, self.total, reasons_of(self.world, self.arena)
        tone, mark = tone_of(self.world, arena, total, reasons), "  with your help" if self.touched else ""
        text = f"{', '.join(reasons) or 'time is up'}  {signed(total)}{mark}"
        touch = self.reader.newest_touch() if tone == "bad" and isinstance(self.reader, Reader) else None
        body, words = (None, "") if touch is None else touch
        paid = _paid(self.world, arena) if tone == "bad" else 0.0
        detail = "  ·  ".join(filter(None, (words, f"this tick earned {signed(paid)}" if paid > 0 else "")))
        picture = self.reader.stage(arena, caption=self.caption, selected=body)
        self.held = replace(picture, ending=text, ending_detail=detail, ending_tone=tone, grip=self._grip())
        self._rest, self.hand.role = REST, None
        self.outcome = Ended(
            arena,
            self.seeds[arena],
            total,
            record_of(self.world, arena, reasons),
            reasons,
            tone,
            self._fair and not self.touched and (self.label, self.sampled) == self._billed,
        )
        self.ended.append(self.outcome)
        self.log.note()

    def close(self) -> None:
        """Give the world back."""
        self.world.close()


def _paid(world: World, arena: int) -> float:
    """Return what the last tick has earned, if that is far more than others did; 0 where there are several agents."""
    if len(world.batches) > 1 or world.batches[0].rows > world.arenas:
        return 0.0  # one may win by what another loses
    terms, ticks = world.one(Terms), int(world.one(Clock).tick[arena])
    paid, whole = float(terms.now[:, arena].sum()), float(terms.total[:, arena].sum())
    return paid if paid * ticks > PAYS * abs(whole - paid) else 0.0


class Speedometer:
    """Measures times real time; what was reached of another speed is forgotten when a new one is asked for."""

    def __init__(self) -> None:
        self.reached = 1.0
        self._asked = 1.0
        self._seconds = self._passed = 0.0

    def note(self, asked: float, seconds: float, passed: float) -> float:
        """Take in so many seconds of real time, and of the show's; return what is reached."""
        if asked != self._asked:
            self._asked = self.reached = asked
            self._seconds = self._passed = 0.0
        self._seconds += seconds
        self._passed += passed
        if self._seconds >= MEASURE:
            self.reached = self._passed / self._seconds
            self._seconds = self._passed = 0.0
        return self.reached
