"""Which of twelve published bugs `jostle frameworks` finds again in the old releases that have them.

python benchmarks/frameworks_rediscovery.py [--folder FOLDER] [--executions 500] [--seeds 2] [--all-operators]

The bugs stand in rediscovery/published_bugs.toml, written before the first campaign. Old releases are installed from
the package index into FOLDER, and campaigns are kept there: those that are whole are not run again. A finding is a bug
found again if its signature fits one of the bug's patterns, and its model is computed wrong in the old release and
right in the installed one. Campaigns draw the operators of the bugs that are sought in them, so that each has as many
turns as one of many thousand models would give it; with --all-operators, all 305.
"""

from __future__ import annotations

import argparse
import subprocess
import sys
import tomllib
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from itertools import product
from pathlib import Path
from typing import Any

from jostle.frameworks.backends.program import PREDICT
from jostle.frameworks.campaign.examiner import REFERENCE_BOUNDS
from jostle.frameworks.campaign.options import FRAMEWORKS, settled
from jostle.frameworks.graph import Graph, decode
from jostle.frameworks.judging.compare import judge
from jostle.frameworks.judging.known_issues import KnownIssue
from jostle.frameworks.workers.backend_pool import BackendPool
from jostle.frameworks.workers.backend_process import Place
from jostle.graph_signature import Signature, parse
from jostle.isolation.process import Limits
from jostle.session import assemble_frameworks
from jostle.storage.finding_record import RECORD, decode_record

BUGS = Path(__file__).parent / "rediscovery" / "published_bugs.toml"
BACKENDS = {"onnxruntime": "onnxruntime", "openvino": "openvino", "jax": "jax", "paddlepaddle": "paddle"}
# What a worker needs besides the library, of that time.
BESIDE: Mapping[tuple[str, str], tuple[str, ...]] = {
    ("onnxruntime", "1.22.1"): ("numpy<2", "onnx==1.18.0"),
    ("onnxruntime", "1.25.1"): ("numpy<2.3", "onnx==1.20.1"),
    ("openvino", "2024.0.0"): ("numpy<2", "onnx==1.16.2"),
    ("openvino", "2026.1.0"): ("numpy<2.3", "onnx==1.20.1"),
    ("jax", "0.10.1"): ("jaxlib==0.10.1", "numpy<2.3", "optax==0.2.8"),
    ("paddlepaddle", "3.0.0"): ("numpy<2", "setuptools"),
}
# Libraries whose old releases share a campaign, each with torch beside them.
CAMPAIGNS: Mapping[str, tuple[str, ...]] = {
    "onnxruntime": ("onnxruntime",),
    "openvino": ("openvino",),
    "jax-paddle": ("jax", "paddlepaddle"),
}
PART = "reduced.json"  # in a finding's folder: what of the model shows it
WHOLE = "whole"  # in the folder of a campaign that came to its end
LIMITS = Limits(60.0, 2**33)


@dataclass(frozen=True)
class Bug:
    """One published bug of an old release."""

    number: int
    library: str
    version: str
    thread: str
    operators: tuple[str, ...]
    wrong: str
    signatures: tuple[str, ...]

    def fits(self, signature: Signature) -> bool:
        return any(KnownIssue(one, self.wrong, self.thread).matches(signature) for one in self.signatures)


@dataclass(frozen=True)
class OldReleases:
    """Interpreters of their own, a folder each."""

    folder: Path

    def python(self, bug: Bug) -> Path:
        return self.folder / f"{bug.library}-{bug.version}" / "bin" / "python"

    def install(self, bug: Bug) -> None:
        python = self.python(bug)
        if python.exists():
            return
        subprocess.run([sys.executable, "-m", "venv", str(python.parents[1])], check=True)
        packages = (f"{bug.library}=={bug.version}", *BESIDE[bug.library, bug.version])
        subprocess.run([str(python), "-m", "pip", "install", "--quiet", *packages], check=True)

    def backend(self, bug: Bug) -> str:
        return f"{BACKENDS[bug.library]}@{self.python(bug)}"


def published_bugs() -> tuple[Bug, ...]:
    listed = tomllib.loads(BUGS.read_text(encoding="utf-8"))["bug"]
    lists = ("operators", "signatures")
    return tuple(Bug(**{**one, **{name: tuple(one[name]) for name in lists}}) for one in listed)


def run(out: Path, **options: Any) -> None:
    """A campaign in prediction, also of what is known, without making findings smaller; one that is whole stays."""
    if (out / WHOLE).exists():
        return
    session = assemble_frameworks.assemble(
        settled(FRAMEWORKS.parsed({"out": str(out), "report_known": True, **options}))
    )
    try:
        session.search()
        session.archive.wait()
    finally:
        session.release()
    (out / WHOLE).touch()


def findings(campaign: Path) -> Iterator[tuple[Signature, Path]]:
    """The signature and the folder of each finding."""
    for record in sorted(campaign.glob(f"findings/*/{RECORD}")):
        yield parse(decode_record(record.read_bytes()).graph_defect.signature), record.parent


def graph_in(finding: Path) -> Graph:
    return decode((finding / PART).read_bytes())


def mended_since(bug: Bug, python: Path, graph: Graph) -> bool:
    """Whether this model is computed wrong in the old release and right in the installed one."""
    old, new = Place(BACKENDS[bug.library], str(python)), Place(BACKENDS[bug.library])
    with BackendPool([old, new], LIMITS) as pool:
        (seen,) = pool.run([graph], PREDICT)
        wrong = {one.backend for one in judge(graph, PREDICT, seen, REFERENCE_BOUNDS).found}
    return wrong == {old.name}


def found_again(bug: Bug, python: Path, campaign: Path) -> Path | None:
    """The first finding that is this bug."""
    for signature, folder in findings(campaign):
        looks_like_it = signature.backend.endswith(f"@{python}") and bug.fits(signature)
        if looks_like_it and mended_since(bug, python, graph_in(folder)):
            return folder
    return None


def sought_in(libraries: Sequence[str], bugs: Sequence[Bug]) -> list[Bug]:
    return [bug for bug in bugs if bug.library in libraries]


def campaign_options(sought: Sequence[Bug], releases: OldReleases, all_operators: bool) -> dict[str, Any]:
    backends = ",".join(["torch", *dict.fromkeys(map(releases.backend, sought))])
    operators = ",".join(dict.fromkeys(name for bug in sought for name in bug.operators))
    return {"backends": backends} if all_operators else {"backends": backends, "operators": operators}


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--folder", type=Path, default=Path("old-releases"))
    parser.add_argument("--executions", type=int, default=500)
    parser.add_argument("--seeds", type=int, default=2)
    parser.add_argument("--all-operators", action="store_true")
    given = parser.parse_args()
    releases, bugs = OldReleases(given.folder.absolute()), published_bugs()
    for bug in bugs:
        releases.install(bug)
    found: dict[int, list[int]] = {bug.number: [] for bug in bugs}
    kept = releases.folder / f"campaigns-{given.executions}{'-all' if given.all_operators else ''}"
    for (name, libraries), seed in product(CAMPAIGNS.items(), range(given.seeds)):
        sought, campaign = sought_in(libraries, bugs), kept / f"{name}-{seed}"
        options = campaign_options(sought, releases, given.all_operators)
        run(campaign, executions=given.executions, seed=seed, **options)
        for bug in sought:
            folder = found_again(bug, releases.python(bug), campaign)
            found[bug.number] += [seed] if folder else []
            print(f"{name}, seed {seed}, bug {bug.number}: {folder.name if folder else 'not found'}", flush=True)
    print(
        f"\n{sum(map(bool, found.values()))} of {len(bugs)}, {given.seeds} seeds of {given.executions:,} models each:"
    )
    for bug in bugs:
        seeds = ", ".join(map(str, found[bug.number]))
        print(f"{bug.number:3} {bug.library} {bug.version}: {bug.wrong}: {f'seed {seeds}' if seeds else 'not found'}")
        print(f"    {bug.thread}")


if __name__ == "__main__":
    main()
