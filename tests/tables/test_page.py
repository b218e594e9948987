"""Tests of the page of a table with several people, in real browsers: lobby, absence, leaving, rematch."""

import json
from collections.abc import Callable, Iterator, Sequence
from pathlib import Path
from typing import Any

import pytest

from arena.coup import PRESETS
from arena.referee import messages, replay_game
from arena.tables import SlotChange, TableChat
from tests.chromium import WAIT_MS, Reader
from tests.ladder.web.ladder_server import wait_for
from tests.tables import looks
from tests.tables.table_server import TableServer, serve_tables
from tests.tables.test_chat import store_at_once

FEW = ("coup", "duel", "open-table", "reformation-inquisitor")  # which have all roles, actions and words
HOSTILE = '<img src=x onerror="alert(1)">\u202e"'


@pytest.fixture
def window(browser: Reader) -> Iterator[Callable[..., Any]]:
    """Give a function that opens a person's page; an error in the page fails the test."""

    def begin(there: TableServer, secret: str | None, hash_: str = "", **options: Any) -> Any:
        page = browser.context(**options).new_page()
        page.on("console", lambda message: browser.wrong.append(message.text))
        page.on("pageerror", lambda error: browser.wrong.append(str(error)))
        page.goto(there.url.replace("ws", "http") + ("/" if secret is None else f"/?secret={secret}") + hash_)
        return page

    yield begin
    browser.close()
    browser.check()


# Presses the first offered key until the game is over. To press from outside would take most of the time of a test.
PLAY = """() => {
    const playing = setInterval(() => {
        if (document.querySelector(".moves .first")) return clearInterval(playing);
        if (!document.querySelector(".moves:not(.early) button.move")) return;
        document.dispatchEvent(new KeyboardEvent("keydown", {key: "1"}));
        [...document.querySelectorAll("dialog[open] .move")].at(-1)?.click();
    }, 50);
}"""


def played(*pages: Any) -> None:
    """Play until the game is over for all."""
    for page in pages:
        page.evaluate(PLAY)
    for page in pages:
        page.locator(".moves .first").wait_for(timeout=3 * WAIT_MS)


def test_two_people_from_the_lobby_to_a_rematch(window: Callable[..., Any], axe: Callable[[Any], list[str]]) -> None:
    """On a phone and a desktop the lobby lists the missing and the absent players."""
    with serve_tables("person", "bot", "person") as there:
        there.slots[2].name = HOSTILE
        first = window(there, "secret0", viewport={"width": 390, "height": 844}, has_touch=True)
        first.get_by_text("Waiting for").wait_for()
        assert axe(first) == []
        assert first.locator(".lobby").inner_text().count("60 s a move") == 1
        looker = window(there, None)
        looker.get_by_text("Waiting for").wait_for()
        second = window(there, "secret2", viewport={"width": 1280, "height": 800})
        first.locator(".felt").wait_for()
        assert "onerror" in first.locator(".people").inner_text()
        assert first.locator(".people img").count() == 0
        names = first.locator(".people").inner_text()
        assert "a bot" in names
        assert "bot1" not in names
        second.goto("about:blank")
        first.locator(".people .gone").wait_for()
        second.go_back()
        first.locator(".people .gone").wait_for(state="detached")
        played(first, second)
        assert "bot1" in first.locator(".people").inner_text()
        assert first.evaluate("document.documentElement.scrollWidth") <= 390
        first.get_by_role("button", name="Play again").click()
        first.locator(".moves").get_by_text("Waiting for").wait_for()
        second.get_by_text("wants to play again").wait_for()
        second.get_by_role("button", name="Play again").click()
        first.locator(".moves .first").wait_for(state="detached")

        first.get_by_role("button", name="Leave").click()
        first.get_by_role("dialog").get_by_role("button", name="Leave").click()
        played(second)
        there.on(lambda: (there.table.end("the server is restarted"), there.table.dismiss("closed")))
        for page in (first, second, looker):
            page.get_by_text("This table is closed").wait_for()


def test_the_opener_arranges_the_places_by_clicks(window: Callable[..., Any], axe: Callable[[Any], list[str]]) -> None:
    """Others only see them. A spectator is led to the page on which to take a free seat."""
    changes: list[SlotChange] = []
    with serve_tables("person", "bot", "person", opener="ada", arrange=changes.append) as there:
        there.opener = "secret0"
        there.slots[1].name = "honest@3"
        there.slots[2].free = True
        strength = {"name": HOSTILE, "rank": [1, 3], "rating": [24.1, 22.9, 25.3]}
        there.table.bots = [strength, {"name": "honest@3", "rank": [], "rating": None}]
        opener, looker = window(there, "secret0", "#slow"), window(there, None)
        looker.get_by_text("pace: slow").wait_for()

        def click(name: str) -> SlotChange:
            opener.get_by_role("button", name=name).click()
            wait_for(lambda: changes)
            there.on(lambda: there.table.replace_slots(None))
            return changes.pop()

        assert "rank 1-3, rating 24.1 ± 1.2" in opener.locator(".arrange option").first.inner_text()
        assert click("Add the bot") == SlotChange(bots=(HOSTILE,))
        assert click("Add a seat") == SlotChange(place="person")
        assert click("Add a remote bot") == SlotChange(place="program")
        assert click("Remove honest@3") == SlotChange(remove=(1,))
        assert click("Remove a free seat") == SlotChange(remove=(2,))
        assert click("Start with 1 more bot") == SlotChange(remove=(2,), draw=1, start=True)
        opener.get_by_text("Your change of the table failed").wait_for()
        opener.get_by_role("combobox", name="Pace").select_option("fast")
        looker.get_by_text("pace: fast").wait_for()
        assert opener.get_by_role("option", name="duel").is_disabled()
        opener.get_by_role("combobox", name="Rules").select_option("inquisitor")
        wait_for(lambda: changes)
        assert changes.pop() == SlotChange(rules="inquisitor")
        with opener.expect_event("load"):  # the page has its rules from the server
            there.on(lambda: there.choose_rules("inquisitor"))
        opener.locator(".arrange").first.wait_for()
        looker.get_by_text("Rules: inquisitor (the inquisitor replaces the ambassador)").wait_for()
        for width in (320, 1280):
            opener.set_viewport_size({"width": width, "height": 800})
            assert opener.evaluate("document.documentElement.scrollWidth") <= width
        assert axe(opener) == []
        assert looker.locator(".people button, .arrange button").count() == 0
        assert "honest" not in looker.locator(".people").inner_text()
        assert looker.get_by_role("link", name="Take a seat").get_attribute("href") == "/join"


def test_a_move_that_was_made_while_the_socket_was_down_can_be_made_again(window: Callable[..., Any]) -> None:
    """It wasn't sent: the request stays open on the page and at the table."""
    with serve_tables("person", "bot") as there:
        page = window(there, "secret0")
        page.locator(".moves button.move").first.wait_for()
        question = page.locator(".question").inner_text()
        page.locator(".moves:not(.early)").wait_for()
        on_change(
            page,
            """if (document.querySelector(".banner").textContent.includes("lost")) press("1");
            if (document.querySelector(".question").textContent === "Waiting for the other players.") seen = true;""",
        )
        there.cut_people()
        page.wait_for_function("() => seen")
        page.locator(".moves button.move").first.wait_for()
        assert page.locator(".question").inner_text() == question


def test_a_seat_that_is_taken_back_by_a_double_click_is_taken_back(window: Callable[..., Any]) -> None:
    """The second connection ends the first one: that is no other tab."""
    with serve_tables("person", "bot") as there:
        page = window(there, "secret0")
        page.locator(".moves .move").first.wait_for()
        other = window(there, "secret0")
        page.get_by_role("button", name="Play here").wait_for()
        on_change(
            page,
            """const shown = document.querySelector(".banner").textContent.includes("another tab");
            if (!shown) window.cleared = true;
            if (shown && window.cleared) seen = true;""",
        )
        page.evaluate(CLICK, [".banner button"] * 2)
        other.get_by_role("button", name="Play here").wait_for()
        page.wait_for_function("() => window.cleared")
        page.locator(".moves:not(.early)").wait_for()
        page.keyboard.press("1")
        page.locator(".log .line").first.wait_for()
        assert page.evaluate("seen") is None


def on_change(page: Any, script: str) -> None:
    """Run a script at each change of the page: a state that passes by itself can't be missed."""
    page.evaluate(
        """() => {
            window.seen = null;
            window.press = (key, more) => document.dispatchEvent(new KeyboardEvent("keydown", {key, ...more}));
            const all = {childList: true, subtree: true, characterData: true};
            new MutationObserver(() => { SCRIPT }).observe(document, all);
        }""".replace("SCRIPT", script)
    )


# Clicks where there is such an element, one click directly after the other.
CLICK = "(selectors) => selectors.forEach((selector) => document.querySelector(selector)?.click())"
SEATED = """() => {
    const boxes = [...document.querySelectorAll(".seat:not(.own)")].map((seat) => seat.getBoundingClientRect());
    const apart = (one, other) => one.left > other.right - 1 || one.top > other.bottom - 1;
    const covers = (one, other) => !apart(one, other) && !apart(other, one);
    const asked = document.querySelector(".ask").getBoundingClientRect();
    return {
        wide: document.documentElement.scrollWidth,
        covered: boxes.filter((one, place) => boxes.slice(place + 1).some((other) => covers(one, other))).length,
        hidden: boxes.filter((one) => covers(one, asked)).length,
        moves: document.querySelector(".moves").getBoundingClientRect().bottom - innerHeight,
    };
}"""


@pytest.mark.parametrize("seats", [2, 5, 8, 10])
def test_seats_stand_around_the_table_and_the_next_move_is_in_view(
    window: Callable[..., Any], axe: Callable[[Any], list[str]], seats: int
) -> None:
    options = [option(number, "tax as duke", [(0, None)], action="tax") for number in range(7 if seats == 2 else 10)]
    turn = {"kind": "turn", "question": "Your turn", "options": options}
    with serve_tables(
        "person", *["bot"] * (seats - 1), rules="duel" if seats == 2 else "reformation-inquisitor"
    ) as there:
        page, _ = asked(window, there, turn, cards=["ambassador"] * 2, drawn=[])
        for width, height, scheme in (
            (390, 844, "dark"),
            (768, 844, "light"),
            (1024, 700, "light"),
            (1280, 720, "dark"),
        ):
            page.emulate_media(color_scheme=scheme)
            page.set_viewport_size({"width": width, "height": height})
            found = page.evaluate(SEATED)
            assert found["wide"] <= width
            assert found["covered"] == 0
            assert found["hidden"] == 0, (width, found)
            assert found["moves"] < 0
            if seats == 10 or width == 1280:
                assert axe(page) == []


def asked(
    window: Callable[..., Any],
    there: TableServer,
    *asks: dict[str, Any],
    output: dict[str, Any] | None = None,
    again: list[Callable[[], None]] | None = None,
    **table: Any,
) -> tuple[Any, list[Any]]:
    """Return a page that gets these requests, the next one after each answer, and the list of what it sends.

    again: a list to which a function is added that sends the page one more frame.
    """
    sent: list[Any] = []

    def through(socket: Any) -> None:
        frame: dict[str, Any] = {}
        server = socket.connect_to_server()

        def show(text: str) -> None:
            frame.update(json.loads(text))
            frame["table"].update(output or {})
            if frame["game"]:
                own = next(seat for seat in frame["game"]["seats"] if seat["own"])
                own.update({"cards": ["ambassador"] * 5, "drawn": ["inquisitor"] * 5} | table)
                plain = {"id": len(sent), "clock_s": None, "involved": True, "proven": False, "blocks": []}
                ask = asks[min(len(sent), len(asks) - 1)]
                frame["game"]["ask"] = plain | ask if ask else None
            socket.send(json.dumps(frame))

        def answer(text: str) -> None:
            sent.append(json.loads(text))
            show(json.dumps(frame))

        server.on_message(show)
        socket.on_message(answer)
        if again is not None:
            again[:] = [lambda: show(json.dumps(frame))]

    page = window(there, None)
    page.route_web_socket("**/socket*", through)
    page.goto(page.url + "?secret=secret0")
    page.locator(".moves .move").first.wait_for()
    return page, sent


def option(number: int, text: str, choices: Sequence[tuple[int, int | None]], **more: Any) -> dict[str, Any]:
    said = {
        "number": str(number),
        "letter": None,
        "action": None,
        "block": None,
        "cards": [],
        "bluff": False,
        "risk": None,
    }
    return {**said, "text": text, "choices": choices, **more}


def test_a_request_that_has_just_arrived_ignores_clicks_and_keys(window: Callable[..., Any]) -> None:
    """A double click or a held key would answer it; a moment later both work."""
    coup = {"kind": "turn", "question": "Your turn?", "options": [option(1, "coup against A or B", [(0, 0), (1, 1)])]}
    doubts = [option(1, "pass", [(0, None)]), option(2, "challenge", [(1, None)])]
    passing = {"kind": "challenge", "question": "Doubt?", "options": doubts}
    with serve_tables("person", "bot", "bot") as there:
        page, sent = asked(window, there, coup, passing, passing | {"question": "Done?"})
        page.locator(".moves:not(.early)").wait_for()
        page.evaluate(CLICK, [".moves .move"] * 2)
        page.get_by_text("Whom?").wait_for()
        assert sent == []
        page.locator(".moves:not(.early)").wait_for()
        on_change(
            page,
            """if (!seen && document.querySelector(".question").textContent === "Doubt?") {
                seen = true;
                press("1");
            }""",
        )
        page.evaluate(CLICK, [".moves .move"] * 2)
        page.wait_for_function("() => seen")
        page.locator(".moves:not(.early)").wait_for()
        page.evaluate("press('1', {repeat: true})")
        assert len(sent) == 1
        page.keyboard.press("1")
        page.get_by_text("Done?").wait_for()
        assert len(sent) == 2


def test_a_press_counts_for_the_button_on_which_it_began(window: Callable[..., Any]) -> None:
    """A frame that arrives during the press doesn't lose it, nor move the focus. It answers no other request."""
    options = [option(number, "tax", [(number, None)], cards=["duke"] * (number == 9)) for number in range(1, 10)]
    turn = {"kind": "turn", "question": "Your turn?", "options": options}
    output: dict[str, Any] = {}
    again: list[Callable[[], None]] = []
    with serve_tables("person", "bot", "bot") as there:
        turns = [turn | {"question": f"Turn {number}?"} for number in range(20)]
        page, sent = asked(window, there, *turns, output=output, again=again, cards=["duke"], drawn=[])

        def frame(missed: int) -> None:
            """Let a frame arrive, and wait until the page shows it."""
            output.update(missed=missed, spare=3 - missed)
            again[0]()
            words = "runs out again" if missed == 2 else "Your seat is kept"
            page.locator(".banner").get_by_text(words).wait_for()

        buttons = page.locator(".moves .move:enabled, .own-cards .choice")
        for place in range(buttons.count()):
            page.get_by_text(f"Turn {place}?").wait_for()
            page.locator(".moves:not(.early)").wait_for()
            frame(1)
            button = buttons.nth(place)
            button.hover()
            page.mouse.down()
            frame(2)
            focused = "(button) => button === document.activeElement"
            assert button.evaluate(focused)
            page.mouse.up()
            page.get_by_text(f"Turn {place + 1}?").wait_for()  # the request after the answer
            assert sent[-1]["answer"] == {"id": place, "choice": (9, *range(1, 10))[place], "say": ""}
        page.locator(".moves:not(.early)").wait_for()
        buttons.nth(1).hover()
        page.mouse.down()
        turns[len(sent)].update(id=100, question="Another?")
        frame(1)
        page.get_by_text("Another?").wait_for()
        page.locator(".moves:not(.early)").wait_for()
        page.mouse.up()
        buttons.nth(2).click()
        assert [message["answer"]["id"] for message in sent[-2:]] == [9, 100]


def test_a_person_reads_that_their_time_ran_out_and_takes_the_seat_back(window: Callable[..., Any]) -> None:
    options = [option(1, "income", [(0, None)]), option(2, "tax", [(1, None)])]
    turn = {"kind": "turn", "question": "Your turn?", "options": options}
    with serve_tables("person", "bot", "bot") as there:
        for missed, spare, words in (
            (1, 2, "Your seat is kept."),
            (2, 1, "runs out again"),
            (3, 0, "several times in a row"),
        ):
            output = {"missed": missed, "spare": spare}
            page, sent = asked(window, there, turn, output=output)
            page.locator(".banner").get_by_text("Your time ran out").get_by_text(words).wait_for()
        output.update(missed=0, spare=3)
        page.get_by_role("button", name="Take your seat back").click()
        page.locator(".banner p").wait_for(state="detached")
        assert sent == [{"back": True}]


def test_no_option_and_no_card_is_cut_off(window: Callable[..., Any]) -> None:
    """Tried with ten cards, fifteen options and the longest names, on a phone and on a desktop."""
    text = "keep ambassador, inquisitor and contessa " * 3 + "W" * 60
    options = [option(number, text, [(number, None)], bluff=True) for number in range(1, 16)]
    kinds = tuple(messages.KINDS.values())
    questions = [f"Q{number}{'W' * 58}" for number in range(len(kinds))]
    asks = [{"kind": kind, "question": text, "options": options} for kind, text in zip(kinds, questions, strict=True)]
    with serve_tables("person", "bot") as there:
        page, sent = asked(window, there, *asks, name="W" * 60)
        for question in questions:
            page.locator(".question", has_text=question).wait_for()
            for width in (390, 1280):
                page.set_viewport_size({"width": width, "height": 844})
                cut = """() => {
                    const edge = document.querySelector(".ask").getBoundingClientRect().right;
                    const beyond = (part) => part.getBoundingClientRect().right > edge;
                    const cut = (part) => part.clientWidth && part.scrollWidth > part.clientWidth + 1;
                    const parts = [...document.querySelectorAll(".ask :not(.unseen)")];
                    return parts.filter((part) => beyond(part) || cut(part)).map((part) => part.className);
                }"""
                assert page.evaluate(cut) == [], width
            page.locator(".moves:not(.early)").wait_for()
            page.locator(".moves .move").first.click()
        for _ in range(1000):
            if len(sent) == len(kinds):
                return
            page.wait_for_timeout(50)
        raise AssertionError(f"{len(sent)} answers of {len(kinds)} were sent")


def test_no_word_breaks_and_no_text_overlaps(browser: Reader, tmp_path: Path) -> None:
    """This holds for the longest question of each kind with 0 and 4 tags, and the lobby, in windows of all sizes."""
    frames = {kind: (rules, frame) for rules in ("andy", *FEW) for kind, frame in looks.questions(rules).items()}
    assert {*messages.KINDS.values()} - {*frames} <= {"examine_show"}
    shown = [(rules, kind, looks.tagged(frame, tags)) for kind, (rules, frame) in frames.items() for tags in (0, 4)]
    shown += [("coup", "lobby", looks.lobby(frames["turn"][1]))]
    wrong, opened = [], ""
    for number, (rules, kind, frame) in enumerate(sorted(shown, key=lambda each: each[0])):
        if opened != rules:
            page, opened = looks.open_page(browser, tmp_path, rules), rules
        looks.show(page, frame, number)
        for width, height in looks.SIZES:
            page.set_viewport_size({"width": width, "height": height})
            wrong += [(kind, width, each) for each in page.evaluate(looks.WRONG)]
    assert wrong == []


def test_a_block_is_chosen_together_with_the_challenge(window: Callable[..., Any]) -> None:
    """The page keeps the block, and asks again if the claim was challenged and proven meanwhile."""
    captain = option(3, "block as captain", [(2, None)], letter="a", block="captain")
    steal = {"kind": "challenge", "question": "Steal", "blocks": [captain]}
    steal["options"] = [option(1, "pass", [(0, None)], letter="p"), option(2, "challenge", [(1, None)])]
    block = {"kind": "block", "question": "Block?"}
    block["options"] = [
        option(1, "pass", [(0, None)], letter="p"),
        option(2, "block as captain", [(1, None)], block="captain"),
    ]
    options = [option(1, "income", [(0, None)]), option(2, "tax", [(1, None)])]
    turn = {"kind": "turn", "question": "Your turn", "options": options}
    with serve_tables("person", "bot", "bot") as there:
        for asks, key, choices in (
            ((steal, block, turn), "3", [0, 1]),
            ((steal, block, turn), "1", [0, 0]),
            ((steal, block | {"proven": True}), "3", [0]),
            ((block | {"involved": False}, turn), "u", [0]),
        ):
            page, sent = asked(window, there, *asks)
            page.locator(".moves:not(.early)").wait_for()
            page.keyboard.press(key)
            page.locator(".question", has_text=str(asks[-1]["question"])).wait_for()
            assert [message["answer"]["choice"] for message in sent] == choices


def test_targets_are_chosen_on_seats_and_lost_cards_on_cards(window: Callable[..., Any]) -> None:
    """Both ignore clicks while the request has just arrived."""
    steal = {"kind": "turn", "question": "Your turn", "options": [option(1, "steal", [(5, 1), (6, 2)])]}
    lose = {
        "kind": "lose",
        "question": "You lose a card",
        "options": [option(at, "lose", [(at, None)], cards=[role]) for at, role in enumerate(("ambassador", "duke"))],
    }
    with serve_tables("person", "bot", "bot") as there:
        page, sent = asked(window, there, steal, lose, steal)
        page.locator(".moves:not(.early)").wait_for()
        page.evaluate(CLICK, [".moves .move", ".seat.aim .aimed"])
        assert sent == []
        page.locator(".moves:not(.early)").wait_for()
        page.locator(".seat.aim").nth(1).click()
        page.locator(".question", has_text="You lose").wait_for()
        page.locator(".moves:not(.early)").wait_for()
        page.locator(".own-cards .choice").first.click()
        page.locator(".question", has_text="Your turn").wait_for()
        assert [message["answer"]["choice"] for message in sent] == [6, 0]
        assert page.locator(".seat.aim").count() == 0


def test_a_question_with_one_move_answers_itself_and_the_end_can_be_had_at_once(window: Callable[..., Any]) -> None:
    """This is so only on a turn: of other questions the hidden cards decide how many moves there are.

    A player who is out watches the rest of the game, or finishes it.
    """
    prove = {"kind": "prove", "question": "You have no duke to show.", "options": [option(1, "decline", [(0, None)])]}
    turn = {"kind": "turn", "question": "Your turn", "options": [option(1, "a", [(0, None)])]}
    with serve_tables("person", "bot", "bot") as there:
        page, sent = asked(window, there, turn, prove)
        page.get_by_text("You have no duke to show.").wait_for()
        assert [message["answer"]["choice"] for message in sent] == [0]
        page.wait_for_timeout(3000)
        assert len(sent) == 1
        page, sent = asked(window, there, {}, out=True, cards=[], drawn=[])
        page.get_by_text("You are out.").wait_for()
        page.locator(".moves:not(.early)").wait_for()
        page.get_by_role("button", name="Finish now").click()
        page.get_by_role("button", name="Watch").wait_for(state="detached")
        page.get_by_text("You are out.").wait_for()


def test_chat_is_written_by_keys_that_answer_no_question(
    window: Callable[..., Any], axe: Callable[[Any], list[str]]
) -> None:
    """A line from a seat is also shown as a bubble; its text is never HTML."""
    with serve_tables("person", "person", chat=TableChat("always", store_at_once)) as there:
        first = window(there, "secret0", viewport={"width": 390, "height": 844})
        second = window(there, "secret1", viewport={"width": 1280, "height": 800})
        for page in (first, second):
            page.locator(".felt").wait_for()
        asked = ".moves:not(.early) button.move"
        wait_for(lambda: any(page.locator(asked).count() for page in (first, second)))
        player = next(page for page in (first, second) if page.locator(asked).count())
        question = player.locator(".question").inner_text()
        for page in (first, second):
            on_change(page, "seen = document.querySelector('.bubble')?.textContent ?? seen")
        player.keyboard.press("/")
        player.keyboard.type("1" + HOSTILE)
        assert player.locator(".chat input").input_value() == "1" + HOSTILE
        assert player.locator(".question").inner_text() == question
        player.keyboard.press("Enter")
        for page in (first, second):
            page.locator(".chat li").wait_for()
            assert "1<img src=x" in page.locator(".chat li").inner_text()
            assert page.evaluate("seen").startswith("1<img src=x")
            assert page.evaluate("document.documentElement.scrollWidth <= innerWidth")
        assert axe(first) == []
        there.on(lambda: there.table.chat.keep([]))  # type: ignore[union-attr]
        second.locator(".chat li").wait_for(state="detached")
        there.on(lambda: there.table.end("the test is over"))


def test_rules_fit_a_phone_as_a_page_and_as_a_dialog(
    window: Callable[..., Any], axe: Callable[[Any], list[str]]
) -> None:
    with serve_tables("bot", "person", rules="treason-site") as there:
        page = window(there, "secret1", viewport={"width": 320, "height": 640})
        page.locator(".felt").wait_for()
        page.keyboard.press("r")
        dialog = page.locator("dialog[open]")
        assert dialog.locator(".roles li").count() == 5
        assert "claims captain; can be blocked by the target as captain or inquisitor" in dialog.inner_text()
        assert "A random seat starts." in dialog.inner_text()
        assert dialog.evaluate("box => box.scrollWidth <= box.clientWidth")
        page.goto(there.url.replace("ws", "http") + "/rules")
        assert page.locator(".rules .actions li").count() == 11
        assert page.evaluate("document.documentElement.scrollWidth <= innerWidth")
        assert axe(page) == []
        there.on(lambda: there.table.end("the test is over"))


def test_events_are_shown_one_by_one_before_the_next_request(window: Callable[..., Any]) -> None:
    """Space skips them. The game's end has places and cards, and a hidden page counts what it missed."""
    with serve_tables("person", "bot", pace="slow") as there:
        page = window(there, "secret0", reduced_motion="no-preference")
        page.locator(".moves:not(.early) .move").first.wait_for()
        # No event ends by itself.
        page.evaluate("window.real = setTimeout; setTimeout = (act, ms) => ms > 500 ? 0 : real(act, ms); 0")
        page.keyboard.press("1")
        page.locator(".stage.busy .skip").wait_for()
        assert page.locator(".moves .move").count() == 0
        page.locator(".log .line").first.wait_for()
        page.evaluate("setTimeout = real; 0")
        page.keyboard.press(" ")
        page.locator(".stage:not(.busy)").wait_for()
        page.get_by_role("button", name="Settings").click()
        page.get_by_label("Pace of the table").select_option("instant")
        page.keyboard.press("Escape")
        played(page)
        assert page.locator(".places li").count() == 2
        assert page.locator(".places .card.lost").count() >= 2
        page.evaluate("Object.defineProperty(document, 'hidden', {get: () => true})")
        page.get_by_role("button", name="Play again").click()
        page.wait_for_function("() => document.title.startsWith('(')")


def test_the_players_list_changes_after_the_last_event(browser: Reader, tmp_path: Path) -> None:
    """Until then the list of players names no bot, nor who won."""
    frame = looks.questions("coup")["turn"]
    game, table = frame["game"], frame["table"]
    page = looks.open_page(browser, tmp_path, "coup")
    page.emulate_media(reduced_motion="no-preference")
    looks.show(page, frame, 1)
    last = {"event": "coins", "seat": 0, "delta": 1, "reason": "income", "n": 900, "step": 900, "turn": 9, "ms": 60_000}
    places = [{**place, "name": "turtle@7", "won": 1} for place in table["places"]]
    over = {**table, "match": 1, "state": "over", "places": places}
    page.evaluate(looks.SHOW, {"table": over, "game": {**game, "ask": None, "end": "Ada wins.", "events": [last]}})
    page.locator(".stage.busy").wait_for()
    assert "turtle@7" not in page.locator(".people").inner_text()
    page.evaluate("Object.defineProperty(document, 'hidden', {get: () => true})")
    page.evaluate("document.dispatchEvent(new Event('visibilitychange'))")  # shows the rest at once
    page.locator(".people").get_by_text("turtle@7").first.wait_for()


def test_a_request_says_what_its_moves_claim_cost_and_risk(window: Callable[..., Any]) -> None:
    """Passing until the next turn is offered only where the player can pass."""
    tax = option(1, "take tax", [(0, None)], action="tax", letter="t")
    coup = option(2, "coup against A or B", [(1, 0), (2, 1)], action="coup", letter="c")
    exchange = option(1, "keep", [(0, None)], cards=["duke", "duke"])
    passing = [option(1, "pass", [(0, None)], letter="p"), option(2, "challenge", [(1, None)], letter="c")]
    cases: tuple[tuple[str, list[dict[str, Any]], str, bool], ...] = (
        ("turn", [tax, coup], "assassinate as assassin needs 3 coins", False),
        ("exchange", [exchange], "Choose 2 cards to keep", False),
        ("challenge", passing, "If you challenge and are wrong, you are out.", True),
    )
    with serve_tables("person", "bot", "bot") as there:
        for kind, options, text, can_pass in cases:
            ask = {"kind": kind, "question": "?", "options": options}
            page, _ = asked(window, there, ask, cards=["duke"], drawn=[], coins=2)
            assert text in " ".join(page.locator(".ask").inner_text().split())
            assert page.get_by_role("button", name="Pass until my turn").is_visible() == can_pass


SHOWN = [pytest.param(rules, marks=() if rules in FEW else pytest.mark.soak) for rules in PRESETS]


@pytest.mark.parametrize("rules", SHOWN)
def test_a_game_of_each_preset_ends_on_the_page_as_in_its_record(window: Callable[..., Any], rules: str) -> None:
    with serve_tables("person", *["bot"] * (1 if rules == "duel" else 3), rules=rules) as there:
        page = window(there, "secret0", viewport={"width": 390, "height": 844})
        page.evaluate("localStorage.setItem('coup-pace', 'instant')")
        page.reload()
        played(page)
        there.end()
        assert page.evaluate("document.documentElement.scrollWidth <= innerWidth")
        shown = page.evaluate(
            """() => [...document.querySelectorAll(".seats .seat")].map((seat) => [
                 Number(seat.querySelector(".count").textContent),
                 [...seat.querySelectorAll(".card.lost .role-name")].map((r) => r.textContent.toLowerCase()).sort(),
               ])"""
        )
    record = there.records[0]
    board = list(replay_game(record.header, record.games[0]))[-1].after.board
    expected = [
        [coins, sorted(role.value for role in cards)] for coins, cards in zip(board.coins, board.revealed, strict=True)
    ]
    assert sorted(shown) == sorted(expected)


def test_sounds_are_offered_at_the_first_wait_and_differ(reader: Reader, tmp_path: Path) -> None:
    page = looks.open_page(reader, tmp_path, "coup")
    frame = looks.questions("coup")["turn"]
    show = "frame => window.postMessage(frame, '*')"
    event = {"seat": 0, "step": 1, "turn": 1, "ms": 40, "claimant": 1, "role": "duke"}
    waiting = {**frame, "game": {**frame["game"], "ask": None, "events": []}}
    page.evaluate(show, waiting)
    page.get_by_role("button", name="Sounds", exact=True).click()
    page.get_by_role("button", name="Sounds", exact=True).wait_for(state="detached")
    page.evaluate(
        "() => { window.heard = []; const start = OscillatorNode.prototype.start;"
        "OscillatorNode.prototype.start = function (at) { heard.push(this.frequency.value); start.call(this, at); }; }"
    )
    heard = []
    for number, word in enumerate(("challenge", "lost")):
        shown = {**event, "event": word, "n": number}
        page.evaluate(show, {**waiting, "game": {**waiting["game"], "events": [shown]}})
        page.wait_for_function("() => heard.length > 1")
        heard.append(page.evaluate("heard.splice(0)"))
    page.evaluate(show, {**frame, "game": {**frame["game"], "events": []}})
    page.wait_for_function("() => heard.length > 1")
    heard.append(page.evaluate("heard.splice(0)"))
    assert len({*map(str, heard)}) == 3
    page.evaluate(show, {**waiting, "table": {**waiting["table"], "match": 99, "games": 7}})
    page.get_by_text("of 7").wait_for()
    assert page.get_by_role("button", name="Sounds", exact=True).count() == 0
