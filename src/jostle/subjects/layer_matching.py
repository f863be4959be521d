"""Which layers of a model and of a twin of it correspond to each other."""

from __future__ import annotations

import re
from bisect import bisect_left
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from itertools import combinations

# Components of names that wrappers of torch modules add.
WRAPPERS = {"_module", "module", "_orig_mod", "_fsdp_wrapped_module"}
DEEPEST = 12  # steps of a path that are looked at
Pair = tuple[int, int]  # positions of a layer of the model and of one of the twin


@dataclass(frozen=True)
class NamedLayer:
    """A layer as it ran: its names, and how many values it gives."""

    name: str
    units: int
    channels: int
    aliases: tuple[str, ...] = ()

    @property
    def size(self) -> tuple[int, int]:
        """Equal for layers whose values can be compared one by one."""
        return self.units, self.channels


Keys = Callable[[NamedLayer], Iterable[str]]  # by which a layer may be known


def matched(model: Sequence[NamedLayer], twin: Sequence[NamedLayer]) -> list[Pair]:
    """Pairs of layers with corresponding names, equal sizes and the same order, in that order; none is in two pairs.

    Surer ways of corresponding go first: equal names, then names without wrappers, aliases, and parts of a path.
    """
    pairs: list[Pair] = []
    for ours, theirs in ((_exact, _exact), (_plain_name, _plain_name), (_all_names, _all_names), *BY_PARTS):
        taken = {position for position, _ in pairs}, {position for _, position in pairs}
        pairs += _alike(_ends(ours, model, taken[0]), _ends(theirs, twin, taken[1]))
    return _in_order(sorted(pairs))


def _exact(layer: NamedLayer) -> Iterable[str]:
    return (layer.name,)


def _plain_name(layer: NamedLayer) -> Iterable[str]:
    return (_plain(layer.name),)


def _all_names(layer: NamedLayer) -> Iterable[str]:
    return map(_plain, (layer.name, *layer.aliases))


def _parts(layer: NamedLayer) -> Iterator[str]:
    """Every stretch of a path: `functional_1/conv2d_1/Relu` is of conv2d_1, `/layer1/layer1.0/conv1/Conv` of its conv1.

    What converters fused has several paths, with semicolons between them.
    """
    for path in (path for name in (layer.name, *layer.aliases) for path in name.split(";")):
        steps = path.split("/")[:DEEPEST]
        for start, end in combinations(range(len(steps) + 1), 2):
            yield _plain("/".join(steps[start:end]))


BY_PARTS: tuple[tuple[Keys, Keys], ...] = ((_all_names, _parts), (_parts, _all_names))


def _plain(name: str) -> str:
    """A name without what wrappers add, spelt with underscores: torch.fx says `features_0` for `features.0`."""
    parts = [part for part in name.split(".") if part not in WRAPPERS]
    return re.sub(r"[^\w#]+", "_", ".".join(parts)).strip("_")


def _ends(keys: Keys, layers: Sequence[NamedLayer], taken: set[int]) -> dict[tuple[str, tuple[int, int]], int]:
    """By key and size the position of the last layer that has both, in which what goes by this key ends."""
    free = [(position, layer) for position, layer in enumerate(layers) if position not in taken]
    return {(key, layer.size): position for position, layer in free for key in keys(layer) if key}


def _alike(
    ours: Mapping[tuple[str, tuple[int, int]], int], theirs: Mapping[tuple[str, tuple[int, int]], int]
) -> Iterator[Pair]:
    """The positions that stand under the same key, each once."""
    used: tuple[set[int], set[int]] = (set(), set())
    for key, position in ours.items():
        other = theirs.get(key)
        if other is not None and position not in used[0] and other not in used[1]:
            used[0].add(position)
            used[1].add(other)
            yield position, other


def _in_order(pairs: Sequence[Pair]) -> list[Pair]:
    """As many of the pairs, sorted by their first positions, as have their second positions in order too."""
    ends: list[int] = []  # by length, the least second position that a chain of this length ends in
    chains: list[int] = []  # by length, the pair that it ends in
    before: list[int | None] = []  # by pair, the one before it in its chain
    for number, (_, position) in enumerate(pairs):
        length = bisect_left(ends, position)
        ends[length : length + 1] = [position]
        chains[length : length + 1] = [number]
        before.append(chains[length - 1] if length else None)
    chain: list[Pair] = []
    last = chains[-1] if chains else None
    while last is not None:
        chain.append(pairs[last])
        last = before[last]
    return chain[::-1]
