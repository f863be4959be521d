"""How long the report of many findings takes to write, how large it is, and how long a browser takes to open it.

python benchmarks/report.py [FINDINGS]
"""

from __future__ import annotations

import shutil
import sys
import tempfile
import time
from pathlib import Path

sys.path.insert(0, str(Path(__file__).parent.parent / "tests"))
sys.path.insert(0, str(Path(__file__).parent.parent / "tests" / "browser"))

from campaign_folders import written_campaign
from jostle.commands.report import write_report

TIMES = "const n = performance.getEntriesByType('navigation')[0]; return [n.domContentLoadedEventEnd, n.loadEventEnd]"


def main(findings: int) -> None:
    with tempfile.TemporaryDirectory() as name:
        folder = written_campaign(Path(name) / "campaign", findings, per_defect=50)
        begun, worked = time.perf_counter(), time.process_time()
        page = write_report(folder)
        took, busy = time.perf_counter() - begun, time.process_time() - worked
        print(f"{findings:,} findings: written in {took:.1f} s, of which a processor worked {busy:.1f} s")
        print(f"{page.stat().st_size / 1e6:.1f} MB")
        print(opening(page, Path(name) / "profile"))


def opening(page: Path, profile: Path) -> str:
    chromium, driver = shutil.which("chromium"), shutil.which("chromedriver")
    if chromium is None or driver is None:
        return "no browser to open it"
    from browsing import Browser, options
    from selenium import webdriver

    chrome = webdriver.Chrome(options(chromium, profile), webdriver.ChromeService(driver))
    try:
        browser, opened = Browser(chrome), []
        for _ in range(5):
            browser.open(page.as_uri())
            opened.append(browser.run(TIMES))
        return f"opened in {sorted(loaded for _, loaded in opened)[2] / 1000:.2f} s (median of 5)"
    finally:
        chrome.quit()


if __name__ == "__main__":
    main(int(sys.argv[1]) if len(sys.argv) > 1 else 10_000)
