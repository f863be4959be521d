"""What each kind of defect is, in words for somebody who runs no fuzzer."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from fnmatch import fnmatchcase


@dataclass(frozen=True)
class KindWords:
    """A kind in words."""

    one: str  # what one defect of it is
    several: str
    meaning: str  # a sentence: what is wrong
    advice: str  # a sentence: what to look at


# By the first word of a kind.
KINDS: Mapping[str, KindWords] = {
    "flip": KindWords(
        "way to change its answer without changing the meaning",
        "ways to change its answer without changing the meaning",
        "A change that keeps the meaning of an input changes the model's answer to a wrong one.",
        "Train with such changes, or keep inputs of this sort away from the model.",
    ),
    "agree": KindWords(
        "disagreement with its twin",
        "disagreements with its twin",
        "The model and its twin (converted, quantised or compiled) answer an input differently.",
        "Look at the layer where the twin departs, and convert or quantise it with more care.",
    ),
    "differ": KindWords(
        "disagreement between models",
        "disagreements between models",
        "Models of the same task answer an input differently.",
        "Look at the input to see which of them is wrong.",
    ),
    "nan": KindWords(
        "way to make it compute with NaN or infinity",
        "ways to make it compute with NaN or infinity",
        "The model computes NaN or infinity from an input that is finite.",
        "Bound what goes into the layer that is named: a division, logarithm, root or exponential.",
    ),
    "crash": KindWords(
        "crash",
        "crashes",
        "An input that is allowed raises an exception, or ends the process that runs the model.",
        "Run the script of the defect, which shows the traceback.",
    ),
    "hang": KindWords(
        "computation that never ends",
        "computations that never end",
        "A computation does not end in the time that it is given.",
        "Run the script of the defect with a debugger attached.",
    ),
    "moved": KindWords(
        "prediction that moves too far",
        "predictions that move too far",
        "A small change of an input moves the predicted number farther than it should.",
        "Look for a threshold or a steep place in the model near the seed.",
    ),
    "masks": KindWords(
        "mask that is not kept",
        "masks that are not kept",
        "A change that keeps the meaning of an image changes the mask that the model gives it.",
        "Train with such changes, and look at the class that is lost.",
    ),
    "boxes": KindWords(
        "detection that is not kept",
        "detections that are not kept",
        "A change that keeps the meaning of an image makes a detection appear, vanish or change its class.",
        "Train with such changes, and look at the class that is named.",
    ),
    "embedding": KindWords(
        "embedding that moves too far",
        "embeddings that move too far",
        "A change that keeps the meaning of an input moves its embedding farther than it should.",
        "Train with such changes, or compare embeddings with a lower threshold.",
    ),
    "sequence": KindWords(
        "sequence of answers that is not kept",
        "sequences of answers that are not kept",
        "A change that keeps the meaning of an input changes the sequence that the model answers.",
        "Look at the first place where the two sequences part.",
    ),
    "property": KindWords(
        "violated property",
        "violated properties",
        "A property of your own does not hold for an input.",
        "Run the script of the defect, and look at what the property sees.",
    ),
    "values": KindWords(
        "wrong result",
        "wrong results",
        "A framework computes other values than the exact reference and its peers.",
        "Run the reduced script of the defect, and report it to the framework.",
    ),
    "gradient": KindWords(
        "wrong gradient",
        "wrong gradients",
        "A framework computes another gradient than the exact reference and its peers.",
        "Run the reduced script of the defect, and report it to the framework.",
    ),
    "training": KindWords(
        "wrong training step",
        "wrong training steps",
        "A framework's training step ends elsewhere than that of the exact reference and its peers.",
        "Run the reduced script of the defect, and report it to the framework.",
    ),
    "compiled": KindWords(
        "compiled otherwise than eager",
        "compiled otherwise than eager",
        "A framework computes other results compiled than in its eager mode.",
        "Run the reduced script of the defect, and report it to the framework.",
    ),
    "unspecified": KindWords(
        "difference that documentation leaves open",
        "differences that documentation leaves open",
        "A framework makes of NaN or infinity something else than others, and nothing says what is right.",
        "Ask the framework what it means to do, or leave --unspecified out.",
    ),
    "nonfinite": KindWords(
        "NaN or infinity where there should be none",
        "NaNs or infinities where there should be none",
        "A framework computes NaN or infinity where the exact result is finite, or the other way round.",
        "Run the reduced script of the defect, and report it to the framework.",
    ),
    "type": KindWords(
        "result of the wrong shape or type",
        "results of the wrong shape or type",
        "A framework gives a result of another shape or type than it should.",
        "Run the reduced script of the defect, and report it to the framework.",
    ),
}


def family(kind: str) -> str:
    """The kind without the twin that it is about: agree of "agree int8"."""
    return kind.partition(" ")[0]


def matches(pattern: str, kind: str, name: str) -> bool:
    """Whether a pattern, which may hold `*`, is of this kind of defect, of its family or of its name."""
    return any(fnmatchcase(one, pattern) for one in (kind, family(kind), name))


def words_of(kind: str) -> KindWords:
    """A kind in words; one that nobody knows is called by its name."""
    named = f"of kind {kind}"
    unknown = KindWords(named, named, f"A defect of kind {kind}.", "Run the script of the defect.")
    return KINDS.get(family(kind), unknown)


def kind_words(kind: str, count: int = 1) -> str:
    """One or several defects of a kind."""
    words = words_of(kind)
    return words.one if count == 1 else words.several
