"""What must be true of a stranger's HDF5 file before Keras reads weights from it.

A dataset may lie in another file: by an external link, in external storage, or as a virtual one made of others. It may
claim more numbers than there are, and ask for filters that are libraries. h5py tells that without reading a dataset.
But damaged files make HDF5 itself run for ever, take all memory or crash, so a process with limits looks into them.
"""

from __future__ import annotations

import json
import subprocess
import sys
from importlib.util import find_spec
from pathlib import Path

PROBE = Path(__file__).with_name("hdf5_probe.py")
PATIENCE = 20  # seconds for a file of any size, as no numbers are read


def hdf5_texts(path: Path, attributes: tuple[str, ...] = (), member: str = "") -> dict[str, str | None]:
    """Texts that are attributes of the file, or of this member of a zip, in which all datasets lie; else ValueError."""
    if find_spec("h5py") is None:
        raise ValueError("it needs h5py: pip install 'jostle[tensorflow]'")
    command = [sys.executable, "-P", str(PROBE), str(path), member, *attributes]
    try:
        done = subprocess.run(command, stdin=subprocess.DEVNULL, capture_output=True, timeout=PATIENCE)
    except subprocess.TimeoutExpired as error:
        raise ValueError(f"HDF5 needs more than {PATIENCE} s to open it, so it is damaged") from error
    if done.returncode:
        raise ValueError("HDF5 crashes or runs out of memory when it opens it, so it is damaged")
    told = json.loads(done.stdout)
    if "reason" in told:
        raise ValueError(told["reason"])
    return dict(told["texts"])
