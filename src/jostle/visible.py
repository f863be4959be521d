"""Texts of strangers with nothing in them that commands a terminal, a log or a parser."""

from __future__ import annotations

KEPT = "\n\t"  # besides what can be seen


def visible(text: str, kept: str = KEPT) -> str:
    """The text with signs that cannot be seen written out; what comes back can be encoded, and stand in XML."""
    if text.isprintable():
        return text
    return "".join(sign if sign.isprintable() or sign in kept else repr(sign)[1:-1] for sign in text)


def one_line(text: str) -> str:
    """The same on one line, whatever ended lines in it."""
    return " ".join(visible(text).split())


def plain(text: str) -> str:
    """The same where it becomes part of Markdown: nothing in it is markup."""
    return "".join(f"\\{sign}" if sign in "\\`*_{}[]<>#|!~@" else sign for sign in one_line(text))


def log_line(text: str) -> str:
    """The same for a line of its own in the log of a CI, which takes one that begins with two colons for a command."""
    line = one_line(text)
    return f"'{line}" if line.startswith(("::", "##[")) else line
