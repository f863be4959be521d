"""Every subcommand of `jostle` by the name that a user types; each is imported when it runs: torch takes seconds."""

from __future__ import annotations

import ast
from collections.abc import Mapping
from importlib import import_module
from pathlib import Path
from typing import Annotated, Any

import typer
from typer.core import TyperGroup

from jostle.cli.interrupted_imports import ending_if_interrupted
from jostle.cli.terminal import print_version
from jostle.errors import UsageError

# By name the function, which stands in the module of the same name.
COMMANDS: Mapping[str, str] = {
    "fuzz": "fuzz",
    "init": "init",
    "run": "run_campaigns",
    "frameworks": "frameworks",
    "inspect": "inspect",
    "triage": "triage",
    "replay": "replay",
    "tmin": "tmin",
    "promote": "promote",
    "coverage": "coverage",
    "profile": "profile",
    "status": "status",
    "report": "report",
    "export": "export",
    "export-tests": "export_tests",
    "watch": "watch",
    "cmin": "cmin",
    "compare": "compare",
    "evaluate": "evaluate",
    "retrain": "retrain",
    "demo": "demo",
    "doctor": "doctor",
    "list": "list_parts",
}
SHARED: Mapping[str, Any] = {"add_completion": False, "pretty_exceptions_enable": False}


class ImportedWhenRun(TyperGroup):
    """Lists commands by what their source says of them, and imports the one that runs."""

    def resolve_command(self, ctx: Any, args: list[str]) -> tuple[str | None, Any, list[str]]:
        name, listed, rest = super().resolve_command(ctx, args)
        return name, listed if name is None else imported(name), rest

    def format_commands(self, ctx: Any, formatter: Any) -> None:
        """Every command with its first sentence in full, which Typer alone would cut."""
        with formatter.section("Commands"):
            formatter.write_dl([(name, first_paragraph(function)) for name, function in COMMANDS.items()])


def imported(name: str) -> Any:
    """The command as it runs."""
    function = COMMANDS[name]
    command = typer.Typer(**SHARED)
    with ending_if_interrupted():
        module = import_module(f"jostle.cli.{function}")
    command.command(name)(getattr(module, function))
    return typer.main.get_command(command)


def first_paragraph(function: str) -> str:
    """What the docstring of a command begins with, read from the source."""
    source = Path(__file__).with_name(f"{function}.py")
    tree = ast.parse(source.read_text(encoding="utf-8"))
    (definition,) = (node for node in tree.body if isinstance(node, ast.FunctionDef) and node.name == function)
    docstring = ast.get_docstring(definition) or ""
    return " ".join(docstring.partition("\n\n")[0].split())


app = typer.Typer(
    cls=ImportedWhenRun,
    help="Coverage-guided fuzzing for neural networks: finds NaNs, crashes, flipped labels and disagreeing twins.",
    context_settings={"help_option_names": ["-h", "--help"]},
    rich_markup_mode=None,  # importing what draws boxes takes longer than all the rest of --help
    **SHARED,
)


@app.callback(invoke_without_command=True)
def jostle(
    context: typer.Context,
    version: Annotated[bool, typer.Option("--version", help="Print the version and exit.")] = False,
) -> None:
    """Finds what breaks a model before customers do: NaNs, crashes, flipped labels and disagreeing twins."""
    if version:
        print_version()
    elif context.invoked_subcommand is None:
        raise UsageError(f"which command? {', '.join(COMMANDS)} (see jostle --help)")


def _listed() -> None:
    raise AssertionError("the command itself runs in place of this")


for name in COMMANDS:
    app.command(name)(_listed)
