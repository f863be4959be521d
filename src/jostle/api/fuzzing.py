"""`jostle.fuzz`: a campaign as one call."""

from __future__ import annotations

import inspect
import shutil
import warnings
import weakref
from collections.abc import Callable, Iterator
from contextlib import ExitStack
from dataclasses import replace
from pathlib import Path
from tempfile import mkdtemp
from typing import Any

from jostle.api.objects_by_name import by_name, companions, seeds_by_name
from jostle.api.progress import CampaignBar
from jostle.api.result import Result
from jostle.commands.triage import triage
from jostle.composition.settle import FUZZ
from jostle.errors import JostleWarning, UsageError
from jostle.held import holding
from jostle.options.schema import Given
from jostle.session.assemble import assemble
from jostle.session.interrupts import OF_SCRIPTS, stopping_gently
from jostle.session.session import Ended, Session, remarks_on, run
from jostle.subjects.torch_modes import in_its_mode

# Options that say how the command ends, and what a script has in their place.
OF_THE_COMMAND = {
    "report": "result.report(), which writes the page",
    "fail_on": "result.assert_clean(allow=…), which takes kinds and names",
    "fail_if_more_than": "result.assert_clean(allow=…), or count result.defects",
}


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
    result = fuzzed(model, seeds, labels, out=out, quiet=quiet, **options)
    for warning in result.warnings:
        warnings.warn(warning, JostleWarning, stacklevel=2)
    return result


def fuzzed(
    model: object, seeds: object, labels: object, *, out: str | Path | None = None, quiet: bool = False, **options: Any
) -> Result:
    """The same without warnings, for callers that have to do something with a result before one is raised."""
    for name, instead in OF_THE_COMMAND.items():
        if options.get(name) is not None and options[name] is not False:
            raise UsageError(f"{name} is of the command line: use {instead}")
    with ExitStack() as stack:
        holder = stack.enter_context(holding())
        if model is None:
            raise UsageError("model is None: give a module, a function, a model file or FILE.py:function")
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
    return result


def _result(given: Given, quiet: bool, temporary: bool) -> Result:
    with CampaignBar(quiet) as bar:
        session = assemble(given, bar.working("profiling"))
        with stopping_gently(_say_nothing, session.campaign.stop, OF_SCRIPTS) as asked:
            spending, finishing = bar.spending(session.budget), bar.working("finishing findings")
            ended = run(session, [spending], lambda: asked.stop, progress=finishing)
            triaged = triage(session.archive.folder)
    ended = replace(ended, stopped=asked.stop)  # as late as while findings were grouped
    return Result(triaged, ended, tuple(_warnings(session, ended)), temporary)


def _warnings(session: Session, ended: Ended) -> Iterator[str]:
    yield from session.warnings
    yield from session.archive.quarantine.warnings
    yield from remarks_on(session, ended)
    yield from ended.summary.in_vain.values()


def _say_nothing(line: str) -> None:
    """A script asked for silence; its caller sees that it ended early."""


def _signature(function: Callable[..., Any]) -> inspect.Signature:
    """The parameters that stand in its head, and every option that is declared."""
    own = list(inspect.signature(function).parameters.values())[:-1]
    known = {parameter.name for parameter in own}
    declared = [
        inspect.Parameter(name, inspect.Parameter.KEYWORD_ONLY, default=None)
        for name in FUZZ.options
        if name not in known and name not in OF_THE_COMMAND
    ]
    return inspect.Signature([*own, *declared])


fuzz.__signature__ = _signature(fuzz)  # type: ignore[attr-defined]
