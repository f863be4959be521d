"""Models that misbehave, each in its own way, and what must come of each in our process and in one of its own."""

from __future__ import annotations

import atexit
import builtins
import ctypes
import json
import os
import resource
import shutil
import signal
import subprocess
import sys
import threading
import time
import traceback
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import torch
from torch import Tensor, nn

MARK = "jostle-surviving-grandchild"  # in the command line of processes that must not survive
CAMPAIGN = "JOSTLE_HOSTILE_CAMPAIGN"  # in the environment: the folder of the campaign


def segfault() -> None:
    ctypes.string_at(0)


def abort() -> None:
    os.abort()


def exit_0() -> None:
    os._exit(0)


def system_exit() -> None:
    raise SystemExit(0)


def hang() -> None:
    """Ignores the polite ways to be ended."""
    signal.signal(signal.SIGTERM, signal.SIG_IGN)
    while True:
        time.sleep(60)


def spin() -> None:
    while True:
        pass


def stop() -> None:
    os.kill(os.getpid(), signal.SIGSTOP)


def memory_at_once() -> None:
    torch.ones(2**31)


def memory_in_steps() -> None:
    kept = []
    while True:
        kept.append(torch.ones(2**24))


def recursion() -> None:
    recursion()


def native_recursion() -> None:
    """Of C functions, which no recursion limit of Python's ends."""
    sys.setrecursionlimit(10**9)
    nested: list[object] = []
    for _ in range(10**5):
        nested = [nested]
    repr(nested)


def flood() -> None:
    for _ in range(2000):
        sys.stdout.write("x" * 100_000)
    os.abort()


def closed() -> None:
    """Closes every descriptor, also the one it should answer on, and goes on."""
    os.closerange(0, 256)
    time.sleep(60)


def grandchild() -> None:
    """Leaves behind a process in a session of its own, which holds the descriptors open."""
    script = f"import time; time.sleep(600)  # {MARK}"
    subprocess.Popen([sys.executable, "-c", script], start_new_session=True, close_fds=False)
    os._exit(3)


def one_byte() -> None:
    """Begins an answer on every descriptor it has, and never ends it."""
    for descriptor in range(3, 64):
        try:
            os.write(descriptor, b"{")
        except OSError:
            continue
    time.sleep(60)


def exception() -> None:
    raise RuntimeError("no such digit")


class Own(BaseException):
    """No Exception, so that few expect it."""


class Speechless(Exception):
    """Raises when it is asked what it says."""

    def __str__(self) -> str:
        raise KeyboardInterrupt

    __repr__ = __str__


class Untrue(Exception):
    """Raises when it is asked whether it is true."""

    def __bool__(self) -> bool:
        raise RuntimeError


class _Anonymous(type):
    @property
    def __name__(cls) -> str:  # type: ignore[override]
        raise RuntimeError("no name")

    @property
    def __mro__(cls) -> tuple[type, ...]:  # type: ignore[override]
        raise RuntimeError("no ancestors")


class Nameless(Exception, metaclass=_Anonymous):
    """Raises when it is asked what its class is called, where it was raised, or why."""

    def _raise(self) -> Any:
        raise RuntimeError("nowhere")

    __traceback__ = __cause__ = __context__ = __class__ = property(_raise, lambda self, value: None)  # type: ignore


def keyboard_interrupt() -> None:
    raise KeyboardInterrupt


def generator_exit() -> None:
    raise GeneratorExit


def base_exception() -> None:
    raise Own("not an Exception")


def speechless() -> None:
    raise Speechless


def untrue_cause() -> None:
    raise ValueError from Untrue()


def nameless() -> None:
    raise Nameless


def unspeakable() -> None:
    """In signs that no encoding has, and that command terminals."""
    raise ValueError("\ud800 \x1b[2J" + "x" * 10**6)


def thread() -> None:
    """Leaves behind a thread for which Python waits at its end."""
    threading.Thread(target=time.sleep, args=(600,)).start()


def threads_of_torch() -> None:
    """Raises: work has begun."""
    torch.set_num_threads(3)
    torch.set_num_interop_threads(3)


def alarm() -> None:
    signal.alarm(1)
    time.sleep(5)


def later_alarm() -> None:
    """Rings once the model has answered."""
    signal.setitimer(signal.ITIMER_REAL, 1.0)  # a busy machine may take some of it to answer


def profiler() -> None:
    """Is rung again and again by its own timer."""
    signal.setitimer(signal.ITIMER_PROF, 0.01, 0.01)
    spin()


def later_timers() -> None:
    for timer in (signal.ITIMER_VIRTUAL, signal.ITIMER_PROF):
        signal.setitimer(timer, 1.0, 1.0)


def forked() -> None:
    """The copy goes on as if it were the process itself."""
    os.fork()


def forked_and_raised() -> None:
    if os.fork() == 0:
        raise RuntimeError("of a copy")


def umask() -> None:
    os.umask(0o777)


def default_dtype() -> None:
    torch.set_default_dtype(torch.float16)


def default_device() -> None:
    torch.set_default_device("meta")


def modes_of_torch() -> None:
    torch.set_grad_enabled(False)
    torch.set_deterministic_debug_mode("error")
    torch.set_num_threads(3)


class LastWords:
    def __del__(self) -> None:
        sys.exit(5)


def last_words() -> None:
    """Wants to end the process in its own way: when an object is removed, and at the end."""
    LastWords()
    atexit.register(lambda: os._exit(77))
    atexit.register(sys.exit, 78)


def handlers() -> None:
    for number in (signal.SIGINT, signal.SIGTERM, signal.SIGPROF):
        signal.signal(number, signal.SIG_IGN)


def no_streams() -> None:
    sys.stdout = sys.stderr = None  # type: ignore[assignment]


def closed_streams() -> None:
    for stream in (sys.stdout, sys.stderr):
        stream.close()


def closed_descriptors() -> None:
    os.close(1)
    os.close(2)


def folder() -> None:
    os.chdir("/")


def campaign_removed() -> None:
    shutil.rmtree(os.environ[CAMPAIGN])


def little_memory() -> None:
    resource.setrlimit(resource.RLIMIT_AS, (2**20, resource.RLIM_INFINITY))


def little_files() -> None:
    resource.setrlimit(resource.RLIMIT_FSIZE, (0, resource.RLIM_INFINITY))


def memory_for_good() -> None:
    resource.setrlimit(resource.RLIMIT_AS, (2**20, 2**20))


def files_for_good() -> None:
    resource.setrlimit(resource.RLIMIT_FSIZE, (0, 0))


def closed_files() -> None:
    os.closerange(0, 200)


def function_replaced() -> None:
    json.dumps = _end_cleanly


def reporting_replaced() -> None:
    """What would tell of the failure fails too."""
    json.dumps = traceback.extract_tb = None  # type: ignore[assignment]


def builtins_replaced() -> None:
    for name in ("len", "isinstance", "dict", "open", "__import__", "getattr", "list", "any"):
        setattr(builtins, name, None)


def modules_removed() -> None:
    sys.modules.clear()


def our_error() -> None:
    from jostle.errors import UsageError

    raise UsageError("said by the model")


def autocast() -> None:
    torch.autocast("cpu", dtype=torch.bfloat16).__enter__()


def no_finders() -> None:
    for finders in (sys.meta_path, sys.path_hooks, sys.path):
        finders.clear()
    sys.path_importer_cache.clear()


def no_hooks() -> None:
    sys.excepthook = sys.unraisablehook = threading.excepthook = None  # type: ignore[assignment]


def _end_cleanly(*of_the_call: object, **named: object) -> str:
    raise SystemExit(0)


def few_files() -> None:
    resource.setrlimit(resource.RLIMIT_NOFILE, (0, resource.getrlimit(resource.RLIMIT_NOFILE)[1]))


class EvalRaises(nn.Linear):
    def eval(self) -> nn.Module:
        raise RuntimeError("always in training")


class AttributesRaise(nn.Linear):
    def __getattr__(self, name: str) -> Any:
        raise RuntimeError(f"no {name} here")


class Mistrustful(Tensor):
    """A tensor of a class of its own, which raises whatever is computed with it."""

    @classmethod
    def __torch_function__(cls, *of_the_call: object) -> Any:
        raise RuntimeError("nobody computes with it")


class Elsewhere(Tensor):
    """A tensor whose numbers are where only its class could read them."""

    @staticmethod
    def __new__(cls, values: Tensor) -> Elsewhere:
        return Tensor._make_wrapper_subclass(cls, values.shape, dtype=values.dtype)

    @classmethod
    def __torch_dispatch__(cls, *of_the_call: object) -> Any:
        raise RuntimeError("nobody reads it")


class NameRaises(nn.Linear):
    def __str__(self) -> str:
        raise RuntimeError("nameless")

    __repr__ = __str__


@dataclass(frozen=True)
class Hostile:
    """What a model does, and how what must come of it begins: a finding, nothing (""), a refusal, or an end."""

    model: Callable[..., object]  # of a batch, or that gives a module
    isolated: str
    in_process: str | None  # None where it would take the tests with it


REFUSED, ENDED = "refused", "ended"  # with one line, before the campaign began, or after


def _at_guilty_rows(deed: Callable[[], object]) -> Callable[[Tensor], Tensor]:
    """A function that behaves but where the first value of a row exceeds 0.9."""

    def model(inputs: Tensor) -> Tensor:
        scores = inputs * 2
        guilty = inputs[:, 0] > 0.9
        if guilty.any():
            returned = deed()
            scores[guilty] = returned if isinstance(returned, float) else 0.0
        return scores

    return model


def _answering(answer: Callable[[Tensor], Any]) -> Callable[[Tensor], Any]:
    """A function whose answer to guilty rows is another."""

    def model(inputs: Tensor) -> Any:
        return answer(inputs * 2) if (inputs[:, 0] > 0.9).any() else inputs * 2

    return model


def _built(kind: Callable[..., nn.Module]) -> Callable[[], object]:
    def model() -> object:
        return kind(3, 3)

    return model


def _deed(deed: Callable[[], object], isolated: str, in_process: str | None = None) -> Hostile:
    return Hostile(_at_guilty_rows(deed), isolated, in_process)


def _both(deed: Callable[[], object], outcome: str) -> Hostile:
    return Hostile(_at_guilty_rows(deed), outcome, outcome)


def _answer(answer: Callable[[Tensor], Any], outcome: str) -> Hostile:
    return Hostile(_answering(answer), outcome, outcome)


def _module(kind: Callable[..., nn.Module], outcome: str) -> Hostile:
    return Hostile(_built(kind), outcome, outcome)


MODELS: dict[str, Hostile] = {
    "segfault": _deed(segfault, "crash:SIGSEGV:"),
    "abort": _deed(abort, "crash:SIGABRT:"),
    "exit_0": _deed(exit_0, "crash:Exit 0:"),
    "system_exit": _both(system_exit, "crash:SystemExit:"),
    "hang": _deed(hang, "crash:Hang:"),
    "spin": _deed(spin, "crash:Hang:"),
    "stop": _deed(stop, "crash:Hang:"),
    "memory_at_once": _deed(memory_at_once, "crash:MemoryLimit:"),
    "memory_in_steps": _deed(memory_in_steps, "crash:MemoryLimit:"),
    "recursion": _both(recursion, "crash:RecursionError:"),
    "native_recursion": _deed(native_recursion, "crash:SIGSEGV:"),
    "flood": _deed(flood, "crash:SIGABRT:"),
    "closed": _deed(closed, "crash:Disconnected:"),
    "grandchild": _deed(grandchild, "crash:Exit 3:"),
    "one_byte": _deed(one_byte, "crash:Hang:"),
    "exception": _both(exception, "crash:RuntimeError:"),
    "nan": _both(lambda: torch.nan, "nan:"),
    "keyboard_interrupt": _both(keyboard_interrupt, "crash:KeyboardInterrupt:"),
    "generator_exit": _both(generator_exit, "crash:GeneratorExit:"),
    "base_exception": _both(base_exception, "crash:Own:"),
    "speechless": _both(speechless, "crash:Speechless:"),
    "untrue_cause": _both(untrue_cause, "crash:ValueError:"),
    "nameless": _both(nameless, "crash:Nameless:"),
    "unspeakable": _both(unspeakable, "crash:ValueError:"),
    "thread": _both(thread, ""),
    "threads_of_torch": _both(threads_of_torch, "crash:RuntimeError:"),
    "alarm": _deed(alarm, "crash:SIGALRM:", "crash:TimerRanOut:"),
    "later_alarm": _both(later_alarm, ""),
    "profiler": _deed(profiler, "crash:SIGPROF:", "crash:TimerRanOut:"),
    "later_timers": _both(later_timers, ""),
    "forked": _both(forked, ""),
    "forked_and_raised": _both(forked_and_raised, ""),
    "umask": _both(umask, ""),
    "default_dtype": _both(default_dtype, ""),
    "default_device": _both(default_device, ""),
    "modes_of_torch": _both(modes_of_torch, ""),
    "last_words": Hostile(_at_guilty_rows(last_words), "", None),
    "handlers": _both(handlers, ""),
    "no_streams": _both(no_streams, ""),
    "closed_streams": _both(closed_streams, ""),
    "closed_descriptors": _both(closed_descriptors, ""),
    "folder": _both(folder, ""),
    "campaign_removed": _both(campaign_removed, ENDED),
    "little_memory": _both(little_memory, ""),
    "little_files": _both(little_files, ""),
    "few_files": _both(few_files, ""),
    "memory_for_good": _deed(memory_for_good, "crash:Exit 1:"),
    "files_for_good": _deed(files_for_good, "crash:Exit 1:"),
    "closed_files": _deed(closed_files, "crash:Exit 1:"),
    "function_replaced": _deed(function_replaced, "crash:Exit 0:"),
    "reporting_replaced": _deed(reporting_replaced, "crash:Exit 1:"),
    # In our process, a file may be written just then.
    "builtins_replaced": _deed(builtins_replaced, "crash:TypeError:"),
    "modules_removed": _both(modules_removed, ""),
    "our_error": _both(our_error, "crash:UsageError:"),
    "autocast": _both(autocast, ""),
    "no_finders": _both(no_finders, ""),
    "no_hooks": _both(no_hooks, ""),
    "no_output": _answer(lambda scores: None, "crash:NotOneRowPerInput:"),
    "empty_output": _answer(lambda scores: torch.empty(0), "crash:NotOneRowPerInput:"),
    "output_without_columns": _answer(lambda scores: scores[:, :0], "crash:UnfitOutput:"),
    "sparse_output": _answer(lambda scores: scores.to_sparse(), "crash:UnfitOutput:"),
    "output_on_meta": _answer(lambda scores: scores.to("meta"), "crash:UnfitOutput:"),
    "output_of_other_shape": _answer(lambda scores: scores[:, :2], "crash:ShapeChanged:"),
    "output_of_other_rank": _answer(lambda scores: scores[:, :, None], "crash:ShapeChanged:"),
    "complex_output": _answer(lambda scores: scores.to(torch.complex64), "crash:UnfitOutput:"),
    "output_elsewhere": _answer(Elsewhere, "crash:UnfitOutput:"),
    "output_in_bytes": _answer(lambda scores: scores.to(torch.float8_e4m3fn), ""),
    "always_mistrustful": Hostile(lambda inputs: (inputs * 2).as_subclass(Mistrustful), REFUSED, REFUSED),
    "always_elsewhere": Hostile(Elsewhere, REFUSED, REFUSED),
    "always_empty": Hostile(lambda inputs: torch.empty(0), REFUSED, REFUSED),
    "always_without_columns": Hostile(lambda inputs: inputs[:, :0], REFUSED, REFUSED),
    "always_sparse": Hostile(lambda inputs: inputs.to_sparse(), REFUSED, REFUSED),
    "always_on_meta": Hostile(lambda inputs: inputs.to("meta"), REFUSED, REFUSED),
    "eval_raises": _module(EvalRaises, REFUSED),
    "attributes_raise": _module(AttributesRaise, REFUSED),
    "name_raises": _module(NameRaises, REFUSED),
    "compiled": _module(lambda *sizes: torch.compile(nn.Linear(*sizes), backend="eager"), ""),
    "scripted": _module(lambda *sizes: torch.jit.script(nn.Linear(*sizes)), ""),
    "traced": _module(lambda *sizes: torch.jit.trace(nn.Linear(*sizes), torch.ones(2, sizes[0])), ""),
}

globals().update({f"{name}_model": one.model for name, one in MODELS.items()})


def _of_images(model: Callable[..., Any]) -> Callable[[], nn.Module]:
    """A module for images [batch, 1, height, width], with a layer to watch, that does as the model for bright ones."""

    class OfImages(nn.Module):
        def __init__(self) -> None:
            super().__init__()
            self.layer = nn.Sequential(nn.Conv2d(1, 2, 3, padding=1), nn.ReLU())

        def forward(self, images: Tensor) -> Any:
            self.layer(images)
            return model(images.flatten(1)[:, :3] * 1.12)

    return OfImages


globals().update({f"{name}_images_model": _of_images(one.model) for name, one in MODELS.items()})
