"""Exit codes, as pytest means them."""

from enum import IntEnum


class Exit(IntEnum):
    CLEAN = 0
    FINDINGS = 1
    INTERRUPTED = 2  # with the state saved
    OUR_ERROR = 3
    USAGE = 4
    NOTHING_RAN = 5
