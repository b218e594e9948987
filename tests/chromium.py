"""The system's Chromium, driven by Playwright: pages as their readers get them, from files, without a network."""

import shutil
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

# Playwright is imported where it is used: of all tests few need it, and it takes 0.2 s.


def why_no_chromium() -> str | None:
    """Return why there is no browser, None if there is one."""
    return None if _program() else "it isn't installed: apt install chromium"


def _program() -> str | None:
    return shutil.which("chromium") or shutil.which("chromium-browser")


@contextmanager
def chromium() -> Iterator[Any]:
    """Start a browser, and close it at the end."""
    from playwright.sync_api import sync_playwright

    with sync_playwright() as playwright:
        browser = playwright.chromium.launch(executable_path=_program())
        yield browser
        browser.close()


@dataclass
class Reader:
    """Opens pages in a browser, and notes what they ask of the network and what goes wrong in them."""

    browser: Any
    asked: list[str] = field(default_factory=list)
    wrong: list[str] = field(default_factory=list)
    _contexts: list[Any] = field(default_factory=list)

    def open(self, path: Path, hash_: str = "", width: int = 1280, height: int = 800, **options: Any) -> Any:
        """Open a file in a window of its own, and return its page. Options are those of a browser's context."""
        context = self.browser.new_context(viewport={"width": width, "height": height}, offline=True, **options)
        context.set_default_timeout(5000)
        self._contexts.append(context)
        page = context.new_page()
        page.on("request", lambda request: self.asked.append(request.url))
        page.on("console", lambda message: self.wrong.append(f"{message.type}: {message.text}"))
        page.on("pageerror", lambda error: self.wrong.append(str(error)))
        page.on("dialog", lambda dialog: self.wrong.append(f"dialog: {dialog.message}"))
        page.goto(f"{path.as_uri()}{hash_}")
        return page

    def close(self) -> None:
        """Close all windows, and demand that no page asked for anything but itself, nor complained."""
        for context in self._contexts:
            context.close()
        assert [url for url in self.asked if not url.startswith("file:") and url != "data:,"] == []
        assert len({url.split("#")[0] for url in self.asked if url != "data:,"}) <= 1
        assert self.wrong == []
