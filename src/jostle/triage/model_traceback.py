"""The part of a traceback that tells of the model: what led to it is of no use to whoever mends the model."""

from __future__ import annotations

import re

HEADING = re.compile(r"Traceback \(most recent call last\):")
A_FRAME = re.compile(r'  File "(?P<file>[^"\n]+)", line \d+')
BENEATH = "    "  # how lines of a frame begin, after its first
# Jostle's own way to a model (its example models are models), and torch's from the call of a module to its code.
ON_THE_WAY = re.compile(
    r"[/\\]jostle[/\\](foreign\.py|(targets|subjects|isolation|session|inputs|commands)[/\\]\w+\.py)$"
    r"|[/\\]torch[/\\]nn[/\\]modules[/\\]module\.py$"
    r"|[/\\]torch[/\\]utils[/\\]_contextlib\.py$"
)


def model_traceback(text: str) -> str:
    """The text without frames that only lead to the model, of each traceback in it; the exception always stays."""
    kept: list[str] = []
    leading, dropping = False, False
    for line in text.splitlines():
        frame = A_FRAME.match(line)
        if HEADING.match(line.strip()):
            leading = True
        elif frame is not None:
            leading = dropping = leading and ON_THE_WAY.search(frame["file"]) is not None
        elif not line.startswith(BENEATH):
            leading = dropping = False
        if not (dropping and (frame is not None or line.startswith(BENEATH))):
            kept.append(line)
    return "\n".join(kept)
