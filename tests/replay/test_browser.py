"""Tests of the replay page in a browser: reading, and control by mouse, keyboard, phone and screen reader.

Every test asserts that the page made no network request and wrote nothing to the console (see Reader.check).
"""

import re
from collections.abc import Callable
from pathlib import Path
from statistics import fmean
from typing import Any

import pytest

from arena.replay import replay_page
from tests.chromium import Reader
from tests.replay.samples import sample

HOSTILE = '</script><img src=x onerror="alert(1)">\u202eevil\x1b[31m\ud800&amp;'


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return tmp_path_factory.mktemp("pages")


@pytest.fixture(scope="module")
def match() -> dict[str, Any]:
    return sample(bots=("honest", "mybot", "bluffer", "turtle"))


@pytest.fixture(scope="module")
def path(folder: Path, match: dict[str, Any]) -> Path:
    path = folder / "page.html"
    other = {**sample("reformation-inquisitor", 5, 2), "match": 3}
    path.write_text(replay_page([match, other], "A match of four"), "utf-8")
    return path


@pytest.fixture
def look(reader: Reader, path: Path) -> Callable[..., Any]:
    """Give a function that opens the page at a link."""
    return lambda hash_="", **options: reader.open(path, hash_, **options)


def expect(locator: Any) -> Any:
    from playwright.sync_api import expect

    return expect(locator)


def text(page: Any, selector: str) -> str:
    """Return the text of the first element that matches, without what shortens names."""
    said: str = page.locator(selector).first.inner_text()
    return re.sub("[\u2068\u2069]", "", said)


def where(page: Any) -> tuple[str, str]:
    """Return the moment that the page shows: its turn, and its event."""
    return text(page, ".turn-text"), text(page, ".sentence")


def button(page: Any, name: str) -> Any:
    return page.get_by_role("button", name=name, exact=True)


def choice(page: Any, name: str) -> Any:
    return page.get_by_role("combobox", name=name, exact=True)


def game(page: Any) -> str:
    return re.sub(" · .*", "", re.sub("Match [0-9]+ · ", "", text(page, ".chosen")))


def press(page: Any, key: str, times: int = 1) -> None:
    """Press a key, many times at the cost of one."""
    page.evaluate(
        "([key, times]) => { for (let time = 0; time < times; time++)"
        " document.body.dispatchEvent(new KeyboardEvent('keydown', { key, bubbles: true })); }",
        [key, times],
    )


def at(page: Any) -> int:
    return int(page.get_by_role("slider").input_value())


# ---------------------------------------------------------------- a game


def test_a_reader_goes_through_a_game(look: Callable[..., Any], match: dict[str, Any]) -> None:
    """The deal, notes on turns, marks, claims, and the end. test_modules.py tests texts, states and odds."""
    page, info = look(), match["games"][0]
    names = [match["bots"][bot] for bot in info["seating"]]
    assert where(page) == ("Game 1", f"The cards are dealt. {names[info['start']['actor']]} plays first")
    seats = page.locator(".seat").all()
    for seat, place in enumerate(seats):
        assert place.locator(".who .name").inner_text() == names[seat]
        assert place.locator(".count").inner_text() == str(info["start"]["coins"][seat])
        assert [card.lower() for card in place.locator(".role-name").all_inner_texts()] == info["start"]["hands"][seat]
    boxes = [place.bounding_box() for place in seats]  # clockwise from the bottom
    assert boxes[1]["x"] < boxes[0]["x"] == boxes[2]["x"] < boxes[3]["x"]
    assert boxes[2]["y"] < boxes[1]["y"] < boxes[0]["y"]

    steps, first = info["steps"], info["steps"][0]
    for kind, words in {"challenge": {"challenge"}, "loss": {"lost", "forfeit"}}.items():
        happened = sum(any(event["event"] in words for event in step["events"]) for step in steps)
        assert page.locator(f".lanes .mark.{kind}").count() == happened
    assert page.locator(".lanes .mark.fault").count() == 1
    assert page.locator(".lanes .mark.stderr").count() == len(info["stderr"])

    page.keyboard.press("ArrowRight")
    row = page.locator(".answers tbody tr").first
    assert row.locator(".fault-code").inner_text() == "timeout"
    assert f"{first['answers'][0][2]} µs" in row.inner_text()
    assert "No output in turn 1." in text(page, ".stderr")
    seen = [where(page)]
    while not where(page)[0].startswith("Turn 3"):
        page.keyboard.press("ArrowRight")
        seen.append(where(page))
        if where(page)[0].startswith("Turn 2"):
            assert text(page, ".stderr figcaption") == f"{names[2]} · turn 2"
            assert text(page, ".stderr pre") == "turn 2: I think"
    assert len(set(seen)) == len(seen)

    page.keyboard.press("End")
    assert text(page, ".won") == f"{names[info['winner']]} wins: the last one standing"
    claims = [event for step in steps for event in step["events"] if "claim" in event or event["event"] == "block"]
    rows = page.locator(".claims-panel tbody tr")
    assert rows.count() == len(claims)
    for one in rows.all():
        cells = one.locator("td").all_inner_texts()
        assert re.fullmatch(r"\d+\s%\s*", cells[2])
        assert cells[3] in ("true", "bluff")
        assert cells[4] in ("not challenged", "proven", "not proven", "open")


def test_a_seats_view_with_and_without_the_truth(look: Callable[..., Any], match: dict[str, Any]) -> None:
    """Without the truth nothing reveals others' cards, faults, standard error, or whether a claim was true."""
    page, info = look("#game=0&turn=1"), match["games"][0]
    culprit = info["steps"][0]["faults"][0][0]
    bluffs = page.locator(".lanes .mark.bluff").count()
    for seat in range(4):
        choice(page, "whose cards are shown").select_option(str(seat))
        assert page.locator(".lanes .mark.fault").count() == (seat == culprit)
        assert page.locator(".answers .fault-code").count() == (seat == culprit)
        assert page.locator(".lanes .mark.stderr").count() == sum(entry["seat"] == seat for entry in info["stderr"])
    assert page.locator(".lanes .mark.bluff").count() == bluffs
    button(page, "Truth").click()
    assert page.locator(".lanes .mark.bluff").count() < bluffs
    page = look("#game=0&seat=1")
    for seat, hand in enumerate(info["start"]["hands"]):  # framed among the odds
        framed = page.locator(".seat").nth(seat).locator(".meters li.true .role").all_inner_texts()
        assert framed == ([] if seat == 1 else sorted({card.capitalize()[:4] for card in hand}))
        assert page.locator(".seat").nth(seat).locator(".meters li").count() == (0 if seat == 1 else 5)
    button(page, "Truth").click()
    for seat, place in enumerate(page.locator(".seat").all()):
        assert len(place.locator(".card .role-name").all_inner_texts()) == (2 if seat == 1 else 0)
        assert place.locator(".card.back").count() == (0 if seat == 1 else 2)
        assert place.locator(".meters li.true").count() == 0
    likely = 0
    while at(page) < int(page.get_by_role("slider").get_attribute("max")):
        said = page.locator(".claim-text")
        if "likely to" in said.inner_text():
            likely += 1
            assert said.locator(".honest, .bluffed").count() == 0
        press(page, "ArrowRight")
    assert likely
    rows = [row.locator("td").all_inner_texts() for row in page.locator(".claims-panel tbody tr").all()]
    assert {("own" in row, "hidden" in row) for row in rows} == {(True, False), (False, True)}
    own = text(page, ".seat.own .who .name")
    for key in ("j", "j", "k"):  # the same bot's viewers, where it sits elsewhere
        page.keyboard.press(key)
        assert text(page, ".seat.own .who .name") == own


# Presses the key for the next step this many times, and returns messages about missing values.
EACH_STEP = """steps => Array.from({ length: steps }, () => {
    document.body.dispatchEvent(new KeyboardEvent('keydown', { key: 'ArrowRight', bubbles: true }));
    return document.getElementById('page').textContent.match(/.{9}(undefined|null|NaN)/);
}).filter(found => found !== null)"""


@pytest.mark.parametrize(
    ("preset", "seats", "viewers"), [("andy", 4, None), ("reformation-inquisitor", 5, (1,)), ("treason", 3, ())]
)
def test_a_game_is_played_to_its_end_at_each_view(
    reader: Reader, tmp_path: Path, preset: str, seats: int, viewers: tuple[int, ...] | None
) -> None:
    """A restricted match has the views of the bots that it was made for, and a spectator's."""
    match = sample(preset, seats, 2, viewers=viewers)
    (tmp_path / "page.html").write_text(replay_page([match], preset), "utf-8")
    shown = reader.open(tmp_path / "page.html")
    for game in match["games"]:
        listed = shown.locator("[aria-label='whose cards are shown'] option")
        options = listed.evaluate_all("all => all.map(one => one.value)")
        if viewers is not None:
            assert options == [*(str(game["seating"].index(bot)) for bot in sorted(viewers)), "-1"]
            assert choice(shown, "whose cards are shown").count() == (len(options) > 1)
            assert not shown.get_by_role("button", name="Truth").is_visible()
        for option in options if viewers is not None else options[:2]:
            press(shown, "Home")
            hands = game["start"]["hands"]
            hidden = sum(len(hand) for seat, hand in enumerate(hands) if str(seat) != option)
            if viewers is not None:
                assert shown.locator(".seat .card.back").count() == hidden
                assert shown.locator(".seat .role-name").count() == sum(map(len, hands)) - hidden
            assert shown.evaluate(EACH_STEP, len(game["steps"])) == []
            assert shown.locator(".won").count() == 1
            if viewers is not None:
                assert shown.locator(".seat.own").count() == (option != "-1")
                assert shown.get_by_role("columnheader", name="in truth").count() == (option != "-1")
                bluffs = shown.locator(".claims-panel tbody tr", has=shown.locator(".honest, .bluffed"))
                assert bluffs.count() == bluffs.filter(has_text="own").count()
            press(shown, "v")
        press(shown, "j")


def test_a_person_who_plays_as_you_is_addressed_and_sits_nearest(reader: Reader, tmp_path: Path) -> None:
    (tmp_path / "page.html").write_text(replay_page([sample(bots=("a", "b", "you", "c"))], "Your match"), "utf-8")
    page = reader.open(tmp_path / "page.html")
    for _ in range(3):
        tops = page.locator(".seat").evaluate_all("all => all.map(one => one.getBoundingClientRect().top)")
        assert page.locator(".seat .name").nth(tops.index(max(tops))).inner_text() == "you"
        press(page, "End")
        said = " ".join(map(str.lower, page.locator(".log .text, .won, .chosen").all_inner_texts()))
        assert "you " in said
        assert re.findall(r"\byou (?!pass)[a-z]+s\b", said) == []
        press(page, "j")


# ---------------------------------------------------------------- controls, keys, links


def test_every_control_works(look: Callable[..., Any]) -> None:
    """The list is complete, so a new control is added here."""
    page = look()
    used = set()

    def push(name: str) -> None:
        used.add(name)
        button(page, name).click()

    push("one step forward")
    assert at(page) == 1
    push("one step back")
    assert at(page) == 0
    push("next mark")
    marked = at(page)
    assert marked > 0
    push("next mark")
    push("previous mark")
    assert at(page) == marked
    push("end of the game")
    assert page.locator(".won").count() == 1
    push("start of the game")
    assert at(page) == 0

    used |= {"speed", "pause"}
    choice(page, "speed").select_option("slow")  # faster, the game may be over before it is paused
    push("play")
    expect(page.get_by_role("slider")).not_to_have_value("0")
    push("pause")
    assert button(page, "play").is_visible()
    push("end of the game")
    last = at(page)
    choice(page, "speed").select_option("very fast")
    push("one step back")
    push("play")  # it ends with the game
    expect(page.get_by_role("slider")).to_have_value(str(last))
    choice(page, "speed").select_option("slow")
    push("play")  # and begins with the deal, asked at the end
    assert at(page) < last
    push("pause")

    push("next game")
    assert game(page) == "Game 2"
    push("previous game")
    assert game(page) == "Game 1"
    used |= {"whose cards are shown", "closest first"}
    page.locator(".chosen").click()
    button(page, "closest first").click()
    assert button(page, "closest first").get_attribute("aria-pressed") == "true"
    button(page, "closest first").click()
    page.locator(".games a").nth(2).click()
    assert where(page)[0] == "Game 3"
    choice(page, "whose cards are shown").select_option(index=3)
    assert page.locator(".seat.own").count() == 1
    push("Truth")
    assert button(page, "Truth").get_attribute("aria-pressed") == "false"
    push("next game")
    assert page.locator(".seat").count() == 5

    before = page.evaluate("getComputedStyle(document.body).backgroundColor")
    push("switch between dark and light")
    assert page.evaluate("getComputedStyle(document.body).backgroundColor") != before
    push("help")
    used.add("Close")
    button(page, "Close").click()
    assert not page.get_by_role("dialog").is_visible()

    page.get_by_role("slider").fill("3")
    assert at(page) == 3
    page.locator(".chosen").click()
    page.locator(".games a").last.click()
    expect(page.locator(".turn-text")).to_have_text("Game 2")
    page.locator(".log a").nth(2).click()
    expect(page.get_by_role("slider")).not_to_have_value("0")
    page.keyboard.press("End")
    page.locator(".claims-panel a").last.click()
    expect(page.locator(".claims-panel tr.now")).to_have_count(1)

    names = page.locator("button:not(.chosen), select").evaluate_all(
        "all => all.map(one => one.ariaLabel ?? one.textContent)"
    )
    assert set(names) == used - {"pause"}


def test_every_key_of_the_help_works(look: Callable[..., Any]) -> None:
    page = look()
    press = page.keyboard.press
    press("?")
    keys = page.get_by_role("dialog").locator("kbd").all_inner_texts()
    press("Escape")
    wanted = "→,←,Shift →,Shift ←,n,p,Home,End,Space,j,k,g,+,-,v,t,d,?"
    assert ",".join(keys) == wanted

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
    press("g")
    press("ArrowDown")
    press("Enter")
    assert where(page)[0] == "Game 2"
    press("g")
    press("Escape")
    speeds = []
    for key in ("+", "+", "+", "-"):
        press(key)
        speeds.append(choice(page, "speed").locator("option:checked").inner_text())
    assert speeds == ["fast", "very fast", "very fast", "fast"]
    seen = []
    for _ in range(6):  # each seat, what all could see, all cards
        press("v")
        seen.append(choice(page, "whose cards are shown").input_value())
    assert seen == ["0", "1", "2", "3", "-1", ""]
    press("Home")  # a space on a button presses it, a letter in a list of choices finds one, Ctrl is the browser's
    button(page, "one step forward").focus()
    press("Space")
    assert (at(page), button(page, "play").is_visible()) == (1, True)
    shown = game(page)
    choice(page, "speed").focus()
    press("j")
    press("Control+j")
    assert game(page) == shown


def test_links_lead_to_moments_and_back(look: Callable[..., Any]) -> None:
    """The address is unique for each moment; links of the log are links of the browser."""
    page = look("#game=1&turn=3&seat=2")
    assert where(page)[0].startswith("Turn 3 ")
    assert game(page) == "Game 2"
    assert choice(page, "whose cards are shown").input_value() == "2"
    page.goto(f"{page.url.split('#')[0]}#match=3&game=1&turn=2")
    expect(page.locator(".seat")).to_have_count(5)

    page = look("#game=1&turn=2")
    page.keyboard.press("ArrowRight")
    page.keyboard.press("v")  # last: the address may be written after either
    shown = where(page), at(page)
    page.wait_for_url(re.compile("seat=0"))
    again = look(f"#{page.url.split('#')[1]}")
    assert (where(again), at(again)) == shown
    assert choice(again, "whose cards are shown").input_value() == "0"

    page = look("#game=0&turn=2")  # the page writes the address late, maybe after a link was followed
    page.evaluate("() => { location.hash = '#game=1&turn=3'; history.replaceState(null, '', '#game=0&turn=2'); }")
    expect(page.locator(".turn-text")).to_contain_text("Turn 3")
    assert game(page) == "Game 2"

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

    for wrong in ("", "game=99&turn=2", "game=-1", "game=x&turn=1e9&seat=99", f"turn={10**20}", "%ff&&==", "seat=4"):
        page = look(f"#{wrong}")
        assert page.locator(".seat").count() == 4, wrong
        assert where(page)[1], wrong


def test_a_link_to_a_view_leads_to_it_in_a_restricted_match(reader: Reader, tmp_path: Path) -> None:
    """A link to a seat whose cards the page lacks leads to the page's first view."""
    (tmp_path / "page.html").write_text(replay_page([sample(viewers=(1, 2))], "cut"), "utf-8")
    for hash_, value in {"": "1", "&seat=2": "2", "&seat=0": "1", "&seat=-1": "-1"}.items():
        shown = reader.open(tmp_path / "page.html", f"#game=0&turn=2{hash_}")
        assert choice(shown, "whose cards are shown").input_value() == value
    press(shown, "j")
    assert choice(shown, "whose cards are shown").input_value() == "-1"


def test_a_match_without_the_loser_shows_what_all_could_see(reader: Reader, folder: Path) -> None:
    """It never shows all cards. In its other matches the loser's views are there again."""
    bots = ("honest", "mybot", "bluffer", "turtle")
    first = sample(games=1, bots=bots)
    second = {**sample(games=1, bots=("honest", "other", "bluffer", "turtle")), "match": 1}
    third = {**sample(games=1, bots=bots), "match": 2}
    file = folder / "apart.html"
    file.write_text(replay_page([first, second, third], "Lost", "mybot"), "utf-8")
    opened = reader.open(file, "")
    seen = choice(opened, "whose cards are shown")

    def stands_apart() -> None:
        expect(seen).to_have_value("-1")
        assert opened.locator(".seat .role-name").count() == 0
        assert "mybot isn't in this match: public information" in text(opened, ".facts")

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


def test_the_closest_games_are_those_in_which_the_winner_had_few_cards_more(
    look: Callable[..., Any], match: dict[str, Any]
) -> None:
    """Of two equal ones the longer is first; `j` follows the list. Source of the cards: the game's events."""
    page = look()
    page.keyboard.press("g")
    rows = page.locator(".games tbody tr")
    plain = rows.all_inner_texts()
    assert len(plain) == 5
    for info, one in zip(plain, match["games"], strict=False):
        hand = 2 - sum(
            event["event"] == "lost" and event["seat"] == one["winner"]
            for step in one["steps"]
            for event in step["events"]
        )
        names = match["bots"][one["seating"][one["winner"]]]
        assert info.split("\t") == [
            f"Match {match['match'] + 1} · Game {one['game'] + 1}",
            names,
            str(one["turns"]),
            f"{hand} : 0",
        ]
    button(page, "closest first").click()
    info = [row.split("\t") for row in rows.all_inner_texts()]
    keys = [(int(close[0]) - int(close[-1]), -int(turns)) for _, _, turns, close in info]
    assert keys == sorted(keys)
    assert sorted(map(tuple, info)) == sorted(tuple(row.split("\t")) for row in plain)
    rows.first.locator("a").click()
    page.keyboard.press("j")
    assert text(page, ".chosen").startswith(info[1][0])


# ---------------------------------------------------------------- untrusted text


@pytest.fixture(scope="module")
def hostile(folder: Path) -> Path:
    """Give a page with hostile names, output and faults of bots."""
    match = sample(games=1, bots=[HOSTILE, "א" * 40, "x" * 40, "{seat} $& <b>"])
    for entry in match["games"][0]["stderr"]:
        entry["text"] = f"first\n{HOSTILE}\n\tlast"
    match["games"][0]["unattributed_faults"] = [[0, HOSTILE, 3]]
    path = folder / "hostile.html"
    path.write_text(replay_page([match], HOSTILE), "utf-8")
    return path


def test_untrusted_text_is_shown_as_text(reader: Reader, hostile: Path) -> None:
    """It creates no element and runs no script, and invisible characters are escaped, also without JavaScript."""
    page = reader.open(hostile, "#game=0&turn=2")
    assert page.locator("img, b").count() == 0
    said = page.locator(".stderr pre").inner_text()
    assert said.startswith("first\n</script><img src=x onerror")
    assert "\\u202eevil\\x1b[31m\\ud800&amp;\n\tlast" in said
    for name in page.locator(".who .name").all_inner_texts():
        assert not re.search("[\u202e\x1b\ud800]", name)
    press(page, "End")
    assert page.locator(".won").count() == 1
    assert page.locator("img").count() == 0
    assert page.evaluate("document.documentElement.scrollWidth <= innerWidth")
    page = reader.open(hostile, java_script_enabled=False)
    assert page.locator("details").count() == 1
    assert page.locator("img, b").count() == 0
    assert "onerror=" in page.locator("main").inner_text()


def test_a_script_that_gets_into_the_page_does_not_run(look: Callable[..., Any], reader: Reader) -> None:
    """Content-Security-Policy forbids it inline, as an attribute, and from elsewhere."""
    page = look()
    page.evaluate(
        """async () => {
          window.ran = [];
          const script = document.createElement("script");
          script.textContent = "ran.push('inline')";
          document.body.append(script);
          const html = "<img src='data:,' onerror='ran.push(1)'><p style='color:red' id=p>x";
          document.body.insertAdjacentHTML("beforeend", html);
          const image = new Image();
          image.src = "https://example.com/x.png";
          const refused = (each) => new Promise((done) => each.addEventListener("error", done));
          await Promise.all([image, document.querySelector("img")].map(refused));
        }"""
    )
    assert page.evaluate("ran") == []
    assert page.evaluate("getComputedStyle(document.getElementById('p')).color") != "rgb(255, 0, 0)"
    assert len(reader.wrong) >= 3
    assert all("Content Security Policy" in line for line in reader.wrong)
    reader.wrong.clear()
    reader.asked = [url for url in reader.asked if url.startswith("file:")]


# ---------------------------------------------------------------- phones, keyboard, screen readers


def test_a_game_can_be_read_on_a_phone(look: Callable[..., Any]) -> None:
    """Nothing is cut off at the side, controls are large enough for a finger, the bar covers no seat."""
    for width in (320, 900):
        page = look("#game=0&turn=4&seat=1", width=width, height=740)
        assert page.evaluate("document.documentElement.scrollWidth") == width
        for control in page.locator("button:visible, select:visible").all():
            box = control.bounding_box()
            assert box["x"] >= 0
            assert box["x"] + box["width"] <= width
            assert min(box["width"], box["height"]) >= 32
        meters = page.locator(".meters li")
        assert re.match(r"\d+\u202f%\nDuke\n", meters.nth(4).inner_text())
        assert meters.evaluate_all("all => all.filter(one => one.scrollWidth > one.clientWidth + 1).length") == 0
        page.evaluate("scrollTo(0, document.documentElement.scrollHeight)")
        bar = page.locator(".controls").bounding_box()
        assert bar["y"] + bar["height"] == pytest.approx(740, abs=1)  # nothing that is only heard makes the page longer
        for seat in page.locator(".seat").all():
            assert seat.bounding_box()["y"] + seat.bounding_box()["height"] <= bar["y"]
        assert page.locator(".legend:visible").count() == 1
    page = look("#game=0&turn=4", width=360, height=640, has_touch=True, is_mobile=True)
    before = where(page)
    button(page, "one step forward").tap()
    assert where(page) != before
    sentence, bar = page.locator(".sentence").bounding_box(), page.locator(".controls").bounding_box()
    assert sentence["y"] + sentence["height"] < bar["y"]
    assert bar["y"] + bar["height"] <= 640


def test_a_table_of_four_with_odds_fits_in_the_page_of_a_match_on_a_laptop(look: Callable[..., Any]) -> None:
    """It does so at each moment of a game, whatever the length of its sentence."""
    page = look("#game=0&seat=1", width=1118, height=750)  # of its frame at 1280 by 800
    moments = int(page.get_by_role("slider").get_attribute("max"))
    space = """() => {
        const bottoms = [...document.querySelectorAll(".seat")].map((seat) => seat.getBoundingClientRect().bottom);
        return document.querySelector(".controls").getBoundingClientRect().top - Math.max(...bottoms);
    }"""
    for _ in range(moments):
        press(page, "ArrowRight")
        assert page.evaluate(space) >= 0, where(page)


def test_the_cards_of_ten_players_fit(reader: Reader, tmp_path: Path) -> None:
    """None is cut off, nor covers another, nor do a seat's tags; a name of five letters is shown completely."""
    match = sample("reformation-inquisitor", 10, 1) | {"bots": [f"mybo{place}" for place in range(10)]}
    (tmp_path / "page.html").write_text(replay_page([match], "coup"), "utf-8")
    cut = """all => all.filter(one => one.scrollWidth > one.clientWidth ||
        one.getBoundingClientRect().right > one.closest(".seat").getBoundingClientRect().right - 4)"""
    covered = """all => all.filter(one => one.querySelector(".label > :last-child").getBoundingClientRect().right >
        one.querySelector(".change").getBoundingClientRect().left).map(one => one.textContent)"""
    for width in (390, 720, 1280):
        shown = reader.open(tmp_path / "page.html", width=width)
        for _ in range(4):
            assert shown.locator(".seat .card, .seat .name").evaluate_all(f"{cut}.map(one => one.textContent)") == []
            assert shown.locator(".seat:has(.label > :last-child):has(.change)").evaluate_all(covered) == []
            press(shown, "ArrowRight", 3)


def test_a_long_name_is_shown_completely_at_a_table_of_four(reader: Reader, tmp_path: Path) -> None:
    """The window is a projector's, in which a final shows its decisive match."""
    match = sample() | {"bots": ["Sunny-Octopus@12", "Little-Whale@1", "turtle@1", "honest@1"]}
    (tmp_path / "page.html").write_text(replay_page([match], "coup"), "utf-8")
    shown = reader.open(tmp_path / "page.html", width=921, height=560)
    cut = "all => all.filter(one => one.scrollWidth > one.clientWidth || one.scrollHeight > one.clientHeight + 1)"
    assert shown.locator(".seat .name").evaluate_all(f"{cut}.map(one => one.textContent)") == []


def test_the_keyboard_reaches_every_control_and_a_screen_reader_reads_each_step(look: Callable[..., Any]) -> None:
    """Checked are the focus frame, the live region, the slider's text, the step in the list, the cards."""
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
    names = [re.sub("^Match 1 · (Game 1) .*", r"\1", name) for name, _ in reached]
    assert names[:4] == ["Game 1", "next game", "whose cards are shown", "switch between dark and light"]
    assert {style for _, style in reached} == {"solid"}
    page.get_by_role("slider").focus()
    page.keyboard.press("Tab")
    assert page.evaluate("document.activeElement.ariaLabel") == "start of the game"
    page.keyboard.press("Enter")
    assert at(page) == 0
    page.keyboard.press("ArrowRight")
    turn, sentence = where(page)
    for said in (page.locator("[aria-live]").inner_text(), page.get_by_role("slider").get_attribute("aria-valuetext")):
        assert re.sub("[\u2068\u2069]", "", said) == f"{turn}: {sentence}"
    assert page.locator("[aria-current=step]").count() == 1
    page.keyboard.press("v")
    assert "a hidden card" in page.locator(".seat").nth(2).text_content()
    assert page.get_by_role("main").count() == 1


def test_axe_finds_nothing(
    look: Callable[..., Any], reader: Reader, axe: Callable[[Any], list[str]], lost: Any, tmp_path: Path
) -> None:
    """The rules of axe-core cover contrast, names, roles and order, in dark and light mode."""
    (tmp_path / "cut.html").write_text(replay_page([sample(viewers=())], "cut"), "utf-8")
    sums = {}
    for scheme, hash_, width in (
        ("light", "#game=0&turn=4&seat=1", 1280),
        ("dark", "#game=1&turn=5&seat=1", 360),
        ("dark", "#match=3&game=0&turn=999", 1280),  # sides, an inquisitor, the end of a game
    ):
        shown = look(hash_, color_scheme=scheme, width=width)
        colour = shown.evaluate("getComputedStyle(document.body).backgroundColor")
        sums[scheme] = sum(map(int, re.findall(r"\d+", colour)))
        assert axe(shown) == [], hash_
        press(shown, "g")
        assert axe(shown) == [], f"the games of {hash_}"
    assert sums["dark"] < 150 < 600 < sums["light"]
    assert axe(reader.open(tmp_path / "cut.html", "#game=0&turn=4")) == []
    shown = look()
    press(shown, "?")
    assert axe(shown) == [], "the help"
    for width in (390, 1280):
        shown = reader.open(lost[0], "#game=0&turn=4", width=width)
        shown.locator(".review summary").click()
        assert axe(shown) == [], "a review"
        assert shown.evaluate("document.documentElement.scrollWidth") == width


# ---------------------------------------------------------------- a review


def estimate(value: float) -> dict[str, float]:
    return {"value": value, "low": value - 0.02, "high": value + 0.02}


def reviewed(match: dict[str, Any]) -> dict[str, Any]:
    """Return a review of each game of the match: seat, chances after each choice of an action, the second costly."""
    curves: list[dict[str, Any]] = []
    costly: list[dict[str, Any]] = []
    for game in match["games"]:
        seat = game["seating"].index(1)
        steps = [step for step in game["steps"] if step["kind"] == "turn" and "faults" not in step]
        turns = [step["turn"] for step in steps if step["answers"][0][0] == seat]
        points = [
            {"turn": turn, "step": 0, "kind": "turn", "estimate": estimate(1 / (2 + place))}
            for place, turn in enumerate(turns)
        ]
        where = {"match": match["match"], "game": game["game"], "seat": seat}
        curves.append({**where, "points": points})
        moves = {
            "kind": "turn",
            "move": "take income",
            "better_move": "take tax",
            "win_probability": estimate(1 / 3),
            "cost": estimate(0.25),
        }
        costly.append({**where, "turn": turns[1], "step": 0, **moves})
    cost = {"value": 8.25, "low": 1.0, "high": 15.5}
    pattern = {"text": "takes income where tax is better", "count": 3, "cost": cost}
    counts = {"lost": 9, "games": len(curves), "decisions": 40}
    return {
        "bot": match["bots"][1],
        **counts,
        "costly_decisions": costly,
        "patterns": [pattern],
        "curves": curves,
        "caution": "Look.",
    }


@pytest.fixture(scope="module")
def lost(folder: Path) -> tuple[Path, dict[str, Any]]:
    """Give the page of a reviewed match, and its review."""
    match = sample(bots=("honest", "mybot", "bluffer", "turtle"), viewers=(1,))
    path = folder / "review.html"
    path.write_text(replay_page([match], "Lost", None, reviewed(match)), "utf-8")
    return path, reviewed(match)


def test_a_persons_review_says_what_would_have_been_better_and_why(folder: Path, reader: Reader) -> None:
    match = sample(bots=("honest", "you", "bluffer", "turtle"), viewers=(1,))
    review = {**reviewed(match), "person": True}
    game = match["games"][0]
    seat = game["seating"].index(1)
    steps = [step for step in game["steps"] if step["kind"] == "challenge" and step["answers"][0][0] == seat]
    within = [step for step in game["steps"] if step["turn"] == steps[0]["turn"]].index(steps[0])
    challenge = {"kind": "challenge", "turn": steps[0]["turn"], "step": within, "better_move": "challenge"}
    review["costly_decisions"][0] |= challenge
    home = ("own.html#game=1", "Back to the table")
    (folder / "own.html").write_text(replay_page([match], "Your match", review=review, home=home), "utf-8")
    shown = reader.open(folder / "own.html")
    assert text(shown, "h1") == "Back to the table · Your match"
    advice = text(shown, ".highlights li")
    assert re.search(r"You could have challenged: \w+ held an? [A-Z]\w+ in (\d+ of \d+|no|every) cases?\.", advice)
    assert "About 25 more wins in 100 games like this" in advice
    assert choice(shown, "whose cards are shown").input_value() == str(seat)
    shown = reader.open(folder / "own.html", "#game=1")
    assert "You could have chosen to take tax rather than to take income." in text(shown, ".highlights li")


def test_a_review_leads_to_the_moments_that_cost_most(
    reader: Reader, lost: tuple[Path, dict[str, Any]], look: Callable[..., Any]
) -> None:
    """It does so by the curve, by the costly decisions, and by how close games were: the mean of their chances."""
    path, review = lost
    shown = reader.open(path, "#game=1")
    assert text(shown, ".chances figcaption") == "mybot wins: no decision yet"
    box = shown.locator(".chances svg").bounding_box()
    last = int(shown.get_by_role("slider").get_attribute("max"))
    shown.mouse.click(box["x"] + box["width"] * 7 / last, box["y"] + 10)
    assert at(shown) == 7
    assert float(shown.locator(".present").get_attribute("x1")) == pytest.approx(7000 / last, abs=0.1)
    press(shown, "End")
    final = review["curves"][1]["points"][-1]
    value, low, high = (round(100 * final["estimate"][each]) for each in ("value", "low", "high"))
    info = f"mybot wins: {value}\u00a0% ({low} to {high}) after its decision in turn {final['turn']}"
    assert text(shown, ".chances figcaption") == info
    assert len(shown.locator(".chances .line").get_attribute("points").split()) == len(review["curves"][1]["points"])

    shown = reader.open(path)
    first = review["costly_decisions"][0]["turn"]
    expect(shown.locator(".turn-text")).to_have_text(re.compile(f"Turn {first} .*mybot"))
    assert "8.3 (1.0 to 15.5): takes income where tax is better, 3 times" in shown.locator(".review").inner_text()
    shown.locator(".review summary").click()
    links = shown.locator(".review details a")
    assert links.count() == len(review["costly_decisions"])
    links.nth(2).click()  # in another game
    turn = review["costly_decisions"][2]["turn"]
    expect(shown.locator(".turn-text")).to_have_text(re.compile(f"Turn {turn} .*mybot"))
    assert shown.locator(".answers tbody .name").all_inner_texts() == ["mybot"]

    press(shown, "g")
    went_out = shown.locator(".games tbody tr").filter(has=shown.locator("td p")).first
    assert went_out.locator("p").inner_text().endswith("· \u2068mybot\u2069 is out")
    assert f"turn={went_out.locator('td').nth(2).inner_text()}&" in went_out.locator("a").get_attribute("href")
    means = [fmean(one["estimate"]["value"] for one in curve["points"]) for curve in review["curves"]]
    button(shown, "closest first").click()
    rows = [row.split("\t")[-1] for row in shown.locator(".games tbody tr").all_inner_texts()]
    assert rows == [f"{round(100 * mean)}\u00a0%" for mean in sorted(means, reverse=True)]
    assert look().locator(".review, .chances").count() == 0
