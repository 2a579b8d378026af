"""A checkpoint of several processes: what is the same in all stands once, and what each has of its own in a section.

Process 0 writes the file. The sections `agent` and `world/...` are its own; those of process R stand under `workerR/`,
and hold only what differs. The same number of processes goes on exactly. With another number the arenas are shared out
anew: episodes, replay memories and everything that all have in common stay, and what was gathered for the next update
is dropped.
"""

from __future__ import annotations

import hashlib
from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, Any

import msgspec
from numpy.typing import NDArray
from safetensors.torch import load, save

from ecs_rl.distributed.group import Group
from ecs_rl.errors import CommandError
from ecs_rl.runs import section

if TYPE_CHECKING:
    from ecs_rl.agents.base import Agent, State
    from ecs_rl.training.snapshots import Sections
    from ecs_rl.world import World

HOW_TO_AGREE = (
    "an algorithm or network of your own must take its first parameters from the seed, and the mean of its gradient "
    "over the group before each step; mend it, or leave --workers out"
)
PARTS = ("now", "snapshot", "actions", "earlier", "earlier_actions")
"""The sections of a saved world."""
_digests = msgspec.msgpack.Decoder(dict[str, bytes])


def gathered(group: Group, agent: Agent, sections: Mapping[str, State]) -> dict[str, State]:
    """Return the sections of process 0 with what the others have of their own; the others return only theirs."""
    if len(set(group.everyone(agent.parameters_sha256().encode()))) > 1:
        raise CommandError(f"--workers: the processes have learned different things: {HOW_TO_AGREE}")
    own = {f"{part}/{name}": tensor.contiguous() for part, state in sections.items() for name, tensor in state.items()}
    digests = {name: hashlib.sha1(tensor.numpy().tobytes()).digest() for name, tensor in own.items()}
    first = _digests.decode(group.from_first(msgspec.msgpack.encode(digests)))
    differs = {name: own[name].clone() for name, digest in digests.items() if group.rank and first.get(name) != digest}
    whole = dict(sections)
    for rank, part in enumerate(group.to_first(save(differs))):
        whole |= {f"worker{rank}": load(part)} if rank else {}
    return whole


def of_worker(tensors: State, rank: int, name: str) -> State:
    """Return a section of a checkpoint as the process of this rank saved it."""
    common = section(tensors, name)
    return common if rank == 0 else {**common, **section(tensors, f"worker{rank}/{name}")}


def shared_out(world: World, saved: Sequence[Mapping[str, NDArray[Any]]]) -> Sections:
    """Return the arenas of this process out of worlds that another number of processes saved, as they are now."""
    columns = {each.key: each.column for each in world.lasting()}
    arenas, own = world.everywhere // len(saved), slice(world.first, world.first + world.arenas)
    now = {}
    for name in [name for name in saved[0] if name in columns]:
        whole = columns[name].joined([part[name] for part in saved], arenas)
        now[name] = columns[name].of_arenas(whole, world.everywhere, own)
    return {**{part: {} for part in PARTS}, "now": now, "snapshot": now}
