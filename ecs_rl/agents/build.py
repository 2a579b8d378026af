"""Builds the network that an algorithm's settings name: one of the project's, or a module of a user's own."""

from __future__ import annotations

from collections.abc import Callable
from functools import partial

import torch
from torch import nn

from ecs_rl.agents.config import OwnNetwork, PPOConfig
from ecs_rl.agents.gru import GRU
from ecs_rl.agents.layout_modules import Attention, Convolution
from ecs_rl.agents.modules import ModuleNetwork, RecurrentModule, isolated, made, shapes_of_module, state_of
from ecs_rl.agents.networks import MLP, Network, Parameters, Recurrent, Shapes
from ecs_rl.errors import CommandError
from ecs_rl.spaces import PolicySpec


def shapes_of(name: str, sizes: tuple[int, int], spec: PolicySpec, settings: PPOConfig) -> Shapes:
    """Return the shape of each parameter for `sizes`, inputs and outputs; only a module is made to ask it."""
    inputs, outputs = sizes
    match str(settings.network):
        case "mlp":
            return MLP.shapes(name, (inputs, *settings.hidden, outputs))
        case "gru":
            return GRU.shapes(name, (inputs, *settings.hidden), settings.state, outputs)
    make = _module(sizes, spec, settings)
    if isinstance(settings.network, OwnNetwork):
        return shapes_of_module(name, make())
    with torch.device("meta"):  # a file may name widths that no memory holds
        return shapes_of_module(name, make())


def build(
    parameters: Parameters, name: str, sizes: tuple[int, int], spec: PolicySpec, settings: PPOConfig
) -> Network | Recurrent:
    """Return a network that lives in these parameters, which have its shapes; nothing is drawn yet."""
    layers = len(settings.hidden) + 1
    match str(settings.network):
        case "mlp":
            return MLP(parameters, name, layers, settings.activation)
        case "gru":
            return GRU(parameters, name, layers, settings.activation)
    make = _module(sizes, spec, settings)
    kind = RecurrentModule if state_of(make()) else ModuleNetwork
    return kind(parameters, name, make, sizes[1])


def _module(sizes: tuple[int, int], spec: PolicySpec, settings: PPOConfig) -> Callable[[], nn.Module]:
    """Return what makes the module; torch's global random numbers are as they were after each."""
    network = settings.network
    if isinstance(network, OwnNetwork):
        return partial(isolated, partial(made, f"the network '{network}'", network.make, *sizes, spec))
    shipped = {"conv": Convolution, "attention": Attention}.get(network)
    if shipped is None:
        raise CommandError(f"the network '{network}' was not loaded: name its file with --network FILE.py:NAME")
    return partial(isolated, partial(shipped, *sizes, spec, settings.hidden, settings.activation))
