"""What tests do in a browser."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path
from typing import Any

from selenium import webdriver
from selenium.webdriver.common.by import By
from selenium.webdriver.remote.webelement import WebElement
from selenium.webdriver.support.wait import WebDriverWait

PATIENCE = 120  # seconds, on a slow and busy machine
ARGUMENTS = (
    *("--headless=new", "--no-sandbox", "--disable-gpu", "--disable-dev-shm-usage", "--disable-sync"),
    *("--disable-background-networking", "--disable-component-update", "--no-first-run"),
)


def options(chromium: str, profile: Path) -> webdriver.ChromeOptions:
    chosen = webdriver.ChromeOptions()
    chosen.binary_location = chromium
    for argument in (*ARGUMENTS, f"--user-data-dir={profile}"):
        chosen.add_argument(argument)
    chosen.set_capability("goog:loggingPrefs", {"browser": "ALL"})
    return chosen


@dataclass(frozen=True)
class Browser:
    """A page, as its visitor sees and handles it."""

    chrome: webdriver.Chrome

    def open(self, address: str) -> None:
        self.chrome.get("about:blank")  # else a link to the same file only scrolls
        self.chrome.get(address)
        self.until("return document.documentElement.dataset.ready === 'yes'")

    def run(self, script: str, *arguments: Any) -> Any:
        return self.chrome.execute_script(script, *arguments)

    def until(self, script: str) -> None:
        WebDriverWait(self.chrome, PATIENCE).until(lambda chrome: chrome.execute_script(script))

    def all(self, selector: str) -> list[WebElement]:
        return self.chrome.find_elements(By.CSS_SELECTOR, selector)

    def one(self, selector: str) -> WebElement:
        return self.chrome.find_element(By.CSS_SELECTOR, selector)

    def text(self, selector: str) -> str:
        return self.one(selector).text

    def focused(self) -> WebElement:
        return self.chrome.switch_to.active_element

    def resize(self, width: int, height: int) -> None:
        size = {"width": width, "height": height, "deviceScaleFactor": 1, "mobile": width < 600}
        self.chrome.execute_cdp_cmd("Emulation.setDeviceMetricsOverride", size)

    def colours(self, scheme: str, media: str = "screen") -> None:
        wished = {"prefers-color-scheme": scheme, "prefers-reduced-motion": "reduce"}  # else clicks miss what scrolls
        features = [{"name": name, "value": value} for name, value in wished.items()]
        self.chrome.execute_cdp_cmd("Emulation.setEmulatedMedia", {"media": media, "features": features})

    def console(self) -> list[str]:
        """What was said there since the last time, refusals of the page's policy included."""
        return [str(entry["message"]) for entry in self.chrome.get_log("browser")]

    def unfold(self) -> None:
        """Opens all that can be opened, and draws every chart."""
        self.run("for (const one of document.querySelectorAll('details')) one.open = true")
        self.until("return [...document.querySelectorAll('details')].every(one => one.children.length > 1)")
        self.run("for (const place of [...Charts.waiting.keys()]) Charts.draw(place)")
        self.until("return [...document.querySelectorAll('.chart')].every(one => one.querySelector('svg'))")
