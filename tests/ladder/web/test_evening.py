"""An evening in real browsers: a desktop, a phone and an onlooker at a served table, with a tab that is opened anew."""

from collections.abc import Callable
from typing import Any

from tests.chromium import Reader
from tests.ladder.service.ladders import ladder_in
from tests.ladder.web.browser_players import DESKTOP, PHONE, Player, play
from tests.ladder.web.players import at_once, club
from tests.place import Place

HOSTILE = "<img src=x onerror=alert(1)>"


def test_two_browsers_play_with_talk_and_each_holds_what_its_seat_may_know(place: Place, browser: Reader) -> None:
    """Every frame is looked at, and every page after each move; who answers first is told to nobody."""
    folder = ladder_in(place, fit=True)
    at_once(folder)
    words = ("", "hold duke", HOSTILE, "lack captain")
    with club(place, folder) as house:
        opened = house.open("ada", bots=["one", "two"], me=True, people=1, games=2, rules="open-table")
        house.sit("bob", opened["places"][-1]["link"])
        address = f"{house.url}/tables/{opened['id']}/play"

        def come(login: str, options: dict[str, Any]) -> Player:
            context = browser.browser.new_context(**options)
            context.add_cookies([{"name": "session", "value": house.session(login), "url": house.url}])
            seated = Player(login, context, options)
            seated.open(address)
            return seated

        def until(done: Callable[[Player], object], seed: str) -> None:
            play(people, done, lambda step: words[step % len(words)], seed)

        people, looker = [come("ada", DESKTOP), come("bob", PHONE)], come("staff", DESKTOP)
        people[0].wait(lambda seated: seated.state == "playing")
        until(lambda seated: ended(seated) or (seated.game or {}).get("turn", 0) >= 3, "a")
        people[1].page.close()
        people[1].open(address)
        people[1].page.locator(".felt").wait_for()
        until(ended, "b")
        looker.wait(ended)
        looker.page.get_by_text(looker.game["end"], exact=True).wait_for()
        for seated in (*people, looker):
            assert "says" in " ".join(seated.game["told"])
            assert seated.page.locator("img").count() == 0
        for seated in people:
            seated.page.get_by_role("button", name="Next game").click()
        until(lambda seated: seated.state == "over" and seated.frame["table"]["replay"], "c")
        people[0].page.get_by_role("link", name="Watch the replay").click()
        people[0].page.locator(".log").get_by_text("onerror").first.wait_for()
        assert people[0].page.locator("img").count() == 0
        for seated in (*people, looker):
            seated.context.close()
        house.dealer.terminate()
        assert place.end(house.dealer).code == 0
    place.demand_nothing_left()


def ended(seated: Player) -> object:
    return seated.state in ("between", "over") and (seated.game or {}).get("end")
