"""What a step frees stays with the process."""

from __future__ import annotations

import subprocess
import sys

import pytest

FAULTS = """
import resource, sys
import torch
from jostle.freed_memory import keep_freed_memory

torch.set_num_threads(1)
if sys.argv[1:]:
    keep_freed_memory()

def step():
    values = torch.ones(4_500_000)  # as large as a layer's output for a batch
    for _ in range(4):
        values = values + 1

for _ in range(3):
    step()
before = resource.getrusage(resource.RUSAGE_SELF).ru_minflt
for _ in range(20):
    step()
print(resource.getrusage(resource.RUSAGE_SELF).ru_minflt - before)
"""


@pytest.mark.skipif(sys.platform != "linux", reason="only glibc is told to keep memory")
def test_a_step_gets_the_memory_of_the_one_before_it_and_not_new_pages() -> None:
    given_back, kept = (_page_faults(*arguments) for arguments in ((), ("keep",)))
    assert kept < given_back / 4


def _page_faults(*arguments: str) -> int:
    call = [sys.executable, "-c", FAULTS, *arguments]
    return int(subprocess.run(call, capture_output=True, text=True, check=True).stdout)
