"""Annotations of GitHub Actions: workflow commands, one on each line of standard output."""

from __future__ import annotations

from collections.abc import Iterator

from jostle.export.exported import ExportedCampaign, ExportedDefect

MOST_SHOWN = 10  # of each level in one step, by GitHub's own limit
ERROR, WARNING, NOTICE = "error", "warning", "notice"
# What stands for a sign that would end a message, and for those that would end a property.
IN_MESSAGES = {"%": "%25", "\r": "%0D", "\n": "%0A"}
IN_PROPERTIES = {**IN_MESSAGES, ":": "%3A", ",": "%2C"}


def annotation_lines(campaign: ExportedCampaign) -> list[str]:
    """A line for each defect, as many as are shown; one more counts the others, or says that there is nothing."""
    if not campaign.defects:
        return [command(NOTICE, "\n".join((*campaign.sentences, *campaign.notes)), title="Jostle: no defects")]
    return list(_lines(campaign))


def _lines(campaign: ExportedCampaign) -> Iterator[str]:
    shown = 0
    for level, unstable in ((ERROR, False), (WARNING, True)):
        some = [defect for defect in campaign.defects if bool(defect.unstable) is unstable][:MOST_SHOWN]
        yield from (_annotation(level, campaign, defect) for defect in some)
        shown += len(some)
    if shown < len(campaign.defects):
        more = f"{len(campaign.defects) - shown:,} more defects: see the summary of this step."
        yield command(NOTICE, more, title="Jostle")


def _annotation(level: str, campaign: ExportedCampaign, defect: ExportedDefect) -> str:
    shown = (f"Shown in {defect.unstable}.",) if defect.unstable else ()
    message = "\n".join((*defect.explanation, *shown, f"To see it again: {defect.replay}"))
    place = {}
    if campaign.source is not None and campaign.source.is_relative:
        place = {"file": campaign.source.shown, "line": str(defect.line or 1)}
    return command(level, message, **place, title=f"{defect.family}: {defect.title}")


def command(name: str, message: str, **properties: str) -> str:
    """A workflow command, which is one line whatever message and properties hold."""
    told = ",".join(f"{key}={_escaped(value, IN_PROPERTIES)}" for key, value in properties.items())
    return f"::{name} {told}::{_escaped(message, IN_MESSAGES)}"


def _escaped(text: str, signs: dict[str, str]) -> str:
    return "".join(signs.get(sign, sign) for sign in text)
