"""`jostle inspect`: what a model takes and gives, its layers, and the command line to start with."""

from __future__ import annotations

import json
from collections.abc import Sequence
from dataclasses import asdict

from rich.markup import escape
from rich.table import Table

from jostle.cli.flags import AsJson, Flags, taking
from jostle.cli.in_subprocess import in_sandbox, in_subprocess_if_from_file
from jostle.cli.terminal import output, say
from jostle.commands.inspect_model import Inspection, inspected
from jostle.commands.options_taken import OF_MODEL
from jostle.composition.settle import FUZZ
from jostle.subjects.subject import TakenInput
from jostle.visible import visible

OF_SEEDS = ("seeds", "range", "mean", "std", "layout", "channels", "size", "length", "tokenizer", "pad")


@in_subprocess_if_from_file(lambda model, weights, **_: [model, *filter(None, [weights])])
@taking(FUZZ, (*OF_MODEL, *OF_SEEDS), argument="model", required=True)
def inspect(flags: Flags, as_json: AsJson = False) -> None:
    """Show what a model takes and gives, its layers and neurons, and the command line to start with.

    It runs once, on a seed if there are --seeds, else on zeros.
    """
    given = FUZZ.parsed(FUZZ.read(flags))
    with in_sandbox(given):
        inspection = inspected(given)
    if as_json:
        print(json.dumps(asdict(inspection)))
    else:
        _show(inspection)


def _show(inspection: Inspection) -> None:
    console = output()
    table = Table(show_header=False, box=None, padding=(0, 2))
    for name, value in _rows(inspection):
        table.add_row(f"[bold]{name}[/bold]", escape(visible(value)))
    console.print(table)
    if inspection.layers:
        layers = Table("layer", "shape", "neurons", box=None, padding=(0, 2))
        for layer in inspection.layers:
            layers.add_row(
                escape(visible(layer.name)), _sizes(layer.shape), "" if layer.neurons is None else f"{layer.neurons:,}"
            )
        console.print(layers)
    say(console, f"start with: {inspection.command}")


def _rows(inspection: Inspection) -> list[tuple[str, str]]:
    rows = [("model", f"{inspection.kind}, run by {inspection.engine}")]
    rows += [("input", _input(one)) for one in inspection.inputs]
    rows += [("output", f"{name} {_sizes(shape)}".strip()) for name, shape in (inspection.outputs or {}).items()]
    rows += [("batch", "any" if inspection.batch is None else f"{inspection.batch} at a time")]
    if inspection.weights is not None:
        rows.append(("weights", f"{inspection.weights:,}"))
    if inspection.layers is not None:
        rows.append(("layers", f"{len(inspection.layers)}"))
    rows.append(("twins", ", ".join(inspection.twins) or "none that can be made; give a file as --twin"))
    return [*rows, *([("unknown", inspection.note)] if inspection.note else [])]


def _input(one: TakenInput) -> str:
    shape = "of unknown shape" if one.shape is None else _sizes(one.shape)
    return " ".join(part for part in (one.name, one.dtype, shape) if part)


def _sizes(shape: Sequence[int | None]) -> str:
    return "×".join("any" if size is None else str(size) for size in shape) or "one number"
