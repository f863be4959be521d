"""Sessions as `jostle fuzz` and `jostle frameworks` run them, in folders that are gone afterwards."""

from __future__ import annotations

import tempfile
import time
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

from jostle.composition.settle import FUZZ
from jostle.frameworks.campaign.options import FRAMEWORKS, settled
from jostle.session import assemble, assemble_frameworks
from jostle.session.session import Session

LENET5 = {"model": "jostle.zoo:lenet5", "seeds": "jostle.zoo:mnist_sample"}


@contextmanager
def fuzz_session(**options: Any) -> Iterator[Session]:
    """A session of `jostle fuzz` with these options, of LeNet-5 and digits unless they say otherwise."""
    with tempfile.TemporaryDirectory() as folder:
        out = str(Path(folder) / "campaign")
        session = assemble.assemble(FUZZ.parsed({**LENET5, "out": out, **options}))
        try:
            yield session
        finally:
            session.release()


def fuzz_rate(**options: Any) -> float:
    """Executions per second of a campaign of `jostle fuzz`, until all that came of it is written to disk."""
    with fuzz_session(**options) as session:
        started = time.perf_counter()
        summary = session.search()
        session.archive.wait()
        return summary.executions / (time.perf_counter() - started)


@contextmanager
def frameworks_session(**options: Any) -> Iterator[Session]:
    """A session of `jostle frameworks` with these options."""
    with tempfile.TemporaryDirectory() as folder:
        given = FRAMEWORKS.parsed({"out": str(Path(folder) / "campaign"), **options})
        session = assemble_frameworks.assemble(settled(given))
        try:
            yield session
        finally:
            session.release()
