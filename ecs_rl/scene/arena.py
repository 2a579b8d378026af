"""The builder that a scene file fills in: one arena, described once, run in as many copies as the world wants."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from functools import cached_property, partial
from typing import Any, NoReturn, TypeVar, overload

from ecs_rl import components
from ecs_rl.components import Here, Motion, Pose
from ecs_rl.ecs.component import check_template, is_component, new_handle
from ecs_rl.ecs.context import Context
from ecs_rl.ecs.system import System, declare
from ecs_rl.errors import SceneError
from ecs_rl.scene.agents import AgentSpec, check_alike, check_effects, plan_of
from ecs_rl.scene.bodies import Bodies
from ecs_rl.scene.chance import Spread
from ecs_rl.scene.checks import named, plain, quote, tried, whole
from ecs_rl.scene.controls import Does
from ecs_rl.scene.forces import Always, Forces, Jumped
from ecs_rl.scene.ground import Draws, Line
from ecs_rl.scene.joints import Joint, Pivot
from ecs_rl.scene.lessons import Lessons
from ecs_rl.scene.lines import Lines, Terrain, Wall
from ecs_rl.scene.look import Look, sprite_file
from ecs_rl.scene.marks import Mark, Marks
from ecs_rl.scene.parts import Body, Disc, Polygon, Start, moment_of, no_part
from ecs_rl.scene.placing import Placing, check_start
from ecs_rl.scene.roles import Dice, Draw, Number, Role, is_role
from ecs_rl.scene.rules import Remembering, Restarted, SharedRule, remember
from ecs_rl.scene.scores import Scores
from ecs_rl.scene.sensors import Rule, Sensor, Several
from ecs_rl.scene.touching import Touching

C = TypeVar("C")
F = TypeVar("F", bound=Callable[..., None])
N = TypeVar("N", bound=Number)
Kinds = Iterable[type | Number] | None
"""Components, each by its class or by the number behind which it stands."""
DESCRIBING = (
    *("spawn", "join", "agent", "number", "random", "dice", "draws", "add", "system", "lesson", "always"),
    *("wall", "terrain", "path", "through", "score", "mark"),
)
"""What `build` may call, and nobody once a world runs."""
MOST_SOLID = 31  # the physics tells roles apart by one bit each, and the ground takes one
MOST_MEMBERS = 10_000


@dataclass
class Arena(Bodies, Scores, Lines, Forces, Marks, Lessons):
    """What a scene's `build` receives: spawn roles, join them, give them an agent.

    `build` describes one arena; a world holds as many copies of it as it likes, and every rule serves all at once.
    """

    file: str = ""
    """The scene's, next to which its sprites lie; empty for a scene that was not read from one."""
    roles: list[Role] = field(default_factory=list)
    joints: list[Joint] = field(default_factory=list)
    walls: list[Wall] = field(default_factory=list)
    terrains: list[Terrain] = field(default_factory=list)
    paths: list[Line] = field(default_factory=list)
    drawn: list[Draws] = field(default_factory=list)
    """What several lines, starts and rules share."""
    marks: list[Mark] = field(default_factory=list)
    agents: list[AgentSpec] = field(default_factory=list)
    forces: list[Always] = field(default_factory=list)
    start_slots: dict[str, dict[str, int]] = field(default_factory=dict)
    """Which draw belongs to which field of which role's Start."""
    used: list[Sensor | Remembering] = field(default_factory=list)
    numbers: list[Number] = field(default_factory=list)
    parts: list[object] = field(default_factory=list)
    """Components of the arena itself, with their start values."""
    systems: list[System] = field(default_factory=list)
    draw_count: int = 0
    handles: dict[type, object] = field(default_factory=dict)
    """The arena's own components as a scene may hold them, by their class."""
    ground: Role = field(default_factory=lambda: Role("ground", -1))
    """All walls and terrains: what a joint holds to, and what Touching, Rays, Grid and Motor may name."""
    touchings: list[Touching] = field(default_factory=list)
    """Every Touching of the scene: the physics fills the slots of each."""
    context: Context | None = None
    """The world's, once there is one."""
    passing: list[set[str]] = field(default_factory=list)

    def __post_init__(self) -> None:
        self.placing = Placing(self)

    def spawn(
        self, name: str, *parts: Any, count: int | None = None, here: bool | tuple[bool, ...] | None = None
    ) -> Role:
        """Add a role made of one Body, at least one shape, a Start, a Look, and components of the scene's own.

        `count` makes it many of a kind, each with a row of its own in every column. `here` says whether it is there
        when an episode begins: systems then place it and take it away. A kind may always come and go.
        """
        _new("a role", named("a role", name), [*self.roles, self.ground])
        if count is not None and whole(f"the count of '{name}'", count, 1) > MOST_MEMBERS:
            raise SceneError(f"'{name}' may have at most {MOST_MEMBERS:,} members, not {count:,}")
        own = tuple(part for part in parts if is_component(part) and not isinstance(part, type))
        for part in parts:
            if not isinstance(part, (Body, Disc, Polygon, Start, Look)) and part not in own:
                message = f"'{name}' is made of a Body, shapes, a Start, a Look and components, not of {quote(part)}"
                raise SceneError(message + no_part(part))
        self._check_parts(f"'{name}'", own, count)
        there = here if here is not None or count is None else True
        if there not in (None, True, False) and (not isinstance(there, tuple) or len(there) != count):
            raise SceneError(f"'{name}' is here, True or False, or one of these for each member: not {quote(here)}")
        body, start = _only(Body, "bodies", name, parts) or Body(), _only(Start, "starts", name, parts) or Start()
        look = _only(Look, "looks", name, parts)
        shapes = tuple(part for part in parts if isinstance(part, (Disc, Polygon)))
        if not shapes:
            raise SceneError(f"'{name}' needs at least one shape, such as Box(0.5, 0.3) or Disc(0.2)")
        if look and self.file:
            sprite_file(look, self.file)  # refused here, in the line that spawns, if there is no such file
        check_start(name, start, count)
        if body.moves == "never" and (start.vx, start.vy, start.spin) != (0.0, 0.0, 0.0):
            raise SceneError(f"'{name}' never moves: its start has no vx, vy or spin")
        role = Role(
            name, len(self.roles), body, shapes, start, moment_of(body, shapes), look, own, count, there, arena=self
        )
        if body.solid and sum(each.solid for each in self.roles) == MOST_SOLID:
            raise SceneError(
                f"an arena holds at most {MOST_SOLID} solid roles: make one of many with count=, or not solid"
            )
        drawn = [key for key, value in vars(start).items() if isinstance(value, Spread)]
        self.start_slots[name] = {key: self._draw(role.members) for key in drawn}
        self.roles.append(role)
        self.number_rows()
        return role

    def through(self, *roles: Role) -> None:
        """Let these roles pass through each other, and the members of each through their own kind."""
        for role in roles:
            if is_role("what passes through others is", role) is self.ground:
                raise SceneError("nothing passes through the ground: what is not solid does, Body(solid=False)")
        if not roles:
            raise SceneError("arena.through takes the roles that pass through each other")
        self.passing.append({role.name for role in roles})

    def restart(self, where: Any, *roles: Role) -> None:
        """Start these roles anew where `where`, (arenas,), is true, while the episode goes on: a kick-off.

        For systems that write Pose, and the components of these roles. What Progress, Lasting and laps remember begins
        again in these arenas: the way to where things start anew is no progress.
        """
        if not roles:
            raise SceneError("arena.restart takes the roles that start anew, as in arena.restart(scored, ball, player)")
        for role in roles:
            if is_role("what is started anew is", role) not in self.roles:
                raise SceneError(f"'{role.name}' cannot be started anew")
        self.placing.restart(where, roles)

    def dice(self, spread: Spread | Start | None = None, *, of: Role | None = None) -> Any:
        """Return a number that each tick draws anew, 0 to 1 or from a spread; `of` a kind, one for each member.

        It is a rule. What it gives is a hash of seed, arena, episode and tick. A Start needs no dice: `place` draws its
        spreads anew each time.
        """
        if isinstance(spread, Start):
            return spread
        if spread is not None and not isinstance(spread, Spread):
            raise SceneError(f"dice draw from a spread such as between(0, 1), not {quote(spread)}")
        number = sum(isinstance(each, Dice) for each in self.numbers)
        return self._number(Dice(f"dice {number}", spread or Spread(0.0, 1.0), of.count if of else None))

    def join(self, *joints: Joint) -> None:
        """Hold roles together; joined roles do not collide with each other."""
        for joint in joints:
            if not isinstance(joint, Joint):
                raise SceneError(f"an arena is joined by joints, as in arena.join(Pivot(a, b)), not by {quote(joint)}")
            if joint.a is joint.b or joint.b is self.ground:
                raise SceneError(f"a {type(joint).__name__} joins a role or the ground to another role, in this order")
            if isinstance(joint, Pivot) and joint.a is not self.ground and joint.a.number > joint.b.number:
                raise SceneError(f"spawn '{joint.a.name}' before '{joint.b.name}', which hangs on it")
        self.joints.extend(joints)

    def random(self, name: str, spread: Spread) -> Draw:
        """Return a number that each episode draws anew, for use in rules: `wind.value` is (arenas,)."""
        named("a random number", name)
        if not isinstance(spread, Spread):
            raise SceneError(f"'{name}' is drawn from a spread such as jitter(1.0), not {quote(spread)}")
        return self._number(Draw(name, spread))

    def number(self, name: str, start: float | Spread | Rule = 0.0) -> Number:
        """Return a number of the arena that systems change, such as a score: `got.value` is (arenas,).

        `start` is what an episode begins with: a number, a spread such as `jitter(1.0)`, or a rule.
        """
        return self._number(Number(named("a number", name), start))

    def add(self, part: C) -> C:
        """Give the arena itself a component, such as `wind = arena.add(Wind())`; return its handle, `wind.speed`."""
        if not is_component(part) or isinstance(part, type):
            raise SceneError(
                f"an arena takes an instance of a @component, as in `arena.add(Wind())`, not {quote(part)}"
            )
        self._check_parts("the arena", (*self.parts, part), None)
        self.parts.append(part)
        handle = self.handles[type(part)] = new_handle(type(part))
        return handle

    @overload
    def system(
        self, run: F, *, after: str = "", before: str = "", reads: Kinds = None, writes: Kinds = None, name: str = ""
    ) -> F: ...

    @overload
    def system(
        self, *, after: str = "", before: str = "", reads: Kinds = None, writes: Kinds = None, name: str = ""
    ) -> Callable[[F], F]: ...

    def system(
        self,
        run: Callable[..., None] | None = None,
        *,
        after: str = "",
        before: str = "",
        reads: Kinds = None,
        writes: Kinds = None,
        name: str = "",
    ) -> Any:
        """Add a stage to the tick, as a call or as a decorator; between guard and sense unless told otherwise.

        A closure over handles must say what it `writes`. A function of components, as in `def cool(gun: Gun)`, runs for
        every role that has them all, and may write them.
        """
        if run is None:
            return partial(self.system, after=after, before=before, reads=reads, writes=writes, name=name)
        if isinstance(writes, (tuple, list, set)) and (Pose in writes or Here in writes):
            writes = tuple(dict.fromkeys((*writes, Pose, Motion, Here, Restarted)))  # all that placing changes
        self.systems.append(declare(run, reads=reads, writes=writes, after=after, before=before, name=name))
        return run

    def _number(self, number: N) -> N:
        _new("a number", number.name, [*self.numbers, *self.drawn])
        check_template(number.kind())
        self.numbers.append(number)
        return number

    def _check_parts(self, name: str, parts: Sequence[object], count: int | None) -> None:
        """Refuse components that could not be told apart, in a world or in a saved run."""
        there = [*self.own_parts, *parts]
        for part in parts:
            check_template(part, count if part in parts else None)
            kind = type(part)
            others = [type(other) for other in there if type(other).__name__ == kind.__name__]
            if hasattr(components, kind.__name__) or any(other is not kind for other in others):
                raise SceneError(f"there is a component {kind.__name__} already: give the one of {name} another name")
            if [type(other) for other in parts].count(kind) > 1:
                raise SceneError(f"{name} has two {kind.__name__}: a component is there once")

    def use(self, rule: Sensor | Remembering) -> Sensor | Remembering:
        """Make a sensor or a remembering rule known that is only read inside other rules; returns it."""
        if not isinstance(rule, (Sensor, Remembering)):
            raise SceneError(f"arena.use takes a sensor, Progress or Lasting; {quote(rule)} needs no use")
        inner = getattr(rule, "read" if isinstance(rule, Sensor) else "rule", None)
        if isinstance(inner, (Sensor, Remembering)):
            self.use(inner)
        if not any(rule is other for other in self.used):  # a sensor of the scene's own may equal another
            self.used.append(rule)
            if isinstance(rule, Remembering):
                rule.known = True
        return rule

    def shared(self, rule: Rule) -> SharedRule:
        """Return the rule as one that is worked out once for all who ask it, as a call or as a decorator.

        Its value is kept while nothing changes; in a system it is worked out each time. It is read-only.
        """
        if isinstance(rule, (Sensor, Remembering)):
            self.use(rule)
        return SharedRule(rule, lambda: self.context)

    def agent(
        self,
        *,
        sees: list[Sensor],
        does: Does,
        earns: Mapping[str, Rule | float],
        ends: Mapping[str, Rule] | None = None,
        name: str | None = None,
        policy: str = "policy",
        of: Role | None = None,
        critic_sees: list[Sensor] | str | None = None,
    ) -> AgentSpec:
        """Add an agent; agents of the same policy must see and do alike, and learn together.

        `of` a kind it is one agent for each member. What they see, do and earn has a number for each, (arenas, count);
        what has one per arena goes to all. A member that is not here is out: it earns nothing and nothing is learned
        from it until it is placed again; an end with (arenas, count) truths lets members leave.

        With `critic_sees` the critic of PPO, SAC, TD3 and IQL sees these sensors too while it learns. What acts sees
        `sees` alone, so that a pilot needs no more than that. `critic_sees="team"`: what all members of the kind see.
        """
        name = name if name is not None else of.name if isinstance(of, Role) else "agent"
        plain("an agent", name), plain("a policy", policy)
        _new("an agent", name, self.agents)
        plan = plan_of(name, policy, sees=sees, does=does, critic_sees=critic_sees, earns=earns, ends=ends, of=of)
        check_effects(f"'{name}'", plan.does.effects, [*self.effects], self.roles, self.ground, count=plan.count)
        first = next((other for other in self.agents if other.policy == policy), plan)
        check_alike(plan, first)
        for rule in (*plan.earns.values(), *plan.ends.values()):
            if isinstance(rule, Remembering) and rule.count is None:
                rule.count = plan.count
        self._use_all((*plan.senses, *plan.does.effects, *plan.earns.values(), *plan.ends.values()))
        self.agents.append(plan)
        return plan

    def finish(self) -> None:
        """Check what can only be seen once everything is there."""
        if not self.agents:
            raise SceneError("a scene needs at least one agent: call arena.agent(...)")
        self.ground.number = len(self.roles)
        first = 0
        for touching in self.touchings:
            touching.slot, first = first, first + touching.slots
        dice = [number.kind for number in self.numbers if isinstance(number, Dice)]
        if dice:
            self.systems.insert(0, declare(self._roll, after="guard", writes=dice, name="roll", checked=False))
        self.number_segments()
        self.gather_pulls()
        if self.memories:
            self.systems.insert(0, remember(self.memories, self.placing.restarted))
        for sensor in self.used:
            if isinstance(sensor, Several):
                sensor.among(self.roles, self.ground)
        vars(self).update((name, partial(_too_late, name)) for name in DESCRIBING)

    def try_rules(self, arenas: int) -> None:
        """Ask every rule once, so that one that cannot work is refused before anything is learned from it."""
        for agent in self.agents:
            for name, rule in agent.earns.items():
                tried(f"the reward '{name}'", rule, arenas, count=agent.count)
            for name, rule in agent.ends.items():
                tried(f"the end '{name}'", rule, arenas, truth=True, count=agent.count)
        for name, rule in self.scores.items():
            tried(f"the score '{name}'", rule, arenas)
        self.try_marks(arenas)

    def _roll(self) -> None:
        """Draw every die anew."""
        for stream, dice in enumerate(dice for dice in self.numbers if isinstance(dice, Dice)):
            dice.value = dice.start(self.placing.rolled(stream, dice.count))

    @cached_property
    def memories(self) -> list[Remembering]:
        """The rules that remember, in order."""
        return [rule for rule in self.used if isinstance(rule, Remembering)]

    @property
    def own_parts(self) -> list[object]:
        """The scene's own components, with their start values."""
        return [*self.parts, *(part for role in self.roles for part in role.parts)]

    @property
    def kinds(self) -> list[type]:
        """Return the components that the scene brings along, each once, those behind its numbers and rules included."""
        behind = [each.kind for each in self.numbers] + [each.kind for each in self.memories]
        behind += [Restarted for _ in self.memories]
        lines = [each.kind for each in self.paths] + [Jumped for _ in self.jumps]
        return list(dict.fromkeys([*map(type, self.own_parts), *behind, *lines]))

    def _draw(self, count: int) -> int:
        slot, self.draw_count = self.draw_count, self.draw_count + count
        return slot

    @property
    def wants_contacts(self) -> bool:
        """Whether anything asks who touches whom."""
        return bool(self.touchings)

    @property
    def wants_impulses(self) -> bool:
        """Whether anything asks how hard."""
        return any(each.weighed for each in self.touchings)


def _too_late(name: str, *_: object, **__: object) -> NoReturn:
    """Refuse a description that comes when the world is there."""
    raise SceneError(f"arena.{name}(...) describes the arena: call it in `build`, not in a rule or a system")


def _new(what: str, name: str, there: Sequence[Role | Number | Draws | AgentSpec]) -> None:
    """Refuse a name that is taken."""
    if any(other.name == name for other in there):
        raise SceneError(f"there is {what} '{name}' already: give this one another name")


def _only(kind: type[C], several: str, name: str, parts: Sequence[object]) -> C | None:
    """Return the role's only part of a kind, None if it has none."""
    fitting = [part for part in parts if isinstance(part, kind)]
    if len(fitting) > 1:
        raise SceneError(f"'{name}' has {len(fitting)} {several}: say all of it in one {kind.__name__}(...)")
    return fitting[0] if fitting else None
