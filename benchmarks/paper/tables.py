"""Every table that `make paper` knows, in the order of its page."""

from __future__ import annotations

from paper.dlfuzz_figure4 import FIGURE4
from paper.dlfuzz_retraining import RETRAINING
from paper.dlfuzz_table1 import TABLE1
from paper.table import Table
from paper.tensorfuzz_half import HALF
from paper.tensorfuzz_loss import LOSS
from paper.tensorfuzz_nan import NAN
from paper.tensorfuzz_refactoring import REFACTORING

ALL = (NAN, HALF, REFACTORING, LOSS, TABLE1, FIGURE4, RETRAINING)
TABLES: dict[str, Table] = {table.name: table for table in ALL}
