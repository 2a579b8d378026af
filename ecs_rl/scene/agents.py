"""What an agent is made of, and what makes none: told where the agent is added, before anything runs."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import partial
from itertools import accumulate, zip_longest
from typing import Any

from ecs_rl.arrays import F64
from ecs_rl.errors import SceneError
from ecs_rl.scene.allowed import Allowed
from ecs_rl.scene.checks import by_value, finite, named, quote, ruling, seen_at_once
from ecs_rl.scene.controls import Choice, Controls, Does, Lever, Levers, Trigger
from ecs_rl.scene.effects import Effect
from ecs_rl.scene.rays import Rays
from ecs_rl.scene.roles import Role, is_role
from ecs_rl.scene.sensors import Rule, Sensor, sound
from ecs_rl.scene.teammates import TEAM, Teammates
from ecs_rl.spaces import Layout, spans

AN_END = "`beyond(X(cart), 2.0)`"
RESERVED = ("end", "score")
"""What the log tells the ends and the scores of an episode by, as in `end/lost`."""


@dataclass(frozen=True)
class AgentSpec:
    """One agent of the arena: what it sees, does and earns, and the rules that end the episode."""

    name: str
    policy: str
    sees: tuple[Sensor, ...]
    does: Does
    earns: Mapping[str, Rule]
    ends: Mapping[str, Rule]
    critic_sees: tuple[Sensor, ...] = ()
    """What its critic sees besides, while it learns."""
    of: Role | None = None
    """The kind of which each member is such an agent; None for one agent alone."""

    @property
    def count(self) -> int | None:
        """How many agents of a kind it is, None for one alone."""
        return None if self.of is None else self.of.count

    @property
    def members(self) -> int:
        """How many rows it has in each arena."""
        return 1 if self.of is None else self.of.members

    def amount_for(self, effect: Effect, amount: F64, arenas: int) -> F64:
        """Return its (rows,) of how strongly an effect works as it stands beside the columns of the effect's role."""
        if self.count is None:
            return amount if effect.role.count is None else amount[:, None]
        return amount.reshape(self.count, arenas).T

    @property
    def observation_names(self) -> tuple[str, ...]:
        """The name of each number that the agent sees."""
        return tuple(name for sensor in self.sees for name in sensor.names)

    @property
    def critic_names(self) -> tuple[str, ...]:
        """The name of each number that only its critic sees."""
        return tuple(name for sensor in self.critic_sees for name in sensor.names)

    @property
    def senses(self) -> tuple[Sensor, ...]:
        """All its sensors, those of its critic last."""
        return (*self.sees, *self.critic_sees)

    @property
    def allowed(self) -> tuple[tuple[int, int], ...]:
        """Which numbers of the observation say whether an option may be chosen, each with the option's output."""
        masks = [(first, sensor) for first, sensor in self._sensors if isinstance(sensor, Allowed)]
        return tuple((first + i, output) for first, mask in masks for i, output in enumerate(mask.outputs))

    @property
    def layout(self) -> Layout:
        """Which of the numbers that the agent sees form a picture or tell of a set."""
        seen = self._sensors
        return tuple(replace(sensor.layout, first=first) for first, sensor in seen if sensor.layout is not None)

    @property
    def _sensors(self) -> list[tuple[int, Sensor]]:
        """The sensors, each behind the place of its first number in an observation."""
        firsts = accumulate((len(sensor.names) for sensor in self.sees), initial=0)
        return list(zip(firsts, self.sees, strict=False))


def plan_of(
    name: str,
    policy: str,
    *,
    sees: object,
    does: object,
    critic_sees: object,
    earns: object,
    ends: object,
    of: Role | None,
) -> AgentSpec:
    """Return the plan of an agent, or refuse one made of the wrong things, by what is expected in their place."""
    if name in RESERVED:
        raise SceneError(f"an agent cannot be named '{name}': that is what the {name}s of episodes are told by")
    if not isinstance(does, (Choice, Levers, Controls)):
        alone = {Trigger: ": name it, as in Controls(fire=Trigger())", Lever: ": name it, as in Controls(aim=Lever())"}
        cure = alone.get(type(does), "")
        wanted = "a Choice(...), Levers(...) or Controls(...) of effects"
        raise SceneError(f"does must be {wanted}, not {quote(does)}{cure}")
    seen = (*_sensors(sees), *_masks(does))
    earned = _rules("earns", "reward", earns, _reward)
    ended = _rules("ends", "end", {} if ends is None else ends, partial(ruling, such_as=AN_END))
    if not seen or not earned:
        raise SceneError(f"the agent '{name}' needs something to see and something to earn")
    if of is not None and is_role("an agent is one of", of).count is None:
        raise SceneError(f"'{of.name}' is one thing, not many of a kind: leave out of=, or spawn it with count=")
    plan = AgentSpec(name, policy, seen, does, earned, ended, (), of)
    plan = replace(plan, critic_sees=_critic(plan, critic_sees))
    numbers = (*plan.observation_names, *plan.critic_names)
    seen_at_once(f"all that '{name}' sees", len(numbers))
    twice = [number for number, times in Counter(numbers).items() if times > 1]
    if twice:
        raise SceneError(f"'{name}' sees '{twice[0]}' twice: each number that is seen needs a name of its own")
    return plan


def _critic(plan: AgentSpec, sees: object) -> tuple[Sensor, ...]:
    """Return the sensors that only the agent's critic has; SceneError where it would see nothing more."""
    if sees is None:
        return ()
    if sees == TEAM:
        if plan.of is None or plan.members < 2:
            raise SceneError(f"'{plan.name}' is no team of several members of a kind: leave critic_sees='{TEAM}' out")
        return (Teammates(plan.of, plan.observation_names),)
    sensors = _sensors(sees, "critic_sees")
    names = {name for sensor in sensors for name in sensor.names}
    if names <= {*plan.observation_names}:
        raise SceneError(f"the critic of '{plan.name}' sees nothing that '{plan.name}' does not see: leave it out")
    return sensors


def _sensors(sees: object, what: str = "sees") -> tuple[Sensor, ...]:
    if not isinstance(sees, (list, tuple)):
        raise SceneError(f"{what} must be a list of sensors, as in `{what}=[X(cart)]`, not {quote(sees)}")
    rays = Counter[Role]()
    for sensor in sees:
        if not isinstance(sensor, Sensor):
            cure = ": give it a name, as in Feel('height', rule)" if callable(sensor) else ""
            raise SceneError(f"{what} must be made of sensors such as X(cart), not of {quote(sensor)}{cure}")
        sound(sensor)
        if isinstance(sensor, Rays):  # the numbers of a role's rays go on from one fan to the next
            sensor.names = sensor.named_from(rays[sensor.role])
            rays[sensor.role] += len(sensor.angles)
    return tuple(sees)


def _masks(does: Does) -> Iterator[Sensor]:
    """Yield the sensors of what the agent may choose."""
    controls = does.parts if isinstance(does, Controls) else (does,)
    for control, (_, _, outputs) in zip(controls, spans(does.space), strict=True):
        if isinstance(control, (Choice, Trigger)):
            yield from control.allows(outputs.start)


def _rules(what: str, kind: str, rules: object, checked: Callable[[str, Any], Rule]) -> Mapping[str, Rule]:
    if not isinstance(rules, Mapping):
        raise SceneError(f"{what} must be a dict of names and rules, not {quote(rules)}")
    for name in rules:
        begins, slash, _ = named(f"each {kind}", name).partition("/")
        if slash and begins in RESERVED:
            raise SceneError(f"the name of a {kind} must not begin with '{begins}/', as '{name}' does")
    return {name: checked(f"the {kind} '{name}'", rule) for name, rule in rules.items()}


def _reward(what: str, value: Rule | float) -> Rule:
    if callable(value):
        return ruling(what, value)
    try:
        number = finite(what, value)
    except SceneError:
        raise SceneError(f"{what} must be a number or a rule, not {quote(value)}{by_value(value)}") from None
    return lambda: number


def check_effects(
    who: str,
    effects: Sequence[Effect],
    taken: Sequence[Effect],
    roles: Sequence[Role],
    ground: Role,
    *,
    count: int | None = None,
) -> None:
    """Refuse effects that somebody else has, or that work on what is not there; `count` agents each need their own."""
    for i, effect in enumerate(effects):
        if any(effect is other for other in (*taken, *effects[:i])):
            raise SceneError(f"{who} must have effects of its own, not those of another agent or of arena.always")
        if any(role not in roles and role is not ground for role in effect.roles()):
            raise SceneError(f"{who} works on a role of another arena")
        if count is not None and effect.role.count != count:
            difference = f"'{effect.role.name}' {'is one' if effect.role.count is None else f'has {effect.role.count}'}"
            raise SceneError(f"{who} is {count} agents, each of which works on its own, but {difference}")
        if effect.role is ground:
            raise SceneError(f"{who} works on the ground, which never moves")


def check_alike(plan: AgentSpec, first: AgentSpec) -> None:
    """Refuse an agent that shares a policy with another that sees or does something else, and tell what differs."""
    own, theirs = (*plan.observation_names, *plan.critic_names), (*first.observation_names, *first.critic_names)
    if len(own) != len(theirs):
        has = [f"{len(names)} number{'' if len(names) == 1 else 's'}" for names in (own, theirs)]
        pairs = enumerate(zip_longest(own, theirs, fillvalue=""), 1)
        # By the last words, as each has roles of its own.
        number, one, other = next((i, a, b) for i, (a, b) in pairs if a.split()[-1:] != b.split()[-1:])
        where = f" (number {number} is {quote(one or 'not there')} against {quote(other or 'not there')})"
        differs = f"'{plan.name}' sees {has[0]}, '{first.name}' {has[1]}{where}"
    elif _form(plan.does) != _form(first.does):
        differs = f"'{plan.name}' has {plan.does.description}, '{first.name}' {first.does.description}"
    else:
        return
    message = f"'{plan.name}' shares the policy of '{first.name}': both must see and do alike, but {differs}"
    raise SceneError(f"{message}; make them alike, or give each a policy of its own")


def _form(does: Does) -> list[object]:
    """Return what two agents of one policy must have in common: names may differ, as each has roles of its own."""
    return [type(does.space), *((type(part), len(part.names)) for part in does.space.parts)]
