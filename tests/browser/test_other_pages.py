"""Pages of two campaigns, of a running one and of other inputs than images, in a real browser."""

from __future__ import annotations

import shutil
from collections.abc import Callable, Iterator
from dataclasses import replace
from pathlib import Path

import pytest
from browsing import Browser

from campaign_folders import written_campaign
from jostle.commands.report import contents_of
from jostle.report.compare import compared
from jostle.report.contents import Contents, ReadableChange, Sound, TextEdit, Value
from jostle.report.live import LivePage
from jostle.report.render import rendered, rendered_comparison
from serving import served

pytestmark = pytest.mark.slow
Open = Callable[[str], Browser]
MARKUP = "<img src=x onerror='canary=1'>"
SILENCE = "data:audio/wav;base64,UklGRiQAAABXQVZFZm10IBAAAAABAAEAQB8AAIA+AAACABAAZGF0YQAAAAA="


@pytest.fixture(scope="module")
def campaign(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return written_campaign(tmp_path_factory.mktemp("pages") / "campaign", 6, per_defect=2)


@pytest.fixture(scope="module")
def contents(campaign: Path) -> Contents:
    return contents_of(campaign)


def serious(page: Browser, axe: str) -> list[str]:
    page.run(axe)
    found = page.chrome.execute_async_script("axe.run().then(arguments[0])")
    return [one["id"] for one in found["violations"] if one["impact"] in ("serious", "critical")]


def test_two_campaigns_have_their_curves_in_one_plot(
    contents: Contents, campaign: Path, tmp_path: Path, opened: Open, axe: str
) -> None:
    other = written_campaign(tmp_path / f"other{MARKUP}", 9)
    page = opened(rendered_comparison(compared(contents, contents_of(other), (campaign, other))))
    page.run("for (const place of [...Charts.waiting.keys()]) Charts.draw(place)")
    page.until("return [...document.querySelectorAll('.chart')].every(one => one.querySelector('svg'))")
    legend = [one.text for one in page.all(".chart .legendtext")]
    assert legend[:2] == ["campaign", f"other{MARKUP}"] and not page.all("img")
    assert serious(page, axe) == [] and page.console() == []


@pytest.fixture
def live(campaign: Path, tmp_path: Path) -> Iterator[tuple[LivePage, Path]]:
    folder = tmp_path / "running"
    shutil.copytree(campaign, folder)
    with served(folder) as page:
        yield page, folder


def test_a_campaign_without_findings_has_a_page_without_errors(opened: Open, tmp_path: Path) -> None:
    page = opened(rendered(contents_of(written_campaign(tmp_path / "quiet", 0))))
    page.unfold()
    assert page.text("#count") == "No defects." and page.all(".card") == [] and page.console() == []


def test_a_live_page_waits_for_the_first_finding(browser: Browser, tmp_path: Path) -> None:
    folder = written_campaign(tmp_path / "quiet", 0)
    with served(folder) as page:
        browser.open(page.address)
        browser.until("return document.getElementById('live').textContent === 'finished'")
        assert browser.text("#count") == "No defects."
        written_campaign(folder, 2, per_defect=2)
        browser.until("return document.getElementById('count').textContent === '1 defect'")
    assert browser.console() == []


def test_a_live_page_follows_its_campaign(browser: Browser, live: tuple[LivePage, Path]) -> None:
    page, folder = live
    browser.open(page.address)
    assert browser.text("#count") == "3 defects"
    browser.until("return document.getElementById('live').textContent === 'finished'")
    written_campaign(folder, 10, per_defect=2)
    browser.until("return document.getElementById('count').textContent === '5 defects'")
    assert browser.text("#figures dd") == "5" and browser.console() == []


def test_a_live_page_shows_its_news_once_nobody_reads_a_card(browser: Browser, live: tuple[LivePage, Path]) -> None:
    page, folder = live
    browser.open(page.address)
    browser.until("return document.getElementById('live').textContent === 'finished'")
    browser.until("return document.querySelector('.card details') !== null && page.news !== ''")
    browser.run("window.revoked = []; URL.revokeObjectURL = url => window.revoked.push(url)")
    browser.run("window.before = [...Sheets.urls.values()]; document.querySelector('.card details').open = true")
    written_campaign(folder, 10, per_defect=2)
    browser.until("return document.querySelector('#figures dd').textContent === '5'")
    assert browser.text("#count") == "3 defects"
    browser.run("document.querySelector('.card details').open = false")
    browser.until("return document.getElementById('count').textContent === '5 defects'")
    assert browser.run("return window.before.length > 0 && window.before.every(url => window.revoked.includes(url))")
    assert browser.run("return [...Charts.waiting.keys(), ...Charts.drawn.keys()].every(place => place.isConnected)")
    assert browser.console() == []


def test_texts_values_and_sounds_are_shown_as_words(contents: Contents, opened: Open, axe: str) -> None:
    edits = (TextEdit("a ", "a "), TextEdit("cat", f"c\u0430t{MARKUP}"), TextEdit("", " new"))
    changes = (
        ReadableChange(f"words{MARKUP}", edits=edits),
        ReadableChange("row", values=(Value(f"age{MARKUP}", "44", "40"),), left_out=2),
    )
    first = replace(
        contents.defects[0],
        panels=(),
        changes=changes,
        sounds=(Sound("seed", SILENCE),),
        numbers=(Value("y", "1.0", f"2.0{MARKUP}"),),
        script=f"print('{MARKUP}')\n",
        script_path="defects/x/reproduce.py",
    )
    page = opened(rendered(replace(contents, defects=(first,))))
    page.unfold()
    assert page.text(".edits del") == "cat" and page.text(".edits ins") == f"c\u0430t{MARKUP}"
    assert "U+0430" in page.text(".edits") and "2 more values changed" in page.text(".card")
    assert page.one("audio").is_displayed() and MARKUP in page.text(".card pre code")
    assert not page.all("img") and not page.run("return window.canary") and page.console() == []
    assert serious(page, axe) == []


def test_a_script_can_be_copied(contents: Contents, opened: Open) -> None:
    first = replace(contents.defects[0], script="print(1)\n", script_path="defects/x/reproduce.py")
    page = opened(rendered(replace(contents, defects=(first,))))
    page.unfold()
    page.run("window.copied = ''; navigator.clipboard.writeText = async text => { window.copied = text }")
    page.run("document.querySelector('.card .copy').click()")
    page.until("return window.copied === 'print(1)\\n'")
    page.until("return document.querySelector('.card .copy').textContent === 'Copied'")


def test_frameworks_are_shown_by_operator(contents: Contents, opened: Open) -> None:
    findings = tuple(replace(one, label="avg_pool", said="torch") for one in contents.findings)
    page = opened(rendered(replace(contents, of_graphs=True, findings=findings)))
    assert page.text("#labels-heading") == "Operators and frameworks"
    page.one(".matrix button").click()
    assert page.text("#examples-heading") == "avg_pool of torch"
