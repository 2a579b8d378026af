"""A sealed file, such as a checkpoint: safetensors with a manifest, and a seal over every byte that shows any damage.

What the head of a file says is only used to find the seal; it is believed once the seal is whole.
"""

from __future__ import annotations

import hashlib
import math
import re
from collections.abc import Iterable, Iterator, Mapping
from contextlib import contextmanager
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any, BinaryIO, Protocol, TypeVar, cast

import msgspec

from ecs_rl.errors import CheckpointError
from ecs_rl.files import UNREADABLE, Bytes, opened, plain
from ecs_rl.runs.manifest import SCHEMA, UNSEALED, Manifest

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from ecs_rl.agents.base import State

MAX_HEADER_BYTES = 16_000_000
MAX_FILE_BYTES = 1 << 34
"""16 GiB: a replay buffer of a million steps takes one or two."""
CHUNK_BYTES = 1 << 20
_REMEDY = "use another checkpoint of the run, or restore this file from a copy"
_START = b'{"__metadata__":'
# As it stands in the file: JSON within a JSON string. Anything else was not written by `sealed_pieces`.
_HEAD = re.compile(
    re.escape(_START) + rb'\{"manifest":"\{\\"schema\\":([0-9]{1,9}),\\"sha256\\":\\"([0-9a-f]{%d})\\"' % len(UNSEALED)
)
_BYTES = {1: "BOOL U8 I8 F8_E4M3 F8_E5M2", 2: "I16 U16 F16 BF16", 4: "I32 U32 F32", 8: "I64 U64 F64"}
_ITEM_BYTES = {name: size for size, names in _BYTES.items() for name in names.split()}
_Size = Annotated[int, msgspec.Meta(ge=0, le=1 << 48)]


class Sealed(Protocol):
    """What a sealed file tells of itself: a struct whose first two fields are these."""

    @property
    def schema(self) -> int:
        """The version of the format."""

    @property
    def sha256(self) -> str:
        """SHA-256 of the whole file with this field all zeros."""


Head = TypeVar("Head")


class _Damage(Exception):
    """Says in a few words what is wrong with a file."""


class _Tensor(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    dtype: str
    shape: Annotated[tuple[_Size, ...], msgspec.Meta(max_length=16)]
    data_offsets: tuple[_Size, _Size]


class _Metadata(msgspec.Struct):
    manifest: str


class _Header(msgspec.Struct):
    metadata: msgspec.Raw = msgspec.field(name="__metadata__")


def join_sections(sections: Mapping[str, State]) -> State:
    """Return the tensors of several parts (`policy`, later `agent` and `world`) under names like `policy/weight`."""
    return {f"{part}/{name}": tensor for part, tensors in sections.items() for name, tensor in tensors.items()}


def section(tensors: State, part: str) -> State:
    """Return the tensors of one part, under the names they had before `join_sections`."""
    prefix = f"{part}/"
    return {name.removeprefix(prefix): tensor for name, tensor in tensors.items() if name.startswith(prefix)}


def split_sections(tensors: State) -> dict[str, State]:
    """Return the parts that `join_sections` joined, in one pass; the parts' names must have no slash."""
    sections: dict[str, State] = {}
    for name, tensor in tensors.items():
        part, _, rest = name.partition("/")
        sections.setdefault(part, {})[rest] = tensor
    return sections


def arrays_of(tensors: State) -> dict[str, NDArray[Any]]:
    """Return tensors as arrays that share their memory; ValueError for types that numpy lacks, such as bfloat16."""
    try:
        return {name: tensor.numpy() for name, tensor in tensors.items()}
    except TypeError as error:
        raise ValueError(str(error)) from error


def sealed_pieces(tensors: State, manifest: Sealed) -> list[Bytes]:
    """Return the bytes of a sealed file, the same for the same content.

    They come in pieces, so that a large file is not copied only to set its seal.
    """
    from safetensors.torch import save

    kind: type[Any] = type(manifest)
    text = msgspec.json.encode(msgspec.structs.replace(cast(Any, manifest), sha256=UNSEALED), enc_hook=plain).decode()
    # safetensors writes metadata in random order: one single key keeps the file the same every time.
    raw = save({name: tensor.detach().cpu().contiguous() for name, tensor in tensors.items()}, {"manifest": text})
    try:
        head = raw[: _head_size(raw[:8], len(raw))]
        at, _ = _find_seal(head)
        _decode_head(head, len(raw) - len(head), kind)
    except _Damage as damage:
        step = f"step {manifest.step}" if isinstance(manifest, Manifest) else "this"
        raise CheckpointError(f"{step} cannot be saved, for it could not be read: {damage}") from damage
    view = memoryview(raw)
    return [view[:at], hashlib.sha256(raw).hexdigest().encode(), view[at + len(UNSEALED) :]]


def read_checkpoint(path: Path) -> tuple[Manifest, State]:
    """Return the manifest and the tensors of a checkpoint; CheckpointError unless every bit is as it was written."""
    return read_sealed(path, Manifest)


def read_sealed(path: Path, kind: type[Head], what: str = "checkpoint", remedy: str = _REMEDY) -> tuple[Head, State]:
    """Return what a sealed file tells of itself, which must be of this kind, and its tensors, or refuse it."""
    from safetensors import SafetensorError
    from safetensors.torch import load

    with _refusing(path, what, remedy), opened(path, MAX_FILE_BYTES) as (file, size):
        # First without keeping anything: only a file that is whole may take memory.
        manifest, at, sha256 = _verified(file, size, kind)
        file.seek(0)
        data = file.read(size)
        if _digest(at, data) != sha256:
            raise _Damage("its content changed while it was read")
        try:
            return manifest, load(data)
        except (SafetensorError, RuntimeError, ValueError, TypeError, KeyError, OverflowError) as error:
            raise _Damage(f"its tensors cannot be made ({error})") from error


def read_manifest(path: Path) -> Manifest:
    """Return the manifest of a checkpoint, verified like `read_checkpoint` but without loading torch or the tensors."""
    with _refusing(path), opened(path, MAX_FILE_BYTES) as (file, size):
        return _verified(file, size, Manifest)[0]


@contextmanager
def _refusing(path: Path, what: str = "checkpoint", remedy: str = _REMEDY) -> Iterator[None]:
    try:
        yield
    except (OSError, ValueError) as error:  # ValueError: a path with a zero byte
        reason = getattr(error, "strerror", None) or error
        raise CheckpointError(f"cannot read {what} {path}: {reason}; {remedy}") from error
    except MemoryError as error:
        raise CheckpointError(f"cannot read {what} {path}: there is too little memory; {remedy}") from error
    except _Damage as damage:
        raise CheckpointError(f"{what} {path} is damaged: {damage}; {remedy}") from damage


def _verified(file: BinaryIO, size: int, kind: type[Head]) -> tuple[Head, int, str]:
    """Return the manifest of a file that is whole, and its seal."""
    head = file.read(8)
    head += file.read(_head_size(head, size) - 8)
    at, sha256 = _find_seal(head)
    if _digest(at, head, (file.read(CHUNK_BYTES) for _ in range(len(head), size, CHUNK_BYTES))) != sha256:
        raise _Damage("its content does not match its SHA-256")
    return _decode_head(head, size - len(head), kind), at, sha256


def _digest(at: int, head: bytes, rest: Iterable[bytes] = ()) -> str:
    """Return the SHA-256 of a file as it was before its seal was set."""
    digest = hashlib.sha256(head[:at] + UNSEALED.encode())
    digest.update(memoryview(head)[at + len(UNSEALED) :])
    for piece in rest:
        digest.update(piece)
    return digest.hexdigest()


def _head_size(first: bytes, file_size: int) -> int:
    """Return how long the head of a file is, its own length (8 bytes) included, if one of this size can hold it."""
    if not file_size:
        raise _Damage("the file is empty")
    size = int.from_bytes(first, "little")
    if size > MAX_HEADER_BYTES:
        raise _Damage(f"it announces a header of {size} bytes")
    if file_size < 8 + size:
        raise _Damage(f"it is cut short: {file_size} bytes where its header alone needs {8 + size}")
    return 8 + size


def _find_seal(head: bytes) -> tuple[int, str]:
    """Return where in a file its seal stands, and the SHA-256 that it claims."""
    match = _HEAD.match(head, 8)
    if not match:
        raise _Damage("its header does not begin with a manifest, so it was not written by ecs_rl or is not whole")
    if int(match[1]) != SCHEMA:
        raise _Damage(f"it has schema {int(match[1])} and this version of ecs_rl reads schema {SCHEMA}")
    return match.start(2), match[2].decode()


def _decode_head(head: bytes, body_size: int, kind: type[Head]) -> Head:
    """Return the manifest if the head describes tensors that fill the body exactly; for sealed files only."""
    try:
        metadata = bytes(msgspec.json.decode(head[8:], type=_Header).metadata)
        rest = head[8:].removeprefix(_START + metadata)
        tensors = msgspec.json.decode(b"{" + rest.lstrip(b","), type=dict[str, _Tensor])
        manifest = msgspec.json.decode(msgspec.json.decode(metadata, type=_Metadata).manifest, type=kind)
    except UNREADABLE as error:
        raise _Damage(f"its header cannot be read ({error})") from error
    end = 0
    for tensor in sorted(tensors.values(), key=lambda entry: entry.data_offsets):
        (first, last), item = tensor.data_offsets, _ITEM_BYTES.get(tensor.dtype)
        if item is None:
            raise _Damage(f"its header cannot be read (there are no numbers of the type {tensor.dtype})")
        if first != end or last - first != math.prod(tensor.shape) * item:
            raise _Damage("its tensors overlap, leave gaps or are not as long as their shapes say")
        end = last
    if end != body_size:
        raise _Damage(f"its tensors take {end} bytes and the file has {body_size} for them")
    return manifest
