"""Workers as actors of Ray: the one place that knows it."""

from __future__ import annotations

import importlib.util
import logging
import os
import signal
import socket
import threading
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from typing import Any

from jostle.errors import UsageError
from jostle.scale.cluster import WorkerLost

MISSING = "--workers and --ray-address need Ray, which is not installed: pip install 'jostle[ray]'"
LOOPBACK = "127.0.0.1"
PATIENCE = 10.0  # seconds in which a cluster must answer
PARTS = 10_000  # of a processor, the smallest that Ray deals out
CLIENT = "ray://"  # begins the address of a cluster that this machine is no part of
# Ray sends its makers nothing.
QUIET = {"RAY_USAGE_STATS_ENABLED": "0", "RAY_ACCEL_ENV_VAR_OVERRIDE_ON_ZERO": "0"}
AUTHENTICATED = {"RAY_AUTH_MODE": "token"}  # who has not the user's own token may not even speak with Ray here


def refuse_without_ray() -> None:
    if importlib.util.find_spec("ray") is None:
        raise UsageError(MISSING)


class RayWorker:
    """One actor; its calls are answered in their order."""

    def __init__(self, actor: Any):
        self._actor = actor

    def call(self, method: str, content: bytes, *shared: Any) -> Any:
        return getattr(self._actor, method).remote(content, *shared)


class RayCluster:
    """Ray on this machine alone, reachable from nowhere else, or a cluster that is there already."""

    def __init__(self, member: Callable[[int], Any], workers: int, address: str | None):
        """`member` makes a worker of its number, in the worker's own process; it must be importable there."""
        self._member = member
        if address is None:
            _start_here()
        else:
            _connect(address)
        import ray

        self.processors = int(ray.cluster_resources().get("CPU", 0))
        self._share = min(1.0, int(PARTS * self.processors / workers) / PARTS)  # of one processor

    def start(self, number: int) -> RayWorker:
        import ray

        actor = ray.remote(self._member)
        return RayWorker(actor.options(num_cpus=self._share, max_restarts=0).remote(number))

    def share(self, content: bytes) -> Any:
        import ray

        return ray.put(content)

    def first_ready(self, calls: Sequence[Any], seconds: float) -> list[Any]:
        import ray

        ready, _ = ray.wait(list(calls), num_returns=len(calls), timeout=0, fetch_local=False)
        if not ready:
            ready, _ = ray.wait(list(calls), num_returns=1, timeout=seconds, fetch_local=False)
        return list(ready)

    def answer(self, call: Any) -> bytes:
        import ray

        try:
            answer: bytes = ray.get(call)
        except ray.exceptions.RayTaskError as error:
            raise error.as_instanceof_cause() from None
        except ray.exceptions.RayError as error:
            raise WorkerLost(_reason(error)) from error
        return answer

    def close(self) -> None:
        import ray

        ray.shutdown()


def _reason(error: Exception) -> str:
    """Why a worker is gone, in one line: what Ray says first, and what it says last, which may be a cause."""
    lines = [line.strip() for line in str(error).splitlines() if line.strip()] or [type(error).__name__]
    return lines[0] if len(lines) == 1 else f"{lines[0]} {lines[-1]}"


def _start_here() -> None:
    for name, value in AUTHENTICATED.items():
        os.environ.setdefault(name, value)
    import ray

    with _handlers_kept():
        ray.init(
            address="local",
            num_gpus=0,
            include_dashboard=False,
            dashboard_host=LOOPBACK,
            _node_ip_address=LOOPBACK,
            **_silent(),
        )


def _connect(address: str) -> None:
    """Takes part in a cluster; one that does not answer is told after some seconds."""
    import ray

    failed: list[Exception] = []

    def connect() -> None:
        try:
            ray.init(address=address, **_silent())
        except (OSError, RuntimeError, ValueError, TypeError, AssertionError) as error:  # what Ray raises of addresses
            failed.append(error)

    _refuse_silence(address)
    with _handlers_kept():
        thread = threading.Thread(target=connect, daemon=True)
        thread.start()
        thread.join(PATIENCE)
    if failed:
        first, _, _ = str(failed[0]).strip().partition("\n")
        raise UsageError(f"--ray-address {address}: {first or type(failed[0]).__name__}: check the cluster")
    if thread.is_alive():
        raise UsageError(f"--ray-address {address}: no cluster of Ray answers there: check address and port")


def _refuse_silence(address: str) -> None:
    """Refuses an address at which nobody listens."""
    host, _, port = address.removeprefix(CLIENT).rpartition(":")
    if address == "auto":
        return
    if not host or not port.isdecimal():
        raise UsageError(f"--ray-address {address}: give HOST:PORT, ray://HOST:PORT or auto")
    try:
        socket.create_connection((host, int(port)), timeout=PATIENCE / 2).close()
    except (OSError, OverflowError) as error:
        raise UsageError(f"--ray-address {address}: nobody answers there ({error}): check address and port") from error


def _silent() -> dict[str, Any]:
    """What keeps Ray from speaking between our lines."""
    for name, value in QUIET.items():
        os.environ.setdefault(name, value)
    return {"log_to_driver": False, "configure_logging": False, "logging_level": logging.ERROR}


@contextmanager
def _handlers_kept() -> Iterator[None]:
    """Ray puts handlers of its own in the place of ours."""
    numbers = (signal.SIGINT, signal.SIGTERM)
    before = {number: signal.getsignal(number) for number in numbers}
    try:
        yield
    finally:
        if threading.current_thread() is threading.main_thread():
            for number, handler in before.items():
                signal.signal(number, handler)
