"""Targets that crash, hang, eat memory or end themselves: all recorded, nothing left behind, the campaign goes on."""

from __future__ import annotations

import json
import os
import subprocess
import sys
import time
from collections.abc import Callable, Iterable, Iterator
from pathlib import Path

import numpy as np
import psutil
import pytest
import torch
from running import ENVIRONMENT, JOSTLE, PATIENCE, Ended

import hostile
import running_hostile
from jostle.cli.terminal import Exit
from jostle.isolation.ahead import MODEL_WORKER, started_ahead
from jostle.isolation.process import Limits
from jostle.session.isolate import isolated
from making import batch_of, options
from running_hostile import Fuzzed
from soaking import times

Run = Callable[..., Ended]
TIMEOUT = 3.0  # seconds
# A signal and too much memory; the other deeds are tried in the soak, and all together below.
TRIED = ("segfault", "memory_at_once")
# Those of which a finding comes that replaying shows again; the others are fuzzed one after another in one process.
ISOLATED = [name for name, one in hostile.MODELS.items() if one.in_process is None and one.isolated]
IMPOLITE = (
    *(
        "keyboard_interrupt",
        "folder",
        "closed_descriptors",
        "few_files",
        "little_files",
        "sparse_output",
        "eval_raises",
    ),
    *("campaign_removed", "default_device"),
)
# Those after which nothing can go on in their process, and the code that it ends with.
SPOILING = {
    **dict.fromkeys(("memory_for_good", "files_for_good", "closed_files", "reporting_replaced"), Exit.OUR_ERROR),
    "function_replaced": Exit.USAGE,
}
BY_ROWS = ("_at_guilty_rows", "_answering")  # what makes functions that misbehave where a row is guilty
UNBEARABLE = 1800  # seconds for all of them; a machine may be busy, and what hangs does so for good


def seeds(folder: Path) -> str:
    """All of them harmless, one of them nearly not."""
    values = np.full((8, 3), 0.2, np.float32) + np.arange(8, dtype=np.float32)[:, None] / 100
    values[5, 0] = 0.8
    np.save(folder / "seeds.npy", values)
    return str(folder / "seeds.npy")


@pytest.fixture(scope="module", autouse=True)
def template() -> Iterator[None]:
    """What workers are forked from, kept for all tests, because importing torch takes longer than any of them."""
    with started_ahead(MODEL_WORKER):
        yield


def left_behind(name: str) -> list[str]:
    """Workers of this process that still run, and grandchildren that only this target has."""
    templates = [child for child in psutil.Process().children() if MODEL_WORKER in " ".join(child.cmdline())]
    workers = [worker.cmdline() for one in templates for worker in one.children(recursive=True)]
    others = [process.info["cmdline"] or [] for process in psutil.process_iter(["cmdline"])]
    return [*map(" ".join, workers)] + [
        line for line in map(" ".join, others) if hostile.MARK in line and name == "grandchild"
    ]


@pytest.mark.slow
@pytest.mark.soak
@pytest.mark.parametrize("again", range(times(1, 20)))
@pytest.mark.parametrize("name", [name for name in ISOLATED if name in TRIED or times(0, 1)])
def test_what_a_hostile_target_does_is_found_and_shown_again(
    name: str, again: int, jostle: Run, tmp_path: Path
) -> None:
    out = tmp_path / "out"
    call = ["fuzz", f"{hostile.__file__}:{name}_model", "--seeds", seeds(tmp_path), "--isolate", "--out", str(out)]
    expected = hostile.MODELS[name].isolated
    patience = TIMEOUT if "Hang" in expected else 30  # others may take long on a busy machine
    limits = ["--timeout", f"{patience:g}s", "--rss-limit", "1500M"]
    course = "--range 0,1 --oracle nan --executions 48 --batch 8 --scheduler uniform --seed 4 --json"
    ended = jostle(*call, *limits, *course.split())
    assert ended.code == Exit.FINDINGS, ended.err
    assert ended.json()["executions"] == 48  # it went on to the end
    found = [json.loads(path.read_text()) for path in out.glob("findings/*/finding.json")]
    assert [one["fingerprint"].startswith(expected) for one in found] == [True], found
    (folder,) = (out / "findings").iterdir()
    assert np.load(folder / "input.npy")[0] > 0.9
    replayed = jostle("replay", str(folder), *limits)
    assert replayed.code == Exit.FINDINGS and replayed.out.startswith("shown again")
    assert not (out / "inflight.bin").exists()
    assert left_behind(name) == []


def came_of(names: Iterable[str], folder: Path, *more: str) -> Iterator[Fuzzed]:
    """What comes of fuzzing models one after another in one process of its own."""
    if not (folder / "seeds.npy").exists():
        seeds(folder)
    program = [sys.executable, running_hostile.__file__, str(folder), ",".join(names), *more]
    path = os.pathsep.join([str(Path(hostile.__file__).parent), *sys.path])
    subprocess.run(program, env={**ENVIRONMENT, "PYTHONPATH": path}, check=True, timeout=times(1, 20) * UNBEARABLE)
    for line in (folder / running_hostile.RESULTS).read_text().splitlines():
        yield Fuzzed(**json.loads(line))


def disappointment(expected: str, came: Fuzzed, executions: int = 48) -> str | None:
    """What is wrong with what came of a model, None if it is as expected."""
    end = {hostile.REFUSED: Exit.USAGE, hostile.ENDED: Exit.OUR_ERROR, "": Exit.CLEAN}.get(expected, Exit.FINDINGS)
    if came.code != end or "Traceback" in came.err:
        return f"{came.name}: exit {came.code} : {came.err}"
    if expected in (hostile.REFUSED, hostile.ENDED):
        lines = [line for line in came.err.splitlines() if line.startswith("jostle: ")]
        return None if len(lines) == 1 else f"{came.name}: {lines}"
    fits = [one.startswith(expected) for one in came.fingerprints] == [True] if expected else not came.fingerprints
    if came.executions != executions or not fits:
        return f"{came.name}: {came.fingerprints} after {came.executions}"
    return None


@pytest.mark.slow
@pytest.mark.soak
def test_in_our_process_each_is_a_finding_or_one_line_and_the_process_stays_usable(tmp_path: Path) -> None:
    expected = {name: one.in_process for name, one in hostile.MODELS.items() if one.in_process is not None}
    names = [name for _ in range(times(1, 20)) for name in expected]
    results = list(came_of(names, tmp_path))
    assert [one.name for one in results] == names
    wrong = [disappointment(str(expected[one.name]), one) for one in results]
    assert [line for line in wrong if line is not None] == []
    changed = {one.name for one in results if "the model changed its process" in one.err}
    assert changed == {
        *("later_alarm", "later_timers", "handlers", "no_streams", "closed_streams", "closed_descriptors", "folder"),
        *("little_memory", "little_files", "few_files", "umask", "modules_removed", "no_finders", "no_hooks"),
        *("default_dtype", "default_device", "modes_of_torch", "threads_of_torch", "autocast"),
    }


@pytest.mark.slow
@pytest.mark.soak
def test_steps_that_overlap_bear_each_as_steps_one_by_one_do(tmp_path: Path) -> None:
    images = np.random.default_rng(0).random((8, 1, 4, 4)).astype(np.float32) * 0.8
    images[5, 0, 0, 0] = 0.8
    np.save(tmp_path / "seeds.npy", images)
    expected = {
        f"{name}_images": str(one.in_process)
        for name, one in hostile.MODELS.items()
        if one.in_process not in (None, hostile.REFUSED, hostile.ENDED) and one.model.__qualname__.startswith(BY_ROWS)
    }
    recipe = "--recipe deephunter --scheduler pool --mutator metamorphic --ranges paper --force --threads 1"
    results = list(came_of(list(expected) * times(1, 20), tmp_path, *recipe.split(), "--executions", "400"))
    wrong = [disappointment(expected[one.name], one, executions=400) for one in results]
    assert len(expected) > 40 and [line for line in wrong if line is not None] == []


@pytest.mark.slow
@pytest.mark.soak
def test_in_a_process_of_its_own_each_is_a_finding_or_a_refusal(tmp_path: Path) -> None:
    expected = {name: one.isolated for name, one in hostile.MODELS.items() if name not in ISOLATED}
    names = [name for _ in range(times(1, 20)) for name in expected if name in IMPOLITE or times(0, 1)]
    results = list(came_of(names, tmp_path, "--isolate", "--timeout", "30s"))
    wrong = [disappointment(expected[one.name], one) for one in results]
    assert [line for line in wrong if line is not None] == []
    assert not any("the model changed its process" in one.err for one in results)  # not ours


@pytest.mark.slow
@pytest.mark.parametrize("name", ["thread", "last_words"])
def test_a_command_ends_as_it_should_whatever_the_model_leaves_behind(name: str, process: Run, tmp_path: Path) -> None:
    call = ["fuzz", f"{hostile.__file__}:{name}_model", "--seeds", seeds(tmp_path), "--out", str(tmp_path / "out")]
    ended = process(*call, *running_hostile.COURSE.split(), "--json")
    assert (ended.code, ended.json()["executions"]) == (Exit.CLEAN, 48)  # within the patience of `process`
    assert "Traceback" not in ended.err


@pytest.mark.slow
@pytest.mark.soak
@pytest.mark.parametrize(("name", "code"), SPOILING.items())
def test_a_process_that_a_model_spoilt_for_good_ends_with_one_line_and_its_code(
    name: str, code: Exit, tmp_path: Path
) -> None:
    call = ["fuzz", f"{hostile.__file__}:{name}_model", "--seeds", seeds(tmp_path), "--out", str(tmp_path / "out")]
    with (tmp_path / "out.txt").open("wb") as out, (tmp_path / "err.txt").open("wb") as err:
        program = [JOSTLE, *call, *running_hostile.COURSE.split()]
        ended = subprocess.run(program, env=ENVIRONMENT, stdout=out, stderr=err, timeout=PATIENCE)
    lines = [line for line in (tmp_path / "err.txt").read_text().splitlines() if line.startswith(("jostle:", "Trace"))]
    assert ended.returncode == code, lines
    # Where nothing can be written any more, the code alone tells.
    assert [
        line for line in lines if not line.endswith(("runs it in a process of its own", "keep it apart with --isolate"))
    ] == []
    assert len(lines) == (name != "files_for_good")


@pytest.mark.slow
@pytest.mark.soak
@pytest.mark.parametrize("again", range(times(1, 20)))
@pytest.mark.parametrize("name", ["hang", "one_byte", "spin", "stop"][: times(2, 4)])
def test_a_target_that_does_not_answer_is_ended_and_not_before_its_time(name: str, again: int) -> None:
    given = options(model=f"{hostile.__file__}:{name}_model", seeds="seeds.npy")
    model, service = isolated(given, torch.zeros(1, 3), Limits(TIMEOUT, 2**40))
    started = time.monotonic()
    trace = model.target.run(batch_of(torch.ones(1, 3)))
    assert time.monotonic() - started >= TIMEOUT
    # A worker that was waited for would have answered, or died of something else: a hang is what was cut short.
    assert [crash.error for crash in trace.crashes.values()] == ["Hang"]
    service.close()
    assert left_behind(name) == []
