"""Kinds of values that options take: how each is read from a flag's text or a TOML value, and what it may be."""

from __future__ import annotations

import math
import re
from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass
from typing import Any

from jostle.options.choices import unknown

SECONDS = {"": 1.0, "s": 1.0, "m": 60.0, "h": 3600.0, "d": 86400.0}
BYTES_IN = {"": 1, "K": 2**10, "M": 2**20, "G": 2**30, "T": 2**40}
LARGEST = 2**63 - 1  # of whole numbers, as arrays hold them
UNBOUNDED = (-math.inf, math.inf)  # the range of any value
LONGEST = 4096  # characters of one text, as file systems take paths


@dataclass(frozen=True)
class Kind:
    """What an option's value is.

    `read` makes a value of a flag's text, as TOML would give it; `check` gives the value in its own type, and raises
    ValueError with what to give instead. `bad` are values that must be refused, which tests try; `show` gives a default
    as a user would type it.
    """

    metavar: str
    read: Callable[[str], Any]
    check: Callable[[Any], Any]
    bad: tuple[Any, ...] = ()
    show: Callable[[Any], str] = lambda value: default_text(value)
    repeats: bool = False  # its flag may be given several times


def default_text(value: Any) -> str:
    """A default as a user would type it; "" where there is none to tell of."""
    if value is None or isinstance(value, bool) or value == ():
        return ""
    parts = value if isinstance(value, tuple) else (value,)
    return ",".join(f"{part:g}" if isinstance(part, float) else str(part) for part in parts)


class NotThisName(ValueError):
    """Of a name rather than of a whole value: what to say stands behind the option at once."""


def _as_it_is(text: str) -> str:
    return text


def _whole_text(text: str) -> Any:
    try:
        return int(text)
    except ValueError:
        return text


def _number_text(text: str) -> Any:
    try:
        return float(text)
    except ValueError:
        return text


def _text(value: Any) -> str:
    if not isinstance(value, str) or not value or "\0" in value or len(value) > LONGEST:
        raise ValueError("give a name or a path")
    return value


def _flag(value: Any) -> bool:
    if not isinstance(value, bool):
        raise ValueError("give true or false")
    return value


def finite(value: Any) -> float:
    """The number, if it is one and finite."""
    try:
        if not isinstance(value, bool) and isinstance(value, int | float) and math.isfinite(value):
            return float(value)
    except OverflowError:  # an integer beyond all floats
        pass
    raise ValueError("give a number")


def number(
    say: str = "give a number",
    *,
    above: float = -math.inf,
    at_least: float = -math.inf,
    below: float = math.inf,
    at_most: float = math.inf,
) -> Kind:
    """A finite number within bounds; `say` tells what to give instead of one beyond them."""

    def check(value: Any) -> float:
        checked = finite(value)
        if not (above < checked < below and at_least <= checked <= at_most):
            raise ValueError(say)
        return checked

    edges = [*(edge for edge in (above, below) if math.isfinite(edge))]
    edges += [at_least - 1] if math.isfinite(at_least) else []
    edges += [at_most + 1] if math.isfinite(at_most) else []
    return Kind("FLOAT", _number_text, check, (math.nan, math.inf, -math.inf, 10**400, True, "many", *edges))


def whole(low: int, high: int = LARGEST, say: str | None = None) -> Kind:
    """A whole number within bounds, both included."""
    say = say or f"give a whole number of at least {low}"

    def check(value: Any) -> int:
        if isinstance(value, bool) or not isinstance(value, int) or not low <= value <= high:
            raise ValueError(say)
        return value

    return Kind("INTEGER", _whole_text, check, (low - 1, high + 1, 1.5, True, 10**400, "many"))


ALL = "all"


def _count_or_all(value: Any) -> int | str:
    if value == ALL:
        return ALL
    if isinstance(value, bool) or not isinstance(value, int) or not 0 <= value <= LARGEST:
        raise ValueError("give a whole number of at least 0, or all")
    return value


def choice(names: Callable[[], Iterable[str]], also: Callable[[str], bool] = lambda name: False) -> Kind:
    """One of these names; they are asked for late, because they may be declared later than the option."""

    def check(value: Any) -> str:
        return value if also(_text(value)) else one_of(value, names())

    return Kind("NAME", _as_it_is, check, ("no-such-name", "", 3))


def choices(
    names: Callable[[], Iterable[str]], what: str = "", also: Callable[[str], bool] = lambda name: False
) -> Kind:
    """Several of these names; `also` tells of others that will do, and `what` cannot be named twice."""

    def check(value: Any) -> tuple[str, ...]:
        given = _names(value)
        for name in given:
            if not also(name):
                one_of(name, names())
        if what and len(set(given)) < len(given):
            raise NotThisName(f"names {what} twice: name each once")
        return tuple(dict.fromkeys(given))

    return Kind("NAMES", _as_it_is, check, ("no-such-name", "", ",", 3))


def one_of(name: str, names: Iterable[str]) -> str:
    known = list(names)
    if name not in known:
        raise NotThisName(unknown(name, known))
    return name


def _names(value: Any) -> tuple[str, ...]:
    parts = value.split(",") if isinstance(value, str) else value
    if not isinstance(parts, list | tuple) or not parts or not all(isinstance(p, str) and p.strip() for p in parts):
        raise ValueError("give names with commas between them")
    return tuple(part.strip() for part in parts)


def _shapes(value: Any) -> tuple[str, ...]:
    """SIZES or NAME=SIZES, such as image=3x224x224; several with commas or in a list."""
    parts = _names(value)
    if not all(re.fullmatch(r"([^=]+=)?[1-9][0-9]{0,8}(x[1-9][0-9]{0,8})*", part) for part in parts):
        raise ValueError("give the sizes of an input without the batch, such as 3x224x224 or image=3x224x224")
    return parts


def _inputs(value: Any) -> tuple[str, ...]:
    """NAME or NAME=MUTATOR, several with commas or in a list."""
    parts = tuple(name for part in _names(value) for name in _names(part))
    if not all(re.fullmatch(r"[^=]+(=[^=]+)?", part) for part in parts):
        raise ValueError("give NAME or NAME=MUTATOR, such as image=metamorphic")
    return parts


def _numbers(value: Any) -> tuple[float, ...]:
    parts = value.split(",") if isinstance(value, str) else [value] if isinstance(value, int | float) else value
    try:
        return tuple(finite(float(part)) for part in parts)
    except (ValueError, TypeError, OverflowError):
        raise ValueError("give numbers with commas between them") from None


def _wholes(value: Any) -> tuple[int, ...]:
    parts = value.split(",") if isinstance(value, str) else [value] if isinstance(value, int) else value
    try:
        numbers = [float(part) for part in parts if not isinstance(part, bool)]
    except (ValueError, TypeError, OverflowError):
        numbers = []
    if not numbers or len(numbers) < len(parts) or not all(0 <= one <= LARGEST and one == int(one) for one in numbers):
        raise ValueError("give whole numbers from 0 on with commas between them")
    return tuple(map(int, numbers))


def _is_unbounded(value: Any) -> bool:
    """Whether a flag's text, a list of a file or a tuple of a script says -inf,inf."""
    parts = value.split(",") if isinstance(value, str) else value
    try:
        return tuple(map(float, parts)) == UNBOUNDED
    except (ValueError, TypeError, OverflowError):
        return False


def _range(value: Any) -> tuple[float, float]:
    if _is_unbounded(value):
        return UNBOUNDED
    numbers = _numbers(value)
    if len(numbers) != 2 or not numbers[0] < numbers[1] or not math.isfinite(numbers[1] - numbers[0]):
        raise ValueError("give the lowest and the highest value, such as 0,1 or 0,255")
    return numbers[0], numbers[1]


def _deviations(value: Any) -> tuple[float, ...]:
    numbers = _numbers(value)
    if not all(number > 0 for number in numbers):
        raise ValueError("standard deviations must be above 0")
    return numbers


def _size(value: Any) -> tuple[int, int]:
    numbers = _numbers(value)
    if len(numbers) != 2 or not all(number >= 1 and number == int(number) for number in numbers):
        raise ValueError("give height and width in pixels, such as 224,224")
    return int(numbers[0]), int(numbers[1])


def _amount(value: Any, units: Mapping[str, float], pattern: str, say: str) -> float:
    """A number with a unit behind it."""
    match = re.fullmatch(pattern, str(value).strip(), re.IGNORECASE)
    amount = float(match[1]) * units.get(match[2], units.get(match[2].upper(), 0.0)) if match else 0.0
    if not 0 < amount < LARGEST:
        raise ValueError(say)
    return amount


def _duration(value: Any) -> float:
    return _amount(value, SECONDS, r"(\d{1,18}(?:\.\d+)?)\s*((?-i:[smhd]?))", "give a time such as 60s, 10m or 2h")


def _duration_text(seconds: Any) -> str:
    return f"{seconds:g}s" if seconds else ""


def _bytes(value: Any) -> int:
    return int(_amount(value, BYTES_IN, r"(\d{1,18}(?:\.\d+)?)\s*([KMGT]?)i?B?", "give a size such as 500M or 2G"))


def _channels(value: Any) -> int:
    if value not in (1, 3) or isinstance(value, bool):
        raise ValueError("images have 1 channel (grey) or 3 (colour)")
    return int(value)


def shown(value: Any) -> str:
    """A value as a user would type it."""
    return ",".join(map(str, value)) if isinstance(value, list | tuple) else str(value)


TEXT = Kind("TEXT", _as_it_is, _text, ("", 3, True, "a\0b", "a" * (LONGEST + 1)))
FLAG = Kind("", _as_it_is, _flag, (1, "yes"))
COUNT = whole(1)
COUNT_OR_ALL = Kind("N|all", _whole_text, _count_or_all, (-1, LARGEST + 1, 1.5, True, "many", ""))
NAMES = Kind("NAMES", _as_it_is, _names, ("a,,b", ",", 3))
SHAPES = Kind("SIZES", _as_it_is, _shapes, ("big", "3x", "0x3", "a=b", 3))
INPUTS = Kind("NAME=MUTATOR", _as_it_is, _inputs, ("image=", "=noise", "a=b=c", ",", 3), repeats=True)
NUMBERS = Kind("NUMBERS", _as_it_is, _numbers, ("a", "0.1,,0.2", "nan", "1e999"))
WHOLES = Kind("NUMBERS", _as_it_is, _wholes, ("a", "1,,2", "-1", "1.5", "", True, "nan"))
RANGE = Kind(
    "LOW,HIGH", _as_it_is, _range, ("1,0", "0,0", "0", "0,1,2", "a,b", "nan,1", "0,inf", "inf,-inf", "-1e308,1e308", "")
)
DEVIATIONS = Kind("NUMBERS", _as_it_is, _deviations, ("0", "-1", "0.1,0"))
SIZE = Kind("HEIGHT,WIDTH", _as_it_is, _size, ("224", "0,5", "1.5,2", "-1,4"))
DURATION = Kind("TIME", _as_it_is, _duration, ("0", "-5s", "soon", "5 weeks", "inf", "", "9" * 300), _duration_text)
BYTES = Kind("SIZE", _as_it_is, _bytes, ("0", "-1G", "much", "", "9" * 300))
CHANNELS = Kind("INTEGER", _whole_text, _channels, (0, 2, 4, True, "one"))
