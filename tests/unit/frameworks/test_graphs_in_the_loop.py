"""Graphs as inputs of the loop: numbers that stand for them, and who is mutated."""

from __future__ import annotations

import json
from pathlib import Path

import numpy as np
import pytest
import torch

from jostle.errors import OutputRefused
from jostle.foreign import Crash
from jostle.frameworks.backends.program import PREDICT, TRAIN
from jostle.frameworks.campaign.feedback import LibraryCoverage, numbers_of
from jostle.frameworks.campaign.graph_store import GraphStore, graph_number
from jostle.frameworks.campaign.mutator import Edits, Plan
from jostle.frameworks.campaign.scheduler import SeedScores, Weights
from jostle.frameworks.edits.all_edits import edited, edits_with
from jostle.frameworks.graph import Graph, Leaf, Node, decode, encode, graph_from_json
from jostle.frameworks.models import MODELS
from jostle.frameworks.observations import Status
from jostle.frameworks.operators.all_operators import OPERATORS
from jostle.frameworks.strategies.all_strategies import UniformEdits
from jostle.frameworks.workers.backend_pool import BackendPool
from jostle.frameworks.workers.backend_process import BackendProcess, Place, RunTerms
from jostle.isolation.process import Died, Limits
from jostle.lineage import Mutation
from jostle.records import LIBRARY, NO_LABEL, Lesson, Outcome, Seeds, Trace
from jostle.storage.graph_files import GraphFiles
from making import assessed

EDITS = edits_with(list(OPERATORS.values()))


def store_and_seeds() -> tuple[GraphStore, Seeds]:
    store, rng = GraphStore(lambda number: b""), np.random.default_rng(0)
    graphs = [build(rng) for build in MODELS.values()]
    return store, Seeds(store.put_all(graphs), torch.full((len(graphs),), NO_LABEL), tuple(MODELS))


def trace_of(parts: list[list[str]]) -> Trace:
    return Trace(torch.full((len(parts),), Outcome.OK), {}, metadata={LIBRARY: numbers_of(parts)})


def test_a_number_stands_for_one_graph() -> None:
    store, seeds = store_and_seeds()
    assert len(set(seeds.inputs.flatten().tolist())) == len(seeds)
    for graph in store.get_all(seeds.inputs):
        assert store.put(graph) in seeds.inputs.flatten().tolist()


def test_a_graph_that_was_forgotten_is_fetched() -> None:
    store, seeds = store_and_seeds()
    number = int(seeds.inputs[0, 0])
    encoded = store.get(number).encoded
    other = GraphStore(lambda asked: encoded if asked == number else b"")
    assert encode(other.get(number)) == encoded


def test_a_file_that_is_missing_or_damaged_is_refused_by_its_name(tmp_path: Path) -> None:
    store, seeds = store_and_seeds()
    number = int(seeds.inputs[0, 0])
    files = GraphFiles(tmp_path / "graphs", graph_number)
    with pytest.raises(OutputRefused, match=f"{number:016x}.json is missing"):
        files.read(number)
    files.write(number, store.get(number).encoded)
    assert files.read(number) == store.get(number).encoded
    next((tmp_path / "graphs").iterdir()).write_bytes(b"{}")
    with pytest.raises(OutputRefused, match=f"{number:016x}.json is damaged"):
        files.read(number)


@pytest.mark.parametrize("name", sorted(EDITS))
def test_a_child_is_what_a_file_or_worker_makes_of_it(name: str) -> None:
    """So it makes no difference whether a graph was fetched or has never left the process."""
    rng = np.random.default_rng(3)
    scalar = Graph({"x": Leaf("input", np.array(1.5, np.float32))}, (Node("y", "relu", ("x",)),), ("y",))
    for graph in [*(build(rng) for build in MODELS.values()), scalar]:
        child = edited(graph, EDITS[name], rng)
        if child is not None:
            assert parts_of(child) == parts_of(decode(child.encoded))


def parts_of(graph: Graph) -> str:
    """All that programs and the judge see, with types: a tuple is no list, and a number no array."""
    arrays = {name: leaf.array for name, leaf in graph.leaves.items()}
    if graph.training is not None:
        arrays["target"] = graph.training.target
    seen = {name: (type(array), array.dtype, array.strides, array.tobytes()) for name, array in arrays.items()}
    training = graph.training and {**vars(graph.training), "target": None}
    return repr((seen, graph.nodes, graph.outputs, training))


class Answers:
    """A worker that was asked before, and remembers what it was asked."""

    def __init__(self, hangs: bool = False) -> None:
        self.requests: list[bytes] = []
        self.waited: list[float] = []
        self._hangs = hangs

    def ask_encoded(self, request: bytes, seconds: float) -> dict[str, object]:
        self.requests.append(request)
        self.waited.append(seconds)
        if self._hangs:
            raise Died(Crash("Hang", "no answer", "", "", fatal=True))
        count = len(json.loads(request)["graphs"])
        return {"observations": [{"status": "ok", "seconds": 0.5}] * count}


def asked(worker: Answers, *, fresh: bool) -> BackendProcess:
    process = BackendProcess(Place("torch"), Limits(30.0, 2**30))
    process._worker, process._fresh = worker, fresh  # type: ignore[assignment]
    return process


def test_a_batch_is_not_waited_for_as_long_as_all_its_models_might_take() -> None:
    worker = Answers()
    process = asked(worker, fresh=True)
    for _ in range(2):
        process.run([b"{}"] * 8, PREDICT, RunTerms(0))
    assert worker.waited == [8 * 30.0, 30.0 + 8 * 0.5]


@pytest.mark.parametrize("fresh", [True, False])
def test_a_model_that_hangs_a_fresh_worker_is_not_asked_again(fresh: bool, monkeypatch: pytest.MonkeyPatch) -> None:
    hanging = Answers(hangs=True)
    process = asked(hanging, fresh=fresh)
    monkeypatch.setattr(process, "_started", lambda: hanging)
    assert process.run([b"{}"], PREDICT, RunTerms(0))[0].status is Status.HUNG
    assert len(hanging.requests) == (1 if fresh else 2)


def test_a_graph_is_encoded_once_for_all_workers(monkeypatch: pytest.MonkeyPatch) -> None:
    encodings: list[Graph] = []

    def counted(graph: Graph) -> bytes:
        encodings.append(graph)
        return encode(graph)

    monkeypatch.setattr("jostle.frameworks.graph.encode", counted)
    store, seeds = store_and_seeds()
    pool = BackendPool([Place("torch"), Place("onnxruntime")], Limits(1.0, 2**30))
    workers = [Answers() for _ in pool.names]
    for process, worker in zip(pool._processes.values(), workers, strict=True):
        process._worker = worker  # type: ignore[assignment]
    graphs = store.get_all(seeds.inputs)
    for phase in (PREDICT, TRAIN):
        pool.run(graphs, phase)
    assert len(encodings) == len(graphs)
    for request in (request for worker in workers for request in worker.requests):
        assert [encode(graph_from_json(one)) for one in json.loads(request)["graphs"]] == list(map(encode, graphs))


def test_children_are_edited_as_planned() -> None:
    store, seeds = store_and_seeds()
    plan = Plan([("negate weights",)] * len(seeds))
    children = Edits(EDITS, store, plan).mutate(seeds.as_candidates(), torch.Generator().manual_seed(0))
    assert set(children.mutations) == {Mutation(("negate weights",))}
    assert not (children.inputs == seeds.inputs).any()


def test_a_part_of_a_library_is_new_once() -> None:
    coverage = LibraryCoverage()
    trace = trace_of([["a", "b"], ["b"], ["c"]])
    assert assessed(coverage, trace).tolist() == [2.0, 0.0, 1.0]
    assert assessed(coverage, trace).tolist() == [0.0, 0.0, 0.0]
    assert coverage.coverage() == {"library": {"parts": 3}}


def scores(order: str = "score", weights: Weights | None = None) -> SeedScores:
    return SeedScores(UniformEdits(list(EDITS)), Plan(), weights or Weights(), order)


def learned(scheduler: SeedScores, seeds: Seeds) -> SeedScores:
    rows = seeds.as_candidates()
    trace = trace_of([["a"] * 1 + [f"{row} {part}" for part in range(row)] for row in range(len(rows))])
    scheduler.learn(Lesson(rows, torch.ones(len(rows), 2), trace, ()))
    return scheduler


@pytest.mark.parametrize(("weights", "first"), [(Weights(1, 0, 0), 7), (Weights(0, 1, 0), 7), (Weights(0, 0, 1), None)])
def test_models_are_drawn_by_their_score(weights: Weights, first: int | None) -> None:
    _, seeds = store_and_seeds()
    scheduler = learned(scores(weights=weights), seeds)
    ids = scheduler.plan(len(seeds), 4000, torch.Generator().manual_seed(0))
    counts = torch.bincount(ids, minlength=len(seeds))
    if first is None:
        assert counts.max() < 1.3 * counts.min()
    else:
        assert counts.argmax() == first and counts[first] > 3 * counts[0]


def test_a_model_that_was_mutated_often_is_drawn_less() -> None:
    _, seeds = store_and_seeds()
    scheduler = learned(scores(weights=Weights(0, 0, 1)), seeds)
    scheduler._mutated[3] = 1000
    ids = scheduler.plan(len(seeds), 2000, torch.Generator().manual_seed(0))
    assert (ids == 3).sum() < 20


def test_depth_first_goes_on_with_the_newest_and_breadth_first_with_the_least_mutated() -> None:
    _, seeds = store_and_seeds()
    depth = learned(scores("depth"), seeds).plan(len(seeds), 20, torch.Generator()).tolist()
    breadth = learned(scores("breadth"), seeds).plan(len(seeds), 20, torch.Generator()).tolist()
    assert depth == [7] * 8 + [6] * 8 + [5] * 4
    assert breadth == [*range(8), *range(8), *range(4)]
