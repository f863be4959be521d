"""Markdown for a pull request or the summary of a step: two sentences, a table of defects, details folded."""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence

from jostle.export.exported import ExportedCampaign, ExportedDefect

TABLE_ENDS, LONGEST = 40_000, 60_000  # characters; a comment may have 65,536
NO_WIDTH = "&#8203;"  # between a sign and what it would make a mention or a reference of
REFERRING = "@#"
HARMLESS = " ,%'?;(/"  # besides letters and digits, wherever it stands


def markdown(campaign: ExportedCampaign) -> bytes:
    """What does not fit into a comment is left out and counted."""
    text = "\n".join(_head(campaign)) + "\n"
    if campaign.defects:
        text += "\n| defect | kind | seeds | shown in |\n|---|---|---|---|\n"
        text = _filled(text, [f"{_row(one)}\n" for one in campaign.defects], TABLE_ENDS)
        text = _filled(text, ["\n".join(_details(one)) + "\n" for one in campaign.defects], LONGEST)
    return text.encode()


def _filled(text: str, parts: Sequence[str], longest: int) -> str:
    """As many of the parts behind the text as fit; how many do not, where there are such."""
    for place, part in enumerate(parts):
        if len(text) + len(part) > longest:
            return f"{text}\n… and {len(parts) - place:,} more, which `jostle triage` tells.\n"
        text += part
    return text


def _head(campaign: ExportedCampaign) -> Iterator[str]:
    count = len(campaign.defects)
    found = f"{count:,} {'defect' if count == 1 else 'defects'}" if count else "no defects"
    yield f"## Jostle: {found} in {as_text(campaign.model)}"
    yield ""
    yield " ".join(map(as_text, campaign.sentences))
    for note in campaign.notes:
        yield from ("", f"**Note:** {as_text(note)}")


def _row(defect: ExportedDefect) -> str:
    shown = defect.unstable or "all runs"
    cells = (as_text(defect.title), as_text(defect.kind), f"{defect.seeds:,}", as_text(shown))
    return f"| {' | '.join(cells)} |"


def _details(defect: ExportedDefect) -> Iterator[str]:
    yield ""
    yield f"<details><summary>{as_text(defect.title)}</summary>"
    yield ""
    yield "<br>".join(as_text(sentence) for sentence in defect.explanation)
    yield ""
    yield f"To see it again: <code>{as_text(defect.replay)}</code>"
    yield ""
    yield "</details>"


def as_text(line: str) -> str:
    """A line in which nothing is markup, a link, a mention or a reference: such signs are written as numbers."""
    numbered = re.sub(r"[!-/:-@\[-`{-~]", _numbered, line)
    return numbered.strip(" ")


def _numbered(found: re.Match[str]) -> str:
    sign, text = found[0], found.string
    before, after = text[: found.start()][-1:], text[found.end() :][:1]
    if sign in HARMLESS or _is_harmless(before, sign, after):
        return sign
    return f"&#{ord(sign)};{NO_WIDTH if sign in REFERRING else ''}"


def _is_harmless(before: str, sign: str, after: str) -> bool:
    """Of signs that are markup in some places: neither what numbers a list, nor what a link is told by."""
    ends, numbers = after in ("", " "), before.isdigit()
    match sign:
        case ".":
            return after.isdigit() if numbers else ends and bool(before)
        case ")":
            return bool(before) and not numbers
        case ":":
            return ends and bool(before) and not numbers
        case "-":
            return before.isalnum() and after.isalnum()
    return False
