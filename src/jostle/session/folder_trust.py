"""A campaign's folder is data: what it names is executed only if it is known to be the user's own.

Code is the user's own if the user typed its name, if the project that the user works in names it in its own files, or
if an earlier run of the user's executed the same object of the same file in the same role; else never, and never if it
lies in the folder itself.
"""

from __future__ import annotations

import os
from collections.abc import Collection, Iterable, Iterator, Sequence
from dataclasses import dataclass, field
from functools import cached_property
from pathlib import Path

from jostle.catalogue import PARTS
from jostle.composition.settle import ON_FOLDER
from jostle.digests import digest_of_place
from jostle.errors import UsageError
from jostle.held import was_held
from jostle.named_objects import code_file, names_object
from jostle.options.campaign import FolderOptions, ModelOptions
from jostle.options.named_campaigns import tables_in
from jostle.options.schema import Given
from jostle.storage.campaign_record import CONFIG
from jostle.storage.findings import FINDINGS, FLAKY
from jostle.storage.trusted_campaigns import ExecutedCode, KnownCode, TrustedCampaign, known_code, remember
from jostle.subjects.registry import is_file
from jostle.zoo import __all__ as SHIPPED

ZOO = "jostle.zoo"
MODELS = ("model", "twin", "models")  # options whose files can execute code, once that is consented to
NAMING_PYTHON = tuple(name for name, option in ON_FOLDER.options.items() if option.names_python)
NAMING_FILES = tuple(name for name, option in ON_FOLDER.options.items() if option.names_file or option.names_python)
SHOWN = 4  # names in one line


@dataclass(frozen=True)
class NamedCode:
    """What would be executed, and for which option."""

    option: str
    spec: str  # FILE.py:name or module:name, or a model file

    @property
    def file(self) -> Path | None:
        if names_object(self.spec):
            return code_file(self.spec)
        return Path(self.spec) if Path(self.spec).exists() else None

    @property
    def name(self) -> str:
        return self.spec.rpartition(":")[2] if names_object(self.spec) else ""

    @property
    def executed(self) -> ExecutedCode | None:
        """As a record has it; None where there is no file."""
        file = self.file
        if file is None:
            return None
        return ExecutedCode(self.option, str(file.resolve()), self.name, digest_of_place(file))

    def __str__(self) -> str:
        file = self.file
        place = self.spec if file is None else f"{file.absolute()}{f':{self.name}' if self.name else ''}"
        return f"{self.option} {place}"


def code_in(given: Given) -> Iterator[NamedCode]:
    """All that loading what these options name would execute, but for objects of a script and networks of ours."""
    trusted = given.of(ModelOptions).trust_model
    for option, spec in _specs(given):
        is_code = names_object(spec) or (trusted and option in MODELS and is_file(spec))
        if is_code and not was_held(spec) and not ships(spec):
            yield NamedCode(option, spec)


def options_naming_code(given: Given) -> list[str]:
    """Options that name Python, be it an object of a script."""
    return list(dict.fromkeys(option for option, spec in _specs(given) if names_object(spec)))


def _specs(given: Given) -> Iterator[tuple[str, str]]:
    """What each option names that could be Python; a part that a package adds is called by its module."""
    for option in NAMING_PYTHON:
        for text in given.texts(option):
            added = PARTS[option].added.get(text) if option in PARTS else None
            yield option, text if added is None else f"{added.module}:{added.attr}"


def ships(spec: str) -> bool:
    """Whether it is a network or data that comes with Jostle."""
    place, _, name = spec.rpartition(":")
    return place == ZOO and name in SHIPPED


@dataclass(frozen=True)
class FolderTrust:
    """Whom a command on a folder believes."""

    typed: Collection[str] = ()  # options that the user gave
    whoever_made_it: bool = False  # --trust-folder
    project: Path | None = None  # whose tests run: all Python in it, and what is installed, is the tests' to run
    here: Path = field(default_factory=Path.cwd)  # where the user works

    @staticmethod
    def of(changes: Given, project: Path | None = None) -> FolderTrust:
        """Trust as options of the command line, or of a script, have it."""
        return FolderTrust(tuple(changes.values), changes.of(FolderOptions).trust_folder, project)

    @cached_property
    def _known(self) -> KnownCode:
        return known_code()

    def works_in(self, folder: str) -> bool:
        """Whether a working folder that a campaign records may be entered: whoever chose it could plant modules."""
        if self.whoever_made_it or folder in self._known.working_folders:
            return True
        return self.project is not None and Path(folder).resolve().is_relative_to(self.project.resolve())

    def check(self, given: Given, folders: Sequence[Path]) -> None:
        """Refuses, before anything is loaded, what these folders name that would be executed and is not the user's.

        Names of files stand from the working folder. A link in a folder that leads out of it is not followed.
        """
        if self.whoever_made_it:
            return
        enclosing = enclosing_folders(folders)
        _refuse_links(given, self.typed, enclosing)
        strange = [(one, why) for one in code_in(given) if (why := self._why_not(one, enclosing))]
        if strange:
            raise UsageError(_refusal(folders[0], strange))

    def _why_not(self, code: NamedCode, enclosing: Sequence[Path]) -> str:
        """Why it must not be executed; "" where it may."""
        if code.option in self.typed:
            return ""
        file = code.file
        if file is None:
            if code.spec.rpartition(":")[0].endswith(".py") or not names_object(code.spec):
                raise UsageError(f"{code.spec.rpartition(':')[0] or code.spec} does not exist: {_way(code.option)}")
            return "" if self.project is not None else "it has no file that could be known"
        if any(lies_in(file, folder) for folder in enclosing):
            return "it lies in the folder"
        if self._is_of_project(code, file, enclosing):
            return ""
        executed = code.executed
        assert executed is not None, "it has a file"
        if self._known.ran(executed):
            return ""
        return "it has changed since a run of yours" if self._known.ran_before(executed) else "no run of yours did"

    def _is_of_project(self, code: NamedCode, file: Path, enclosing: Sequence[Path]) -> bool:
        if self.project is not None:
            module = names_object(code.spec) and not code.spec.rpartition(":")[0].endswith(".py")
            return module or file.resolve().is_relative_to(self.project.resolve())
        if any(lies_in(self.here / CONFIG, folder) for folder in enclosing):
            return False
        return any(_means(self.here, spec, code, file) for spec in _named_by_project(self.here, code.option))


def _named_by_project(here: Path, option: str) -> Iterator[str]:
    """What files of the project in a folder name by this option, for any campaign."""
    for table in tables_in(here):
        value = table.get(option) or ()
        yield from (one for one in ((value,) if isinstance(value, str) else value) if isinstance(one, str))


def _means(here: Path, spec: str, code: NamedCode, file: Path) -> bool:
    """Whether a name in a project's file is that of this code."""
    if not names_object(spec) or spec.rpartition(":")[2] != code.name:
        return False
    place = spec.rpartition(":")[0]
    named = here / place if place.endswith(".py") else code_file(spec)
    return named is not None and named.resolve() == file.resolve()


def enclosing_folders(folders: Iterable[Path]) -> list[Path]:
    """Folders, and of those of findings the campaign's: all that came together, also without a configuration."""
    folders = list(folders)
    places = [Path(os.path.normpath(folder.absolute())) for folder in folders]
    campaigns = [
        place.parent.parent
        for place in places
        if place.parent.name in (FINDINGS, FLAKY) or (place.parent.parent / CONFIG).exists()
    ]
    return list(dict.fromkeys([*folders, *campaigns]))


def lies_in(path: Path, folder: Path) -> bool:
    """Whether a path leads into a folder by its name or in truth; also on file systems that ignore case."""
    above = {*Path(os.path.normpath(path.absolute())).parents, *path.resolve().parents}
    return any(one.exists() and one.samefile(folder) for one in above)


def _refuse_links(given: Given, typed: Collection[str], enclosing: Sequence[Path]) -> None:
    for option in NAMING_FILES:
        for text in given.texts(option) if option not in typed else ():
            path = Path(text.rpartition(":")[0] if names_object(text) else text)
            for folder in enclosing:
                if path.exists() and _leads_out(path, folder):
                    raise UsageError(
                        f"{option} {text} is a link out of {folder}, which is not followed: {_way(option)}"
                    )


def _leads_out(path: Path, folder: Path) -> bool:
    """Whether a path lies in a folder by its name, and elsewhere in truth."""
    lexical = Path(os.path.normpath(path.absolute()))
    by_name = any(one.exists() and one.samefile(folder) for one in lexical.parents)
    return by_name and not any(one.samefile(folder) for one in path.resolve().parents)


def _refusal(folder: Path, strange: Sequence[tuple[NamedCode, str]]) -> str:
    shown = ", ".join(f"{code} ({why})" for code, why in strange[:SHOWN])
    more = f" and {len(strange) - SHOWN} more" if len(strange) > SHOWN else ""
    ways = dict.fromkeys(_way(code.option) for code, _ in strange)
    return (
        f"{folder} names code that would be executed: {shown}{more}: {', '.join(ways)}, or --trust-folder if you trust "
        f"whoever made the folder"
    )


def _way(option: str) -> str:
    return f"give your own --{option}"


def remember_own(given: Given) -> str:
    """Records that the user runs this campaign here, so that its folder need not be trusted; why not, if it cannot be.

    A campaign over objects of a script names nothing that another run could load.
    """
    named = [text for option in NAMING_FILES for text in given.texts(option)]
    if not any(not was_held(text) for text in named):
        return ""
    executed = (one.executed for one in code_in(given))
    code = tuple(one for one in executed if one is not None)
    why_not = remember(TrustedCampaign(str(Path.cwd()), code))
    return why_not if code else ""  # where no code is named, nothing will be asked for
