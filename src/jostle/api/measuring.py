"""`jostle.coverage` and `jostle.compare`: what some data covers, and where two models differ."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from contextlib import ExitStack
from pathlib import Path
from typing import Any

from jostle.api.fuzzing import fuzz
from jostle.api.objects_by_name import by_name, seeds_by_name
from jostle.api.result import Result
from jostle.commands.coverage_meter import EVERY, criteria_named, measured
from jostle.commands.options_taken import OF_COVERAGE, refuse_others
from jostle.composition.settle import FUZZ
from jostle.held import holding
from jostle.progress import quietly
from jostle.subjects.torch_modes import in_its_mode

TOWARD_DISAGREEMENT = {"oracle": "agree", "coverage": "gap"}  # unless options say otherwise


def coverage(
    model: object, data: object, criteria: str | Sequence[str] = EVERY, profile: object = None, **options: Any
) -> Mapping[str, Mapping[str, float]]:
    """How much of a model some data covers, by criterion: `nc, kmnc, nbc, snac, tknc, bknc` or all.

    Model and data are those of `jostle.fuzz`, options those of `jostle coverage`. `profile` is data that the model
    knows, for the criteria that measure against the ranges of neurons. Without it, `all` means those that need none.
    A model file runs in a process of its own.
    """
    refuse_others("jostle.coverage", options, OF_COVERAGE)
    with holding() as holder, in_its_mode(model), ExitStack() as undone:
        named = by_name(holder, {**options, "model": model, "profile": profile})
        given = FUZZ.parsed({**named, "seeds": seeds_by_name(holder, data)})
        names = criteria_named(criteria if isinstance(criteria, str) else ",".join(criteria), profile is not None)
        return measured(given, names, lambda doing: quietly, undone).coverage()


def compare(
    model: object, twin: object, seeds: object, labels: object = None, *, out: str | Path | None = None, **options: Any
) -> Result:
    """Where a model and its twins disagree: on seeds, and on what a search toward disagreement makes of them.

    A twin is a word (`int8`, `onnx` …), a model as `jostle.fuzz` takes it, or a list of those.
    """
    return fuzz(model, seeds, labels, out=out, twin=twin, **{**TOWARD_DISAGREEMENT, **options})
