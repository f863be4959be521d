"""Pages as one HTML file each, which needs no network and can fetch nothing: data, pictures, style and scripts inside.

Every text comes from strangers: templates escape it, the scripts make text nodes of it, and the policy of the page lets
nothing run but our own scripts, which it knows by their hashes.
"""

from __future__ import annotations

import base64
import hashlib
import json
from collections.abc import Mapping
from dataclasses import dataclass
from functools import cache
from pathlib import Path
from typing import Any

from jinja2 import Environment, FileSystemLoader, StrictUndefined
from markupsafe import Markup

from jostle.report.compare import MOST_LISTED, CampaignComparison
from jostle.report.contents import Contents, as_json
from jostle.storage.files import portable
from jostle.visible import visible

PAGE = Path(__file__).parent / "page"
SCRIPTS = ("dom.js", "sheets.js", "charts.js", "filters.js", "matrix.js", "cards.js", "page.js")  # in this order
ESCAPES = {ord(sign): f"\\u{ord(sign):04x}" for sign in "<>&\u2028\u2029"}


@dataclass(frozen=True)
class Live:
    """Where a page asks for news of a campaign that runs."""

    address: str
    seconds: float  # between two questions


def rendered(contents: Contents, live: Live | None = None) -> str:
    """The page of one campaign."""
    data = {**as_json(contents), "live": None if live is None else {"address": live.address, "seconds": live.seconds}}
    return _page("report.html", {"contents": contents}, data, live)


def rendered_comparison(comparison: CampaignComparison) -> str:
    """The page of two campaigns."""
    data = {"compared": list(comparison.names), "curves": as_json(comparison.curves)}
    return _page("compare.html", {"comparison": comparison, "most": MOST_LISTED}, data)


def data_of(contents: Contents) -> bytes:
    """What a live page asks for."""
    return json.dumps(portable(as_json(contents)), allow_nan=False).encode()


def _page(template: str, values: Mapping[str, Any], data: Mapping[str, Any], live: Live | None = None) -> str:
    script, plotly = "\n".join(_text(PAGE / name) for name in SCRIPTS), plotly_source()
    return (
        _environment()
        .get_template(template)
        .render(
            **values,
            style=Markup(_text(PAGE / "report.css")),
            script=Markup(script),
            plotly=Markup(plotly),
            data=embedded(data),
            policy=_policy(script, plotly, live),
            live=live,
        )
    )


def embedded(data: Any) -> Markup:
    """JSON that stands inside a script element and cannot end it."""
    return Markup(
        json.dumps(portable(data), allow_nan=False, ensure_ascii=False, separators=(",", ":")).translate(ESCAPES)
    )


def _policy(script: str, plotly: str, live: Live | None) -> str:
    hashes = " ".join(f"'sha256-{_hash(source)}'" for source in (script, plotly))
    asking = "'none'" if live is None else "'self'"
    return (
        f"default-src 'none'; script-src {hashes}; style-src 'unsafe-inline'; img-src data: blob:; media-src data:; "
        f"connect-src {asking}; base-uri 'none'; form-action 'none'"
    )


def _hash(source: str) -> str:
    return base64.b64encode(hashlib.sha256(source.encode()).digest()).decode()


@cache
def plotly_source() -> str:
    """The plotting library, as its package brings it."""
    from plotly.offline import get_plotlyjs  # takes a while to import

    source: str = get_plotlyjs()
    assert "</script" not in source.lower() and "<!--" not in source and "\r" not in source, "it would end its element"
    return source


@cache
def _text(path: Path) -> str:
    return path.read_text(encoding="utf-8")


@cache
def _environment() -> Environment:
    return Environment(
        loader=FileSystemLoader(PAGE),
        autoescape=True,
        undefined=StrictUndefined,
        finalize=_shown,
        trim_blocks=True,
        lstrip_blocks=True,
    )


def _shown(value: Any) -> Any:
    """Texts of strangers with nothing in them that cannot be seen."""
    return visible(value) if isinstance(value, str) and not isinstance(value, Markup) else value
