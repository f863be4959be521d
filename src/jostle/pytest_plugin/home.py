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

HOME = ".jostle"
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
    known = folder / KNOWN
    for place in (folder, known, *known.glob("*/")):
        if place.exists():
            with tempfile.TemporaryFile(dir=place):
                pass


def _unwritable(folder: Path, error: OSError) -> str:
    return f"{folder} cannot be written ({error.strerror or type(error).__name__}): this run"


def _warn(reason: str) -> None:
    warnings.warn(f"{reason} keeps nothing", JostleWarning, stacklevel=3)


def _copy(known: Path, to: Path) -> None:
    """What was found before, for a run that cannot write where that stands."""
    to.parent.mkdir(parents=True, exist_ok=True)
    if known.is_dir() and not to.exists():
        shutil.copytree(known, to)
