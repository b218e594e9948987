"""The page of recorded matches: the data and the scripts that show it, and the games as text for browsers without."""

import html
from collections.abc import Iterator, Mapping, Sequence
from typing import Any

from arena.bots import shown
from arena.page.frame import data, frame, script, style
from arena.page.packing import pack
from protocol.words import WORDS, story, tell_end


def page(
    matches: Sequence[Mapping[str, Any]],
    title: str,
    front: str | None = None,
    review: Mapping[str, Any] | None = None,
) -> str:
    """Return the HTML of a page that shows matches (`arena.tell.as_object`): at least one, each with at least a game.

    Where a match was cut for some bots' eyes, the page neither shows nor holds the rest; it says what it holds.
    front: the bot through whose eyes a page of whole matches opens; the reader may choose all cards.
    review: what `arena review --json` prints of these games, and `caution`, a line on how to read it.
    """
    if not any(match["games"] for match in matches):
        raise ValueError("there is no game to show")
    body = "".join(
        (
            f'<aside class="holds" aria-label="cards">{_safe(_holds(matches, front))}</aside>\n',
            '<div id="page"></div>\n<noscript>\n',
            f"<main class='plain'>\n<h1>{_safe(title)}</h1>\n",
            "<p>This page shows recorded games of Coup, step by step. It is one file and asks nothing of the network. ",
            "Your browser runs no JavaScript here, so below are the games as text.</p>\n",
            *(_match(match) for match in matches),
            "</main>\n</noscript>\n",
            data("matches", pack([match for match in matches if match["games"]])),
            data("words", WORDS),
            data("front", front),
            data("review", review),
        )
    )
    return frame(title, body, [style("look", "page")], [script("app")])


def _holds(matches: Sequence[Mapping[str, Any]], front: str | None) -> str:
    """Return what of the cards the page holds, in a sentence or two."""
    if any("eyes" not in match for match in matches):
        return "This page holds all cards." + (f" It opens with what {shown(front)} knew." if front else "")
    bots = dict.fromkeys(shown(match["bots"][place]) for match in matches for place in match["eyes"])
    return f"This page holds only what {' and '.join(bots) or 'everybody at the table'} could know."


def _match(match: Mapping[str, Any]) -> str:
    games = "".join(_game(match, game) for game in match["games"])
    players = ", ".join(
        f"{handle}: {name}" for handle, name in sorted(zip(match["handles"], match["bots"], strict=True))
    )
    return f"<h2>Match {match['match']}</h2>\n<p>{_safe(players)}</p>\n{games}"


def _game(match: Mapping[str, Any], game: Mapping[str, Any]) -> str:
    names = [shown(match["bots"][bot]) for bot in game["seating"]]
    won = "a draw" if game["winner"] is None else f"{names[game['winner']]} wins"
    summary = f"Game {game['game']}: {won} after {game['turns']} turns: {tell_end(game['reason'])}"
    lines = "\n".join(_lines(game, names))
    return f"<details><summary>{_safe(summary)}</summary>\n<pre>{_safe(lines, lines=True)}</pre></details>\n"


def _lines(game: Mapping[str, Any], names: Sequence[str]) -> Iterator[str]:
    for name, hand in zip(names, game["start"]["hands"], strict=True):
        yield f"{name} is dealt {', '.join(card or 'a hidden card' for card in hand) or 'nothing yet'}"
    turns: dict[int, list[Mapping[str, Any]]] = {}
    for step in game["steps"]:
        turns.setdefault(step["turn"], []).extend(step["events"])
    for turn, events in turns.items():
        yield f"Turn {turn}: {story(events, names)}"


def _safe(text: str, lines: bool = False) -> str:
    """Return plain text as HTML, with escapes for what can't be printed."""
    return html.escape("\n".join(map(shown, text.split("\n"))) if lines else shown(text))
