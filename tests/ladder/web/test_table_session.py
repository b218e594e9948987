"""Test of a table session in a real browser: a table is opened with its form, played on a served ladder, replayed."""

from tests.chromium import Reader
from tests.cli_workspace import Place
from tests.ladder.ladders import ladder_in
from tests.ladder.web.players import at_once, serve_tables
from tests.tables.test_page import played


def test_a_table_session_from_opening_to_replay(place: Place, browser: Reader) -> None:
    folder = ladder_in(place, fit=True)
    at_once(folder)
    with serve_tables(place, folder) as site:
        context = browser.context(viewport={"width": 390, "height": 844}, has_touch=True)
        context.add_cookies([{"name": "session", "value": site.session("ada"), "url": site.url}])
        page = context.new_page()
        page.on("pageerror", lambda error: browser.wrong.append(str(error)))
        page.goto(f"{site.url}/tables/{site.open('ada', bots=['one'], has_own_seat=True)['id']}")
        page.get_by_role("link", name="Go to your seat").click()
        page.locator(".felt").wait_for()
        played(page)
        page.get_by_role("link", name="See how it ended").click()
        page.locator(".log").get_by_text("Turn", exact=False).first.wait_for()
        context.close()
        site.table_server.terminate()
        assert place.end(site.table_server).code == 0
    place.require_nothing_left()
    browser.check()
