"""Which points lie in one region: connected by steps from neighbour to neighbour."""

from __future__ import annotations

import numpy as np
import numpy.typing as npt

AT_ONCE = 256  # points whose neighbours are asked for at once, because each may have all others

Labels = npt.NDArray[np.int64]


def regions(points: npt.NDArray[np.float32], near: float, far: float) -> Labels:
    """The region of each of these points [points, dimensions]; regions are farther apart than `near`.

    Few points lie farther apart than many of the same region: they are joined at twice the distance that they usually
    have from their nearest, up to `far`. Regions are numbered by size, the largest 0, and among equals by their first
    point.
    """
    import faiss  # takes long to import

    labels: Labels = np.arange(len(points), dtype=np.int64)
    index = faiss.IndexFlatL2(points.shape[1])
    index.add(np.ascontiguousarray(points))
    nearest, _ = index.search(np.ascontiguousarray(points), min(2, len(points)))
    usual = float(np.sqrt(np.median(nearest[:, -1])))
    radius = min(far, max(near, 2 * usual))
    for start in range(0, len(points), AT_ONCE):
        some = np.ascontiguousarray(points[start : start + AT_ONCE])
        limits, _, found = index.range_search(some, radius**2)
        counts: Labels = (limits[1:] - limits[:-1]).astype(np.int64)
        asked = np.repeat(np.arange(start, start + len(some)), counts)
        labels = _joined(labels, labels[asked], labels[found])
    return _by_size(labels)


def _joined(labels: Labels, some: Labels, others: Labels) -> Labels:
    """The labels after these pairs of them [pairs] became one each: the smallest of those that hang together."""
    pairs = np.unique(np.sort(np.stack([some, others], 1), 1), axis=0)
    parents = np.arange(labels.max() + 1)

    def top(label: int) -> int:
        while parents[label] != label:
            parents[label] = parents[parents[label]]
            label = int(parents[label])
        return label

    for one, other in pairs[pairs[:, 0] != pairs[:, 1]].tolist():
        low, high = sorted((top(one), top(other)))
        parents[high] = low
    tops = np.array([top(label) for label in range(len(parents))])
    joined: Labels = tops[labels]
    return joined


def _by_size(labels: Labels) -> Labels:
    _, first, numbers, counts = np.unique(labels, return_index=True, return_inverse=True, return_counts=True)
    ranks = np.empty(len(counts), np.int64)
    ranks[np.lexsort((first, -counts))] = np.arange(len(counts))
    ranked: Labels = ranks[numbers]
    return ranked
