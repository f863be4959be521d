"""Campaign folders with findings of any number and any words, written as campaigns write them."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path

import torch
from torch import Tensor

from jostle.lineage import Mutation
from jostle.storage.campaign_record import CampaignRecord, Origin, write_campaign
from jostle.storage.coverage_history import COVERAGE, CoveragePoint, encode_point
from jostle.storage.defect_record import Cause, Defect
from jostle.storage.defects import write_defects
from jostle.storage.environment import ENVIRONMENT
from jostle.storage.files import make_folder, write_json
from jostle.storage.finding_block import npy
from jostle.storage.finding_record import (
    Answer,
    ChangeSizes,
    Confirmation,
    Divergence,
    FindingRecord,
    FinishedArray,
    InputType,
    LayerDivergence,
    Location,
    encode_record,
    record_as_json,
)
from jostle.storage.findings import FINDINGS, RECORD, write_files
from jostle.storage.journal import JOURNAL, JournalLine, encode_line
from jostle.storage.status import STATUS
from jostle.zoo import mnist_sample

SIZES = ChangeSizes(10, 1.0, 0.1, 0.3)
LAYERS = ("conv1", "relu1", "fc1")
MUTATIONS = ("rotation 11.2", "noise", "brightness 0.1")


def written_campaign(folder: Path, findings: int, words: str = "", per_defect: int = 5) -> Path:
    """A campaign on digits with so many findings, of which every few are one defect; `words` stand in all its texts."""
    make_folder(folder)
    write_campaign(folder, campaign_record(words))
    write_json(folder / ENVIRONMENT, {"python": "3.11", "processor": f"cpu{words}"})
    (folder / "domain.toml").write_text('kind = "image"\nlow = 0.0\nhigh = 1.0\n')
    records = [finding_record(number, words) for number in range(findings)]
    names = [f"{number + 1:04}-{one.kind}-x" for number, one in enumerate(records)]
    images = mnist_sample()[0]
    for number, (name, record) in enumerate(zip(names, records, strict=True)):
        write_finding(folder / FINDINGS / name, record, images[number % len(images)], number)
    write_progress(folder, records)
    groups = [range(start, min(start + per_defect, findings)) for start in range(0, findings, per_defect)]
    write_defects(folder, [defect(place, [names[i] for i in some], words) for place, some in enumerate(groups)])
    return folder


def campaign_record(words: str = "") -> CampaignRecord:
    settings = {"model": f"net.py:model{words}", "seeds": "digits", "twin": ["int8"], "recipe": "tensorfuzz"}
    origin = Origin("/work", "classes", command=f"jostle fuzz net.py:model{words}")
    return CampaignRecord(settings, {"budget": 20.0}, origin=origin)


def finding_record(number: int, words: str = "") -> FindingRecord:
    """A flip, or every third a disagreement of twins."""
    label, said, sure = number % 10, (number * 7 + 1) % 10, 0.5 + (number % 50) / 100
    of_twins = number % 3 == 2
    details: dict[str, object] = {"label": label, "taken for": said, "traceback": f"Traceback{words}"}
    if of_twins:
        scores = [float(place == label) for place in range(10)]
        details = {"model": scores, "twin": scores[1:] + scores[:1], "margins": [0.1, 0.2]}
    return FindingRecord(
        input_type=InputType.ARRAY,
        kind="agree" if of_twins else f"flip{words}",
        summary=f"label {label} became {said}{words}",
        fingerprint=f"flip:{number}",
        alone=True,
        bug=number,
        step=1 + number // 10,
        execution=600 + number,
        seed=f"digits[{number % 500}]{words}",
        root=number % 500,
        parent=number % 500,
        mutation=Mutation.parsed(MUTATIONS[number % 3] + words),
        largest_change=0.3,
        details=details,
        finished=FinishedArray(
            SIZES,
            None,
            {
                "seed": {"model": Answer(label, 0.9), f"twin{words}": Answer(label, 0.8)},
                "input": {"model": Answer(said, sure), f"twin{words}": Answer(label, 0.6)},
            },
            divergence(words) if of_twins else None,
            Confirmation(5, 5),
            Location(f"fc1{words}", "not finite", -1.0, 2.0),
        ),
    )


def divergence(words: str = "") -> Divergence:
    layers = [LayerDivergence(f"{layer}{words}", layer, 10.0**place, 0.01) for place, layer in enumerate(LAYERS, -3)]
    infinite = replace(layers[-1], value=float("inf"))
    return Divergence(f"int8{words}", f"fc1{words}", True, (*layers[:-1], infinite))


def write_finding(folder: Path, record: FindingRecord, seed: Tensor, number: int) -> None:
    noise = torch.linspace(-0.1, 0.1, seed.numel()).roll(number).view_as(seed)
    arrays = {"input": (seed + noise).clamp(0, 1), "reference": seed, "label": torch.tensor(number % 10)}
    files = {f"{name}.npy": npy(array) for name, array in arrays.items()}
    write_files(folder, {**files, RECORD: encode_record(record_as_json(record))})


def write_progress(folder: Path, records: list[FindingRecord]) -> None:
    steps = max((one.step for one in records), default=0) + 1
    found = [[one for one in records if one.step == step] for step in range(min(steps, 40))]
    lines = [
        JournalLine(step, 500, 500 * (step + 1), 0, "", tuple(one.fingerprint for one in some), (), (), {}, {})
        for step, some in enumerate(found)
    ]
    (folder / JOURNAL).write_bytes(b"".join(map(encode_line, lines)))
    points = [CoveragePoint(line.executions, {"kmnc": {"covered": 0.02 * (line.step + 1)}}) for line in lines]
    (folder / COVERAGE).write_bytes(b"".join(map(encode_point, points)))
    write_json(folder / STATUS, {"seconds": 20.0, "executions_per_second": 25.0, "corpus": 500})


def defect(place: int, findings: list[str], words: str = "") -> Defect:
    kind, mutation = ("flip" if place % 2 else "agree"), MUTATIONS[place % 3].split(" ")[0]
    return Defect(
        name=f"defect-{place}",
        cause=Cause(kind, f"{place} → {place + 1}{words}", f"{mutation}{words}", f"fc1{words}", 0),
        title=f"Digit {place} taken for {place + 1} when changed{words}",
        findings=tuple(findings),
        seeds=len(findings),
        weight=1 / (1 + place),
        reasons={f"small change{words}": 0.5, "confident": 0.9},
        explanation=(f"Rotated by 11°{words}.", "The model said 4 (93.1%) and says 9 (88.0%)."),
        unstable=0.6 if place == 3 else None,
    )
