"""What torch did while a program ran: the kernels it called, and what its compiler counted."""

from __future__ import annotations

import sys
from collections.abc import Callable, Iterator, Mapping, Sequence
from typing import Any

COUNTED = ("graph_break", "inductor", "aot_autograd", "unimplemented")  # by torch's compiler, of interest as coverage


def prepare() -> None:
    """Once in a worker: one thread, since workers share the machine, and no words from the compiler."""
    import logging

    import torch

    torch.set_num_threads(1)
    logging.getLogger("torch").setLevel(logging.CRITICAL)


def after() -> None:
    """Forget what was compiled, so that no program runs by another's graph and memory does not grow."""
    if "torch._dynamo" in sys.modules:  # else nothing was, and its import takes seconds
        import torch

        torch._dynamo.reset()


def watched(run: Callable[[], None], namespace: dict[str, Any]) -> set[str]:
    """The kernels that ran, with dtype, rank and layout of their first tensor, and what a compiler counted."""
    from torch.utils._python_dispatch import TorchDispatchMode

    found: set[str] = set()

    class Watching(TorchDispatchMode):
        @classmethod
        def ignore_compile_internals(cls) -> bool:
            return True  # else nothing is compiled while we watch

        def __torch_dispatch__(
            self, func: Any, types: Any, args: Sequence[Any] = (), kwargs: Mapping[str, Any] | None = None
        ) -> Any:
            found.add(f"{func} {_described(args)}".strip())
            return func(*args, **(kwargs or {}))

    _counters().clear()  # of what an earlier program counted
    with Watching():  # type: ignore[no-untyped-call]
        run()
    return found | _counted()


def _counters() -> Any:
    """Those of torch's compiler; none as long as nothing was compiled."""
    compiler: Any = sys.modules.get("torch._dynamo.utils")
    return {} if compiler is None else compiler.counters


def _counted() -> set[str]:
    """What torch's compiler counted, without hits and misses of its caches, which differ from run to run."""
    counters = _counters()
    return {f"{kind}: {name}" for kind in COUNTED for name in counters.get(kind, {}) if "cache" not in name}


def _described(args: Sequence[Any]) -> str:
    first = next(_tensors(args), None)
    if first is None:
        return ""
    dtype = str(first.dtype).removeprefix("torch.")
    return f"{dtype} rank{first.dim()} {_layout(first)}"


def _tensors(args: Sequence[Any]) -> Iterator[Any]:
    import torch

    for arg in args:
        if isinstance(arg, torch.Tensor):
            yield arg
        elif isinstance(arg, list | tuple):
            yield from _tensors(arg)


def _layout(tensor: Any) -> str:
    if tensor.is_contiguous():
        return "contiguous"
    return "overlapping" if 0 in tensor.stride() else "strided"
