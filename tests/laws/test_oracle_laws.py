"""Is this a defect? What holds of every Oracle."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import fields, replace
from functools import partial

import numpy as np
import pytest
import torch
from hypothesis import given, settings
from hypothesis import strategies as st
from torch import Tensor

from jostle.frameworks.campaign.oracle import BackendAgrees
from jostle.frameworks.campaign.target import Fault
from jostle.frameworks.graph import Graph, Leaf
from jostle.frameworks.judging.disagreement import Disagreement, Symptom
from jostle.graph_signature import Signature
from jostle.interfaces import Oracle
from jostle.lineage import Untouched
from jostle.mutations import Mutations
from jostle.oracles.agreement import Agreement
from jostle.oracles.boxes import BOXES, SCORES, BoxesKept
from jostle.oracles.comparisons import Close, SameTop
from jostle.oracles.crash import NoCrash
from jostle.oracles.embedding import EmbeddingKept
from jostle.oracles.labels import LabelKept
from jostle.oracles.masks import MaskForm, MaskKept
from jostle.oracles.moved import PredictionKept, Tolerance
from jostle.oracles.numeric import Finite
from jostle.oracles.properties import Element, Property
from jostle.oracles.sequence import SequenceKept
from jostle.oracles.unanimity import Unanimous
from jostle.randomness import randomness
from jostle.records import MODEL, NO_BUG, NO_LABEL, Candidates, Trace, Verdicts
from making import CRASH, NOISE, answered, batch_of, seeds_of, trace_of

CLASSES = 3


def large_output(batch: Element) -> Tensor:
    return batch.output.flatten(1).abs().amax(1) > 2


def large_loss(element: Element) -> bool:
    return bool(element.metadata["loss"] > 1) and bool(element.output[0] > 0)


def turned(element: Element) -> Tensor:
    return (element.output - element.seed_output).abs().max() > 1


class OfMasks:
    """An oracle of masks, given the values of each output as pixels of one row."""

    looks_inside, compares_with_truth = False, True

    def __init__(self, oracle: MaskKept):
        self._oracle = oracle

    def judge(self, candidates: Candidates, trace: Trace) -> Verdicts:
        assert candidates.seeds.answers is not None
        seeds = replace(candidates.seeds, answers=candidates.seeds.answers[:, None, None])
        outputs = {MODEL: trace.outputs[MODEL][:, None, None]}
        return self._oracle.judge(replace(candidates, seeds=seeds), replace(trace, outputs=outputs))


JUDGES_VALUES: dict[str, Callable[[], Oracle]] = {
    "nan": Finite,
    "flip": LabelKept,
    "differ": Unanimous,
    "agree argmax": lambda: Agreement(SameTop()),
    "agree top2": lambda: Agreement(SameTop(2)),
    "agree 1e-3": lambda: Agreement(Close(1e-3)),
    "property of a batch": lambda: Property("large_output", large_output),
    "property of an element": lambda: Property("large_loss", large_loss),
    "property of the seed's output": lambda: Property("turned", turned),
    "moved 0.5": lambda: PredictionKept(Tolerance(torch.tensor([0.5]))),
    "moved 10%": lambda: PredictionKept(Tolerance(torch.zeros(1), 0.1)),
    "masks of one class": lambda: OfMasks(MaskKept(MaskForm.LOGITS)),
    "masks of several": lambda: OfMasks(MaskKept(MaskForm.CLASSES, 0.7)),
    "boxes": lambda: BoxesKept(0.3, 0.5, in_pixels=False),
    "embedding": EmbeddingKept,
    "sequence": SequenceKept,
    "sequence with a field": lambda: SequenceKept("2", "0:1", end_token=3),
    "sequence with an output as field": lambda: SequenceKept("3", "scores"),
}
PLAIN = Signature("torch", "predict", "values", "relu", "-", "float32", "-")
OTHER_WORDS = Signature("torch-inductor", "gradient", "crash", "conv+relu", "groups>1", "int64", "ValueError@model.py")
SIGNATURES = [PLAIN, *(replace(PLAIN, **{one.name: getattr(OTHER_WORDS, one.name)}) for one in fields(Signature))]
BACKENDS = ("torch", "torch-inductor")
PART = Graph({"x": Leaf("input", np.ones(2, np.float32))}, (), ("x",))


def fault(signature: Signature, symptom: Symptom, phase: str) -> Fault:
    """A defect that looked like this in the whole graph, and has this signature where it was located."""
    crash = CRASH if symptom is Symptom.CRASH else None
    found = Disagreement(signature.backend, phase, symptom, "y", crash=crash)
    return Fault(signature, found, PART, found)


def faults_of_graphs() -> dict[int, tuple[Fault, ...]]:
    """Every graph shows each symptom on each backend once, by number; the graphs differ in the signatures."""
    return {
        graph: tuple(
            fault(replace(signature, backend=backend), symptom, phase) for backend in BACKENDS for symptom in Symptom
        )
        for graph, (signature, phase) in enumerate((one, phase) for one in SIGNATURES for phase in ("predict", "train"))
    }


FAULTS = faults_of_graphs()
OF_FRAMEWORKS = {
    f"{backend} {symptom}": partial(BackendAgrees, backend, symptom, lambda: FAULTS, lambda name: False)
    for backend in BACKENDS
    for symptom in Symptom
}
ORACLES = {**JUDGES_VALUES, "crash": NoCrash, **{name: OF_FRAMEWORKS[name] for name in ("torch values", "torch crash")}}
every_oracle = pytest.mark.parametrize("name", ORACLES)

ORDINARY = torch.tensor([0.0, 1.0, 2.0, 3.0])
STRANGE = torch.tensor([0.5, -1.0, 3e38, torch.nan, torch.inf, -torch.inf])


def batch_from(seed: int, count: int) -> tuple[Candidates, Trace]:
    """A batch of several roots and labels with any mixture of broken, crashed and ordinary rows."""
    rng = randomness(seed, count)

    def whole(low: int, high: int, many: int = count) -> Tensor:
        return torch.randint(low, high, (many,), generator=rng)

    def values(*shape: int, many: int = count) -> Tensor:
        shape = (many, *shape)
        strange = STRANGE[torch.randint(len(STRANGE), shape, generator=rng)]
        ordinary = ORDINARY[torch.randint(len(ORDINARY), shape, generator=rng)]
        return torch.where(torch.rand(shape, generator=rng) < 0.1, strange, ordinary)

    inputs = whole(0, len(FAULTS) + 2).view(-1, 1)  # numbers of graphs, of which two show nothing
    seeds = replace(
        seeds_of(torch.rand(4, 2, generator=rng), whole(NO_LABEL, CLASSES, many=4)),
        answers=values(CLASSES, many=4),
        other_answers={BOXES: values(CLASSES, 4, many=4), SCORES: values(CLASSES, many=4)},
    )
    candidates = Candidates(inputs, seeds, whole(0, 50), whole(0, 4), Mutations.all_of(NOISE, count), Untouched(count))
    trace = trace_of(
        output=values(CLASSES),
        twin=values(CLASSES),
        activations={"conv": values(2), "fc": values(CLASSES)},
        metadata={"loss": values()},
        crashed=(whole(0, 5) == 0).nonzero().flatten().tolist(),
        others={BOXES: values(CLASSES, 4), SCORES: values(CLASSES)},
    )
    return candidates, trace


batches = st.builds(batch_from, st.integers(0, 10**6), st.integers(1, 12))


@every_oracle
@settings(deadline=None, derandomize=True, max_examples=60)
@given(batch=batches)
def test_a_verdict_does_not_depend_on_the_other_rows(name: str, batch: tuple[Candidates, Trace]) -> None:
    candidates, trace = batch
    together = ORACLES[name]().judge(candidates, trace)
    for row in range(len(candidates)):
        only = torch.tensor([row])
        alone = ORACLES[name]().judge(candidates.select(only), trace.select(only))
        assert alone.bugs.tolist() == [together.bugs[row]]
        if together.bugs[row] != NO_BUG:
            # As text, because NaN in the details differs from itself.
            assert repr(alone.describe(0)) == repr(together.describe(row))


@every_oracle
@settings(deadline=None, derandomize=True, max_examples=60)
@given(batch=batches, other=batches)
def test_equal_numbers_are_equal_fingerprints(
    name: str, batch: tuple[Candidates, Trace], other: tuple[Candidates, Trace]
) -> None:
    told: set[tuple[int, str]] = set()
    for candidates, trace in (batch, other):
        verdicts = ORACLES[name]().judge(candidates, trace)
        guilty = [row for row, bug in enumerate(verdicts.bugs.tolist()) if bug != NO_BUG]
        told |= {(int(verdicts.bugs[row]), verdicts.describe(row).fingerprint) for row in guilty}
    assert len(told) == len({number for number, _ in told}) == len({fingerprint for _, fingerprint in told})


@every_oracle
@settings(deadline=None, derandomize=True, max_examples=60)
@given(batch=batches)
def test_a_violation_has_its_verdicts_kind_and_a_summary_of_one_line(
    name: str, batch: tuple[Candidates, Trace]
) -> None:
    candidates, trace = batch
    verdicts = ORACLES[name]().judge(candidates, trace)
    assert verdicts.bugs.dtype == torch.int64
    for row in (verdicts.bugs != NO_BUG).nonzero().flatten().tolist():
        violation = verdicts.describe(row)
        assert violation.kind == verdicts.kind == violation.fingerprint.partition(":")[0]
        assert violation.summary and "\n" not in violation.summary


@pytest.mark.parametrize("name", JUDGES_VALUES)
@settings(deadline=None, derandomize=True, max_examples=60)
@given(batch=batches)
def test_only_the_crash_oracle_judges_rows_that_crashed(name: str, batch: tuple[Candidates, Trace]) -> None:
    candidates, trace = batch
    assert (JUDGES_VALUES[name]().judge(candidates, trace).bugs[~trace.ran] == NO_BUG).all()
    assert torch.equal(NoCrash().judge(candidates, trace).bugs != NO_BUG, ~trace.ran)


WORST = trace_of(
    output=torch.tensor([[3.0, 0.0, torch.nan], [3.0, 0.0, 0.0]]),
    twin=torch.tensor([[0.0, 3.0, 0.0], [0.0, 3.0, 1.0]]),
    metadata={"loss": torch.tensor([3.0, 3.0])},
    crashed=[0],
    others={BOXES: torch.zeros(2, 3, 4), SCORES: torch.zeros(2, 3)},
)
BOX = torch.tensor([[0.0, 0.0, 1.0, 1.0]]).repeat(2, 3, 1)


@every_oracle
def test_every_oracle_finds_something_in_the_worst_of_traces(name: str) -> None:
    candidates = batch_of(torch.zeros(2, 1), labels=torch.tensor([1, 1]))
    candidates = answered(candidates, torch.tensor([[0.0, 3.0, 4.0]] * 2), {BOXES: BOX, SCORES: torch.ones(2, 3)})
    trace = WORST
    if name == "nan":
        trace = trace_of(torch.tensor([[0.0], [torch.inf]]))
    assert (ORACLES[name]().judge(candidates, trace).bugs != NO_BUG).any()


def test_equal_fingerprints_are_one_bug_whichever_oracle_of_frameworks_tells_it() -> None:
    candidates = batch_of(torch.arange(len(FAULTS)).view(-1, 1))
    bugs: set[tuple[str, int, str]] = set()
    for oracle in OF_FRAMEWORKS.values():
        verdicts = oracle().judge(candidates, trace_of(torch.zeros(len(FAULTS), 1)))
        described = [verdicts.describe(row).fingerprint for row in range(len(FAULTS))]
        bugs |= {(verdicts.kind, *bug) for bug in zip(verdicts.bugs.tolist(), described, strict=True)}
    assert len(bugs) == len({(kind, number) for kind, number, _ in bugs}) == len({text for *_, text in bugs})
    assert len(bugs) == len(Symptom) * len(BACKENDS) * (len(SIGNATURES) - 1)  # one differs in the backend alone
