"""What makes a campaign this campaign, and where it lives."""

from __future__ import annotations

import hashlib
import json
import re
import shlex
import sys
from collections.abc import Mapping
from pathlib import Path

from jostle.digests import digest_of_file
from jostle.layout import Layout
from jostle.options.campaign import HOME
from jostle.options.schema import Settings
from jostle.storage.campaign_record import CampaignRecord, Origin
from jostle.storage.files import portable
from jostle.storage.finding_record import InputType
from jostle.task import NO_LABEL_READING, LabelReading


def record_of(
    settings: Settings,
    digest: str = "",
    versions: Mapping[str, Mapping[str, str]] | None = None,
    input_type: InputType = InputType.ARRAY,
    reading: LabelReading = NO_LABEL_READING,
    layout: Layout | None = None,
) -> CampaignRecord:
    """A campaign's settings, the files they name, and a digest of what it begins from."""
    named = {name: digest_of_file(name) for name in settings.named_files()}
    files = {name: content for name, content in named.items() if content is not None}
    origin = Origin(str(Path.cwd()), str(reading.task), reading.cut, layout, command_line())
    fixed, changeable = portable(settings.fixed()), portable(settings.changeable())
    return CampaignRecord(fixed, changeable, digest, files, versions or {}, input_type, origin)


def command_line() -> str:
    """What this process was started with, as a shell takes it."""
    program, *arguments = sys.argv or [""]
    return shlex.join([Path(program).name, *arguments])


def folder_of(out: str | None, words: list[str], record: CampaignRecord) -> Path:
    """The folder that was asked for, or one whose name is the same for the same campaign."""
    if out is not None:
        return Path(out)
    digest = hashlib.blake2b(json.dumps(record.identity()).encode(), digest_size=4).hexdigest()
    plain = [re.sub(r"[^A-Za-z0-9]+", "-", word).strip("-")[:60] for word in words]
    return HOME / "-".join(word for word in (*plain, digest) if word)
