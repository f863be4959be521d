"""A finding run once more, alone."""

from __future__ import annotations

from contextlib import closing, suppress
from dataclasses import dataclass
from pathlib import Path

import torch

from jostle.catalogue import oracles_of
from jostle.errors import OutputRefused, UsageError
from jostle.lineage import Untouched
from jostle.options.schema import Given
from jostle.records import NO_BUG, NO_PARENT, Candidates, Violation
from jostle.session.load import Loaded, load
from jostle.session.reopen import recorded_campaign
from jostle.storage.campaign_record import read_campaign
from jostle.storage.findings import SavedFinding, read_finding, read_record

NOTHING_ELSE = Given({})


@dataclass(frozen=True)
class Replay:
    """What an input shows when it runs again."""

    recorded: str  # the fingerprint of the finding
    shown: tuple[Violation, ...]
    changed: bool  # model, code or seeds are not what they were when it was found

    @property
    def again(self) -> bool:
        return any(violation.fingerprint == self.recorded for violation in self.shown)


def replay(folder: Path, changes: Given = NOTHING_ELSE) -> Replay:
    """Runs the input of a finding in a process of its own, as its campaign did but for these options."""
    whole = folder.resolve()
    campaign = whole.parent.parent
    with suppress(OSError, ValueError):  # which the record tells more plainly
        read_campaign(campaign)
    try:
        record = read_record(whole)
    except (OSError, ValueError) as error:
        reason = getattr(error, "strerror", None) or error
        raise UsageError(
            f"{folder} holds no finding ({reason}): give one of the folders under CAMPAIGN/findings"
        ) from error
    if record.of_gradient:
        raise UsageError(f"{folder} is of a gradient that is not finite, which a run of the model alone does not show")
    reopened = recorded_campaign(campaign)
    chosen = reopened.given.over(**{"trust_model": False, "isolate": True, "force": True, **changes.values})
    with closing(load(chosen)) as loaded:
        changed = loaded.digest != reopened.record.digest or reopened.files_changed()
        return Replay(record.fingerprint, _shown(loaded, read_finding(whole, record)), changed)


def _shown(loaded: Loaded, finding: SavedFinding) -> tuple[Violation, ...]:
    seeds, root = loaded.flight.seeds, finding.record.root
    if not 0 <= root < len(seeds) or finding.input.shape != seeds.inputs.shape[1:]:
        raise OutputRefused(f"{finding.folder} is not of these seeds: move the folder away")
    mutations = (finding.record.mutation,)
    row = Candidates(
        finding.input[None], seeds, torch.tensor([NO_PARENT]), torch.tensor([root]), mutations, Untouched(1)
    )
    trace = loaded.model.target.run(row)
    judges = oracles_of(loaded.settings, loaded.prepared.context()).values()
    verdicts = [judge.judge(row, trace) for judge in judges]
    return tuple(verdict.describe(0) for verdict in verdicts if int(verdict.bugs[0]) != NO_BUG)
