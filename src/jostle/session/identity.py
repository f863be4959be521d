"""What makes a campaign this campaign, and where it lives."""

from __future__ import annotations

import hashlib
import json
import re
from collections.abc import Mapping
from pathlib import Path
from typing import Any

from jostle.digests import digest_of_file
from jostle.options.schema import Settings

FILES = "files"  # under which a configuration holds the digests of files that its options name
HOME = Path("jostle-runs")  # where campaigns live that were given no folder


def file_digests(settings: Settings) -> dict[str, str]:
    """Digests of the files that options name."""
    named = {name: digest_of_file(name) for name in settings.named_files()}
    return {name: digest for name, digest in named.items() if digest is not None}


def identity_of(settings: Settings, **more: Any) -> dict[str, Any]:
    """Settings that may not change, the files they name, and what else makes the campaign."""
    return {**settings.fixed(), **more, FILES: file_digests(settings)}


def folder_of(out: str | None, words: list[str], identity: Mapping[str, Any]) -> Path:
    """The folder that was asked for, or one whose name is the same for the same identity."""
    if out is not None:
        return Path(out)
    digest = hashlib.blake2b(json.dumps(identity).encode(), digest_size=4).hexdigest()
    plain = [re.sub(r"[^A-Za-z0-9]+", "-", word).strip("-")[:60] for word in words]
    return HOME / "-".join(word for word in (*plain, digest) if word)
