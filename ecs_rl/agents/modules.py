"""Any `torch.nn.Module` as a network: its parameters and gradients become views into the flat vector.

A module is called as `module(x)`; one with a whole number `state` above zero as `module(x, state)`, and returns its
output and the state from here on. It computes the same while it acts and while it learns: it stays in `eval` mode, and
what would differ (dropout, batch statistics) is refused, as are buffers that it changes. It draws its own first
parameters; a last layer that it calls `head` gets the gain that the algorithm wants there.
"""

from __future__ import annotations

import os
import traceback
from collections.abc import Callable
from typing import Any

import torch
from torch import Tensor, nn

from ecs_rl.agents.networks import Parameters, Shapes, orthogonal
from ecs_rl.errors import CommandError, DivergedError
from ecs_rl.spaces import PolicySpec

Factory = Callable[[int, int, PolicySpec], nn.Module]
"""Takes the numbers of inputs and outputs and what the policy sees and does."""


class ModuleNetwork:
    """A module with its gradients by autograd, behind the protocol of every network."""

    state = 0

    def __init__(self, parameters: Parameters, name: str, make: Callable[[], nn.Module], outputs: int) -> None:
        """Let the module that `make` returns live in the parameters under this name."""
        self._make, self._outputs = make, outputs
        self._module = make()
        self._source = f"the network {type(self._module).__name__}"
        self._parameters = list(self._module.parameters())
        for own, parameter in self._module.named_parameters():
            parameter.data, parameter.grad = parameters.value[f"{name}/{own}"], parameters.grad[f"{name}/{own}"]
        self._buffers = [(f"{name}/{own}", buffer) for own, buffer in self._module.named_buffers()]
        parameters.buffers.update(self._buffers)
        self._output = torch.empty(0)

    def initialise(self, generator: torch.Generator, head_gain: float | Tensor) -> None:
        """Let the module draw its parameters as it does; torch's global random numbers are left alone."""
        fresh = isolated(self._make, int(torch.randint(2**62, (), generator=generator)))
        with torch.no_grad():
            for parameter, drawn in zip(self._parameters, fresh.parameters(), strict=True):
                parameter.copy_(drawn)
            for (_, buffer), held in zip(self._buffers, fresh.buffers(), strict=True):
                buffer.copy_(held)
            head = getattr(self._module, "head", None)
            if isinstance(head, nn.Linear) and head.out_features == self._outputs:
                orthogonal(head.weight, head_gain, generator)
                nn.init.zeros_(head.bias)

    def __call__(self, x: Tensor) -> Tensor:
        """Return (rows, outputs) and remember nothing; DivergedError where a number is not finite."""
        output: Tensor = self._module(x)
        check_output(self._source, output, (len(x), self._outputs))
        return output

    def forward(self, x: Tensor) -> Tensor:
        """Return the same, and remember what `backward` needs."""
        # What inference made, autograd cannot remember: the copy can.
        with torch.inference_mode(False), torch.enable_grad():
            self._output = self._module(x.clone())
            return self._output.detach()

    def backward(self, grad: Tensor) -> None:
        """Write the gradient of every parameter, given that of the last `forward`'s outputs."""
        for parameter in self._parameters:
            parameter.grad.zero_()  # type: ignore[union-attr]
        with torch.inference_mode(False):
            torch.autograd.backward(self._output, grad.clone())
        self._output = torch.empty(0)


class RecurrentModule(ModuleNetwork):
    """A module that remembers: unrolled tick by tick."""

    def __init__(self, parameters: Parameters, name: str, make: Callable[[], nn.Module], outputs: int) -> None:
        super().__init__(parameters, name, make, outputs)
        self.state = state_of(self._module)

    def step(self, x: Tensor, state: Tensor) -> tuple[Tensor, Tensor]:
        """Return (rows, outputs), and what is remembered from here on; DivergedError where a number is not finite."""
        output, after = self._module(x, state)
        check_output(f"the state of {self._source}", after, (len(x), self.state))
        check_output(self._source, output, (len(x), self._outputs))
        return output, after

    def forward(self, x: Tensor, state: Tensor, begins: Tensor) -> Tensor:  # type: ignore[override]
        """Return (ticks, rows, outputs) of sequences and remember what `backward` needs."""
        with torch.inference_mode(False), torch.enable_grad():
            x, state, goes_on, outputs = x.clone(), state.clone(), (~begins).to(torch.float32).unsqueeze(2), []
            for seen, on in zip(x, goes_on.clone(), strict=True):
                output, state = self._module(seen, state * on)
                outputs.append(output)
            self._output = torch.stack(outputs)
            return self._output.detach()


def state_of(module: nn.Module) -> int:
    """Return how many numbers a module remembers for each row, 0 for one without memory."""
    state = getattr(module, "state", 0)
    return state if isinstance(state, int) else 0


def isolated(make: Callable[[], nn.Module], seed: int | None = None) -> nn.Module:
    """Return what is made, drawn from a stream of its own if a seed is given; torch's global one is left alone."""
    with torch.random.fork_rng(devices=[]):
        if seed is not None:
            torch.manual_seed(seed)
        return make()


def made(source: str, make: Factory, inputs: int, outputs: int, spec: PolicySpec) -> nn.Module:
    """Return the module that a user's function makes, tried once; CommandError where it is no network for this."""
    try:
        module = make(inputs, outputs, spec)
    except CommandError:
        raise
    except Exception as error:
        raise CommandError(
            f"{source}: makes no network of {inputs} inputs and {outputs} outputs: {_why(error)}"
        ) from error
    if not isinstance(module, nn.Module):
        raise CommandError(f"{source}: must return a torch.nn.Module, not {type(module).__name__}")
    module.eval()
    _refuse_what_differs(source, module)
    _try(source, module, inputs, outputs)
    return module


def _refuse_what_differs(source: str, module: nn.Module) -> None:
    """Refuse what computes otherwise while it learns, and numbers that the flat vector cannot hold."""
    for name, part in module.named_modules():
        if isinstance(part, (nn.modules.dropout._DropoutNd, nn.modules.batchnorm._NormBase)):
            if isinstance(part, nn.modules.batchnorm._NormBase) and not part.track_running_stats:
                continue
            kind, where = type(part).__name__, f" '{name}'" if name else ""
            cure = "use LayerNorm or GroupNorm" if "Norm" in kind else "leave it out"
            raise CommandError(
                f"{source}: its {kind}{where} computes otherwise while it learns than while it acts: {cure}"
            )
    parameters = dict(module.named_parameters())
    if not parameters:
        raise CommandError(f"{source}: has no parameters: there is nothing to learn")
    for name, parameter in parameters.items():
        if isinstance(parameter, nn.parameter.UninitializedParameter) or parameter.dtype != torch.float32:
            lazy = isinstance(parameter, nn.parameter.UninitializedParameter)
            kind = "not there yet" if lazy else str(parameter.dtype)
            raise CommandError(f"{source}: its parameter '{name}' is {kind}: parameters must be float32, made at once")


def _try(source: str, module: nn.Module, inputs: int, outputs: int) -> None:
    """Refuse a module whose output does not fit, or that changes its buffers."""
    x, rows, state = torch.zeros(3, inputs), 3, state_of(module)
    before = [buffer.clone() for buffer in module.buffers()]
    try:
        with torch.no_grad():
            output = module(x, torch.zeros(rows, state)) if state else module(x)
    except Exception as error:
        called = f"({rows}, {inputs}) of inputs" + (f" and ({rows}, {state}) of state" if state else "")
        raise CommandError(f"{source}: fails on {called}: {_why(error)}") from error
    try:
        if state:
            if not isinstance(output, tuple) or len(output) != 2:
                raise CommandError(f"it has a state, and must return (output, state), not {type(output).__name__}")
            check_output("its state", output[1], (rows, state))
            output = output[0]
        check_output("it", output, (rows, outputs))
    except (CommandError, DivergedError) as error:
        raise CommandError(f"{source}: {error}") from None
    for (name, buffer), old in zip(module.named_buffers(), before, strict=True):
        if buffer.shape != old.shape or not torch.equal(buffer, old):
            raise CommandError(f"{source}: changes its buffer '{name}': what is remembered is state, kept for each row")


def check_output(who: str, output: Any, shape: tuple[int, ...]) -> None:
    """Refuse what is no batch of finite numbers of this shape."""
    if not isinstance(output, Tensor):
        raise CommandError(f"{who} must return a tensor {shape}, not {type(output).__name__}")
    if output.shape != shape or output.dtype != torch.float32:
        raise CommandError(f"{who} must return {shape} of float32, not {tuple(output.shape)} of {output.dtype}")
    if not bool(torch.isfinite(output).all()):
        row = int((~torch.isfinite(output)).any(1).nonzero()[0])
        raise DivergedError(f"{who} returned a number that is not finite in row {row}: {output[row].tolist()[:6]}")


def _why(error: Exception) -> str:
    """Return an error in a line, with the last place in a file that is not torch's."""
    frames = [f for f in traceback.extract_tb(error.__traceback__) if f"{os.sep}torch{os.sep}" not in f.filename]
    where = f" ({frames[-1].filename}, line {frames[-1].lineno})" if frames and frames[-1].filename != __file__ else ""
    return f"{' '.join(str(error).split()) or type(error).__name__}{where}"


def shapes_of_module(name: str, module: nn.Module) -> Shapes:
    """Return the shape of each parameter by the name that it has in files."""
    return {f"{name}/{own}": tuple(parameter.shape) for own, parameter in module.named_parameters()}
