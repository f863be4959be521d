"""`jostle list`: every part a user can name."""

from __future__ import annotations

import json
from collections.abc import Iterator, Mapping
from typing import Annotated, Any

import typer
from rich.markup import escape
from rich.table import Table

from jostle.catalogue import CRITERIA, MUTATORS, ORACLES, OWN_PROPERTY, SCHEDULERS
from jostle.cli.terminal import output
from jostle.composition.recipe import Recipe
from jostle.errors import UsageError
from jostle.frameworks.backends.all_backends import LOWERINGS
from jostle.frameworks.edits.all_edits import edits_with
from jostle.frameworks.edits.edit import Edit
from jostle.frameworks.operators.all_operators import OPERATORS
from jostle.frameworks.operators.operator import Operator
from jostle.frameworks.strategies.all_strategies import EDIT_STRATEGIES
from jostle.mutators.neuron_choice import STRATEGIES
from jostle.mutators.perturbations import PERTURBATIONS
from jostle.mutators.transforms import TRANSFORMS, Affine, Filter, Linear, described
from jostle.oracles.properties import Property
from jostle.own_parts import Parts, origin_of
from jostle.part import Part, first_line
from jostle.recipes.all_recipes import RECIPES
from jostle.subjects.registry import KINDS, TWINS, added_kinds
from jostle.subjects.subject import SubjectKind

CATALOGUE: Mapping[str, Mapping[str, object]] = {
    "recipe": RECIPES,
    "mutator": MUTATORS,
    "transform": TRANSFORMS,
    "strategy": STRATEGIES,
    "perturbation": PERTURBATIONS,
    "coverage": CRITERIA,
    "oracle": ORACLES,
    "scheduler": SCHEDULERS,
    "twin": TWINS,
    "backend": LOWERINGS,
    "edit": edits_with(list(OPERATORS.values())),
    "choice of edits": EDIT_STRATEGIES,
    "operator": OPERATORS,
}


def list_parts(as_json: Annotated[bool, typer.Option("--json", help="Print one JSON object.")] = False) -> None:
    """List every part that has a name, from recipes to operators of frameworks, with one line each."""
    lines = {"model": dict(_models()), **{kind: dict(_lines(parts)) for kind, parts in CATALOGUE.items()}}
    lines["oracle"][OWN_PROPERTY] = _line(Property)
    if as_json:
        print(json.dumps(lines))
        return
    table = Table(show_header=False, box=None, padding=(0, 2))
    for kind, parts in lines.items():
        for number, (name, line) in enumerate(parts.items()):
            table.add_row(f"[bold]{kind}[/bold]" if number == 0 else "", name, escape(line))
    output().print(table)


def _models() -> Iterator[tuple[str, str]]:
    """Every kind of model with what runs it; those that packages add say which package."""
    yield from ((kind.name, _line_of_kind(kind)) for kind in KINDS)
    for added in added_kinds():
        kind, origin = added.found, f"(from {origin_of(added.point)})"
        if isinstance(kind, SubjectKind):
            yield kind.name, f"{_line_of_kind(kind)} {origin}"
        else:
            yield added.point.name, f"{kind}: uninstall it {origin}"


def _line_of_kind(kind: SubjectKind) -> str:
    source = "Python objects" if kind.load is None else "files"
    engines = f", run by {' or '.join(kind.engines)}" if kind.engines else ""
    twins = f"; twins {', '.join(kind.twins)}" if kind.twins else ""
    return f"{source}{engines}{twins}"


def _lines(parts: Mapping[str, object]) -> Iterator[tuple[str, str]]:
    """Every part with its line; those that packages add say which package."""
    if not isinstance(parts, Parts):
        yield from ((name, _line(part)) for name, part in parts.items())
        return
    yield from ((name, part.line) for name, part in parts.ours.items())
    for name, added in parts.added.items():
        yield name, f"{_line_added(parts, name)} (from {origin_of(added)})"


def _line_added(parts: Parts[Any], name: str) -> str:
    try:
        return parts[name].line
    except UsageError as error:
        return str(error)


def _line(part: object) -> str:
    if isinstance(part, str):
        return part
    if isinstance(part, Part | Recipe):
        return part.line
    if isinstance(part, Linear | Filter | Affine):
        return described(part)
    return part.meaning if isinstance(part, Edit | Operator) else first_line(part)
