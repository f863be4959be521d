"""Workers whose libraries are imported before anybody asks for them."""

from __future__ import annotations

import signal
import sys
import time
from pathlib import Path

import psutil
import pytest

from jostle.isolation import ahead
from jostle.isolation.ahead import MODEL_WORKER, acquired, released, started_ahead
from jostle.isolation.client import WorkerClient
from jostle.isolation.process import Limits
from jostle.session.isolate import isolated
from jostle.zoo import mnist_sample
from making import options

LIMITS = Limits(60, 2**40)
PATIENCE = 60.0  # seconds


def test_what_was_started_ahead_and_nobody_used_is_ended() -> None:
    with pytest.raises(ZeroDivisionError), started_ahead("json.tool"):
        started = [child for child in psutil.Process().children() if child.is_running()]
        raise ZeroDivisionError
    assert started and not any(child.is_running() for child in started)
    assert not ahead._sources


def test_clients_of_one_module_share_their_source_and_the_last_closes_it() -> None:
    with started_ahead("json.tool"):
        first, second, other = (WorkerClient(module, LIMITS) for module in ("json.tool", "json.tool", "tokenize"))
        assert first._source is second._source is not other._source
        assert len({client.folder for client in (first, second, other)}) == 3
        other.close()
        first.close()
        assert [module for _, module in ahead._sources] == ["json.tool"]
        second.close()
    assert not ahead._sources


@pytest.mark.skipif(sys.platform != "linux", reason="workers are forked from a template on Linux only")
def test_a_template_that_was_killed_is_replaced() -> None:
    source = acquired("json.tool")
    assert source._template is not None
    killed = source._template
    killed._process.end()
    assert killed.code("any") == -9
    new = source.new(LIMITS)
    assert source._template is not killed and Path(new.folder).is_dir()
    new.worker.kill()
    released(source)


@pytest.mark.skipif(sys.platform != "linux", reason="workers are forked from a template on Linux only")
@pytest.mark.parametrize("moment", ["before it forks", "before a worker ended", "before it is closed"])
def test_a_template_that_was_stopped_goes_on(moment: str) -> None:
    """A worker can do that, and would be the last one."""
    source = acquired("json.tool")
    assert source._template is not None
    worker = source.new(LIMITS).worker  # ends at once, as json.tool does where nobody gives it JSON
    while worker.pid is None:
        time.sleep(0.01)
    template = psutil.Process(source._template._process.pid)
    template.send_signal(signal.SIGSTOP)
    if moment == "before a worker ended":
        assert worker._process.wait(PATIENCE) is not None
    elif moment == "before it forks":
        assert source.new(LIMITS).worker._process.wait(PATIENCE) is not None
    released(source)
    assert not template.is_running()


@pytest.mark.slow
def test_a_worker_that_was_started_ahead_runs_the_model() -> None:
    digits = mnist_sample()[0][:4]
    with started_ahead(MODEL_WORKER):
        model, service = isolated(options(model="jostle.zoo:lenet1", seeds="jostle.zoo:mnist_sample"), digits, LIMITS)
        assert service._worker is not None and service._source.users == 2
        assert model.target.predict(digits).shape == (4, 10)
        service.close()


@pytest.mark.slow
def test_a_worker_works_where_its_client_does_wherever_libraries_were_imported(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    (tmp_path / "net.py").write_text("def net(x):\n    return x.flatten(1)\n")
    with started_ahead(MODEL_WORKER):
        monkeypatch.chdir(tmp_path)
        _, service = isolated(options(model="net.py:net", seeds="jostle.zoo:mnist_sample"), mnist_sample()[0], LIMITS)
        service.close()
