"""Inside a worker: requests are answered one after another until nobody is there to ask."""

from __future__ import annotations

import ctypes
import faulthandler
import json
import os
import signal
import sys
from collections.abc import Callable, Mapping
from dataclasses import asdict
from functools import partial
from multiprocessing.connection import Connection
from typing import Any

from jostle.errors import JostleError
from jostle.foreign import attempt
from jostle.records import Crash

PARENT_DEATH_SIGNAL = 1  # of prctl

# A request's fields -> what to answer
Handler = Callable[[Mapping[str, Any]], Mapping[str, Any]]


def serve(connection: Connection, handlers: Mapping[str, Handler]) -> None:
    """Answers requests by the handler they name; what foreign code raises, and what we refuse, are answers."""
    while True:
        try:
            request = json.loads(connection.recv_bytes())
        except EOFError:
            return
        connection.send_bytes(json.dumps(_answer(partial(handlers[request["ask"]], request))).encode())


def _answer(handle: Callable[[], Mapping[str, Any]]) -> Mapping[str, Any]:
    try:
        answer = attempt(handle)
    except JostleError as error:
        return {"refused": str(error), "kind": type(error).__name__}
    return {"crash": asdict(answer)} if isinstance(answer, Crash) else answer


def connected(number: str, parent: str) -> Connection:
    """The way to the process that started this one, without which this one ends; a fatal signal writes its stack."""
    faulthandler.enable()
    faulthandler.register(signal.SIGUSR1)
    signal.signal(signal.SIGINT, signal.SIG_IGN)  # of a terminal: the campaign ends the worker when it is done
    if sys.platform == "linux":
        ctypes.CDLL(None).prctl(PARENT_DEATH_SIGNAL, signal.SIGKILL)
    if os.getppid() != int(parent):
        raise SystemExit  # it died meanwhile
    return Connection(int(number))
