"""A jostle.toml to begin with, which says of each option how it was told, and of others what to fill in."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import Any

import tomli_w

from jostle.commands.first_look import FirstLook, Trial
from jostle.composition.settle import FUZZ
from jostle.options.kinds import shown
from jostle.options.schema import Given
from jostle.subjects.image_shape import COLOURS
from jostle.subjects.subject import TakenInput
from jostle.task import Task

QUICK, NIGHTLY = "quick", "nightly"
HEAD = """\
# Options of `jostle fuzz` (see its --help) by their names; flags of a command line come before them.
#   jostle run          lists the campaigns below
#   jostle run quick    runs one; with a larger --budget, it goes on where it stopped"""
CONSENTS = {name: option for name, option in FUZZ.options.items() if option.consents}  # which no file gives
CHECK = "Check what the model was trained on."
APART = ("model", "seeds", "range", "mean", "std", "force")  # options with words of their own


def starter_config(look: FirstLook) -> str:
    """The whole file."""
    parts = [HEAD, *_shared(look), _quick(), _nightly(look)]
    return "\n\n".join(part for part in parts if part) + "\n"


def consent_flags(given: Given) -> list[str]:
    """What the user must go on to consent to on the command line."""
    return [CONSENTS[name].spelled(given.get(name)) for name in CONSENTS if given.get(name) in CONSENTS[name].consents]


def _shared(look: FirstLook) -> Iterator[str]:
    given = look.given
    yield _commented(_of_model(look), _set(model=given.get("model")))
    yield _commented(_of_seeds(look), _set(seeds=given.get("seeds")))
    consents = consent_flags(given)
    if consents:
        yield _comment(f"Give {' '.join(consents)} with each command: a file cannot consent for whoever runs it.")
    others = {name: value for name, value in given.values.items() if name not in (*APART, *CONSENTS)}
    if others:
        yield _commented("How the model is loaded, and how it takes the seeds.", _set(**others))
    if "range" in given:
        yield _commented(_of_range(look), _set(range=given.get("range")))
        yield _normalisation(look)
    if given.get("force"):
        yield _commented("Pre-flight has doubts about model and seeds, which this turns to warnings.", _set(force=True))


def _quick() -> str:
    return f"[campaign.{QUICK}]  # after each change\n{_set(budget='60s')}"


def _nightly(look: FirstLook) -> str:
    lines = [f"[campaign.{NIGHTLY}]", _set(budget="1h")]
    if look.recipe is not None:
        lines.append(_commented("Transformations that keep the meaning of images.", _set(recipe=look.recipe)))
        lines.append(_comment("Ranges of neurons are better taken from training data, a folder or file as seeds are:"))
        lines.append(_comment('profile = "TRAINING DATA"'))
    if look.twin is not None:
        words = "A twin that can be made of the model; its answers must agree."
        lines.append(_commented(words, _set(twin=[look.twin])))
    else:
        lines.append(_comment(f"{_why_no_twin(look)}Name what the model is compared with, such as its converted file:"))
        lines.append(_comment('twin = ["MODEL FILE"]'))
    return "\n".join(lines)


def _why_no_twin(look: FirstLook) -> str:
    return "".join(f"{name} cannot be compared with: {why}. " for name, why in look.twins_refused.items())


def _of_model(look: FirstLook) -> str:
    seen = look.inspection
    taken = "; ".join(_taken(one) for one in seen.inputs)
    given = ", ".join(f"{name} {_sizes(shape)}".strip() for name, shape in (seen.outputs or {}).items())
    told = [f"{seen.kind}, run by {seen.engine}", f"takes {taken}" if taken else "", f"gives {given}" if given else ""]
    task = Task(look.way.figures["task"])
    return "; ".join([*filter(None, told), "task unknown: add `task`" if task is Task.UNKNOWN else str(task)])


def _of_seeds(look: FirstLook) -> str:
    seeds, quality = look.seeds, look.way.figures["quality_on_seeds"]
    shape = "" if seeds.domain is not None else f" of {_sizes(seeds.inputs.shape[1:])}"  # others are packed into rows
    told = f"{len(seeds):,} seeds{shape}"
    if not look.labelled:
        return f"{told} without labels: what the model says of each is taken for its label where it has one."
    return f"{told}, {look.labelled:,} with a label{f'; {quality}' if quality else ''}."


def _of_range(look: FirstLook) -> str:
    told = "Lowest and highest value of inputs"
    if len(look.ways) > 1:
        tried = ", ".join(map(_of_way, look.ways))
        return (
            f"{told}{', told by the labels' if look.certain else ''}: {tried}. {'' if look.certain else CHECK}".strip()
        )
    return (
        f"{told}: what the seeds hold, so check it." if look.labelled else f"{told}: without labels, a guess. {CHECK}"
    )


def _of_way(way: Trial) -> str:
    name = " with ".join([shown(_plain(way.options["range"])), *(["mean and std"] if "mean" in way.options else [])])
    if way.refused is not None:
        return f"{name} is refused"
    return f"{name} gives {way.accuracy:.1%}" if way.accuracy is not None else f"{name} runs"


def _normalisation(look: FirstLook) -> str:
    given, channels = look.given, look.seeds.inputs.shape[1]
    if "mean" in given:
        words = "Per channel, subtracted from inputs and divided by before the model."
        return _commented(words, _set(mean=given.get("mean"), std=given.get("std")))
    if channels not in COLOURS:
        return ""
    fill_in = "If the model was trained on normalised inputs and does not do it itself, fill in, per channel:"
    return "\n".join(map(_comment, (fill_in, f"mean = {[0.5] * channels}", f"std = {[0.25] * channels}")))


def _taken(one: TakenInput) -> str:
    shape = "of unknown shape" if one.shape is None else _sizes(one.shape)
    return " ".join(part for part in (one.name, one.dtype, shape) if part)


def _sizes(shape: Sequence[int | None]) -> str:
    return "×".join("any" if size is None else str(size) for size in shape) or "one number"


def _set(**options: Any) -> str:
    return "\n".join(f"{name} = {_written(_plain(value))}" for name, value in options.items())


def _written(value: Any) -> str:
    """A value as TOML, all of it on one line."""
    if isinstance(value, list):
        return f"[{', '.join(map(_written, value))}]"
    return tomli_w.dumps({"_": value}).removeprefix("_ = ").rstrip()


def _plain(value: Any) -> Any:
    """A value as a person writes it into a file: whole numbers without a point."""
    if isinstance(value, tuple | list):
        return [_plain(one) for one in value]
    return int(value) if isinstance(value, float) and value.is_integer() else value


def _commented(words: str, setting: str) -> str:
    return f"{_comment(words)}\n{setting}"


def _comment(words: str) -> str:
    """Names in it may come from a stranger's file, and must not end the line."""
    return "# " + "".join(sign if sign.isprintable() else " " for sign in words)
