"""Settings from flags, `jostle.toml` and `[tool.jostle]`, checked once."""

from __future__ import annotations

import difflib
import hashlib
import json
import math
import re
import tomllib
from collections.abc import Callable, Mapping
from dataclasses import asdict, dataclass, fields
from pathlib import Path
from typing import Any

from jostle.errors import UsageError

UNITS = {"": 1.0, "s": 1.0, "m": 60.0, "h": 3600.0, "d": 86400.0}
SIZES = {"": 1, "K": 2**10, "M": 2**20, "G": 2**30, "T": 2**40}
DEFAULT_BUDGET = "60s"
# What may change between two runs of one campaign.
MAY_CHANGE = ("budget", "executions", "findings", "max_disk", "out", "force", "isolate", "timeout", "rss_limit")


@dataclass(frozen=True)
class Settings:
    """Everything `jostle fuzz` can be told, under the names of its flags."""

    model: str
    seeds: str
    weights: str | None = None
    recipe: str = "tensorfuzz"
    oracle: tuple[str, ...] = ()
    twin: str | None = None
    agree: str | None = None
    models: tuple[str, ...] = ()
    mutator: tuple[str, ...] = ()
    coverage: tuple[str, ...] = ()
    profile: str | None = None
    sections: int = 1000
    buckets: int = 10
    top: int = 10
    active: float | None = None
    levels: int | None = None
    distance: str = "euclidean"
    threshold: float | None = None
    scheduler: str | None = None
    newest: int = 5
    recency: float = 0.5
    fresh: float | None = None
    sample: int = 64
    gamma: float = 5.0
    p_min: float = 0.3
    sigma: float | None = None
    radius: float | None = None
    transforms: tuple[str, ...] = ()
    alpha: float = 0.02
    beta: float = 0.2
    tries: int = 50
    strategy: tuple[str, ...] = ()
    neurons: int | None = None
    balance: float | None = None
    others: int | None = None
    perturbation: str | None = None
    iterations: int | None = None
    limit: float | None = None
    reach: float | None = None
    desired: float = 0.01
    rounds: int | None = None
    depth: int | None = None
    as_images: bool | None = None
    minimise: bool | None = None
    layers: tuple[str, ...] = ()
    units: str = "channels"
    metadata: str | None = None
    gradients: bool = False
    range: tuple[float, float] = (0.0, 1.0)
    mean: tuple[float, ...] = ()
    std: tuple[float, ...] = ()
    channels: int | None = None
    size: tuple[int, int] | None = None
    budget: float | None = None  # seconds
    executions: int | None = None
    findings: int | None = None
    max_disk: int | None = None  # bytes
    batch: int = 256
    seed: int = 0
    out: str | None = None
    trust_model: bool = False
    force: bool = False
    isolate: bool | None = None
    timeout: float | None = None  # seconds
    rss_limit: int | None = None  # bytes

    def identity(self, digest: str) -> dict[str, Any]:
        """What makes a campaign this campaign: these settings, the files they name, and its seeds and weights."""
        return {**self.bound(), "seeds and weights": digest, "files": self.contents()}

    def contents(self) -> dict[str, str]:
        """Digests of the files that the settings name."""
        optional = (self.weights, self.twin, self.metadata, self.profile)
        named = [self.model, *self.models, *filter(None, optional), *self.oracle]
        return {name: content for name in named if (content := content_of(name)) is not None}

    def bound(self) -> dict[str, Any]:
        """The settings that may not change between two runs of one campaign, as JSON gives them back."""
        return {name: value for name, value in self.as_json().items() if name not in MAY_CHANGE}

    def unbound(self) -> dict[str, Any]:
        """The settings that may."""
        return {name: value for name, value in self.as_json().items() if name in MAY_CHANGE}

    def as_json(self) -> dict[str, Any]:
        """The settings as JSON gives them back."""
        values: dict[str, Any] = json.loads(json.dumps(asdict(self)))
        return values

    def folder(self, digest: str) -> Path:
        """Where the campaign lives: the same settings, seeds and weights always give the same folder."""
        if self.out is not None:
            return Path(self.out)
        name_digest = hashlib.blake2b(json.dumps(self.identity(digest)).encode(), digest_size=4).hexdigest()
        name = re.sub(r"[^A-Za-z0-9]+", "-", Path(self.model).name).strip("-")[:60]
        return Path("jostle-runs") / "-".join(part for part in (name, self.recipe, name_digest) if part)


def settings_from(told: Mapping[str, Any]) -> Settings:
    """The settings that JSON tells of; what else it tells of is left aside."""
    known = {field.name for field in fields(Settings)}
    given = {name: value for name, value in told.items() if name in known and value is not None}
    return Settings(**{name: checked(name, value) for name, value in given.items()})


def content_of(name: str) -> str | None:
    """A digest of the file behind a path or `FILE.py:function`, None where there is no such file."""
    path = Path(name.rpartition(":")[0] if ".py:" in name else name)
    if not name or not path.is_file():
        return None
    with path.open("rb") as file:
        return hashlib.file_digest(file, "blake2b").hexdigest()[:32]


def resolve(flags: Mapping[str, Any], folder: Path) -> Settings:
    """Flags over `jostle.toml` over `[tool.jostle]` in pyproject.toml over defaults."""
    given = {name: value for name, value in flags.items() if value is not None}
    merged = {**_from_pyproject(folder / "pyproject.toml"), **_from_toml(folder / "jostle.toml"), **given}
    for missing in {"model", "seeds"} - merged.keys():
        raise UsageError(f"{missing} is missing: jostle fuzz MODEL --seeds PATH, or set it in jostle.toml")
    if not {"budget", "executions"} & merged.keys():
        merged["budget"] = DEFAULT_BUDGET
    return Settings(**{name: checked(name, value) for name, value in merged.items()})


def _from_pyproject(path: Path) -> dict[str, Any]:
    tool = _read_toml(path).get("tool", {})
    own = tool.get("jostle", {}) if isinstance(tool, dict) else {}
    if not isinstance(own, dict):
        raise UsageError(f"{path}: jostle under [tool] is no table: write [tool.jostle] and settings below it")
    return _known_keys(path, own)


def _from_toml(path: Path) -> dict[str, Any]:
    return _known_keys(path, _read_toml(path))


def _read_toml(path: Path) -> dict[str, Any]:
    if not path.is_file():
        return {}
    try:
        return tomllib.loads(path.read_text(encoding="utf-8"))
    except (tomllib.TOMLDecodeError, UnicodeDecodeError, OSError) as error:
        raise UsageError(f"{path} cannot be read: fix it or move it away ({error})") from error


def _known_keys(path: Path, values: dict[str, Any]) -> dict[str, Any]:
    known = {field.name for field in fields(Settings)}
    renamed = {key.replace("-", "_"): value for key, value in values.items()}
    for key in renamed.keys() - known:
        near = difflib.get_close_matches(key, known, n=1)
        raise UsageError(
            f"{path}: unknown setting {key!r}" + (f", did you mean {near[0]!r}?" if near else ": remove it")
        )
    return renamed


def checked(name: str, value: Any) -> Any:
    """The value in the type of its field, from a flag's text or a TOML value."""
    parse: Callable[[Any], Any] = _PARSERS.get(name, _text)
    try:
        return parse(value)
    except (ValueError, TypeError) as error:
        raise UsageError(f"--{name.replace('_', '-')} {_shown(value)}: {error}") from error


def _shown(value: Any) -> str:
    return ",".join(map(str, value)) if isinstance(value, list | tuple) else str(value)


def _text(value: Any) -> str:
    if not isinstance(value, str) or not value:
        raise ValueError("give a name or a path")
    return value


def _flag(value: Any) -> bool:
    if not isinstance(value, bool):
        raise ValueError("give true or false")
    return value


def _number(value: Any) -> float:
    if isinstance(value, bool) or not isinstance(value, int | float) or not math.isfinite(value):
        raise ValueError("give a number")
    return float(value)


def _not_negative(value: Any) -> float:
    if _number(value) < 0:
        raise ValueError("give a number that is not negative")
    return float(value)


def _share(value: Any) -> float:
    if not 0 < _number(value) < 1:
        raise ValueError("give a share above 0 and below 1 (alpha 0.02, beta 0.2)")
    return float(value)


def _names(value: Any) -> tuple[str, ...]:
    parts = value.split(",") if isinstance(value, str) else value
    if not isinstance(parts, list | tuple) or not all(isinstance(part, str) and part.strip() for part in parts):
        raise ValueError("give names with commas between them")
    return tuple(part.strip() for part in parts)


def _numbers(value: Any) -> tuple[float, ...]:
    parts = value.split(",") if isinstance(value, str) else [value] if isinstance(value, int | float) else value
    try:
        return tuple(_number(float(part)) for part in parts)
    except (ValueError, TypeError):
        raise ValueError("give numbers with commas between them") from None


def _range(value: Any) -> tuple[float, float]:
    numbers = _numbers(value)
    if len(numbers) != 2 or not numbers[0] < numbers[1]:
        raise ValueError("give the lowest and the highest value, such as 0,1 or 0,255")
    return numbers[0], numbers[1]


def _std(value: Any) -> tuple[float, ...]:
    numbers = _numbers(value)
    if not all(number > 0 for number in numbers):
        raise ValueError("standard deviations must be above 0")
    return numbers


def _size(value: Any) -> tuple[int, int]:
    numbers = _numbers(value)
    if len(numbers) != 2 or not all(number >= 1 and number == int(number) for number in numbers):
        raise ValueError("give height and width in pixels, such as 224,224")
    return int(numbers[0]), int(numbers[1])


def _duration(value: Any) -> float:
    match = re.fullmatch(r"(\d+(?:\.\d+)?)\s*([smhd]?)", str(value).strip())
    if match is None or float(match[1]) <= 0:
        raise ValueError("give a time such as 60s, 10m or 2h")
    return float(match[1]) * UNITS[match[2]]


def _bytes(value: Any) -> int:
    match = re.fullmatch(r"(\d+(?:\.\d+)?)\s*([KMGT]?)i?B?", str(value).strip(), re.IGNORECASE)
    if match is None or float(match[1]) <= 0:
        raise ValueError("give a size such as 500M or 2G")
    return int(float(match[1]) * SIZES[match[2].upper()])


def _count(value: Any) -> int:
    if isinstance(value, bool) or not isinstance(value, int) or value < 1:
        raise ValueError("give a whole number of at least 1")
    return value


def _whole(value: Any) -> int:
    """Not negative, as the seed of randomness wants it."""
    if isinstance(value, bool) or not isinstance(value, int) or not 0 <= value < 2**63:
        raise ValueError("give a whole number from 0 to 2^63 - 1")
    return value


def _channels(value: Any) -> int:
    if value not in (1, 3):
        raise ValueError("images have 1 channel (grey) or 3 (colour)")
    return int(value)


_PARSERS: Mapping[str, Callable[[Any], Any]] = {
    **dict.fromkeys(("oracle", "layers", "coverage", "transforms", "models", "mutator", "strategy"), _names),
    **dict.fromkeys(("backends", "phase", "operators"), _names),
    "score": _numbers,
    "range": _range,
    "mean": _numbers,
    "std": _std,
    "size": _size,
    **dict.fromkeys(("budget", "timeout"), _duration),
    **dict.fromkeys(("max_disk", "rss_limit"), _bytes),
    **dict.fromkeys(("executions", "findings", "batch", "newest", "sample", "tries"), _count),
    **dict.fromkeys(("sections", "buckets", "top", "others", "iterations", "rounds", "depth", "levels"), _count),
    "neurons": _whole,
    "channels": _channels,
    "agree": _shown,
    "seed": _whole,
    **dict.fromkeys(("threshold", "recency", "sigma", "radius", "active", "fresh"), _number),
    **dict.fromkeys(("balance", "limit", "reach", "desired"), _not_negative),
    **dict.fromkeys(("alpha", "beta"), _share),
    **dict.fromkeys(("gamma", "p_min"), _number),
    **dict.fromkeys(("gradients", "trust_model", "force", "as_images", "minimise", "isolate", "line_coverage"), _flag),
}
