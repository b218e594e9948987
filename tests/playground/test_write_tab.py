"""A visitor writes a bot in a real browser: from a syntax error to a better win rate, offline after the start."""

import re
import zipfile
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
from click.testing import CliRunner

from arena.cli import cli
from arena.local import play
from arena.playground import make_program_fragment
from tests.chromium import WAIT_MS, Reader
from tests.playground.conftest import Served

START = 'return game.find("coup") or game.find("tax")'
BLOCK = """
    def block(self, game):
        print("asked to block")
        return next((move for move in game.moves("block") if move["block"] in game.cards), game.find("pass"))
"""
OPPONENTS = ("honest", "counter", "turtle")

pytestmark = pytest.mark.long


def test_a_bot_becomes_better(
    browser: Reader, served_playground: Served, accessible: Callable[..., None], tmp_path: Path
) -> None:
    context = browser.context(viewport={"width": 1024, "height": 768})
    context.set_default_timeout(3 * WAIT_MS)
    context.grant_permissions(["clipboard-write"])
    page = context.new_page()
    page.goto(f"{served_playground.url}#write")
    page.locator("#editor .ace_line").first.wait_for()

    def text() -> str:
        return str(page.evaluate("() => window.ace.edit(document.getElementById('editor')).getValue()"))

    def write(source: str) -> None:
        page.evaluate("text => window.ace.edit(document.getElementById('editor')).setValue(text, -1)", source)

    def run() -> Any:
        """Play by the key in the editor; return the locator of problems."""
        page.locator("#editor textarea").focus()
        page.keyboard.press("Control+Enter")
        page.locator("#run:visible").wait_for()
        return page.locator(".problem p").first

    first = text()
    accessible(page)
    run()
    page.locator("#lost li").first.wait_for()
    page.locator("#lost button").first.click()
    page.locator(".replay iframe").content_frame.locator(".stage").get_by_text(
        re.compile(r"^Turn [1-9]")
    ).first.wait_for()
    page.get_by_role("button", name="Back to the results").click()
    served_playground.stop()
    write(f"{first}# changed")
    page.reload()
    page.locator("#editor .ace_line").first.wait_for()
    assert text() == f"{first}# changed"
    page.locator("#editor textarea").focus()
    page.keyboard.press("Control+z")
    assert text() == first
    write(first.replace("turn(self, game):", "turn(self, game:"))
    assert "Line 5: SyntaxError" in run().inner_text()
    page.locator(".ace_gutter-cell.ace_error").wait_for()
    accessible(page)
    write(first.replace(START, f"while True: pass\n        {START}"))
    assert "Line 6: no answer after 5 s: it takes too long" in run().inner_text()
    write(first.replace(START, 'return "tax"'))
    assert "turn() returned 'tax'" in run().inner_text()
    write(first.replace(START, f"bytearray(600 << 20)\n        {START}"))
    assert "Line 6: MemoryError" in run().inner_text()
    better = first.replace("\n\nrun(", f"{BLOCK}\n\nrun(")
    write(better)
    run()
    assert "better" in page.locator("#difference").inner_text()
    write(f"{better}# the same")
    page.locator("#run").press("Control+Enter")
    page.locator(".go p").get_by_text(re.compile(r"^\d\d of 200 games\.$")).wait_for()
    page.get_by_role("button", name="Stop").click()
    page.locator(".go p").get_by_text(
        re.compile(r" games\. You stopped; the version is kept\. The result below is that of the games bef")
    ).wait_for()
    assert "better" in page.locator("#difference").inner_text()
    page.get_by_role("button", name="Copy a link").click()
    page.get_by_text(re.compile(r"^Link copied: \d+ characters\.$")).wait_for()
    assert page.url.endswith("/#write"), "a reload shows the visitor's own program"
    accessible(page)
    write("my own")
    page.evaluate("hash => (location.hash = hash)", make_program_fragment("print('linked')"))
    page.get_by_text("This program came with a link.").wait_for()
    assert text() == "print('linked')"
    own = page.locator("option", has_text="not played").first.get_attribute("value")
    page.get_by_label("Earlier versions").select_option(own)
    assert text() == "my own"
    write(better)
    rate = page.locator("#rates .own td").first.inner_text()
    with page.expect_download() as download:
        page.get_by_role("button", name="Download").click()
    download.value.save_as(tmp_path / "mybot.zip")
    page.locator("#lost button").first.press("Enter")
    page.locator(".replay iframe").content_frame.locator("main, #page").first.wait_for()
    accessible(page)
    page.get_by_role("button", name="Back to the results").press("Enter")

    context.close()
    with zipfile.ZipFile(tmp_path / "mybot.zip") as archive:
        archive.extractall(tmp_path)
    assert CliRunner().invoke(cli, ["check", "--quick", str(tmp_path / "mybot")]).exit_code == 0
    namespace: dict[str, Any] = {"__name__": "bot"}
    source = re.sub(r"\nrun\(.*", "", (tmp_path / "mybot/bot.py").read_text())
    exec(source.replace("coup_kit", "protocol.kits.coup_kit"), namespace)
    bots = {"mybot": namespace["MyBot"], **{name: f"sample:{name}" for name in OPPONENTS}}
    assert rate == f"{100 * play(bots, 200, seed=1, match_games=4).win_rates['mybot'].value:.1f} %"
