import numpy as np
import pytest
import torch
from torch import Tensor, nn

from jostle.errors import ModelRefused
from jostle.frameworks.backends.program import PREDICT, arrays_of
from jostle.frameworks.backends.torch.programs import EAGER
from jostle.frameworks.graph import decode, encode
from jostle.frameworks.importing.torch_modules import graph_from_module
from jostle.zoo.lenet import lenet1, lenet5


class Residual(nn.Module):
    def __init__(self) -> None:
        super().__init__()
        self.convolution = nn.Conv2d(3, 3, 3, padding="same", bias=False)
        self.norm = nn.BatchNorm2d(3)

    def forward(self, x: Tensor) -> Tensor:
        return torch.relu(x + self.norm(self.convolution(x)))


class Attention(nn.Module):
    def __init__(self) -> None:
        super().__init__()
        self.heads = nn.MultiheadAttention(8, 2, batch_first=True)
        self.norm = nn.LayerNorm(8)

    def forward(self, x: Tensor) -> Tensor:
        return self.norm(x + self.heads(x, x, x, need_weights=False)[0])


class States(nn.Module):
    def __init__(self, layer: nn.Module) -> None:
        super().__init__()
        self.layer = layer

    def forward(self, x: Tensor) -> Tensor:
        return self.layer(x)[0]


def small_cnn() -> nn.Module:
    return nn.Sequential(
        *(nn.Conv2d(3, 4, 3, padding=1), nn.BatchNorm2d(4), nn.ReLU(inplace=True), nn.MaxPool2d(2), nn.Dropout()),
        *(nn.AdaptiveAvgPool2d(2), nn.Flatten(), nn.Linear(16, 5)),
    )


def upscaling() -> nn.Module:
    return nn.Sequential(
        *(nn.ConvTranspose2d(3, 4, 3, stride=2, output_padding=1), nn.GroupNorm(2, 4), nn.GELU(), nn.AvgPool2d(2)),
        *(nn.Upsample(scale_factor=2, mode="bilinear"), nn.Hardtanh(), nn.PReLU(), nn.InstanceNorm2d(4)),
        *(nn.LeakyReLU(), nn.ELU(), nn.ReLU6(), nn.Softmax(1)),
    )


def perceptron() -> nn.Module:
    return nn.Sequential(nn.Linear(5, 4), nn.Tanh(), nn.Linear(4, 2, bias=False), nn.LogSoftmax(-1))


def words() -> nn.Module:
    return nn.Sequential(nn.Embedding(10, 8), nn.TransformerEncoderLayer(8, 2, 16, batch_first=True))


MODULES = {
    "cnn": (small_cnn, torch.randn(2, 3, 8, 8)),
    "residual": (Residual, torch.randn(2, 3, 5, 5)),
    "perceptron": (perceptron, torch.randn(3, 5)),
    "upscaling": (upscaling, torch.randn(1, 3, 4, 4)),
    "attention": (Attention, torch.randn(2, 5, 8)),
    "words": (words, torch.arange(10).reshape(2, 5)),
    "lstm": (lambda: States(nn.LSTM(5, 4)), torch.randn(3, 2, 5)),
    "gru": (lambda: States(nn.GRU(5, 4, 2, batch_first=True, bidirectional=True)), torch.randn(3, 2, 5)),
    "rnn": (lambda: States(nn.RNN(5, 4, bias=False)), torch.randn(3, 2, 5)),
    "lenet1": (lenet1, torch.randn(2, 1, 28, 28)),
    "lenet5": (lenet5, torch.randn(2, 1, 28, 28)),
}


@pytest.mark.parametrize("name", MODULES)
def test_an_imported_module_computes_the_same(name: str) -> None:
    make, example = MODULES[name]
    module = make().eval()
    graph = decode(encode(graph_from_module(module, example)))
    namespace: dict[str, object] = dict(arrays_of(graph, PREDICT))
    exec(EAGER.program(graph, PREDICT), namespace)
    (output,) = namespace["result"].values()
    np.testing.assert_allclose(output, module(example).detach().numpy(), 1e-5, 1e-6)


def test_parameters_are_trained_and_buffers_are_not() -> None:
    graph = graph_from_module(Residual().eval(), torch.randn(1, 3, 4, 4))
    assert graph.named("input") == ["x"]
    assert graph.named("parameter") == ["p_convolution_weight", "p_norm_weight", "p_norm_bias"]
    assert {"b_norm_running_mean", "b_norm_running_var"} <= set(graph.named("constant"))


def test_all_operators_without_a_counterpart_are_told_in_one_line() -> None:
    module = nn.Sequential(nn.Linear(5, 5), nn.Threshold(0.1, 2.0), nn.ReLU(), nn.Tanhshrink(), nn.RReLU())
    with pytest.raises(ModelRefused, match=r"without a counterpart: threshold, .*rrelu[^\n]*$"):
        graph_from_module(module.eval(), torch.randn(2, 5))


def test_a_module_that_torch_cannot_export_is_refused_in_one_line() -> None:
    class Branching(nn.Module):
        def forward(self, x: Tensor) -> Tensor:
            return x if x.sum() > 0 else -x

    with pytest.raises(ModelRefused, match=r"^torch.export refuses Branching: [^\n]+$"):
        graph_from_module(Branching(), torch.randn(2))


def test_a_dtype_that_we_do_not_describe_is_refused() -> None:
    with pytest.raises(ModelRefused, match="float16"):
        graph_from_module(nn.Linear(2, 2).half(), torch.randn(2, 2).half())
