"""A Gymnasium environment as a scene: `gym:CartPole-v1` is trained, evaluated, resumed and played like any other.

What it sees is one row of numbers (Gymnasium's own FlattenObservation makes it where it is not one), and what it does
is one of the project's action spaces.
"""

from __future__ import annotations

import os
import sys
import warnings
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from functools import cache
from typing import Any, cast

import numpy as np
from numpy.typing import NDArray

from ecs_rl.environments.action_mask import NAME as MASK
from ecs_rl.environments.action_mask import ActionMask, options_in, options_of
from ecs_rl.environments.environment_recipes import SOLVED_AT
from ecs_rl.environments.pixels import MOST_PIXELS, Pixels
from ecs_rl.errors import CommandError, EcsRlError, SceneError, install, is_interrupt, quoted, told_of, words_of
from ecs_rl.spaces import TRIGGER, ActionSpace, Composed, Continuous, Discrete

PREFIX = "gym:"
NO_LIMIT, MOST_TICKS = 10_000, 1_000_000
"""Decisions after which an episode is cut where the environment has no limit of its own, and in any case: all of them
are remembered."""
MOST_NUMBERS = 10_000
"""Numbers that a policy may see beside pictures, for which there is a convolution."""
ATARI = "ALE/"
"""Atari's games: they are seen in grey, the four newest frames at once, and need the package ale-py."""
ATARI_FRAMES, ATARI_FPS = 4, 15.0
FPS, MOST_FPS = 30.0, 1000.0
"""Pictures per second where an environment names none, and the most that it can mean."""

Given = Callable[[NDArray[Any]], NDArray[Any]]
"""From a batch of a policy's actions to the environments' own, one for each row."""


@dataclass(frozen=True)
class Environment:
    """An environment by its id, and what its spaces are for a policy."""

    id: str
    """Gymnasium's, such as `CartPole-v1`, or `module:Mine-v0` for one that a module registers."""
    observations: tuple[str, ...]
    actions: ActionSpace
    given: Given
    max_ticks: int
    solved_at: float | None
    fps: float
    """Pictures, and ticks, in a second."""
    flat: bool
    """Whether an observation is a row of numbers as it is."""
    draws: bool
    """Whether it can draw itself."""
    pixels: Pixels | None = None
    """What it shows as a picture, where that is what it shows."""
    mask: ActionMask | None = None
    """Which of the observations say what may be chosen, where the environment does."""

    @property
    def promised(self) -> str:
        """What its `observation_space` says that it shows."""
        return f"({len(self.observations)},) numbers" if self.pixels is None else f"{self.pixels.shape} of uint8"

    @property
    def masked(self) -> slice:
        """Which numbers of an observation are the mask."""
        end = len(self.observations)
        return slice(end, end) if self.mask is None else self.mask.numbers

    def make(self, *, pictures: bool = False) -> Any:
        """Return a new `gymnasium.Env` that shows rows of numbers; with `pictures` it can be drawn."""
        if pictures and not self.draws:
            message = "cannot be drawn: it has no render_mode 'rgb_array'; play it with --headless"
            raise CommandError(f"'{PREFIX}{self.id}' {message}")
        from gymnasium.wrappers import OrderEnforcing, TimeLimit

        from ecs_rl.environments.wrappers import showing_rows

        env = _made(self.id, pictures=pictures)
        while isinstance(env, (OrderEnforcing, TimeLimit)):  # both are seen to by the world, and cost time
            env = env.env
        return showing_rows(env, self.pixels, self.mask, is_flat=self.flat)

    def close(self, env: Any) -> None:
        """Close an environment; a failure is only a warning."""
        # Gymnasium's own quit pygame altogether once they have drawn something, and a window of ours with it.
        if env.render_mode is not None:
            return
        try:
            with calling(self.id, "close()"):
                env.close()
        except SceneError as error:
            warnings.warn(str(error), stacklevel=2)


@contextmanager
def calling(name: str, what: str, where: Callable[[], str] = str) -> Iterator[None]:
    """Turn whatever an environment raises, `sys.exit` included, into a SceneError that says in what and where."""
    try:
        yield
    except BaseException as error:
        if is_interrupt(error) or isinstance(error, EcsRlError):
            raise
        place = f" {where()}".rstrip()
        raise SceneError(f"'{PREFIX}{name}' failed in {what}{place}: {told_of(error)}") from error


@cache
def environment_of(name: str) -> Environment:
    """Return the spaces and limits of an environment, which is made once to read them."""
    try:
        from gymnasium import spaces
    except ImportError:
        raise CommandError(f"'{PREFIX}{name}' needs Gymnasium, which is not installed: {install('gym')}") from None
    env = _made(name)
    try:
        seen, acts = (_space_of(name, env, which) for which in ("observation_space", "action_space"))
        with calling(name, "observation_space"):
            pixels = _pixels_of(name, seen)
            names = _numbers_of(name, seen) if pixels is None else pixels.names
        try:
            actions, given = actions_of(acts)
        except ValueError as error:
            raise CommandError(f"'{PREFIX}{name}' does {_short(acts)}: {error}") from None
        chooses = isinstance(acts, (spaces.Discrete, spaces.MultiDiscrete))
        mask = _mask_of(name, env, seen, options_of(actions), len(names)) if chooses else None
        if mask is not None and mask.in_info:
            names += tuple(f"{option} allowed" for option in actions.names)
        metadata = env.metadata if isinstance(env.metadata, Mapping) else {}
        return Environment(
            name,
            names,
            actions,
            given,
            int(min(_number_of(name, env, "max_episode_steps") or NO_LIMIT, MOST_TICKS)),
            _number_of(name, env, "reward_threshold", SOLVED_AT.get(name)),
            ATARI_FPS if name.startswith(ATARI) else fps_of(metadata),
            isinstance(seen, spaces.Box) and len(seen.shape) == 1,
            "rgb_array" in (metadata.get("render_modes") or ()),
            pixels,
            mask,
        )
    finally:
        with calling(name, "close()"):
            env.close()


def _space_of(name: str, env: Any, which: str) -> Any:
    """Return a space of an environment; CommandError where it has none."""
    from gymnasium import spaces

    with calling(name, which):
        space = getattr(env, which, None)
    if not isinstance(space, spaces.Space):
        raise CommandError(f"'{PREFIX}{name}' has no {which}: set it to one of gymnasium.spaces")
    return space


def _number_of(name: str, env: Any, which: str, without: float | None = None) -> float | None:
    """Return a number with which an environment was registered, `without` where there is none or it has no bound."""
    value = getattr(env.spec, which, None)
    if value is None:
        return without
    if isinstance(value, bool) or not isinstance(value, (int, float, np.integer, np.floating)):
        message = f"'{PREFIX}{name}' is registered with {which}={quoted(value)}"
        raise CommandError(f"{message}, which is no number: give it one, or None")
    return float(value) if np.isfinite(value) else without


def fps_of(metadata: Mapping[str, Any]) -> float:
    """Return the pictures per second that an environment names, `FPS` where that is no usable number."""
    try:
        fps = float(metadata.get("render_fps") or FPS)
    except (TypeError, ValueError):
        return FPS
    return fps if 0.0 < fps <= MOST_FPS else FPS


def _pixels_of(name: str, seen: Any) -> Pixels | None:
    """Return the picture that an environment shows, None for numbers; CommandError if it is too large.

    A picture is a Box of bytes with a height and a width.
    """
    from gymnasium import spaces

    if not isinstance(seen, spaces.Box) or seen.dtype != np.uint8 or len(seen.shape) < 2:
        return None
    message = f"'{PREFIX}{name}' shows {_short(seen)}"
    if len(seen.shape) > 4 or 0 in seen.shape:
        raise CommandError(
            f"{message}: a picture is (height, width), with colours and frames at most {len(seen.shape)}"
        )
    pixels = Pixels(seen.shape, ATARI_FRAMES if name.startswith(ATARI) else 1)
    picture = pixels.seen
    if picture.size > MOST_PIXELS:
        small = f"{picture.layers} layers of {picture.up} x {picture.across}"
        cure = "show fewer colours or frames at once, as gymnasium.wrappers.GrayscaleObservation does"
        raise CommandError(
            f"{message}, made small {small}: {picture.size:,} numbers of at most {MOST_PIXELS:,}; {cure}"
        )
    return pixels


def _numbers_of(name: str, seen: Any) -> tuple[str, ...]:
    """Return the name of each number of an observation; CommandError if there are none or too many."""
    from gymnasium import spaces

    message = f"'{PREFIX}{name}' sees {_short(seen)}"
    if not seen.is_np_flattenable:
        cure = "a Box, Discrete, MultiDiscrete or MultiBinary, or a Dict or Tuple of these"
        raise CommandError(f"{message}, of which no row of numbers can be made: it must be {cure}")
    numbers = int(np.prod(spaces.flatten_space(seen).shape))  # type: ignore[arg-type]
    if not 0 < numbers <= MOST_NUMBERS:
        cure = "a picture must be the only thing that is seen, and of uint8" if numbers else "show something"
        raise CommandError(
            f"{message}, which are {numbers:,} numbers: 1 to {MOST_NUMBERS:,} can be learned from; {cure}"
        )
    return tuple(_names_of(seen, numbers))


def _mask_of(name: str, env: Any, seen: Any, counts: tuple[int, ...], numbers: int) -> ActionMask | None:
    """Return where an environment of these choices says what may be chosen, None where it does not.

    It is asked for the `info` of its first episode. A mask that is not of its form is refused.
    """
    from gymnasium import spaces

    if isinstance(seen, spaces.Dict) and MASK in seen.spaces:
        keys = list(seen.spaces)
        sizes = [spaces.flatdim(space) for space in seen.spaces.values()]
        first, size = sum(sizes[: keys.index(MASK)]), sizes[keys.index(MASK)]
        if size != sum(counts):
            message = f"'{PREFIX}{name}' sees an '{MASK}' of {size} numbers for {sum(counts)} options"
            raise CommandError(f"{message}: it must be a Box or MultiBinary with one number for each option")
        return ActionMask(first, counts, in_info=False)
    with calling(name, "reset()"):
        _, info = env.reset(seed=0)
        if not isinstance(info, Mapping) or MASK not in info:
            return None
        options_in(info, counts)
    return ActionMask(numbers, counts, in_info=True)


def _made(name: str, *, pictures: bool = False) -> Any:
    """Return a new environment by its id; CommandError if it cannot be made."""
    import gymnasium

    more: dict[str, Any] = {}
    if name.startswith(ATARI):
        more["obs_type"] = "grayscale"
        try:  # importing it makes the games known
            import ale_py  # type: ignore[import-not-found,unused-ignore]  # noqa: F401
        except ImportError:
            message = f"needs Atari's emulator, which is not installed: {install('atari')}"
            raise CommandError(f"'{PREFIX}{name}' {message}") from None
    try:
        with _current_folder(":" in name):
            return gymnasium.make(name, render_mode="rgb_array" if pictures else None, disable_env_checker=True, **more)
    except BaseException as error:
        if is_interrupt(error):
            raise
        message = words_of(error) if isinstance(error, gymnasium.error.Error) else told_of(error)
        raise CommandError(f"'{PREFIX}{name}' cannot be made: {message}") from error


@contextmanager
def _current_folder(wanted: bool) -> Iterator[None]:
    """Let the module of `module:Mine-v0` be found in the current folder as well, after everything that is installed."""
    folder = os.getcwd()
    if not wanted or folder in sys.path:
        yield
        return
    sys.path.append(folder)
    try:
        yield
    finally:
        sys.path.remove(folder)


def actions_of(space: Any) -> tuple[ActionSpace, Given]:
    """Return the action space of a policy for an environment's, and how the one's actions become the other's.

    A Box has its bounds at -1 and 1. ValueError tells why there is none.
    """
    from gymnasium import spaces

    if isinstance(space, spaces.Discrete):
        first = space.start
        return Discrete(tuple(str(first + i) for i in range(int(space.n)))), lambda action: action + first
    if isinstance(space, spaces.MultiDiscrete):
        counts, first = space.nvec.ravel(), np.asarray(space.start).ravel()
        parts = [Discrete(tuple(str(j) for j in range(n)), f"choice {i}") for i, n in enumerate(counts.tolist())]
        return Composed(tuple(parts)), lambda action: _form(np.rint(action) + first, space)
    if isinstance(space, spaces.MultiBinary):
        triggers = tuple(Discrete(TRIGGER, f"trigger {i}") for i in range(int(np.prod(space.shape))))
        return Composed(triggers), lambda action: _form(np.rint(action), space)
    if not isinstance(space, spaces.Box):
        raise ValueError("it must be a Box, Discrete, MultiDiscrete or MultiBinary")
    low, high = space.low.astype(np.float64).ravel(), space.high.astype(np.float64).ravel()
    if not low.size or not (np.isfinite(low) & np.isfinite(high)).all():
        raise ValueError("a Box needs finite bounds: wrap the environment in RescaleAction, or give it some")
    whole = np.issubdtype(space.dtype, np.integer)

    def mapped(action: NDArray[Any]) -> NDArray[Any]:
        wide = low + (np.clip(action, -1.0, 1.0) + 1.0) * 0.5 * (high - low)
        return _form(np.clip(np.rint(wide) if whole else wide, low, high), space)

    return Continuous(tuple(f"lever {i}" for i in range(low.size))), mapped


def _form(action: NDArray[Any], space: Any) -> NDArray[Any]:
    return action.reshape(-1, *space.shape).astype(space.dtype)


def _names_of(space: Any, numbers: int) -> Sequence[str]:
    """Return a name for each number that is seen, by the parts of a Dict or Tuple."""
    from gymnasium import spaces

    inner: Mapping[str, Any] = {}
    if isinstance(space, spaces.Dict):
        inner = dict(space.spaces)
    elif isinstance(space, spaces.Tuple):
        inner = {str(i): part for i, part in enumerate(space.spaces)}
    if not inner:
        return (
            [f"is {i}" for i in range(numbers)]
            if isinstance(space, spaces.Discrete)
            else list(map(str, range(numbers)))
        )
    widths = {key: int(np.prod(cast(Any, spaces.flatten_space(part)).shape)) for key, part in inner.items()}
    return [f"{key} {name}" for key, part in inner.items() for name in _names_of(part, widths[key])]


def _short(space: object) -> str:
    try:
        text = " ".join(str(space).split())
    except Exception:  # one of their own may not be able to say what it is
        return f"a {type(space).__name__}"
    return text if len(text) <= 100 else f"{text[:100]}..."


def name_of(name: str) -> str:
    """Return an id as the name of a window or a file: without its module."""
    return name.rpartition(":")[2].replace("/", "_")


def refuse_number(name: str, what: str, value: float, where: str) -> SceneError:
    """Return the error that names a number of an environment which is not finite, or too large to learn from."""
    why = "too large to learn from" if np.isfinite(value) else "not a finite number"
    return SceneError(f"'{PREFIX}{name}' gave {what} {value:g} {where}, {why}: mend the environment, or wrap it")
