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
FARTHEST = 1e30  # from 0 of any other number: arrays of 32 bits hold it, and what is added to it
LEAST = 1e-30  # of what something is divided by
UNBOUNDED = (-math.inf, math.inf)  # the range of any value
LONGEST = 4096  # characters of one text, as file systems take paths
LONGEST_NAME = 255  # bytes between two slashes, as file systems take names
MOST_NAMES, MOST_VALUES = 1_000, 100_000  # of one option
MOST_HELD = 2**20  # in memory at once
MOST_REPEATS = 1_000_000  # of what takes a while each time
MOST_SHOWN, MOST_BITS = 100, 400  # parts and numbers that a refusal shows
MOST_SECONDS = 86_400.0 * 1000
MOST_BYTES = 2**50
MOST_PIXELS = 30_000  # of an image's height or width


@dataclass(frozen=True)
class Bounds:
    """What each number of a value is at least and at most; `above` and `below` are just beyond."""

    at_least: float = -math.inf
    at_most: float = math.inf
    above: float = -math.inf
    below: float = math.inf

    def __contains__(self, number: float) -> bool:
        return self.above < number < self.below and self.at_least <= number <= self.at_most

    @property
    def low(self) -> float:
        return max(self.at_least, self.above)

    @property
    def high(self) -> float:
        return min(self.at_most, self.below)


@dataclass(frozen=True)
class Kind:
    """What an option's value is.

    `read` makes a value of a flag's text, as TOML would give it; `check` gives the value in its own type, and raises
    ValueError with what to give instead. `bad` are values that must be refused, which tests try; `show` gives a default
    as a user would type it. What holds numbers has `bounds`, and `spelled` makes a flag's text of one.
    """

    metavar: str
    read: Callable[[str], Any]
    check: Callable[[Any], Any]
    bad: tuple[Any, ...] = ()
    show: Callable[[Any], str] = lambda value: default_text(value)
    repeats: bool = False  # its flag may be given several times
    bounds: Bounds | None = None  # of each number that it holds
    spelled: Callable[[float], str] = lambda number: str(number)


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
    if not isinstance(value, str) or not value:
        raise ValueError("give a name or a path")
    if "\0" in value:
        raise ValueError("give a name or a path without NUL characters, which no file system takes")
    if len(value) > LONGEST:
        raise ValueError(f"give a name or a path of at most {LONGEST} characters")
    if any(len(part.encode("utf-8", "surrogatepass")) > LONGEST_NAME for part in value.split("/")):
        raise ValueError(f"give a name or a path with at most {LONGEST_NAME} bytes between slashes")
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
    at_least: float = -FARTHEST,
    below: float = math.inf,
    at_most: float = FARTHEST,
) -> Kind:
    """A finite number within bounds; `say` tells what to give instead of one beyond them."""
    bounds = Bounds(at_least, at_most, above, below)

    def check(value: Any) -> float:
        checked = finite(value)
        if checked not in bounds:
            raise ValueError(say if abs(checked) <= FARTHEST else f"{say}, at most {FARTHEST:g}")
        return checked

    edges = [*(edge for edge in (above, below) if math.isfinite(edge))]
    edges += [at_least - max(1, abs(at_least)), at_most + max(1, abs(at_most))]
    bad = (math.nan, math.inf, -math.inf, 10**400, 10**5000, True, "many", *edges)
    return Kind("FLOAT", _number_text, check, bad, bounds=bounds, spelled=repr)


def whole(low: int, high: int, say: str | None = None) -> Kind:
    """A whole number within bounds, both included."""
    say = say or f"give a whole number of at least {low} and at most {high}"

    def check(value: Any) -> int:
        if isinstance(value, bool) or not isinstance(value, int) or not low <= value <= high:
            raise ValueError(say)
        return value

    bad = (low - 1, high + 1, 1.5, True, 10**300, 10**5000, "9" * 5000, "1e20", "many")
    return Kind("INTEGER", _whole_text, check, bad, bounds=Bounds(low, high))


def whole_or(word: str, low: int, high: int) -> Kind:
    """A whole number within bounds, both included, or a word."""

    def check(value: Any) -> int | str:
        if value == word:
            return word
        if isinstance(value, bool) or not isinstance(value, int) or not low <= value <= high:
            raise ValueError(f"give a whole number of at least {low} and at most {high}, or {word}")
        return value

    bad = (low - 1, high + 1, 1.5, True, 10**5000, "9" * 5000, "many", "")
    return Kind(f"N|{word}", _whole_text, check, bad, bounds=Bounds(low, high))


def share_or(word: str) -> Kind:
    """A number from 0 to 1, both included, or a word."""
    bounds, say = Bounds(0.0, 1.0), f"give a share from 0 to 1, or {word}"

    def check(value: Any) -> float | str:
        if value == word:
            return word
        try:
            share = finite(value)
        except ValueError as error:
            raise ValueError(say) from error
        if share not in bounds:
            raise ValueError(say)
        return share

    bad = (-0.1, 1.1, math.nan, math.inf, True, 10**400, 10**5000, "many", "")
    return Kind(f"SHARE|{word}", _number_text, check, bad, bounds=bounds, spelled=repr)


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
    if len(parts) > MOST_NAMES:
        raise ValueError(f"give at most {MOST_NAMES} names")
    return tuple(_text(part.strip()) for part in parts)


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
        numbers = tuple(finite(float(part)) for part in parts)
    except (ValueError, TypeError, OverflowError):
        raise ValueError("give numbers with commas between them") from None
    if len(numbers) > MOST_VALUES or not all(abs(number) <= FARTHEST for number in numbers):
        raise ValueError(f"give at most {MOST_VALUES} numbers, none farther from 0 than {FARTHEST:g}")
    return numbers


def _wholes(value: Any) -> tuple[int, ...]:
    parts = value.split(",") if isinstance(value, str) else [value] if isinstance(value, int) else value
    try:
        numbers = [_exact(part) for part in parts]
    except (ValueError, TypeError, OverflowError):
        numbers = []
    if not 0 < len(numbers) <= MOST_VALUES or not all(0 <= one <= LARGEST for one in numbers):
        raise ValueError(f"give whole numbers from 0 to {LARGEST} with commas between them")
    return tuple(numbers)


def _exact(part: Any) -> int:
    """A whole number, also one that is written with a point or an exponent."""
    if isinstance(part, bool):
        raise TypeError
    try:
        return int(part) if isinstance(part, int | str) else _integral(part)
    except ValueError:
        return _integral(part)


def _integral(part: Any) -> int:
    number = float(part)
    if number != int(number):
        raise ValueError
    return int(number)


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
    if not all(number >= LEAST for number in numbers):
        raise ValueError(f"standard deviations must be above 0, and at least {LEAST:g}")
    return numbers


def _size(value: Any) -> tuple[int, int]:
    numbers = _numbers(value)
    if len(numbers) != 2 or not all(1 <= number <= MOST_PIXELS and number == int(number) for number in numbers):
        raise ValueError(f"give height and width in pixels, such as 224,224, at most {MOST_PIXELS} each")
    return int(numbers[0]), int(numbers[1])


def _amount(value: Any, units: Mapping[str, float], pattern: str, bounds: Bounds, say: str) -> float:
    """A number with a unit behind it."""
    match = re.fullmatch(pattern, shown(value).strip(), re.IGNORECASE)
    amount = float(match[1]) * units.get(match[2], units.get(match[2].upper(), 0.0)) if match else 0.0
    if amount not in bounds:
        raise ValueError(say)
    return amount


def duration(most: float = MOST_SECONDS) -> Kind:
    """A time of at most so many seconds."""
    bounds = Bounds(above=0.0, at_most=most)
    say = f"give a time such as 60s, 10m or 2h, at most {most / SECONDS['d']:g}d"

    def check(value: Any) -> float:
        return _amount(value, SECONDS, r"(\d{1,18}(?:\.\d+)?)\s*((?-i:[smhd]?))", bounds, say)

    bad = ("0", "-5s", "soon", "5 weeks", "inf", "", "9" * 300, 10**5000, f"{int(most) + 1}s")
    return Kind("TIME", _as_it_is, check, bad, _duration_text, bounds=bounds, spelled=lambda number: f"{number:.3f}s")


def _duration_text(seconds: Any) -> str:
    return f"{seconds:g}s" if seconds else ""


def _bytes(value: Any) -> int:
    say = "give a size such as 500M or 2G"
    return int(_amount(value, BYTES_IN, r"(\d{1,20}(?:\.\d+)?)\s*([KMGT]?)i?B?", OF_BYTES, say))


def _bytes_text(size: Any) -> str:
    """In the largest unit that it is a whole number of."""
    whole = [f"{size // factor}{unit}" for unit, factor in BYTES_IN.items() if size and not size % factor]
    return whole[-1] if whole else ""


def _channels(value: Any) -> int:
    if value not in (1, 3) or isinstance(value, bool):
        raise ValueError("images have 1 channel (grey) or 3 (colour)")
    return int(value)


def shown(value: Any) -> str:
    """A value as a user would type it; of what is endless, what it is."""
    if isinstance(value, list | tuple):
        return ",".join(map(_shown_part, value[:MOST_SHOWN])) + (",…" if len(value) > MOST_SHOWN else "")
    return _shown_part(value)


def _shown_part(value: Any) -> str:
    if isinstance(value, int) and value.bit_length() > MOST_BITS:  # Python refuses to write out thousands of digits
        return f"{'-' if value < 0 else ''}a number of {value.bit_length()} bits"
    return "[…]" if isinstance(value, list | tuple | dict) else str(value)


OF_BYTES = Bounds(at_least=1, at_most=MOST_BYTES)
OF_NUMBERS = Bounds(-FARTHEST, FARTHEST)
ODD_TEXTS = ("", 3, True, "a\0b", "a" * (LONGEST + 1), "a/" + "b" * (LONGEST_NAME + 1), "é" * LONGEST_NAME)
TEXT = Kind("TEXT", _as_it_is, _text, ODD_TEXTS)
FLAG = Kind("", _as_it_is, _flag, (1, "yes"))
COUNT = whole(1, 10**15)  # of what is only counted
HELD = whole(1, MOST_HELD)  # of what is held in memory at once
COUNT_OR_ALL = whole_or("all", 0, LARGEST)
HELD_OR_AUTO = whole_or("auto", 1, MOST_HELD)
NAMES = Kind("NAMES", _as_it_is, _names, ("a,,b", ",", 3, "a\0b", ["b" * (LONGEST + 1)], ["a"] * (MOST_NAMES + 1)))
SHAPES = Kind("SIZES", _as_it_is, _shapes, ("big", "3x", "0x3", "a=b", 3, "9" * 300))
INPUTS = Kind("NAME=MUTATOR", _as_it_is, _inputs, ("image=", "=noise", "a=b=c", ",", 3), repeats=True)
NUMBERS = Kind(
    "NUMBERS", _as_it_is, _numbers, ("a", "0.1,,0.2", "nan", "1e999", "1e31", 10**5000), bounds=OF_NUMBERS, spelled=repr
)
WHOLES = Kind(
    "NUMBERS",
    _as_it_is,
    _wholes,
    ("a", "1,,2", "-1", "1.5", "", True, "nan", 10**5000, "9" * 5000),
    bounds=Bounds(0, LARGEST),
)
RANGE = Kind(
    "LOW,HIGH",
    _as_it_is,
    _range,
    (
        *("1,0", "0,0", "0", "0,1,2", "a,b", "nan,1", "0,inf", "inf,-inf", "-1e308,1e308", "-1e31,0", ""),
        [0, 10**5000],
    ),
    bounds=OF_NUMBERS,
    spelled=lambda number: f"{number!r},{FARTHEST}" if number < 0 else f"{-FARTHEST},{number!r}",
)
DEVIATIONS = Kind(
    "NUMBERS",
    _as_it_is,
    _deviations,
    ("0", "-1", "0.1,0", "1e-31", "1e31"),
    bounds=Bounds(LEAST, FARTHEST),
    spelled=repr,
)
SIZE = Kind(
    "HEIGHT,WIDTH",
    _as_it_is,
    _size,
    ("224", "0,5", "1.5,2", "-1,4", "1,30001", [10**5000, 1]),
    bounds=Bounds(1, MOST_PIXELS),
    spelled=lambda number: f"{number},{number}",
)
DURATION = duration()
BYTES = Kind(
    "SIZE",
    _as_it_is,
    _bytes,
    ("0", "-1G", "much", "", "9" * 300, 10**5000, 2**50 + 1),
    _bytes_text,
    bounds=OF_BYTES,
)
CHANNELS = Kind("INTEGER", _whole_text, _channels, (0, 2, 4, True, "one", 10**5000), bounds=Bounds(1, 3))
