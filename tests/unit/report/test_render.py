"""A page is one file that nothing can break out of, and that asks for nothing."""

from __future__ import annotations

import base64
import hashlib
import json
import re
from html.parser import HTMLParser
from pathlib import Path

import pytest

from campaign_folders import campaign_record, defect, finding_record, written_campaign
from jostle.commands.report import contents_of
from jostle.report.compare import compared
from jostle.report.render import Live, data_of, embedded, plotly_source, rendered, rendered_comparison
from jostle.triage.issue import issue_of
from jostle.visible import visible

HOSTILE = "</script><img src=x onerror=alert(1)><!-- & {{7*7}} \u2028\x1b[31m\x9b\u202e"
UNSEEN = set("\u2028\x1b\x9b\u202e")
REACHING_OUT = re.compile(
    r"""(?:src|href|action)\s*=\s*["']?\s*(?:https?:)?//|@import|url\(\s*["']?http""", re.IGNORECASE
)


class Elements(HTMLParser):
    """All elements, and what stands in scripts by their type."""

    def __init__(self, page: str):
        super().__init__()
        self.tags: list[tuple[str, dict[str, str | None]]] = []
        self.scripts: list[tuple[str, str]] = []
        self.feed(page)

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        self.tags.append((tag, dict(attrs)))
        if tag == "script":
            self.scripts.append((dict(attrs).get("type") or "", ""))

    def handle_data(self, data: str) -> None:
        if self.cdata_elem == "script":
            kind, content = self.scripts[-1]
            self.scripts[-1] = (kind, content + data)

    @property
    def policy(self) -> str:
        return next(str(one["content"]) for tag, one in self.tags if one.get("http-equiv") == "Content-Security-Policy")


@pytest.fixture(scope="module")
def page(tmp_path_factory: pytest.TempPathFactory) -> str:
    folder = written_campaign(tmp_path_factory.mktemp("hostile") / "campaign", 6, HOSTILE)
    return rendered(contents_of(folder))


def test_hostile_words_make_no_elements(page: str) -> None:
    elements = Elements(page)
    assert [tag for tag, _ in elements.tags].count("script") == 3 and "img" not in dict(elements.tags)
    data = json.loads(dict(elements.scripts)["application/json"])
    assert visible(HOSTILE) in data["defects"][0]["title"] and visible(HOSTILE) in data["findings"][0]["summary"]


def test_nothing_in_a_page_or_an_issue_is_there_and_cannot_be_seen(page: str, tmp_path: Path) -> None:
    """Such signs command terminals, and turn round what stands beside them."""
    assert not UNSEEN & set(page.replace(plotly_source(), ""))
    assert not UNSEEN & set(data_of(contents_of(written_campaign(tmp_path, 2, HOSTILE))).decode())
    assert not UNSEEN & set(
        issue_of(defect(0, ["1"], HOSTILE), finding_record(0, HOSTILE), campaign_record(HOSTILE), None)
    )


def test_only_our_scripts_may_run_and_nothing_may_be_fetched(page: str) -> None:
    elements = Elements(page)
    hashes = [base64.b64encode(hashlib.sha256(content.encode()).digest()).decode() for _, content in elements.scripts]
    assert elements.policy.startswith("default-src 'none'; script-src ") and "unsafe-eval" not in elements.policy
    assert "connect-src 'none'" in elements.policy and "script-src 'unsafe" not in elements.policy
    assert f"'sha256-{hashes[1]}'" in elements.policy and f"'sha256-{hashes[2]}'" in elements.policy
    without_plotly = page.replace(elements.scripts[1][1], "")
    assert not REACHING_OUT.search(without_plotly)


def test_a_live_page_may_ask_its_own_server_only(tmp_path: Path) -> None:
    contents = contents_of(written_campaign(tmp_path, 2))
    live = Elements(rendered(contents, Live("/data.json?token=x", 3.0)))
    assert "connect-src 'self'" in live.policy
    assert json.loads(dict(live.scripts)["application/json"])["live"] == {
        "address": "/data.json?token=x",
        "seconds": 3.0,
    }


@pytest.mark.parametrize("value", [HOSTILE, [float("nan"), float("inf")], {"</script>": "<!--"}])
def test_embedded_data_says_the_same_and_has_no_markup(value: object) -> None:
    text = str(embedded(value))
    assert not set(text) & set("<>&\u2028\u2029")
    expected = ["nan", "inf"] if isinstance(value, list) else value
    assert json.loads(text) == expected


def test_comparisons_escape_too(tmp_path: Path) -> None:
    folders = tmp_path / "a", tmp_path / "b"
    one, other = (
        contents_of(written_campaign(folder, 4, words)) for folder, words in zip(folders, ("", HOSTILE), strict=True)
    )
    elements = Elements(rendered_comparison(compared(one, other, folders)))
    assert [tag for tag, _ in elements.tags].count("script") == 3 and "img" not in dict(elements.tags)
