"""A campaign's folder whose findings come from bugs that are known, each hit many times from different seeds."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import numpy as np
import torch

from jostle.lineage import Mutation
from jostle.records import MODEL
from jostle.storage.campaign_record import CampaignRecord, write_campaign
from jostle.storage.finding_block import npy
from jostle.storage.finding_record import (
    DEPARTS,
    NOT_FINITE,
    RECORD,
    Answer,
    ChangeSizes,
    Divergence,
    FindingRecord,
    FinishedArray,
    InputType,
    LayerDivergence,
    Location,
    encode_record,
    record_as_json,
)
from jostle.storage.findings import FINDINGS, HIDDEN, write_files

SEEDS, NEURONS, INTRINSIC = 200, 84, 6
LAYERS = ("conv1", "conv2", "fc1")
OPERATIONS = ("rotation {:.3g}", "brightness {:.3g}", "noise {:.3g}", "contrast {:.3g}", "shearing {:.3g}")


@dataclass(frozen=True)
class Bug:
    """One planted cause: what the records of its findings say."""

    kind: str
    fingerprint: str  # {root} stands for the seed
    details: Mapping[str, Any] = field(default_factory=dict)
    layer: str = ""  # where it certainly begins
    region: int = 0  # of the last hidden layer's space


def _crash(error: str, *frames: str) -> Bug:
    parts = [frame.split() for frame in frames]
    lines = "".join(f'  File "/home/me/{file}", line {line}, in {name}\n' for file, line, name in parts)
    where = ":".join(parts[-1][::2])
    details = {"error": error, "message": "no", "where": where, "traceback": f"Traceback:\n{lines}{error}: no\n"}
    return Bug("crash", f"crash:{error}:{where}", details)


def _flip(label: int, taken_for: int, region: int = 0) -> Bug:
    details = {"label": label, "taken for": taken_for, "scores": [0.0] * 10}
    return Bug("flip", f"flip:{{root}}:{label}:{taken_for}", details, region=region)


def _twin(name: str, ours: int, theirs: int, layer: str) -> Bug:
    scores = {"model": np.eye(10)[ours].tolist(), "twin": np.eye(10)[theirs].tolist(), "margins": [1.0, 1.0]}
    return Bug(f"agree {name}", f"agree {name}:top1:{{root}}:{ours}:{theirs}", scores, layer)


BUGS = (
    _crash("ZeroDivisionError", "net.py 80 predict", "net.py 12 forward"),
    _crash("ZeroDivisionError", "net.py 80 predict", "net.py 31 forward"),
    _crash("ValueError", "net.py 80 predict", "net.py 12 forward"),
    _crash("IndexError", "net.py 20 forward", "torch/functional.py 2551 embedding"),
    _crash("IndexError", "net.py 24 forward", "torch/functional.py 2551 embedding"),
    Bug("nan", "nan:nan:output", {"place": "output", "value": "NaN"}, "conv1"),
    Bug("nan", "nan:inf:output", {"place": "output", "value": "Infinity"}, "conv2"),
    Bug("nan", "nan:nan:loss", {"place": "loss", "value": "NaN"}),
    _flip(4, 9),
    _flip(9, 4),
    _flip(3, 5),
    _flip(1, 7),
    _flip(3, 8, region=1),
    _flip(3, 8, region=2),
    _twin("int8", 4, 9, "fc1"),
    _twin("int8", 4, 9, "conv1"),
    _twin("fp16", 4, 9, "fc1"),
    Bug("property", "property:checks.py:in_order", {"loss": 3.0}),
    Bug("property", "property:checks.py:bounded", {"loss": 3.0}),
    Bug("moved", "moved:{root}:0:rises", {"output": 0, "of the seed": 1.0, "of the input": 9.0, "allowed": 0.5}),
)


def plant(folder: Path, hits: int, seed: int = 0) -> dict[str, int]:
    """Writes the campaign, and tells which of the bugs each finding is of, by its folder's name."""
    rng = np.random.default_rng(seed)
    folder.mkdir(parents=True, exist_ok=True)
    write_campaign(folder, CampaignRecord({"model": "net.py:net", "seeds": "data.npz", "range": "0,1"}, digest="0"))
    planted = [bug for bug in BUGS for _ in range(hits)]
    regions = {bug.region: _region(rng) for bug in BUGS}
    names: dict[str, int] = {}
    for number, row in enumerate(rng.permutation(len(planted)).tolist(), 1):
        bug, root = planted[row], int(rng.integers(SEEDS))
        name = f"{number:04}-{bug.kind.replace(' ', '-')}"
        hidden = regions[bug.region][root] + 0.05 * rng.normal(size=NEURONS)
        write_files(folder / FINDINGS / name, dict(_files(bug, root, hidden, rng)))
        names[name] = BUGS.index(bug)
    return names


def _region(rng: np.random.Generator) -> np.ndarray[Any, Any]:
    """Seeds' activations [seeds, neurons] of few degrees of freedom, far from other regions; the unit is theirs."""
    points = rng.normal(size=(SEEDS, INTRINSIC)) @ rng.normal(size=(INTRINSIC, NEURONS))
    distances = np.linalg.norm(points[:, None] - points[None], axis=2) + 1e9 * np.eye(SEEDS)
    offset = rng.normal(size=NEURONS)
    return points / np.median(distances.min(1)) + 20 * offset / np.linalg.norm(offset)


def _files(bug: Bug, root: int, hidden: np.ndarray[Any, Any], rng: np.random.Generator) -> Iterator[tuple[str, bytes]]:
    reference = torch.from_numpy(rng.random((1, 8, 8), dtype=np.float32))
    arrays = {"input": (reference + 0.04).clamp(0, 1), "reference": reference, "label": torch.tensor(4)}
    if bug.kind != "crash":
        arrays[HIDDEN] = torch.from_numpy(hidden.astype(np.float32))
    yield from ((f"{name}.npy", npy(array)) for name, array in arrays.items())
    yield RECORD, encode_record(record_as_json(_record(bug, root, rng)))


def _record(bug: Bug, root: int, rng: np.random.Generator) -> FindingRecord:
    operation = str(rng.choice(OPERATIONS)).format(rng.normal())
    sizes = ChangeSizes(64, float(rng.random()), float(rng.random()), 0.04)
    answers = {name: {MODEL: Answer(int(rng.integers(10)), float(rng.random()))} for name in ("reference", "input")}
    return FindingRecord(
        input_type=InputType.ARRAY,
        kind=bug.kind,
        summary=f"{bug.kind} of seed {root}",
        fingerprint=bug.fingerprint.format(root=root),
        alone=True,
        bug=int(rng.integers(2**40)),
        step=3,
        execution=int(rng.integers(10_000)),
        seed=f"seed {root}",
        root=root,
        parent=-1,
        mutation=Mutation((operation,)),
        largest_change=0.04,
        details=bug.details,
        finished=FinishedArray(sizes, None, answers, _divergence(bug), location=_location(bug, rng)),
    )


def _divergence(bug: Bug) -> Divergence | None:
    if not bug.kind.startswith("agree"):
        return None
    layers = tuple(LayerDivergence(name, name, 1.0, 0.1) for name in LAYERS)
    return Divergence(bug.kind.removeprefix("agree "), bug.layer, True, layers)


def _location(bug: Bug, rng: np.random.Generator) -> Location | None:
    if bug.kind == "nan" and bug.layer:
        return Location(bug.layer, NOT_FINITE, -1e5, 2e38)
    return Location(str(rng.choice(LAYERS)), DEPARTS, 2.0, 0.5) if bug.kind == "flip" else None
