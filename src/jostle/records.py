"""What flows through the loop: seeds, candidates, traces, verdicts, findings, failures."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from enum import IntEnum
from itertools import accumulate
from typing import Any

import torch
from torch import Tensor

from jostle.domain import Domain
from jostle.foreign import Crash
from jostle.lineage import SEED, Lineage, Mutation, Untouched, joined, selected
from jostle.mutations import Mutations

NO_LABEL = -1
NO_PARENT = -1
NO_BUG = -1
NO_NUMBER = -1  # fills up rows of numbers that are fewer than others

# In a trace's metadata, numbers [rows, any] filled up with NO_NUMBER:
LIBRARY = "library"  # the parts of libraries that a model made work
DEFECTS = "defects"  # the defects that it shows, in order
DEFECT_KINDS = "kinds of defects"  # the backend and symptom of each
OF_ANY_WIDTH = (LIBRARY, DEFECTS, DEFECT_KINDS)

Bug = tuple[str, int]  # its kind, and its number within that

MODEL = "model"  # the variant under test in Trace.outputs
TWIN = "twin"


class Outcome(IntEnum):
    """How the target left one input."""

    OK = 0
    CRASHED = 1
    SKIPPED = 2  # never ran, because too many others of its batch took their process with them


@dataclass(frozen=True)
class Seeds:
    """The inputs a campaign starts from."""

    inputs: Tensor  # [seeds, ...]
    labels: Tensor  # [seeds] classes, NO_LABEL where unknown; of other tasks [seeds, ...]
    names: tuple[str, ...]
    domain: Domain | None = None  # what inputs may be, once it is known
    answers: Tensor | None = None  # [seeds, ...] what the model said of each, once it was asked
    other_answers: Mapping[str, Tensor] = field(default_factory=dict)  # by name, [seeds, ...]: all else it returned
    twin_answers: Mapping[str, Tensor] = field(default_factory=dict)  # by variant, [seeds, ...]: what twins said
    completed: Tensor | None = None  # [seeds] bool: whose label is the model's own answer, because they had none

    def __len__(self) -> int:
        return len(self.names)

    def as_candidates(self) -> Candidates:
        """The seeds as a batch to run, each its own root."""
        count = len(self)
        parents, mutations = torch.full((count,), NO_PARENT), Mutations.all_of(SEED, count)
        return Candidates(self.inputs, self, parents, all_rows(count), mutations, Untouched(count))


@dataclass(frozen=True)
class Candidates:
    """A batch of inputs with where each came from; row i of every field belongs to input i."""

    inputs: Tensor  # [batch, ...]
    seeds: Seeds  # among which the roots are
    parents: Tensor  # [batch] corpus ids, NO_PARENT for seeds and for what was drawn anew
    roots: Tensor  # [batch] positions among the seeds
    mutations: Mutations  # [batch] what made each from its parent
    lineage: Lineage  # what mutators must know of the way from the roots

    def __len__(self) -> int:
        return len(self.inputs)

    @property
    def originals(self) -> Tensor:
        """The root seed of each input [batch, ...]."""
        return self.seeds.inputs.index_select(0, self.roots)

    @property
    def references(self) -> Tensor:
        """What inputs are compared with [batch, ...]: the root, changed by what keeps an input the same to compare."""
        return self.lineage.references(self.originals)

    @property
    def moved(self) -> Tensor:
        """[batch] bool: whether the reference of an input is another than its root."""
        return self.lineage.moved

    @property
    def changed(self) -> Tensor:
        """[batch] bool: false of children that came out like their parents."""
        return self.mutations.changed

    @property
    def labels(self) -> Tensor:
        """What each root should be classified as [batch], NO_LABEL where unknown; of other tasks [batch, ...]."""
        return self.seeds.labels[self.roots]

    @property
    def answers(self) -> Tensor:
        """What the model said of each root [batch, ...]."""
        if self.seeds.answers is None:
            raise ValueError("the model has not been asked about the seeds")
        return self.seeds.answers.index_select(0, self.roots)

    @property
    def other_answers(self) -> dict[str, Tensor]:
        """All else that the model returned for each root, by name [batch, ...]."""
        return {name: value.index_select(0, self.roots) for name, value in self.seeds.other_answers.items()}

    def select(self, rows: Tensor) -> Candidates:
        """These rows, given as positions."""
        arrays = (self.inputs, self.parents, self.roots)
        inputs, parents, roots = (array.index_select(0, rows) for array in arrays)  # faster than array[rows]
        return Candidates(inputs, self.seeds, parents, roots, self.mutations.select(rows), selected(self.lineage, rows))

    def split(self, size: int) -> list[Candidates]:
        """The rows in batches of at most so many."""
        return [self.select(rows) for rows in all_rows(len(self)).split(size)]

    @staticmethod
    def joined(parts: Sequence[Candidates]) -> Candidates:
        """The rows of several batches of one campaign, one after another."""
        return Candidates(
            torch.cat([part.inputs for part in parts]),
            parts[0].seeds,
            torch.cat([part.parents for part in parts]),
            torch.cat([part.roots for part in parts]),
            Mutations.joined([part.mutations for part in parts]),
            joined([part.lineage for part in parts]),
        )

    def mutated(self, inputs: Tensor, operation: str) -> Candidates:
        """The same lineage with new inputs, made by one named operation."""
        return replace(self, inputs=inputs, mutations=Mutations.all_of(Mutation((operation,)), len(self)))


@dataclass(frozen=True)
class Trace:
    """What a batch did; rows that crashed hold NaN everywhere."""

    outcome: Tensor  # [batch] of Outcome
    outputs: Mapping[str, Tensor]  # by variant, [batch, ...]: the one that carries the answer
    activations: Mapping[str, Tensor] = field(default_factory=dict)  # by layer as executed, [batch, neurons]
    extremes: Mapping[str, Tensor] = field(default_factory=dict)  # [batch, 2] of all values of a layer, where asked for
    metadata: Mapping[str, Tensor] = field(default_factory=dict)  # by name, [batch, ...]
    crashes: Mapping[int, Crash] = field(default_factory=dict)  # by row; of a row that ran, its batch's, seen once
    seconds: Mapping[str, float] = field(default_factory=dict)  # time spent in each variant
    others: Mapping[str, Tensor] = field(default_factory=dict)  # by name, [batch, ...]: all else that was returned

    @property
    def ran(self) -> Tensor:  # [batch] bool
        return self.outcome == Outcome.OK

    def select(self, rows: Tensor) -> Trace:
        """These rows, given as positions."""
        return Trace(
            outcome=self.outcome[rows],
            outputs={name: value[rows] for name, value in self.outputs.items()},
            others={name: value[rows] for name, value in self.others.items()},
            activations={name: value[rows] for name, value in self.activations.items()},
            extremes={name: value[rows] for name, value in self.extremes.items()},
            metadata={name: value[rows] for name, value in self.metadata.items()},
            crashes={new: self.crashes[old] for new, old in enumerate(rows.tolist()) if old in self.crashes},
            seconds=self.seconds,
        )

    @staticmethod
    def joined(traces: Sequence[Trace]) -> Trace:
        """The rows of several traces, one after another; a layer that did not run for a row is 0 there."""
        starts = accumulate((len(trace.outcome) for trace in traces), initial=0)
        return Trace(
            outcome=torch.cat([trace.outcome for trace in traces]),
            outputs=_stacked(traces, [trace.outputs for trace in traces]),
            others=_stacked(traces, [trace.others for trace in traces]),
            activations=_stacked(traces, [trace.activations for trace in traces]),
            extremes=_stacked(traces, [trace.extremes for trace in traces]),
            metadata=_stacked(traces, _equally_wide([trace.metadata for trace in traces])),
            crashes={
                start + row: crash
                for start, trace in zip(starts, traces, strict=False)
                for row, crash in trace.crashes.items()
            },
            seconds=sum((Counter(trace.seconds) for trace in traces), Counter[str]()),
        )

    def everywhere(self) -> list[tuple[str, Tensor]]:
        """Every watched value with its place, in the order it was computed: layers, outputs, metadata."""
        outputs = [
            ("output" if name == MODEL else f"output of the {name}", value) for name, value in self.outputs.items()
        ]
        return [*self.activations.items(), *outputs, *self.others.items(), *self.metadata.items()]


NO_TRACE = Trace(torch.empty(0, dtype=torch.int64), {})  # of no rows


@dataclass(frozen=True)
class Linearised:
    """A forward pass that can be differentiated once, by its vector-Jacobian product."""

    scores: Mapping[str, Tensor]  # by variant, [batch, classes] before any softmax
    activations: Mapping[str, Tensor]  # by layer as executed, [batch, neurons]
    extremes: Mapping[str, Tensor]  # [batch, 2] of all values of a layer, where asked for
    pull: Callable[[Mapping[str, Tensor], Mapping[str, Tensor]], Tensor]
    """Weights of scores and of activations, in their shapes, to the gradient of the weighted sum [batch, ...]."""
    entered: Mapping[str, Tensor] = field(default_factory=dict)
    """Where asked for and known, [batch, 2] extremes of what went into a layer; 0 of one that gave finite values."""
    trace: Trace | None = None  # what a run of the same rows would give, where the pass tells all of it

    @staticmethod
    def joined(parts: Sequence[Linearised]) -> Linearised:
        """The rows of several passes, one after another."""
        sizes = [len(next(iter(part.scores.values()))) for part in parts]

        def pull(scores: Mapping[str, Tensor], activations: Mapping[str, Tensor]) -> Tensor:
            by_part = zip(parts, _split(scores, sizes), _split(activations, sizes), strict=True)
            return torch.cat([part.pull(some, others) for part, some, others in by_part])

        traces = [part.trace for part in parts if part.trace is not None]
        return Linearised(
            scores=_chained([part.scores for part in parts]),
            activations=_chained([part.activations for part in parts]),
            extremes=_chained([part.extremes for part in parts]),
            pull=pull,
            entered=_chained([part.entered for part in parts]),
            trace=Trace.joined(traces) if len(traces) == len(parts) else None,
        )


def _chained(groups: Sequence[Mapping[str, Tensor]]) -> dict[str, Tensor]:
    """What all groups hold, one after another."""
    names = [name for name in groups[0] if all(name in group for group in groups)]
    return {name: torch.cat([group[name] for group in groups]) for name in names}


def _split(values: Mapping[str, Tensor], sizes: Sequence[int]) -> list[dict[str, Tensor]]:
    split = {name: value.split(list(sizes)) for name, value in values.items()}
    return [{name: parts[number] for name, parts in split.items()} for number in range(len(sizes))]


def _stacked(traces: Sequence[Trace], values: Sequence[Mapping[str, Tensor]]) -> dict[str, Tensor]:
    places = {name: value for group in values for name, value in group.items()}

    def rows(group: Mapping[str, Tensor], name: str, ran: Tensor) -> Tensor:
        if name in group:
            return group[name]
        row_shape = places[name].shape[1:]
        absent = torch.where(ran, 0.0, torch.nan).view(-1, *(1 for _ in row_shape))
        return absent.expand(len(ran), *row_shape)

    return {
        name: torch.cat([rows(group, name, trace.ran) for group, trace in zip(values, traces, strict=True)])
        for name in places
    }


def _equally_wide(groups: Sequence[Mapping[str, Tensor]]) -> list[Mapping[str, Tensor]]:
    """Metadata in which what is of any width has as many columns as in the group that has most."""
    widest = {
        name: max((group[name].shape[1] for group in groups if name in group), default=0) for name in OF_ANY_WIDTH
    }

    def filled(name: str, numbers: Tensor) -> Tensor:
        if name not in widest:
            return numbers
        return torch.nn.functional.pad(numbers, (0, widest[name] - numbers.shape[1]), value=NO_NUMBER)

    return [{name: filled(name, numbers) for name, numbers in group.items()} for group in groups]


@dataclass(frozen=True)
class LayerGaps:
    """How far a twin is from its model inside; row i of every array belongs to input i, NaN where it did not run."""

    layers: tuple[tuple[str, str], ...]  # that correspond, of the model and of the twin, in order; none can be told: ()
    gaps: Tensor  # [batch, layers] root mean square over units of what differs, infinite where one alone is finite
    sizes: Tensor  # [batch, layers] root mean square over units of what the model gives

    @staticmethod
    def none(rows: int, layers: tuple[tuple[str, str], ...] = ()) -> LayerGaps:
        """Of inputs that could not be run."""
        unknown = torch.full((rows, len(layers)), torch.nan, dtype=torch.float64)
        return LayerGaps(layers, unknown, unknown)

    @staticmethod
    def joined(parts: Sequence[LayerGaps]) -> LayerGaps:
        """The rows of several batches, one after another."""
        layers = next((part.layers for part in parts if part.layers), ())
        filled = [part if part.layers else LayerGaps.none(len(part.gaps), layers) for part in parts]
        return LayerGaps(layers, torch.cat([part.gaps for part in filled]), torch.cat([part.sizes for part in filled]))


@dataclass(frozen=True)
class Violation:
    """One property that does not hold; equal fingerprints are the same bug."""

    kind: str
    fingerprint: str
    summary: str
    details: Mapping[str, Any] = field(default_factory=dict)


@dataclass(frozen=True)
class Verdicts:
    """What one oracle says of a batch: equal numbers are the same bug."""

    kind: str
    bugs: Tensor  # [batch] int64, NO_BUG where the property holds
    describe: Callable[[int], Violation]  # by row, called for the first row of a new bug only
    may_be_parents: Tensor | None = None  # [batch] bool: to mutate all the same; None: no violating row is

    @staticmethod
    def where(
        kind: str, trace: Trace, violating: Tensor, bugs: Tensor, describe: Callable[[int], Violation]
    ) -> Verdicts:
        """Verdicts over the rows that ran; a crashed row has no values to judge."""
        return Verdicts(kind, torch.where(violating & trace.ran, bugs, NO_BUG), describe)


@dataclass(frozen=True)
class OnSeeds:
    """What labels say of the model's answers on the seeds themselves."""

    wrong: Tensor  # [seeds] bool, false where the label is unknown
    measure: str  # what the figure is: "mean absolute error"
    figure: float  # over the seeds whose label is known


@dataclass(frozen=True)
class Finding:
    """The first input that showed a bug."""

    violation: Violation
    bug: int
    step: int
    execution: int  # how many inputs had run when it was found, or when the round of the worker was over that found it
    row: Candidates  # of one row
    alone: bool  # the input showed it again when it ran alone


@dataclass(frozen=True)
class Failures:
    """The inputs of a batch that violate a property, once for each property; a test is one such violation."""

    inputs: Candidates  # [inputs] each once
    rows: Tensor  # [inputs] their positions in the batch
    input_of: Tensor  # [tests] positions among the inputs
    kinds: tuple[str, ...]  # [tests]
    bugs: Tensor  # [tests] numbers within a kind
    answers: Tensor  # [tests] the classes that the model gave, NO_LABEL where it gave none
    confirmed: Tensor  # [tests] bool: fails as a file gives the input back too, where findings must be image files

    def __len__(self) -> int:
        return len(self.kinds)

    @staticmethod
    def none(candidates: Candidates) -> Failures:
        """Of a batch that violates nothing."""
        nothing = torch.empty(0, dtype=torch.int64)
        return Failures(candidates.select(nothing), nothing, nothing, (), nothing, nothing, nothing.bool())

    @staticmethod
    def joined(parts: Sequence[Failures], batches: Sequence[int]) -> Failures:
        """Those of several batches, of so many inputs each, as of one."""
        rows_before = accumulate(batches, initial=0)
        inputs_before = accumulate((len(part.inputs) for part in parts), initial=0)
        return Failures(
            Candidates.joined([part.inputs for part in parts]),
            torch.cat([part.rows + before for part, before in zip(parts, rows_before, strict=False)]),
            torch.cat([part.input_of + before for part, before in zip(parts, inputs_before, strict=False)]),
            tuple(kind for part in parts for kind in part.kinds),
            *(torch.cat([getattr(part, name) for part in parts]) for name in ("bugs", "answers", "confirmed")),
        )

    def first(self, most: int | None) -> Failures:
        """At most so many of them; None is all."""
        if most is None or most >= len(self):
            return self
        used, input_of = self.input_of[:most].unique(return_inverse=True)
        return Failures(
            self.inputs.select(used),
            self.rows[used],
            input_of,
            self.kinds[:most],
            self.bugs[:most],
            self.answers[:most],
            self.confirmed[:most],
        )


@dataclass(frozen=True)
class Lesson:
    """What one step taught."""

    kept: Candidates  # what it added to the corpus
    gains: Tensor  # [kept, criteria] by how much each row was new
    trace: Trace  # of the rows kept
    found: tuple[Mutation, ...]  # those that showed bugs not seen before
    past: bool = False  # an earlier run did it
    worker: int | None = None  # who did a past step, where there were several


@dataclass(frozen=True)
class Share:
    """Which part of all work is one worker's."""

    worker: int = 0
    of: int = 1

    def mine(self, first: int, lesson: Lesson) -> Tensor:
        """[kept] bool: what is this worker's to work through, of entries that have ids from `first` on.

        That is what it kept itself, and what it or those in its place kept before; of what nobody in particular kept,
        such as the seeds, a part.
        """
        ids = torch.arange(first, first + len(lesson.kept))
        if not lesson.past:
            return torch.ones_like(ids, dtype=torch.bool)
        owners = ids if lesson.worker is None else torch.full_like(ids, lesson.worker)
        return owners % self.of == self.worker


ALL_OF_IT = Share()  # of a campaign that does its steps itself


def all_rows(count: int) -> Tensor:
    return torch.arange(count)
