"""Writes all that is kept into the blocks of `docs/results.md` once more, after the form of blocks changed."""

from __future__ import annotations

from bench.block import renew_block
from bench.command import HOME
from bench.kept import kept_names

if __name__ == "__main__":
    for name in kept_names(HOME):
        renew_block(HOME, name)
