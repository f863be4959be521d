"""A target in a process of its own."""

from __future__ import annotations

import json
import os
import signal
import socket
import threading
import time
from collections.abc import Iterator
from contextlib import suppress
from pathlib import Path

import psutil
import pytest
import torch

import hostile
from jostle.composition.compose import watching
from jostle.errors import JostleError, ModelRefused, PreflightFailed, UsageError
from jostle.foreign import Crash
from jostle.isolation.client import IN_FLIGHT, SPARES, ArrayWorker, WorkerClient, _crash_of
from jostle.isolation.orphans import PREFIX, TAG, clean_up, new_folder
from jostle.isolation.process import END, Limits
from jostle.isolation.shared_arrays import SharedArrays
from jostle.options.schema import Given
from jostle.recipes.all_recipes import recipe_of
from jostle.records import MODEL, Outcome
from jostle.session.isolate import PATIENCE, is_file, isolated, limits_of
from jostle.subjects.instrument import Instrumented
from jostle.subjects.models import load_models
from jostle.zoo import mnist_sample
from making import batch_of, options

pytestmark = pytest.mark.slow  # a process takes seconds to start
GENEROUS = Limits(60, 2**40)
LENET = options(model="jostle.zoo:lenet1", seeds="jostle.zoo:mnist_sample", recipe="dlfuzz")
DIGITS = mnist_sample()[0][:6]


@pytest.fixture(scope="module")
def lenet() -> Iterator[tuple[Instrumented, WorkerClient]]:
    watched, service = isolated(LENET, DIGITS, GENEROUS)
    yield watched, service
    service.close()


def hostile_options(name: str) -> Given:
    return options(model=f"{hostile.__file__}:{name}_model", seeds="seeds.npy")


def worker_pids(service: WorkerClient) -> list[int]:
    """The one at work and the spares, as far as they are there."""
    return [one.worker.pid for one in (service._worker, *service._spares) if one is not None and one.worker.pid]


def test_it_gives_what_the_same_target_gives_in_this_process(lenet: tuple[Instrumented, WorkerClient]) -> None:
    here, apart = load_models(LENET).instrumented(watching(recipe_of(LENET), LENET), DIGITS), lenet[0]
    batch = batch_of(DIGITS, torch.arange(6))
    ours, theirs = here.target.run(batch), apart.target.run(batch)
    for name in ("outputs", "activations", "extremes"):
        mine, other = getattr(ours, name), getattr(theirs, name)
        assert list(mine) == list(other) and all(torch.equal(mine[key], other[key]) for key in mine)
    assert torch.equal(here.target.predict(DIGITS), apart.target.predict(DIGITS))
    assert here.layers == apart.layers and here.digest == apart.digest
    assert json.loads(json.dumps(here.belongs_to)) == apart.belongs_to
    assert all(torch.equal(here.incoming[name], apart.incoming[name]) for name in here.incoming)
    assert not apart.target.run(batch, watched=False).activations


def test_it_gives_the_same_gradients_however_often_the_worker_was_asked(
    lenet: tuple[Instrumented, WorkerClient],
) -> None:
    here, apart = load_models(LENET).instrumented(watching(recipe_of(LENET), LENET), DIGITS), lenet[0]
    passed, expected = (watched.gradients.linearise(DIGITS, True) for watched in (apart, here))
    later = lenet[0].gradients.linearise(DIGITS[:2])
    weights = {MODEL: torch.randn(6, 10)}
    neurons = {name: torch.ones_like(value) for name, value in passed.activations.items()}
    gradient = passed.pull(weights, neurons)
    assert torch.equal(gradient, expected.pull(weights, neurons))
    assert passed.trace is not None and expected.trace is not None and passed.trace.seconds[MODEL] > 0
    for name in ("outputs", "activations", "extremes"):
        mine, other = getattr(passed.trace, name), getattr(expected.trace, name)
        assert mine.keys() == other.keys() and all(torch.equal(mine[key], other[key]) for key in mine)
    assert later.pull({MODEL: torch.ones(2, 10)}, {}).shape == (2, 1, 28, 28)


def test_the_batch_is_in_the_folder_before_it_runs(tmp_path: Path) -> None:
    watched, service = isolated(hostile_options("abort"), torch.zeros(1, 3), GENEROUS)
    service.keep_batches_in(tmp_path)
    killer = torch.tensor([[1.0, 0.25, 0.5]])
    watched.target.run(batch_of(killer))
    assert torch.equal(SharedArrays(tmp_path / IN_FLIGHT).get()["inputs"], killer)
    service.close()
    assert not list(tmp_path.iterdir())


def test_the_guilty_row_of_a_batch_is_found_and_the_others_run(tmp_path: Path) -> None:
    watched, service = isolated(hostile_options("exit_0"), torch.zeros(1, 3), GENEROUS)
    inputs = torch.zeros(7, 3)
    inputs[4, 0] = 1
    trace = watched.target.run(batch_of(inputs))
    assert trace.outcome.tolist() == [Outcome.OK] * 4 + [Outcome.CRASHED] + [Outcome.OK] * 2
    crash = trace.crashes[4]
    assert crash.fatal and crash.error == "Exit 0"
    service.close()


def test_a_batch_that_kills_again_and_again_is_not_searched_without_end() -> None:
    watched, service = isolated(hostile_options("exit_0"), torch.zeros(1, 3), GENEROUS)
    trace = watched.target.run(batch_of(torch.ones(6, 3)))
    assert trace.outcome.tolist() == [Outcome.CRASHED] * 2 + [Outcome.SKIPPED] * 4
    assert sorted(trace.crashes) == [0, 1]
    service.close()


def test_a_worker_killed_by_somebody_else_is_replaced_and_nothing_else_changes(
    lenet: tuple[Instrumented, WorkerClient],
) -> None:
    undisturbed = lenet[0].target.run(batch_of(DIGITS))
    before = worker_pids(lenet[1])[0]
    os.kill(before, signal.SIGKILL)
    trace = lenet[0].target.run(batch_of(DIGITS))
    assert not trace.crashes and trace.ran.all() and torch.equal(trace.outputs[MODEL], undisturbed.outputs[MODEL])
    assert before not in worker_pids(lenet[1])


def test_a_worker_and_all_its_spares_killed_at_once_are_replaced(lenet: tuple[Instrumented, WorkerClient]) -> None:
    """As they are where somebody kills what they were forked from."""
    watched, service = lenet
    os.kill(worker_pids(service)[0], signal.SIGKILL)
    expected = watched.target.predict(DIGITS)
    assert len(service._spares) == SPARES
    while not all(map(has_answered, service._spares)):
        time.sleep(0.01)
    for pid in worker_pids(service):
        os.kill(pid, signal.SIGKILL)
    assert torch.equal(watched.target.predict(DIGITS), expected)


def has_answered(spare: ArrayWorker) -> bool:
    """Whether what it was asked when it started is answered, though nobody has read that yet."""
    with suppress(BlockingIOError):
        sent = spare.worker._connection.recv(2**20, socket.MSG_PEEK | socket.MSG_DONTWAIT)
        return sent.count(END) == spare.unanswered
    return False


def test_workers_killed_while_they_start_are_replaced_too(lenet: tuple[Instrumented, WorkerClient]) -> None:
    def kill_all() -> None:
        for worker in worker_pids(lenet[1]):
            with suppress(ProcessLookupError):
                os.kill(worker, signal.SIGKILL)

    for _ in range(2):
        kill_all()
        killer = threading.Timer(0.7, kill_all)
        killer.start()
        assert lenet[0].target.run(batch_of(DIGITS)).ran.all()
        killer.join()


def test_a_model_that_ends_the_process_that_loads_it_is_refused(tmp_path: Path) -> None:
    (tmp_path / "ends.py").write_text("import os\nos._exit(0)\n")
    with pytest.raises(ModelRefused, match=r"ends the process that loads it \(Exit 0"):
        isolated(options(model=f"{tmp_path}/ends.py:model", seeds="x.npy"), torch.zeros(1, 3), GENEROUS)


def test_seeds_that_all_end_the_process_are_refused() -> None:
    with pytest.raises(PreflightFailed, match=r"ends its process on the first seeds \(Exit 0"):
        isolated(hostile_options("exit_0"), torch.ones(2, 3), GENEROUS)


def test_a_seed_that_ends_the_process_is_passed_over_when_layers_are_sought() -> None:
    watched, service = isolated(hostile_options("exit_0"), torch.tensor([[1.0, 0, 0], [0, 0, 0]]), GENEROUS)
    assert watched.target.predict(torch.zeros(2, 3)).shape == (2, 3)
    service.close()


@pytest.mark.parametrize("told", [{}, {"error": [1]}, {"fatal": "yes"}, {"more": 1}, {"where": None}])
def test_a_crash_that_is_told_otherwise_than_crashes_are_is_none(told: dict[str, object]) -> None:
    sound = {"error": "E", "message": "", "where": "a:b", "traceback": "", "fatal": False, "twin": "", "denied": False}
    if told:
        with pytest.raises(TypeError):
            _crash_of({**sound, **told})
    else:
        assert _crash_of(sound) == Crash("E", "", "a:b", "")


def test_what_a_worker_refuses_is_refused_here_in_the_same_words() -> None:
    with pytest.raises(UsageError, match="--layers 'conw1' matches no layer; nearest names: conv1"):
        isolated(options(model="jostle.zoo:lenet1", seeds="x.npy", layers=["conw1"]), DIGITS, GENEROUS)


def test_a_model_that_is_gone_when_the_worker_starts_again_is_told(tmp_path: Path) -> None:
    (tmp_path / "model.py").write_text("import os\ndef model(x):\n    return os._exit(1) if x.max() > 0.9 else x\n")
    watched, service = isolated(options(model=f"{tmp_path}/model.py:model", seeds="x.npy"), torch.zeros(1, 3), GENEROUS)
    (tmp_path / "model.py").unlink()
    watched.target.run(batch_of(torch.ones(1, 3)))
    with pytest.raises(JostleError, match="does not exist"):
        watched.target.run(batch_of(torch.zeros(1, 3)))
    service.close()


def test_files_get_a_process_of_their_own_and_python_only_on_request() -> None:
    assert limits_of(LENET) is None
    for files in ({"model": "m.pt2"}, {"twin": "m.pt2"}, {"models": ("m.pt2",)}):
        limits = limits_of(options(**{"model": "m.py:f", "seeds": "x", **files}))
        assert limits is not None and limits.seconds == PATIENCE
    assert limits_of(options(model="m.pt2", seeds="x", isolate=False)) is None
    assert limits_of(options(model="m.py:f", seeds="x", isolate=True, timeout=2, rss_limit=7)) == Limits(2, 7)
    with pytest.raises(UsageError, match="--rss-limit needs --isolate"):
        limits_of(options(model="m.py:f", seeds="x", rss_limit=7))


@pytest.mark.parametrize("name", ["m.py:f", "package.module:f", "int8", "float16", "weights16", "weights16:50%"])
def test_a_twin_made_of_the_model_is_no_file(name: str) -> None:
    assert not is_file(name)


def test_what_a_killed_campaign_left_is_cleaned_up_and_what_runs_is_left_alone(tmp_path: Path) -> None:
    kept, orphan = new_folder(), new_folder()
    orphan = orphan.rename(orphan.with_name(f"{PREFIX}{2**22 + 1}-left"))  # of a process number that none can have
    sleeping = psutil.Popen(["sleep", "600"], env={**os.environ, TAG: f"{2**22 + 1}-left"})
    ours = psutil.Popen(["sleep", "600"], env={**os.environ, TAG: f"{os.getpid()}-mine"})
    clean_up()
    assert sleeping.wait(GENEROUS.seconds) == -signal.SIGKILL and ours.is_running()
    assert kept.exists() and not orphan.exists()
    ours.kill()
    ours.wait()
    kept.rmdir()
