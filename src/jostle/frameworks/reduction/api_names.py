"""What a framework calls the functions that a program of its uses, read off the program."""

from __future__ import annotations

import ast
from collections.abc import Iterator, Mapping

NOT_THE_LIBRARY = {"numpy", "base64"}
# Functions that programs need to hand tensors over; an issue is about one only if nothing else is there.
HANDING_OVER = {
    *("Cast", "Concat", "Gather", "Identity", "Reshape", "Squeeze", "Transpose", "Unsqueeze"),
    *("astype", "backward", "cast", "clone", "contiguous", "convert_to_tensor", "detach", "function", "grad", "gather"),
    *("moveaxis", "new_zeros", "numpy", "permute", "reshape", "set_default_dtype", "stack", "tensor", "to"),
    *("to_tensor", "transpose", "unsqueeze", "squeeze", "where", "zeros", "zeros_like", "zero_grad"),
}
NODE = "make_node"  # of ONNX, where the first argument names the operator


def api_names(program: str) -> list[str]:
    """The functions of the library under the names that its documentation has, in the order of the model's text.

    A model that does nothing else is named by what hands tensors over.
    """
    tree = ast.parse(program)
    modules = dict(_modules(tree))
    model = _model(tree)
    names = list(dict.fromkeys(name for node in [*_nodes(tree), *model] for name in _called(node, modules)))
    return [name for name in names if name.rpartition(".")[2] not in HANDING_OVER] or names


def _modules(tree: ast.Module) -> Iterator[tuple[str, str]]:
    """What names of the program stand for; a library keeps the short name by which everybody calls it."""
    for node in ast.walk(tree):
        if isinstance(node, ast.Import):
            for one in node.names:
                short = one.asname if one.asname and "." not in one.name else one.name
                if one.name.partition(".")[0] not in NOT_THE_LIBRARY:
                    yield one.asname or one.name, short
        elif isinstance(node, ast.ImportFrom) and node.module:
            yield from ((one.asname or one.name, f"{node.module}.{one.name}") for one in node.names)


def _model(tree: ast.Module) -> list[ast.Call]:
    """The calls in what computes the model: its function, functions beside it, and layers that are made for it."""
    parts = [
        node
        for node in tree.body
        if isinstance(node, ast.FunctionDef)
        or (isinstance(node, ast.Assign) and isinstance(node.targets[0], ast.Name) and _is_layer(node.targets[0].id))
    ]
    return [call for part in parts for call in _calls(part)]


def _is_layer(name: str) -> bool:
    return name.endswith("_layer")


def _nodes(tree: ast.Module) -> list[ast.Call]:
    """The calls that make nodes of an ONNX model."""
    return [call for call in _calls(tree) if isinstance(call.func, ast.Attribute) and call.func.attr == NODE]


def _calls(part: ast.AST) -> list[ast.Call]:
    calls = [node for node in ast.walk(part) if isinstance(node, ast.Call)]
    return sorted(calls, key=lambda call: (call.lineno, call.col_offset))


def _called(call: ast.Call, modules: Mapping[str, str]) -> Iterator[str]:
    """The name of what is called, if it is the library's."""
    if isinstance(call.func, ast.Attribute) and call.func.attr == NODE:
        yield from (one.value for one in call.args[:1] if isinstance(one, ast.Constant) and isinstance(one.value, str))
        return
    words, place = list[str](), call.func
    while isinstance(place, ast.Attribute):
        words.append(place.attr)
        place = place.value
    if words and isinstance(place, ast.Name) and place.id in modules:
        yield ".".join([modules[place.id], *reversed(words)])
