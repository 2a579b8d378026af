"""The head of a checkpoint file: found without believing it, believed only when its seal is whole."""

from __future__ import annotations

import math
import re
from typing import Annotated, Literal, NamedTuple

import msgspec

from ecs_rl.runs.manifest import SCHEMA, UNSEALED, Manifest

MAX_HEADER_BYTES = 16_000_000
MAX_FILE_BYTES = 1 << 34
"""16 GiB: a replay buffer of a million steps takes one or two."""
UNREADABLE = (msgspec.DecodeError, UnicodeDecodeError, RecursionError, ValueError)
"""What decoding hostile JSON may raise; ValueError for numbers of thousands of digits."""

_START = b'{"__metadata__":'
# As it stands in the file: JSON within a JSON string. Anything else was not written by `write_checkpoint`.
_HEAD = re.compile(
    re.escape(_START) + rb'\{"manifest":"\{\\"schema\\":([0-9]{1,9}),\\"sha256\\":\\"([0-9a-f]{%d})\\"' % len(UNSEALED)
)
_BYTES = {1: "BOOL U8 I8 F8_E4M3 F8_E5M2", 2: "I16 U16 F16 BF16", 4: "I32 U32 F32", 8: "I64 U64 F64"}
_ITEM_BYTES = {name: size for size, names in _BYTES.items() for name in names.split()}
_Size = Annotated[int, msgspec.Meta(ge=0, le=1 << 48)]


class Seal(NamedTuple):
    """The SHA-256 that a file claims, and where in the file it stands."""

    sha256: str
    at: int


class Damage(Exception):
    """Says in a few words what is wrong with a file."""


class _Tensor(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    dtype: Literal[
        "BOOL", "U8", "I8", "F8_E4M3", "F8_E5M2", "I16", "U16", "F16", "BF16", "I32", "U32", "F32", "I64", "U64", "F64"
    ]
    shape: Annotated[tuple[_Size, ...], msgspec.Meta(max_length=16)]
    data_offsets: tuple[_Size, _Size]


class _Metadata(msgspec.Struct):
    manifest: str


class _Header(msgspec.Struct):
    metadata: msgspec.Raw = msgspec.field(name="__metadata__")


def header_size(first: bytes, file_size: int) -> int:
    """Return how long the header is by the first 8 bytes, if a file of this size can hold it."""
    if not file_size:
        raise Damage("the file is empty")
    size = int.from_bytes(first[:8], "little")
    if size > MAX_HEADER_BYTES:
        raise Damage(f"it announces a header of {size} bytes")
    if file_size < 8 + size:
        raise Damage(f"it is cut short: {file_size} bytes where its header alone needs {8 + size}")
    return size


def find_seal(header: bytes) -> Seal:
    """Return the seal of a file that this version of ecs_rl can read."""
    found = _HEAD.match(header)
    if not found:
        raise Damage("its header does not begin with a manifest, so it was not written by ecs_rl or is not whole")
    if int(found[1]) != SCHEMA:
        raise Damage(f"it has schema {int(found[1])} and this version of ecs_rl reads schema {SCHEMA}")
    return Seal(found[2].decode(), 8 + found.start(2))


def decode_header(header: bytes, body_size: int) -> Manifest:
    """Return the manifest if the header describes tensors that fill the body exactly; for sealed headers only."""
    try:
        metadata = bytes(msgspec.json.decode(header, type=_Header).metadata)
        rest = header.removeprefix(_START + metadata)
        tensors = msgspec.json.decode(b"{" + rest.lstrip(b","), type=dict[str, _Tensor])
        manifest = msgspec.json.decode(msgspec.json.decode(metadata, type=_Metadata).manifest, type=Manifest)
    except UNREADABLE as error:
        raise Damage(f"its header cannot be read ({error})") from error
    end = 0
    for tensor in sorted(tensors.values(), key=lambda each: each.data_offsets):
        first, last = tensor.data_offsets
        if first != end or last - first != math.prod(tensor.shape) * _ITEM_BYTES[tensor.dtype]:
            raise Damage("its tensors overlap, leave gaps or are not as long as their shapes say")
        end = last
    if end != body_size:
        raise Damage(f"its tensors take {end} bytes and the file has {body_size} for them")
    return manifest
