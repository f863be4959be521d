"""What docs/python.md shows runs as shown, one block after another."""

from __future__ import annotations

import re
from pathlib import Path
from typing import Any

import pytest

import jostle
from jostle.catalogue import CRITERIA, MUTATORS, ORACLES, SCHEDULERS

DOCS = Path(__file__).parents[2] / "docs"
PAGE = (DOCS / "python.md").read_text(encoding="utf-8")
BLOCKS = re.findall(r"^```python\n(.*?)^```", PAGE, re.MULTILINE | re.DOTALL)
PRINTED = (
    "<Result: 4 defects in 3,000 inputs>",
    " taken for ",
    "(1, 28, 28) ['name', 'kind', 'title'",
    "Figure report.html",
    "['agree",
    "['kmnc', 'nc']",
    "True still there",
    "1500",
)


@pytest.mark.slow
@pytest.mark.filterwarnings("ignore::jostle.errors.JostleWarning")
def test_the_blocks_run_one_after_another(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.chdir(tmp_path)
    names: dict[str, Any] = {}
    for block in BLOCKS:
        exec(compile(block, "python.md", "exec"), names)
    printed = capsys.readouterr().out
    assert all(words in printed for words in PRINTED), printed


def test_what_it_names_is_there() -> None:
    assert {"fuzz", "compare", "coverage", "replay"} <= {*jostle.__all__}
    links = re.findall(r"\]\(([^)]+)\)", PAGE)
    assert len(links) > 5 and all((DOCS / link).exists() for link in links)
    groups = {parts._group for parts in (MUTATORS, CRITERIA, ORACLES, SCHEDULERS)}
    assert groups <= {*re.findall(r"`(jostle\.\w+)`", PAGE)}
