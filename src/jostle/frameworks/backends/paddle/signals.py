"""Which parts of Paddle worked: the operators that were called, with the dtypes and ranks of what they were given."""

from __future__ import annotations

import faulthandler
import os
from collections.abc import Callable
from typing import Any

_called: set[str] = set()  # since the last program began


def prepare() -> None:
    """One thread and no logs; from now on every operator tells when it is called."""
    os.environ |= {"GLOG_minloglevel": "3", "OMP_NUM_THREADS": "1", "CUDA_VISIBLE_DEVICES": "-1"}
    import paddle

    paddle.disable_signal_handler()  # which sleeps for ever after some deaths, and hides where Python was
    faulthandler.enable()
    operators = paddle._C_ops
    for name in dir(operators):
        function = getattr(operators, name)
        if not name.startswith("_") and callable(function):
            setattr(operators, name, _telling(name, function, paddle.Tensor))


def _telling(name: str, function: Callable[..., Any], tensor: Any) -> Callable[..., Any]:
    def called(*arguments: Any, **settings: Any) -> Any:
        given = ",".join(f"{one.dtype}{one.ndim}" for one in arguments if isinstance(one, tensor))
        _called.add(f"{name} {given}")
        return function(*arguments, **settings)

    return called


def watched(run: Callable[[], None], namespace: dict[str, Any]) -> set[str]:
    """Runs a program, and tells the operators that it called and the nodes of its backward graph."""
    _called.clear()
    run()
    return _called | _backward_nodes(namespace)


def after() -> None:
    """Nothing stays behind."""


def _backward_nodes(namespace: dict[str, Any]) -> set[str]:
    waiting = [value.grad_fn for value in namespace.values() if getattr(value, "grad_fn", None) is not None]
    seen: dict[int, Any] = {}
    while waiting:
        node = waiting.pop()
        if node is not None and id(node) not in seen:
            seen[id(node)] = node
            waiting += node.next_functions
    return {f"backward {node.name()}" for node in seen.values()}
