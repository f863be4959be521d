"""Which options of `jostle fuzz` other commands take, on the command line and from Python."""

from __future__ import annotations

from collections.abc import Iterable, Sequence

from jostle.errors import UsageError
from jostle.options.choices import unknown
from jostle.storage.campaign_record import REPLAYED

OF_DATA = ("range", "mean", "std", "layout", "channels", "size", "batch")
OF_MODEL = ("model", "weights", "engine", "shape", "trust_model", "sandbox")
OF_WATCHED_MODEL = (*OF_MODEL, "layers", "units", "counted")  # where neurons are counted
OF_CRITERIA = (
    "profile",
    "sections",
    "buckets",
    "top",
    "active",
    "surprise_buckets",
    "surprise_limit",
    "least_variance",
)
OF_COVERAGE = (*OF_WATCHED_MODEL, *OF_CRITERIA, *OF_DATA)
OF_CONSENT = ("trust_model", "trust_folder", "sandbox")
OF_FOLDER = (*REPLAYED, "seeds", *OF_CONSENT)  # what a folder names, given by the user in its place
OF_REPLAY = (*REPLAYED, "timeout", "rss_limit", *OF_CONSENT)
OF_TMIN = (*OF_FOLDER, "budget", "timeout", "rss_limit")


def refuse_others(function: str, given: Iterable[str], taken: Sequence[str]) -> None:
    """Refuses an option that a function would not read, with the nearest that it does."""
    for name in given:
        if name not in taken:
            raise UsageError(f"{function}: option {unknown(name, taken)}")
