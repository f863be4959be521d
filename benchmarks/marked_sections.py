"""Sections of a page that programs write, between marks that a reader of the page does not see."""

from __future__ import annotations

import re


def marked(name: str, text: str) -> str:
    """A section as it stands on a page."""
    return f"{_begin(name)}\n{text}\n{_end(name)}\n"


def sections(page: str) -> dict[str, str]:
    """The texts of all sections of a page by their names."""
    found = re.finditer(r"<!-- (\S.*?) -->\n(.*?)\n<!-- end of \1 -->\n", page, re.DOTALL)
    return {match[1]: match[2] for match in found}


def with_section(page: str, name: str, text: str) -> str:
    """The page with another text in the place of a section; ValueError where the page has none of that name."""
    before, begins, rest = page.partition(f"{_begin(name)}\n")
    _, ends, after = rest.partition(f"{_end(name)}\n")
    if not begins or not ends:
        raise ValueError(f"the page has no section {name} between its two marks")
    return f"{before}{marked(name, text)}{after}"


def _begin(name: str) -> str:
    return f"<!-- {name} -->"


def _end(name: str) -> str:
    return f"<!-- end of {name} -->"
