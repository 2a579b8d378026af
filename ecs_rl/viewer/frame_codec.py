"""Frames as bytes, for a screen in another process. What did not change since the last frame travels as a number.

Records with arrays compare by identity, and what is drawn of one is kept as long as it stays the same object. So both
sides number those of a frame in the order in which they come: one that the last frame had too is told by its number,
and is the same object again on the other side.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field, fields, is_dataclass, replace
from functools import cache
from itertools import count
from types import NoneType, UnionType
from typing import Any, Generic, Literal, NamedTuple, TypeVar, Union, get_args, get_origin, get_type_hints

import msgspec
import numpy as np

from ecs_rl.viewer import objects, view

Known = TypeVar("Known")
Views = dict[str, Any]
NAMES = {**vars(objects), **vars(view)}
"""Where the names of the records' types are found: each module imports those of the others for types only."""


@dataclass(frozen=True)
class Frame:
    """What a screen needs to draw one picture."""

    size: tuple[int, int]
    """Of the window as the view was made for it, pixels."""
    due: float = 0.0
    """When it is to be shown, by this machine's `perf_counter`."""
    driven: bool = False
    """A person drives the agent: keys without Ctrl are theirs."""
    views: Views = field(default_factory=dict)
    """What each panel shows, by its name; None: a docked one keeps its room, without a picture."""


class Records(Generic[Known]):
    """The records of this frame and of the last one, by what they are looked up by."""

    def __init__(self) -> None:
        self._last: dict[int, Known] = {}
        self._now: dict[int, Known] = {}

    def find(self, key: int) -> Known | None:
        """Return what is known under this key, which this frame then has as well."""
        known = self._now.get(key) or self._last.get(key)
        if known is not None:
            self._now[key] = known
        return known

    def add(self, key: int, known: Known) -> None:
        """Keep something new."""
        self._now[key] = known

    def end_frame(self) -> None:
        """Forget what this frame did not have."""
        self._last, self._now = self._now, {}


class Sent(Records[tuple[int, object]]):
    """By its `id`, the number of each record, and the record, without which the `id` could become another's."""

    def __init__(self) -> None:
        super().__init__()
        self._numbers = count()

    def number(self, record: object) -> tuple[int, bool]:
        """Return the number of a record, and whether the other side has it already."""
        known = self.find(id(record))
        if known is not None:
            return known[0], True
        number = next(self._numbers)
        self.add(id(record), (number, record))
        return number, False


Received = Records[Any]


class Form(NamedTuple):
    """How values of a type travel."""

    plain: bool
    """msgspec packs them as they are."""
    pack: Callable[[Any, Sent], Any]
    unpack: Callable[[Any, Received], Any]


AS_IT_IS = Form(True, lambda value, sent: value, lambda raw, received: raw)
ARRAY = Form(
    False,
    lambda value, sent: (value.dtype.str, value.shape, value.tobytes()),
    lambda raw, received: np.frombuffer(raw[2], raw[0]).reshape(raw[1]),
)


class FrameWriter:
    """Turns frames into bytes, each after the one before."""

    def __init__(self, kinds: Mapping[str, Any]) -> None:
        """Take the type of each panel's view, by the panel's name."""
        self._sent, self._form = Sent(), _form_of_frame(kinds)
        self._encoder = msgspec.msgpack.Encoder(enc_hook=_number)

    def bytes_of(self, frame: Frame) -> bytes:
        """Return a frame for a reader that has had all frames before it."""
        packed = self._form.pack(frame, self._sent)
        self._sent.end_frame()
        return self._encoder.encode(packed)


class FrameReader:
    """Turns bytes into frames, each after the one before."""

    def __init__(self, kinds: Mapping[str, Any]) -> None:
        """Take the type of each panel's view, by the panel's name."""
        self._received, self._form = Received(), _form_of_frame(kinds)

    def frame(self, packed: bytes) -> Frame:
        """Return the frame; its arrays are read-only."""
        frame: Frame = self._form.unpack(msgspec.msgpack.decode(packed), self._received)
        self._received.end_frame()
        return frame


def _form_of_frame(kinds: Mapping[str, Any]) -> Form:
    """Return the form of a frame, and within it of the panels' views by their names."""
    plain, panels = form_of(Frame), {name: form_of(kind) for name, kind in kinds.items()}

    def pack(frame: Frame, sent: Sent) -> Any:
        views = {name: panels[name].pack(view, sent) for name, view in frame.views.items()}
        return plain.pack(replace(frame, views={}), sent), views

    def unpack(raw: Any, received: Received) -> Frame:
        views = {name: panels[name].unpack(view, received) for name, view in raw[1].items()}
        frame: Frame = plain.unpack(raw[0], received)
        return replace(frame, views=views)

    return Form(False, pack, unpack)


@cache
def form_of(hint: Any) -> Form:
    """Return the form of a type hint."""
    kind, parts = get_origin(hint) or hint, get_args(hint)
    if kind in (Union, UnionType):
        return _form_of_union([part for part in parts if part is not NoneType])
    if kind is tuple:
        return _form_of_many(form_of(parts[0])) if parts[1:] == (...,) else _form_of_tuple([*map(form_of, parts)])
    if kind is np.ndarray:
        return ARRAY
    if is_dataclass(kind):
        return _form_of_dataclass(kind)
    if isinstance(kind, type) and issubclass(kind, tuple):
        return Form(True, AS_IT_IS.pack, lambda raw, received: kind(*raw))
    if kind is Literal or hint == Views or kind in (int, float, str, bool, NoneType):
        return AS_IT_IS
    raise TypeError(f"nothing of the type {hint} can be sent to a screen")


def _form_of_union(parts: list[Any]) -> Form:
    forms = [*map(form_of, parts)]
    if all(form is AS_IT_IS for form in forms):
        return AS_IT_IS
    if len(forms) > 1:
        raise TypeError(f"a screen could not tell {parts} apart")
    plain, pack, unpack = forms[0]
    return Form(
        plain,
        AS_IT_IS.pack if plain else lambda value, sent: None if value is None else pack(value, sent),
        lambda raw, received: None if raw is None else unpack(raw, received),
    )


def _form_of_many(form: Form) -> Form:
    plain, pack, unpack = form
    return Form(
        plain,
        AS_IT_IS.pack if plain else lambda values, sent: [pack(value, sent) for value in values],
        (lambda raw, received: tuple(raw))
        if form is AS_IT_IS
        else (lambda raw, received: tuple([unpack(each, received) for each in raw])),
    )


def _form_of_tuple(forms: list[Form]) -> Form:
    plain = all(form.plain for form in forms)
    return Form(
        plain,
        AS_IT_IS.pack
        if plain
        else lambda values, sent: [form.pack(value, sent) for form, value in zip(forms, values, strict=True)],
        lambda raw, received: tuple([form.unpack(each, received) for form, each in zip(forms, raw, strict=True)]),
    )


def _form_of_dataclass(kind: Any) -> Form:
    hints = get_type_hints(kind, localns=NAMES)
    forms = {field.name: form_of(hints[field.name]) for field in fields(kind)}
    if not kind.__dataclass_params__.eq:
        return _form_of_record(kind, forms)
    plain = all(form.plain for form in forms.values())
    return Form(
        plain,
        AS_IT_IS.pack
        if plain
        else lambda value, sent: {name: form.pack(getattr(value, name), sent) for name, form in forms.items()},
        lambda raw, received: kind(**{name: form.unpack(raw[name], received) for name, form in forms.items()}),
    )


def _form_of_record(kind: Any, forms: dict[str, Form]) -> Form:
    def pack(record: Any, sent: Sent) -> Any:
        number, known = sent.number(record)
        return number if known else (number, [form.pack(getattr(record, name), sent) for name, form in forms.items()])

    def unpack(raw: Any, received: Received) -> Any:
        if isinstance(raw, int):
            return received.find(raw)
        number, values = raw
        record = kind(*[form.unpack(value, received) for form, value in zip(forms.values(), values, strict=True)])
        received.add(number, record)
        return record

    return Form(False, pack, unpack)


def _number(value: object) -> object:
    """Return a number of numpy's as one of Python's."""
    if isinstance(value, np.generic):
        return value.item()
    raise TypeError(f"nothing of the type {type(value).__name__} can be sent to a screen")
