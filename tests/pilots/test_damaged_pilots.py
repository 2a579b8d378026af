"""Checkpoints with a valid seal that somebody made by hand: a pilot plays them or refuses them in one sentence."""

from __future__ import annotations

import copy
import hashlib
import json
import random
import warnings
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from pilot_files import KINDS, checkpoint

import ecs_rl
from ecs_rl.errors import CheckpointError, EcsRlError

Json = dict[str, Any]
Tensor = tuple[str, list[int], bytes]
"""Type, shape and bytes."""
STRANGE: list[Any] = [
    *(None, True, 0, -1, 3, 2**70, 1.5, float("inf"), "", "x", "\ud800"),
    *([], ["a"], [1, "a", None], [[1]], [{}], {}, {"a": 1}),
]


def opened(path: Path) -> tuple[Json, dict[str, Tensor]]:
    """Return the manifest and the tensors of a checkpoint."""
    data = path.read_bytes()
    start = 8 + int.from_bytes(data[:8], "little")
    head = json.loads(data[8:start])
    manifest: Json = json.loads(head.pop("__metadata__")["manifest"])
    spans = {name: slice(*(start + offset for offset in each["data_offsets"])) for name, each in head.items()}
    return manifest, {name: (each["dtype"], each["shape"], data[spans[name]]) for name, each in head.items()}


def sealed(manifest: Json, tensors: dict[str, Tensor]) -> bytes:
    """Return the file of a manifest and tensors, with the seal that fits."""
    head: Json = {"__metadata__": {"manifest": json.dumps(manifest | {"sha256": "0" * 64}, separators=(",", ":"))}}
    body = b""
    for name, (dtype, shape, data) in sorted(tensors.items(), key=lambda each: -len(each[1][2])):
        head[name] = {"dtype": dtype, "shape": shape, "data_offsets": [len(body), len(body) + len(data)]}
        body += data
    text = json.dumps(head, separators=(",", ":")).encode()
    text += b" " * (-len(text) % 8)
    raw = len(text).to_bytes(8, "little") + text + body
    seal = b'\\"sha256\\":\\"'
    return raw.replace(seal + b"0" * 64, seal + hashlib.sha256(raw).hexdigest().encode(), 1)


def places(value: Any, path: tuple[Any, ...] = ()) -> Iterator[tuple[Any, ...]]:
    """Yield where every value of a JSON value stands."""
    yield path
    inside = value.items() if isinstance(value, dict) else enumerate(value) if isinstance(value, list) else ()
    for key, each in inside:
        yield from places(each, (*path, key))


def changed(manifest: Json, draw: random.Random) -> Json:
    """Return a manifest of which one value is another one, or missing."""
    made = copy.deepcopy(manifest)
    *way, last = draw.choice([path for path in places(made) if path and path[0] not in ("schema", "sha256")])
    within: Any = made
    for key in way:
        within = within[key]
    if draw.random() < 0.15:
        del within[last]
    else:
        within[last] = copy.deepcopy(draw.choice(STRANGE))
    return made


def reshaped(tensors: dict[str, Tensor], draw: random.Random) -> dict[str, Tensor]:
    """Return tensors of which one has another type or shape, or is missing."""
    made = dict(tensors)
    name = draw.choice([name for name in tensors if name.startswith("policy/")])
    dtype, shape, data = made.pop(name)
    others: list[Tensor] = [
        ("BF16", [len(data) // 2], data),
        ("U8", [len(data)], data),
        (dtype, shape[::-1], data),
        (dtype, [1] * 10 + shape, data),
        ("F32", [], data[:4]),
        ("F64", [], bytes(8)),
        (dtype, [0], b""),
    ]
    other = draw.choice([*others, None])
    return made if other is None else made | {name: other}


def play(path: Path, backend: str) -> None:
    """Load a pilot and let it act once; a warning is an error."""
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        pilot = ecs_rl.load(path, backend=backend)
        pilot.act(np.zeros((2, len(pilot.observations)), np.float32))


@pytest.mark.parametrize("backend", ["numpy", "torch"])
def test_mutants_with_a_valid_seal_play_or_are_refused_in_a_sentence(backend: str, tmp_path: Path) -> None:
    whole = [opened(checkpoint(tmp_path / "whole.safetensors", kind)[0]) for kind in KINDS]
    draw, path, refused = random.Random(7), tmp_path / "mutant.safetensors", 0
    for _ in range(400):
        manifest, tensors = draw.choice(whole)
        if draw.random() < 0.6:
            path.write_bytes(sealed(changed(manifest, draw), tensors))
        else:
            path.write_bytes(sealed(manifest, reshaped(tensors, draw)))
        try:
            play(path, backend)
        except EcsRlError:
            refused += 1
    assert refused > 150


NAMES = [
    (["x", 3, None], "a name must be a text, not 3"),
    (["x", ["y"], "z"], "a name must be a text, not ['y']"),
    (["x", {"y": 1}, "z"], "a name must be a text, not {'y': 1}"),
    (["x", "\ud800", "z"], "surrogates not allowed"),
]


@pytest.mark.parametrize("backend", ["numpy", "torch"])
@pytest.mark.parametrize("place", ["observations", "actions"])
@pytest.mark.parametrize(("names", "told"), NAMES, ids=["mixed", "a list", "a table", "half a character"])
def test_names_that_are_no_texts_are_named(
    names: list[Any], told: str, place: str, backend: str, tmp_path: Path
) -> None:
    manifest, tensors = opened(checkpoint(tmp_path / "pilot.safetensors", "ppo choice")[0])
    manifest["policies"][0][place] = names
    path = tmp_path / "mutant.safetensors"
    path.write_bytes(sealed(manifest, tensors))
    with pytest.raises(CheckpointError) as refused:
        play(path, backend)
    assert told in str(refused.value)
    assert str(path) in str(refused.value)


@pytest.mark.parametrize("name", [["policy"], {"policy": 1}, 7])
def test_the_name_of_a_policy_is_a_text_too(name: object, tmp_path: Path) -> None:
    manifest, tensors = opened(checkpoint(tmp_path / "pilot.safetensors", "dqn")[0])
    manifest["policies"][0]["name"] = name
    path = tmp_path / "mutant.safetensors"
    path.write_bytes(sealed(manifest, tensors))
    with pytest.raises(CheckpointError, match="a name must be a text"):
        ecs_rl.load(path, backend="numpy")
    with pytest.raises(CheckpointError, match="a name must be a text"):
        ecs_rl.load(path, backend="numpy", policy="policy")


def test_numbers_of_a_type_that_numpy_lacks_are_named(tmp_path: Path) -> None:
    manifest, tensors = opened(checkpoint(tmp_path / "pilot.safetensors", "ppo choice")[0])
    name = "policy/policy/0.weight"
    tensors[name] = ("BF16", tensors[name][1], tensors[name][2][: len(tensors[name][2]) // 2])
    path = tmp_path / "mutant.safetensors"
    path.write_bytes(sealed(manifest, tensors))
    with pytest.raises(CheckpointError, match="a pilot knows no numbers of the type 'BF16'"):
        ecs_rl.load(path, backend="numpy")
