"""Every table by the name that ONLY= takes, in the order of the page."""

from __future__ import annotations

from paper.deephunter_combined import COMBINED
from paper.deephunter_curves import FIGURE_COVERAGE
from paper.deephunter_table4 import TABLE4
from paper.deephunter_table5 import TABLE5
from paper.deephunter_table6 import TABLE6
from paper.deephunter_table7 import TABLE7
from paper.dlfuzz_figure4 import FIGURE4
from paper.dlfuzz_retraining import RETRAINING
from paper.dlfuzz_table1 import TABLE1
from paper.table import Table
from paper.tensorfuzz_half import HALF
from paper.tensorfuzz_loss import LOSS
from paper.tensorfuzz_nan import NAN
from paper.tensorfuzz_refactoring import REFACTORING

TENSORFUZZ = (NAN, HALF, REFACTORING, LOSS)
DLFUZZ = (TABLE1, FIGURE4, RETRAINING)
DEEPHUNTER = (TABLE4, FIGURE_COVERAGE, TABLE5, TABLE6, TABLE7, COMBINED)
TABLES: dict[str, Table] = {table.name: table for table in (*TENSORFUZZ, *DLFUZZ, *DEEPHUNTER)}
