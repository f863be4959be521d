"""The models in a process of their own: who gets one, what it may use, and how it is opened."""

from __future__ import annotations

import json
import sys
from collections.abc import Iterable, Mapping
from pathlib import Path
from typing import Any

import torch
from torch import Tensor

from jostle.errors import ModelRefused, PreflightFailed, UsageError
from jostle.foreign import Crash, FailedElsewhere
from jostle.held import is_held, shown_name
from jostle.isolation.ahead import MODEL_WORKER
from jostle.isolation.client import Answer, WorkerClient
from jostle.isolation.messages import ungrouped
from jostle.isolation.process import Limits, most_memory
from jostle.layout import Layout
from jostle.named_objects import names_object
from jostle.options.campaign import InputOptions, ModelOptions, PanelOptions, WatchOptions
from jostle.options.resources import OFF, STRICT, BatchOptions, IsolationOptions
from jostle.options.schema import Given
from jostle.session.folder_trust import ships
from jostle.storage.own_folders import TWINS
from jostle.subjects.instrument import Instrumented
from jostle.subjects.registry import is_file
from jostle.targets.isolated import Isolated
from jostle.traits import Traits

PATIENCE = 300.0  # seconds for one batch
MOST_DEATHS = 4  # of workers while the model's layers are looked for


def limits_of(given: Given) -> Limits | None:
    """What the models' own process may use; None if they run in ours.

    Models from files get one unless told otherwise. Python that the user names runs in ours, unless told otherwise;
    objects of a script always do.
    """
    options, names = given.of(IsolationOptions), named_models(given)
    held = _held(given)
    if held is not None and options.isolate:
        raise UsageError(
            f"isolate: {shown_name(held)} is an object of this process: name it as FILE.py:function to isolate it"
        )
    own_process = held is None and any(map(is_file, names)) if options.isolate is None else options.isolate
    if not own_process:
        strict = STRICT if options.sandbox == STRICT else None
        needing = (("--timeout", options.timeout), ("--rss-limit", options.rss_limit), ("--sandbox strict", strict))
        for name, value in needing:
            if value is not None:
                raise UsageError(f"{name} needs --isolate: only a process of its own can be watched and ended")
        return None
    return Limits(options.timeout or PATIENCE, options.rss_limit or most_memory())


def sandbox_of(given: Given, twins: Path) -> dict[str, Any] | None:
    """What the models' own process must give up; None where it keeps the user's rights."""
    policy = given.of(IsolationOptions).sandbox
    model, *others = named_models(given)
    beside = (*others, *filter(None, (given.of(WatchOptions).metadata, given.of(InputOptions).tokenizer)))
    # What ships with Jostle is no Python of the user's: a folder may name it, and must not open the sandbox so.
    if not wants_sandbox(policy, (model, *(one for one in beside if not ships(one)))):
        return None
    return {"writable": [str(twins)], "strict": policy == STRICT}


def wants_sandbox(policy: str, named: Iterable[str]) -> bool:
    """Whether a process that opens what is named runs in a sandbox.

    Model files get one unless told otherwise. Python that the user names does not, unless told to: it may have to
    write, and naming it is consent.
    """
    return policy == STRICT or (policy != OFF and not any(map(names_object, named)))


def any_held(given: Given) -> bool:
    """Whether an object of a script is among what the models' process would need."""
    return _held(given) is not None


def _held(given: Given) -> str | None:
    beside = (given.of(WatchOptions).metadata, given.of(InputOptions).tokenizer)
    return next(filter(is_held, (*named_models(given), *filter(None, beside))), None)


def named_models(given: Given) -> list[str]:
    """All models of a campaign, and its twin and weights."""
    options = given.of(ModelOptions)
    return [options.model, *given.of(PanelOptions).models, *options.twin, *filter(None, (options.weights,))]


def isolated(
    given: Given, sample: Tensor, limits: Limits, layout: Layout | None = None, twins: Path | None = None
) -> tuple[Instrumented, WorkerClient]:
    """All models as one target in a worker; layers are those that run on inputs of the sample [some, ...].

    A layout tells where in a row each of several inputs lies. Twins that are files are made in a folder, or taken from
    it; without one, they go with the worker.
    """
    service = WorkerClient(MODEL_WORKER, limits)
    if twins is None:
        twins = service.folder / TWINS
        twins.mkdir()
    sandbox = sandbox_of(given, twins)
    try:
        options = json.loads(json.dumps(dict(given.values)))
        fields = {"options": options, "threads": torch.get_num_threads(), "importable": sys.path, "sandbox": sandbox}
        loaded, _ = service.open("load", {}, **fields)
    except FailedElsewhere as failure:
        model = given.of(ModelOptions).model
        if not failure.crash.fatal:
            raise _refused_opening(model, failure.crash, sandbox is not None) from failure
        fix = "give more" if failure.crash.error == "MemoryLimit" else "check where the file comes from"
        raise ModelRefused(f"{model} ends the process that loads it ({failure}): {fix}") from failure
    fields = {"twins": str(twins), "layout": None if layout is None else layout.as_json()}
    answer, arrays = _instrumented(service, given.of(ModelOptions).model, sample, fields, sandbox is not None)
    target = Isolated(service)
    facts: dict[str, Any] = answer["facts"]
    facts |= {"traits": Traits.from_json(facts["traits"]), "notes": tuple(facts["notes"])}
    known = ungrouped(arrays, ("incoming", "embedding"))
    embedding = known["embedding"].get("")
    instrumented = Instrumented(
        target,
        target,
        incoming=known["incoming"],
        embedding=embedding,
        twin_layers=target if facts["twins"] else None,
        sandbox=loaded["sandbox"],
        **facts,
    )
    return instrumented.contained(given.of(BatchOptions).rows), service


def raised_while_opened(model: str, crash: Crash) -> str:
    """What is wrong with a model that raises before it has run."""
    what = f"{crash.error} in {crash.where}: {crash.message}".rstrip(": ")
    return f"{model} cannot be fuzzed, it raised {what}: mend it"


def _refused_opening(model: str, crash: Crash, sandboxed: bool) -> ModelRefused:
    denied = crash.denied and sandboxed
    return ModelRefused(crash.by_sandbox() if denied else raised_while_opened(model, crash))


def _instrumented(
    service: WorkerClient, model: str, sample: Tensor, fields: Mapping[str, Any], sandboxed: bool
) -> Answer:
    """Asks on fewer and fewer inputs, because one that ends the process is a finding and no reason to give up."""
    for first in range(min(len(sample), MOST_DEATHS)):
        try:
            return service.open("watch", {"inputs": sample[first:]}, **fields)
        except FailedElsewhere as failure:
            reason = str(failure)
            if not failure.crash.fatal:
                raise _refused_opening(model, failure.crash, sandboxed) from failure
    raise PreflightFailed(f"the model ends its process on the first seeds ({reason}): check their shape and range")
