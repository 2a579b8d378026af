"""Policies as an ONNX graph: scaling, network and the greedy choice, as the numpy pilot computes them."""

from __future__ import annotations

import errno
import json
from collections.abc import Sequence
from contextlib import suppress
from pathlib import Path
from typing import Any

import numpy as np

from ecs_rl.errors import CommandError, StorageError, install
from ecs_rl.files import temporary_name
from ecs_rl.pilots.numpy_policy import NumpyPolicy
from ecs_rl.pilots.ops import Array, Numbers
from ecs_rl.pilots.pilot import Pilot
from ecs_rl.pilots.source import SavedPolicy
from ecs_rl.spaces import Discrete

try:
    import onnx
    from onnx import TensorProto, helper, numpy_helper
except ImportError as error:
    raise CommandError(f"ONNX files need the package onnx: {install('onnx')}") from error

OPSET, IR = 17, 8
"""Of 2022, so that runtimes of today and some older ones read it."""


class Graph:
    """The operations as nodes, in the order in which they are asked for; a value is the name of what a node gives."""

    def __init__(self) -> None:
        self.nodes: list[Any] = []
        self.constants: list[Any] = []

    def node(self, kind: str, *inputs: str | Array, gives: str = "", **attributes: Any) -> str:
        """Add a node, and return the name of its output; arrays become constants of the graph."""
        names = [each if isinstance(each, str) else self._constant(each) for each in inputs]
        output = gives or f"{kind}_{len(self.nodes)}"
        self.nodes.append(helper.make_node(kind, names, [output], **attributes))
        return output

    def _constant(self, array: Array) -> str:
        name = f"constant_{len(self.constants)}"
        self.constants.append(numpy_helper.from_array(np.ascontiguousarray(array), name))
        return name

    def affine(self, x: str, weight: Array, bias: Array) -> str:
        """Return x W^T + b along the last axis."""
        return self.node("Add", self.node("MatMul", x, weight.T), bias)

    def add(self, x: str, y: str | Array) -> str:
        """Return the sum."""
        return self.node("Add", x, y)

    def sub(self, x: str, y: str | Array) -> str:
        """Return the difference."""
        return self.node("Sub", x, y)

    def mul(self, x: str, y: str | Array) -> str:
        """Return the product."""
        return self.node("Mul", x, y)

    def tanh(self, x: str) -> str:
        """Return the hyperbolic tangent."""
        return self.node("Tanh", x)

    def relu(self, x: str) -> str:
        """Return each number, 0 for those below."""
        return self.node("Relu", x)

    def sigmoid(self, x: str) -> str:
        """Return the logistic function."""
        return self.node("Sigmoid", x)

    def softmax(self, x: str) -> str:
        """Return shares of 1 along the last axis."""
        return self.node("Softmax", x, axis=-1)

    def clip(self, x: str, limit: float) -> str:
        """Return each number, held between -limit and limit."""
        return self.node("Clip", x, np.array(-limit, np.float32), np.array(limit, np.float32))

    def below(self, x: str, limit: float, then: float, other: float) -> str:
        """Return one number where x is below a limit, and another elsewhere."""
        low, yes, no = (np.array(number, np.float32) for number in (limit, then, other))
        return self.node("Where", self.node("Less", x, low), yes, no)

    def take(self, x: str, numbers: Numbers) -> str:
        """Return some of the numbers along the last axis."""
        if not isinstance(numbers, slice):
            return self.node("Gather", x, np.array(numbers, np.int64), axis=-1)
        parts = (numbers.start, numbers.stop, -1, numbers.step or 1)
        return self.node("Slice", x, *(np.array([each], np.int64) for each in parts))

    def concat(self, parts: Sequence[str], axis: int) -> str:
        """Return parts side by side."""
        return self.node("Concat", *parts, axis=axis)

    def reshape(self, x: str, shape: tuple[int, ...]) -> str:
        """Return (rows, *shape)."""
        return self.node("Reshape", x, np.array([-1, *shape], np.int64))

    def transpose(self, x: str, order: tuple[int, ...]) -> str:
        """Return the axes in another order."""
        return self.node("Transpose", x, perm=order)

    def matmul(self, x: str, y: str) -> str:
        """Return products of matrices."""
        return self.node("MatMul", x, y)

    def conv(self, x: str, weight: Array, bias: Array, stride: int) -> str:
        """Return a convolution of 3 x 3 with a border of zeros."""
        return self.node("Conv", x, weight, bias, pads=[1, 1, 1, 1], strides=[stride, stride])

    def argmax(self, x: str) -> str:
        """Return the place of the greatest number along the last axis."""
        return self.node("ArgMax", x, axis=-1, keepdims=0)

    def as_float(self, x: str) -> str:
        """Return whole numbers as float32."""
        return self.node("Cast", x, to=TensorProto.FLOAT)


def model_of(policies: Sequence[SavedPolicy]) -> Any:
    """Return the ONNX model of a checkpoint's policies.

    For each there is an input `observation` and an output `action`, and for one that remembers `state` and
    `next_state`; where there are several policies, `NAME/observation` and so on. All are (rows, ...), each policy's
    with as many rows as it is given, float32 but for a lone choice's (rows,) int64. The metadata holds JSON under the
    same names: what is seen, and what is done.
    """
    graph, inputs, outputs = Graph(), list[Any](), list[Any]()
    about = {"scene": policies[0].scene, "agent": policies[0].agent, "step": str(policies[0].step)}
    for saved in policies:
        start = f"{saved.spec.name}/" if len(policies) > 1 else ""
        policy, lone = NumpyPolicy(saved), isinstance(saved.spec.actions, Discrete)
        pilot, (seen, state) = Pilot(saved, policy), (f"{start}observation", f"{start}state")
        output, after = policy.outputs(graph, seen, state)
        graph.node("Identity", policy.head.best(graph, output), gives=f"{start}action")
        rows = f"{start}rows"  # one name is one number to a runtime, and each policy has rows of its own
        inputs.append(_values(seen, rows, len(pilot.observations)))
        outputs.append(_values(f"{start}action", rows, 0 if lone else len(pilot.actions)))
        if policy.state:
            graph.node("Identity", after, gives=f"{start}next_state")
            inputs.append(_values(state, rows, policy.state))
            outputs.append(_values(f"{start}next_state", rows, policy.state))
        metadata = {"observation": pilot.observations, "action": pilot.actions, "options": pilot.options}
        about |= {f"{start}{name}": json.dumps(what) for name, what in metadata.items()}
    made = helper.make_graph(graph.nodes, policies[0].path.stem, inputs, outputs, graph.constants)
    opsets = [helper.make_opsetid("", OPSET)]
    model = helper.make_model(made, opset_imports=opsets, ir_version=IR, producer_name="ecs_rl")
    helper.set_model_props(model, about)
    onnx.checker.check_model(model, full_check=True)
    return model


def write_onnx(policies: Sequence[SavedPolicy], path: Path) -> None:
    """Write the policies of a checkpoint into one ONNX file, whole or not at all."""
    data, hidden = model_of(policies).SerializeToString(), path.with_name(temporary_name(path.name))
    try:
        hidden.write_bytes(data)
        hidden.replace(path)
    except OSError as error:
        with suppress(OSError):  # the first error is the one to tell
            hidden.unlink(missing_ok=True)
        too_long = error.errno == errno.ENAMETOOLONG
        cure = "choose a shorter name" if too_long else "free some space or choose another folder"
        raise StorageError(f"cannot write {path}: {error.strerror or error}; {cure}") from error


def _values(name: str, rows: str, columns: int) -> Any:
    """Return what an input or output is: (rows, columns) float32, or (rows,) int64 without columns."""
    kind, shape = (TensorProto.FLOAT, [rows, columns]) if columns else (TensorProto.INT64, [rows])
    return helper.make_tensor_value_info(name, kind, shape)
