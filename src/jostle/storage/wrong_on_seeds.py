"""The seeds that a model gets wrong, as a file beside a campaign's findings: they are known and no discoveries."""

from __future__ import annotations

from pathlib import Path

from torch import Tensor

from jostle.records import Seeds
from jostle.storage.files import write_json

WRONG_ON_SEEDS = "wrong-on-seeds.json"
LONGEST = 64  # numbers of one label or answer that are written


def write_wrong(folder: Path, seeds: Seeds, wrong: Tensor) -> None:
    """Lists the seeds that are wrong [seeds] bool, with their labels and what the model said."""
    assert seeds.answers is not None, "asked for by pre-flight"
    rows = [
        {
            "seed": seeds.names[row],
            "label": _numbers(seeds.labels[row]),
            "answer": _numbers(seeds.answers[row]),
        }
        for row in wrong.nonzero().squeeze(1).tolist()
    ]
    write_json(folder / WRONG_ON_SEEDS, rows)


def _numbers(value: Tensor) -> object:
    return value.tolist() if value.numel() <= LONGEST else f"an array of shape {list(value.shape)}"
