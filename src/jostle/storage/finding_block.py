"""What a step found as one block of bytes, for the write-ahead log and to write the findings' folders from."""

from __future__ import annotations

import json
from collections.abc import Mapping
from io import BytesIO
from typing import Any

import numpy as np
import safetensors.numpy
import torch
from safetensors import SafetensorError
from torch import Tensor

from jostle.records import NO_PARENT, Candidates, Finding
from jostle.storage.campaign_record import COPY
from jostle.storage.files import portable
from jostle.storage.finding_record import RECORD, FindingRecord, InputType, encode_record, record_as_json
from jostle.untrusted.json_text import parsed_json

# The arrays of a finding, and what blocks call those of all findings of a step.
ARRAYS = {"input": "inputs", "reference": "references"}
OF_SEEDS = {"label": "labels", "answer": "answers"}  # where they are known
OF_MOVED = {"seed": "seeds", "placement": "placements"}  # of inputs only whose reference is not the seed itself
# What makes a folder of a finding with the record only.
BEFORE_RECORD = (COPY, *(f"{name}.npy" for name in (*ARRAYS, *OF_SEEDS, *OF_MOVED)))
LONGEST_TEXT = 20_000  # characters of any one text in a record, so that a traceback without end fills no disk
DRAWN_ANEW = "drawn anew"  # in place of a seed, of what descends from none
TEXT = "told"  # the name within a block of its places and records; older logs have it too


def encode_findings(findings: Mapping[str, Finding], input_type: InputType) -> bytes:
    """All of some findings, by the paths of their folders, as one block: quick, because the loop waits for it."""
    rows = Candidates.joined([finding.row for finding in findings.values()])
    references = rows.references
    changes = _changes(rows, references, input_type)
    records = [
        record_as_json(finding_record_of(finding, input_type, change))
        for finding, change in zip(findings.values(), changes, strict=True)
    ]
    text = json.dumps({"places": list(findings), "moved": rows.moved.tolist(), "records": records})
    arrays = {"inputs": rows.inputs, "references": references, "seeds": rows.originals}
    if input_type is InputType.ARRAY:
        arrays |= _of_roots(rows)
    return safetensors.numpy.save(
        {name: _storable(array).contiguous().numpy() for name, array in arrays.items()}
        | {TEXT: np.frombuffer(text.encode(), np.uint8)}
    )


def _of_roots(rows: Candidates) -> dict[str, Tensor]:
    """What oracles must know of the seeds: labels, what the model said of them, and how inputs were moved."""
    answers = {} if rows.seeds.answers is None else {"answers": rows.answers}
    placements = {"placements": rows.lineage.rows} if rows.moved.any() else {}
    return {"labels": rows.labels, **answers, **placements}


def _storable(array: Tensor) -> Tensor:
    return array.float() if array.dtype is torch.bfloat16 else array  # which numpy does not have


def _changes(rows: Candidates, references: Tensor, input_type: InputType) -> list[float | None]:
    """By how much a value of each input changed at most; the number that stands for a graph has no size."""
    if input_type is InputType.GRAPH:
        return [None] * len(rows)
    changes: list[float | None] = (rows.inputs.float() - references.float()).abs().flatten(1).amax(1).tolist()
    return changes


def finding_record_of(finding: Finding, input_type: InputType, change: float | None) -> FindingRecord:
    """What is known when a bug is found; texts that are too long are shortened."""
    violation, row = finding.violation, finding.row
    root = int(row.roots[0])
    return FindingRecord(
        input_type=input_type,
        kind=violation.kind,
        summary=_shortened(violation.summary),
        fingerprint=_shortened(violation.fingerprint),
        alone=finding.alone,
        bug=finding.bug,
        step=finding.step,
        execution=finding.execution,
        seed=_shortened(_seed_of(row)),
        root=root,
        parent=int(row.parents[0]),
        mutation=row.mutations[0],
        largest_change=change,
        details=_shortened(portable(dict(violation.details))),
        own_label=row.seeds.completed is not None and bool(row.seeds.completed[root]),
    )


def _seed_of(row: Candidates) -> str:
    """The name of the seed that an input descends from."""
    drawn = int(row.parents[0]) == NO_PARENT and not row.mutations.of_seeds[0]
    return DRAWN_ANEW if drawn else row.seeds.names[int(row.roots[0])]


def _shortened(value: Any) -> Any:
    """Texts that are too long keep their head and their tail, where tracebacks say most."""
    if isinstance(value, dict):
        return {str(name): _shortened(item) for name, item in value.items()}
    if isinstance(value, list):
        return [_shortened(item) for item in value]
    if not isinstance(value, str) or len(value) <= LONGEST_TEXT:
        return value
    half = LONGEST_TEXT // 2
    return f"{value[:half]}\n… {len(value) - 2 * half:,} characters left out …\n{value[-half:]}"


def folders_in(block: bytes) -> dict[str, dict[str, bytes]]:
    """The files of each finding's folder, the record last: a folder with a record is whole.

    A block that is none of ours raises ValueError.
    """
    try:
        return _folders_in(safetensors.numpy.load(block))
    except (SafetensorError, KeyError, IndexError, TypeError, AttributeError, OverflowError) as error:
        raise ValueError(f"no block of findings ({error})") from error


def _folders_in(arrays: Mapping[str, Any]) -> dict[str, dict[str, bytes]]:
    text = parsed_json(arrays[TEXT].tobytes())
    folders = {}
    for row, (place, moved, record) in enumerate(zip(text["places"], text["moved"], text["records"], strict=True)):
        known = {name: source for name, source in OF_SEEDS.items() if source in arrays}
        names = {**ARRAYS, **known, **(OF_MOVED if moved else {})}
        rows = {name: torch.from_numpy(np.asarray(arrays[source][row])) for name, source in names.items()}
        files = {f"{name}.npy": npy(array) for name, array in rows.items()}
        folders[place] = {**files, RECORD: encode_record(record)}
    return folders


def npy(values: Tensor) -> bytes:
    """The content of an .npy file."""
    content = BytesIO()
    np.save(content, values.numpy(), allow_pickle=False)
    return content.getvalue()
