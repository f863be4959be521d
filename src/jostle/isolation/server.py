"""Inside a worker: requests are answered one after another until nobody is there to ask."""

from __future__ import annotations

import faulthandler
import json
import signal
import socket
from collections.abc import Callable, Mapping
from dataclasses import asdict
from functools import partial
from io import BufferedIOBase
from typing import Any

from jostle.errors import JostleError, ProcessSpoilt
from jostle.foreign import Crash, attempt, torch_is_lent

Answer = Mapping[str, Any]
# What is left to do for an answer when the process is again as it was before the model ran.
Later = Callable[[], Answer]
# A request's fields -> what to answer
Handler = Callable[[Mapping[str, Any]], Answer | Later]
OPENING = ("load", "watch")  # requests that what loads a model may refuse


def serve(connection: BufferedIOBase, handlers: Mapping[str, Handler]) -> None:
    """Answers requests by the handler they name; what foreign code raises, and what we refuse, are answers."""
    for line in connection:
        request = json.loads(line)
        answer = _answer(partial(handlers[request["ask"]], request), refuses=request["ask"] in OPENING)
        connection.write(json.dumps(answer).encode() + b"\n")
        connection.flush()


def _answer(handle: Callable[[], Answer | Later], refuses: bool) -> Answer:
    try:
        answer = attempt(handle, refuses)
        if isinstance(answer, Crash):
            return {"crash": asdict(answer)}
        return answer() if callable(answer) else answer
    except ProcessSpoilt:
        raise  # this process is of no more use, and the campaign starts another
    except JostleError as error:
        return {"refused": str(error), "kind": type(error).__name__}


def connected(number: str) -> BufferedIOBase:
    """The way to whoever asks this process, which is the model's own; a fatal signal writes its stack."""
    torch_is_lent.set()
    faulthandler.enable()
    faulthandler.register(signal.SIGUSR1)
    signal.signal(signal.SIGINT, signal.SIG_IGN)  # of a terminal: the campaign ends the worker when it is done
    return socket.socket(fileno=int(number)).makefile("rwb")
