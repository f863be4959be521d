"""TorchScript modules with their layers, although they take no hooks.

The graph of a module with all calls put in place knows no submodules any more. So each call of a submodule is marked
first; then the marked values are given out beside what the module returns, and pass through modules that take hooks.
Marks remain in what torch keeps of the module's own graphs, so that it runs by functions made of the one without.
"""

from __future__ import annotations

import copy
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, field, replace
from functools import partial
from typing import Any

import torch
from torch import nn

from jostle.foreign import Crash, attempt
from jostle.subjects.torch_arguments import parameters_of
from jostle.subjects.torch_module import TorchSubject, of_module

MARK = "prim::Print"  # because torch knows it, and keeps it where it stands
OURS = "jostle"  # an attribute of marks, which tells them from what a model itself prints
CALL, ATTRIBUTE, FORWARD = "prim::CallMethod", "prim::GetAttr", "forward"


class Tap(nn.Module):
    """Stands for a submodule: what that gave passes through it."""

    def __init__(self, scripted: nn.Module):
        super().__init__()
        kind = getattr(nn, str(scripted.original_name), None)
        self.stands_for = kind if isinstance(kind, type) else nn.Module
        self._scripted = [scripted]  # in a list, so that its weights do not count twice

    @property
    def weight(self) -> Any:
        return getattr(self._scripted[0], "weight", None)

    def forward(self, value: Any) -> Any:
        return value


class WithLayers(nn.Module):
    """A scripted module whose submodules can be watched by their names; it runs by functions made of its graph."""

    def __init__(self, scripted: torch.jit.ScriptModule, run: Any, seeing: Any, paths: Sequence[str]):
        super().__init__()
        self.scripted_module = scripted
        self._run, self._seeing, self._paths = run, seeing, tuple(paths)
        children = dict(scripted.named_modules())
        for path in dict.fromkeys(paths):
            _put(self, path.split("."), Tap(children[path]))

    def __deepcopy__(self, memo: dict[int, Any]) -> WithLayers:
        """A copy with weights of its own; functions are shared, which torch cannot copy."""
        return WithLayers(copy.deepcopy(self.scripted_module, memo), self._run, self._seeing, self._paths)

    def forward(self, *inputs: Any, **named: Any) -> Any:
        taps = [self.get_submodule(path) for path in self._paths]
        arguments = self._in_order(inputs, named)
        if not any(tap._forward_hooks for tap in taps):
            return self._run(self.scripted_module, *arguments)
        returned, *seen = self._seeing(self.scripted_module, *arguments)
        for tap, value in zip(taps, seen, strict=True):
            tap(value)
        return returned

    def _in_order(self, inputs: Sequence[Any], named: dict[str, Any]) -> list[Any]:
        """Every argument by its place, because a graph knows no names and no defaults."""
        rest = self.scripted_module.forward.schema.arguments[1 + len(inputs) :]  # type: ignore[attr-defined]
        return [*inputs, *(named.get(one.name, one.default_value) for one in rest)]


def _put(parent: nn.Module, path: Sequence[str], tap: Tap) -> None:
    for name in path[:-1]:
        if name not in dict(parent.named_children()):
            parent.add_module(name, nn.Module())
        parent = parent.get_submodule(name)
    parent.add_module(path[-1], tap)


def of_scripted(load: Callable[[], torch.jit.ScriptModule]) -> TorchSubject:
    """A scripted module as a subject; without layers where its calls cannot be followed."""
    scripted = load()
    made = attempt(partial(_with_layers, scripted))
    return of_module(load()) if isinstance(made, Crash) else made  # again, because marks remain in the one


def _with_layers(scripted: torch.jit.ScriptModule) -> TorchSubject:
    marks = _Marks(scripted)
    run, seeing = marks.functions()
    module = WithLayers(scripted, run, seeing, marks.outside)
    return replace(of_module(module), parameters=parameters_of(scripted))


@dataclass
class _Marks:
    """Marks behind calls of submodules that have none themselves."""

    scripted: torch.jit.ScriptModule
    called: list[str] = field(default_factory=list)  # submodules in the order of their calls
    outside: list[str] = field(default_factory=list)  # those of them that are called whatever the input is
    _marked: set[tuple[str, str]] = field(default_factory=set)  # types, whose graphs their modules share, and methods

    def functions(self) -> tuple[Any, Any]:
        """Two functions of the module and its inputs: what it returns, and this with what the submodules gave."""
        self._follow(self.scripted, FORWARD, ())
        graph = self.scripted._c._get_method(FORWARD).inlined_graph  # a copy
        run = torch._C._create_function_from_graph("run", _unmarked(graph.copy()))
        marks, in_place = list(_marks(graph, True)), _in_place(graph)
        if not marks or len(marks) != len(self.called):
            raise ValueError("the calls of submodules cannot be told apart")
        for path, (mark, always) in zip(self.called, marks, strict=True):
            if always:
                self.outside.append(path)
                graph.registerOutput(_kept(graph, mark) if in_place else mark.inputsAt(0))
        _unmarked(graph).makeMultiOutputIntoTuple()
        return run, torch._C._create_function_from_graph("seeing", graph)

    def _follow(self, module: Any, method: str, path: tuple[str, ...]) -> None:
        graph = module._c._get_method(method).graph
        known = (module._c._type().qualified_name(), method)
        new = known not in self._marked
        self._marked.add(known)
        for node in _nodes(graph):
            if node.kind() != CALL:
                continue
            inner = _path(node.inputsAt(0), graph)
            child = module
            for name in inner:
                child = getattr(child, name)
            whole = (*path, *inner)
            self._follow(child, node.s("name"), whole)
            if node.s("name") == FORWARD and inner and not any(child.children()):
                self.called.append(".".join(whole))
                if new:
                    graph.create(MARK, [node.output()], 0).s_(OURS, OURS).insertAfter(node)


def _nodes(block: Any) -> Iterator[Any]:
    """All nodes in the order in which they run, with those inside conditions and loops."""
    for node in list(block.nodes()):
        for inner in node.blocks():
            yield from _nodes(inner)
        yield node


def _marks(block: Any, always: bool) -> Iterator[tuple[Any, bool]]:
    """All marks in order, and whether they stand outside of conditions and loops."""
    for node in list(block.nodes()):
        for inner in node.blocks():
            yield from _marks(inner, False)
        if node.kind() == MARK and node.hasAttribute(OURS):
            yield node, always


def _unmarked(graph: Any) -> Any:
    for mark, _ in _marks(graph, True):
        mark.destroy()
    return graph


def _path(value: Any, graph: Any) -> list[str]:
    """The way from a module to the submodule that a value is."""
    if value.debugName() == next(graph.inputs()).debugName():
        return []
    if value.node().kind() != ATTRIBUTE:
        raise ValueError("a submodule is chosen while the model runs")
    return [*_path(value.node().inputsAt(0), graph), value.node().s("name")]


def _in_place(graph: Any) -> bool:
    """Whether some operator writes over what another computed."""
    return any(node.kind().startswith("aten::") and node.kind().endswith("_") for node in _nodes(graph))


def _kept(graph: Any, mark: Any) -> Any:
    """A copy of a marked tensor, taken before others write over it."""
    value = mark.inputsAt(0)
    if value.type().kind() != "TensorType":
        return value
    graph.setInsertPoint(mark)
    clone = graph.create("aten::clone", [value, graph.insertConstant(None)], 1)
    clone.insertBefore(mark)
    return clone.output()
