"""How far is the nearest of many stored points? Exact while few, a graph index beyond."""

from __future__ import annotations

from typing import Any

import torch
from torch import Tensor

ROUNDING = 32 * torch.finfo(torch.float32).eps  # of |a|² + |b|² - 2ab, relative to the squares in it

LEAST_EFFORT = 16
SAMPLE = 256  # points by which the effort is measured
RIGHT = 0.98  # of their distances
SAME = 1e-3  # of a distance
POINTS_PER_CANDIDATE = 128  # looked at one after another in the time of one candidate, which lies anywhere in memory


class Neighbours:
    """Stores points and tells how far queries are from the nearest.

    The newest points are searched exactly; when they are many, the older ones move into an HNSW graph, whose
    search cost grows with the logarithm of their number. A distance it gives is always that of a stored point,
    so an approximate answer can only be too large. How many candidates a search looks at is measured: as few as give
    the right distance for nearly all of the points that come next. Where that would cost more than looking at every
    point, as in many dimensions that points fill evenly, every point is looked at.
    """

    def __init__(self, exact: int = 4096, links: int = 16):
        self._exact, self._links = exact, links
        self._effort: int | None = None  # candidates that a search of the graph looks at; None: every point is
        self._measured_at = 0  # points in the graph when the effort was measured
        self._newest = torch.empty(0, 0)  # [capacity, dimensions], the first `_count` rows are points
        self._centred = torch.empty(0, 0)  # [capacity, dimensions], the same seen from the origin
        self._half_squares = torch.empty(0)  # [capacity], |centred point|² / 2
        self._count = 0
        self._origin = torch.empty(0)
        self._older: Any = None  # faiss.IndexHNSWFlat

    def __len__(self) -> int:
        return self._count + (self._older.ntotal if self._older is not None else 0)

    def add(self, points: Tensor) -> None:  # [points, dimensions]
        if not len(self):
            # The nearest comes from |a|² + |b|² - 2ab, which loses digits far from the origin: so move it.
            self._origin = points.median(0).values
            self._newest = torch.empty(self._exact, points.shape[1], dtype=torch.float32)
            self._centred = torch.empty_like(self._newest)
            self._half_squares = torch.empty(self._exact, dtype=torch.float32)
        for chunk in points.split(self._exact // 2):
            if self._count + len(chunk) > self._exact:
                self._index_older_half()
            new = slice(self._count, self._count + len(chunk))
            self._newest[new] = chunk
            self._centred[new] = chunk - self._origin
            self._half_squares[new] = self._centred[new].square().sum(1) / 2
            self._count = new.stop

    def distances(self, queries: Tensor, enough: float = 0.0) -> Tensor:
        """Euclidean distance [queries] to the nearest point; where one within `enough` is found, no search goes on."""
        if not len(self):
            return torch.full((len(queries),), torch.inf, dtype=torch.float32)
        nearest = self._to_newest(queries, enough)
        if self._older is not None:
            far = (nearest > enough).nonzero().squeeze(1)
            if len(far):
                nearest[far] = torch.minimum(nearest[far], self._to_older(queries[far]))
        return nearest

    def _to_newest(self, queries: Tensor, enough: float) -> Tensor:
        points, centred = self._newest[: self._count], queries - self._origin
        comparable = torch.addmm(self._half_squares[: self._count], centred, self._centred[: self._count].T, alpha=-1)
        closest = torch.from_numpy(comparable.numpy().argmin(1))  # numpy's is many times as fast as torch's
        nearest = (queries - points[closest]).square_().sum(1).sqrt_()
        far = (nearest > enough).nonzero().squeeze(1)
        # Where rounding can have hidden a point within `enough`, every difference is looked at: almost never.
        reach = centred[far].norm(dim=1) + nearest[far]
        doubtful = far[nearest[far].square() <= enough**2 + ROUNDING * reach.square()]
        if len(doubtful):
            exact = torch.cdist(queries[doubtful], points, compute_mode="donot_use_mm_for_euclid_dist")
            nearest[doubtful] = exact.min(1).values
        return nearest

    def _to_older(self, queries: Tensor) -> Tensor:
        if self._effort is None:
            return self._to_every_older(queries)
        self._older.hnsw.efSearch = self._effort
        return _nearest_in(self._older, queries)

    def _to_every_older(self, queries: Tensor) -> Tensor:
        return _nearest_in(self._older.storage, queries)

    def _measure_effort(self, queries: Tensor) -> None:
        """Takes the least effort that gives nearly all distances rightly, while that costs less than every point."""
        truth, self._measured_at = self._to_every_older(queries), self._older.ntotal
        self._effort = LEAST_EFFORT
        while self._effort is not None and not _nearly_all_right(self._to_older(queries), truth):
            self._effort *= 2
            if self._effort * POINTS_PER_CANDIDATE >= self._older.ntotal:
                self._effort = None

    def _index_older_half(self) -> None:
        import faiss  # here because most campaigns never store so many points

        half = self._count // 2
        if self._older is None:
            self._older = faiss.IndexHNSWFlat(self._newest.shape[1], self._links)
            self._older.hnsw.efConstruction = 4 * self._links
        elif self._older.ntotal >= 2 * self._measured_at:
            self._measure_effort(self._newest[:half][:: max(1, half // SAMPLE)])
        threads = faiss.omp_get_max_threads()
        faiss.omp_set_num_threads(1)  # threads would insert in an order that differs from run to run
        try:
            self._older.add(self._newest[:half].numpy())
        finally:
            faiss.omp_set_num_threads(threads)
        for rows in (self._newest, self._centred, self._half_squares):
            rows[: self._count - half] = rows[half : self._count].clone()
        self._count -= half


def _nearest_in(index: Any, queries: Tensor) -> Tensor:
    squares, _ = index.search(queries.contiguous().numpy(), 1)
    return torch.from_numpy(squares[:, 0]).clamp(min=0).sqrt()


def _nearly_all_right(found: Tensor, truth: Tensor) -> bool:
    return float((found <= truth * (1 + SAME)).float().mean()) >= RIGHT
