"""Which parts of TensorFlow worked: the operations of the graphs that it traced and rewrote."""

from __future__ import annotations

import gc
import os
from collections.abc import Callable, Iterator
from typing import Any


def prepare() -> None:
    """One thread, no GPU, no logs."""
    os.environ |= {"TF_CPP_MIN_LOG_LEVEL": "3", "CUDA_VISIBLE_DEVICES": "-1"}
    import tensorflow as tf

    tf.get_logger().setLevel("ERROR")
    tf.config.threading.set_intra_op_parallelism_threads(1)
    tf.config.threading.set_inter_op_parallelism_threads(1)


def watched(run: Callable[[], None], namespace: dict[str, Any]) -> set[str]:
    """Runs a program, and tells each operation with the dtypes of what it computed, traced and rewritten."""
    from tensorflow.python.eager import context

    context.context().enable_graph_collection()
    try:
        run()
    finally:
        metadata = context.context().export_run_metadata()
        context.context().disable_graph_collection()
    rewritten = {
        f"rewritten {node.op} {_type_attribute(node)}"
        for graphs in metadata.function_graphs
        for node in _nodes(graphs.post_optimization_graph)
    }
    return rewritten | {signal for function in _functions(namespace) for signal in _traced(function)}


def after() -> None:
    """Forgets what the last programs left behind, which Keras is slow to do."""
    import tensorflow as tf

    tf.keras.backend.clear_session()
    gc.collect()


def _functions(namespace: dict[str, Any]) -> Iterator[Any]:
    for name in ("model", "train"):
        if hasattr(namespace.get(name), "_list_all_concrete_functions"):
            yield from namespace[name]._list_all_concrete_functions()


def _traced(function: Any) -> set[str]:
    return {
        f"{operation.type} {','.join(f'{one.dtype.name}{one.shape.rank}' for one in operation.outputs)}"
        for operation in function.graph.get_operations()
    }


def _nodes(graph: Any) -> Iterator[Any]:
    yield from graph.node
    for function in graph.library.function:
        yield from function.node_def


def _type_attribute(node: Any) -> str:
    return str(node.attr["T"].type) if "T" in node.attr else ""
