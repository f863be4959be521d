"""`jostle replay`: do findings still show?"""

from __future__ import annotations

import json
from collections.abc import Sequence
from dataclasses import asdict
from pathlib import Path
from typing import Annotated, Any

import typer

from jostle.cli.flags import AsJson, Flags, taking
from jostle.cli.terminal import Exit, output, say
from jostle.commands.kept_findings import Unreadable
from jostle.commands.options_taken import OF_REPLAY
from jostle.commands.replay import Replay, Replayed, ReplayStatus, Verdict, replay_readable, with_model
from jostle.composition.settle import ON_FOLDER
from jostle.storage.files import portable
from jostle.triage.words import counted

NAMED = 10  # findings that are left out
FINDINGS_HELP = (
    "Folders of findings, CAMPAIGN/findings/0001-…; a campaign's folder stands for all in it. A last name that holds "
    "no findings is the model to run them on, as --model"
)


@taking(ON_FOLDER, OF_REPLAY)
def replay(
    flags: Flags,
    findings: Annotated[list[Path], typer.Argument(help=FINDINGS_HELP, metavar="FINDING… [MODEL]")],
    as_json: AsJson = False,
) -> Exit:
    """Run the inputs of findings once more, each alone, in a process of their own, and say what they show.

    Each is still there, new (wrong in another way) or mended. Exit code: 1 if any is still there or new, else 0.
    """
    replayed = replay_readable(*with_model(findings, ON_FOLDER.parsed(ON_FOLDER.read(flags))))
    if as_json:
        print(json.dumps(_as_json(replayed)))
    else:
        say(output(), "\n".join([*_lines(replayed.findings), *left_out_lines(replayed.unreadable)]))
    return _exit(replayed)


def _exit(replayed: Replayed) -> Exit:
    """Of a campaign without findings nothing is wrong; where none of them could run, nobody can tell."""
    results = replayed.findings
    if any(result.still_wrong for result in results):
        return Exit.FINDINGS
    return Exit.CLEAN if not results or any(result.ran for result in results) else Exit.NOTHING_RAN


def left_out_lines(unreadable: Sequence[Unreadable]) -> list[str]:
    """How many findings cannot be read, and which."""
    if not unreadable:
        return []
    each = [f"  {one.folder.name}: {one.reason}" for one in unreadable[:NAMED]]
    more = [f"  … and {len(unreadable) - NAMED:,} more"] if len(unreadable) > NAMED else []
    return [f"{counted(len(unreadable), 'finding')} cannot be read and left out:", *each, *more]


def unreadable_as_json(unreadable: Sequence[Unreadable]) -> list[dict[str, str]]:
    return [{"folder": str(one.folder), "reason": one.reason} for one in unreadable]


def _as_json(replayed: Replayed) -> dict[str, Any]:
    results = replayed.findings
    findings = [
        {
            "folder": str(result.folder),
            "recorded": result.record.fingerprint,
            "status": str(result.status),
            "verdict": str(result.verdict),
            "shown": [portable(asdict(violation)) for violation in result.shown],
            "changed": result.changed,
        }
        for result in results
    ]
    counts = {verdict.replace(" ", "_"): number for verdict, number in _counts(results).items()}
    return {
        "findings": findings,
        **counts,
        "still_wrong": sum(result.still_wrong for result in results),
        "unreadable": unreadable_as_json(replayed.unreadable),
    }


def _counts(results: Sequence[Replay]) -> dict[str, int]:
    """How many findings there are of each verdict."""
    return {str(verdict): sum(result.verdict is verdict for result in results) for verdict in Verdict}


def _lines(results: Sequence[Replay]) -> list[str]:
    if len(results) == 1:
        lines = [_line(results[0]), *_details(results[0])]
    else:
        counts = ", ".join(f"{number} {verdict}" for verdict, number in _counts(results).items() if number)
        widest = max((len(result.folder.name) for result in results), default=0)
        rows = [
            f"{one.folder.name:{widest}}  {one.verdict:{len(Verdict.STILL_THERE)}}  {_line(one)}" for one in results
        ]
        lines = [*rows, f"{counted(len(results), 'finding')}{f': {counts}' if counts else ''}"]
    if any(result.changed for result in results):
        lines.append("  model or code have changed since it was found")
    return lines


def _line(result: Replay) -> str:
    if result.status is ReplayStatus.NOT_RUN:
        return f"{result.status}: {result.not_run}"
    ways = "; ".join(f"{violation.fingerprint}: {violation.summary}" for violation in result.other_ways)
    return f"{result.status}: {ways if result.status is ReplayStatus.OTHERWISE else result.record.fingerprint}"


def _details(result: Replay) -> list[str]:
    if result.status is ReplayStatus.OTHERWISE:
        return [f"  recorded was {result.record.fingerprint}: {result.record.summary}"]
    shown = [f"  {violation.fingerprint}: {violation.summary}" for violation in result.shown]
    return shown or (["  nothing is wrong with it"] if result.ran else [])
