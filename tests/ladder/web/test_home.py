"""Tests of a participant's home page: the state of their bots, the next step and the way to sign in again."""

import re

from sqlalchemy import Connection

from ladder.bots import list_lost_games, submit_bot
from ladder.permissions import Viewer
from ladder.store import User, find_bot, register_runner, save_users
from tests.cli_workspace import QUICK_BOT
from tests.ladder.classes import add_settings, configure, deadline, look
from tests.ladder.ladders import freeze, pass_all
from tests.ladder.term import Term, write
from tests.ladder.web.visitors import Pages


def next_step(page: str) -> str:
    """Return the text of the only primary button among the user's own bots."""
    own = page.partition('id="mine"')[2].partition('id="leads"')[0]
    [button] = re.findall(r'class="button" href="[^>]*>([^<]*)<', own)
    return str(button)


def test_the_next_step_follows_the_state_of_the_users_bot(web: Pages, own: Term) -> None:
    web.ladder.database.write(lambda connection: save_users(connection, [User("cyd", "Cyd", "pseudonym of cyd")], 2.0))
    cyd = web.visitor("cyd")
    assert next_step(cyd.get("/").text) == "Get a starter in Python"
    submit_bot(web.ladder, write(own.path / "new.py", QUICK_BOT), "cyd", name="new")
    assert next_step(cyd.get("/").text) == "Watch the check"
    pass_all(web.ladder)
    assert next_step(cyd.get("/").text) == "Submit a new version"
    assert next_step(web.visitor("bob").get("/").text) == "See what to fix"
    assert next_step(web.visitor("ada").get("/").text) == "Look at your last loss"


def test_a_lost_game_links_to_the_moment_of_elimination_in_the_own_seat(web: Pages) -> None:
    with web.ladder.reading(Viewer("ada")) as context:
        bot = find_bot(context.connection, "late")
        [game] = list_lost_games(context, bot, 1)
    page = web.visitor("ada").get("/").text
    assert f"/matches/{game.match}#game={game.game}&amp;turn={game.turn}&amp;seat={game.seat}" in page
    replay = web.visitor("ada").get(f"/api/matches/{game.match}/replay").json()["replay"]
    steps = next(each for each in replay["games"] if each["game"] == game.game)
    assert replay["bots"][steps["seating"][game.seat]] == game.version_ref
    assert "late loses the " in game.cause
    assert look(web.ladder, Viewer("bob"), list_lost_games, bot, 1) == ()


def test_words_and_dates_need_no_other_page_and_no_script(web: Pages) -> None:
    """Each is there once, and a count agrees with its noun."""
    add_settings(web.ladder, deadline("first", 4e9))
    ada = web.visitor("ada")
    assert ": reference bots of the ladder itself" in ada.get("/standings").text
    assert "in its check. It isn&#39;t rated" in ada.get("/matches?kind=qualifying").text
    assert "A forfeit is a game" in ada.get("/bots/late").text
    assert ada.get("/submit").text.count(">2096-10-02 07:06 UTC</time>") == 1
    text = web.visitor("staff").get("/admin/users?search=ada").text
    assert "1 user match" in text


def test_a_deadline_is_shown_while_a_late_version_would_count(web: Pages) -> None:
    add_settings(web.ladder, deadline("first", web.ladder.clock() - 3600))
    bob = web.visitor("bob")
    assert "All deadlines are over" in bob.get("/").text
    configure(web.ladder, accept_late_days=2, late_days=3)
    assert re.search("; over, late submissions until [^;]*, 3 late days left", bob.get("/").text)
    assert "All deadlines are over" in web.visitor("ada").get("/").text, "her version counts"


def test_pages_on_which_users_wait_say_that_the_ladder_is_frozen(web: Pages, own: Term) -> None:
    def prepare(connection: Connection) -> None:
        save_users(connection, [User("cyd", "Cyd", "pseudonym of cyd")], 2.0)
        register_runner(connection, 1, web.ladder.clock())

    web.ladder.database.write(prepare)
    submit_bot(web.ladder, write(own.path / "new.py", QUICK_BOT), "cyd", name="new")
    pass_all(web.ladder)
    cyd = web.visitor("cyd")
    for frozen in (False, True):
        if frozen:
            freeze(own.path)
        for path in ("/", "/bots/new", "/queue"):
            assert ("The ladder is frozen (nothing is to be played): no rated" in cyd.get(path).text) == frozen
