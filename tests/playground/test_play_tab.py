"""A visitor plays in a real browser, offline after the first visit."""

from typing import Any

import pytest

from tests.chromium import WAIT_MS, Reader
from tests.playground.conftest import Served

pytestmark = pytest.mark.long


def test_the_table_opens_offline_after_a_visit_that_fetched_python_once(
    browser: Reader, served_playground: Served
) -> None:
    context = browser.browser.new_context(viewport={"width": 390, "height": 844}, reduced_motion="reduce")
    context.set_default_timeout(3 * WAIT_MS)
    first = context.new_page()
    await_move(first, served_playground.url)
    first.evaluate("navigator.serviceWorker.ready.then(() => {})")
    assert len([path for path in served_playground.requested if path.endswith(".wasm")]) == 1
    served_playground.stop()
    first.close()
    again = context.new_page()
    again.add_init_script("addEventListener('message', ({data}) => data.ready && (window.made = data.snapshot))")
    await_move(again, served_playground.url)
    assert again.evaluate("made === null")  # Python started from the snapshot that the first visit made
    context.close()


def await_move(page: Any, url: str) -> None:
    """Open the page, and wait until the visitor is asked for a move."""
    page.goto(url)
    page.frame_locator("#table").locator(".moves button.move").first.wait_for()
