"""What a domain file says of tokens and of texts."""

from __future__ import annotations

from jostle.domain import Domain
from jostle.errors import UsageError
from jostle.inputs.domain_files import Section
from jostle.inputs.tokens import TEXT, TokenForm, Tokens, tokens_of
from jostle.records import Seeds


def declared_tokens(section: Section, seeds: Seeds) -> Domain:
    """The vocabulary, padding and special tokens that a file declares, for seeds that must be tokens."""
    section.only("kind", "vocabulary", "pad", "special")
    if not isinstance(seeds.domain, Tokens) or seeds.domain.kind == TEXT:
        raise UsageError(
            f"--domain {section.file} is of tokens, and the seeds are none: give whole numbers [seeds, length]"
        )
    vocabulary = _whole(section, "vocabulary") if "vocabulary" in section else None
    pad = _whole(section, "pad") if "pad" in section else None
    special = tuple(_checked(section, "special", one) for one in section.items("special"))
    known = tokens_of(seeds.inputs, seeds.names, TokenForm(vocabulary, pad, special))
    return Tokens(known.vocabulary, pad, special, known.stated)


def declared_text(section: Section, seeds: Seeds) -> Domain:
    """Texts, of which a file has nothing to declare."""
    section.only("kind")
    if not isinstance(seeds.domain, Tokens) or seeds.domain.kind != TEXT:
        raise UsageError(f"--domain {section.file} is of texts, and the seeds are none: give .txt files")
    return seeds.domain


def _whole(section: Section, key: str) -> int:
    return _checked(section, key, section.values[key])


def _checked(section: Section, key: str, value: object) -> int:
    if isinstance(value, bool) or not isinstance(value, int) or value < 0:
        raise section.wrong(key, "give whole numbers from 0 on")
    return value
