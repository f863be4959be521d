"""A real browser for pages; where there is none, its tests are skipped and say so."""

from __future__ import annotations

import shutil
import sys
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest
from browsing import Browser, options

AXE = Path(sys.prefix) / "axe-core" / "axe.min.js"  # `make test` puts it there


@pytest.fixture(scope="session")
def started(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Browser]:
    chromium, driver = shutil.which("chromium"), shutil.which("chromedriver")
    if chromium is None or driver is None:
        pytest.skip("no browser: install Debian's chromium and chromium-driver")
    webdriver = pytest.importorskip("selenium.webdriver", reason="no selenium: pip install 'jostle[dev]'")
    service = webdriver.ChromeService(driver)
    chrome = webdriver.Chrome(options(chromium, tmp_path_factory.mktemp("browser")), service)
    yield Browser(chrome)
    chrome.quit()


@pytest.fixture
def browser(started: Browser) -> Browser:
    """In the size of a desk and the colours of the day."""
    started.resize(1280, 900)
    started.colours("light")
    started.console()  # forgets what others left
    return started


@pytest.fixture
def opened(browser: Browser, tmp_path: Path) -> Callable[[str], Browser]:
    """A page in the browser."""

    def opened(page: str) -> Browser:
        path = tmp_path / "page.html"
        path.write_text(page, encoding="utf-8")
        browser.open(path.as_uri())
        return browser

    return opened


@pytest.fixture
def axe() -> str:
    """The script that finds what people with a keyboard or a screen reader stumble over."""
    if not AXE.is_file():
        pytest.skip(f"no axe-core in {AXE}: make test fetches it where npm is")
    return AXE.read_text(encoding="utf-8")
