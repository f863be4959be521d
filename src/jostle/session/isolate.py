"""The models in a process of their own: who gets one, what it may use, and how it is opened."""

from __future__ import annotations

from typing import Any

import psutil
import torch
from torch import Tensor

from jostle.config import Settings
from jostle.errors import ModelRefused, PreflightFailed, UsageError
from jostle.foreign import FailedElsewhere
from jostle.isolation.client import Answer, Service
from jostle.isolation.process import Limits
from jostle.named_objects import names_object
from jostle.session.instrument import Watched, contained
from jostle.targets.isolated import Isolated
from jostle.targets.twins import TWINS

HOST = "jostle.session.worker_program"  # the module that a worker runs
PATIENCE = 300.0  # seconds for one batch
MEMORY_SHARE = 0.75  # of the machine's
MOST_DEATHS = 4  # of workers while the model's layers are looked for


def limits_of(settings: Settings) -> Limits | None:
    """What the models' own process may use; None if they run in ours.

    Models from files get one unless told otherwise. Python that the user names runs in ours, unless told otherwise.
    """
    apart = loads_files(settings) if settings.isolate is None else settings.isolate
    if not apart:
        for name, value in (("--timeout", settings.timeout), ("--rss-limit", settings.rss_limit)):
            if value is not None:
                raise UsageError(f"{name} needs --isolate: only a process of its own can be watched and ended")
        return None
    return Limits(settings.timeout or PATIENCE, settings.rss_limit or int(MEMORY_SHARE * psutil.virtual_memory().total))


def loads_files(settings: Settings) -> bool:
    """Whether a model or its weights come from a file rather than from Python that the user names."""
    return any(map(is_file, named_models(settings)))


def named_models(settings: Settings) -> list[str]:
    """All models of a campaign, and its twin and weights."""
    return [settings.model, *settings.models, *filter(None, (settings.twin, settings.weights))]


def is_file(spec: str) -> bool:
    """True of a model's name that is neither Python that the user names nor a twin such as int8 or weights16:50%."""
    return not (names_object(spec) or spec in TWINS or spec.startswith("weights16:"))


def isolated(settings: Settings, sample: Tensor, limits: Limits) -> tuple[Watched, Service]:
    """All models as one target in a worker; layers are those that run on inputs of the sample [some, ...]."""
    service = Service(HOST, limits)
    try:
        service.open("load", {}, settings=settings.as_json(), threads=torch.get_num_threads())
    except FailedElsewhere as failure:
        fix = "give more" if failure.crash.error == "MemoryLimit" else "check where the file comes from"
        raise ModelRefused(f"{settings.model} ends the process that loads it ({failure}): {fix}") from failure
    answer, incoming = _watching(service, sample)
    target = Isolated(service)
    told: dict[str, Any] = answer["told"]
    copies = {name: strengths.clone() for name, strengths in incoming.items()}
    return contained(Watched(target=target, gradients=target, incoming=copies, **told)), service


def _watching(service: Service, sample: Tensor) -> Answer:
    """Asks on fewer and fewer inputs, because one that ends the process is a finding and no reason to give up."""
    for first in range(min(len(sample), MOST_DEATHS)):
        try:
            return service.open("watch", {"inputs": sample[first:]})
        except FailedElsewhere as failure:
            reason = str(failure)
    raise PreflightFailed(f"the model ends its process on the first seeds ({reason}): check their shape and range")
