"""SARIF 2.1.0, as code scanning reads it: a rule for each kind of defect, a result for each defect."""

from __future__ import annotations

import json
from typing import Any

from jostle.export.exported import ExportedCampaign, ExportedDefect
from jostle.storage.campaign_record import CONFIG
from jostle.triage.kinds import words_of

SCHEMA = "https://json.schemastore.org/sarif-2.1.0.json"
FIRST_LINE = 1  # code scanning shows no result without a line
FINGERPRINT = "jostleDefect/v1"
READ_BY_GITHUB = "primaryLocationLineHash"  # else all results of one line would be taken for one


def sarif(campaign: ExportedCampaign) -> bytes:
    """A log with one run; fingerprints are the same in every run that finds a defect."""
    families = list(dict.fromkeys(defect.family for defect in campaign.defects))
    driver = {"name": "Jostle", "version": campaign.version, "rules": [_rule(family) for family in families]}
    run = {
        "tool": {"driver": driver},
        "columnKind": "unicodeCodePoints",
        "results": [_result(campaign, defect, families.index(defect.family)) for defect in campaign.defects],
        "properties": {"summary": list(campaign.sentences), "notes": list(campaign.notes)},
    }
    log = {"$schema": SCHEMA, "version": "2.1.0", "runs": [run]}
    return (json.dumps(log, indent=2, ensure_ascii=False, allow_nan=False) + "\n").encode()


def _rule(family: str) -> dict[str, Any]:
    words = words_of(family)
    return {
        "id": f"jostle/{family}",
        "shortDescription": _message(f"{words.one[:1].upper()}{words.one[1:]}"),
        "fullDescription": _message(words.meaning),
        "help": _message(f"{words.meaning} {words.advice}"),
        "defaultConfiguration": {"level": "error"},
        "properties": {"tags": ["fuzzing", "neural network"]},
    }


def _result(campaign: ExportedCampaign, defect: ExportedDefect, rule: int) -> dict[str, Any]:
    sentences = (f"{defect.title.rstrip('.')}.", *defect.explanation, f"To see it again: {defect.replay}")
    return {
        "ruleId": f"jostle/{defect.family}",
        "ruleIndex": rule,
        "level": "warning" if defect.unstable else "error",
        "message": _message(" ".join(sentences)),
        "locations": [_location(campaign, defect)],
        "partialFingerprints": {FINGERPRINT: defect.fingerprint, READ_BY_GITHUB: f"{defect.fingerprint}:1"},
        "rank": round(100 * defect.weight, 2),
        "properties": {
            "kind": defect.kind,
            "identity": defect.identity,
            "seeds": defect.seeds,
            "findings": defect.findings,
            "unstable": defect.unstable,
        },
    }


def _message(text: str) -> dict[str, str]:
    """A text without placeholders (§3.11.5) and links (§3.11.6)."""
    return {"text": text.replace("{", "{{").replace("}", "}}").replace("](", "] (")}


def _location(campaign: ExportedCampaign, defect: ExportedDefect) -> dict[str, Any]:
    """The model's file; the campaign's record where the model is no file. The layer stands beside it."""
    uri = f"{campaign.folder.uri}/{CONFIG}" if campaign.source is None else campaign.source.uri
    region = {"startLine": defect.line or FIRST_LINE}
    where: dict[str, Any] = {"physicalLocation": {"artifactLocation": {"uri": uri}, "region": region}}
    if defect.layer:
        where["logicalLocations"] = [{"name": defect.layer, "kind": "layer"}]
    return where
