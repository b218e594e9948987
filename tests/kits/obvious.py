"""What a kit should know at a request, counted slowly from all that was heard: each figure by a sentence of its own."""

from functools import cache
from typing import Any

from tests.kits.conversations import MATCHES, match

Message = dict[str, Any]

ROLES = ("ambassador", "assassin", "captain", "contessa", "duke", "inquisitor", "not_duke")
HISTORY = ("claimed", "challenged", "proven", "caught", "challenges", "won_challenges", "blocks")


def changes(event: Message, seat: int, role: str) -> bool:
    """Tell whether an event took a card of a role out of a seat's hand, or may have."""
    if event["event"] in ("exchanged", "shown_hand", "forfeit"):
        return bool(event["seat"] == seat)
    if event["event"] == "examined":
        return bool(event["target"] == seat and event["replaced"] and event.get("role", role) == role)
    if event["event"] == "lost" or (event["event"] == "shown" and event.get("replaced") is not False):
        return bool(event["seat"] == seat and event["role"] == role)
    return False


def claims(event: Message, seat: int, role: str) -> bool:
    """Tell whether a seat claims a role by an event."""
    claim = event.get("claim") if event["event"] == "action" else event["role"] if event["event"] == "block" else None
    return bool(event["seat"] == seat and claim == role)


def happened(events: list[Message], name: str, seat: int, role: str) -> int:
    """Count the events of a name, a seat and a role."""
    return sum(e["event"] == name and e["seat"] == seat and e.get("role") == role for e in events)


def claimed(events: list[Message], seat: int, role: str) -> int:
    """Count a seat's claims of a role since it last may have lost it, or didn't prove it."""
    ends = [
        place
        for place, event in enumerate(events)
        if changes(event, seat, role)
        or (event["event"] == "unproven" and (event["seat"], event["role"]) == (seat, role))
    ]
    return sum(claims(event, seat, role) for event in events[max(ends, default=-1) + 1 :])


def shown(events: list[Message], seat: int, role: str) -> int:
    """Count how often a seat proved a role."""
    hands = sum(event["event"] == "shown_hand" and event["seat"] == seat for event in events)
    return happened(events, "shown", seat, role) + (hands if role == "not_duke" else 0)


def history(messages: list[Message], handle: str) -> dict[str, int]:
    """Count what a handle did in all games."""
    found = dict.fromkeys(HISTORY, 0)
    players: list[str] = []
    challenger = ""
    for message in messages:
        if message["type"] == "game_start":
            players = message["players"]
        for event in message.get("events", []):
            name, mine = event["event"], players[event["seat"]] == handle
            found["claimed"] += mine and ("claim" in event or name == "block")
            found["blocks"] += mine and name == "block"
            found["challenges"] += mine and name == "challenge"
            found["challenged"] += name == "challenge" and players[event["claimant"]] == handle
            found["proven"] += mine and name in ("shown", "shown_hand")
            found["caught"] += mine and name == "unproven"
            if name == "challenge":
                challenger = players[event["seat"]]
            found["won_challenges"] += name == "unproven" and challenger == handle
    return found


def knowledge(messages: list[Message], place: int) -> Message:
    """Return what a kit should know at the request in a place of a match, as a probe prints it; no odds, no cards."""
    message = messages[place]
    first = max(start for start in range(place) if messages[start]["type"] == "game_start")
    handles = messages[first]["players"]
    events = [event for each in messages[first : place + 1] for event in each.get("events", [])]
    seats = range(len(handles))
    state, me = message["state"]["players"], message["you"]["seat"]
    return {
        "id": message["id"],
        "opponents": [seat for seat in [*seats[me + 1 :], *seats[:me]] if state[seat]["influence"] > 0],
        "players": [
            {
                "claims": [claimed(events, seat, role) for role in ROLES],
                "caught": [happened(events, "unproven", seat, role) for role in ROLES],
                "shown": [shown(events, seat, role) for role in ROLES],
                "blocks": [happened(events, "block", seat, role) for role in ROLES],
                "history": list(history(messages[: place + 1], handles[seat]).values()),
            }
            for seat in seats
        ],
    }


@cache
def positions() -> dict[int, Message]:
    """Return what is to be known at some requests of `matches`, by their place among the requests.

    At any, where one sees more cards than one's own, and where others' cards were seen or went.
    """
    found = {}
    before = 0
    for preset, seats in MATCHES:
        messages = match(preset, seats)
        asked = [place for place, message in enumerate(messages) if message["type"] == "request"]
        more = [place for place in asked if {"drawn", "seen", "discards"} & set(messages[place]["you"])]
        told = [
            place
            for place in asked
            if any(
                e["event"] in ("examined", "forfeit") or e.get("replaced") is False for e in messages[place]["events"]
            )
        ]
        for place in {*asked[:: len(asked) // 4 + 1], asked[-1], *more[:3], *told[:6]}:
            found[before + asked.index(place)] = knowledge(messages, place)
        before += len(asked)
    return found
