"""Runs a command and writes what it took to a file.

A process between the test and the command, because Linux counts the memory of whoever starts a process as its own.
"""

from __future__ import annotations

import json
import os
import sys
from pathlib import Path


def main() -> None:
    measured, *command = sys.argv[1:]
    pid = os.posix_spawn(command[0], command, os.environ)
    _, status, used = os.wait4(pid, 0)
    told = {
        "code": os.waitstatus_to_exitcode(status),
        "seconds": used.ru_utime + used.ru_stime,
        "peak": used.ru_maxrss * 1024,
    }
    Path(measured).write_text(json.dumps(told))


if __name__ == "__main__":
    main()
