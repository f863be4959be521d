"""`jostle.fuzz`: a campaign as one call."""

from __future__ import annotations

import inspect
import shutil
import warnings
import weakref
from collections.abc import Callable, Iterator, Mapping
from contextlib import ExitStack
from pathlib import Path
from tempfile import mkdtemp
from typing import Any

from jostle.api.handed_over import by_name, seeds_by_name
from jostle.api.progress import CampaignBar
from jostle.api.result import Result
from jostle.commands.triage import triage
from jostle.composition.settle import FUZZ
from jostle.errors import JostleWarning, UsageError
from jostle.held import holding
from jostle.options.schema import Given
from jostle.session.assemble import assemble
from jostle.session.interrupts import stopping_gently
from jostle.session.session import Session, run
from jostle.subjects.torch_modes import in_its_mode

NEEDED = ("model", "seeds")


def fuzz(
    model: object,
    seeds: object,
    labels: object = None,
    *,
    out: str | Path | None = None,
    quiet: bool = False,
    **options: Any,
) -> Result:
    """Fuzzes a model from seeds, and gives back the defects that were found.

    The model is a torch module, a Keras model, an ONNX Runtime session, a function of a batch, a model file, or
    `FILE.py:function`; seeds are arrays, a Dataset, a DataLoader, a folder or a file. All other options are those of
    `jostle fuzz` by the same names (`budget="60s"`, `twin="int8"`, `coverage="kmnc"`), whose values may be objects
    where those are names: `oracle=[my_property]`.

    Nothing is printed but a bar on terminals and in notebooks, unless `quiet`. Without `out`, the campaign's folder is
    a temporary one that goes with the result; with it, the same call goes on from where it was. Ctrl-C ends it early.
    """
    for name in NEEDED:
        if name in options:
            raise UsageError(f"{name} is given twice")
    with ExitStack() as stack:
        holder = stack.enter_context(holding())
        stack.enter_context(in_its_mode(model, *companions(options)))
        named = by_name(holder, {**options, "model": model})
        given = FUZZ.parsed({**named, "seeds": seeds_by_name(holder, seeds, labels)})
        folder = mkdtemp(prefix="jostle-") if out is None else str(out)
        unkept = stack.enter_context(ExitStack())
        if out is None:
            unkept.callback(shutil.rmtree, folder, ignore_errors=True)
        result = _result(given.over(out=folder), quiet, temporary=out is None)
        unkept.pop_all()
    if out is None:
        weakref.finalize(result, shutil.rmtree, folder, ignore_errors=True)
    for warning in result.warnings:
        warnings.warn(warning, JostleWarning, stacklevel=2)
    return result


def companions(options: Mapping[str, Any]) -> Iterator[object]:
    """Other models among the options."""
    for name in ("twin", "models"):
        value = options.get(name)
        yield from value if isinstance(value, list | tuple) else (value,)


def _result(given: Given, quiet: bool, temporary: bool) -> Result:
    session = assemble(given)
    with CampaignBar(session.budget, quiet) as bar, stopping_gently(_say_nothing, session.campaign.stop) as asked:
        ended = run(session, [bar], lambda: asked.stop)
    triaged = triage(session.archive.folder)
    return Result(triaged, ended, tuple(_warnings(session)), temporary)


def _warnings(session: Session) -> Iterator[str]:
    yield from session.warnings
    yield from session.archive.quarantine.warnings
    yield from session.remarks()


def _say_nothing(line: str) -> None:
    """A script asked for silence; its caller sees that it ended early."""


def _signature(function: Callable[..., Any]) -> inspect.Signature:
    """The parameters that stand in its head, and every option that is declared."""
    own = list(inspect.signature(function).parameters.values())[:-1]
    known = {parameter.name for parameter in own}
    declared = [
        inspect.Parameter(name, inspect.Parameter.KEYWORD_ONLY, default=None)
        for name in FUZZ.options
        if name not in known
    ]
    return inspect.Signature([*own, *declared])


fuzz.__signature__ = _signature(fuzz)  # type: ignore[attr-defined]
