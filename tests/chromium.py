"""The system's Chromium, driven by Playwright: it opens pages from files, without a network."""

import shutil
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

# Playwright is imported where it is used: of all tests few need it, and it takes 0.2 s.


WAIT_MS = 60_000  # only a failure takes this long


def chromium_problem() -> str | None:
    """Return why there is no browser, None if there is one."""
    return None if _program() else "it isn't installed: apt install chromium-headless-shell"


def _program() -> str | None:
    names = ("chromium-headless-shell", "chromium", "chromium-browser")  # the first takes 40 % less time
    return next(filter(None, map(shutil.which, names)), None)


@contextmanager
def chromium() -> Iterator["Reader"]:
    """Start a browser, yield its reader, and close it at the end."""
    from playwright.sync_api import expect, sync_playwright

    expect.set_options(timeout=WAIT_MS)
    with sync_playwright() as playwright:
        browser = playwright.chromium.launch(executable_path=_program())
        yield Reader(browser)
        browser.close()


@dataclass
class Reader:
    """Opens pages in a browser, and records their network requests and errors."""

    browser: Any
    asked: list[str] = field(default_factory=list)
    wrong: list[str] = field(default_factory=list)
    _windows: dict[str, Any] = field(default_factory=dict)
    _contexts: list[Any] = field(default_factory=list)

    def open(self, path: Path, hash_: str = "", width: int = 1280, height: int = 800, **options: Any) -> Any:
        """Open a file and return its page. Options are those of a browser's context; each set has one window."""
        page = self._windows.get(repr(options))
        if page is None:
            page = self._windows[repr(options)] = self._window(options)
        page.goto("about:blank")  # otherwise another hash of the same file wouldn't load a page
        page.set_viewport_size({"width": width, "height": height})
        page.goto(f"{path.as_uri()}{hash_}")
        return page

    def context(self, **options: Any) -> Any:
        """Return a new context, in which nothing moves by default: drawing takes most of a browser's time."""
        context = self.browser.new_context(**{"reduced_motion": "reduce", **options})
        context.set_default_timeout(WAIT_MS)
        self._contexts.append(context)
        return context

    def close(self) -> None:
        """Close all contexts that were asked for; the windows of opened files stay."""
        while self._contexts:
            self._contexts.pop().close()

    def _window(self, options: dict[str, Any]) -> Any:
        page = self.context(offline=True, **options).new_page()
        self._contexts.pop()  # it stays
        page.on("request", lambda request: self.asked.append(request.url))
        page.on("console", lambda message: self.wrong.append(f"{message.type}: {message.text}"))
        page.on("pageerror", lambda error: self.wrong.append(str(error)))
        page.on("dialog", lambda dialog: self.wrong.append(f"dialog: {dialog.message}"))
        return page

    def check(self) -> None:
        """Check that since the last check no page fetched another file or logged an error; forget the records."""
        asked, wrong, self.asked, self.wrong = self.asked, self.wrong, [], []
        assert [url for url in asked if not url.startswith("file:") and url not in ("about:blank", "data:,")] == []
        assert [url for url in asked if url.startswith("file:") and not url.split("#")[0].endswith(".html")] == []
        assert wrong == [], wrong  # this module is imported before pytest could show values
