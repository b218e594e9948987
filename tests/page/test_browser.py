"""The page in a browser: what its reader sees, and does with mouse, keyboard, phone and screen reader.

Every test holds that the page asked nothing of the network and wrote nothing to the console (see Reader.check).
"""

import re
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from arena.page import page
from tests.chromium import Reader
from tests.page.samples import sample

HOSTILE = '</script><img src=x onerror="alert(1)">\u202eevil\x1b[31m\ud800&amp;'
CARDS = ("Ambassador", "Assassin", "Captain", "Contessa", "Duke")


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Give the folder of this module's pages."""
    return tmp_path_factory.mktemp("pages")


@pytest.fixture(scope="module")
def match() -> dict[str, Any]:
    """Give the match that most tests read."""
    return sample(bots=("honest", "mybot", "bluffer", "turtle"))


@pytest.fixture(scope="module")
def path(folder: Path, match: dict[str, Any]) -> Path:
    """Give the page of that match and of another."""
    path = folder / "page.html"
    other = {**sample("reformation-inquisitor", 5, 2), "match": 3}
    path.write_text(page([match, other], "A match of four"), "utf-8")
    return path


@pytest.fixture
def look(reader: Reader, path: Path) -> Callable[..., Any]:
    """Give a function that opens the page at a link."""
    return lambda hash_="", **options: reader.open(path, hash_, **options)


def expect(locator: Any) -> Any:
    """Wait until what is said of an element is so."""
    from playwright.sync_api import expect

    return expect(locator)


def text(page: Any, selector: str) -> str:
    """Return what the first element that fits says, without what cuts names off from the text around them."""
    said: str = page.locator(selector).first.inner_text()
    return re.sub("[\u2068\u2069]", "", said)


def where(page: Any) -> tuple[str, str]:
    """Return which moment the page shows: its turn, and what happened."""
    return text(page, ".turn-text"), text(page, ".sentence")


def button(page: Any, name: str) -> Any:
    return page.get_by_role("button", name=name, exact=True)


def choice(page: Any, name: str) -> Any:
    return page.get_by_role("combobox", name=name, exact=True)


def game(page: Any) -> str:
    """Return which game the page's header says it shows."""
    return re.sub(" · .*", "", re.sub("Match [0-9]+ · ", "", text(page, ".chosen")))


def press(page: Any, key: str, times: int = 1) -> None:
    """Press a key, many times at the cost of one."""
    page.evaluate(
        "([key, times]) => { for (let time = 0; time < times; time++)"
        " document.body.dispatchEvent(new KeyboardEvent('keydown', { key, bubbles: true })); }",
        [key, times],
    )


def at(page: Any) -> int:
    """Return the index of the moment that is shown."""
    return int(page.get_by_role("slider").input_value())


# ---------------------------------------------------------------- what is shown


def test_the_page_opens_with_the_deal_of_the_first_game(look: Callable[..., Any], match: dict[str, Any]) -> None:
    """All cards, coins and names are there."""
    page = look()
    start = match["games"][0]["start"]
    first = match["bots"][match["games"][0]["seating"][start["actor"]]]
    assert where(page) == ("Game 0", f"The cards are dealt; {first} begins")
    for seat, place in enumerate(page.locator(".seat").all()):
        assert place.locator(".who .name").inner_text() == match["bots"][match["games"][0]["seating"][seat]]
        assert place.locator(".count").inner_text() == str(start["coins"][seat])
        assert [card.lower() for card in place.locator(".role-name").all_inner_texts()] == start["hands"][seat]


def test_seats_stand_clockwise_around_the_stage(look: Callable[..., Any]) -> None:
    """The upper row from the left, the lower one from the right."""
    boxes = [place.bounding_box() for place in look().locator(".seat").all()]
    assert boxes[0]["x"] < boxes[1]["x"]
    assert boxes[2]["x"] > boxes[3]["x"]
    assert boxes[0]["y"] == boxes[1]["y"] < boxes[2]["y"] == boxes[3]["y"]


def test_each_moment_shows_what_happened_and_whose_coins_changed(look: Callable[..., Any]) -> None:
    """Source: the first turns of the game, whose moves are the sample's."""
    page = look("#game=0&turn=1")
    seen = [where(page)]
    while at(page) < 9:
        page.keyboard.press("ArrowRight")
        seen.append(where(page))
    assert len(set(seen)) == len(seen)
    assert page.locator(".change").count() > 0 or any("challenges" in sentence for _, sentence in seen)


def test_a_seats_knowledge_hides_the_cards_of_others(look: Callable[..., Any], match: dict[str, Any]) -> None:
    """Nothing that the page shows of the others tells their cards, once the truth is off."""
    page = look("#game=0&turn=1&seat=1")
    button(page, "Truth").click()
    for seat, place in enumerate(page.locator(".seat").all()):
        names = place.locator(".card .role-name").all_inner_texts()
        assert len(names) == (2 if seat == 1 else 0)
        assert place.locator(".card.back").count() == (0 if seat == 1 else 2)
        assert place.locator(".meters li.true").count() == 0
    assert page.locator(".honest, .bluffed").count() == len(
        page.locator(".claims-panel td.number", has_text="own").all()
    )


def test_a_seats_knowledge_has_no_marks_of_what_others_hid(look: Callable[..., Any], match: dict[str, Any]) -> None:
    """Neither faults nor standard error of others, and of bluffs its own and those that were caught."""
    page = look("#game=0&turn=1")
    game = match["games"][0]
    every = {kind: page.locator(f".lanes .mark.{kind}").count() for kind in ("bluff", "fault", "stderr")}
    assert every["fault"] == 1
    culprit = game["steps"][0]["fault"][0][0]
    for seat in range(4):
        choice(page, "whose cards are shown").select_option(str(seat))
        assert page.locator(".lanes .mark.fault").count() == (1 if seat == culprit else 0)
        assert page.locator(".answers .fault-code").count() == (1 if seat == culprit else 0)
        assert page.locator(".lanes .mark.stderr").count() == sum(entry["seat"] == seat for entry in game["stderr"])
    assert page.locator(".lanes .mark.bluff").count() == every["bluff"]
    button(page, "Truth").click()
    assert page.locator(".lanes .mark.bluff").count() < every["bluff"]


def test_the_truth_stands_beside_what_the_seat_thought_likely(look: Callable[..., Any], match: dict[str, Any]) -> None:
    """The roles that a player has in truth are framed among the odds."""
    page = look("#game=0&seat=1")
    for seat, hand in enumerate(match["games"][0]["start"]["hands"]):
        framed = page.locator(".seat").nth(seat).locator(".meters li.true .role").all_inner_texts()
        assert framed == ([] if seat == 1 else sorted({card.capitalize()[:4] for card in hand}))
        assert page.locator(".seat").nth(seat).locator(".meters li").count() == (0 if seat == 1 else 5)


def test_each_claim_has_its_odds_and_its_truth(look: Callable[..., Any], match: dict[str, Any]) -> None:
    """At the end of a game, a row for every claim of it."""
    page = look("#game=0&turn=999")
    events = [event for step in match["games"][0]["steps"] for event in step["events"]]
    claims = [event for event in events if "claim" in event or event["event"] == "block"]
    rows = page.locator(".claims-panel tbody tr")
    assert rows.count() == len(claims)
    for row in rows.all():
        cells = row.locator("td").all_inner_texts()
        assert re.fullmatch(r"\d+ %\s*", cells[2])
        assert cells[3] in ("true", "bluff")
        assert cells[4] in ("not challenged", "proven", "not proven", "open")


def test_a_seat_isnt_told_whether_the_claims_of_others_were_true(look: Callable[..., Any]) -> None:
    """Neither at the moment of a claim nor in the table of all of them, once the truth is off: its own it knows."""
    page = look("#game=0&seat=1")
    button(page, "Truth").click()
    likely = 0
    while at(page) < int(page.get_by_role("slider").get_attribute("max")):
        said = page.locator(".claim-text")
        if "likely to" in said.inner_text():
            likely += 1
            assert said.locator(".honest, .bluffed").count() == 0
        press(page, "ArrowRight")
    rows = [row.locator("td").all_inner_texts() for row in page.locator(".claims-panel tbody tr").all()]
    assert {("own" in row, "hidden" in row) for row in rows} == {(True, False), (False, True)}
    assert likely


def test_answers_times_faults_and_standard_error_stand_beside_their_turn(
    look: Callable[..., Any], match: dict[str, Any]
) -> None:
    """Source: the sample's first step, which has a fault, and its standard error of turn 2."""
    page = look("#game=0&turn=1")
    step = match["games"][0]["steps"][0]
    row = page.locator(".answers tbody tr").first
    assert row.locator(".fault-code").inner_text() == "timeout"
    assert f"{step['given'][0][2]} µs" in row.inner_text()
    assert "Nothing was written in turn 1." in text(page, ".stderr")
    page.goto(f"{page.url.split('#')[0]}#game=0&turn=2")
    expect(page.locator(".stderr pre")).to_have_text("turn 2: I think")
    writer = match["bots"][match["games"][0]["seating"][2]]
    assert text(page, ".stderr figcaption") == f"{writer} · turn 2"


def test_marks_stand_where_things_happened(look: Callable[..., Any], match: dict[str, Any]) -> None:
    """One for each step with a challenge, a loss, a fault."""
    page = look("#game=0")
    steps = match["games"][0]["steps"]

    def with_event(*words: str) -> int:
        return sum(any(event["event"] in words for event in step["events"]) for step in steps)

    assert page.locator(".lanes .mark.challenge").count() == with_event("challenge")
    assert page.locator(".lanes .mark.loss").count() == with_event("lost", "forfeit")
    assert page.locator(".lanes .mark.fault").count() == 1
    assert page.locator(".lanes .mark.stderr").count() == len(match["games"][0]["stderr"])


def test_the_end_says_who_won(look: Callable[..., Any], match: dict[str, Any]) -> None:
    """Source: the game's result."""
    page = look("#game=1&turn=999")
    game = match["games"][1]
    assert text(page, ".won") == f"{match['bots'][game['seating'][game['winner']]]} wins: the last one standing"


@pytest.mark.parametrize(("preset", "seats"), [("duel", 2), ("treason", 3), ("andy", 4), ("blog", 6), ("coup", 10)])
def test_every_moment_of_other_games_is_shown(reader: Reader, tmp_path: Path, preset: str, seats: int) -> None:
    """Other rules, other tables; as all cards, and as a seat knows them."""
    match = sample(preset, seats, 1)
    (tmp_path / "page.html").write_text(page([match], preset), "utf-8")
    shown = reader.open(tmp_path / "page.html")
    for _ in range(2):
        press(shown, "Home")
        press(shown, "ArrowRight", len(match["games"][0]["steps"]))
        assert shown.locator(".won").count() == 1
        assert "undefined" not in shown.locator("body").inner_text()
        press(shown, "v")


# ---------------------------------------------------------------- what some bots could know


# Presses the key for a step on, so many times, and returns what is said of values that aren't there.
EACH_STEP = """steps => Array.from({ length: steps }, () => {
    document.body.dispatchEvent(new KeyboardEvent('keydown', { key: 'ArrowRight', bubbles: true }));
    return document.getElementById('page').textContent.match(/.{9}(undefined|null|NaN)/);
}).filter(found => found !== null)"""


@pytest.mark.parametrize("eyes", [(), (1,), (1, 0)])
@pytest.mark.parametrize(
    ("preset", "seats"), [("coup", 4), ("duel", 2), ("reformation-inquisitor", 5), ("andy", 3), ("treason", 3)]
)
def test_a_match_that_was_cut_is_played_to_its_end_at_each_view(
    reader: Reader, tmp_path: Path, preset: str, seats: int, eyes: tuple[int, ...]
) -> None:
    """The views are those of the bots that it was told for, and an onlooker's; hidden cards lie face down."""
    match = sample(preset, seats, 2, eyes=eyes)
    (tmp_path / "page.html").write_text(page([match], preset), "utf-8")
    shown = reader.open(tmp_path / "page.html")
    views = choice(shown, "whose cards are shown")
    for game in match["games"]:
        options = shown.locator("[aria-label='whose cards are shown'] option").evaluate_all(
            "all => all.map(one => one.value)"
        )
        assert options == [*(str(game["seating"].index(bot)) for bot in sorted(eyes)), "-1"]
        assert views.count() == (len(options) > 1)
        assert not shown.get_by_role("button", name="Truth").is_visible()
        for option in options:
            press(shown, "Home")
            hands = game["start"]["hands"]
            hidden = sum(len(hand) for seat, hand in enumerate(hands) if str(seat) != option)
            assert shown.locator(".seat .card.back").count() == hidden
            assert shown.locator(".seat .role-name").count() == sum(map(len, hands)) - hidden
            assert shown.evaluate(EACH_STEP, len(game["steps"])) == []
            assert shown.locator(".won").count() == 1
            assert shown.locator(".seat.own").count() == (option != "-1")
            assert shown.get_by_role("columnheader", name="in truth").count() == (option != "-1")
            bluffs = shown.locator(".claims-panel tbody tr", has=shown.locator(".honest, .bluffed"))
            assert bluffs.count() == bluffs.filter(has_text="own").count()
            press(shown, "v")
        press(shown, "j")


def test_a_link_to_a_view_leads_to_it_in_a_match_that_was_cut(reader: Reader, tmp_path: Path) -> None:
    """To an onlooker's too; one to a seat whose cards the page lacks leads to what the page opens with."""
    (tmp_path / "page.html").write_text(page([sample(eyes=(1, 2))], "cut"), "utf-8")
    for hash_, value in {"": "1", "&seat=2": "2", "&seat=-1": "-1", "&seat=0": "1"}.items():
        shown = reader.open(tmp_path / "page.html", f"#game=0&turn=2{hash_}")
        assert choice(shown, "whose cards are shown").input_value() == value
    choice(shown, "whose cards are shown").select_option("-1")
    shown.wait_for_url(re.compile("seat=-1"))
    press(shown, "j")
    assert choice(shown, "whose cards are shown").input_value() == "-1"
    press(shown, "g")
    shown.locator(".games a").last.click()
    expect(shown.locator(".turn-text")).to_have_text("Game 2")
    assert choice(shown, "whose cards are shown").input_value() == "-1"


def test_without_javascript_a_match_that_was_cut_tells_no_hidden_card(reader: Reader, tmp_path: Path) -> None:
    """It counts them."""
    (tmp_path / "page.html").write_text(page([sample(games=1, eyes=(1,))], "cut"), "utf-8")
    shown = reader.open(tmp_path / "page.html", java_script_enabled=False)
    shown.locator("summary").click()
    told = shown.locator("details pre").inner_text()
    assert told.count("is dealt a hidden card, a hidden card\n") == 3


@pytest.mark.parametrize("width", [390, 720, 1280])
def test_ten_players_have_room_for_their_cards(reader: Reader, tmp_path: Path, width: int) -> None:
    """None is cut off, or lies on another; of a name of five letters all is shown."""
    match = sample("coup", 10, 1) | {"bots": [f"mybo{place}" for place in range(10)]}
    (tmp_path / "page.html").write_text(page([match], "coup"), "utf-8")
    shown = reader.open(tmp_path / "page.html", width=width)
    cut = """all => all.filter(one => one.scrollWidth > one.clientWidth ||
        one.getBoundingClientRect().right > one.closest(".seat").getBoundingClientRect().right - 4)"""
    for _ in range(12):
        assert shown.locator(".seat .card, .seat .name").evaluate_all(f"{cut}.map(one => one.textContent)") == []
        press(shown, "ArrowRight")


# ---------------------------------------------------------------- every control


def test_every_control_does_what_it_says(look: Callable[..., Any]) -> None:
    """And there are no others: whoever adds one adds it here."""
    page = look()
    used = set()

    def push(name: str) -> None:
        used.add(name)
        button(page, name).click()

    push("a step on")
    assert at(page) == 1
    push("a step back")
    assert at(page) == 0
    push("next mark")
    marked = at(page)
    assert marked > 0
    push("next mark")
    push("previous mark")
    assert at(page) == marked
    push("to the end")
    assert page.locator(".won").count() == 1
    push("to the deal")
    assert at(page) == 0

    used |= {"speed", "pause"}
    choice(page, "speed").select_option("fast")  # faster, the game may be over before it is paused
    push("play")
    expect(page.get_by_role("slider")).not_to_have_value("0")
    push("pause")
    assert button(page, "play").is_visible()

    push("next game")
    assert game(page) == "Game 1"
    push("previous game")
    assert game(page) == "Game 0"
    used |= {"whose cards are shown", "closest first"}
    page.locator(".chosen").click()
    button(page, "closest first").click()
    assert button(page, "closest first").get_attribute("aria-pressed") == "true"
    button(page, "closest first").click()
    page.locator(".games a").nth(2).click()
    assert where(page)[0] == "Game 2"
    choice(page, "whose cards are shown").select_option(index=3)
    assert page.locator(".seat.own").count() == 1
    push("Truth")
    assert button(page, "Truth").get_attribute("aria-pressed") == "false"
    push("next game")
    assert page.locator(".seat").count() == 5

    before = page.evaluate("getComputedStyle(document.body).backgroundColor")
    push("dark or light")
    assert page.evaluate("getComputedStyle(document.body).backgroundColor") != before
    push("help")
    used.add("Close")
    button(page, "Close").click()
    assert not page.get_by_role("dialog").is_visible()

    page.get_by_role("slider").fill("3")
    assert at(page) == 3
    page.locator(".chosen").click()
    page.locator(".games a").last.click()
    expect(page.locator(".turn-text")).to_have_text("Game 1")
    page.locator(".log a").nth(2).click()
    expect(page.get_by_role("slider")).not_to_have_value("0")
    page.keyboard.press("End")
    page.locator(".claims-panel a").last.click()
    expect(page.locator(".claims-panel tr.now")).to_have_count(1)

    names = page.locator("button:not(.chosen), select").evaluate_all(
        "all => all.map(one => one.ariaLabel ?? one.textContent)"
    )
    assert set(names) == used - {"pause"}


def test_every_key_of_the_help_does_what_it_says(look: Callable[..., Any]) -> None:
    """The table of keys is the page's own."""
    page = look()
    press = page.keyboard.press
    press("?")
    keys = page.get_by_role("dialog").locator("kbd").all_inner_texts()
    press("Escape")
    assert keys == [
        "→",
        "←",
        "Shift →",
        "Shift ←",
        "n",
        "p",
        "Home",
        "End",
        "Space",
        "j",
        "k",
        "g",
        "+",
        "-",
        "v",
        "t",
        "d",
        "?",
    ]

    press("ArrowRight")
    press("ArrowRight")
    press("ArrowLeft")
    assert at(page) == 1
    press("Shift+ArrowRight")
    assert where(page)[0].startswith("Turn 2 ")
    press("Shift+ArrowLeft")
    assert where(page)[0].startswith("Turn 1 ")
    press("n")
    marked = at(page)
    press("n")
    press("p")
    assert at(page) == marked
    stops = {at(page) for _ in range(60) if press("n") is None}
    only = page.locator(".lanes .mark.stderr").evaluate_all(
        """marks => marks.map(one => one.style.getPropertyValue("--share"))
        .filter(share => ![...document.querySelectorAll(".lanes .mark:not(.stderr)")]
        .some(one => one.style.getPropertyValue("--share") === share))"""
    )
    last = int(page.get_by_role("slider").get_attribute("max"))
    assert only, "there is text at a moment without a mark"
    assert not stops & {round(float(share) * last) for share in only}
    press("End")
    assert page.locator(".won").count() == 1
    press("Home")
    assert at(page) == 0
    press("Space")
    assert button(page, "pause").is_visible()
    press("Space")
    assert button(page, "play").is_visible()
    press("j")
    assert where(page)[0] == "Game 1"
    press("k")
    assert where(page)[0] == "Game 0"
    press("g")
    press("ArrowDown")
    press("Enter")
    assert where(page)[0] == "Game 1"
    press("g")
    press("Escape")
    speeds = []
    for key in ("+", "+", "+", "-"):
        press(key)
        speeds.append(choice(page, "speed").locator("option:checked").inner_text())
    assert speeds == ["fast", "very fast", "very fast", "fast"]
    press("v")
    assert page.locator(".seat").nth(0).evaluate("one => one.classList.contains('own')")
    press("t")
    assert button(page, "Truth").get_attribute("aria-pressed") == "false"
    before = page.locator("html").get_attribute("data-theme")
    press("d")
    assert page.locator("html").get_attribute("data-theme") != before


def test_v_looks_through_each_seat_in_turn(look: Callable[..., Any]) -> None:
    """All cards, four seats, what all could see, all cards."""
    page = look()
    seen = []
    for _ in range(6):
        page.keyboard.press("v")
        seen.append(choice(page, "whose cards are shown").input_value())
    assert seen == ["0", "1", "2", "3", "-1", ""]


def test_playing_ends_with_the_game(look: Callable[..., Any]) -> None:
    """And begins anew with the deal when it is asked for at the end."""
    page = look("#game=0&turn=999")
    choice(page, "speed").select_option("very fast")
    last = at(page)
    page.keyboard.press("ArrowLeft")
    button(page, "play").click()
    expect(page.get_by_role("slider")).to_have_value(str(last))
    choice(page, "speed").select_option("slow")
    button(page, "play").click()
    assert at(page) < last


def test_keys_that_a_control_needs_are_left_to_it(look: Callable[..., Any]) -> None:
    """A space on a button presses it, a letter in a list of choices finds one, Ctrl is the browser's."""
    page = look()
    button(page, "a step on").focus()
    page.keyboard.press("Space")
    assert (at(page), button(page, "play").is_visible()) == (1, True)
    choice(page, "speed").focus()
    page.keyboard.press("j")
    page.keyboard.press("Control+j")
    assert where(page)[0] != "Game 1"


def test_the_next_game_is_seen_through_the_eyes_of_the_same_bot(look: Callable[..., Any]) -> None:
    """It sits elsewhere there."""
    page = look("#game=0&seat=1")
    own = text(page, ".seat.own .who .name")
    for key in ("j", "j", "k"):
        page.keyboard.press(key)
        assert text(page, ".seat.own .who .name") == own
    page.keyboard.press("g")
    page.locator(".games a").first.click()
    expect(page.locator(".turn-text")).to_have_text("Game 0")
    assert text(page, ".seat.own .who .name") == own


# ---------------------------------------------------------------- links


def test_a_link_leads_to_its_moment(look: Callable[..., Any], match: dict[str, Any]) -> None:
    """A game, a turn, a step of it, and a seat."""
    page = look("#game=1&turn=3&seat=2")
    assert where(page)[0].startswith("Turn 3 ")
    assert game(page) == "Game 1"
    assert choice(page, "whose cards are shown").input_value() == "2"
    page.goto(f"{page.url.split('#')[0]}#match=3&game=1&turn=2")
    expect(page.locator(".seat")).to_have_count(5)


def test_the_address_is_a_link_to_what_is_shown(look: Callable[..., Any]) -> None:
    """So it can be copied at any moment."""
    page = look("#game=1&turn=2")
    page.keyboard.press("ArrowRight")
    page.keyboard.press("v")  # last: the address may be written after either
    shown = where(page), at(page)
    page.wait_for_url(re.compile("seat=0"))
    again = look(f"#{page.url.split('#')[1]}")
    assert (where(again), at(again)) == shown
    assert choice(again, "whose cards are shown").input_value() == "0"


def test_a_link_counts_that_is_followed_while_the_address_is_being_written(look: Callable[..., Any]) -> None:
    """The page writes the address later than it shows a moment, maybe after a link was followed."""
    page = look("#game=0&turn=2")
    page.evaluate("() => { location.hash = '#game=1&turn=3'; history.replaceState(null, '', '#game=0&turn=2'); }")
    expect(page.locator(".turn-text")).to_contain_text("Turn 3")
    assert game(page) == "Game 1"


def test_back_leads_to_the_moment_before_a_link_was_followed(look: Callable[..., Any]) -> None:
    """Links of the log are links of the browser."""
    page = look("#game=0&turn=2")
    before = at(page)
    page.evaluate(
        "() => { window.pushed = 0; const push = history.pushState;"
        " history.pushState = (...given) => { window.pushed++; push.apply(history, given); }; }"
    )
    for _ in range(2):
        page.locator(".log a").nth(8).click()
    assert at(page) != before
    assert page.evaluate("window.pushed") == 1  # the second click led nowhere else
    page.go_back()
    expect(page.get_by_role("slider")).to_have_value(str(before))


@pytest.mark.parametrize(
    "hash_",
    [
        "#",
        "#game=99&turn=2",
        "#game=-1",
        "#game=x&turn=1e9&seat=99",
        "#turn=99999999999999999999",
        "#%ff&&==",
        "#seat=4",
    ],
)
def test_a_link_to_what_there_is_not_leads_to_what_there_is(look: Callable[..., Any], hash_: str) -> None:
    """Somebody typed it, or the page was made anew."""
    page = look(hash_)
    assert page.locator(".seat").count() == 4
    assert where(page)[1]


# ---------------------------------------------------------------- what strangers wrote


@pytest.fixture(scope="module")
def hostile(folder: Path) -> Path:
    """Give a page whose bots have names, output and faults that want to be more than text."""
    match = sample(games=1, bots=[HOSTILE, "א" * 40, "x" * 40, "{seat} $& <b>"])
    for entry in match["games"][0]["stderr"]:
        entry["text"] = f"first\n{HOSTILE}\n\tlast"
    match["games"][0]["strays"] = [[0, HOSTILE, 3]]
    path = folder / "hostile.html"
    path.write_text(page([match], HOSTILE), "utf-8")
    return path


def test_what_strangers_wrote_is_shown_as_text(reader: Reader, hostile: Path) -> None:
    """No element comes of it, no script runs, and what can't be seen is told by an escape."""
    page = reader.open(hostile, "#game=0&turn=2")
    assert page.locator("img").count() == 0
    assert page.locator("b").count() == 0
    said = page.locator(".stderr pre").inner_text()
    assert said.startswith("first\n</script><img src=x onerror")
    assert "\\u202eevil\\x1b[31m\\ud800&amp;\n\tlast" in said
    for name in page.locator(".who .name").all_inner_texts():
        assert not re.search("[\u202e\x1b\ud800]", name)
    press(page, "ArrowRight", int(page.get_by_role("slider").get_attribute("max")))
    assert page.locator(".won").count() == 1
    assert page.locator("img").count() == 0
    assert page.evaluate("document.documentElement.scrollWidth <= innerWidth")


def test_a_script_that_gets_into_the_page_does_not_run(look: Callable[..., Any], reader: Reader) -> None:
    """Content-Security-Policy: neither inline, nor as an attribute, nor from anywhere."""
    page = look()
    page.evaluate(
        """() => {
          window.ran = [];
          const script = document.createElement("script");
          script.textContent = "ran.push('inline')";
          document.body.append(script);
          const html = "<img src='data:,' onerror='ran.push(1)'><p style='color:red' id=p>x";
          document.body.insertAdjacentHTML("beforeend", html);
          const image = new Image();
          image.src = "https://example.com/x.png";
        }"""
    )
    assert page.evaluate("ran") == []
    assert page.evaluate("getComputedStyle(document.getElementById('p')).color") != "rgb(255, 0, 0)"
    assert len(reader.wrong) >= 3
    assert all("Content Security Policy" in line for line in reader.wrong)
    reader.wrong.clear()
    reader.asked = [url for url in reader.asked if url.startswith("file:")]


# ---------------------------------------------------------------- without JavaScript


def test_without_javascript_the_page_says_what_it_is_and_tells_the_games(
    reader: Reader, path: Path, match: dict[str, Any]
) -> None:
    """Each game as text, in the words of the terminal."""
    page = reader.open(path, java_script_enabled=False)
    assert "recorded games of Coup" in page.locator("noscript, main").first.inner_text()
    assert page.locator("details").count() == 5
    page.locator("summary").first.click()
    told = page.locator("details pre").first.inner_text()
    assert "Turn 1: " in told
    assert told.count("Turn ") == match["games"][0]["turns"]
    assert page.evaluate("document.documentElement.scrollWidth <= innerWidth")


def test_without_javascript_too_strangers_write_text(reader: Reader, hostile: Path) -> None:
    """Names stand in the text of the games."""
    page = reader.open(hostile, java_script_enabled=False)
    assert page.locator("img, b").count() == 0
    assert "onerror=" in page.locator("main").inner_text()


# ---------------------------------------------------------------- phones, dark and light, keyboard, screen readers


@pytest.mark.parametrize("width", [320, 360, 900])
def test_the_page_is_as_wide_as_the_screen(look: Callable[..., Any], width: int) -> None:
    """Nothing is cut off at the side, and all that is to be pressed is large enough for a finger."""
    page = look("#game=0&turn=4&seat=1", width=width, height=740)
    assert page.evaluate("document.documentElement.scrollWidth") == width
    for control in page.locator("button:visible, select:visible").all():
        box = control.bounding_box()
        assert box["x"] >= 0
        assert box["x"] + box["width"] <= width
        assert min(box["width"], box["height"]) >= 32


def test_the_page_ends_with_its_bar(look: Callable[..., Any]) -> None:
    """Nothing that is only heard makes the page longer than what is seen of it."""
    page = look("#game=0&turn=999")
    bar = page.locator(".controls").evaluate("one => one.getBoundingClientRect().bottom + scrollY")
    page.evaluate("scrollTo(0, document.documentElement.scrollHeight)")
    assert page.locator(".controls").evaluate("one => one.getBoundingClientRect().bottom") == 800
    assert bar >= 800


def test_on_a_phone_a_sentence_and_the_keys_are_on_the_first_screen(look: Callable[..., Any]) -> None:
    """The bar stays at the bottom, and the game can be played without scrolling."""
    page = look("#game=0&turn=4", width=360, height=640, has_touch=True, is_mobile=True)
    before = where(page)
    button(page, "a step on").tap()
    assert where(page) != before
    sentence = page.locator(".sentence").bounding_box()
    bar = page.locator(".controls").bounding_box()
    assert sentence["y"] + sentence["height"] < bar["y"]
    assert bar["y"] + bar["height"] <= 640


def test_dark_and_light_follow_the_system(look: Callable[..., Any]) -> None:
    """Until the reader says otherwise."""
    colours = {
        scheme: look(color_scheme=scheme).evaluate("getComputedStyle(document.body).backgroundColor")
        for scheme in ("dark", "light")
    }
    assert (
        sum(map(int, re.findall(r"\d+", colours["dark"])))
        < 150
        < 600
        < sum(map(int, re.findall(r"\d+", colours["light"])))
    )


def test_the_keyboard_alone_reaches_every_control(look: Callable[..., Any]) -> None:
    """Tab goes through all that can be pressed, and what has the focus is framed."""
    page = look("#game=0&turn=2")
    reached = []
    for _ in range(25):
        page.keyboard.press("Tab")
        reached.append(
            page.evaluate(
                "[document.activeElement.ariaLabel ?? document.activeElement.textContent,"
                " getComputedStyle(document.activeElement).outlineStyle]"
            )
        )
    names = [re.sub("^Match 0 · (Game 0) .*", r"\1", name) for name, _ in reached]
    assert names[:4] == ["Game 0", "next game", "whose cards are shown", "dark or light"]
    assert {style for _, style in reached} == {"solid"}
    page.get_by_role("slider").focus()
    page.keyboard.press("Tab")
    assert page.evaluate("document.activeElement.ariaLabel") == "to the deal"
    page.keyboard.press("Enter")
    assert at(page) == 0


def test_a_screen_reader_is_told_of_each_step(look: Callable[..., Any]) -> None:
    """The line that is read out, the slider's text, the step in the list, and cards by name."""
    page = look("#game=0&turn=1")
    page.keyboard.press("ArrowRight")
    turn, sentence = where(page)
    for said in (
        page.locator("[aria-live]").inner_text(),
        page.get_by_role("slider").get_attribute("aria-valuetext"),
    ):
        assert re.sub("[\u2068\u2069]", "", said) == f"{turn}: {sentence}"
    assert page.locator("[aria-current=step]").count() == 1
    page.keyboard.press("v")
    assert "a hidden card" in page.locator(".seat").nth(2).text_content()
    assert page.get_by_role("img").count() > 0
    assert page.get_by_role("main").count() == 1


@pytest.mark.parametrize(
    ("scheme", "hash_", "width"),
    [
        ("light", "#game=0&turn=4&seat=1", 1280),
        ("dark", "#game=1&turn=5&seat=1", 360),
        ("dark", "#match=3&game=0&turn=999", 1280),  # sides, an inquisitor, the end of a game
    ],
)
def test_axe_finds_nothing(
    look: Callable[..., Any], axe: Callable[[Any], list[str]], scheme: str, hash_: str, width: int
) -> None:
    """Contrast, names, roles, order: the rules of axe-core."""
    page = look(hash_, color_scheme=scheme, width=width)
    assert axe(page) == []
    page.keyboard.press("g")
    assert axe(page) == []


def test_axe_finds_nothing_in_a_match_that_was_cut(
    reader: Reader, axe: Callable[[Any], list[str]], tmp_path: Path
) -> None:
    """Face-down cards, and fewer choices."""
    (tmp_path / "page.html").write_text(page([sample(eyes=())], "cut"), "utf-8")
    assert axe(reader.open(tmp_path / "page.html", "#game=0&turn=4")) == []


def test_axe_finds_nothing_in_the_help(look: Callable[..., Any], axe: Callable[[Any], list[str]]) -> None:
    """A dialog over the page."""
    page = look()
    page.keyboard.press("?")
    assert axe(page) == []


def test_a_page_of_lost_games_opens_with_the_losers_eyes_in_each_match(reader: Reader, folder: Path) -> None:
    """All cards stay a choice, which links keep; the bot keeps its eyes where it sits elsewhere."""
    first = sample(bots=("honest", "mybot", "bluffer", "turtle"))
    second = {**sample(games=1, bots=("mybot", "honest", "bluffer", "turtle")), "match": 3}
    file = folder / "lost.html"
    file.write_text(page([first, second], "Lost", "mybot"), "utf-8")
    opened = reader.open(file, "")
    seen = choice(opened, "whose cards are shown")
    expect(seen).to_have_value("1")
    expect(button(opened, "Truth")).to_have_attribute("aria-pressed", "false")
    press(opened, "g")
    opened.locator(".games a").last.click()
    expect(seen).to_have_value("0")
    seen.select_option("")
    expect(seen).to_have_value("")
    expect(choice(reader.open(file, "#match=0&game=0"), "whose cards are shown")).to_have_value("")


def test_a_match_without_the_loser_shows_what_all_could_see(reader: Reader, folder: Path) -> None:
    """However one gets there: never all cards. Back in its own matches the loser's eyes are there again."""
    bots = ("honest", "mybot", "bluffer", "turtle")
    first = sample(games=1, bots=bots)
    second = {**sample(games=1, bots=("honest", "other", "bluffer", "turtle")), "match": 1}
    third = {**sample(games=1, bots=bots), "match": 2}
    file = folder / "apart.html"
    file.write_text(page([first, second, third], "Lost", "mybot"), "utf-8")
    opened = reader.open(file, "")
    seen = choice(opened, "whose cards are shown")

    def stands_apart() -> None:
        expect(seen).to_have_value("-1")
        assert opened.locator(".seat .role-name").count() == 0
        assert "mybot isn't in this match: what all could see" in text(opened, ".facts")

    expect(seen).to_have_value("1")
    press(opened, "j")
    stands_apart()
    press(opened, "j")
    expect(seen).to_have_value("1")
    assert "isn't in" not in text(opened, ".facts")
    press(opened, "g")
    opened.locator(".games a").nth(1).click()
    stands_apart()
    press(opened, "k")
    expect(seen).to_have_value("1")
    seen.select_option("-1")
    assert "isn't in" not in text(opened, ".facts")
    press(opened, "j")
    expect(seen).to_have_value("-1")
    assert "isn't in" not in text(opened, ".facts")


def test_who_was_caught_where_proving_is_automatic_has_not_the_card(reader: Reader, tmp_path: Path) -> None:
    """Its bar is at 0 %, to all who look. Source: protocol/kits, "What is certain"."""
    match = sample("treason-original", 3, 4)
    (tmp_path / "page.html").write_text(page([match], "certain"), "utf-8")
    opened, told = reader.open(tmp_path / "page.html", ""), []
    for one in match["games"]:
        for place, step in enumerate(one["steps"]):
            for event in (event for event in step["events"] if event["event"] == "unproven"):
                within = sum(before["turn"] == step["turn"] for before in one["steps"][:place])
                link = f"#game={one['game']}&turn={step['turn']}&step={within}&seat=-1"
                opened.goto(opened.url.partition("#")[0] + link)
                bars = opened.locator(".seat").nth(event["seat"]).locator(".meters li")
                titles = bars.evaluate_all("all => all.map(one => one.title)")
                told += [title for title in titles if title.startswith(event["role"].capitalize())]
    assert len(told) > 3
    assert all(title.endswith(": 0 %") for title in told), told


# ---------------------------------------------------------------- the list of games


def test_the_closest_games_are_those_in_which_the_winner_had_few_cards_more(
    look: Callable[..., Any], match: dict[str, Any]
) -> None:
    """Of two alike the longer one; `j` follows the list. Cards: source is the game's own events."""
    page = look()
    page.keyboard.press("g")
    rows = page.locator(".games tbody tr")
    plain = rows.all_inner_texts()
    assert len(plain) == 5
    for told, one in zip(plain, match["games"], strict=False):
        hand = 2 - sum(
            event["event"] == "lost" and event["seat"] == one["winner"]
            for step in one["steps"]
            for event in step["events"]
        )
        names = match["bots"][one["seating"][one["winner"]]]
        assert told.split("\t") == [
            f"Match {match['match']} · Game {one['game']}",
            names,
            str(one["turns"]),
            f"{hand} : 0",
        ]
    button(page, "closest first").click()
    told = [row.split("\t") for row in rows.all_inner_texts()]
    keys = [(int(close[0]) - int(close[-1]), -int(turns)) for _, _, turns, close in told]
    assert keys == sorted(keys)
    assert sorted(map(tuple, told)) == sorted(tuple(row.split("\t")) for row in plain)
    rows.first.locator("a").click()
    page.keyboard.press("j")
    assert text(page, ".chosen").startswith(told[1][0])


def test_a_review_tells_how_close_games_were(reader: Reader, lost: Any) -> None:
    """By the mean of its chances."""
    path, review = lost
    shown = reader.open(path)
    press(shown, "g")
    means = [sum(one["chance"] for one in curve["chances"]) / len(curve["chances"]) for curve in review["curves"]]
    told = [row.split("\t")[-1] for row in shown.locator(".games tbody tr").all_inner_texts()]
    assert told == [f"{round(100 * mean)} %" for mean in means]
    button(shown, "closest first").click()
    told = [row.split("\t")[-1] for row in shown.locator(".games tbody tr").all_inner_texts()]
    assert told == [f"{round(100 * mean)} %" for mean in sorted(means, reverse=True)]


@pytest.mark.parametrize(("width", "height"), [(390, 844), (1280, 800)])
def test_the_bar_covers_no_seat_and_odds_can_be_read(look: Callable[..., Any], width: int, height: int) -> None:
    """At the end of the page all seats stand above the bar, and what the marks mean is told."""
    page = look("#game=0&turn=4&seat=1", width=width, height=height)
    meters = page.locator(".meters li")
    assert re.match(r"\d+\u202f%\nDuke\n", meters.nth(4).inner_text())
    assert meters.evaluate_all("all => all.filter(one => one.scrollWidth > one.clientWidth + 1).length") == 0
    page.evaluate("scrollTo(0, document.documentElement.scrollHeight)")
    bar = page.locator(".controls").bounding_box()["y"]
    assert all(seat.bounding_box()["y"] + seat.bounding_box()["height"] <= bar for seat in page.locator(".seat").all())
    assert page.locator(".legend:visible").count() == 1


# ---------------------------------------------------------------- a review


def reviewed(match: dict[str, Any]) -> dict[str, Any]:
    """Return a review of each game of the match: seat, chances after each choice of an action, the second costly."""
    curves: list[dict[str, Any]] = []
    costly: list[dict[str, Any]] = []
    for game in match["games"]:
        seat = game["seating"].index(1)
        steps = [step for step in game["steps"] if step["kind"] == "turn" and "fault" not in step]
        turns = [step["turn"] for step in steps if step["given"][0][0] == seat]
        chances = [
            {"turn": turn, "kind": "turn", "chance": 1 / (2 + place), "error": 0.1} for place, turn in enumerate(turns)
        ]
        where = {"match": match["match"], "game": game["game"], "seat": seat}
        curves.append({**where, "chances": chances})
        moves = {
            "kind": "turn",
            "made": "take income",
            "better": "take tax",
            "chance": 1 / 3,
            "given": 0.25,
            "error": 0.03,
        }
        costly.append({**where, "place": 1, "turn": turns[1], **moves})
    habit = {"words": "takes income where tax is better", "times": 3, "cost": 8.25, "low": 1.0, "high": 15.5}
    counts = {"lost": 9, "games": len(curves), "decisions": 40}
    return {
        "bot": match["bots"][1],
        **counts,
        "costly": costly,
        "habits": [habit],
        "curves": curves,
        "caution": "Look.",
    }


@pytest.fixture(scope="module")
def lost(folder: Path) -> tuple[Path, dict[str, Any]]:
    """Give the page of a reviewed match, and its review."""
    match = sample(bots=("honest", "mybot", "bluffer", "turtle"), eyes=(1,))
    path = folder / "review.html"
    path.write_text(page([match], "Lost", None, reviewed(match)), "utf-8")
    return path, reviewed(match)


def test_the_curve_marks_the_present_and_a_click_leads_to_a_moment(reader: Reader, lost: Any) -> None:
    path, review = lost
    shown = reader.open(path, "#game=1")
    assert text(shown, ".chances figcaption") == "mybot wins: no decision yet"
    box = shown.locator(".chances svg").bounding_box()
    last = int(shown.get_by_role("slider").get_attribute("max"))
    shown.mouse.click(box["x"] + box["width"] * 7 / last, box["y"] + 10)
    assert at(shown) == 7
    assert float(shown.locator(".present").get_attribute("x1")) == pytest.approx(7000 / last, abs=0.1)
    press(shown, "End")
    final = review["curves"][1]["chances"][-1]
    told = f"mybot wins: {round(100 * final['chance'])} % ± 20 after its decision in turn {final['turn']}"
    assert text(shown, ".chances figcaption") == told
    assert len(shown.locator(".chances .line").get_attribute("points").split()) == len(review["curves"][1]["chances"])


def test_a_costly_decision_leads_to_its_moment(reader: Reader, lost: Any) -> None:
    """Also to one of another game; the bot's own answer is shown there."""
    path, review = lost
    shown = reader.open(path)
    assert "8.3 (1.0 to 15.5): takes income where tax is better, 3 times" in shown.locator(".review").inner_text()
    shown.locator(".review summary").click()
    links = shown.locator(".review details a")
    assert links.count() == len(review["costly"])
    links.nth(2).click()
    turn = review["costly"][2]["turn"]
    expect(shown.locator(".turn-text")).to_have_text(re.compile(f"Turn {turn} .*mybot"))
    assert shown.locator(".answers tbody .name").all_inner_texts() == ["mybot"]
    assert shown.url.split("#")[1].startswith("match=")
    shown.locator(".review a").first.click()
    assert where(shown)[0].startswith(f"Turn {turn} ")


def test_a_page_without_a_review_has_no_costs(look: Callable[..., Any]) -> None:
    shown = look()
    assert shown.locator(".review, .chances").count() == 0


@pytest.mark.parametrize("width", [390, 1280])
def test_axe_finds_nothing_in_a_review(
    reader: Reader, axe: Callable[[Any], list[str]], lost: tuple[Path, dict[str, Any]], width: int
) -> None:
    shown = reader.open(lost[0], "#game=0&turn=4", width=width)
    shown.locator(".review summary").click()
    assert axe(shown) == []
    assert shown.evaluate("document.documentElement.scrollWidth") == width
