"""Pictures of all pages, in both themes, wide and phone-wide: `python -m benchmarks.screenshots FOLDER`."""

import argparse
from pathlib import Path

from playwright.sync_api import sync_playwright

from tests.support.visitor import QUIET, find_chromium, serve, settle

DRAWING = "pFfVEYeFYVGQSI2PJoPKYRMAVNgdOomPIsPoyQJ9QZMQZTQRaPpnP3yNq6NCALiHJyKJCLHSKFqGEK9Di5.FfSK1QQvK"  # a 5
PAGES = ("", "machine", "patches", "embedding", "attention", "layers", "logits", "what_if", "train", "claims")


def main():
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("folder", type=Path)
    parser.add_argument("--pages", nargs="*", default=PAGES)
    arguments = parser.parse_args()
    arguments.folder.mkdir(parents=True, exist_ok=True)
    with serve() as url, sync_playwright() as playwright:
        browser = playwright.chromium.launch(executable_path=find_chromium(), args=QUIET)
        for theme in ("light", "dark"):
            for width in (1440, 390):
                page = browser.new_page(viewport={"width": width, "height": 900}, color_scheme=theme)
                for name in arguments.pages:
                    take(page, f"{url}/{name}?d={DRAWING}&layer=6&head=4",
                         arguments.folder / f"{name or 'draw'}-{theme}-{width}.png")
                page.close()
        browser.close()


def take(page, url: str, path: Path) -> None:
    page.set_viewport_size({"width": page.viewport_size["width"], "height": 900})
    page.goto(url)
    settle(page)
    height = page.locator("[data-testid=stMain]").evaluate("e => e.scrollHeight")
    page.set_viewport_size({"width": page.viewport_size["width"], "height": max(900, height)})
    page.wait_for_timeout(500)
    page.screenshot(path=path)
    print(path, flush=True)


if __name__ == "__main__":
    main()
