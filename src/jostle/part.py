"""A part of a fuzzer that a user can name: what it is, which options it reads, and how it is made."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from enum import Enum
from typing import Generic, TypeVar

from torch import Tensor

from jostle.domain import Domain
from jostle.errors import UsageError
from jostle.interfaces import Differentiable
from jostle.options.schema import Settings
from jostle.profile import Profile
from jostle.records import ALL_OF_IT, TWIN, Seeds, Share
from jostle.task import NO_LABEL_READING, LabelReading

TRIED = 16  # seeds, before a model that fails on all of them is taken not to fit them
Made = TypeVar("Made", covariant=True)


@dataclass(frozen=True)
class PartContext:
    """What a part may be made from besides options."""

    seeds: Seeds
    classes: int = 0  # how many class scores the model gives, 0 if it gives none
    reading: LabelReading = NO_LABEL_READING  # how labels are read from outputs
    novelty_layers: Sequence[str] = ()  # where nearest neighbours look
    profile: Profile | None = None  # ranges of all neurons, where a criterion measures against them
    incoming: Mapping[str, Tensor] = field(
        default_factory=dict
    )  # by layer, [neurons] strength of the weights into each
    embedding: Tensor | None = None  # [vocabulary, dimensions] where the model looks tokens up, if it does
    gradients: Differentiable | None = None  # what the model raises, it raises
    contained: Callable[[Tensor], Differentiable] | None = None  # by a sample [batch, ...]: the same without raising

    measures_only: bool = False  # data is measured, and nothing is kept or gone on with
    twins: Mapping[str, str] = field(default_factory=dict)  # by variant of the outputs, what the user calls the twin
    share: Share = ALL_OF_IT  # of the work, where several workers do it
    compared: str = TWIN  # the variant that a part which is made for each twin compares with

    @property
    def domain(self) -> Domain:
        """What inputs may be."""
        assert self.seeds.domain is not None, "known once seeds are cleared"
        return self.seeds.domain

    @property
    def answer_shape(self) -> tuple[int, ...]:
        """The shape of what the model says of one seed."""
        assert self.seeds.answers is not None, "known once seeds are cleared"
        return tuple(self.seeds.answers.shape[1:])

    def unfit(self, oracle: str, needs: str) -> UsageError:
        """What to say where an oracle cannot judge such answers."""
        given = ", ".join(("batch", *map(str, self.answer_shape)))
        return UsageError(
            f"--oracle {oracle} needs {needs}, and this model gives [{given}]: name another output with --output, or "
            f"leave {oracle} out"
        )


class ComparedWith(Enum):
    """What an oracle holds an answer against; it is rightly the same only near the seed."""

    NOTHING = "nothing"
    SEED = "what the model says of the seed"
    VARIANT = "what another model says of the same input"


def nothing_to_settle(settings: Settings, seeds: Seeds) -> Settings:
    return settings


@dataclass(frozen=True)
class Part(Generic[Made]):
    """A part by its name: its line in `jostle list`, the dataclasses of options that it reads, and how it is made."""

    line: str
    make: Callable[[Settings, PartContext], Made]
    options: tuple[type, ...] = ()
    settle: Callable[[Settings, Seeds], Settings] = nothing_to_settle  # what seeds and answers tell, for the record
    cost: float = 1  # of a mutant, in passes of the model
    neurons: bool = False  # it looks at the neurons of all layers
    extremes: bool = False  # it needs the smallest and the largest value of each layer
    ranges: bool = False  # it needs a profile
    per_twin: bool = False  # it is made for each twin
    plans_ahead: bool = False  # a scheduler or mutator that can plan without knowing the results of the previous step
    bounded: bool = False  # it needs the ends of the values' range
    compares: ComparedWith = ComparedWith.NOTHING  # an answer with what, if it is an oracle


def kind_beside(name: str, variant: str) -> str:
    """What findings of an oracle are called that was made for one of several twins."""
    return name if variant == TWIN else f"{name} {variant}"


def first_line(described: object) -> str:
    """What the docstring of a class or function says first."""
    return (described.__doc__ or "").strip().splitlines()[0]
