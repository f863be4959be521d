"""Every table that `make paper` knows, in the order of its page."""

from __future__ import annotations

from paper.combined import COMBINED
from paper.figure_coverage import FIGURE_COVERAGE
from paper.table import Table
from paper.table4 import TABLE4
from paper.table5 import TABLE5
from paper.table6 import TABLE6
from paper.table7 import TABLE7

DEEPHUNTER = (TABLE4, FIGURE_COVERAGE, TABLE5, TABLE6, TABLE7, COMBINED)
TABLES: dict[str, Table] = {table.name: table for table in (*DEEPHUNTER,)}
