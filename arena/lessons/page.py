"""Make the pages of lessons and of puzzles, files that work without a network, and the three ways to begin."""

import json
import tomllib
import zlib
from base64 import b64encode
from collections.abc import Callable, Sequence
from dataclasses import asdict
from functools import cache
from importlib.resources import files
from pathlib import Path
from urllib.parse import quote

from arena.coup import COUP, make_rules_object
from arena.lessons.lesson import Lesson, LessonError, make_lesson
from arena.lessons.puzzle import load_puzzles
from arena.replay import html_page, style_sheets, table_page


@cache
def load_lessons() -> tuple[Lesson, ...]:
    """Return the lessons of this package in their order. Raises LessonError if one of them can't be played."""
    return tuple(map(_load, sorted(Path(__file__).parent.glob("*.toml"))))


def _load(path: Path) -> Lesson:
    try:
        return make_lesson(tomllib.loads(path.read_text("utf-8")))
    except (LessonError, KeyError) as problem:
        raise LessonError(f"{path.name}: {problem}") from None


def learn_page(home: tuple[str, str] | None = None, play: str | None = None, puzzles: str | None = None) -> str:
    """Return the HTML of the page of lessons.

    home: as of `table_page`. play, puzzles: the addresses of a table, and of `puzzles_page`.
    """
    lessons = {"packed": _pack(load_lessons), "play": play, "puzzles": puzzles}
    return table_page("Learn Coup", make_rules_object(COUP), None, home=home, lessons=lessons)


def puzzles_page(home: tuple[str, str] | None = None, load: Callable[[], Sequence[Lesson]] = load_puzzles) -> str:
    """Return the HTML of the page of puzzles; `#today` opens that of the day. home: as of `table_page`.

    The first call makes each puzzle that `load` returns, by default all, in milliseconds each.
    """
    return table_page("Coup puzzles", make_rules_object(COUP), None, home=home, lessons={"packed": _pack(load)})


@cache
def _pack(load: Callable[[], Sequence[Lesson]]) -> str:
    """Return lessons as text for a page: JSON, compressed since most of it is alike, in base64."""
    return b64encode(zlib.compress(json.dumps([asdict(lesson) for lesson in load()]).encode(), 9)).decode()


_SIGNS = {
    "learn": "M2 9l10-5 10 5-10 5zM6 11.500V17c3 2.500 9 2.500 12 0v-5.500",
    "play": "M7.500 4.500v15l12-7.500z",
    "invite": "M9 11a3.500 3.500 0 1 0 0-7 3.500 3.500 0 0 0 0 7zM2.500 20c0-8 13-8 13 0M19 8v6M16 11h6",
}


def ways_html(learn: str, play: str, invite: str, play_text: str, invite_text: str) -> str:
    """Return the three ways to begin as HTML. The first three are start tags without brackets: `a href="/learn"`."""
    learn_text = "A guided first game of three minutes, then five short lessons."
    rows = {
        "learn": (learn, "Learn", learn_text),
        "play": (play, "Play now", play_text),
        "invite": (invite, "Invite", invite_text),
    }
    cards = (
        f'<{tag} class="way"><svg viewBox="0 0 24 24" aria-hidden="true"><path d="{_SIGNS[way]}"/></svg>'
        f"<b>{title}</b><span>{text}</span></{tag.split()[0]}>"
        for way, (tag, title, text) in rows.items()
    )
    return f'<nav class="ways" aria-label="Three ways to begin">{"".join(cards)}</nav>'


def welcome_html(ways: str, heading: str = "h2") -> str:
    """Return the ways to begin below what the game is, as HTML."""
    picture = quote((files("arena.replay") / "static/cards.svg").read_text("utf-8"))
    about = "A card game of bluffing. Claim any card. The others decide whether to believe you."
    hand = f'<img src="data:image/svg+xml,{picture}" alt="" width="180" height="108">'
    title = f"<{heading}>Play Coup</{heading}>"
    return f'<div class="welcome" id="welcome">{hand}{title}<p class="muted">{about}</p>{ways}</div>'


def start_page() -> str:
    """Return the page with which `arena play --browser` begins; its links lead to `/learn` and `/table`."""
    commands = " and ".join(f"<code>arena ladder {word} club</code>" for word in ("init", "serve"))
    settings = "<code>public</code> and <code>allow_guests</code>"
    guests = f"In its <code>ladder.toml</code>, {settings} let friends join without an account."
    ladder = f"Other people join at a ladder's tables: {commands} start one. {guests}"
    ways = ways_html('a href="/learn"', 'a href="/table"', "div", "At a table with the bots of this command.", ladder)
    return html_page("Coup", f"<main>{welcome_html(ways, 'h1')}</main>", [style_sheets("page", "ways")], [])
