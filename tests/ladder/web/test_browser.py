"""Tests of the pages in a real browser: hostile text doesn't run, pages are accessible, a match plays."""

import re
import shutil
from collections.abc import Callable, Iterator
from contextlib import closing
from pathlib import Path
from typing import Any
from urllib.parse import quote

import pytest
from sqlalchemy import select

from arena.checks import CheckStep, Severity
from arena.playground import make_program_fragment
from ladder.activation import disable_bot
from ladder.bot_pages import serialize_step
from ladder.bots import submit_bot
from ladder.ladder import Ladder, open_ladder
from ladder.match_pages import set_void
from ladder.store import METADATA, User, finish_check, save_users
from ladder.users import issue_secret
from tests.chromium import Reader
from tests.cli_workspace import QUICK_BOT, Place
from tests.ladder.ladders import freeze, pass_all
from tests.ladder.term import Term, write
from tests.ladder.web.ladder_server import LadderServer, serve_ladder
from tests.ladder.web.visitors import paths

# Hostile text for a page: as a bot's name, and in every text of a check or a decision.
PAYLOADS = (
    "<img src=x onerror=window.hit=1>",
    "\"'><svg onload=window.hit=1>",
    "{{7*7}}${7*7}<%=7*7%>",
    "javascript:window.hit=1",  # a name has no slash, and 40 characters at most
    "a?b#c&d=%3Cscript%3E +;",
    "<iframe srcdoc='<b onclick=hit()>'>",
)
TEXTS = (
    *PAYLOADS,
    "</script><script>window.hit=1</script>",
    "<!--<script>",
    "</title></textarea></pre><body onpageshow=window.hit=1>",
    "\x1b[31m\u202e\u2066\u200f",
    "<a href='javascript:window.hit=1' autofocus onfocus=window.hit=1>x</a>",
)
ALL = " ".join(TEXTS)


@pytest.fixture(scope="module")
def hostile(tmp_path_factory: pytest.TempPathFactory, term: Term) -> Term:
    """Give a ladder whose every text is hostile; don't change it."""
    folder = tmp_path_factory.mktemp("hostile")
    own = Term(Path(shutil.copytree(term.path, folder / "spring", ignore=shutil.ignore_patterns("*-shm", "*-wal"))))
    with closing(open_ladder(own.path)) as ladder:
        people = [User(login, ALL, f"{ALL} of {login}", email=ALL, section=ALL) for login in ("eve", "mal")]
        ladder.database.write(lambda connection: save_users(connection, people, 2.0))
        toml = own.path / "ladder.toml"
        toml.write_text(toml.read_text().replace("max_bots_per_user = 1 ", "max_bots_per_user = 99 "))
        for number, name in enumerate(PAYLOADS):
            submit_bot(ladder, write(folder / f"{number}.py", f"{QUICK_BOT}# {number}\n"), "eve", name=name)
        pass_all(ladder)
        for number, name in enumerate(PAYLOADS[:3]):
            submit_bot(ladder, write(folder / f"{number}.py", f"{QUICK_BOT}# worse {number}\n"), "eve", name=name)
        fail_checks(ladder)
        disable_bot(ladder, PAYLOADS[2], ALL, ALL)
        own.run(matches=4)
        set_void(ladder, last_match(ladder), True, ALL, ALL)
    return own


@pytest.fixture(scope="module")
def server(places: Callable[[], Place], hostile: Term) -> Iterator[LadderServer]:
    with serve_ladder(places(), hostile.path, "--no-runner") as made:
        yield made


def last_match(ladder: Ladder) -> int:
    matches = METADATA.tables["matches"]
    query = select(matches.c.id).where(matches.c.is_rated).order_by(matches.c.id.desc())
    return int(ladder.database.read_with_retry(lambda connection: connection.scalars(query).first() or 0))


def fail_checks(ladder: Ladder) -> None:
    """Make all waiting versions fail their check, with every text that a bot controls."""
    versions = METADATA.tables["versions"]
    step = CheckStep(
        "hello",
        Severity.FAIL,
        ALL,
        fix_command=ALL,
        advice=ALL,
        sent=ALL.encode(),
        received=ALL.encode(),
        stderr=(ALL.encode(),),
    )
    with ladder.database.read() as reading:
        queued = list(reading.scalars(select(versions.c.id).where(versions.c.status == "queued")))
    for version in queued:
        ladder.database.write(
            lambda connection, version=version: finish_check(
                connection, version, [serialize_step(step)], reason=ALL, command=None, built_digest=None, timestamp=9.0
            )
        )


def window(reader: Reader, server: LadderServer, login: str, **options: Any) -> tuple[Any, list[str]]:
    """Return a browser's page with a signed-in user, and the list of its errors."""
    context = reader.context(**options)
    context.add_cookies([{"name": "session", "value": server.session(login), "url": server.url}])
    page, wrong = context.new_page(), []
    page.on("pageerror", lambda error: wrong.append(str(error)))
    page.on("dialog", lambda dialog: wrong.append(dialog.message))
    page.on("console", lambda said: wrong.append(said.text) if "status of 4" not in said.text else None)
    return page, wrong


# Waits for the pages in frames, also those that a browser would load later.
LOAD_FRAMES = """(all) => Promise.all(all.filter((frame) => frame.src).map((frame) => new Promise((done) => {
  const { URL, readyState } = frame.contentDocument;
  if (URL !== "about:blank" && readyState === "complete") done();
  frame.addEventListener("load", done);
  frame.loading = "eager";
})))"""


FOREIGN = "main img:not([src^='/static/']), main svg[onload], main script:not([type]), main iframe[srcdoc]"
FILE = re.compile(r"\.(csv|json)$|download|build-log|files.tar|^/(health|ready)z$")


def find_problems(page: Any, path: str, axe: Callable[..., list[str]], **dark: Any) -> list[str]:
    """Return axe's findings in a page, for a phone in the light and another screen in the dark, and what is too wide.

    dark: the rules for the other screen, a tablet; without them it is a desktop.
    """
    found = []
    for width, scheme, rules in ((390, "light", {}), (768 if dark else 1280, "dark", dark)):
        page.set_viewport_size({"width": width, "height": 800})
        page.emulate_media(color_scheme=scheme)
        found += [f"{path}, {width} px, {scheme}: {problem}" for problem in axe(page, **rules)]
        if page.evaluate("document.documentElement.scrollWidth > innerWidth"):
            found.append(f"{path}: is wider than {width} px")
    page.set_viewport_size({"width": 1280, "height": 800})
    if page.evaluate("document.documentElement.scrollWidth > innerWidth"):
        found.append(f"{path}: is wider than 1280 px")
    return found


def test_hostile_text_runs_on_no_page_and_axe_finds_nothing(
    browser: Reader, server: LadderServer, axe: Callable[..., list[str]]
) -> None:
    """All of the text is visible, most of it to staff. In the dark, axe looks for contrast."""
    page, wrong = window(browser, server, "staff")
    seen, found = "", []
    with closing(open_ladder(server.folder)) as ladder:
        everywhere = list(paths(ladder, PAYLOADS[::2], matches=2))
        usual = set(paths(ladder, PAYLOADS[:1], matches=1))
    for path in everywhere:
        if FILE.search(path):
            continue
        answered = page.goto(server.url + path)
        assert answered.status < 500, path
        seen += page.locator("main").first.inner_text() if page.locator("main").count() else ""
        page.locator("iframe").evaluate_all(LOAD_FRAMES)
        for frame in page.frames:
            assert frame.evaluate("window.hit") is None, path
        assert page.locator(FOREIGN).count() == 0, path
        if path in usual and not path.endswith("/replay"):
            found += find_problems(page, path, axe, runOnly={"type": "rule", "values": ["color-contrast"]})
    assert wrong == []
    assert all(text in seen for text in PAYLOADS)
    assert found == []


def test_axe_finds_nothing_on_pages_that_staff_see_otherwise(
    browser: Reader, server: LadderServer, axe: Callable[..., list[str]]
) -> None:
    page, _ = window(browser, server, "eve")
    found = []
    usual = ["/", "/account", "/grades", "/submit", "/standings", "/tables", "/tables/new"]
    for path in (*usual, f"/bots/{quote(PAYLOADS[0])}"):
        page.goto(server.url + path)
        found += find_problems(page, path, axe)
    assert found == []


LOADED = """() => new Promise((done) => {
  const shifts = [];
  const observe = (type, seen) => new PerformanceObserver(seen).observe({ type, buffered: true });
  observe("layout-shift", (list) => shifts.push(...list.getEntries()));
  const files = performance.getEntries().filter((entry) => entry.initiatorType !== "iframe");
  observe("paint", (list) => setTimeout(() => done({
    shift: shifts.reduce((sum, entry) => sum + entry.value, 0),
    moved: shifts.flatMap((entry) => entry.sources.map(({ node }) => node?.outerHTML ?? node?.textContent)),
    bytes: files.reduce((sum, entry) => sum + (entry.transferSize ?? 0), 0),
    paint_ms: list.getEntries().at(-1).startTime,
  }), 300));
})"""


@pytest.mark.parametrize("width", [390, 1280])
def test_pages_are_small_and_stay_still_while_they_load(browser: Reader, server: LadderServer, width: int) -> None:
    """The time to the first paint is printed: it depends on the machine."""
    pages = [("ada", path) for path in ("/", "/standings", f"/bots/{quote(PAYLOADS[0])}", "/submit")]
    for login, path in [*pages, ("staff", "/admin"), ("staff", "/admin/users")]:
        page, _ = window(browser, server, login, viewport={"width": width, "height": 800})
        page.goto(server.url + path)
        loaded = page.evaluate(LOADED)
        print(f"{path} at {width} px: first paint after {loaded['paint_ms']:.0f} ms, {loaded['bytes'] / 1000:.0f} kB")
        assert loaded["shift"] < 0.01, (path, loaded["moved"])
        assert 2_000 < loaded["bytes"] < 100_000, path
        for box in page.locator("html, .scroll:has(.standings)").all():
            assert box.evaluate("(box) => box.scrollWidth <= box.clientWidth"), (path, width)


def test_pages_are_painted_before_their_script_arrives(browser: Reader, server: LadderServer) -> None:
    """The script then shows times in the reader's zone."""
    page, wrong = window(browser, server, "ada", timezone_id="Asia/Kolkata")
    held = []
    page.route("**/web.js", lambda route: held.append(route))
    with page.expect_request("**/web.js"):
        page.goto(f"{server.url}/bots/{quote(PAYLOADS[0])}", wait_until="commit")
    page.evaluate("new Promise((done) => new PerformanceObserver(done).observe({ type: 'paint', buffered: true }))")
    held[0].continue_()
    time = page.locator("main time").first
    page.locator("main time[title$='UTC+5:30']").first.wait_for()
    assert re.fullmatch(r"now|\d+ (minute|hour)s? ago", time.inner_text())
    assert re.fullmatch(r"\d{4}-\d\d-\d\d \d\d:\d\d UTC\+5:30", time.get_attribute("title"))
    assert wrong == []


def test_a_match_plays_from_the_moment_that_its_address_names(browser: Reader, server: LadderServer) -> None:
    """It plays within its page; the newest one plays on the home page once it is seen."""
    page, wrong = window(browser, server, "ada", reduced_motion="no-preference")
    with closing(open_ladder(server.folder)) as ladder:
        match = last_match(ladder)
    page.goto(f"{server.url}/matches/{match}#game=2&turn=2")  # no game is shorter
    inner = page.frame_locator("iframe")
    inner.get_by_text("Turn 2", exact=False).first.wait_for()
    scrolled = page.evaluate(
        """() => new Promise((done) => {
          const moment = scrollY;
          addEventListener("hashchange", () => done([moment, scrollY]));
          location.hash = "main"; // as the link that skips the frame
        })"""
    )
    assert scrolled[0] > 100 > scrolled[1]
    page.goto(server.url + "/")
    inner.get_by_role("button", name="play", exact=True).wait_for()
    page.locator("iframe").scroll_into_view_if_needed()
    inner.get_by_role("button", name="pause").wait_for()
    assert wrong == []


def test_a_page_reloads_at_most_once_in_half_a_minute(browser: Reader, server: LadderServer) -> None:
    """Pages add a random delay, so that they don't reload at the same moment. This one has a field for a password."""
    page, wrong = window(browser, server, "ada")
    asked: list[str] = []
    words = "retry: 100\n\n" + "data: changed\n\n" * 9
    page.route("**/changes", lambda route: route.fulfill(body=words, content_type="text/event-stream"))
    page.clock.install()
    page.goto(f"{server.url}/")
    page.on("request", lambda request: asked.append(request.url) if request.url == f"{server.url}/" else None)
    page.clock.pause_at(page.evaluate("Date.now()") / 1000 + 1)
    for spent_s, count in ((28, 0), (8, 1), (25, 1), (12, 2)):
        for _ in range(2):  # the second is asked for once the page has heard the first
            with page.expect_response("**/changes"):
                pass
        with page.expect_response("**/changes"):
            page.clock.run_for(1000 * spent_s)
        for _ in range(60):  # a page that has just reloaded begins its half minute later on a busy machine
            if len(asked) >= count:
                break
            page.clock.run_for(500)
        assert len(asked) == count, (spent_s, asked)
    assert wrong == []


# A refresh of two parts that only their place tells apart, of which the second is open and has the focus.
SWAP_TWINS = """() => {
  const main = document.getElementById("main"), twins = () => main.querySelectorAll("[data-twin]");
  const twin = "<details data-twin><summary>Why</summary></details>";
  const insert = () => main.insertAdjacentHTML("beforeend", twin + twin);
  const detail = { elt: document.body };
  const send = (name) => document.body.dispatchEvent(new CustomEvent(`htmx:${name}`, { detail }));
  insert();
  twins()[1].open = true;
  twins()[1].firstChild.focus();
  send("beforeSwap");
  twins().forEach((twin) => twin.remove());
  insert();
  send("afterSwap");
}"""


def test_a_page_whose_form_is_open_stays(browser: Reader, server: LadderServer) -> None:
    """A form without fields, too: on the page of a final, a reload each second folded its button away.

    So does a page while it is pressed. A page that reloads keeps its folds and its focus.
    """
    page, wrong = window(browser, server, "staff")
    asked: list[str] = []
    page.route("**/changes*", lambda route: route.fulfill(body="data: changed\n\n", content_type="text/event-stream"))
    page.clock.install()
    with page.expect_response("**/changes*"):
        page.goto(f"{server.url}/admin")
    page.on("request", lambda request: asked.append(request.url) if request.url.endswith("/admin") else None)
    summary = page.locator("details.action summary").first
    summary.click()
    page.locator("h1").click()  # the focus isn't in the form
    page.clock.run_for(90_000)
    assert asked == []
    summary.click()
    page.locator("#health summary").click()
    page.locator("h1").hover()
    page.mouse.down()
    page.get_by_role("link", name="Check the ladder").focus()
    page.clock.run_for(90_000)
    assert asked == []
    page.evaluate("document.getElementById('main').isOld = true")
    page.mouse.up()
    with page.expect_response("**/admin"):
        page.clock.run_for(90_000)
    page.wait_for_function("() => !document.getElementById('main').isOld")
    page.locator("#health[open] a:focus", has_text="Check the ladder").wait_for()
    page.evaluate(SWAP_TWINS)
    assert page.locator("[data-twin]").evaluate_all("all => all.map(({ open }) => open)") == [False, False]
    assert page.locator("[data-twin] :focus").count() == 0
    assert wrong == []


@pytest.mark.parametrize("gap_ms", [120, 400])
def test_a_double_click_on_a_link_to_sign_in_signs_in(browser: Reader, server: LadderServer, gap_ms: int) -> None:
    """The second click cancels the response to the first, which used up the link and has the cookie."""
    page = browser.context().new_page()
    with closing(open_ladder(server.folder)) as ladder:
        page.goto(f"{server.url}/sign-in?link={issue_secret(ladder, 'bob', 'link', 'staff').secret}")
    far = page.context.new_cdp_session(page)
    far.send("Network.enable")
    network = {"offline": False, "latency": 3000, "downloadThroughput": -1, "uploadThroughput": -1}
    far.send("Network.emulateNetworkConditions", network)
    box = page.get_by_role("button", name="Sign in").first.bounding_box()
    where = (box["x"] + box["width"] / 2, box["y"] + box["height"] / 2)
    page.mouse.click(*where)
    page.wait_for_timeout(gap_ms)
    page.mouse.click(*where, click_count=2)
    page.wait_for_url(f"{server.url}/", wait_until="commit")
    page.get_by_role("button", name="Sign out").wait_for()


def test_a_password_field_can_show_its_text_and_is_sent_as_a_password(browser: Reader, server: LadderServer) -> None:
    page = browser.context().new_page()
    page.goto(f"{server.url}/sign-in")
    page.get_by_label("Login").fill("ada")
    field = page.get_by_label("Password")
    field.fill("a few words in a row")
    page.get_by_label("Show it").check()
    assert field.get_attribute("type") == "text"
    page.evaluate("document.addEventListener('submit', (event) => event.preventDefault())")
    field.press("Enter")
    assert field.get_attribute("type") == "password"


@pytest.mark.parametrize(
    ("path", "typed", "button"),
    [
        ("/admin/users", {"Login": "kay", "Name": "Kay"}, "Add"),
        ("/account", {"New password": "a few words in a row"}, "Set the password"),
    ],
)
def test_a_form_after_the_end_of_its_session_is_filled_in_again_without_passwords(
    browser: Reader, server: LadderServer, path: str, typed: dict[str, str], button: str
) -> None:
    page, _ = window(browser, server, "staff")
    page.goto(server.url + path)
    page.locator("details").evaluate_all("all => all.forEach(each => each.open = true)")
    form = page.locator("form").filter(has=page.get_by_role("button", name=button, exact=True))
    for label, text in typed.items():
        form.get_by_label(label).fill(text)
    page.context.clear_cookies()
    page.context.add_cookies([{"name": "session", "value": "x" * 43, "url": server.url}])
    form.get_by_role("button", name=button, exact=True).click()
    page.get_by_label("Link or code").wait_for()
    page.get_by_text("Your session has ended.").wait_for()
    page.get_by_text("Nothing was saved.").wait_for()
    assert "a few" not in page.evaluate("JSON.stringify(sessionStorage)")
    with closing(open_ladder(server.folder)) as ladder:
        page.get_by_label("Link or code").fill(issue_secret(ladder, "staff", "link", "staff").secret)
    page.get_by_role("button", name="Sign in").first.click()
    page.wait_for_url(server.url + path)
    assert page.get_by_label("Show it").count() == page.locator("input[type=password]").count()
    shown = [form.get_by_label(label).input_value() for label in typed]
    assert shown == ([""] if path == "/account" else list(typed.values()))


def test_the_answer_to_a_form_is_no_page_to_reload_or_to_go_back_to(browser: Reader, server: LadderServer) -> None:
    page, _ = window(browser, server, "staff")
    page.goto(f"{server.url}/admin/users")
    page.locator("summary", has_text="Import a roster").click()
    roster = {"name": "b.csv", "mimeType": "text/csv", "buffer": b"login\nkay\n"}
    page.get_by_label("Roster", exact=True).set_input_files(roster)
    page.get_by_role("button", name="Preview").click()
    page.get_by_role("heading", name="Import b.csv?").wait_for()
    page.goto(f"{server.url}/bots")
    page.go_back()
    page.get_by_role("heading", name="Users", exact=True).wait_for()


def test_on_a_phone_the_frame_takes_two_rows(browser: Reader, server: LadderServer) -> None:
    page, _ = window(browser, server, "staff", viewport={"width": 390, "height": 800})
    page.goto(f"{server.url}/admin")
    for links, most in ((".top a, .top button", 2), (".tabs a", 1)):
        rows = page.locator(links).evaluate_all("all => all.map(each => each.getBoundingClientRect().y >> 5)")
        assert len(set(rows)) == most, (links, rows)
    assert page.locator(".top [aria-current]").evaluate("link => link.getBoundingClientRect().right <= innerWidth")


def test_without_javascript_a_match_is_shown_as_text(browser: Reader, server: LadderServer) -> None:
    page, _ = window(browser, server, "ada", java_script_enabled=False)
    with closing(open_ladder(server.folder)) as ladder:
        page.goto(f"{server.url}/matches/{last_match(ladder)}/replay")
    page.locator("summary").first.click()
    assert "Turn 1" in page.locator("pre").first.inner_text()


def test_a_folder_is_submitted_by_choosing_and_by_dropping_it(browser: Reader, place: Place, own: Term) -> None:
    """The form works without a script; with it a folder can be dropped, and the check appears automatically."""
    folder = place.folder / "mine"
    place.bot("mine/bot.toml", 'run = "./bot.py"\n')
    place.bot("mine/.git/HEAD", "not for others")
    freeze(own.path)
    with serve_ladder(place, own.path, "--jobs", 1, "--no-tables") as server:
        for number, how in enumerate(("chosen", "no script", "dropped"), 2):  # the test waits for the last check alone
            place.bot("mine/bot.py", f"{QUICK_BOT}# {how}\n")
            page, wrong = window(browser, server, "ada", java_script_enabled=how != "no script")
            page.goto(f"{server.url}/submit")
            if how == "dropped":
                box = page.locator(".drops").bounding_box()
                output = {"items": [], "files": [str(folder)], "dragOperationsMask": 1}
                session = page.context.new_cdp_session(page)
                for event in ("dragEnter", "dragOver", "drop"):
                    there = {"type": event, "x": box["x"] + 9, "y": box["y"] + 9, "data": output}
                    session.send("Input.dispatchDragEvent", there)
            else:
                page.locator("input[webkitdirectory]").set_input_files(folder)
                page.locator("button.main").click()
            page.wait_for_url(f"{server.url}/bots/late/{number}#checks")
            if how == "dropped":
                page.get_by_text("qualifying match").wait_for(timeout=60_000)
            assert wrong == [], how


def test_a_line_in_the_lobby_reaches_open_pages_and_a_refusal_its_form(browser: Reader, server: LadderServer) -> None:
    toml = server.folder / "ladder.toml"
    before = toml.read_text()
    toml.write_text(before.replace('chat = "off"', 'chat = "always"'))
    (ada, wrong), (bob, _) = window(browser, server, "ada"), window(browser, server, "bob")
    for page in (ada, bob):
        page.goto(f"{server.url}/tables")
        page.locator("#chat-lines").wait_for()
    ada.locator("#chat-text").fill("<b>Hello</b>")
    ada.keyboard.press("Enter")
    for page in (ada, bob):
        page.locator("#chat-lines").get_by_text("<b>Hello</b>").wait_for()
    ada.locator("#chat-text:focus:invalid").wait_for()  # required, and empty again
    toml.write_text(before)
    ada.keyboard.type("again")
    ada.keyboard.press("Enter")
    ada.get_by_role("alert").get_by_text("the chat is off").wait_for()
    assert ada.locator("#chat-text").input_value() == "again"
    off = re.compile(r"\b40[04]\b")  # of the write, and of a read of the first line that comes after it
    assert [text for text in wrong if not off.search(text)] == []


def test_signing_out_offers_to_download_the_stored_programs_and_deletes_them(
    browser: Reader, server: LadderServer
) -> None:
    page, wrong = window(browser, server, "eve")
    page.goto(f"{server.url}/docs")
    own = {"coup-eve/program": "print(1)", "coup-eve/versions": '[{"number": 3, "text": "print(3)"}]'}
    stored = {**own, "coup-eve/history": "[]", "coup-login": "eve", "coup-bob/program": "print(2)", "coup-pace": "slow"}
    page.evaluate("stored => Object.assign(localStorage, stored)", stored)
    page.get_by_role("button", name="Sign out").click()
    page.get_by_role("dialog", name="Sign out").get_by_role("button", name="Cancel").click()
    page.get_by_role("button", name="Sign out").click()
    with page.expect_download() as started:
        page.get_by_role("link", name="Download them").click()
    text = Path(started.value.path()).read_text()
    assert (started.value.suggested_filename, text.count("print(")) == ("playground.txt", 2)
    page.get_by_role("button", name="Delete them and sign out").click()
    page.wait_for_url(re.compile("/(sign-in.*)?$"))
    assert page.evaluate("Object.keys(localStorage).sort()") == ["coup-bob/program", "coup-pace"]
    page, _ = window(browser, server, "eve")
    page.goto(f"{server.url}/docs")
    page.evaluate("localStorage.setItem('coup-eve/versions', 'no JSON')")
    page.get_by_role("button", name="Sign out").click()
    page.wait_for_url(re.compile("/(sign-in.*)?$"))
    assert [text for text in wrong if "Clear-Site-Data" not in text] == []


def test_a_program_from_the_playground_waits_in_the_form_after_the_sign_in(
    browser: Reader, server: LadderServer
) -> None:
    context = browser.context()
    page = context.new_page()
    page.goto(f"{server.url}/submit{make_program_fragment('print(1)  # ü')}")
    assert "/sign-in" in page.url
    context.add_cookies([{"name": "session", "value": server.session("eve"), "url": server.url}])
    page.goto(f"{server.url}/submit")
    page.locator("form.drop button:focus").wait_for()
    field = page.locator("form.drop input[type=file]").first
    assert field.evaluate("field => field.files[0].name") == "mybot.py"
    assert field.evaluate("field => field.files[0].text()") == "print(1)  # ü"
