"""Render recorded matches, or a live table, as a self-contained HTML page with styles, scripts and data.

Browsers run only the scripts and styles whose SHA-256 is in the page's own Content-Security-Policy, so untrusted text
can't add a script and the page loads no other file. (A `style="..."` attribute has no effect; use a class.) The page
also contains the games as text for browsers without scripts. A table page gets its content over a WebSocket of its
server.

Browsers can't import modules from `file:`. So `inline_module` joins modules in dependency order, each as a function
that returns its exports. An import must be on a line of its own without renaming, and an export must be declared
where it is written. A vendored module `*.min.js` ends with its exports, and its licence comes with it.

Packed data needs a third of the space; `static/packed.js` unpacks it. Each distinct event is stored once, a step is
an array, and standard error is cut to the page's limit."""

import hashlib
import html
import json
import re
from base64 import b64encode
from collections.abc import Iterator, Mapping, Sequence
from functools import cache
from pathlib import Path
from typing import Any
from urllib.parse import quote

from arena.escaping import escape_control
from protocol.event_text import EVENT_TEXTS, describe_end, describe_events, to_second_person

_STATIC = Path(__file__).parent / "static"
_IMPORT = re.compile(r'^import (\{[^}]*\}) from "\./([a-z_]+)(?:\.min)?\.js";$', re.MULTILINE)
_OMITTED = re.compile(r"^ *(?:(?://|/\*\*|\*[ /]).*\n)?", re.MULTILINE)  # indentation and comments, a fifth of the text
_EXPORT = re.compile(r"^export (?=(?:function|class|const) (\w+))", re.MULTILINE)
_EXPORT_LIST = re.compile(r"\bexport\{([^}]*)\};\s*$")  # the last statement of a module of others


def html_page(title: str, body: str, styles: Sequence[str], scripts: Sequence[str], *, connects: bool = False) -> str:
    """Return a page as one HTML file, whose policy allows only these styles and scripts.

    `title`: plain text. `body`: HTML, in which the caller has escaped untrusted text. `styles`: texts from
    `style_sheets`. `scripts`: texts from `inline_module`; they run once the page is parsed. `connects`: scripts may
    connect to the page's own server.
    """
    connect_rule = "connect-src 'self'; " if connects else ""
    policy = (
        f"default-src 'none'; script-src {_source_list(scripts)}; style-src {_source_list(styles)}; "
        f"{connect_rule}img-src data:; base-uri 'none'; form-action 'none'"
    )
    return "".join(
        (
            '<!doctype html>\n<html lang="en">\n<head>\n<meta charset="utf-8">\n',
            f'<meta http-equiv="Content-Security-Policy" content="{policy}">\n',
            '<meta name="viewport" content="width=device-width, initial-scale=1">\n',
            '<meta name="referrer" content="no-referrer">\n<meta name="color-scheme" content="light dark">\n',
            f'<link rel="icon" href="data:image/svg+xml,{quote((_STATIC / "icon.svg").read_text("utf-8"))}">\n'
            f"<title>{html.escape(escape_control(title))}</title>\n",
            *(f"<style>{text}</style>\n" for text in styles),
            f"</head>\n<body>\n{body}\n",
            *(f'<script type="module">{text}</script>\n' for text in scripts),
            "</body>\n</html>\n",
        )
    )


@cache  # a server makes a page for each request
def style_sheets(*names: str) -> str:
    """Return the text of the style sheets that all pages share, then of these ones of `static/`, without indents."""
    texts = ((_STATIC / f"{name}.css").read_text("utf-8") for name in ("tokens", "look", *names))
    return "\n".join(line.strip() for text in texts for line in text.splitlines())


@cache
def inline_module(name: str) -> str:
    """Return a module of `static/` with all its imports, as the text of one inline module."""
    texts: dict[str, str] = {}
    _add_module(name, texts, ())
    return "\n".join(("const modules = {};", *texts.values()))


def json_element(name: str, value: Any) -> str:
    """Return an HTML element with a value as JSON, which scripts read by `read(name)` of dom.js.

    Any text is safe in it: nothing ends the element early, and lone surrogates stay escapes.
    """
    text = json.dumps(value, separators=(",", ":"))  # ASCII, so U+2028 and surrogates are escaped
    for character in "<>&":
        text = text.replace(character, f"\\u{ord(character):04x}")
    return f'<script type="application/json" id="{name}">{text}</script>\n'


def _add_module(name: str, texts: dict[str, str], importers: tuple[str, ...]) -> None:
    """Add to `texts`, by name, the modules that a module imports, then the module itself, each unless it is there.

    importers: those that led to the module, outermost first. Raises ValueError if modules import each other.
    """
    if name in importers:
        raise ValueError(f"modules import each other in a circle: {' -> '.join((*importers, name))}")
    if name in texts:
        return
    if (_STATIC / f"{name}.min.js").exists():
        texts[name] = _wrap_vendored_module(name)
        return
    source = _OMITTED.sub("", (_STATIC / f"{name}.js").read_text("utf-8"))
    for _, imported in _IMPORT.findall(source):
        _add_module(imported, texts, (*importers, name))
    body = _EXPORT.sub("", _IMPORT.sub(r"const \1 = modules.\2;", source))
    texts[name] = _wrap_module(name, body, ", ".join(_EXPORT.findall(source)))


def _wrap_vendored_module(name: str) -> str:
    """Return a vendored module, with its licence, as a function that returns its exports."""
    source = _OMITTED.sub("", (_STATIC / f"{name}.min.js").read_text("utf-8"))
    pairs = (pair.split(" as ") for pair in _EXPORT_LIST.findall(source)[0].split(","))
    exports = ", ".join(f"{public_name}: {local_name}" for local_name, public_name in pairs)
    licence = (_STATIC / f"{name}.LICENSE").read_text("utf-8")
    return _wrap_module(name, f"/* {licence} */\n{_EXPORT_LIST.sub('', source)}", exports)


def _wrap_module(name: str, body: str, exports: str) -> str:
    return f"modules.{name} = (() => {{\n{body}\nreturn {{ {exports} }};\n}})();"


def _source_list(texts: Sequence[str]) -> str:
    """Return the source list of the Content-Security-Policy that allows these texts by their hashes."""
    hashes = (b64encode(hashlib.sha256(text.encode()).digest()).decode() for text in texts)
    return " ".join(f"'sha256-{value}'" for value in hashes) or "'none'"


LOG_BYTES = 2000


def pack_matches(matches: Sequence[Mapping[str, Any]], log_bytes: int = LOG_BYTES) -> dict[str, Any]:
    """Return {"events", "matches"}; a step is [turn, kind, answers, indices of events] and, if any, other fields.

    log_bytes: of standard error for each game on average.
    """
    event_indices: dict[str, int] = {}  # by the event as JSON without its number in the game
    packed_matches = [{**match, "games": _pack_games(match["games"], event_indices, log_bytes)} for match in matches]
    return {"events": [json.loads(text) for text in event_indices], "matches": packed_matches}


def _pack_games(
    games: Sequence[Mapping[str, Any]], event_indices: dict[str, int], log_bytes: int
) -> list[dict[str, Any]]:
    """Return the games of a match in short form; events that `event_indices` lacks are added to it."""
    max_chars = _max_log_characters(games, log_bytes)
    packed_games = []
    for game in games:
        steps = [_pack_step(step, event_indices) for step in game["steps"]]
        stderr = [{**entry, "text": _shorten(entry["text"], max_chars)} for entry in game["stderr"]]
        packed_games.append({**game, "steps": steps, "stderr": stderr})
    return packed_games


def _pack_step(step: Mapping[str, Any], event_indices: dict[str, int]) -> list[Any]:
    """Return [turn, kind, answers, indices of events] of a step and, if it has any, its other fields."""
    indices = []
    for event in step["events"]:
        text = json.dumps({name: value for name, value in event.items() if name != "n"})
        indices.append(event_indices.setdefault(text, len(event_indices)))
    other_fields = {name: value for name, value in step.items() if name not in ("turn", "kind", "answers", "events")}
    return [step["turn"], step["kind"], step["answers"], indices, *([other_fields] if other_fields else [])]


def _max_log_characters(games: Sequence[Mapping[str, Any]], log_bytes: int) -> int:
    """Return the maximum length of each text of standard error, so that a match stays within `log_bytes` per game.

    Texts of up to 100 characters aren't shortened, however many they are.
    """
    texts = [entry["text"] for game in games for entry in game["stderr"]]
    limit = max(map(len, texts), default=0)
    while limit > 100 and sum(len(json.dumps(_shorten(text, limit))) for text in texts) > log_bytes * len(games):
        limit = max(limit // 2, 100)
    return limit


def _shorten(text: str, max_chars: int) -> str:
    """Return a text of about `max_chars` characters at most: of a longer one, its beginning and its end."""
    if len(text) <= max_chars:
        return text
    half = max_chars // 2
    return f"{text[:half]}\n[... {len(text) - 2 * half} characters left out ...]\n{text[-half:]}"


def replay_page(
    matches: Sequence[Mapping[str, Any]],
    title: str,
    front: str | None = None,
    review: Mapping[str, Any] | None = None,
    place: str | None = None,
    log_bytes: int = LOG_BYTES,
    home: tuple[str, str] | None = None,
) -> str:
    """Return the HTML of a page that shows matches from `make_replay_object`.

    The page contains only what the objects contain, and says whose knowledge that is. Raises ValueError without a game.

    - front: the bot from whose view a page with all cards opens; the reader can switch to all cards.
    - review: of these games by `arena review --json`, or of a player's own ones by `arena.review.review_person`.
    - place: where the page opens if its address names no place, such as "#game=1&turn=16&seat=2".
    - log_bytes: as of `pack_matches`. home: (address, label) of the link back.
    """
    if not any(match["games"] for match in matches):
        raise ValueError("no game to show")
    body = "".join(
        (
            f'<aside class="holds" aria-label="cards">{escape_html(_cards_notice(matches, front))}</aside>\n',
            '<div id="page"></div>\n<noscript>\n',
            f"<main class='plain'>\n<h1>{escape_html(title)}</h1>\n",
            "<p>This page shows recorded games of Coup, step by step. It is one file and doesn't use the network. ",
            "Your browser doesn't run JavaScript here, so the games are shown as text.</p>\n",
            *(_match_html(match, len(matches) > 1) for match in matches),
            "</main>\n</noscript>\n",
            json_element("matches", pack_matches([match for match in matches if match["games"]], log_bytes)),
            json_element("words", EVENT_TEXTS),
            json_element("front", front),
            json_element("review", review),
            json_element("place", place),
            json_element("home", home),
        )
    )
    return html_page(title, body, [style_sheets("page")], [inline_module("app")])


def _cards_notice(matches: Sequence[Mapping[str, Any]], front: str | None) -> str:
    """Return which cards a page contains. front: as of `replay_page`."""
    if any("viewers" not in match for match in matches):
        return "This page contains all cards." + (f" It opens with what {escape_control(front)} knew." if front else "")
    bots = dict.fromkeys(escape_control(match["bots"][bot]) for match in matches for bot in match["viewers"])
    return f"This page contains only what {' and '.join(bots) or 'everybody at the table'} could know."


def _match_html(match: Mapping[str, Any], is_one_of_several: bool) -> str:
    games = "".join(_game_html(match, game) for game in match["games"])
    players = ", ".join(
        f"{handle}: {name}" for handle, name in sorted(zip(match["handles"], match["bots"], strict=True))
    )
    heading = f"<h2>Match {match['match'] + 1}</h2>\n" if is_one_of_several else ""
    return f"{heading}<p>{escape_html(players)}</p>\n{games}"


def _game_html(match: Mapping[str, Any], game: Mapping[str, Any]) -> str:
    names = [escape_control(match["bots"][bot]) for bot in game["seating"]]
    result = "a draw" if game["winner"] is None else f"{names[game['winner']]} wins"
    summary = to_second_person(
        f"Game {game['game'] + 1}: {result} after {game['turns']} turns: {describe_end(game['reason'])}"
    )
    lines = escape_html("\n".join(map(to_second_person, _game_lines(game, names))), lines=True)
    return f"<details><summary>{escape_html(summary)}</summary>\n<pre>{lines}</pre></details>\n"


def _game_lines(game: Mapping[str, Any], names: Sequence[str]) -> Iterator[str]:
    """Yield a game as text: the hand of each player, then the events of each turn. names: by seat."""
    for name, hand in zip(names, game["start"]["hands"], strict=True):
        yield f"{name} is dealt {', '.join(card or 'a hidden card' for card in hand) or 'nothing yet'}"
    events_by_turn: dict[int, list[Mapping[str, Any]]] = {}
    for step in game["steps"]:
        events_by_turn.setdefault(step["turn"], []).extend(step["events"])
    for turn, events in events_by_turn.items():
        yield f"Turn {turn}: {describe_events(events, names)}"


def escape_html(text: str, *, lines: bool = False) -> str:
    """Return plain text as HTML, with escapes for what can't be printed."""
    return html.escape("\n".join(map(escape_control, text.split("\n"))) if lines else escape_control(text))


def table_page(
    title: str,
    rules: Mapping[str, Any],
    socket: str | None,
    *,
    home: tuple[str, str] | None = None,
    banner: str = "",
    join: str | None = None,
    invitation: Mapping[str, Any] | None = None,
    lessons: Mapping[str, Any] | None = None,
    reviews: bool = True,
    rulesets: Sequence[Mapping[str, Any]] | None = None,
) -> str:
    """Return the HTML of a page on which a person plays at a live table.

    - rules: as made by `arena.coup.make_rules_object`, or several by name, of which `?rules=NAME` selects one.
    - socket: the path of the table's WebSocket; None if the page around this one is the server.
    - home: (address, label) of the link back. banner: a line of text above the table.
    - join: the path of the page on which a viewer takes a free seat.
    - invitation: the `link` for others, and its QR `code` as a data URL.
    - lessons: from `arena.lessons`, in place of a server.
    - reviews: whether a player may have a match reviewed: the replay's address then takes `?review=1`.
    - rulesets: those that the table's opener may choose: name, about and max_seats of each.
    """
    body = "".join(
        (
            f'<aside class="holds" aria-label="notice">{escape_html(banner)}</aside>\n' if banner else "",
            '<div id="page"></div>\n<noscript><p>Enable JavaScript to play here.</p></noscript>\n',
            json_element("rules", rules),
            json_element("words", EVENT_TEXTS),
            json_element("home", home),
            json_element("join", join),
            json_element("invitation", invitation),
            json_element("socket", socket),
            json_element("lessons", lessons),
            json_element("reviews", reviews),
            json_element("rulesets", rulesets),
        )
    )
    styles = [style_sheets("page", "play", "chat", "rules", *(("lessons",) if lessons else ()))]
    return html_page(title, body, styles, [inline_module("play")], connects=socket is not None)


def rules_page(rules: Mapping[str, Any], home: tuple[str, str] | None = None) -> str:
    """Return the HTML of a page with rules, as made by `arena.coup.make_rules_object`. home: as of `table_page`."""
    sections = [["Differences from the standard rules", rules["differences"]], *rules["sections"]]
    lists = "".join(
        f"<h2>{escape_html(title)}</h2>\n<ul>{''.join(f'<li>{escape_html(text)}</li>' for text in texts)}</ul>\n"
        for title, texts in sections
    )
    body = f'<main class="rules" id="rules-page"></main>\n<noscript><main class="rules">{lists}</main></noscript>\n'
    body += json_element("rules", rules) + json_element("home", home)
    styles = [style_sheets("page", "rules")]
    return html_page(f"Rules: {rules['name']}", body, styles, [inline_module("rules")])
