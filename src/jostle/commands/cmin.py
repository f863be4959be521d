"""A campaign's corpus reduced to fewer inputs that cover the same, by the criteria that guided it."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from contextlib import closing
from dataclasses import dataclass, replace
from io import BytesIO
from pathlib import Path

import numpy as np
import torch
from torch import Tensor

from jostle.catalogue import CRITERIA, PartOptions
from jostle.composition.compose import needs_profile
from jostle.errors import OutputRefused, UsageError
from jostle.feedback.cover import covering_rows
from jostle.feedback.nearest import NearestOptions
from jostle.feedback.neurons import NeuronCoverage
from jostle.feedback.sign_pairs import SignPairs
from jostle.inputs.array_files import MADE_BY_CMIN, has_mark
from jostle.inputs.distances import relative_distances
from jostle.inputs.seeds import load_seeds
from jostle.inputs.several import layout_of
from jostle.inputs.tokens import TEXT
from jostle.interfaces import Feedback, ModelTarget
from jostle.options.campaign import InputOptions
from jostle.options.resources import BatchOptions
from jostle.options.schema import NOTHING_ELSE, Given, Settings
from jostle.part import PartContext
from jostle.profile import load_profile
from jostle.records import NO_LABEL, NO_PARENT, Candidates, Seeds, Trace, all_rows
from jostle.session.load import Loaded, load, seed_form
from jostle.session.profiles import PROFILE
from jostle.session.reopen import recorded_campaign, reopen
from jostle.storage.campaign_record import REPLAYED
from jostle.storage.files import write_whole
from jostle.storage.history import read_kept

Figures = Mapping[str, Mapping[str, float]]  # by criterion


@dataclass(frozen=True)
class Reduction:
    """How much smaller the corpus became, and what it covers before and after."""

    entries: int
    chosen: int
    before: Figures
    after: Figures
    lost: int  # units that the chosen do not cover: those that need not be kept, and almost never others by rounding
    keep: float  # share of the units that neuron criteria count which the chosen were to cover
    out: str


def reduced(folder: Path, out: Path | None = None, changes: Given = NOTHING_ELSE, keep: float = 1.0) -> Reduction:
    """Writes a part of what the campaign kept that covers the same as all of it, or a share of that."""
    given = reopen(folder, changes, *REPLAYED, "seeds", "coverage").over(force=True)
    out = _writable(out or folder / "reduced.npz")
    with closing(load(given)) as loaded:
        recorded_campaign(folder).refuse_other_digest(folder, loaded.digest)
        return _reduced(folder, loaded, out, keep)


def _reduced(folder: Path, loaded: Loaded, out: Path, keep: float) -> Reduction:
    settings = loaded.settings
    if not settings[PartOptions].coverage:
        raise UsageError(f"the campaign in {folder} was unguided, so there is no coverage to keep")
    kept = read_kept(folder, loaded.flight.seeds)
    if not len(kept):
        raise UsageError(f"the campaign in {folder} kept nothing, so there is nothing to reduce")
    if loaded.prepared.context().domain.kind == TEXT:
        raise UsageError(f"the campaign in {folder} is over texts, which no .npz holds: its corpus cannot be reduced")
    corpus = Runs(loaded.model.target, kept, settings[BatchOptions].rows)
    context = _context(folder, loaded)
    whole = _criteria(settings, context, {})
    corpus.plant(whole)
    before = _figures(whole)
    if any(isinstance(one, SignPairs) for one in whole):
        raise UsageError(
            f"sscov counts pairs of inputs, so the corpus in {folder} cannot be chosen one by one: keep it"
        )
    if keep < 1 and not any(isinstance(one, NeuronCoverage) for one in whole):
        raise UsageError(f"--keep is for neuron criteria, and {', '.join(before)} counts no units: leave it out")
    rows = smallest(corpus, whole, _criteria(settings, context, before), keep)
    again = _criteria(settings, context, before)
    corpus.assess(again, rows)
    inputs = settings[InputOptions]
    labels = load_seeds(inputs.seeds, seed_form(inputs)).labels[kept.roots]
    write_whole(out, _encoded(_arrays(loaded.prepared.seeds, kept.inputs[rows]), labels[rows]), synced=True)
    return Reduction(len(kept), len(rows), before, _figures(again), _lost(whole, again), keep, str(out))


class Runs:
    """The entries of a campaign, run in batches."""

    def __init__(self, target: ModelTarget, kept: Candidates, batch: int):
        self._target, self._kept, self._batch = target, kept, batch
        self.rows = all_rows(len(kept))

    @property
    def sizes(self) -> Tensor:
        """[entries] 1 of a seed, up to 2 of an input that is as far from what it is compared with as that is long."""
        kept = self._kept
        if not kept.inputs.is_floating_point():
            return 1 + (kept.inputs != kept.references).flatten(1).float().mean(1)
        return 1 + relative_distances(kept.inputs, kept.references).nan_to_num(1.0).clamp(max=1)

    def traces(self, rows: Tensor) -> list[tuple[Tensor, Trace]]:
        """Rows with their trace, batch by batch."""
        return [(some, self._target.run(self._kept.select(some))) for some in rows.split(self._batch) if len(some)]

    def plant(self, feedbacks: Sequence[Feedback]) -> None:
        """Assesses all entries, the seeds at once, because a threshold is calibrated on them."""
        seeds = int((self._kept.parents == NO_PARENT).sum())  # which came first
        if seeds:
            planted = Trace.joined([trace for _, trace in self.traces(self.rows[:seeds])])
            for feedback in feedbacks:
                feedback.assess(self._kept.select(self.rows[:seeds]), planted)
        self.assess(feedbacks, self.rows[seeds:])

    def assess(self, feedbacks: Sequence[Feedback], rows: Tensor) -> Tensor:
        """The rows that are new to any criterion, one after another."""
        new = [rows[:0]]
        for some, trace in self.traces(rows):
            entries = self._kept.select(some)
            gains = torch.stack([feedback.assess(entries, trace) for feedback in feedbacks], 1)
            new.append(some[(gains > 0).any(1)])
        return torch.cat(new)


def smallest(corpus: Runs, seen: Sequence[Feedback], fresh: Sequence[Feedback], keep: float = 1.0) -> Tensor:
    """Few rows, in order, after which no other is new to criteria that have seen nothing yet.

    First come those that cover all units of criteria that count such, or a share; `seen` tells which units there are.
    Then whoever is still new joins: for nearest neighbours, that is whoever lies farther than the threshold from all
    chosen before. For criteria of which a share is enough, nobody does.
    """
    first = _covering(corpus, [one for one in seen if isinstance(one, NeuronCoverage)], keep)
    asking = [one for one in fresh if keep == 1 or not isinstance(one, NeuronCoverage)]
    if not asking:
        return first.sort().values
    corpus.assess(asking, first)
    others = corpus.rows[~torch.isin(corpus.rows, first)]
    return torch.cat([first, corpus.assess(asking, others)]).sort().values


def _covering(corpus: Runs, counting: Sequence[NeuronCoverage], keep: float) -> Tensor:
    rows, units = [corpus.rows[:0]], [corpus.rows[:0]]
    for some, trace in corpus.traces(corpus.rows) if counting else []:
        start = 0
        for one in counting:
            places, numbers = one.units(trace)
            covers = numbers < one.total
            rows.append(some[places][:, None].expand_as(numbers)[covers])
            units.append(numbers[covers] + start)
            start += one.total
    return covering_rows(torch.cat(rows), torch.cat(units), corpus.sizes, keep)


def _criteria(settings: Settings, context: PartContext, known: Figures) -> list[Feedback]:
    """The campaign's criteria as new, with the thresholds that were calibrated."""
    names = settings[PartOptions].coverage
    return [CRITERIA[name].make(_calibrated(settings, known.get(name, {})), context) for name in names]


def _calibrated(settings: Settings, figures: Mapping[str, float]) -> Settings:
    nearest = settings[NearestOptions]
    return settings.over(replace(nearest, threshold=figures.get("threshold", nearest.threshold)))


def _context(folder: Path, loaded: Loaded) -> PartContext:
    ranged = needs_profile(loaded.settings)
    return loaded.prepared.context(
        load_profile(folder / PROFILE, loaded.model.belongs_to, kept=True) if ranged else None
    )


def _figures(feedbacks: Sequence[Feedback]) -> Figures:
    return {name: figures for feedback in feedbacks for name, figures in feedback.coverage().items()}


def _lost(whole: Sequence[Feedback], part: Sequence[Feedback]) -> int:
    pairs = zip(whole, part, strict=True)
    both = [
        (one, other) for one, other in pairs if isinstance(one, NeuronCoverage) and isinstance(other, NeuronCoverage)
    ]
    return sum(int((one.covered() & ~other.covered()).sum()) for one, other in both)


def _arrays(seeds: Seeds, inputs: Tensor) -> dict[str, Tensor]:
    """Inputs as a file of seeds holds them: several by their names."""
    layout = layout_of(seeds)
    return {"x": inputs} if layout is None else layout.unpacked(inputs)


def _encoded(inputs: Mapping[str, Tensor], labels: Tensor) -> bytes:
    content = BytesIO()
    arrays = {name: values.numpy() for name, values in inputs.items()} | {MADE_BY_CMIN: np.array(1)}
    if (labels != NO_LABEL).any():
        arrays["y"] = labels.numpy()
    np.savez(content, **arrays)  # type: ignore[arg-type]
    return content.getvalue()


def _writable(out: Path) -> Path:
    if out.suffix != ".npz":
        raise OutputRefused(f"--out {out}: give a file that ends in .npz")
    if out.exists() and not has_mark(out, MADE_BY_CMIN):
        raise OutputRefused(f"{out} exists and is not ours to overwrite: give another --out")
    if not out.parent.is_dir():
        raise OutputRefused(f"--out {out}: its folder does not exist: make it first")
    return out
