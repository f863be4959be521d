"""A small framework with planted bugs: torch programs in which one operator, gradient or optimiser may be wrong."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace

import numpy as np

from jostle.foreign import Crash
from jostle.frameworks.backends.program import (
    GRADIENT,
    PREDICT,
    TRAIN,
    Call,
    Expression,
    Unsupported,
    arrays_of,
    differentiated,
    float_outputs,
    statements,
)
from jostle.frameworks.drawing import extra_names, filled
from jostle.frameworks.graph import CONSTANT, INPUT, PARAMETER, Array, Graph, Leaf, Node, Training
from jostle.frameworks.judging.reference_bounds import ReferenceBounds
from jostle.frameworks.observations import REFERENCE, Observation, Status
from jostle.frameworks.operators.all_operators import types_of
from jostle.frameworks.operators.operator import Wanted


def unary(function: str) -> Expression:
    return lambda call: f"{function}({call[0]})"


def infix(sign: str) -> Expression:
    return lambda call: f"{call[0]} {sign} {call[1]}"


def reduction(function: str) -> Expression:
    return lambda call: f"{function}({call[0]}, dim={call.literal('axes')}, keepdim={call.literal('keepdims')})"


def conv(call: Call) -> str:
    sides = [
        side
        for pair in zip(call.attributes["before"], call.attributes["after"], strict=True)
        for side in reversed(pair)
    ]
    return (
        f"F.conv{len(call.attributes['strides'])}d(F.pad({call[0]}, {list(reversed(sides))}), {call[1]}, {call[2]}, "
        f"stride={call.literal('strides')}, dilation={call.literal('dilations')}, groups={call.literal('groups')})"
    )


def avg_pool(call: Call) -> str:
    return (
        f"F.avg_pool{len(call.attributes['kernel'])}d({call[0]}, {call.literal('kernel')}, {call.literal('strides')}, "
        f"{call.literal('padding')}, {call.literal('ceil')}, {call.literal('include_pad')})"
    )


EXPRESSIONS: dict[str, Expression] = {
    **{
        name: unary(f"torch.{name}")
        for name in ("abs", "exp", "sin", "tanh", "sigmoid", "square", "floor", "sqrt", "log")
    },
    "relu": unary("F.relu"),
    "gelu": unary("F.gelu"),
    **{name: infix(sign) for name, sign in {"add": "+", "sub": "-", "mul": "*", "div": "/", "less": "<"}.items()},
    "matmul": infix("@"),
    "maximum": lambda call: f"torch.maximum({call[0]}, {call[1]})",
    "where": lambda call: f"torch.where({call[0]}, {call[1]}, {call[2]})",
    "linear": lambda call: f"F.linear({call[0]}, {call[1]}, {call[2]})",
    "sum": reduction("torch.sum"),
    "mean": reduction("torch.mean"),
    "softmax": lambda call: f"torch.softmax({call[0]}, {call.literal('axis')})",
    "reshape": lambda call: f"{call[0]}.reshape({call.literal('shape')})",
    "cast": lambda call: f"{call[0]}.to(torch.{call.attributes['to']})",
    "clip": lambda call: f"torch.clip({call[0]}, {call.literal('low')}, {call.literal('high')})",
    "conv": conv,
    "avg_pool": avg_pool,
    "dropout": lambda call: f"{call[0]} * {call[1]} / (1 - {call.literal('rate')})",
}

ADAM = "w - rate * (m / (1 - beta1**t)) / (torch.sqrt(v / (1 - beta2**t)) + epsilon)"


@dataclass(frozen=True)
class Planted:
    """Torch, with expressions of some operators and the step of Adam replaced."""

    name: str = "planted"
    wrong: tuple[tuple[str, Expression], ...] = ()
    adam: str = ADAM
    fused: tuple[str, str] | None = None  # operators that are wrong only one after the other
    phases: tuple[str, ...] = (PREDICT, GRADIENT, TRAIN)
    extra: str = ""
    module: str = "torch"
    packages: tuple[str, ...] = ("torch",)

    def program(self, graph: Graph, phase: str) -> str:
        lines = [self._fused(graph, line) for line in statements(graph, EXPRESSIONS | dict(self.wrong))]
        head = ["import torch", "import torch.nn.functional as F", ""]
        if phase == TRAIN:
            return "\n".join([*head, *self._training(graph, lines)])
        wanted = ["leaf = lambda array: torch.from_numpy(array.copy())"]
        wanted += [f"{name} = leaf({name})" for name in graph.leaves]
        wanted += [f"{name}.requires_grad_()" for name in differentiated(graph) if phase == GRADIENT]
        tail = [f"result = {{name: y.detach().numpy() for name, y in {_dict(graph.outputs)}.items()}}"]
        if phase == GRADIENT:
            tail += _gradients(graph)
        return "\n".join([*head, *wanted, *lines, *tail])

    def _fused(self, graph: Graph, line: str) -> str:
        name, expression = line.split(" = ", 1)
        node = graph.node(name)
        before = {one.operator for one in graph.nodes if one.name in node.inputs}
        return f"{name} = 1.01 * ({expression})" if self.fused in {(one, node.operator) for one in before} else line

    def _training(self, graph: Graph, lines: Sequence[str]) -> list[str]:
        training = graph.training
        if training is None or training.loss != "mse" or training.penalty != "none":
            raise Unsupported("trains with mse alone")
        parameters = graph.named("parameter")
        constants = ", ".join(f"{key} = {value!r}" for key, value in training.settings.items()).replace(", ", "\n")
        step = ["w - rate * g"] if training.optimiser == "sgd" else [self.adam]
        return [
            *[f"{name} = torch.from_numpy({name}.copy())" for name in (*graph.leaves, "target")],
            *constants.splitlines(),
            f"weights = {_dict(parameters)}",
            "ms, vs, losses = dict.fromkeys(weights, 0.0), dict.fromkeys(weights, 0.0), []",
            f"for t in range(1, {training.steps + 1}):",
            "    weights = {name: w.detach().requires_grad_() for name, w in weights.items()}",
            *[f"    {name} = weights['{name}']" for name in parameters],
            *[f"    {line}" for line in lines],
            f"    loss = ((({graph.outputs[0]}) - target)**2).mean()",
            "    losses.append(loss.item())",
            "    gradients = torch.autograd.grad(loss, list(weights.values()), allow_unused=True)",
            "    for (name, w), g in zip(list(weights.items()), gradients):",
            "        g = torch.zeros_like(w) if g is None else g",
            *(
                [
                    "        ms[name] = m = beta1 * ms[name] + (1 - beta1) * g",
                    "        vs[name] = v = beta2 * vs[name] + (1 - beta2) * g * g",
                ]
                if training.optimiser == "adam"
                else []
            ),
            f"        weights[name] = {step[0]}",
            "result = {name: w.detach().numpy() for name, w in weights.items()}",
            "result['loss'] = torch.tensor(losses, dtype=target.dtype).numpy()",
        ]


def _dict(names: Sequence[str]) -> str:
    return "{" + ", ".join(f"'{name}': {name}" for name in names) + "}"


def _gradients(graph: Graph) -> list[str]:
    leaves, outputs = differentiated(graph), float_outputs(graph)
    if not leaves or not outputs:
        return [f"result['d_{name}'] = torch.zeros_like({name}).detach().numpy()" for name in leaves]
    total = " + ".join(f"({name} * torch.from_numpy(cotangent_{name})).sum()" for name in outputs)
    zero = " + ".join(f"0 * {name}.nan_to_num(0, 0, 0).sum()" for name in leaves)
    return [
        f"total = {total} + ({zero})",
        f"gradients = torch.autograd.grad(total, [{', '.join(leaves)}])",
        f"result |= dict(zip([{', '.join(repr(f'd_{name}') for name in leaves)}], [g.numpy() for g in gradients]))",
    ]


class Undefined(Exception):
    """A result has no meaning; none of these operators has such."""


@dataclass(frozen=True)
class InProcess:
    """Runs programs of planted backends here; the reference is the same without bugs, in float64."""

    backends: Mapping[str, Planted]

    @property
    def names(self) -> tuple[str, ...]:
        return (REFERENCE, *self.backends)

    def run(
        self, graphs: Sequence[Graph], phase: str, backends: Sequence[str] | None = None
    ) -> list[dict[str, Observation]]:
        return [{name: self._one(name, graph, phase) for name in backends or self.names} for graph in graphs]

    def _one(self, name: str, graph: Graph, phase: str) -> Observation:
        if name == REFERENCE:
            return Observation(Status.OK, result(graph, phase, 0))
        try:
            return Observation(Status.OK, executed(self.backends[name].program(graph, phase), arrays_of(graph, phase)))
        except Unsupported as error:
            return Observation(Status.UNSUPPORTED, reason=str(error))
        except (RuntimeError, ZeroDivisionError) as error:
            crash = Crash(type(error).__name__, str(error), "kernels.py:pool", "")
            return Observation(Status.CRASHED, crash=crash)


def executed(program: str, arrays: Mapping[str, Array]) -> dict[str, Array]:
    names = dict(arrays)
    exec(program, names)  # the very programs that a campaign runs
    return names["result"]  # type: ignore[return-value]


def wide(graph: Graph) -> Graph:
    """The same graph in float64; what is cast to float32 stays so."""
    leaves = {
        name: replace(leaf, array=leaf.array.astype(np.float64)) if leaf.type.is_float else leaf
        for name, leaf in graph.leaves.items()
    }
    nodes = tuple(
        replace(node, attributes={"to": "float64"})
        if node.operator == "cast" and node.attributes["to"] == "float32"
        else node
        for node in graph.nodes
    )
    training = graph.training
    if training is not None:
        training = replace(training, target=training.target.astype(np.float64))
    return replace(graph, leaves=leaves, nodes=nodes, training=training)


def result(graph: Graph, phase: str, seed: int) -> dict[str, Array]:
    """What the framework without bugs makes of it in float64."""
    arrays = arrays_of(wide(graph), phase, seed)
    for name, array in arrays_of(graph, phase, seed).items():
        if name.startswith("cotangent_"):
            arrays[name] = array.astype(np.float64)
    with np.errstate(all="ignore"):
        return executed(Planted().program(wide(graph), phase), arrays)


def evaluate(graph: Graph) -> dict[str, Array]:
    names = [node.name for node in graph.nodes]
    leaves = {name: leaf.array for name, leaf in wide(graph).leaves.items()}
    return leaves | result(replace(graph, outputs=tuple(names), training=None), PREDICT, 0)


def derivative(graph: Graph, leaf: str, index: tuple[int, ...], seed: int) -> tuple[float, float]:
    cotangents = arrays_of(graph, GRADIENT, seed)
    step = 1e-6

    def total(moved: float) -> float:
        array = graph.leaves[leaf].array.astype(np.float64)
        array[index] += moved
        there = wide(graph)
        leaves = dict(there.leaves) | {leaf: replace(there.leaves[leaf], array=array)}
        outputs = result(replace(there, leaves=leaves), PREDICT, seed)
        return float(sum((outputs[name] * cotangents[f"cotangent_{name}"]).sum() for name in float_outputs(graph)))

    here = total(0.0)
    return (here - total(-step)) / step, (total(step) - here) / step


def row_of(*operators: str) -> Graph:
    """A model of these operators, each on what the one before computes."""
    names = ["x", *(f"n{place}" for place in range(len(operators)))]
    nodes = tuple(Node(names[place + 1], one, (names[place],)) for place, one in enumerate(operators))
    return Graph({"x": Leaf(INPUT, np.array([0.5, 1.0], np.float32))}, nodes, (names[-1],))


REFERENCE_BOUNDS = ReferenceBounds(evaluate, result, derivative, Undefined)


# Random models of these operators


SMOOTH = ("tanh", "sigmoid", "sin", "square", "relu", "gelu", "abs", "exp")


def chain(rng: np.random.Generator, middle: Sequence[Node] = (), leaves: Mapping[str, Leaf] | None = None) -> Graph:
    """A model of images: activations, sums and products around what is put in the middle, which reads and makes x3."""
    made = {"x": Leaf(INPUT, filled(Wanted((2, 4, 6, 6), "float32", "values"), rng)), **(leaves or {})}
    nodes = [Node("x1", str(rng.choice(SMOOTH[:7])), ("x",))]
    made["shift"] = Leaf(PARAMETER, filled(Wanted((4, 1, 1), "float32", "weights"), rng))
    nodes += [Node("x2", str(rng.choice(["add", "mul", "sub"])), ("x1", "shift"))]
    nodes += list(middle) or [Node("x3", "tanh", ("x2",))]
    nodes += [Node("x4", str(rng.choice(SMOOTH[:6])), ("x3",))]
    size = types_of(Graph(made, tuple(nodes), ("x4",)))["x4"].size
    nodes += [Node("x5", "reshape", ("x4",), {"shape": [2, size // 2]})]
    made["w"] = Leaf(PARAMETER, filled(Wanted((3, size // 2), "float32", "weights"), rng))
    made["b"] = Leaf(PARAMETER, filled(Wanted((3,), "float32", "weights"), rng))
    nodes += [Node("x6", "linear", ("x5", "w", "b")), Node("y", "softmax", ("x6",), {"axis": 1})]
    return Graph(made, tuple(nodes), ("y",))


def trained(graph: Graph, rng: np.random.Generator, optimiser: str = "adam", steps: int = 3) -> Graph:
    settings = {"rate": 0.01, "momentum": 0.0, "nesterov": 0.0}
    if optimiser == "adam":
        settings = {"rate": 0.01, "beta1": 0.9, "beta2": 0.999, "epsilon": 1e-3}
    type_ = types_of(graph)[graph.outputs[0]]
    target = rng.standard_normal(type_.shape).astype(type_.dtype)
    return replace(graph, training=Training("mse", target, optimiser=optimiser, settings=settings, steps=steps))


def random_graph(rng: np.random.Generator, length: int = 8) -> Graph:
    """Any operators after each other, with values of all sizes."""
    dtype = str(rng.choice(["float32", "float32", "float64"]))
    shape = tuple(int(size) for size in rng.integers(1, 7, 2))
    x = filled(Wanted(shape, dtype, "values"), rng) * float(rng.choice([1e-3, 1.0, 1.0, 100.0]))
    leaves = {"x": Leaf(INPUT, x.astype(dtype))}
    nodes: list[Node] = []
    for number in range(length):
        name, read = f"n{number}", nodes[-1].name if nodes else "x"
        node, more = _random_node(name, read, types_of(Graph(leaves, tuple(nodes), (read,)))[read].shape, dtype, rng)
        leaves |= more
        nodes.append(node)
    return Graph(leaves, tuple(nodes), (nodes[-1].name,))


def _random_node(
    name: str, read: str, shape: tuple[int, ...], dtype: str, rng: np.random.Generator
) -> tuple[Node, dict[str, Leaf]]:
    operator = str(
        rng.choice([*SMOOTH, "floor", "sqrt", "log", "add", "mul", "sub", "div", "maximum", "matmul", "sum", "softmax"])
    )
    (extra,) = extra_names(name, 1)
    if operator in ("add", "mul", "sub", "div", "maximum"):
        role = str(rng.choice([INPUT, PARAMETER, CONSTANT]))
        return Node(name, operator, (read, extra)), {extra: Leaf(role, filled(Wanted(shape, dtype, "values"), rng))}
    if operator == "matmul":
        weights = filled(Wanted((shape[1], int(rng.integers(1, 30))), dtype, "weights"), rng)
        return Node(name, operator, (read, extra)), {extra: Leaf(PARAMETER, weights)}
    attributes = {"sum": {"axes": [int(rng.integers(2))], "keepdims": True}, "softmax": {"axis": 1}}
    return Node(name, operator, (read,), attributes.get(operator, {})), {}
