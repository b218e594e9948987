"""Describe events, moves and game ends of the wire in plain words, from one message catalogue.

The page and the kits share the catalogue, event_texts.json, so all use the same texts. A text's key is the word of the
event or move, then its distinguishing parts, with dots: "action.convert.target", "shown.kept", "keep_shown.true". The
most specific key applies. In a text, `{seat}` and other seat fields become the players' names, lists are joined by
"and", `delta` gets its sign, and a spoken `text` loses its surrounding quotes. An unknown event gives ""."""

import json
import re
from collections.abc import Iterable, Iterator, Mapping, Sequence
from functools import cache
from pathlib import Path
from typing import Any

EVENT_TEXTS: dict[str, Any] = json.loads(Path(__file__).with_name("event_texts.json").read_text(encoding="utf-8"))

YOU = "you"  # the name of a person who reads the text

_QUOTES = str.maketrans("“”", "''")
_SEATS = frozenset({"seat", "target", "claimant"})
_IRREGULAR = {"is": "are", "has": "have", "can't": "can't", "doesn't": "don't", "launches": "launch", "and": "and"}


def describe_event(event: Mapping[str, Any], names: Sequence[str]) -> str:
    """Return the text of an event, "" for an event without text. `names` has the players' names by seat."""
    return _find_text("events", _choose_event_keys(event), event, names)


def describe_move(move: Mapping[str, Any], names: Sequence[str]) -> str:
    """Return the text of a move of `legal`, "" for an unknown one."""
    return _find_text("moves", _choose_move_keys(move), move, names)


def describe_end(reason: str) -> str:
    """Return the text of the `reason` for which a game ended; an unknown reason is returned unchanged."""
    return str(EVENT_TEXTS["endings"].get(reason, reason))


def describe_events(events: Sequence[Mapping[str, Any]], names: Sequence[str], coins: bool = False) -> str:
    """Return several events as one line: "A steals from C · C blocks as captain · A challenges: C shows the captain".

    Changes of coins are omitted unless `coins` is true.
    """
    return join_texts(
        (event["event"], describe_event(event, names)) for event in events if coins or event["event"] != "coins"
    )


def join_texts(texts: Iterable[tuple[str, str]]) -> str:
    """Return pairs of (event's word, text) as one line, without empty texts; the words decide how texts are joined."""
    line = ""
    for word, text in texts:
        if text:
            line += (str(EVENT_TEXTS["joins"].get(word, EVENT_TEXTS["join"])) if line else "") + text
    return line


def to_second_person(text: str) -> str:
    """Return texts of events with the verbs after "you" in the second person: "you take" for "you takes".

    Quoted table talk stays unchanged.
    """
    parts = re.split("(“[^”]*”)", text)  # those at odd indices are quoted
    return "".join(part if index % 2 else _address(part) for index, part in enumerate(parts))


def _address(text: str) -> str:
    def turned(match: re.Match[str]) -> str:
        verb = match[2]
        return f"{match[1]}{YOU} {_IRREGULAR.get(verb, verb.removesuffix('s'))}"

    text = re.sub(rf"(^|: | · ){YOU} ([a-z']+)", turned, text)
    return re.sub(rf"\b({YOU} show the [a-z]+ and) keeps\b", r"\1 keep", re.sub(rf"(?<![\w.-]){YOU}'s", "your", text))


def _choose_event_keys(event: Mapping[str, Any]) -> Iterator[str]:
    """Yield the possible keys of an event's text, the most specific first."""
    word = event["event"]
    if word == "action":
        if "target" in event:
            yield f"action.{event['action']}.target"
        yield f"action.{event['action']}"
    elif word == "resolved":
        yield f"resolved.{event['how']}"
    elif word == "say":
        yield f"say.{event['says']}"
    elif word == "shown" and event.get("replaced") is False:
        yield "shown.kept"
    elif word == "examined":
        base = "examined.replaced" if event["replaced"] else "examined"
        if "role" in event:
            yield f"{base}.role"
        yield base
    else:
        yield from _choose_field_keys(word, event)
    yield word


def _choose_field_keys(word: str, event: Mapping[str, Any]) -> Iterator[str]:
    """Yield the possible keys of an event that has texts for some of its fields, the most specific first."""
    if "cards" in event:
        yield f"{word}.cards"
    if "held" in event:  # where all cards are known
        truth = "held" if event["held"] else "lacking"
        yield f"{word}.{event['role']}.{truth}"
        yield f"{word}.{truth}"
    if "role" in event:
        yield f"{word}.{event['role']}"


def _choose_move_keys(move: Mapping[str, Any]) -> Iterator[str]:
    """Yield the possible keys of a move's text, the most specific first."""
    word = next(iter(move), "")
    if word == "action":
        if "target" in move:
            yield f"action.{move['action']}.target"
        yield f"action.{move['action']}"
    elif isinstance(move.get(word), str | bool):
        yield f"{word}.{str(move[word]).lower() if isinstance(move[word], bool) else move[word]}"
    yield word


def _find_text(section: str, keys: Iterator[str], fields: Mapping[str, Any], names: Sequence[str]) -> str:
    """Return the text of the first key that a section of the catalogue has, with its fields filled in; "" if none."""
    texts = EVENT_TEXTS[section]
    text = next((texts[key] for key in keys if key in texts), "")
    return "".join(piece if not field else _describe_field(field, fields, names) for piece, field in _pieces(text))


@cache
def _pieces(text: str) -> tuple[tuple[str, str], ...]:
    """Return a text's pieces: (words, "") or ("", name of a field)."""
    pieces: list[tuple[str, str]] = []
    for chunk in text.split("{"):
        field, brace, tail = chunk.partition("}")
        pieces += [("", field), (tail, "")] if brace else [(chunk, "")]
    return tuple(pieces)


def _describe_field(name: str, fields: Mapping[str, Any], names: Sequence[str]) -> str:
    """Return a field of an event in words; seats become names."""
    value = fields.get(name)
    if name in _SEATS and isinstance(value, int):
        return names[value]
    if name == "delta":
        return f"{value:+d}"
    if name == "sides":
        return ", ".join(f"{seat} ({side})" for seat, side in zip(names, value or (), strict=False))
    if name == "text":  # so that it can't end its quotation and imitate an event
        return str(value).translate(_QUOTES)
    if isinstance(value, list | tuple):
        return str(EVENT_TEXTS["and"]).join(map(str, value)) or "nothing"
    return str(value)
