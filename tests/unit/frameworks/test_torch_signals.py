from collections.abc import Iterator
from typing import Any

import numpy as np
import pytest

from jostle.frameworks.backends.program import PREDICT, arrays_of
from jostle.frameworks.backends.torch.programs import AOT, EAGER, TorchLowering
from jostle.frameworks.backends.torch.signals import after, watched
from jostle.frameworks.drawing import single
from jostle.frameworks.graph import Graph, Leaf, Node


@pytest.fixture(autouse=True)
def _cleaned() -> Iterator[None]:
    yield
    after()


def signals(lowering: TorchLowering, graph: Graph) -> set[str]:
    text, arrays = lowering.program(graph, PREDICT), arrays_of(graph, PREDICT)
    namespace: dict[str, Any] = dict(arrays)
    return watched(lambda: exec(text, namespace), namespace)


def gelu(layout: str = "contiguous") -> Graph:
    return Graph({"x": Leaf("input", np.ones((2, 3), np.float32), layout)}, (Node("y", "gelu", ("x",)),), ("y",))


def test_kernels_are_told_with_the_type_of_their_first_tensor() -> None:
    assert "aten.gelu.default float32 rank2 contiguous" in signals(EAGER, gelu())
    assert "aten.gelu.default float32 rank2 strided" in signals(EAGER, gelu("transposed"))
    assert "aten.gelu.default float32 rank2 overlapping" in signals(EAGER, gelu("expanded"))


def test_a_compiled_model_tells_what_its_graph_calls() -> None:
    found = signals(AOT, gelu())
    assert "aten.erf.default float32 rank2 contiguous" in found
    assert "aten.gelu.default float32 rank2 contiguous" not in found
    assert "aot_autograd: ok" in found


def test_the_same_program_gives_the_same_signals() -> None:
    graph = single("conv", np.random.default_rng(1))
    assert signals(EAGER, graph) == signals(EAGER, graph)


def test_no_program_is_credited_with_what_an_earlier_one_made_the_compiler_count() -> None:
    assert "aot_autograd: ok" in signals(AOT, single("conv", np.random.default_rng(1)))
    assert not any(one.startswith("aot_autograd") for one in signals(EAGER, gelu()))


def test_an_earlier_program_changes_no_signals_of_a_compiled_one() -> None:
    alone = signals(AOT, gelu())
    signals(AOT, single("conv", np.random.default_rng(1)))
    assert signals(AOT, gelu()) == alone
