"""Flags of commands, made from the declarations of options."""

from __future__ import annotations

import inspect
from collections.abc import Callable, Iterable, Mapping
from functools import wraps
from typing import Annotated, Any

import typer

from jostle.composition.settle import ON_FOLDER
from jostle.options.declaration import Option, Theme
from jostle.options.kinds import FLAG, NAMES
from jostle.options.own_config import own_consents
from jostle.options.schema import Schema

Command = Callable[..., Any]
Flags = Mapping[str, Any]  # by option, what was typed, None where nothing was
AsJson = Annotated[
    bool,
    typer.Option("--json", help="Print one JSON object at the end, nothing else.", rich_help_panel=Theme.FIRST.value),
]


def taking(
    schema: Schema, names: Iterable[str] | None = None, argument: str | None = None, required: bool = False
) -> Callable[[Command], Command]:
    """Gives a command the flags of these options, or of all; it gets what was typed as its first argument.

    One option may be a positional argument instead, and may be required. All other parameters stay as they are.
    """
    options = [schema.options[name] for name in (schema.options if names is None else names)]
    options.sort(key=lambda option: list(Theme).index(option.theme))

    def decorate(command: Command) -> Command:
        @wraps(command)
        def run(**arguments: Any) -> Any:
            typed = {option.name: arguments.pop(option.name) for option in options}
            return command(_with_own_consents(typed), **arguments)

        own = list(inspect.signature(command, eval_str=True).parameters.values())[1:]
        declared = [_parameter(option, option.name == argument, required) for option in options]
        ordered = sorted(declared, key=lambda one: one.name != argument)
        run.__signature__ = inspect.Signature([*ordered, *(_keyword(one) for one in own)])  # type: ignore[attr-defined]
        return run

    return decorate


def _with_own_consents(typed: Flags) -> Flags:
    """What was typed, over what the user's own configuration consents to."""
    own = own_consents(option for option in ON_FOLDER.options.values() if option.consents)
    return {name: own.get(name) if value is None else value for name, value in typed.items()}


def _parameter(option: Option, positional: bool, required: bool) -> inspect.Parameter:
    info = _argument(option) if positional else _option(option)
    needed = positional and required
    return inspect.Parameter(
        option.name,
        inspect.Parameter.KEYWORD_ONLY,
        default=inspect.Parameter.empty if needed else None,
        annotation=Annotated[str if needed else _type(option, positional), info],
    )


def _type(option: Option, positional: bool) -> Any:
    if option.kind.repeats or (positional and option.kind is NAMES):
        return list[str] | None
    return bool | None if option.kind is FLAG else str | None


def _option(option: Option) -> Any:
    spelled = [option.flags or option.flag]
    metavar = option.kind.metavar or None
    return typer.Option(*spelled, help=option.help, metavar=metavar, rich_help_panel=option.theme.value)


def _argument(option: Option) -> Any:
    return typer.Argument(help=option.help, metavar=option.name.upper())


def _keyword(parameter: inspect.Parameter) -> inspect.Parameter:
    return parameter.replace(kind=inspect.Parameter.KEYWORD_ONLY)
