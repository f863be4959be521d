"""What must be the same wherever a campaign runs."""

from __future__ import annotations

import os
import sys
from collections.abc import Mapping

import torch

import jostle
from jostle.errors import UsageError


def versions() -> dict[str, str]:
    """Of this process."""
    python = ".".join(map(str, sys.version_info[:2]))
    return {"jostle": jostle.__version__, "torch": torch.__version__, "python": python}


def refuse_other_versions(wanted: Mapping[str, str]) -> None:
    """Refuses to work for a campaign that has others."""
    ours = versions()
    for name, version in wanted.items():
        if ours[name] != version:
            raise UsageError(
                f"the worker on {os.uname().nodename} has {name} {ours[name]}, and the campaign {version}: install the "
                f"same version there"
            )
