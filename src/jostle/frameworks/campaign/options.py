"""Everything `jostle frameworks` can be told, checked once."""

from __future__ import annotations

import hashlib
import json
from collections.abc import Mapping
from dataclasses import asdict, dataclass, fields
from pathlib import Path
from typing import Any

from jostle.config import checked, content_of
from jostle.errors import UsageError
from jostle.frameworks.backends.all_backends import lowering_named
from jostle.frameworks.backends.program import GRADIENT, PREDICT, TRAIN
from jostle.frameworks.campaign.scheduler import ORDERS, Weights
from jostle.frameworks.campaign.seed_graphs import EACH_OPERATOR
from jostle.frameworks.models import MODELS
from jostle.frameworks.operators.all_operators import OPERATORS
from jostle.frameworks.strategies.all_strategies import EDIT_STRATEGIES
from jostle.frameworks.workers.backend_process import Place
from jostle.options.choices import chosen

MAY_CHANGE = ("budget", "executions", "findings", "max_disk", "out", "timeout", "rss_limit")
DEFAULT_BUDGET = "60s"
DEFAULT_BACKENDS = ("torch", "onnxruntime")
SAMPLED = "torch-inductor"  # compiles for seconds, so it gets a sample
# What users call a phase -> what backends do in it
PHASES: Mapping[str, tuple[str, ...]] = {"predict": (PREDICT,), "train": (GRADIENT, TRAIN)}


@dataclass(frozen=True)
class FrameworkSettings:
    """The settings under the names of their flags."""

    models: tuple[str, ...] = (*MODELS, EACH_OPERATOR)
    backends: tuple[str, ...] = DEFAULT_BACKENDS
    phase: tuple[str, ...] = (PREDICT,)
    operators: tuple[str, ...] = ()
    strategy: str = "greedy"
    order: str = "score"
    score: tuple[float, ...] = (1.0, 1.0, 1.0)
    sample: int | None = None
    line_coverage: bool = False
    known: str | None = None
    budget: float | None = None  # seconds
    executions: int | None = None
    findings: int | None = None
    max_disk: int | None = None  # bytes
    batch: int = 8
    seed: int = 0
    out: str | None = None
    timeout: float = 30.0  # seconds
    rss_limit: int | None = None  # bytes

    @property
    def places(self) -> list[Place]:
        return [Place.parse(text) for text in self.backends]

    @property
    def phases(self) -> list[str]:
        """In which backends run."""
        return [phase for name in PHASES if name in self.phase for phase in PHASES[name]]

    @property
    def weights(self) -> Weights:
        return Weights(*self.score)

    @property
    def sampled(self) -> dict[str, int]:
        """Of slow backends, how many graphs there are to each one that they run."""
        return {place.name: self.sample or 20 for place in self.places if place.backend == SAMPLED}

    def bound(self) -> dict[str, Any]:
        """What may not change between two runs of one campaign."""
        return {name: value for name, value in self._as_json().items() if name not in MAY_CHANGE}

    def unbound(self) -> dict[str, Any]:
        return {name: value for name, value in self._as_json().items() if name in MAY_CHANGE}

    def contents(self) -> dict[str, str]:
        """Digests of the files that the settings name."""
        named = [*self.models, *([self.known] if self.known else [])]
        return {name: content for name in named if (content := content_of(name)) is not None}

    def folder(self, identity: Mapping[str, Any]) -> Path:
        """Where the campaign lives: the same settings always give the same folder."""
        if self.out is not None:
            return Path(self.out)
        digest = hashlib.blake2b(json.dumps(identity).encode(), digest_size=4).hexdigest()
        return Path("jostle-runs") / f"frameworks-{digest}"

    def _as_json(self) -> dict[str, Any]:
        values: dict[str, Any] = json.loads(json.dumps(asdict(self)))
        return values


def framework_settings(flags: Mapping[str, Any]) -> FrameworkSettings:
    """The settings that flags give, with every name in them known."""
    given = {name: value for name, value in flags.items() if value is not None}
    if not {"budget", "executions"} & given.keys():
        given["budget"] = DEFAULT_BUDGET
    known = {field.name for field in fields(FrameworkSettings)}
    values = {name: checked(name, value) for name, value in given.items() if name in known}
    if "strategy" in values:
        values["strategy"] = ",".join(values["strategy"])  # one name, which `chosen` checks
    settings = FrameworkSettings(**values)
    _check_names(settings)
    _refuse_contradictions(settings)
    return settings


def _check_names(settings: FrameworkSettings) -> None:
    for phase in settings.phase:
        chosen("--phase", phase, PHASES)
    for operator in settings.operators:
        chosen("--operators", operator, OPERATORS)
    chosen("--strategy", settings.strategy, EDIT_STRATEGIES)
    chosen("--order", settings.order, ORDERS)
    for place in settings.places:
        lowering_named(place.backend)


def _refuse_contradictions(settings: FrameworkSettings) -> None:
    backends = [place.backend for place in settings.places]
    if len({place.name for place in settings.places}) < len(settings.backends):
        raise UsageError("--backends names one twice: give each once, or another interpreter as NAME@PYTHON")
    if len(settings.score) != 3 or min(settings.score) < 0 or not any(settings.score):
        raise UsageError(
            "--score takes three weights, of coverage, time and mutations, none below 0 and one above: 1,1,1"
        )
    if settings.order != "score" and settings.score != FrameworkSettings.score:
        raise UsageError(
            f"--score weighs models, which --order {settings.order} does not look at: leave one of them out"
        )
    if settings.sample is not None and SAMPLED not in backends:
        raise UsageError(f"--sample is of {SAMPLED}, which is not among the backends: add it, or leave --sample out")
    trained = [name for name in backends if GRADIENT in lowering_named(name).phases]
    if "train" in settings.phase and not trained:
        raise UsageError(
            f"none of {', '.join(backends)} trains: add torch, tensorflow, jax or paddle, or --phase predict"
        )
