"""`jostle frameworks` as a user runs it: real backends, going on, and one line for what cannot work."""

from __future__ import annotations

import json
import signal
import subprocess
import sys
import time
from pathlib import Path

import numpy as np
import onnx
import pytest
from onnx import TensorProto, helper, numpy_helper
from running import ENVIRONMENT, JOSTLE, PATIENCE
from running import in_this_process as run

from jostle.storage.findings import readable_findings
from soaking import only_in_soak

FEW = ("mlp", "attention", "--backends", "onnxruntime")


def lines_of(folder: Path) -> list[str]:
    return (folder / "journal.jsonl").read_text().splitlines()


@pytest.fixture(scope="module")
def finished(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A campaign over one operator that ONNX Runtime computes in less precision than it should."""
    folder = tmp_path_factory.mktemp("frameworks") / "run"
    done = run("frameworks", "operators", "--operators", "hardshrink,abs,relu", "--backends", "onnxruntime,torch",
               "--executions", "150", "--all", "--out", str(folder), "--json")  # fmt: skip
    assert done.code == 1, done.err
    assert json.loads(done.out)["executions"] == 150
    return folder


@pytest.mark.slow
def test_a_finding_has_a_script_that_fails_while_the_defect_is_there(finished: Path) -> None:
    told = [json.loads(path.read_text()) for path in finished.glob("findings/*/finding.json")]
    assert all(one["reproduced by its script"] for one in told)
    shrink = next(path for path in finished.glob("findings/*hardshrink-values*/reproduce.py"))
    assert len(shrink.read_text().splitlines()) < 40
    assert subprocess.run([sys.executable, str(shrink)], capture_output=True, check=False).returncode == 1
    issue = (shrink.parent / "issue.md").read_text()
    assert "onnxruntime 1." in issue and "import onnxruntime" in issue
    assert "known: Shrink of float64 computes in float32, see docs/findings/" in issue
    reduced = json.loads((shrink.parent / "reduced.json").read_text())
    assert [node["operator"] for node in reduced["nodes"]] == ["hardshrink"]


@pytest.mark.slow
@pytest.mark.parametrize("own", [True, False])
def test_a_known_finding_is_not_told_again(own: bool, finished: Path, tmp_path: Path) -> None:
    known = tmp_path / "known.toml"
    known.write_text('[[known]]\nsignature = "*"\nreason = "all of them"\n')
    shrink = next(finished.glob("findings/*hardshrink-values*/reduced.json"))
    done = run("frameworks", str(shrink), "--backends", "onnxruntime", "--executions", "1",
               *(["--known", str(known)] if own else []), "--out", str(tmp_path / "run"))  # fmt: skip
    assert done.code == 0, done.err
    assert "a finding was met that is known: --all reports it" in done.err


@only_in_soak
def test_the_same_command_goes_on_after_a_kill_and_does_what_an_undisturbed_one_does(tmp_path: Path) -> None:
    command = ("frameworks", *FEW, "--executions", "120", "--seed", "3")
    whole = run(*command, "--out", str(tmp_path / "whole"))
    assert whole.code in (0, 1), whole.err
    process = subprocess.Popen(
        [JOSTLE, *command, "--out", str(tmp_path / "killed")], env=ENVIRONMENT, stderr=subprocess.DEVNULL
    )
    journal = tmp_path / "killed" / "journal.jsonl"
    while not (journal.is_file() and len(journal.read_text().splitlines()) > 3):
        assert process.poll() is None
        time.sleep(0.02)
    process.send_signal(signal.SIGKILL)
    process.wait()
    again = run(*command, "--out", str(tmp_path / "killed"))
    assert "going on after" in again.err
    assert lines_of(tmp_path / "killed") == lines_of(tmp_path / "whole")


@pytest.mark.slow
@pytest.mark.parametrize("sweep", ["auto", "0.5"])
def test_a_campaign_that_goes_on_sweeps_as_an_undisturbed_one_does(sweep: str, tmp_path: Path) -> None:
    """Twice, of which once after its first round, when the share is learnt from what was replayed."""
    command = ("frameworks", "mlp", "--operators", "relu,softmax,sum,cast,hardshrink,linear", "--sweep", sweep,
               "--backends", "onnxruntime", "--all", "--seed", "3")  # fmt: skip
    whole = run(*command, "--executions", "121", "--out", str(tmp_path / "whole"))
    assert whole.code in (0, 1), whole.err
    for executions in ("41", "97", "121"):
        run(*command, "--executions", executions, "--out", str(tmp_path / "parts"))
    assert lines_of(tmp_path / "parts") == lines_of(tmp_path / "whole")
    made = [text for line in lines_of(tmp_path / "whole") for text in json.loads(line)["found by"]]
    assert "sweep" in made


def an_onnx_file(path: Path, operator: str = "Relu") -> Path:
    x = helper.make_tensor_value_info("x", TensorProto.FLOAT, [2, 3])
    y = helper.make_tensor_value_info("y", TensorProto.FLOAT, [2, 4])
    weights = numpy_helper.from_array(np.ones((3, 4), np.float32), "w")
    nodes = [helper.make_node("MatMul", ["x", "w"], ["h"]), helper.make_node(operator, ["h"], ["y"])]
    graph = helper.make_graph(nodes, "graph", [x], [y], [weights])
    onnx.save(helper.make_model(graph, opset_imports=[helper.make_opsetid("", 20)], ir_version=10), str(path))
    return path


@pytest.mark.slow
def test_models_of_ones_own_serve_as_seeds(tmp_path: Path) -> None:
    module = tmp_path / "model.py"
    module.write_text("import torch\n\n\ndef net():\n    return torch.nn.Linear(4, 3), torch.ones(2, 4)\n")
    done = run("frameworks", str(an_onnx_file(tmp_path / "a.onnx")), f"{module}:net", "--backends", "torch",
               "--phase", "predict,train", "--executions", "20", "--out", str(tmp_path / "run"))  # fmt: skip
    assert done.code in (0, 1), done.err
    assert "models to begin from: 2" in done.err


@pytest.mark.slow
def test_another_interpreter_is_a_backend_of_its_own(tmp_path: Path) -> None:
    other = tmp_path / "other-python"  # with the same packages: a mere link would not know its environment
    other.write_text(f'#!/bin/sh\nexec "{sys.executable}" "$@"\n')
    other.chmod(0o755)
    done = run("frameworks", "mlp", "--backends", f"onnxruntime,onnxruntime@{other}", "--executions", "9",
               "--out", str(tmp_path / "run"))  # fmt: skip
    assert done.code == 0, done.err


def wrong(*arguments: str, says: str) -> object:
    return pytest.param(arguments, says, id=says)


@pytest.mark.parametrize(
    ("arguments", "says"),
    [
        wrong("--backends", "onnxruntim", says="did you mean onnxruntime"),
        wrong("--backends", "torch,torch", says="names one twice"),
        wrong("--phase", "predicting", says="did you mean predict"),
        wrong("--operators", "max_pol", says="did you mean max_pool"),
        wrong("--strategy", "greed", says="did you mean greedy"),
        wrong("--order", "deep", says="did you mean depth"),
        wrong("--order", "depth", "--score", "1,2,3", says="leave one of them out"),
        wrong("--score", "1,2", says="three weights"),
        wrong("--sweep", "2", says="give a share from 0 to 1, or auto"),
        wrong("--sweep", "1", "--strategy", "mcmc", says="--sweep 1 edits no model, and --strategy says how"),
        wrong("mlp", "--no-mutation", "--sweep", "0.5", says="without --sweep: leave it out"),
        wrong("--sample", "3", says="--sample is of torch-inductor"),
        wrong("--backends", "onnxruntime", "--phase", "train", says="trains"),
        wrong("--backends", "torch@/no/such/python", says="cannot run a worker"),
        wrong("no-such-model", says="there is no model"),
        wrong("--budget", "soon", says="give a time such as"),
        wrong("--known", "no-such.toml", says="no list of known findings"),
    ],
)
def test_what_cannot_work_is_told_in_one_line(arguments: tuple[str, ...], says: str, tmp_path: Path) -> None:
    done = run("frameworks", *arguments, "--out", str(tmp_path / "run"))
    assert done.code == 4, done.err
    last = done.err.strip().splitlines()[-1]
    assert says in last and last.startswith("jostle: ")
    assert "Traceback" not in done.err
    assert not (tmp_path / "run").exists()


def test_a_file_with_operators_that_have_no_counterpart_is_refused_with_their_names(tmp_path: Path) -> None:
    done = run("frameworks", str(an_onnx_file(tmp_path / "a.onnx", "Hardmax")), "--out", str(tmp_path / "run"))
    assert done.code == 4 and "Hardmax" in done.err


@pytest.mark.parametrize("content", ["", "{}", "[1]", "not json"])
def test_a_description_that_is_none_ends_in_one_line(content: str, tmp_path: Path) -> None:
    (tmp_path / "a.json").write_text(content)
    done = run("frameworks", str(tmp_path / "a.json"), "--out", str(tmp_path / "run"))
    assert done.code == 4 and "a.json" in done.err.splitlines()[-1] and "Traceback" not in done.err


def test_an_empty_folder_of_models_is_refused(tmp_path: Path) -> None:
    done = run("frameworks", str(tmp_path), "--out", str(tmp_path / "run"))
    assert done.code == 4 and "holds no models" in done.err


def test_an_interpreter_that_lacks_what_a_worker_needs_is_refused(tmp_path: Path) -> None:
    bare = tmp_path / "bare-python"
    bare.write_text(f'#!/bin/sh\nexec "{sys.executable}" -S -I "$@"\n')  # without installed packages
    bare.chmod(0o755)
    done = run("frameworks", "--backends", f"torch@{bare}", "--out", str(tmp_path / "run"))
    assert done.code == 4 and "needs Python 3.11 and numpy" in done.err


@pytest.mark.slow
def test_a_kill_leaves_every_finding_with_a_script(tmp_path: Path) -> None:
    folder = tmp_path / "killed"
    command = ("frameworks", "operators", "--operators", "hardshrink,softshrink,relu", "--backends", "onnxruntime",
               "--all", "--executions", "100000", "--out", str(folder))  # fmt: skip
    process = subprocess.Popen([JOSTLE, *command], env=ENVIRONMENT, stderr=subprocess.DEVNULL)

    def found_before(step: int) -> list[Path]:
        """The findings of steps before this one, without those that are just being written."""
        found, _ = readable_findings(folder / "findings")
        return [place for place, record in found if record.step < step]

    def last_step() -> int:
        journal = folder / "journal.jsonl"
        return len(journal.read_text().splitlines()) - 1 if journal.is_file() else 0

    end = time.monotonic() + PATIENCE
    try:
        while not found_before(last_step()):
            assert process.poll() is None and time.monotonic() < end
            time.sleep(0.02)
    finally:
        process.kill()
        process.wait()
    for place in found_before(last_step()):
        assert {"reproduce.py", "issue.md", "reduced.json"} <= {path.name for path in place.iterdir()}
