"""The messages of the wire as dicts, for bots in this process: equal to what `json.loads` makes of the wire's lines.

They are built without text, since to write and read a line costs as much as the rules. Like the lines, each is a
function of a View and of events that went through `view.seen`. Every dict and list is made for one seat: what a bot
does to it changes nothing for others. A test holds every message against its line.

Enumerations are read by `_value_`, which takes a quarter of the time of `value`.
"""

from collections.abc import Sequence
from functools import lru_cache
from typing import Any

from arena.coup import (
    Act,
    Acted,
    Block,
    Blocked,
    BlockWindow,
    Board,
    Challenge,
    Challenged,
    ChallengeWindow,
    ChoosingSide,
    Claim,
    Coins,
    Converted,
    Decline,
    Drafted,
    Drafting,
    Event,
    Examination,
    Examining,
    Exchanged,
    Exchanging,
    Exiled,
    Forfeited,
    HandShown,
    Losing,
    Lost,
    Move,
    Over,
    Pass,
    Proving,
    Resolved,
    Retaining,
    Revealing,
    Role,
    Shown,
    Sided,
    Turn,
    Unproven,
    View,
    private_to,
    seen,
)
from arena.referee import wire

Message = dict[str, Any]


def game_start(view: View, game: int, players: Sequence[str]) -> Message:
    """Return the message that opens a game for one seat."""
    return {
        "type": "game_start",
        "game": game,
        "seat": view.seat,
        "players": list(players),
        "you": _you(view),
        "state": _state(view.board),
    }


def request(
    view: View, game: int, number: int, events: list[Message], moves: tuple[Move, ...], limit_ms: int, bank_ms: int
) -> Message:
    """Return the request to one seat; `number` is its id, and `events` becomes part of it."""
    board = view.board
    own = _own_fields(board)
    return {
        "type": "request",
        "id": number,
        "kind": wire.KINDS[type(board.phase)],
        "game": game,
        "events": events,
        "state": _state(board),
        "you": _you(view),
        **own,
        "legal": _legal(moves),
        "clock": {"limit_ms": limit_ms, "bank_ms": bank_ms},
    }


def game_over(game: int, over: Over, events: list[Message]) -> Message:
    """Return the message that ends a game, with the events that the seat hasn't had yet."""
    return {
        "type": "game_over",
        "game": game,
        "winner": over.winner,
        "reason": over.ending.value,
        "survivors": list(over.survivors),
        "events": events,
    }


class Feed:
    """The events of one game: what each seat hasn't been told yet."""

    __slots__ = ("_own", "_public", "_sent")

    def __init__(self, seats: int) -> None:
        self._public: list[Message] = []  # all events, as everybody sees them; who is told gets copies
        self._own: list[dict[int, Message]] = [{} for _ in range(seats)]  # a seat's own form of some of them, by number
        self._sent = [0] * seats

    @property
    def count(self) -> int:
        """Return how many events there were."""
        return len(self._public)

    def add(self, events: Sequence[Event]) -> None:
        """Take in what happened."""
        for happened in events:
            number = len(self._public)
            self._public.append({"n": number, **_as_public(happened)})
            for seat in range(len(self._own)) if type(happened) in _WITH_LISTS else private_to(happened):
                self._own[seat][number] = event(number, happened, seat)

    def take(self, seat: int) -> list[Message]:
        """Return what the seat hasn't had, and count it as sent."""
        sent = self._sent[seat]
        self._sent[seat] = len(self._public)
        told = [event.copy() for event in self._public[sent:]]
        if self._own[seat]:
            for number, own in self._own[seat].items():
                told[number - sent] = own
            self._own[seat] = {}
        return told


_WITH_LISTS = (HandShown, Sided, Forfeited)  # their public part has a list, which a copy would share


def event(number: int, happened: Event, seat: int | None) -> Message:
    """Return the event, the game's `number`th from 0, as the seat sees it (None: a spectator)."""
    return {"n": number, **_unnumbered(seen(happened, seat))}


@lru_cache(maxsize=10_000)
def _as_public(happened: Event) -> Message:
    """Return the event as everybody sees it, which nobody may change."""
    return _unnumbered(seen(happened, None))


def _unnumbered(happened: Event) -> Message:
    name, rest = _event(happened)
    return {"event": name, "seat": happened.seat, **rest}


def _event(happened: Event) -> tuple[str, Message]:
    match happened:
        case Coins(_, delta, reason):
            return "coins", {"delta": delta, "reason": reason._value_}
        case Acted(_, action, target, claim, denies):
            rest: Message = {"action": action._value_}
            if target is not None:
                rest["target"] = target
            if claim is not None:
                rest["claim"] = _claimed(claim, denies)
            return "action", rest
        case Challenged(_, claimant, role, denies):
            return "challenge", {"claimant": claimant, "role": _claimed(role, denies)}
        case Shown(_, role, cards, replaced):
            kept = {} if replaced else {"replaced": False}
            return "shown", {"role": role._value_, **kept, **_private(cards)}
        case Unproven(_, role, denies):
            return "unproven", {"role": _claimed(role, denies)}
        case Lost(_, role, why):
            return "lost", {"role": role._value_, "reason": why._value_}
        case Exiled():
            return "exiled", {}
        case Blocked(_, role):
            return "block", {"role": role._value_}
        case Exchanged(_, count, cards):
            return "exchanged", {"count": count, **_private(cards)}
        case Forfeited(_, roles):
            return "forfeit", {"roles": _roles(roles)}
        case HandShown(_, roles, cards):
            return "shown_hand", {"roles": _roles(roles), **_private(cards)}
        case Drafted(_, cards):
            return "drafted", _private(cards)
        case Sided(_, sides):
            return "allegiances", {"sides": [side._value_ for side in sides]}
        case Converted(_, target, allegiance):
            return "converted", {"target": target, "allegiance": allegiance._value_}
        case Examination(_, target, replaced, examined, cards):
            card = {} if examined is None else {"role": examined._value_}
            return "examined", {"target": target, "replaced": replaced, **card, **_private(cards)}
        case Resolved(_, action, target, how):
            aimed = {} if target is None else {"target": target}
            return "resolved", {"action": action._value_, **aimed, "how": how._value_}


def _private(cards: tuple[Role, ...] | None) -> Message:
    return {} if cards is None else {"cards": _roles(cards)}


# ---------------------------------------------------------------- the parts of a request


def _own_fields(board: Board) -> Message:
    """Return the fields that only the present kind of request has."""
    phase = board.phase
    match phase:  # by class alone: a pattern with positions takes four times as long as reading the fields
        case ChallengeWindow():
            return {"pending": _pending(board, phase.pending), "claim": _claim(phase.claim)}
        case Turn() | Drafting() | ChoosingSide():
            return {}
        case BlockWindow():
            return {"pending": _pending(board, phase.pending), "proven": phase.proven}
        case Proving() | Retaining():
            pending, claim = _pending(board, phase.pending), _claim(phase.claim)
            return {"pending": pending, "claim": claim, "challenger": phase.challenger}
        case Losing():
            return {"pending": _pending(board, phase.pending), "reason": phase.reason._value_}
        case Exchanging() | Revealing() | Examining():
            return {"pending": _pending(board, phase.pending)}
        case Over():
            raise ValueError("nothing is asked when the game is over")


def _pending(board: Board, pending: Act) -> Message:
    aimed = {} if pending.target is None else {"target": pending.target}
    return {"actor": board.actor, "action": pending.action._value_, **aimed}


def _claim(claim: Claim) -> Message:
    return {"seat": claim.seat, "role": _claimed(claim.role, claim.denies), "block": claim.block}


def _claimed(role: Role, denies: bool) -> str:
    return f"not_{role._value_}" if denies else role._value_


def _state(board: Board) -> Message:
    state: Message = {"turn": board.turn, "actor": board.actor, "deck": board.deck}
    if board.rules.reformation:
        state["reserve"] = board.reserve
    state["players"] = players = [
        {"coins": coins, "influence": influence, "revealed": [*_values(revealed)] if revealed else []}
        for coins, influence, revealed in zip(board.coins, board.influence, board.revealed, strict=True)
    ]
    for player, side in zip(players, board.sides, strict=False):  # there are none before they are chosen
        player["allegiance"] = side._value_
    return state


def _you(view: View) -> Message:
    you: Message = {"seat": view.seat, "cards": _roles(view.cards)}
    if view.drawn:
        you["drawn"] = _roles(view.drawn)
    if view.discards:
        you["discards"] = _roles(view.discards)
    if view.seen is not None:
        you["seen"] = view.seen._value_
    return you


def _roles(roles: tuple[Role, ...]) -> list[str]:
    return [*_values(roles)] if roles else []


@lru_cache(maxsize=10_000)
def _values(roles: tuple[Role, ...]) -> tuple[str, ...]:
    return tuple(role._value_ for role in roles)


_WITHOUT_LISTS = (Act, Pass, Challenge, Block, Decline)  # the moves of the kinds that are asked most


def _legal(moves: tuple[Move, ...]) -> list[Message]:
    if type(moves[0]) in _WITHOUT_LISTS:
        return [move.copy() for move in _payloads(moves)]
    return [wire.move_payload(move) for move in moves]


_PAYLOADS: dict[int, tuple[tuple[Move, ...], tuple[Message, ...]]] = {}
_MOST_PAYLOADS = 5_000  # as many as the wire keeps menus


def _payloads(moves: tuple[Move, ...]) -> tuple[Message, ...]:
    """Return the moves as dicts, which nobody may change; the engine hands out the same tuples again and again."""
    known = _PAYLOADS.get(id(moves))
    if known is None or known[0] is not moves:
        if len(_PAYLOADS) >= _MOST_PAYLOADS:
            _PAYLOADS.clear()
        known = _PAYLOADS[id(moves)] = (moves, tuple(map(wire.move_payload, moves)))
    return known[1]
