"""Workers as actors of Ray: the one place that knows it."""

from __future__ import annotations

import importlib.util
import logging
import os
import re
import secrets
import signal
import socket
import subprocess
import sys
import threading
import time
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager, suppress
from typing import Any

from jostle.errors import JostleError, UsageError
from jostle.scale.cluster import WorkerLost

MISSING = "--workers and --ray-address need Ray, which is not installed: pip install 'jostle[ray]'"
PATIENCE = 10.0  # seconds in which a cluster must answer
COLOURS = re.compile(r"\x1b\[[0-9;]*m")  # in what Ray says
PARTS = 10_000  # of a processor, the smallest that Ray deals out
OF_RAY = (OSError, RuntimeError, ValueError, TypeError, AssertionError)  # besides its own, what it raises to begin with
# What a process runs that looks whether a cluster answers.
ASKING = "import sys, ray; print(flush=True); ray.init(address=sys.argv[1], log_to_driver=False)"
PIPES: dict[str, Any] = {"stdout": subprocess.PIPE, "stderr": subprocess.PIPE, "text": True}
CLIENT = "ray://"  # begins the address of a cluster that this machine is no part of
# Ray sends its makers nothing, and leaves processors of graphics to those that have them.
QUIET = {"RAY_USAGE_STATS_ENABLED": "0", "RAY_ACCEL_ENV_VAR_OVERRIDE_ON_ZERO": "0"}


def refuse_without_ray() -> None:
    if importlib.util.find_spec("ray") is None:
        raise UsageError(MISSING)


class RayWorker:
    """One actor; its calls are answered in their order."""

    def __init__(self, actor: Any):
        self._actor = actor

    def call(self, method: str, content: bytes, *shared: Any) -> Any:
        with _cluster_there():
            return getattr(self._actor, method).remote(content, *shared)

    def end(self) -> None:
        import ray

        with suppress(ray.exceptions.RayError):
            ray.kill(self._actor)


class RayCluster:
    """Ray on this machine alone, with which nobody else can speak, or a cluster that is there already."""

    def __init__(self, member: Callable[[int], Any], workers: int, address: str | None):
        """`member` makes a worker of its number, in the worker's own process; it must be importable there."""
        self._member = member
        if address is None:
            _start_here()
        else:
            _connect(address)
        import ray

        of_machines = [machine["Resources"].get("CPU", 0.0) for machine in ray.nodes() if machine["Alive"]]
        self.processors = int(sum(of_machines))
        self._share = processors_each(of_machines, workers)
        self.free = int(ray.available_resources().get("CPU", 0.0) / self._share) if self._share else workers  # places

    def start(self, number: int) -> RayWorker:
        import ray

        actor = ray.remote(self._member).options(num_cpus=self._share, max_restarts=0, scheduling_strategy="SPREAD")
        with _cluster_there():
            return RayWorker(actor.remote(number))

    def share(self, content: bytes) -> Any:
        import ray

        with _cluster_there():
            return ray.put(content)

    def first_ready(self, calls: Sequence[Any], seconds: float) -> list[Any]:
        import ray

        with _cluster_there():
            ready, _ = ray.wait(list(calls), num_returns=len(calls), timeout=0, fetch_local=False)
            if not ready:
                ready, _ = ray.wait(list(calls), num_returns=1, timeout=seconds, fetch_local=False)
        return list(ready)

    def answer(self, call: Any) -> bytes:
        import ray

        try:
            answer: bytes = ray.get(call)
        except ray.exceptions.RayError as error:
            raise WorkerLost(_reason(error)) from error
        return answer

    def close(self) -> None:
        import ray

        ray.shutdown()


def processors_each(of_machines: Sequence[float], workers: int) -> float:
    """The largest share of a processor, up to one, of which the machines have as many as there are workers."""
    shares = {min(1.0, processors / places) for processors in set(of_machines) for places in range(1, workers + 1)}
    for share in sorted((int(PARTS * one) / PARTS for one in shares), reverse=True):
        if share and sum(int(processors / share) for processors in of_machines) >= workers:
            return share
    return 0.0


@contextmanager
def _cluster_there() -> Iterator[None]:
    """One line in place of what Ray raises when a cluster is gone, or has no room for what it is given."""
    import ray

    try:
        yield
    except (*OF_RAY, ray.exceptions.RayError) as error:
        raise JostleError(
            f"the cluster of Ray fails ({_reason(error)}): what was found is safe, and the same command goes on once "
            f"that is mended"
        ) from error


def _reason(error: Exception) -> str:
    """Why a worker is gone, in one line: what Ray says first, and what it says last, which may be a cause."""
    plain = COLOURS.sub("", str(error))
    lines = [line.strip() for line in plain.splitlines() if line.strip()] or [type(error).__name__]
    return lines[0] if len(lines) == 1 else f"{lines[0]} {lines[-1]}"


def _start_here() -> None:
    """Ray of this process alone, with which nobody else can speak, because only it knows the token.

    Ray listens on an address of this machine also where it is told to take loopback.
    """
    if os.environ.get("RAY_AUTH_MODE") != "token":
        os.environ |= {"RAY_AUTH_MODE": "token", "RAY_AUTH_TOKEN": secrets.token_hex(32)}
    os.environ.setdefault("RAY_worker_niceness", "0")  # else workers have what other processes leave
    import ray

    with _handlers_kept():
        try:
            ray.init(
                address="local",
                num_gpus=0,
                include_dashboard=False,
                **_silent(),
            )
        except Exception as error:  # which Ray raises where it is not up in time
            raise UsageError(
                f"--workers: Ray does not start here ({_reason(error)}): mend that, or try again if the machine is busy"
            ) from error


def _connect(address: str) -> None:
    """Takes part in a cluster that answers."""
    refuse_silence(address)
    options = _silent()
    import ray

    with _handlers_kept():
        try:
            ray.init(address=address, **options)
        except (*OF_RAY, ray.exceptions.RayError) as error:
            raise UsageError(f"--ray-address {address}: {_reason(error)}: check the cluster") from error


def refuse_silence(address: str) -> None:
    """Refuses an address at which no cluster of Ray answers; asked by a process that can be ended when it hangs."""
    host, _, port = address.removeprefix(CLIENT).rpartition(":")
    if address != "auto" and (not host or not port.isdecimal()):
        raise UsageError(f"--ray-address {address}: give HOST:PORT, ray://HOST:PORT or auto")
    silent, began = f"--ray-address {address}: no cluster of Ray answers there", time.monotonic()
    if address != "auto":
        try:
            socket.create_connection((host, int(port)), timeout=PATIENCE / 2).close()
        except (OSError, OverflowError, UnicodeError) as error:  # the last where a part of a name is empty or too long
            raise UsageError(f"{silent} ({error}): check address and port") from error
    left = PATIENCE - (time.monotonic() - began)
    with subprocess.Popen([sys.executable, "-P", "-c", ASKING, address], **PIPES) as asking:
        assert asking.stdout is not None, "a pipe"
        asking.stdout.readline()  # it has imported Ray, which may take seconds
        try:
            _, said = asking.communicate(timeout=left)
        except subprocess.TimeoutExpired as error:
            asking.kill()
            raise UsageError(f"{silent} within {PATIENCE:.0f} s: check address and port") from error
    if asking.returncode:
        raise UsageError(f"{silent} ({_last_line(said)}): check address, port and versions")


def _last_line(text: str) -> str:
    lines = [line.strip() for line in COLOURS.sub("", text).splitlines() if line.strip()]
    return lines[-1] if lines else "it says nothing"


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
