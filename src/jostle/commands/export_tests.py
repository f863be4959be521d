"""The tests of a campaign for use elsewhere; its folder is read only, and no model is loaded.

Kept tests are stored as changes of the campaign's seeds, so those are loaded, by the rule for all that a folder names.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path

from torch import Tensor

from jostle.commands.exported_tests import TEST_FORMATS, ExportedTests, is_exported
from jostle.commands.failing_inputs import failures_in
from jostle.errors import OutputRefused, UsageError
from jostle.inputs.seeds import load_seeds
from jostle.options.campaign import InputOptions
from jostle.options.choices import chosen
from jostle.options.schema import NOTHING_ELSE, Given
from jostle.records import NO_PARENT
from jostle.session.load import digest_of_all, seed_form
from jostle.session.reopen import Reopened, recorded_campaign, reopen
from jostle.storage.campaign_record import CONFIG
from jostle.storage.files import make_folder, move, refuse_link, remove, temporary, write_plain, write_whole
from jostle.storage.history import read_kept

FAILING, KEPT = SOURCES = ("failing", "kept")


@dataclass(frozen=True)
class TestsWritten:
    """What was exported."""

    out: str
    tests: int
    findings_only: bool  # of failing tests one for each bug, because the campaign keeps no others


def export_tests(
    folder: Path,
    format: str,
    out: Path,
    source: str = FAILING,
    overwrite: bool = False,
    changes: Given = NOTHING_ELSE,
) -> TestsWritten:
    """Writes the tests of the campaign in this folder; an earlier export at `out` stays unless told otherwise."""
    written = TEST_FORMATS[chosen("--as", format, TEST_FORMATS)]
    chosen("--tests", source, SOURCES)
    _check_out(out, written.suffix, overwrite)
    campaign = recorded_campaign(folder)
    findings_only = False
    if source == KEPT:
        tests = _kept(folder, campaign, changes)
    else:
        tests, findings_only = _failing(folder, campaign)
    contents = written.contents(tests)
    if written.is_folder:
        _write_folder(out, contents)
    else:
        write_whole(out, contents[""], synced=True)
    return TestsWritten(str(out), len(tests), findings_only)


def _failing(folder: Path, campaign: Reopened) -> tuple[ExportedTests, bool]:
    failures = failures_in(folder)
    tests = failures.tests.once_each()
    if not len(tests):
        raise UsageError(f"the campaign in {folder} has no failing tests: let it run longer, or give --tests {KEPT}")
    facts = {
        "answers": tests.answers,
        "roots": tests.roots,
        "steps": tests.steps,
        "confirmed": tests.confirmed,
    }
    inputs, bounds = _by_name(campaign, tests.inputs), campaign.record.value_range
    return ExportedTests(inputs, tests.labels, facts, tests.kinds, bounds), failures.findings_only


def _kept(folder: Path, campaign: Reopened, changes: Given) -> ExportedTests:
    """The tests that a campaign kept, which are stored as changes of its seeds."""
    inputs = reopen(folder, changes, "seeds").of(InputOptions)
    seeds = load_seeds(inputs.seeds, seed_form(inputs))
    if not campaign.record.digest.startswith(digest_of_all(seeds, "")):
        raise UsageError(f"the seeds of the campaign in {folder} have changed: bring them back")
    kept = read_kept(folder, seeds)
    tests = kept.select((kept.parents != NO_PARENT).nonzero().squeeze(1))
    if not len(tests):
        raise UsageError(f"the campaign in {folder} kept no tests besides its seeds: let it run longer")
    if tests.labels.ndim > 1:
        raise UsageError("the labels of the campaign's seeds are no classes: give --tests failing")
    by_name, bounds = _by_name(campaign, tests.inputs), campaign.record.value_range
    return ExportedTests(by_name, tests.labels, {"roots": tests.roots}, (), bounds)


def _by_name(campaign: Reopened, inputs: Tensor) -> dict[str, Tensor]:
    """Several inputs by their names, the only one as inputs."""
    layout = campaign.record.origin.layout
    if layout is None:
        return {"inputs": inputs}
    if inputs.ndim != 2 or inputs.shape[1] != sum(field.size for field in layout.fields):
        raise OutputRefused(f"tests of shape {list(inputs.shape[1:])} are not those of {CONFIG}: get the folder again")
    return layout.unpacked(inputs)


def _check_out(out: Path, suffix: str, overwrite: bool) -> None:
    """Refuses a place that cannot be written to, or whose content is not to be overwritten."""
    if suffix and out.suffix != suffix:
        raise OutputRefused(f"--out {out}: give a file that ends in {suffix}")
    if not out.parent.is_dir():
        raise OutputRefused(f"--out {out}: its folder does not exist: make {out.parent} first")
    refuse_link(out)
    if not out.exists():
        return
    if not overwrite:
        raise OutputRefused(f"{out} exists and is not overwritten: give another --out, or --overwrite")
    if out.is_dir() == bool(suffix) or not is_exported(out):
        raise OutputRefused(f"{out} holds something else than an export of tests: give another --out")


def _write_folder(out: Path, contents: Mapping[str, bytes]) -> None:
    """Writes beside and renames, so that a folder is there whole or not at all."""
    beside = temporary(out)
    if beside.exists():
        remove(beside)
    for folder in {(beside / name).parent for name in contents}:
        make_folder(folder)
    for name, content in contents.items():
        write_plain(beside / name, content)
    if out.exists():
        remove(out)
    move(beside, out)
