"""A checkpoint that was changed in any way is refused, by our own error, without taking memory.

`python -m pytest -m slow tests/survival/test_mutated_checkpoints.py` tries 20,000 changes, and 20,000 with a new seal.
"""

from __future__ import annotations

import hashlib
import json
import random
import re
import resource
import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
import torch

from ecs_rl.errors import CheckpointError
from ecs_rl.runs import Manifest, PolicyEntry, read_checkpoint, read_manifest, sealed_pieces

TENSORS = {
    "policy/weight": torch.arange(24, dtype=torch.float32).reshape(4, 6),
    "policy/mean": torch.zeros(6, dtype=torch.float64),
    "agent/steps": torch.tensor(1234),
    "world/alive": torch.tensor([True, False, True]),
}
ENTRY = PolicyEntry(name="policy", observations=("x", "v"), actions=("left", "right"), continuous=False)
MANIFEST = Manifest(
    scene="balance",
    agent="ppo",
    step=5000,
    config={"ppo": {"lr": 3e-4, "hidden": [64, 64]}},
    policies=(ENTRY,),
    best_eval=12.5,
    best_step=4000,
    full=True,
    resume={"logs": {"metrics.jsonl": 100}, "session": {"stats": [1.0, 2.0]}},
)
GOOD = b"".join(sealed_pieces(TENSORS, MANIFEST))
HEADER_END = 8 + int.from_bytes(GOOD[:8], "little")
BODY = GOOD[HEADER_END:]
VALUES: tuple[Any, ...] = (
    0,
    1,
    -1,
    2**31,
    2**53,
    2**63,
    2**64,
    10**30,
    1e308,
    0.5,
    None,
    True,
    "",
    [],
    {},
    [[[]]],
    "F32",
    [2**40] * 3,
)
Change = Callable[[random.Random], bytes]


def framed(header: bytes, body: bytes = BODY) -> bytes:
    return len(header).to_bytes(8, "little") + header + body


def bits(rng: random.Random) -> bytes:
    data = bytearray(GOOD)
    for _ in range(rng.choice((1, 1, 1, 2, 8))):
        data[rng.randrange(len(data))] ^= 1 << rng.randrange(8)
    return bytes(data)


def some_bytes(rng: random.Random) -> bytes:
    at = rng.randrange(len(GOOD))
    new = rng.randbytes(rng.choice((1, 2, 4, 8, 64)))
    return GOOD[:at] + new + GOOD[at + len(new) :]


def cut(rng: random.Random) -> bytes:
    return GOOD[: rng.randrange(len(GOOD))]


def inserted(rng: random.Random) -> bytes:
    at = rng.randrange(len(GOOD) + 1)
    return GOOD[:at] + rng.choice((b"\0", b" ", b"}", b'"', rng.randbytes(8), b"\0" * 4096)) + GOOD[at:]


def left_out(rng: random.Random) -> bytes:
    at = rng.randrange(len(GOOD))
    return GOOD[:at] + GOOD[at + rng.choice((1, 2, 4, 8, 64)) :]


def swapped(rng: random.Random) -> bytes:
    a, b = sorted(rng.sample(range(len(GOOD)), 2))
    parts = [GOOD[:a], GOOD[a:b], GOOD[b:]] if rng.random() < 0.8 else [GOOD[:8], BODY, GOOD[8:HEADER_END]]
    rng.shuffle(parts)
    return b"".join(parts)


def another_header_length(rng: random.Random) -> bytes:
    right = HEADER_END - 8
    wrong = rng.choice(
        (0, 1, right - 8, right - 1, right + 1, right + 8, len(GOOD) - 8, 2**24, 2**31, 2**63, 2**64 - 1)
    )
    return wrong.to_bytes(8, "little") + GOOD[8:]


def a_key_twice(rng: random.Random) -> bytes:
    header = GOOD[8:HEADER_END]
    key = rng.choice((b"__metadata__", *(name.encode() for name in TENSORS)))
    value = rng.choice((b"{}", b'{"manifest":"{}"}', b'{"dtype":"F32","shape":[1],"data_offsets":[0,4]}'))
    extra = b'"' + key + b'":' + value
    return framed(
        b"{" + extra + b"," + header[1:] if rng.random() < 0.5 else header.rstrip()[:-1] + b"," + extra + b"}"
    )


def edited_json(rng: random.Random) -> bytes:
    header: dict[str, Any] = json.loads(GOOD[8:HEADER_END])
    if rng.random() < 0.5:
        manifest = json.loads(header["__metadata__"]["manifest"])
        edit(manifest, rng)
        header["__metadata__"]["manifest"] = json.dumps(manifest, separators=(",", ":"))
    else:
        edit(header, rng)
    return framed(json.dumps(header, separators=(",", ":")).encode())


def edit(value: Any, rng: random.Random) -> None:
    """Change one thing somewhere in this JSON."""
    keys = list(value) if isinstance(value, dict) else list(range(len(value)))
    if not keys:
        return
    key = rng.choice(keys)
    if isinstance(value[key], (dict, list)) and rng.random() < 0.7:
        edit(value[key], rng)
    elif rng.random() < 0.2:
        del value[key]
    else:
        value[key] = rng.choice(VALUES)


CHANGES: list[Change] = [
    bits, some_bytes, cut, inserted, left_out, swapped, another_header_length, a_key_twice, edited_json,
]  # fmt: skip


def resealed(data: bytes) -> bytes:
    """Return the file with the seal that it would have if it had been written like this."""
    found = re.search(rb'\\"sha256\\":\\"([0-9a-f]{64})\\"', data)
    if not found:
        return data
    empty = data[: found.start(1)] + b"0" * 64 + data[found.end(1) :]
    return data[: found.start(1)] + hashlib.sha256(empty).hexdigest().encode() + data[found.end(1) :]


def memory() -> int:
    """Return the most memory this process ever had, in MB."""
    return resource.getrusage(resource.RUSAGE_SELF).ru_maxrss >> (20 if sys.platform == "darwin" else 10)


def accepted(read: Callable[[Path], Any], path: Path) -> Any:
    """Return what is read, None if it is refused with a message that names the file."""
    try:
        return read(path)
    except CheckpointError as error:
        message = str(error)
    assert str(path) in message
    return None


def none_is_accepted(path: Path, number: int, seed: int) -> None:
    rng = random.Random(seed)
    path.write_bytes(GOOD)
    read_checkpoint(path)
    before = memory()
    for index in range(number):
        change = CHANGES[index % len(CHANGES)]
        data = change(rng)
        path.write_bytes(data)
        for read in (read_checkpoint, read_manifest):
            if accepted(read, path) is not None:
                assert data == GOOD, f"{change.__name__} number {index} was accepted: {data!r}"
    assert memory() - before < 50


def none_with_a_new_seal_does_harm(path: Path, number: int, seed: int) -> int:
    """Whoever can make the seal may say what they like, and still be refused by nothing but our error."""
    rng, count = random.Random(seed), 0
    before = memory()
    for index in range(number):
        data = resealed(CHANGES[index % len(CHANGES)](rng))
        path.write_bytes(data)
        found = accepted(read_checkpoint, path)
        if found is not None:
            count += 1
            assert isinstance(found[0].step, int)
            assert sum(tensor.nbytes for tensor in found[1].values()) <= len(data)
    assert memory() - before < 50
    return count


def test_a_thousand_changed_checkpoints_are_refused(tmp_path: Path) -> None:
    none_is_accepted(tmp_path / "step_1.safetensors", 1000, seed=1)


def test_a_thousand_changed_checkpoints_with_a_new_seal_do_no_harm(tmp_path: Path) -> None:
    assert 0 < none_with_a_new_seal_does_harm(tmp_path / "step_1.safetensors", 1000, seed=2) < 1000


@pytest.mark.slow
def test_twenty_thousand_changed_checkpoints_are_refused(tmp_path: Path) -> None:
    none_is_accepted(tmp_path / "step_1.safetensors", 20_000, seed=3)


@pytest.mark.slow
def test_twenty_thousand_changed_checkpoints_with_a_new_seal_do_no_harm(tmp_path: Path) -> None:
    none_with_a_new_seal_does_harm(tmp_path / "step_1.safetensors", 20_000, seed=4)
