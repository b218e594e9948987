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
    kind, own = _kind(board)
    return {
        "type": "request",
        "id": number,
        "kind": kind,
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

    __slots__ = ("_unsent", "count")

    def __init__(self, seats: int) -> None:
        self.count = 0
        self._unsent: list[list[Message]] = [[] for _ in range(seats)]

    def add(self, events: Sequence[Event]) -> None:
        """Take in what happened."""
        for happened in events:
            if type(happened) in _OWN_COPIES:
                for seat, unsent in enumerate(self._unsent):
                    unsent.append(event(self.count, happened, seat))
            else:
                public = event(self.count, happened, None)
                for unsent in self._unsent:
                    unsent.append(public.copy())
                for seat in private_to(happened):
                    self._unsent[seat][-1] = event(self.count, happened, seat)
            self.count += 1

    def take(self, seat: int) -> list[Message]:
        """Return what the seat hasn't had, and count it as sent."""
        unsent = self._unsent[seat]
        self._unsent[seat] = []
        return unsent


_OWN_COPIES = (HandShown, Sided, Forfeited)  # their public part has a list, which a copy would share


def event(number: int, happened: Event, seat: int | None) -> Message:
    """Return the event, the game's `number`th from 0, as the seat sees it (None: a spectator)."""
    happened = seen(happened, seat)
    name, rest = _event(happened)
    return {"n": number, "event": name, "seat": happened.seat, **rest}


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


def _kind(board: Board) -> tuple[str, Message]:
    """Return the kind of the present request and the fields that only this kind has."""
    match board.phase:
        case Turn():
            return "turn", {}
        case ChallengeWindow(_, pending, claim):
            return "challenge", {"pending": _pending(board, pending), "claim": _claim(claim)}
        case BlockWindow(_, pending, proven):
            return "block", {"pending": _pending(board, pending), "proven": proven}
        case Proving(_, pending, claim, challenger):
            return "prove", {"pending": _pending(board, pending), "claim": _claim(claim), "challenger": challenger}
        case Losing(_, pending, reason):
            return "lose", {"pending": _pending(board, pending), "reason": reason._value_}
        case Exchanging(_, pending):
            return "exchange", {"pending": _pending(board, pending)}
        case Retaining(_, pending, claim, challenger):
            own = {"pending": _pending(board, pending), "claim": _claim(claim), "challenger": challenger}
            return "keep_shown", own
        case Revealing(_, pending):
            return "examine_show", {"pending": _pending(board, pending)}
        case Examining(_, pending):
            return "examine_decide", {"pending": _pending(board, pending)}
        case Drafting():
            return "draft", {}
        case ChoosingSide():
            return "allegiance", {}
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
    if board.sides or board.rules.reformation:
        state["reserve"] = board.reserve
    seats = zip(board.coins, board.influence, board.revealed, strict=True)
    state["players"] = players = [
        {"coins": coins, "influence": influence, "revealed": _roles(revealed)} for coins, influence, revealed in seats
    ]
    if board.sides:
        for player, side in zip(players, board.sides, strict=True):
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
