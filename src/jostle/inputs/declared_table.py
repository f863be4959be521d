"""What a domain file says of a table, over what its seeds say."""

from __future__ import annotations

from collections.abc import Collection, Iterator
from dataclasses import replace
from typing import Any

from jostle.errors import UsageError
from jostle.inputs.domain_files import Section
from jostle.inputs.inferred_table import inferred_table
from jostle.inputs.table import SHOWN_COLUMNS, Table
from jostle.inputs.table_columns import Column, ColumnKind
from jostle.inputs.table_groups import Group, Together
from jostle.options.choices import nearest
from jostle.records import Seeds

KINDS = tuple(str(kind) for kind in ColumnKind)
COLUMN, SUMS, ORDERED = "column", "sums_to_one", "ordered"


def declared_table(section: Section, seeds: Seeds) -> Table:
    """The table of a file; what it leaves out is as in the seeds."""
    if seeds.inputs.ndim != 2:
        shape = list(seeds.inputs.shape[1:])
        raise section.wrong("kind", f'seeds of shape {shape} are no table of columns: write kind = "array" or "image"')
    section.only("kind", COLUMN, SUMS, ORDERED)
    own = seeds.domain if isinstance(seeds.domain, Table) else inferred_table(seeds.inputs)
    told = section.sections(COLUMN)
    for name in told:
        if name not in own.names:
            raise section.wrong(COLUMN, _no_column(name, own.names))
    columns = [_column(told[one.name], one) if one.name in told else one for one in own.columns]
    if SUMS in section or ORDERED in section:
        groups = tuple(_groups(section, columns))
    else:
        groups = tuple(group for group in own.groups if _holds(group, columns))
    return Table(tuple(_tightened(columns, groups)), groups, own.label)


def _no_column(name: str, names: Collection[str]) -> str:
    near = nearest(name, names)
    hint = f"did you mean {near}?" if near else f"the seeds have {', '.join(list(names)[:SHOWN_COLUMNS])}"
    return f"there is no column {name}: {hint}"


def category_orders(section: Section) -> dict[str, list[str]]:
    """The values of categories that are text, by column, in the order that gives their codes."""
    values = {name: column.items("values") for name, column in section.sections(COLUMN).items()}
    return {name: given for name, given in values.items() if given and all(isinstance(one, str) for one in given)}


def _column(section: Section, own: Column) -> Column:
    section.only("kind", "low", "high", "values", "fixed")
    kind = ColumnKind(section.text("kind", KINDS, str(own.kind)))
    fixed = section.flag("fixed", own.fixed and not {"kind", "low", "high", "values"} & section.values.keys())
    if kind is ColumnKind.CATEGORY:
        return _category(section, own, fixed)
    if "values" in section:
        raise section.wrong("values", f'a column of kind "{kind}" has low and high: write kind = "category"')
    if own.labels:
        raise section.wrong("kind", 'the column holds text: write kind = "category"')
    if kind is ColumnKind.BOOLEAN:
        return Column(own.name, kind, 0.0, 1.0, fixed)
    low, high = section.number("low", own.low), section.number("high", own.high)
    if low > high:
        raise section.wrong("low", f"{low:g} is above high, which is {high:g}")
    if kind is ColumnKind.INTEGER and not (low.is_integer() and high.is_integer()):
        raise section.wrong("low", "integers have whole numbers as low and high")
    return Column(own.name, kind, low, high, fixed)


def _category(section: Section, own: Column, fixed: bool) -> Column:
    for key in {"low", "high"} & section.values.keys():
        raise section.wrong(key, "a category has values = [...]")
    values = section.items("values")
    if not values and own.codes:
        return replace(own, fixed=fixed)
    if values and all(isinstance(one, str) for one in values) and own.labels and len(set(values)) == len(values):
        codes = tuple(map(float, range(len(values))))
        return Column(own.name, ColumnKind.CATEGORY, 0.0, codes[-1], fixed, codes, tuple(values))
    numbers = sorted(set(section.numbers("values")))
    if own.labels or len(numbers) != len(values):
        raise section.wrong("values", "give each value once, as text where the seeds hold text, else as numbers")
    return Column(own.name, ColumnKind.CATEGORY, numbers[0], numbers[-1], fixed, tuple(numbers))


def _groups(section: Section, columns: list[Column]) -> Iterator[Group]:
    places = {column.name: place for place, column in enumerate(columns)}
    taken: set[str] = set()
    for key in (SUMS, ORDERED):
        for names in section.items(key):
            _check_group(section, key, names, places, taken)
            members = tuple(places[name] for name in names)
            together = _together(key, [columns[place].kind for place in members])
            if together is None or any(columns[place].fixed for place in members):
                raise section.wrong(key, f"{', '.join(names)}: {_FITTING[key]}, and none that is fixed")
            taken.update(names)
            yield Group(together, members)


_FITTING = {
    SUMS: "give columns that are all real, or all boolean",
    ORDERED: "give columns that are all real, or all integer",
}


def _check_group(section: Section, key: str, names: Any, places: dict[str, int], taken: set[str]) -> None:
    if not isinstance(names, list) or len(names) < 2 or not all(isinstance(name, str) for name in names):
        raise section.wrong(key, 'give lists of at least two columns, such as [["a", "b"]]')
    for name in names:
        if name not in places:
            raise section.wrong(key, _no_column(name, places))
        if name in taken or names.count(name) > 1:
            raise section.wrong(key, f"column {name} stands in two groups: name it once")


def _together(key: str, kinds: list[ColumnKind]) -> Together | None:
    """What columns of these kinds are together, None if they do not fit."""
    if len(set(kinds)) > 1:
        return None
    fits = {
        SUMS: {ColumnKind.REAL: Together.SHARES, ColumnKind.BOOLEAN: Together.ONE_HOT},
        ORDERED: {ColumnKind.REAL: Together.ORDERED, ColumnKind.INTEGER: Together.ORDERED},
    }
    return fits[key].get(kinds[0])


def _holds(group: Group, columns: list[Column]) -> bool:
    """Whether a group that the seeds show goes with what the file says of its columns."""
    members = [columns[place] for place in group.columns]
    kind = ColumnKind.BOOLEAN if group.together is Together.ONE_HOT else ColumnKind.REAL
    return all(column.kind is kind and not column.fixed for column in members)


def _tightened(columns: list[Column], groups: tuple[Group, ...]) -> list[Column]:
    """Ordered columns with ends that are in order too, which their values keep to anyway."""
    tight = list(columns)
    for group in groups:
        if group.together is Together.ORDERED:
            lows, highs = ([getattr(columns[place], end) for place in group.columns] for end in ("low", "high"))
            for number, place in enumerate(group.columns):
                low, high = max(lows[: number + 1]), min(highs[number:])
                if low > high:
                    raise UsageError(
                        f"--domain: column {columns[place].name} leaves no room between those it is ordered with"
                    )
                tight[place] = replace(columns[place], low=low, high=high)
    return tight
