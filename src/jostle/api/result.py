"""What came of a campaign, for scripts, notebooks and tests."""

from __future__ import annotations

import shlex
from collections.abc import Callable, Iterable
from dataclasses import dataclass, field
from functools import cached_property
from html import escape
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np
from torch import Tensor

from jostle.api.figures import figure_of
from jostle.api.tables import table_of
from jostle.code_points import as_texts
from jostle.commands.triage import Triaged
from jostle.errors import UsageError
from jostle.inputs.tokens import TEXT
from jostle.options.choices import unknown
from jostle.report.contents import Contents
from jostle.report.input_form import WHOLE, InputForm, InputForms, read_forms
from jostle.session.session import Ended
from jostle.step_records import Summary
from jostle.storage.campaign_record import COPY, read_campaign
from jostle.storage.defect_record import Defect
from jostle.storage.defects import DEFECTS
from jostle.storage.findings import MINIMISED, PICTURE, SCRIPT, UNREADABLE, array_in
from jostle.triage import kinds
from jostle.triage.failure import failure_text
from jostle.triage.words import counted

if TYPE_CHECKING:
    from pandas import DataFrame
    from plotly.graph_objects import Figure

NOT_KEPT = "give jostle.fuzz a folder, out=FOLDER, and it keeps what shows it"
ARRAYS = ("seed", "reference", "input", MINIMISED)


@dataclass(eq=False)
class Result:
    """The defects of a campaign, ranked, and its folder, which goes with the result unless `out` named one."""

    triaged: Triaged = field(repr=False)
    ended: Ended = field(repr=False)
    warnings: tuple[str, ...] = ()
    temporary: bool = False  # the folder goes with this
    check: Callable[[Result, list[str]], None] | None = field(default=None, repr=False)  # in place of `refuse`

    @property
    def folder(self) -> Path:
        return self.triaged.folder

    @property
    def defects(self) -> list[Defect]:
        """What was found, grouped by cause, what matters most first."""
        return self.triaged.defects

    @property
    def summary(self) -> Summary:
        return self.ended.summary

    @property
    def interrupted(self) -> bool:
        """Whether somebody stopped it before its budget was spent."""
        return self.ended.stopped

    def inputs(self, defect: Defect | str) -> dict[str, Any]:
        """The arrays of the finding that shows a defect best: `input`, `reference`, and where there are such, `seed`,
        which was moved to make the reference, and `minimised`.

        Each is one input without a batch: an array, the text of a text, or for a model of several inputs a dict of
        those by their names.
        """
        folder = self.place(defect)
        if not folder.is_dir():
            raise UsageError(f"{folder} is gone, and the inputs with it: run the campaign again")
        try:
            known = {name: array_in(folder, name) for name in ARRAYS}
            forms = read_forms(self.folder, read_campaign(folder, COPY).origin.layout)
        except UNREADABLE as error:
            raise UsageError(f"{folder} cannot be read ({error})") from error
        return {name: _as_given(forms, array) for name, array in known.items() if array is not None}

    def defect(self, named: Defect | str) -> Defect:
        """The defect of this name."""
        name = named.name if isinstance(named, Defect) else str(named)
        for defect in self.defects:
            if defect.name == name:
                return defect
        raise UsageError(f"defect {unknown(name, [defect.name for defect in self.defects])}")

    def script(self, defect: Defect | str) -> Path | None:
        """The script that fails while the defect is there; None where the model was an object of this process."""
        path = self.place(defect) / SCRIPT
        return path if path.is_file() else None

    def picture(self, defect: Defect | str) -> Path | None:
        """The picture of a defect; None where its inputs are neither images nor sounds."""
        path = self.place(defect) / PICTURE
        return path if path.is_file() else None

    def place(self, defect: Defect | str) -> Path:
        """The folder of a defect, with all of the finding that shows it best."""
        return self.folder / DEFECTS / self.defect(defect).name

    def to_pandas(self) -> DataFrame:
        """A row for each defect."""
        return table_of(self.defects)

    def figure(self, what: str = "matrix", defect: Defect | str | None = None) -> Figure:
        """A picture of the campaign (`matrix` of labels, `coverage`, `progress`, `mutations`), or of a defect, the
        first unless another is named (`lineage`, `layers`)."""
        return figure_of(what, self._contents, None if defect is None else self.defect(defect).name)

    def report(self, path: str | Path | None = None) -> Path:
        """Writes the page that explains everything, which needs nothing but a browser."""
        from jostle.commands.report import write_report

        return write_report(self.folder, None if path is None else Path(path))

    def assert_clean(self, allow: Iterable[str] = ()) -> None:
        """Fails if there is any defect but for those allowed: kinds (`flip`) or names (`flip-4-to-9-*`)."""
        __tracebackhide__ = True
        check = self.check or Result.refuse
        check(self, [allow] if isinstance(allow, str) else list(allow))

    def refuse(self, allowed: list[str]) -> None:
        """What `assert_clean` does where no test suite has a say."""
        __tracebackhide__ = True
        left = self.other_than(allowed)
        if left:
            kept = failure_text(left, lambda defect: [] if self.temporary else [self.command(defect)])
            raise AssertionError(f"{kept}\n{NOT_KEPT}" if self.temporary else kept)

    def other_than(self, allowed: Iterable[str]) -> list[Defect]:
        """The defects but for those of these kinds or names."""
        return [defect for defect in self.defects if not matches(defect, allowed)]

    def command(self, defect: Defect | str) -> str:
        """What shows a defect on a command line."""
        if self.temporary:
            return NOT_KEPT
        script, place = self.script(defect), self.place(defect)
        return shlex.join(["python", str(script)] if script else read_campaign(place, COPY).replay_call(place))

    @cached_property
    def _contents(self) -> Contents:
        from jostle.commands.report import contents_of

        return contents_of(self.folder)

    def __repr__(self) -> str:
        return f"<Result: {self._in_short()}>"

    def _in_short(self) -> str:
        return f"{counted(len(self.defects), 'defect')} in {counted(self.summary.executions, 'input')}"

    def _repr_html_(self) -> str:
        """As notebooks show it."""
        head = f"<p><b>{self._in_short()}</b></p>"
        rows = "".join(
            f"<tr><td>{escape(one.cause.kind)}</td><td style='text-align:left'>{escape(one.title)}</td>"
            f"<td>{one.seeds:,}</td><td>{one.weight:.2f}</td><td>{escape(one.name)}</td></tr>"
            for one in self.defects
        )
        names = "".join(f"<th>{name}</th>" for name in ("kind", "defect", "seeds", "weight", "name"))
        return f"{head}<table><thead><tr>{names}</tr></thead><tbody>{rows}</tbody></table>" if rows else head


def _as_given(forms: InputForms, row: Tensor) -> Any:
    """One input [...] as the model's caller would give it: several by their names, texts as such."""
    if forms.layout is None:
        return _readable(forms.of(WHOLE), row)
    parts = forms.layout.unpacked(row[None])
    return {name: _readable(forms.of(name), part[0]) for name, part in parts.items()}


def _readable(form: InputForm, values: Tensor) -> np.ndarray[Any, Any] | str:
    return as_texts(values[None].long())[0] if form.kind == TEXT else values.numpy()


def matches(defect: Defect, patterns: Iterable[str]) -> bool:
    """Whether a defect is of one of these kinds or names, which may hold `*`."""
    return any(kinds.matches(pattern, defect.cause.kind, defect.name) for pattern in patterns)
