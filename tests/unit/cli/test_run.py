"""What is said when a campaign has run."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
import pytest

from jostle.cli.run import run_session as run_and_report
from jostle.cli.terminal import Exit
from jostle.session.assemble import assemble
from jostle.storage.findings import FINDINGS, recorded
from jostle.triage.words import counted
from jostle.zoo import mnist_sample
from making import options, run_session


@pytest.mark.parametrize("seed", [0, 1])
def test_a_run_that_only_finished_findings_says_so(
    seed: int, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    images, labels = mnist_sample()
    np.savez(tmp_path / "digits.npz", x=images[:12].numpy(), y=labels[:12].numpy())
    choices: dict[str, Any] = {"model": "jostle.zoo:lenet1", "seeds": str(tmp_path / "digits.npz"), "sigma": 0.4}
    given = options(**choices, radius=1.0, executions=200, seed=seed, out=str(tmp_path / "out"))
    run_session(assemble(given))  # as if it had been interrupted before findings were finished
    count = len(list(recorded(tmp_path / "out" / FINDINGS)))
    assert run_and_report(lambda progress, say: assemble(given), as_json=False) is Exit.FINDINGS
    said = capsys.readouterr().err
    assert f"finishing {counted(count, 'finding')}: " in said and "nothing more ran" not in said
    assert f"so this run only finished {counted(count, 'finding')} that had been left open" in said
    run_and_report(lambda progress, say: assemble(given), as_json=False)
    again = capsys.readouterr().err
    assert "nothing more ran" in again and "finishing" not in again
