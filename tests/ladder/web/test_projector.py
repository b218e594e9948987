"""Tests of the projector view of a final in a real browser."""

from collections.abc import Callable
from contextlib import closing

from ladder.grading import create_final, reveal_final_results
from tests.chromium import Reader
from tests.cli_workspace import QUICK_BOT, Place
from tests.ladder.classes import configure, hand_in, make_ladder, serve
from tests.ladder.web.ladder_server import serve_ladder

DOCUMENT = "document.querySelector('.featured iframe').contentDocument"


def test_the_board_of_an_open_final_follows_its_matches(
    browser: Reader, places: Callable[[], Place], axe: Callable[..., list[str]]
) -> None:
    """The page keeps its featured game, and shows its controls only if it doesn't play by itself."""
    place = places()
    with closing(make_ladder(place.folder / "spring")) as ladder:
        for owner in ("ada", "bob"):
            hand_in(ladder, owner, f"bot-of-{owner}")
        create_final(ladder, "last", None, games=20, actor="teacher", is_open=True)
        serve(ladder, 3)
        configure(ladder, public=True)
        shown, wrong = {}, []
        with serve_ladder(place, ladder.path, "--no-runner", "--no-tables") as server:
            for motion in ("reduce", "no-preference"):
                page = browser.context(viewport={"width": 1280, "height": 720}, reduced_motion=motion).new_page()
                page.on("pageerror", lambda error: wrong.append(str(error)))
                page.on("console", lambda said: wrong.append(said.text))
                page.goto(f"{server.url}/finals/last/projector")
                page.get_by_text("3 of 20 matches played").wait_for()
                featured = page.frame_locator(".featured iframe")
                featured.locator(".seat, .place").first.wait_for()
                featured.locator(".controls").wait_for(state="visible" if motion == "reduce" else "hidden")
                if motion == "reduce":
                    assert featured.get_by_label("pause").count() == 0
                else:
                    featured.get_by_label("pause").wait_for(state="attached")
                    page.evaluate(f"{DOCUMENT}.querySelector('[aria-label=pause]').click()")  # else it ends some time
                page.evaluate("animations = 0; Element.prototype.animate = () => { animations += 1; }; 0")
                page.evaluate("document.querySelector('#board tbody').append(document.querySelector('#board tr'))")
                page.locator("#board .up").wait_for()
                assert page.locator("#board .down").inner_text() == "▼1"
                assert (page.evaluate("animations") > 0) == (motion == "no-preference")
                shown[page] = page.locator(".featured iframe").get_attribute("src")
            serve(ladder)
            for page, source in shown.items():
                page.get_by_text("20 of 20 matches played").wait_for()
                assert page.locator(".featured iframe").get_attribute("src") == source
                page.evaluate(f"{DOCUMENT}.dispatchEvent(new Event('replayend'))")
                page.locator(".featured iframe:not([src*='/matches/3/'])").wait_for()
                assert page.evaluate("document.documentElement.scrollHeight") <= 720
                assert axe(page) == []
            browser.close()
        assert wrong == []


SMALL = """(least) => [...document.querySelectorAll(".screen *")].filter((part) => part.checkVisibility()
  && [...part.childNodes].some((node) => node.nodeType === 3 && node.textContent.trim())
  && parseFloat(getComputedStyle(part).fontSize) < least).map((part) => part.outerHTML)"""


LOSER = QUICK_BOT.replace("        number = ", "        sys.exit()\n        number = ", 1)  # at its first request


def test_a_final_fills_the_screen_in_large_letters(
    browser: Reader, places: Callable[[], Place], axe: Callable[..., list[str]]
) -> None:
    """While its results are hidden, it shows all 60 bots, else ten; then podium and decisive match."""
    place = places()
    with closing(make_ladder(place.folder / "spring", " ".join(f"user{number}" for number in range(60)))) as ladder:
        for number, code in enumerate((QUICK_BOT, LOSER)):  # else a tie could leave no decisive match
            hand_in(ladder, f"user{number}", f"a-bot-with-a-very-long-name-{number}", code=code)
        create_final(ladder, "short", None, games=20, actor="teacher")
        serve(ladder)
        reveal_final_results(ladder, "short", "teacher")
        for number in range(2, 60):
            hand_in(ladder, f"user{number}", f"a-bot-with-a-very-long-name-{number}")
        create_final(ladder, "last", None, games=20, actor="teacher")
        create_final(ladder, "open", None, games=2, actor="teacher", is_open=True)
        configure(ladder, public=True)
        with serve_ladder(place, ladder.path, "--no-runner", "--no-tables") as server:
            for width, height in ((1920, 1080), (1280, 800)):
                page = browser.context(viewport={"width": width, "height": height}).new_page()
                least = 31 * width / 1920
                page.goto(f"{server.url}/finals/last/projector")
                assert page.locator(".players li").count() == 62
                assert page.evaluate("document.documentElement.scrollHeight") <= height
                assert (page.evaluate(SMALL, least), axe(page)) == ([], [])
                page.goto(f"{server.url}/finals/open/projector")
                assert page.locator("#board tr").count() == 10
                assert page.evaluate("document.documentElement.scrollHeight") <= height
                page.goto(f"{server.url}/finals/short/projector")
                page.locator(".staged").wait_for()
                for part in [*page.locator("tr").all()[::-1], *page.locator(".finale").all()]:
                    assert not part.is_visible()
                    page.keyboard.press("Space")
                    part.wait_for()
                    box = part.bounding_box()
                    assert -1 <= box["y"] <= height + 1 - box["height"]
                    if part.evaluate("part => part.matches('.finale')"):
                        page.reload()
                        part.wait_for()
                assert page.evaluate(SMALL, least) == []
                page.frame_locator(".finale iframe").locator(".seat, .place").first.wait_for()
                page.context.close()
