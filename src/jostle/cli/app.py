"""Every subcommand of `jostle`, by the name that a user types."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Annotated, Any

import typer

from jostle import __version__
from jostle.cli.cmin import cmin
from jostle.cli.compare import compare
from jostle.cli.coverage import coverage
from jostle.cli.demo import demo
from jostle.cli.doctor import doctor
from jostle.cli.evaluate import evaluate
from jostle.cli.export import export
from jostle.cli.export_tests import export_tests
from jostle.cli.frameworks import frameworks
from jostle.cli.fuzz import fuzz
from jostle.cli.init import init
from jostle.cli.inspect import inspect
from jostle.cli.list_parts import list_parts
from jostle.cli.profile import profile
from jostle.cli.promote import promote
from jostle.cli.replay import replay
from jostle.cli.report import report
from jostle.cli.retrain import retrain
from jostle.cli.run_campaigns import run_campaigns
from jostle.cli.status import status
from jostle.cli.tmin import tmin
from jostle.cli.triage import triage
from jostle.cli.watch import watch
from jostle.errors import UsageError

COMMANDS: Mapping[str, Callable[..., Any]] = {
    "fuzz": fuzz,
    "init": init,
    "run": run_campaigns,
    "frameworks": frameworks,
    "inspect": inspect,
    "triage": triage,
    "replay": replay,
    "tmin": tmin,
    "promote": promote,
    "coverage": coverage,
    "profile": profile,
    "status": status,
    "report": report,
    "export": export,
    "export-tests": export_tests,
    "watch": watch,
    "cmin": cmin,
    "compare": compare,
    "evaluate": evaluate,
    "retrain": retrain,
    "demo": demo,
    "doctor": doctor,
    "list": list_parts,
}

app = typer.Typer(
    help="Coverage-guided fuzzing for neural networks: finds NaNs, crashes, flipped labels and disagreeing twins.",
    add_completion=False,
    pretty_exceptions_enable=False,
    context_settings={"help_option_names": ["-h", "--help"]},
)


@app.callback(invoke_without_command=True)
def jostle(
    context: typer.Context,
    version: Annotated[bool, typer.Option("--version", help="Print the version and exit.")] = False,
) -> None:
    """Finds what breaks a model before customers do: NaNs, crashes, flipped labels and disagreeing twins."""
    if version:
        print(f"jostle {__version__}")
    elif context.invoked_subcommand is None:
        raise UsageError(f"which command? {', '.join(COMMANDS)} (see jostle --help)")


for name, command in COMMANDS.items():
    app.command(name)(command)
