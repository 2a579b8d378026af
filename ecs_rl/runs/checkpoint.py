"""One checkpoint file: safetensors with a manifest, and a seal over every byte that shows any damage on load."""

from __future__ import annotations

import hashlib
from collections.abc import Mapping
from pathlib import Path
from typing import TYPE_CHECKING, Any

import msgspec

from ecs_rl.errors import CheckpointError
from ecs_rl.runs.files import plain, write_atomically
from ecs_rl.runs.manifest import SCHEMA, UNSEALED, Manifest

if TYPE_CHECKING:
    from ecs_rl.agents.base import State

MAX_HEADER_BYTES = 100_000_000  # the limit of safetensors itself
_SEAL = b'\\"sha256\\":\\"'  # as it stands in the file: JSON within a JSON string
_REMEDY = "use another checkpoint of the run, or restore this file from a copy"


class _Header(msgspec.Struct, rename={"metadata": "__metadata__"}):
    metadata: dict[str, str]


class _Schema(msgspec.Struct):
    schema: int


def join_sections(sections: Mapping[str, State]) -> State:
    """Return the tensors of several parts (`policy`, later `agent` and `world`) under names like `policy/weight`."""
    return {f"{part}/{name}": tensor for part, tensors in sections.items() for name, tensor in tensors.items()}


def section(tensors: State, part: str) -> State:
    """Return the tensors of one part, under the names they had before `join_sections`."""
    prefix = f"{part}/"
    return {name.removeprefix(prefix): tensor for name, tensor in tensors.items() if name.startswith(prefix)}


def write_checkpoint(path: Path, tensors: State, manifest: Manifest) -> None:
    """Write a sealed checkpoint in one atomic step; StorageError if the disk refuses."""
    write_atomically(path, encode_checkpoint(tensors, manifest))


def encode_checkpoint(tensors: State, manifest: Manifest) -> bytes:
    """Return the bytes of a sealed checkpoint file, the same for the same content."""
    from safetensors.torch import save

    text = msgspec.json.encode(msgspec.structs.replace(manifest, sha256=UNSEALED), enc_hook=plain).decode()
    # safetensors writes metadata in random order: one single key keeps the file the same every time.
    raw = save({name: tensor.detach().cpu().contiguous() for name, tensor in tensors.items()}, {"manifest": text})
    at = raw.index(_SEAL) + len(_SEAL)
    return raw[:at] + hashlib.sha256(raw).hexdigest().encode() + raw[at + len(UNSEALED) :]


def read_checkpoint(path: Path) -> tuple[Manifest, State]:
    """Return the manifest and the tensors of a checkpoint; CheckpointError unless every bit is as it was written."""
    from safetensors.torch import load

    manifest, data = _verified(path)
    return manifest, load(data)


def read_manifest(path: Path) -> Manifest:
    """Return the manifest of a checkpoint, verified like `read_checkpoint` but without loading torch."""
    return _verified(path)[0]


def _verified(path: Path) -> tuple[Manifest, bytes]:
    try:
        data = path.read_bytes()
    except OSError as error:
        raise CheckpointError(f"cannot read checkpoint {path}: {error.strerror or error}; {_REMEDY}") from error
    text = _manifest_text(path, data)
    schema: int = _decode(path, text, _Schema).schema
    if schema != SCHEMA:
        raise CheckpointError(
            f"checkpoint {path} has schema {schema} and this version of ecs_rl reads schema {SCHEMA}; "
            "use the version that wrote it, or another checkpoint"
        )
    manifest: Manifest = _decode(path, text, Manifest)
    if manifest.sha256 != _digest(data):
        raise _damaged(path, "its content does not match its SHA-256")
    return manifest, data


def _manifest_text(path: Path, data: bytes) -> bytes:
    if not data:
        raise _damaged(path, "the file is empty")
    size = int.from_bytes(data[:8], "little")
    if size > MAX_HEADER_BYTES:
        raise _damaged(path, f"it announces a header of {size} bytes")
    if len(data) < 8 + size:
        raise _damaged(path, f"it is cut short: {len(data)} bytes where its header alone needs {8 + size}")
    metadata: dict[str, str] = _decode(path, data[8 : 8 + size], _Header).metadata
    if "manifest" not in metadata:
        raise _damaged(path, "it has no manifest, so it was not written by ecs_rl")
    return metadata["manifest"].encode()


def _digest(data: bytes) -> str:
    at = data.find(_SEAL) + len(_SEAL)
    view = memoryview(data)
    digest = hashlib.sha256(view[:at])
    digest.update(UNSEALED.encode())
    digest.update(view[at + len(UNSEALED) :])
    return digest.hexdigest()


def _decode(path: Path, text: bytes, kind: Any) -> Any:
    try:
        return msgspec.json.decode(text, type=kind)
    except (msgspec.DecodeError, UnicodeDecodeError, RecursionError) as error:
        raise _damaged(path, f"its header cannot be read ({error})") from error


def _damaged(path: Path, what: str) -> CheckpointError:
    return CheckpointError(f"checkpoint {path} is damaged: {what}; {_REMEDY}")
