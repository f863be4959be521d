"""Everything `jostle frameworks` can be told."""

from __future__ import annotations

import re
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from jostle.errors import UsageError
from jostle.frameworks.backends.all_backends import lowering_named
from jostle.frameworks.backends.program import GRADIENT, PREDICT, TRAIN
from jostle.frameworks.campaign.scheduler import ORDERS, Weights
from jostle.frameworks.campaign.seed_graphs import EACH_OPERATOR
from jostle.frameworks.campaign.sweep import AUTO
from jostle.frameworks.models import MODELS
from jostle.frameworks.operators.all_operators import OPERATORS
from jostle.frameworks.strategies.all_strategies import EDIT_STRATEGIES
from jostle.frameworks.workers.backend_process import Place
from jostle.options.campaign import RunOptions
from jostle.options.declaration import Derived, Facts, Theme, flag_of, option
from jostle.options.kinds import (
    BYTES,
    COUNT,
    FARTHEST,
    FLAG,
    HELD,
    NAMES,
    NUMBERS,
    TEXT,
    Bounds,
    Kind,
    NotThisName,
    choice,
    choices,
    share_or,
)
from jostle.options.resources import WAITED, BudgetOptions, ScaleOptions
from jostle.options.schema import Given, Schema, Settings

SAMPLED = ("torch-inductor", "torch-onnx")  # which compile or export for seconds, so they get a sample
RUNTIMES = ("onnxruntime", "openvino")  # of .onnx files
# What says how models are mutated, or for how long
OF_MUTATION = ("sweep", "strategy", "order", "score", "budget", "executions", "findings", "workers", "ray_address")
OF_EDITS = ("strategy", "order", "score")  # which tell how models are edited
SAMPLE = 20  # models to each one that it gets
# What users call a phase -> what backends do in it
PHASES: Mapping[str, tuple[str, ...]] = {"predict": (PREDICT,), "train": (GRADIENT, TRAIN)}


def _weights(value: Any) -> tuple[float, ...]:
    weights: tuple[float, ...] = NUMBERS.check(value)
    if len(weights) != 3 or min(weights) < 0 or not any(weights):
        raise NotThisName("takes three weights, of coverage, time and mutations, none below 0 and one above: 1,1,1")
    return weights


def _backends(value: Any) -> tuple[str, ...]:
    names: tuple[str, ...] = NAMES.check(value)
    try:
        places = {Place.parse(name).name for name in names}
    except UsageError as error:
        raise NotThisName(str(error).removeprefix("backend ")) from error
    if len(places) < len(names):
        raise NotThisName("names one twice: give each once, or another interpreter as NAME@PYTHON")
    return names


WEIGHTS = Kind(
    "NUMBERS",
    NUMBERS.read,
    _weights,
    ("1", "1,1", "-1,1,1", "0,0,0", *NUMBERS.bad),
    bounds=Bounds(0, FARTHEST),
    spelled=lambda number: f"{number!r},1,1",
)


def _sizes(value: Any) -> tuple[str, ...]:
    parts: tuple[str, ...] = NAMES.check(value)
    if not all(re.fullmatch(r"[^=]+=[1-9][0-9]{0,8}", part) for part in parts):
        raise ValueError("give NAME=SIZE, such as height=224,width=224")
    return parts


SIZES = Kind("NAME=SIZE", NAMES.read, _sizes, ("224", "height=0", "height=", "=3", "a=3x4", 3, *NAMES.bad))
BACKENDS = Kind("NAMES", NAMES.read, _backends, ("torhc", "torch,torch", "torch@", *NAMES.bad))


@dataclass(frozen=True)
class FrameworkOptions:
    """What is compared, on which models, and how they are mutated."""

    models: tuple[str, ...] = option(
        NAMES,
        "Models to begin from: .onnx or .json files, folders of them, FILE.py:function that returns (torch module, "
        f"example input), or {', '.join([*MODELS, EACH_OPERATOR])} (all; {EACH_OPERATOR} where nothing is swept)",
        Theme.WHAT,
        default=(),
        names_file=True,
        names_python=True,
    )
    backends: tuple[str, ...] = option(
        BACKENDS,
        "Who is compared, such as torch,jax,onnxruntime@/other/bin/python",
        Theme.FIRST,
        default=Derived(
            lambda facts: RUNTIMES if facts.given.get("no_mutation") else ("torch", "onnxruntime"),
            f"torch,onnxruntime; {','.join(RUNTIMES)} with --no-mutation",
        ),
    )
    no_mutation: bool = option(
        FLAG,
        "Compare the models as they are, node by node, and mutate nothing",
        Theme.FIRST,
        default=False,
        flags="--no-mutation",
    )
    shape: tuple[str, ...] = option(
        SIZES,
        "Sizes that .onnx files leave open, by their names there: height=224,width=224",
        Theme.WHAT,
        default=(),
    )
    inputs: str | None = option(
        TEXT,
        "An .npz file with arrays for .onnx files, by the names of their inputs (drawn)",
        Theme.WHAT,
        names_file=True,
    )
    phase: tuple[str, ...] = option(
        choices(lambda: PHASES, "a phase"),
        "What is compared: predict, train, or both",
        Theme.FIRST,
        default=("predict",),
    )
    operators: tuple[str, ...] = option(
        choices(lambda: OPERATORS, "an operator"),
        "What new layers and the sweep are made of: conv,max_pool (all)",
        Theme.MUTATION,
        default=(),
    )
    sweep: float | str = option(
        share_or(AUTO),
        "Share of models that are of one operator and drawn anew, not edited; auto: each operator once, then what pays",
        Theme.MUTATION,
        default=AUTO,
    )
    strategy: str = option(
        choice(lambda: EDIT_STRATEGIES),
        "How edits are chosen: greedy, genetic, mcmc, bandit, random",
        Theme.MUTATION,
        default="greedy",
    )
    order: str = option(
        choice(lambda: ORDERS),
        "Whom to mutate: by score, or depth or breadth first",
        Theme.SCHEDULING,
        default="score",
    )
    score: tuple[float, ...] = option(
        WEIGHTS,
        "What a model's coverage, late discovery and few mutations weigh",
        Theme.SCHEDULING,
        default=(1.0, 1.0, 1.0),
    )
    sample: int | None = option(COUNT, f"Models to each one that {' and '.join(SAMPLED)} get ({SAMPLE})", Theme.BUDGET)
    line_coverage: bool = option(
        FLAG,
        "Watch the lines of frameworks' own Python too (2x slower)",
        Theme.GUIDES,
        default=False,
        flags="--line-coverage",
    )
    known: str | None = option(
        TEXT,
        "TOML file of findings that are known, by signature, with a reason, besides those that ship",
        Theme.DEFECTS,
        names_file=True,
    )
    report_known: bool = option(
        FLAG,
        "Report also what is known, and say as what",
        Theme.DEFECTS,
        default=False,
        flags="--all",
    )
    unspecified: bool = option(
        FLAG,
        "Report also what NaN and infinity make where documentation leaves it open",
        Theme.DEFECTS,
        default=False,
        flags="--unspecified",
    )
    batch: int = option(HELD, "Models run at once", Theme.BUDGET, default=8)
    timeout: float = option(
        WAITED, "Longest time for one model on one backend", Theme.SAFETY, default=30.0, may_change=True
    )
    rss_limit: int | None = option(
        BYTES, "Most memory of one backend, such as 2G (3/4 of the machine's)", Theme.SAFETY, may_change=True
    )

    @property
    def places(self) -> list[Place]:
        return [Place.parse(text) for text in self.backends]

    @property
    def sizes(self) -> dict[str, int]:
        """Of axes, by the names that a file has for them."""
        return {name: int(size) for name, _, size in (text.rpartition("=") for text in self.shape)}

    @property
    def phases(self) -> list[str]:
        """In which backends run."""
        return [phase for name in PHASES if name in self.phase for phase in PHASES[name]]

    @property
    def weights(self) -> Weights:
        return Weights(*self.score)

    @property
    def sampled(self) -> dict[str, int]:
        """Of slow backends, how many graphs there are to each one that they run; all that are compared as they are."""
        graphs = self.sample or (1 if self.no_mutation else SAMPLE)
        return {place.name: graphs for place in self.places if place.backend in SAMPLED}

    @property
    def begin_from(self) -> tuple[str, ...]:
        """The models to begin from; a sweep makes those of one operator anyway."""
        swept = self.sweep != 0 and not self.no_mutation
        return self.models or (*MODELS, *(() if swept else (EACH_OPERATOR,)))


# All that `jostle frameworks` can be told.
FRAMEWORKS = Schema(FrameworkOptions, BudgetOptions, RunOptions, ScaleOptions)


def settled(given: Given) -> Settings:
    """The settings with nothing left open."""
    settings = FRAMEWORKS.settled(given, {}, Facts(given.values), unused=set())
    _refuse_contradictions(given, settings[FrameworkOptions])
    return settings


def _refuse_contradictions(given: Given, options: FrameworkOptions) -> None:
    backends = [place.backend for place in options.places]
    if options.order != "score" and "score" in given:
        raise UsageError(
            f"--score weighs models, which --order {options.order} does not look at: leave one of them out"
        )
    unheard = [name for name in OF_EDITS if name in given] if options.sweep == 1 else []
    if unheard:
        raise UsageError(f"--sweep 1 edits no model, and {flag_of(unheard[0])} says how: leave one of them out")
    needless = [name for name in OF_MUTATION if name in given] if options.no_mutation else []
    if needless:
        raise UsageError(f"--no-mutation compares every node once, without {flag_of(needless[0])}: leave it out")
    if "sample" in given and not set(SAMPLED) & set(backends):
        names = " and ".join(SAMPLED)
        raise UsageError(f"--sample is of {names}, none of which is among the backends: add one, or leave --sample out")
    trained = [name for name in backends if GRADIENT in lowering_named(name).phases]
    if "train" in options.phase and not trained:
        raise UsageError(
            f"none of {', '.join(backends)} trains: add torch, tensorflow, jax or paddle, or --phase predict"
        )
