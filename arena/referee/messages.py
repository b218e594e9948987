"""The one place that maps the engine to the protocol: views and events to messages, as dicts.

`wire` writes them as lines, bots in this process get them as they are. Each is a function of a View and of events that
went through `view.seen`, so what a seat may not know can't reach it. Every dict and list of a message is made for one
seat: what a bot does to it changes nothing for others. A test holds every message against the models of `protocol`.

Enumerations are read by `_value_`, which takes a quarter of the time of `value`.
"""

from collections.abc import Sequence
from dataclasses import MISSING, fields
from enum import StrEnum
from functools import lru_cache
from typing import Any, get_args

from arena.coup import (
    FIELDS,
    Act,
    Action,
    Allegiance,
    BlockWindow,
    Board,
    ChallengeWindow,
    ChoosingSide,
    Claim,
    Drafting,
    Event,
    Examining,
    Exchanging,
    Known,
    Losing,
    Over,
    Phase,
    Proving,
    Retaining,
    Revealing,
    Role,
    Ruleset,
    Turn,
    View,
    plain,
    seen,
)
from arena.referee import feed
from arena.referee.menus import Menu
from arena.referee.once import Once

Message = dict[str, Any]

# What is asked in each phase, as requests name it.
KINDS: dict[type[Any], str] = {
    Turn: "turn",
    ChallengeWindow: "challenge",
    BlockWindow: "block",
    Proving: "prove",
    Losing: "lose",
    Exchanging: "exchange",
    Retaining: "keep_shown",
    Revealing: "examine_show",
    Examining: "examine_decide",
    Drafting: "draft",
    ChoosingSide: "allegiance",
}

# The order of the first fields of a ruleset; those of the table of fields that aren't here follow in its own.
_RULES_FIRST = (
    *("name", "seats", "deck", "start_coins", "two_player_starter_coins"),
    *("coup_cost", "assassinate_cost", "forced_coup", "turn_limit"),
)
_NOT_TOLD = ("min_seats", "max_seats")  # a bot needs the seats of its own table


def ruleset(rules: Ruleset, seats: int) -> Message:
    """Return the ruleset as it stands in the hello line: its fields, and what follows from them for so many seats."""
    copies = rules.copies(seats)
    values: Message = {rule.name: plain(rule.effective(rules, seats)) for rule in FIELDS if rule.name not in _NOT_TOLD}
    values |= {
        "seats": seats,
        "deck": {role.value: copies for role in sorted(rules.roles)},
        "coup_cost": rules.rule(Action.COUP, targeted=True).cost,
        "assassinate_cost": rules.rule(Action.ASSASSINATE, targeted=True).cost,
    }
    return {name: values[name] for name in dict.fromkeys((*_RULES_FIRST, *values))}


def game_start(view: View, game: int, seed: str, players: Sequence[str]) -> Message:
    """Return the message that opens a game for one seat; `seed` is for the dice of its bot."""
    return {**opening(view.seat, game, seed, players), "you": you(*view[1:]), "state": state(view.board)}


def opening(seat: int, game: int, seed: str, players: Sequence[str]) -> Message:
    """Return the message that opens a game, but for hand and state."""
    return {"type": "game_start", "game": game, "game_seed": seed, "seat": seat, "players": list(players)}


def request(
    view: View, known: Known, game: int, number: int, events: list[Message], menu: Menu, limit_ms: int, bank_ms: int
) -> Message:
    """Return the request to one seat; `number` is its id, and `events` becomes part of it."""
    board, own = view.board, you(*view[1:])
    if known.players or known.deck:
        own["known"] = certain(known)
    return {
        "type": "request",
        "id": number,
        "kind": KINDS[type(board.phase)],
        "game": game,
        "events": events,
        "state": state(board),
        "you": own,
        **own_fields(board.actor, board.phase),
        "legal": menu.payloads(),
        "clock": {"limit_ms": limit_ms, "bank_ms": bank_ms},
    }


def moment(
    game: int,
    players: Sequence[str],
    board: Board,
    view: View | None,
    known: Known,
    first: int,
    events: Sequence[Event],
) -> Message:
    """Return what a seat, or an onlooker (None), may know of what has just happened, from event number `first` on.

    `known` is what is certain to the seat. The message is for people who follow a game as it is played; no bot is sent
    it. A seat's next line tells the same events.
    """
    seat = None if view is None else view.seat
    message: Message = {
        "type": "moment",
        "game": game,
        "players": list(players),
        "events": [event(number, happened, seat) for number, happened in enumerate(events, start=first)],
        "state": state(board),
    }
    if view is not None:
        message["you"] = you(*view[1:])
        if known.players or known.deck:
            message["you"]["known"] = certain(known)
    return message


def game_over(game: int, board: Board, events: list[Message]) -> Message:
    """Return the message that ends a game, with the events that the seat hasn't had yet, and the state at its end."""
    return {**ending(game, board.phase), "events": events, "state": state(board)}


def ending(game: int, over: Phase) -> Message:
    """Return how a game ended."""
    assert isinstance(over, Over)
    return {
        "type": "game_over",
        "game": game,
        "winner": over.winner,
        "reason": over.ending.value,
        "survivors": list(over.survivors),
    }


# ---------------------------------------------------------------- events


# The fields of each event that messages have, with the values at which they are left out.
_FIELDS = {
    kind: [
        (part.name, (None,) if part.default is MISSING else (None, part.default))
        for part in fields(kind)
        if part.name not in ("seat", "denies")
    ]
    for kind in get_args(Event)
}


def event(number: int, happened: Event, seat: int | None) -> Message:
    """Return the event, the game's `number`th from 0, as the seat sees it (None: a spectator)."""
    return _own(_shared(number, seen(happened, seat)))


def whole_event(number: int, happened: Event) -> Message:
    """Return the event with all that it has: unless it went through `seen`, that is for nobody at the table."""
    return _own(_shared(number, happened))


def unnumbered(happened: Event) -> Message:
    """Return an event with all parts that it has."""
    message: Message = {"event": happened.word, "seat": happened.seat}
    for name, absent in _FIELDS[type(happened)]:
        value = getattr(happened, name)
        if value not in absent:
            message[name] = _plain(value)
    if getattr(happened, "denies", False):
        claim = "claim" if "claim" in message else "role"
        message[claim] = _claimed(message[claim], denies=True)
    return message


def _plain(value: Any) -> Any:
    if isinstance(value, tuple):
        return [word._value_ for word in value]
    return value._value_ if isinstance(value, StrEnum) else value


_UNNUMBERED = Once(unnumbered)


def _shared(number: int, happened: Event) -> Message:
    return {"n": number, **_UNNUMBERED.of(happened)}


def _own(message: Message) -> Message:
    """Return a copy that shares no list."""
    return {name: [*value] if type(value) is list else value for name, value in message.items()}


_WITH_LISTS = frozenset(
    kind.word for kind in get_args(Event) if any("tuple" in str(part.type) for part in fields(kind))
)


class Feed(feed.Feed[Message]):
    """The events of one game as dicts."""

    __slots__ = ()

    def __init__(self, seats: int) -> None:
        super().__init__(seats, _shared)

    def take(self, seat: int) -> list[Message]:
        """Return what the seat hasn't had, in dicts of its own."""
        events = super().take(seat)
        return [_own(message) if message["event"] in _WITH_LISTS else message.copy() for message in events]


# ---------------------------------------------------------------- the parts of a request


def own_fields(actor: int, phase: Phase) -> Message:
    """Return the fields that only the present kind of request has."""
    match phase:  # by class alone: a pattern with positions takes four times as long as reading the fields
        case ChallengeWindow():
            return {"pending": _pending(actor, phase.pending), "claim": _claim(phase.claim)}
        case Turn() | Drafting() | ChoosingSide():
            return {}
        case BlockWindow():
            return {"pending": _pending(actor, phase.pending), "proven": phase.proven}
        case Proving() | Retaining():
            pending, claim = _pending(actor, phase.pending), _claim(phase.claim)
            return {"pending": pending, "claim": claim, "challenger": phase.challenger}
        case Losing():
            return {"pending": _pending(actor, phase.pending), "reason": phase.reason._value_}
        case Exchanging() | Revealing() | Examining():
            return {"pending": _pending(actor, phase.pending)}
        case Over():
            raise ValueError("nothing is asked when the game is over")


def _pending(actor: int, pending: Act) -> Message:
    target = {} if pending.target is None else {"target": pending.target}
    return {"actor": actor, "action": pending.action._value_, **target}


def _claim(claim: Claim) -> Message:
    return {"seat": claim.seat, "role": _claimed(claim.role._value_, claim.denies), "block": claim.block}


def _claimed(role: str, denies: bool) -> str:
    """Return a claim's word. That one has no Duke is a word of its own: a bot that skips `denies` would misread it."""
    return f"not_{role}" if denies else role


def state(board: Board) -> Message:
    """Return the public state of a game."""
    message: Message = {"turn": board.turn, "actor": board.actor, "deck": board.deck}
    if board.rules.reformation:
        message["reserve"] = board.reserve
    message["players"] = players(board.coins, board.influence, board.revealed, board.sides)
    return message


def players(
    coins: tuple[int, ...],
    influence: tuple[int, ...],
    revealed: tuple[tuple[Role, ...], ...],
    sides: tuple[Allegiance, ...],
) -> list[Message]:
    """Return what everybody sees of each player."""
    rows: list[Message] = [
        {"coins": coins, "influence": influence, "revealed": [*_values(roles)] if roles else []}
        for coins, influence, roles in zip(coins, influence, revealed, strict=True)
    ]
    for row, side in zip(rows, sides, strict=False):  # there are none before they are chosen
        row["allegiance"] = side._value_
    return rows


def you(
    seat: int, cards: tuple[Role, ...], drawn: tuple[Role, ...], discards: tuple[Role, ...], seen: Role | None
) -> Message:
    """Return what only the seat sees: the fields of its view but for the board."""
    message: Message = {"seat": seat, "cards": _roles(cards)}
    if drawn:
        message["drawn"] = _roles(drawn)
    if discards:
        message["discards"] = _roles(discards)
    if seen is not None:
        message["seen"] = seen._value_
    return message


def certain(known: Known) -> Message:
    """Return what a seat knows for certain; what is empty is left out."""
    message: Message = {}
    if known.players:
        message["players"] = [
            {"seat": player.seat}
            | ({"has": _roles(player.has)} if player.has else {})
            | ({"lacks": _roles(player.lacks)} if player.lacks else {})
            for player in known.players
        ]
    if known.deck:
        message["deck"] = _roles(known.deck)
    return message


def _roles(roles: tuple[Role, ...]) -> list[str]:
    return [*_values(roles)] if roles else []


@lru_cache(maxsize=10_000)
def _values(roles: tuple[Role, ...]) -> tuple[str, ...]:
    return tuple(role._value_ for role in roles)
