"""Which share of the findings of all examples shows again by the script of its own, each in a new process.

python benchmarks/defect_scripts.py [MOST]    so many findings of each campaign at most, else 20
"""

from __future__ import annotations

import subprocess
import sys
import tempfile
from pathlib import Path

from jostle.storage.campaign_record import read_campaign
from jostle.triage.defect_folder import SCRIPT, ShownDefect
from jostle.triage.grouping import defects_of
from jostle.triage.triaged_finding import TriagedFinding, gather

EXAMPLES = Path(__file__).parent.parent / "examples"
ZOO = "jostle.zoo:lenet5 --seeds jostle.zoo:mnist_sample"
CAMPAIGNS = (
    f"{ZOO} --executions 12000 --twin int8",
    f"{ZOO} --recipe deephunter --executions 12000",
    f"{ZOO} --recipe dlfuzz --executions 2000",
    f"{ZOO} --models jostle.zoo:lenet1,jostle.zoo:lenet4 --recipe deepxplore --executions 1000",
    f"{ZOO} --twin float16 --oracle agree --radius 0.4 --findings 1",
    "{examples}/nan_loss.py:classifier --seeds jostle.zoo:mnist_sample --range=-1,1 "
    "--metadata {examples}/nan_loss.py:loss --oracle nan --findings 1",
    "{examples}/flip.py:old_flip --twin {examples}/flip.py:hasty_flip --seeds jostle.zoo:mnist_sample --oracle agree "
    "--findings 1",
    "{examples}/loans.py:approval --seeds {examples}/loans.csv --executions 3000",
    "{examples}/text_classifier.py:weighted --seeds {examples}/text_classifier.py:rows --oracle nan --executions 2000",
    "{examples}/text_classifier.py:model --seeds {examples}/text_classifier.py:reviews "
    "--tokenizer {examples}/text_classifier.py:words --length 12 --oracle flip --executions 2000 --minimise",
    "{examples}/audio.py:model --seeds {examples}/audio.py:seeds --rate 8000 --executions 3000",
    "{examples}/two_inputs.py:model --seeds {examples}/two_inputs.py:seeds --executions 8000",
    "{examples}/tasks.py:segmenter --seeds {examples}/tasks.py:discs --executions 2000",
    "{examples}/tasks.py:house_price --seeds {examples}/tasks.py:sold_houses --executions 2000",
)


def shows(finding: TriagedFinding, campaign: Path) -> bool | None:
    """Whether the script of one finding fails; None where there is none."""
    folder = campaign / "scripts" / finding.name
    (defect,) = defects_of([finding])
    ShownDefect(defect, finding, read_campaign(campaign)).write(folder)
    if not (folder / SCRIPT).exists():
        return None
    done = subprocess.run([sys.executable, SCRIPT], cwd=folder, capture_output=True, text=True, timeout=600)
    return done.returncode != 0 and "AssertionError" in done.stderr


def main(most: int) -> None:
    told: list[bool] = []
    with tempfile.TemporaryDirectory() as name:
        for number, command in enumerate(CAMPAIGNS):
            campaign = Path(name) / str(number)
            arguments = command.format(examples=EXAMPLES).split()
            call = [sys.executable, "-c", "from jostle.cli.main import main; main()", "fuzz", *arguments]
            subprocess.run([*call, "--out", str(campaign)], cwd=name, capture_output=True)
            found = [one for one in gather(campaign, read_campaign(campaign)).findings if one.rate == 1]
            results = [result for one in found[:most] if (result := shows(one, campaign)) is not None]
            told += results
            print(f"{sum(results)} of {len(results)} scripts ({len(found)} stable findings): {command}", flush=True)
    print(f"{sum(told)} of {len(told)} scripts show their finding ({sum(told) / max(len(told), 1):.1%})")


if __name__ == "__main__":
    main(int(sys.argv[1]) if len(sys.argv) > 1 else 20)
