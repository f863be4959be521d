"""Which layers of a torch module hand all that they give to the activation or normalisation behind them."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass, field
from typing import Any

from torch import Tensor, nn
from torch.utils._python_dispatch import TorchDispatchMode
from torch.utils._pytree import tree_leaves

from jostle.subjects.values import first_tensor

ACTIVATIONS = (
    *(nn.ReLU, nn.ReLU6, nn.LeakyReLU, nn.PReLU, nn.RReLU, nn.ELU, nn.SELU, nn.CELU, nn.GELU, nn.SiLU, nn.Mish),
    *(nn.Sigmoid, nn.LogSigmoid, nn.Tanh, nn.Hardtanh, nn.Hardsigmoid, nn.Hardswish, nn.Hardshrink, nn.Softshrink),
    *(nn.Tanhshrink, nn.Softplus, nn.Softsign, nn.Threshold),
)
NORMALISATIONS = (
    *(nn.BatchNorm1d, nn.BatchNorm2d, nn.BatchNorm3d, nn.SyncBatchNorm, nn.InstanceNorm1d, nn.InstanceNorm2d),
    *(nn.InstanceNorm3d, nn.GroupNorm, nn.LayerNorm, nn.RMSNorm, nn.LocalResponseNorm),
)
# The same as operators, which layers of exported programs consist of.
ELEMENT_BY_ELEMENT = {
    *("relu", "relu6", "leaky_relu", "prelu", "rrelu", "elu", "selu", "celu", "gelu", "silu", "mish", "sigmoid"),
    *(
        "log_sigmoid",
        "tanh",
        "hardtanh",
        "hardsigmoid",
        "hardswish",
        "hardshrink",
        "softshrink",
        "softplus",
        "softsign",
    ),
    *("threshold", "batch_norm", "instance_norm", "group_norm", "layer_norm", "rms_norm"),
}


def activates(kind: type, operators: Iterable[str]) -> bool:
    """Whether a layer of this kind, or of these operators, is an activation of each element or a normalisation."""
    if issubclass(kind, (*ACTIVATIONS, *NORMALISATIONS)):
        return True
    names = {name.rstrip("_") for name in operators}
    return bool(names) and names <= ELEMENT_BY_ELEMENT


@dataclass(frozen=True, eq=False)
class _Call:
    """One call of a layer."""

    layer: str
    activates: bool


@dataclass(eq=False)
class _Given:
    """A tensor that a call of a layer gave, and the calls that used it; None stands for all that is in no layer."""

    layer: str
    tensor: Tensor  # kept, so that no other tensor gets its identity
    users: set[_Call | None] = field(default_factory=set)

    @property
    def handed_on(self) -> bool:
        """Whether an activation or a normalisation was the only one to use it."""
        users = list(self.users)
        return len(users) == 1 and users[0] is not None and users[0].activates


class Dataflow(TorchDispatchMode):
    """Follows tensors by their identity from the layers that give them to the operators that use them."""

    def __init__(self) -> None:
        super().__init__()  # type: ignore[no-untyped-call]
        self._running: list[_Call] = []
        self._given: list[_Given] = []
        self._latest: dict[int, _Given] = {}  # by identity of the tensor; what works in place gives it anew

    @classmethod
    def _should_skip_dynamo(cls) -> bool:
        """No: torch would import its compiler for that, which takes seconds, and only a compiled model has one."""
        return False

    def begin(self, layer: str, activates: bool) -> None:
        """A layer begins to run."""
        self._running.append(_Call(layer, activates))

    def end(self, output: object) -> None:
        """The layer that began last has run; it gave this, or None if it failed."""
        call, tensor = self._running.pop(), first_tensor(output)
        if tensor is None:
            return
        known = self._latest.get(id(tensor))
        if known is None or call in known.users:  # else it passed on what another gave, as dropout does
            given = self._latest[id(tensor)] = _Given(call.layer, tensor)
            self._given.append(given)

    def __torch_dispatch__(
        self, func: Callable[..., Any], types: Any, args: Any = (), kwargs: Mapping[str, Any] | None = None
    ) -> Any:
        self._use((args, kwargs), self._running[-1] if self._running else None)
        return func(*args, **(kwargs or {}))

    def handed_on(self, returned: object) -> set[str]:
        """The layers of which an activation or a normalisation took all; what the model returned was not taken."""
        self._use(returned, None)
        kept = {given.layer for given in self._given if not given.handed_on}
        return {given.layer for given in self._given} - kept

    def _use(self, values: object, user: _Call | None) -> None:
        for value in tree_leaves(values):
            if id(value) in self._latest:
                self._latest[id(value)].users.add(user)
