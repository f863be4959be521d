"""Where the test suite keeps what fuzzing found: `.jostle/` at its root, with a folder for each call of each test."""

from __future__ import annotations

import hashlib
import re
import shutil
import tempfile
import warnings
from collections.abc import Iterator
from contextlib import ExitStack, contextmanager
from pathlib import Path

from jostle.errors import JostleWarning
from jostle.storage.defect_record import CASE

HOME = ".jostle"
CAMPAIGN = "campaign"  # the folder of a call that its campaign goes on in
KNOWN = "known"  # the folder of a call in which cases of its defects are kept
LONGEST = 60  # characters of a test's name; a digest tells apart what is cut off
IGNORED = "# Written by Jostle: what fuzzing found on this machine.\n*\n"


def folder_name(test: str, call: int) -> str:
    """Of one call in a test: every file system takes it, and no two calls of any tests share one."""
    plain = re.sub(r"[^A-Za-z0-9._-]+", "-", test).strip("-.")
    digest = hashlib.blake2b(test.encode("utf-8", "surrogatepass"), digest_size=5).hexdigest()
    return f"{plain[-LONGEST:].strip('-.')}-{digest}-{call}".lstrip("-")


class Home:
    """Gives each call a folder of its own; a temporary one where `.jostle` cannot be written or is in use."""

    def __init__(self, root: Path):
        self._home = root / HOME
        self._undone = ExitStack()
        self._elsewhere: Path | None = None
        self._looked = False

    @contextmanager
    def folder(self, test: str, call: int) -> Iterator[Path]:
        """The folder of a call, which nobody else writes to for as long as this lasts."""
        from filelock import FileLock, Timeout  # which takes longer than all else that pytest would load of us

        name = folder_name(test, call)
        with ExitStack() as stack:
            folder = self._writable() / name
            try:
                folder.mkdir(exist_ok=True)
                stack.enter_context(FileLock(folder / "lock", timeout=0))
                _try_out_call(folder)
            except OSError as error:
                in_use = isinstance(error, Timeout)
                _warn(f"another run is at work in {folder}: this one" if in_use else _unwritable(folder, error))
                stack.pop_all().close()  # a lock that it has is of no use
                temporary = tempfile.TemporaryDirectory(prefix="jostle-", ignore_cleanup_errors=True)
                folder = Path(stack.enter_context(temporary)) / name
            if folder.parent != self._home:
                _copy(self._home / name / KNOWN, folder / KNOWN)
            yield folder

    def close(self) -> None:
        """Removes what was kept for this run only."""
        self._undone.close()

    def _writable(self) -> Path:
        """`.jostle`, or a temporary folder in its place, of which the user is told once."""
        if not self._looked:
            self._looked = True
            try:
                _try_out(self._home)
            except OSError as error:
                _warn(_unwritable(self._home, error))
                temporary = tempfile.TemporaryDirectory(prefix="jostle-", ignore_cleanup_errors=True)
                self._elsewhere = Path(self._undone.enter_context(temporary))
        return self._elsewhere or self._home


def _try_out(home: Path) -> None:
    """Makes the folder, which version control leaves out, and writes a file; OSError where that cannot be."""
    home.mkdir(exist_ok=True)
    if not (home / ".gitignore").exists():
        (home / ".gitignore").write_text(IGNORED, encoding="utf-8")
    with tempfile.TemporaryFile(dir=home):
        pass


def _try_out_call(folder: Path) -> None:
    """Writes a file into each folder of a call that is there; OSError where that cannot be."""
    known, campaign = folder / KNOWN, folder / CAMPAIGN
    within = (place for pattern in ("*/", "*/*/") for place in known.glob(pattern))
    for place in (folder, campaign, *campaign.glob("*/"), known, *within):
        if place.exists():
            with tempfile.TemporaryFile(dir=place):
                pass


def _unwritable(folder: Path, error: OSError) -> str:
    return f"{folder} cannot be written ({error.strerror or type(error).__name__}): this run"


def _warn(reason: str) -> None:
    warnings.warn(f"{reason} keeps nothing", JostleWarning, stacklevel=3)


def _copy(known: Path, to: Path) -> None:
    """The cases of what was found before, for a run that cannot write where they stand."""
    from jostle.storage.defect_case import cases_in
    from jostle.storage.defects import DEFECTS
    from jostle.storage.files import refuse_link

    to.parent.mkdir(parents=True, exist_ok=True)
    for place in (known, known / DEFECTS):
        refuse_link(place)
    for case in cases_in(known / DEFECTS):
        _copy_whole(case, to / DEFECTS / case.name)


def _copy_whole(case: Path, to: Path) -> None:
    """Copies a case unless the run that is at work there writes it anew or moves it away meanwhile."""
    try:
        before = _identity(case / CASE)
        shutil.copytree(case, to, symlinks=True, dirs_exist_ok=True)
        whole = _identity(case / CASE) == before  # it goes first and comes last
    except OSError:
        whole = False
    if not whole:
        shutil.rmtree(to, ignore_errors=True)


def _identity(path: Path) -> tuple[int, int]:
    """What a file that was written anew does not share with the one before."""
    seen = path.stat()
    return seen.st_ino, seen.st_mtime_ns
