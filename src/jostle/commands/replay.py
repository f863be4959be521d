"""A finding run once more, alone."""

from __future__ import annotations

from collections.abc import Mapping
from contextlib import closing
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

import torch

from jostle.errors import OutputRefused, UsageError
from jostle.inputs.geometry import unmoved
from jostle.records import NO_BUG, NO_PARENT, Candidates, Violation
from jostle.session.load import Loaded, load
from jostle.session.parts import oracles
from jostle.session.reopen import recorded_settings
from jostle.storage.findings import SavedFinding, read_finding, read_record


@dataclass(frozen=True)
class Replay:
    """What an input shows when it runs again."""

    recorded: str  # the fingerprint of the finding
    shown: tuple[Violation, ...]
    changed: bool  # model, code or seeds are not what they were when it was found

    @property
    def again(self) -> bool:
        return any(violation.fingerprint == self.recorded for violation in self.shown)


def replay(folder: Path, changes: Mapping[str, Any]) -> Replay:
    """Runs the input of a finding in a process of its own, as its campaign did but for these settings."""
    whole = folder.resolve()
    campaign = whole.parent.parent
    try:
        record = read_record(whole)
    except (OSError, ValueError) as error:
        reason = getattr(error, "strerror", None) or error
        raise UsageError(
            f"{folder} holds no finding ({reason}): give one of the folders under CAMPAIGN/findings"
        ) from error
    if record.of_gradient:
        raise UsageError(f"{folder} is of a gradient that is not finite, which a run of the model alone does not show")
    settings, begun = recorded_settings(campaign)
    chosen = replace(settings, **{"trust_model": False, "isolate": True, "force": True, **changes})
    with closing(load(chosen)) as loaded:
        changed = loaded.digest != begun.digest or settings.contents() != begun.files
        return Replay(record.fingerprint, _shown(loaded, read_finding(whole, record)), changed)


def _shown(loaded: Loaded, finding: SavedFinding) -> tuple[Violation, ...]:
    seeds, root = loaded.flight.seeds, finding.record.root
    if not 0 <= root < len(seeds) or finding.input.shape != seeds.inputs.shape[1:]:
        raise OutputRefused(f"{finding.folder} is not of these seeds: move the folder away")
    parents, roots, steps = torch.tensor([NO_PARENT]), torch.tensor([root]), (finding.record.mutation,)
    row = Candidates(finding.input[None], seeds, parents, roots, steps, unmoved(1))
    trace = loaded.watched.target.run(row)
    verdicts = [judge.judge(row, trace) for judge in oracles(loaded.settings, bool(loaded.flight.classes))]
    return tuple(verdict.describe(0) for verdict in verdicts if int(verdict.bugs[0]) != NO_BUG)
