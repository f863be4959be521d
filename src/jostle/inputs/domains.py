"""What inputs may be: what a file declares, what the seeds say, or a range of values."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import replace

from jostle.domain import Domain
from jostle.errors import PreflightFailed, UsageError
from jostle.inputs.audio import AUDIO, Audio
from jostle.inputs.channel_range import checked_ends, declared_values
from jostle.inputs.declared_table import category_orders, declared_table
from jostle.inputs.declared_tokens import declared_text, declared_tokens
from jostle.inputs.domain_files import Section, read_domain_file
from jostle.inputs.inferred_table import inferred_table
from jostle.inputs.several import INPUT, SEVERAL, Several
from jostle.inputs.table import TABLE, Table
from jostle.inputs.tokens import TEXT, TOKENS, TokenForm, tokens_of
from jostle.inputs.value_range import ARRAY, IMAGE, ValueRange
from jostle.options.campaign import InputOptions
from jostle.options.choices import unknown
from jostle.options.schema import Given
from jostle.records import Seeds

# How a domain file of each kind is read, for seeds that it must fit.
READERS: Mapping[str, Callable[[Section, Seeds], Domain]] = {
    IMAGE: declared_values,
    ARRAY: declared_values,
    TABLE: declared_table,
    AUDIO: lambda section, seeds: declared_audio(section, seeds),
    SEVERAL: lambda section, seeds: declared_several(section, seeds),
    TOKENS: declared_tokens,
    TEXT: declared_text,
}


def domain_of(seeds: Seeds, options: InputOptions) -> Domain:
    """What is declared, else what the seeds say; rows of numbers for which no range is given are a table."""
    if options.domain is not None:
        return _declared(options.domain, seeds)
    if isinstance(seeds.domain, Table) and options.range is not None:
        raise UsageError(
            "--range is one for all values, and each column of a table has its own: leave it out, or give --domain"
        )
    if seeds.domain is not None:
        return seeds.domain
    if seeds.inputs.ndim == 2 and not seeds.inputs.is_floating_point():
        return tokens_of(seeds.inputs, seeds.names, TokenForm(options.vocabulary, options.pad, options.special))
    if options.range is None and seeds.inputs.ndim == 2 and seeds.inputs.is_floating_point():
        return inferred_table(seeds.inputs)
    return ValueRange.of(seeds.inputs, *options.bounds)


def _declared(file: str, seeds: Seeds) -> Domain:
    section = read_domain_file(file)
    domain = READERS[_kind(section)](section, seeds)
    outside = domain.outside(seeds.inputs)
    if outside is not None:
        raise PreflightFailed(
            f"--domain {file} excludes its own seed {seeds.names[outside.row]} ({outside.problem}): widen it there, or "
            f"leave that seed out"
        )
    return domain


def declared_audio(section: Section, seeds: Seeds) -> Domain:
    """Waves at the rate that a file says."""
    if not isinstance(seeds.domain, Audio):
        raise section.wrong("kind", "seeds are no waves: give .wav files, or the --rate of arrays")
    rate = section.only("kind", "rate").number("rate", seeds.domain.rate)
    if rate != seeds.domain.rate:
        raise section.wrong("rate", f"the seeds have {seeds.domain.rate} Hz: give that, or resample them")
    return seeds.domain


def declared_several(section: Section, seeds: Seeds) -> Domain:
    """Several inputs, of which some have what a file says of them, and the others what the seeds do."""
    own = seeds.domain
    if not isinstance(own, Several):
        raise section.wrong("kind", "seeds are one input: give the domain of one")
    told = section.only("kind", INPUT).sections(INPUT)
    for name in told:
        if name not in own.domains:
            raise section.wrong(INPUT, unknown(name, own.layout.names))
    said = {name: READERS[_kind(one)](one, own.alone(name, seeds)) for name, one in told.items()}
    return replace(own, domains={**own.domains, **said})


def _kind(section: Section) -> str:
    """Several inputs have a table each, and no kind of their own."""
    return section.text("kind", tuple(READERS), default="several" if "input" in section else "")


def with_declared_range(given: Given) -> Given:
    """The same options, with the lowest and the highest value of images or arrays that a file declares as the range."""
    if "domain" not in given:
        return given
    section = read_domain_file(given.get("domain"))
    return given.over(range=checked_ends(section)) if _kind(section) in (IMAGE, ARRAY) else given


def declared_orders(file: str | None) -> Mapping[str, list[str]]:
    """How a file orders the categories of a table."""
    if file is None:
        return {}
    section = read_domain_file(file)
    return category_orders(section) if _kind(section) == TABLE else {}
