"""Workers that are started before anybody asks for them."""

from __future__ import annotations

import psutil
import pytest

from jostle.isolation.ahead import MODEL_WORKER, started_ahead, taken
from jostle.isolation.client import WorkerClient
from jostle.isolation.orphans import new_name
from jostle.isolation.process import Limits
from jostle.session.isolate import isolated
from jostle.zoo import mnist_sample
from making import options

LIMITS = Limits(60, 2**40)


def test_a_worker_that_nobody_takes_is_ended_and_leaves_no_folder() -> None:
    with started_ahead("json.tool"):
        ahead = taken("json.tool", LIMITS)
        assert ahead is not None and ahead.folder.is_dir() and ahead.worker.limits == LIMITS
        ahead.worker.kill()
    with pytest.raises(ZeroDivisionError), started_ahead("json.tool"):
        started = [child for child in psutil.Process().children() if child.is_running()]
        raise ZeroDivisionError
    assert started and not any(child.is_running() for child in started)
    assert taken("json.tool", LIMITS) is None


def test_a_client_takes_the_worker_of_its_module_only_and_only_one_client_does() -> None:
    with started_ahead("json.tool"):
        other = WorkerClient(f"no.module.{new_name()}", LIMITS)
        first, second = WorkerClient("json.tool", LIMITS), WorkerClient("json.tool", LIMITS)
        assert (other._spare, second._spare) == (None, None) and first._spare is not None
        assert first.folder != second.folder
        for client in (other, first, second):
            client.close()


@pytest.mark.slow
def test_a_worker_that_was_started_ahead_runs_the_model() -> None:
    digits = mnist_sample()[0][:4]
    with started_ahead(MODEL_WORKER):
        model, service = isolated(options(model="jostle.zoo:lenet1", seeds="jostle.zoo:mnist_sample"), digits, LIMITS)
        assert service._worker is not None and service._spare is None  # it was the only one
        assert model.target.predict(digits).shape == (4, 10)
        service.close()
