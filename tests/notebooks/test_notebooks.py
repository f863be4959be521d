"""The notebooks run from top to bottom, and are kept without what they print."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import nbformat
import pytest
from jupyter_client.manager import start_new_kernel
from nbclient import NotebookClient

NOTEBOOKS = Path(__file__).parents[2] / "examples" / "notebooks"
NAMES = ("model_to_report", "own_criterion", "twin_before_release")
PATIENCE = 600  # seconds for one cell, on a busy machine
every_notebook = pytest.mark.parametrize("name", NAMES)


def read(name: str) -> Any:
    return nbformat.read(NOTEBOOKS / f"{name}.ipynb", as_version=4)


def text_of(cell: Any) -> str:
    """All that a cell printed or gave back."""
    given = [one.get("text", "") or one.get("data", {}).get("text/plain", "") for one in cell.outputs]
    return "\n".join(map(str, given))


@pytest.fixture
def home(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """Where kernels keep their history and notebooks what they write."""
    for name in ("IPYTHONDIR", "JUPYTER_CONFIG_DIR", "JUPYTER_DATA_DIR", "JUPYTER_RUNTIME_DIR"):
        monkeypatch.setenv(name, str(tmp_path / name))
    monkeypatch.setenv("TMPDIR", str(tmp_path))
    monkeypatch.setenv("OMP_NUM_THREADS", "1")
    return tmp_path


def test_these_are_all() -> None:
    assert {path.stem for path in NOTEBOOKS.glob("*")} == {*NAMES}


@every_notebook
def test_outputs_are_stripped_and_nothing_was_counted(name: str) -> None:
    book = read(name)
    nbformat.validate(book)
    code = [cell for cell in book.cells if cell.cell_type == "code"]
    assert code and all(cell.outputs == [] and cell.execution_count is None for cell in code)
    assert book.metadata.keys() == {"kernelspec", "language_info"} and book.metadata.kernelspec.name == "python3"


@every_notebook
def test_text_teaches_before_code_runs_and_only_public_names_are_used(name: str) -> None:
    book = read(name)
    assert book.cells[0].cell_type == "markdown" and book.cells[0].source.startswith("# ")
    assert sum(cell.cell_type == "markdown" for cell in book.cells) >= 4
    code = "\n".join(cell.source for cell in book.cells if cell.cell_type == "code")
    imported = [line for line in code.splitlines() if line.startswith(("import jostle", "from jostle"))]
    assert {line.split()[1] for line in imported} <= {"jostle", "jostle.zoo", "jostle.errors"}
    assert "._" not in code.replace("self._", "")


@pytest.mark.slow
@every_notebook
def test_it_runs_from_top_to_bottom(name: str, home: Path) -> None:
    book = read(name)
    NotebookClient(book, timeout=PATIENCE, kernel_name="python3", resources={"metadata": {"path": str(home)}}).execute()
    code = [cell for cell in book.cells if cell.cell_type == "code"]
    figures = [one for cell in code for one in cell.outputs if "application/vnd.plotly.v1+json" in one.get("data", {})]
    printed = "\n".join(map(text_of, code))
    told = {
        "model_to_report": ("flip: ", "defects", "True", "'nc': {'covered': 0."),
        "own_criterion": ("less sure (ours)", "median", "against random (control)", "the spans "),
        "twin_before_release": ("5 defects · agree: the model says", "defects in 2,000 inputs", "5 bits"),
    }
    assert all(words in printed for words in told[name]), printed
    assert len(figures) == {"model_to_report": 3, "own_criterion": 0, "twin_before_release": 1}[name]


@pytest.mark.slow
def test_a_line_below_the_cell_moves_and_is_taken_away(home: Path) -> None:
    script = """
import jostle
from jostle.zoo import lenet1, mnist_sample
done = jostle.fuzz(lenet1(), *mnist_sample(), executions=1500, confirm=False)
"""
    manager, client = start_new_kernel(kernel_name="python3")
    messages: list[dict[str, Any]] = []
    try:
        reply = client.execute_interactive(script, timeout=PATIENCE, output_hook=messages.append)
    finally:
        client.stop_channels()
        manager.shutdown_kernel(now=True)
    assert reply["content"]["status"] == "ok"
    shown = [one for one in messages if one["msg_type"] in ("display_data", "update_display_data")]
    texts = [one["content"]["data"]["text/plain"] for one in shown]
    assert [one["msg_type"] for one in shown[:2]] == ["display_data", "update_display_data"]
    assert len({one["content"]["transient"]["display_id"] for one in shown}) == 1
    assert any("%  " in text and " inputs, " in text and "finding" in text for text in texts)
    assert texts[0] == texts[-1] == ""
    assert not [one for one in messages if one["msg_type"] in ("stream", "error")]
