"""Which inputs the figures of coverage count."""

from __future__ import annotations

from dataclasses import dataclass, replace

from jostle.catalogue import PartOptions, feedbacks_of, parts_named
from jostle.coverage_counter import CoverageCounter
from jostle.errors import UsageError
from jostle.options.declaration import Theme, option
from jostle.options.kinds import choice
from jostle.options.schema import Settings
from jostle.part import PartContext
from jostle.step_records import COUNTED_CORPUS, COUNTED_INPUTS


@dataclass(frozen=True)
class CountedInputOptions:
    """Which inputs the figures of coverage count; what guides is always the corpus."""

    count_coverage: str | None = option(
        choice(lambda: COUNTED_INPUTS),
        "Inputs whose coverage is told: the corpus, all that ran (run, as DLFuzz), or the failing tests (failing, as "
        "DeepXplore) (corpus)",
        Theme.OUTPUT,
    )


def counter_of(settings: Settings, context: PartContext) -> CoverageCounter | None:
    """What counts the coverage that was asked for; None where that is what guides."""
    counted = settings[CountedInputOptions].count_coverage
    if counted is None or counted == COUNTED_CORPUS:
        return None
    _refuse_uncountable(settings[PartOptions].coverage, counted)
    return CoverageCounter(counted, feedbacks_of(settings, replace(context, measures_only=True)))


def _refuse_uncountable(criteria: tuple[str, ...], counted: str) -> None:
    """Refuses criteria without units, whose figures only say how guidance went."""
    flag = f"--count-coverage {counted}"
    if not criteria:
        raise UsageError(f"{flag}: nothing is covered where nothing guides: name a criterion with --coverage nc")
    for name, part in zip(criteria, parts_named("coverage", criteria), strict=True):
        if not part.neurons:
            raise UsageError(
                f"{flag} counts neurons, and --coverage {name} has none: use --coverage nc, or leave it out"
            )
