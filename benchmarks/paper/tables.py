"""Every table that `make paper` knows, in the order of its page."""

from __future__ import annotations

from paper.table import Table

TABLES: dict[str, Table] = {table.name: table for table in ()}
