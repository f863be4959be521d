"""How long triage takes: 20 bugs, each hit 500 times, as a campaign's folder would hold them.

python benchmarks/triage.py [HITS]
"""

from __future__ import annotations

import sys
import tempfile
import time
from pathlib import Path

sys.path.insert(0, str(Path(__file__).parent.parent / "tests"))

from jostle.commands.triage import triage
from planted_defects import plant


def main(hits: int) -> None:
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        count = len(plant(folder, hits))
        begun, worked = time.perf_counter(), time.process_time()
        defects = triage(folder).defects
        took, busy = time.perf_counter() - begun, time.process_time() - worked
        print(f"{count:,} findings, {len(defects)} defects: {took:.1f} s, of which a processor worked {busy:.1f} s")


if __name__ == "__main__":
    main(int(sys.argv[1]) if len(sys.argv) > 1 else 500)
