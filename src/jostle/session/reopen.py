"""A campaign over a model that was run before, from its folder or from a finding's copy of its record."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import chdir, contextmanager
from dataclasses import dataclass, replace
from pathlib import Path

from jostle.composition.settle import FUZZ
from jostle.digests import digest_of_file
from jostle.errors import UsageError
from jostle.named_objects import names_object
from jostle.options.schema import Given
from jostle.session.folder_trust import FolderTrust, options_naming_code
from jostle.storage.campaign_folder import campaign_in
from jostle.storage.campaign_record import CONFIG, REPLAYED, CampaignRecord
from jostle.storage.finding_record import InputType

# Options that name what a model and its oracles are loaded from, and parts that only a search needs.
SEARCHED = ("mutator", "coverage", "scheduler")
LOADED = (*REPLAYED, *SEARCHED)
# Consents are the user's to give: that the folder says they were given does not count.
NO_CONSENT = {option.name: None for option in FUZZ.options.values() if option.consents}


@dataclass(frozen=True)
class Reopened:
    """The options that a campaign was run with, and its record."""

    given: Given
    record: CampaignRecord

    def but_for(self, *names: str) -> Reopened:
        """The same without these options, and without what is known of the files that they name."""
        left = Reopened(
            Given({name: value for name, value in self.given.values.items() if name not in names}), self.record
        )
        files = {name: digest for name, digest in self.record.files.items() if name in left.names()}
        return replace(left, record=replace(self.record, files=files))

    def naming_only(self, *names: str) -> Reopened:
        """The same without other options that name code, so that none of it runs."""
        return self.but_for(*(name for name in options_naming_code(self.given) if name not in names))

    def changed_files(self) -> list[str]:
        """The files that options name which are not what they were."""
        return [name for name, digest in self.record.files.items() if digest_of_file(name) != digest]

    def refuse_changed_files(self, folder: Path) -> None:
        """Refuses to go on with the campaign in this folder unless the files that its options name are as they were."""
        changed = self.changed_files()
        if changed:
            raise UsageError(
                f"files that the campaign in {folder} was run with have changed: bring them back ({', '.join(changed)})"
            )

    def refuse_other_digest(self, folder: Path, digest: str) -> None:
        """The same for what was loaded from them, given its digest."""
        changed = self.record.changed_parts(digest)
        if changed:
            raise UsageError(f"{' and '.join(changed)} of the campaign in {folder} have changed: bring them back")

    def names(self) -> list[str]:
        """What a model and its oracles are loaded from."""
        return [name for option in LOADED for name in self.given.texts(option)]

    @contextmanager
    def in_its_folder(self, trust: FolderTrust) -> Iterator[None]:
        """Works where the campaign ran, if it is known to be the user's and the files that it names are there.

        Else it works here.
        """
        with chdir(self._folder(trust)):
            yield

    def _folder(self, trust: FolderTrust) -> Path:
        ran, here = Path(self.record.origin.folder), Path.cwd()
        if not ran.is_absolute() or not ran.is_dir() or not trust.works_in(str(ran)):
            return here
        try:
            with chdir(ran):
                there = all(digest_of_file(name) is not None for name in self.record.files)
        except OSError:  # of a folder that is not ours to enter
            return here
        return ran if there else here


def given_in(folder: Path, changes: Given, *loaded: str) -> Given:
    """What `reopen` gives, before anything is checked."""
    return _changed(recorded_campaign(folder).naming_only(*loaded), changes)


def _changed(named: Reopened, changes: Given) -> Given:
    return named.given.over(**{**NO_CONSENT, **changes.over(trust_folder=None).values})


def reopen(folder: Path, changes: Given, *loaded: str) -> Given:
    """Options to load the campaign in a folder with, where only these options can name Python; changes come first.

    Files that it names must be as they were, and code that it names must be the user's own.
    """
    named = recorded_campaign(folder).naming_only(*loaded)
    given = _changed(named, changes)
    named.but_for(*changes.over(trust_folder=None).values).refuse_changed_files(folder)  # before any is opened
    FolderTrust.of(changes).check(given, [folder])
    return given


def recorded_campaign(folder: Path, name: str = CONFIG) -> Reopened:
    """The campaign in a folder, as its record of this name tells of it."""
    record = campaign_in(folder, name)
    if record.input_type is InputType.GRAPH:
        raise UsageError(f"{folder} is a campaign over frameworks: each of its findings has a reproduce.py to run")
    if not {"model", "seeds"} <= record.settings.keys() or not record.digest:
        raise UsageError(f"{folder} holds a {name} that is not of a campaign")
    options = {name: value for name, value in record.all_settings.items() if name in FUZZ.options}
    return Reopened(FUZZ.parsed(options), record)


def python_file(spec: str) -> Path | None:
    """The file of `FILE.py:function`, None of other names."""
    place, _, _ = spec.rpartition(":")
    return Path(place) if names_object(spec) and place.endswith(".py") else None
