"""What a person should know of a campaign: what is sought and what not, the seeds, and what was tried in vain."""

from __future__ import annotations

import math
from collections.abc import Iterator, Mapping
from pathlib import Path

from jostle.catalogue import PartOptions
from jostle.composition.compose import Composition, Prepared, counts_neurons
from jostle.composition.settle import SOUGHT
from jostle.inputs.table import Table
from jostle.inputs.value_range import ARRAY, ValueRange
from jostle.mutators.havoc import HavocOptions
from jostle.mutators.noise import NoiseOptions
from jostle.options.campaign import FindingOptions, InputOptions, ModelOptions
from jostle.options.resources import ThreadOptions
from jostle.options.schema import Given, Settings
from jostle.profile import Layers, counted_text
from jostle.step_records import Summary
from jostle.storage.beginnings import beginnings, divergences
from jostle.storage.findings import FINDINGS, recorded
from jostle.storage.wrong_on_seeds import WRONG_ON_SEEDS
from jostle.task import Task
from jostle.triage.words import counted

OF_SEEDS = (
    "every column stayed within its values in the seeds: a --domain file widens columns, "
    "and --range=LOW,HIGH all columns of an array"
)


def introduction(given: Given, composition: Composition, watched: Layers) -> Iterator[str]:
    """Told before a campaign runs."""
    prepared = composition.prepared
    flight, domain = prepared.flight, prepared.context().domain
    quality = f", {flight.quality}" if flight.quality else ""
    threads = prepared.settings[ThreadOptions].threads
    watching = f"layers watched: {len(prepared.model.layers)}, threads: {threads}"
    yield f"{counted(len(flight.seeds), 'seed')}{quality}, {watching}"
    if flight.task not in (Task.CLASSES, Task.UNKNOWN):
        yield f"task: {flight.task} (--task says what else the model does)"
    yield from domain.lines()
    if prepared.model.sandbox:
        yield f"sandbox: {prepared.model.sandbox}"
    yield f"sought: {sought_text(given, prepared)}"
    if counts_neurons(prepared.settings):
        yield f"counted: {counted_text(watched)}"
    if composition.profile is not None:
        yield composition.profile.explained()


def summary_rows(given: Given, prepared: Prepared, watched: Layers) -> dict[str, str]:
    """Told of a campaign when it is over, besides what came of it."""
    rows, wrong = {"sought": sought_text(given, prepared)}, int(prepared.flight.wrong.sum())
    if wrong and not prepared.settings[FindingOptions].seeds_count:
        rows["wrong on seeds"] = (
            f"{wrong:,} of {len(prepared.seeds):,} ({prepared.flight.quality}): no findings, listed in {WRONG_ON_SEEDS}"
        )
    if counts_neurons(prepared.settings):
        rows["counted"] = counted_text(watched)
    return rows


def sought_text(given: Given, prepared: Prepared) -> str:
    """The oracles, and those that are missing with the reason why."""
    sought = prepared.settings[PartOptions].oracle
    missing = "; ".join(f"{name}, because {why}" for name, why in _not_sought(given, prepared).items())
    return ", ".join(sought) + (f" · not sought: {missing}" if missing else "")


def _not_sought(given: Given, prepared: Prepared) -> dict[str, str]:
    """By oracle, why it is not sought."""
    task, sought = prepared.flight.task, prepared.settings[PartOptions].oracle
    left_out = "--oracle leaves it out" if "oracle" in given else "models are compared"
    reasons: dict[str, str] = {}
    if task is Task.UNKNOWN:
        reasons["flip"] = "the model gives no class scores (--task says what it does)"
    elif task in SOUGHT:
        reasons[SOUGHT[task]] = left_out
    reasons["nan"] = left_out
    reasons["agree"] = left_out if prepared.settings[ModelOptions].twin else "there is no --twin"
    return {name: why for name, why in reasons.items() if name not in sought}


def nothing_found(prepared: Prepared, summary: Summary) -> str:
    """What was tried, of a campaign without findings."""
    parts = prepared.settings[PartOptions]
    radius = _radius(prepared.settings)
    near = "" if radius is None else f" within {radius:g} of them"
    return (
        f"nothing found: {counted(summary.executions, 'input')}, made from {counted(len(prepared.seeds), 'seed')} by "
        f"{', '.join(parts.mutator)}{near}, and none shows {', '.join(parts.oracle)}{_bounds(prepared)}"
    )


def _bounds(prepared: Prepared) -> str:
    """Between which values all inputs stayed, where these are numbers and more would have been possible."""
    domain, declared = prepared.context().domain, prepared.settings[InputOptions].domain is not None
    if isinstance(domain, Table) and not declared:
        return f"; {OF_SEEDS}"
    if isinstance(domain, ValueRange) and domain.kind == ARRAY and math.isfinite(domain.high - domain.low):
        return f"; values stayed between {domain.low:g} and {domain.high:g}: --range or --domain widens that"
    return ""


def _radius(settings: Settings) -> float | None:
    """How far from its seed an input may have been at most, if that was bounded by a radius."""
    noise, havoc = settings[NoiseOptions].radius, settings[HavocOptions].havoc_radius
    named = settings[PartOptions].mutator
    radii = [radius for name, radius in (("noise", noise), ("table", noise), ("havoc", havoc)) if name in named]
    known = [radius for radius in radii if radius is not None]
    return max(known) if known and len(known) == len(radii) else None


def figures(prepared: Prepared, folder: Path) -> Mapping[str, object]:
    """Counted besides the summary, for programs; some of it from findings in the campaign's folder."""
    begins = beginnings(divergences(record for _, record in recorded(folder / FINDINGS)))
    return {
        **({"begins": {some.twin: some.as_json() for some in begins}} if begins else {}),
        "sought": list(prepared.settings[PartOptions].oracle),
        "task": str(prepared.flight.task),
        "accuracy_on_seeds": prepared.flight.accuracy,
        "quality_on_seeds": prepared.flight.quality,
        "wrong_on_seeds": int(prepared.flight.wrong.sum()),
    }
