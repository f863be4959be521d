"""Jostle: coverage-guided fuzzing for neural networks and for the frameworks that run them."""

TYPE_CHECKING = False  # as in typing, whose import takes longer than all else before the command sees to interrupts

if TYPE_CHECKING:
    from jostle.api.fuzzing import fuzz
    from jostle.api.measuring import compare, coverage
    from jostle.api.replaying import replay
    from jostle.api.result import Result
    from jostle.campaign import Budget, Campaign
    from jostle.commands.coverage_meter import CoverageMeter
    from jostle.errors import JostleError, UsageError
    from jostle.feedback.gap import NearerToDisagreement
    from jostle.feedback.nearest import FarFromSeen
    from jostle.feedback.neurons import NeuronCoverage
    from jostle.mutators.ascent import Ascent
    from jostle.mutators.goals import AnotherClass, OneDeviates, TwinsDisagree
    from jostle.mutators.metamorphic import Metamorphic
    from jostle.mutators.mixed import Costed, Mixed
    from jostle.mutators.neuron_choice import NeuronChoice
    from jostle.mutators.noise import Noise
    from jostle.oracles.agreement import Agreement
    from jostle.oracles.comparisons import Close, SameTop
    from jostle.oracles.crash import NoCrash
    from jostle.oracles.labels import LabelKept
    from jostle.oracles.numeric import Finite
    from jostle.oracles.properties import Element, Property
    from jostle.oracles.unanimity import Unanimous
    from jostle.profile import Profile
    from jostle.records import Candidates, Seeds, Trace, Verdicts, Violation
    from jostle.schedulers.adaptive import WhereGainsCome
    from jostle.schedulers.batch_pool import BatchPool
    from jostle.schedulers.best_of_seed import BestOfSeed
    from jostle.schedulers.least_fuzzed import LeastFuzzed
    from jostle.schedulers.recent import NewestFew, SmoothRecency, Uniform
    from jostle.schedulers.seed_list import SeedList
    from jostle.schedulers.with_seeds import WithSeeds
    from jostle.step_records import StepRecord, Summary
    from jostle.storage.archive import Archive, open_archive
    from jostle.subjects.torch_target import TorchTarget
    from jostle.targets.contained import Contained
    from jostle.targets.panel import Panel
    from jostle.targets.twins import Twins

__version__ = "0.1.0"
__all__ = [
    "Agreement",
    "AnotherClass",
    "Archive",
    "Ascent",
    "BatchPool",
    "BestOfSeed",
    "Budget",
    "Campaign",
    "Candidates",
    "Close",
    "Contained",
    "Costed",
    "CoverageMeter",
    "Element",
    "FarFromSeen",
    "Finite",
    "JostleError",
    "LabelKept",
    "LeastFuzzed",
    "Metamorphic",
    "Mixed",
    "NearerToDisagreement",
    "NeuronChoice",
    "NeuronCoverage",
    "NewestFew",
    "NoCrash",
    "Noise",
    "OneDeviates",
    "Panel",
    "Profile",
    "Property",
    "Result",
    "SameTop",
    "SeedList",
    "Seeds",
    "SmoothRecency",
    "StepRecord",
    "Summary",
    "TorchTarget",
    "Trace",
    "Twins",
    "TwinsDisagree",
    "Unanimous",
    "Uniform",
    "UsageError",
    "Verdicts",
    "Violation",
    "WhereGainsCome",
    "WithSeeds",
    "compare",
    "coverage",
    "fuzz",
    "open_archive",
    "replay",
]

# Where each name is found once it is asked for: all of them need torch, whose import takes seconds.
_NAMES = {
    "api.fuzzing": ("fuzz",),
    "api.measuring": (
        "compare",
        "coverage",
    ),
    "api.replaying": ("replay",),
    "api.result": ("Result",),
    "campaign": (
        "Budget",
        "Campaign",
    ),
    "commands.coverage_meter": ("CoverageMeter",),
    "errors": (
        "JostleError",
        "UsageError",
    ),
    "feedback.gap": ("NearerToDisagreement",),
    "feedback.nearest": ("FarFromSeen",),
    "feedback.neurons": ("NeuronCoverage",),
    "mutators.ascent": ("Ascent",),
    "mutators.goals": (
        "AnotherClass",
        "OneDeviates",
        "TwinsDisagree",
    ),
    "mutators.metamorphic": ("Metamorphic",),
    "mutators.mixed": (
        "Costed",
        "Mixed",
    ),
    "mutators.neuron_choice": ("NeuronChoice",),
    "mutators.noise": ("Noise",),
    "oracles.agreement": ("Agreement",),
    "oracles.comparisons": (
        "Close",
        "SameTop",
    ),
    "oracles.crash": ("NoCrash",),
    "oracles.labels": ("LabelKept",),
    "oracles.numeric": ("Finite",),
    "oracles.properties": (
        "Element",
        "Property",
    ),
    "oracles.unanimity": ("Unanimous",),
    "profile": ("Profile",),
    "records": (
        "Candidates",
        "Seeds",
        "Trace",
        "Verdicts",
        "Violation",
    ),
    "schedulers.adaptive": ("WhereGainsCome",),
    "schedulers.batch_pool": ("BatchPool",),
    "schedulers.best_of_seed": ("BestOfSeed",),
    "schedulers.least_fuzzed": ("LeastFuzzed",),
    "schedulers.recent": (
        "NewestFew",
        "SmoothRecency",
        "Uniform",
    ),
    "schedulers.seed_list": ("SeedList",),
    "schedulers.with_seeds": ("WithSeeds",),
    "step_records": (
        "StepRecord",
        "Summary",
    ),
    "storage.archive": (
        "Archive",
        "open_archive",
    ),
    "subjects.torch_target": ("TorchTarget",),
    "targets.contained": ("Contained",),
    "targets.panel": ("Panel",),
    "targets.twins": ("Twins",),
}
_MODULES = {name: module for module, names in _NAMES.items() for name in names}


def __getattr__(name: str) -> object:
    if name not in _MODULES:
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    from importlib import import_module

    return getattr(import_module(f"{__name__}.{_MODULES[name]}"), name)


def __dir__() -> list[str]:
    return sorted({*globals(), *__all__})
