"""The text of an issue about one defect, for whoever mends the model."""

from __future__ import annotations

from collections.abc import Iterator

from jostle.held import shown_name
from jostle.storage.campaign_record import CampaignRecord
from jostle.storage.defect_record import Defect
from jostle.storage.finding_record import FindingRecord
from jostle.triage.model_traceback import model_traceback
from jostle.visible import plain, visible

LONGEST = 4_000  # characters of a traceback
FENCE = "~~~~~~"


def issue_of(defect: Defect, record: FindingRecord, campaign: CampaignRecord, script: str | None) -> str:
    """Markdown: what is wrong, how it was seen, and how to see it again."""
    return "\n".join(_lines(defect, record, campaign, script)) + "\n"


def _lines(defect: Defect, record: FindingRecord, campaign: CampaignRecord, script: str | None) -> Iterator[str]:
    yield f"# {plain(defect.title)}"
    yield ""
    yield from (f"- {plain(sentence)}" for sentence in defect.explanation)
    yield ""
    model = shown_name(str(campaign.all_settings.get("model", "unknown")))
    yield f"Model: {plain(model)}. Seed: {plain(record.seed)}."
    yield f"Recorded: {plain(record.summary)}"
    traceback = record.details.get("traceback")
    if isinstance(traceback, str) and traceback:
        told = visible(model_traceback(traceback)[-LONGEST:]).replace("~~~", "~ ~ ~").rstrip()
        yield from ("", FENCE, told, FENCE)
    yield ""
    if script is None:
        yield "No script: it is of a gradient that is not finite, which a run of the model alone does not show."
    else:
        yield "To see it again, run `python reproduce.py` in this folder; it fails while the defect is there."
