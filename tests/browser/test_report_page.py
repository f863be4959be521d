"""The page of a campaign in a real browser: filters, links, keyboard, screen readers and hostile words."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from pathlib import Path

import pytest
from browsing import Browser
from selenium.webdriver.common.keys import Keys
from selenium.webdriver.support.select import Select

from campaign_folders import written_campaign
from jostle.commands.report import contents_of
from jostle.report.contents import Contents
from jostle.report.render import rendered
from jostle.storage.findings import FINDINGS

pytestmark = pytest.mark.slow
Open = Callable[[str], Browser]
HOSTILE = "<img src=x onerror='canary=1'></script><script>canary=1</script>{{7*7}}\"'<!--<b>\u2028"
FIRED = "return window.canary !== undefined || document.querySelector('img, iframe, b') !== null"


@pytest.fixture(scope="module")
def contents(tmp_path_factory: pytest.TempPathFactory) -> Contents:
    """30 defects, of which 20 are shown at once."""
    return contents_of(written_campaign(tmp_path_factory.mktemp("campaign"), 60, per_defect=2))


@pytest.fixture
def page(contents: Contents, opened: Open) -> Browser:
    return opened(rendered(contents))


def cards(page: Browser) -> list[str]:
    return [card.get_attribute("id") or "" for card in page.all(".card")]


def test_everything_opens_without_a_word_on_the_console(page: Browser) -> None:
    page.unfold()
    assert len(cards(page)) == 20 and page.text("#count") == "30 defects"
    assert page.console() == []


def test_nothing_is_asked_of_the_network(page: Browser) -> None:
    page.unfold()
    asked = page.run("return performance.getEntriesByType('resource').map(one => one.name)")
    assert [name for name in asked if not name.startswith(("data:", "blob:"))] == []


def test_pictures_are_drawn_from_their_sheets(page: Browser) -> None:
    sprite = page.one(".card .sprite")
    assert sprite.value_of_css_property("background-image").startswith('url("blob:')
    assert page.one(".card .frame").size["width"] > 100
    assert [one.text for one in page.all(".card:first-child figcaption")] == [
        "seed",
        "change, amplified 10 times",
        "mutant",
    ]


def test_the_layer_in_which_nan_begins_is_marked(page: Browser) -> None:
    assert page.text(".card .layers .guilty") == "fc1"
    assert "between -1 and 2" in page.text(".card .layers + .note")


@pytest.mark.parametrize(
    ("control", "value", "fits"),
    [
        ("filter-kind", "agree", lambda one: one.kind == "agree"),
        ("filter-label", "3", lambda one: "3" in (one.label, one.said)),
        ("filter-mutation", "noise", lambda one: one.mutation == "noise"),
        ("filter-confidence", "0.9", lambda one: one.confidence >= 0.9),
    ],
)
def test_a_filter_leaves_the_defects_that_any_of_their_findings_fits(
    page: Browser, contents: Contents, control: str, value: str, fits: Callable[[object], bool]
) -> None:
    expected = [one.name for one in contents.defects if any(fits(contents.findings[i]) for i in one.findings)]
    assert 0 < len(expected) < len(contents.defects)
    Select(page.one(f"#{control}")).select_by_value(value)
    assert page.text("#count") == f"{len(expected)} of 30 defects"
    assert cards(page) == [f"defect-{name}" for name in expected[:20]]
    page.one("#filters button[type=reset]").click()
    page.until("return document.getElementById('count').textContent === '30 defects'")


def test_a_search_is_of_all_words_in_titles_and_findings(page: Browser) -> None:
    search = page.one("#search")
    search.send_keys("taken digits[17]")
    assert cards(page) == ["defect-defect-8"] and page.text("#count") == "1 of 30 defects"
    search.send_keys("0000 nothing")
    assert cards(page) == [] and page.text("#count") == "0 of 30 defects"


def test_filters_work_by_the_keyboard_alone(page: Browser) -> None:
    page.one("#search").send_keys(Keys.TAB)
    kind = page.focused()
    assert kind.get_attribute("id") == "filter-kind"
    kind.send_keys("a", "g")
    assert Select(kind).first_selected_option.text == "agree"
    assert page.text("#count").endswith("of 30 defects")


def test_more_defects_are_shown_when_asked(page: Browser) -> None:
    page.one("#more").send_keys(Keys.ENTER)
    assert len(cards(page)) == 30 and not page.one("#more").is_displayed()


def test_a_link_leads_to_its_defect_however_far_down_and_whatever_is_filtered(page: Browser) -> None:
    page.one("#search").send_keys("nothing like this")
    page.run("location.hash = '#defect-defect-27'")
    page.until("return document.activeElement.id === 'defect-defect-27'")
    assert page.text("#count") == "30 defects" and page.one("#defect-defect-27").is_displayed()
    for wrong in ("#defect-nowhere", "#%E0%A4%A", "#defect-__proto__"):
        page.run("location.hash = arguments[0]", wrong)
    assert page.console() == []


def test_a_link_works_in_the_address_too(page: Browser) -> None:
    page.open(page.run("return location.href") + "#defect-defect-25")
    assert page.focused().get_attribute("id") == "defect-defect-25"


def test_a_cell_of_the_matrix_opens_its_examples_and_escape_closes_them(page: Browser) -> None:
    cell = page.one(".matrix button")
    label = cell.get_attribute("aria-label") or ""
    cell.send_keys(Keys.ENTER)
    assert page.one("#examples").is_displayed() and page.text("#examples-heading") in label
    assert len(page.all("#examples .thumbs li")) == int(cell.get_attribute("textContent") or 0)
    page.one("#examples .thumbs button").send_keys(Keys.ENTER)
    assert "findings/" in page.text("#examples-body")
    page.focused().send_keys(Keys.ESCAPE)
    assert not page.one("#examples").is_displayed() and page.focused() == page.one(".matrix button")


@pytest.mark.parametrize(("colours", "width"), [("light", 1280), ("dark", 390)])
def test_nobody_stumbles_over_it(page: Browser, axe: str, colours: str, width: int) -> None:
    page.colours(colours)
    page.resize(width, 900)
    page.unfold()
    page.run(axe)
    found = page.chrome.execute_async_script("axe.run().then(arguments[0])")
    serious = [
        f"{one['id']}: {one['nodes'][0]['html'][:200]} {one['nodes'][0]['failureSummary']}"
        for one in found["violations"]
        if one["impact"] in ("serious", "critical")
    ]
    assert serious == [] and len(found["passes"]) > 20


def test_it_fits_a_phone(page: Browser) -> None:
    page.resize(390, 844)
    page.unfold()
    assert page.run("return document.documentElement.scrollWidth") <= 390


def test_on_paper_stand_defects_and_no_controls(page: Browser) -> None:
    page.colours("light", media="print")
    assert not page.one("#filters").is_displayed() and page.one(".card").is_displayed()


def test_dark_pages_are_dark(page: Browser) -> None:
    page.colours("dark")
    assert page.run("return getComputedStyle(document.body).backgroundColor") == "rgb(21, 23, 26)"


def fired_nowhere(page: Browser) -> None:
    """Whatever is opened, words stay words."""
    page.unfold()
    for button in page.all(".matrix button, .thumbs button"):
        page.run("arguments[0].click()", button)
        assert not page.run(FIRED)
    page.run("document.getElementById('examples').close()")
    assert not page.run(FIRED) and page.console() == []


def test_hostile_words_never_become_markup(tmp_path: Path, opened: Open) -> None:
    folder = written_campaign(tmp_path / "campaign", 12, HOSTILE, per_defect=3)
    page = opened(rendered(contents_of(folder)))
    assert "<img src=x" in page.text(".card h3") and "{{7*7}}" in page.text("#sentences")
    fired_nowhere(page)
    assert "<img src=x" in page.text("#twins") and "<img src=x" in page.text("#command")


def test_hostile_names_of_folders_never_become_markup(tmp_path: Path, opened: Open) -> None:
    folder = written_campaign(tmp_path / "<img src=x onerror=canary=1>", 6, HOSTILE)
    for finding in list((folder / FINDINGS).iterdir()):
        finding.rename(finding.with_name(f"{finding.name}<img src=x onerror=canary=1>"))
    page = opened(rendered(contents_of(folder)))
    fired_nowhere(page)
    assert "<img src=x" in (page.one(".thumbs .frame").get_attribute("aria-label") or "")


def test_ten_thousand_findings_cost_no_more_elements_than_sixty(contents: Contents, opened: Open) -> None:
    """Under two seconds on an idle machine; what makes it so is that nothing is made before somebody looks."""
    many = replace(
        contents,
        findings=contents.findings * 167,
        defects=tuple(
            replace(one, name=f"{one.name}-{copy}", findings=tuple(place + 60 * copy for place in one.findings))
            for copy in range(167)
            for one in contents.defects
        ),
    )
    page = opened(rendered(many))
    assert page.text("#count") == "5,010 defects"
    assert page.run("return document.querySelectorAll('*').length") < 6000
    assert not page.run("return 'Plotly' in window")
    page.one("#search").send_keys("digits[17]")
    assert page.text("#count") == "167 of 5,010 defects" and page.console() == []
