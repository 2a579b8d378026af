"""One checkpoint file: safetensors with a manifest, and a seal over every byte that shows any damage on load."""

from __future__ import annotations

import hashlib
from collections.abc import Iterable, Iterator, Mapping
from contextlib import contextmanager
from pathlib import Path
from typing import TYPE_CHECKING

import msgspec

from ecs_rl.errors import CheckpointError
from ecs_rl.runs.files import Bytes, plain, write_atomically
from ecs_rl.runs.header import MAX_FILE_BYTES, Damage, Seal, decode_header, find_seal, header_size
from ecs_rl.runs.manifest import UNSEALED, Manifest
from ecs_rl.runs.reading import chunks, opened

if TYPE_CHECKING:
    from ecs_rl.agents.base import State

_REMEDY = "use another checkpoint of the run, or restore this file from a copy"


def join_sections(sections: Mapping[str, State]) -> State:
    """Return the tensors of several parts (`policy`, later `agent` and `world`) under names like `policy/weight`."""
    return {f"{part}/{name}": tensor for part, tensors in sections.items() for name, tensor in tensors.items()}


def section(tensors: State, part: str) -> State:
    """Return the tensors of one part, under the names they had before `join_sections`."""
    prefix = f"{part}/"
    return {name.removeprefix(prefix): tensor for name, tensor in tensors.items() if name.startswith(prefix)}


def write_checkpoint(path: Path, tensors: State, manifest: Manifest) -> None:
    """Write a sealed checkpoint in one atomic step; StorageError if the disk refuses."""
    write_atomically(path, *sealed_pieces(tensors, manifest))


def encode_checkpoint(tensors: State, manifest: Manifest) -> bytes:
    """Return the bytes of a sealed checkpoint file, the same for the same content."""
    return b"".join(sealed_pieces(tensors, manifest))


def sealed_pieces(tensors: State, manifest: Manifest) -> list[Bytes]:
    """Return the bytes of a checkpoint file in pieces, so that a large one is not copied only to set its seal."""
    from safetensors.torch import save

    text = msgspec.json.encode(msgspec.structs.replace(manifest, sha256=UNSEALED), enc_hook=plain).decode()
    # safetensors writes metadata in random order: one single key keeps the file the same every time.
    raw = save({name: tensor.detach().cpu().contiguous() for name, tensor in tensors.items()}, {"manifest": text})
    try:
        size = header_size(raw[:8], len(raw))
        at = find_seal(raw[8 : 8 + size]).at
        decode_header(raw[8 : 8 + size], len(raw) - 8 - size)
    except Damage as damage:
        raise CheckpointError(f"step {manifest.step} cannot be saved, for it could not be read: {damage}") from damage
    view = memoryview(raw)
    return [view[:at], hashlib.sha256(raw).hexdigest().encode(), view[at + len(UNSEALED) :]]


def read_checkpoint(path: Path) -> tuple[Manifest, State]:
    """Return the manifest and the tensors of a checkpoint; CheckpointError unless every bit is as it was written."""
    from safetensors import SafetensorError
    from safetensors.torch import load

    with _refusing(path), opened(path, MAX_FILE_BYTES) as (descriptor, size):
        # First without keeping anything: only a file that is whole may take memory.
        manifest, seal = _verified(descriptor, size)
        data = b"".join(chunks(descriptor, size))
        if _digest([data], seal) != seal.sha256:
            raise Damage("its content changed while it was read")
        try:
            return manifest, load(data)
        except (SafetensorError, RuntimeError, ValueError, TypeError, KeyError, OverflowError) as error:
            raise Damage(f"its tensors cannot be made ({error})") from error


def read_manifest(path: Path) -> Manifest:
    """Return the manifest of a checkpoint, verified like `read_checkpoint` but without loading torch or the tensors."""
    with _refusing(path), opened(path, MAX_FILE_BYTES) as (descriptor, size):
        return _verified(descriptor, size)[0]


@contextmanager
def _refusing(path: Path) -> Iterator[None]:
    try:
        yield
    except (OSError, ValueError) as error:  # ValueError: a path with a zero byte
        reason = getattr(error, "strerror", None) or error
        raise CheckpointError(f"cannot read checkpoint {path}: {reason}; {_REMEDY}") from error
    except MemoryError as error:
        raise CheckpointError(f"cannot read checkpoint {path}: there is too little memory; {_REMEDY}") from error
    except Damage as damage:
        raise CheckpointError(f"checkpoint {path} is damaged: {damage}; {_REMEDY}") from damage


def _verified(descriptor: int, size: int) -> tuple[Manifest, Seal]:
    header_end = 8 + header_size(b"".join(chunks(descriptor, min(8, size))), size)
    header = b"".join(chunks(descriptor, header_end, start=8))
    seal = find_seal(header)
    if _digest(chunks(descriptor, size), seal) != seal.sha256:
        raise Damage("its content does not match its SHA-256")
    return decode_header(header, size - header_end), seal


def _digest(pieces: Iterable[bytes], seal: Seal) -> str:
    """Return the SHA-256 of a file as it was before its seal was set."""
    digest, begin, end = hashlib.sha256(), seal.at, seal.at + len(UNSEALED)
    place = 0
    for piece in pieces:
        view = memoryview(piece)
        low, high = (min(max(0, edge - place), len(view)) for edge in (begin, end))
        digest.update(view[:low])
        digest.update(UNSEALED[: high - low].encode())
        digest.update(view[high:])
        place += len(view)
    return digest.hexdigest()
