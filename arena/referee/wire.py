"""The one place that maps the engine to the protocol: views and events to lines, replies to moves.

Every line is a function of a View and of events that went through `view.seen`, so what a seat may not know can't reach
it. Requests are encoded by hand, from fragments that are the same for all seats of a window: with the standard encoder
they were two thirds of the referee's time. A test holds every line against the models of `protocol`.
"""

import hashlib
import json
from collections.abc import Sequence
from functools import lru_cache
from typing import Any

from arena.coup.events import (
    Acted,
    Blocked,
    Challenged,
    Coins,
    Event,
    Exchanged,
    Exiled,
    Forfeited,
    Lost,
    Shown,
    Unproven,
)
from arena.coup.moves import Act, Block, Challenge, Decline, Keep, Lose, Move, Pass, Show, notation
from arena.coup.rules import Action, Role, Ruleset
from arena.coup.state import (
    BlockWindow,
    Board,
    ChallengeWindow,
    Claim,
    Exchanging,
    Losing,
    Over,
    Proving,
    Turn,
)
from arena.coup.view import View, seen
from protocol.framing import encode


def ruleset_payload(rules: Ruleset, seats: int) -> dict[str, Any]:
    """Return the ruleset as it stands in the hello line."""
    return {
        "name": rules.name,
        "seats": seats,
        "deck": {role.value: rules.copies(seats) for role in sorted(rules.roles)},
        "start_coins": rules.start_coins,
        "two_player_starter_coins": rules.two_player_starter_coins,
        "coup_cost": rules.rule(Action.COUP).cost,
        "assassinate_cost": rules.rule(Action.ASSASSINATE).cost,
        "forced_coup": rules.forced_coup,
        "turn_limit": rules.turn_limit(seats),
    }


def game_start(view: View, game: int, players: Sequence[str]) -> bytes:
    """Return the line that opens a game for one seat."""
    head = f'{{"type":"game_start","game":{game},"seat":{view.seat},"players":{_text(list(players))}'
    return f'{head},"you":{_you(view)},"state":{_state(view.board)}}}\n'.encode()


def game_over(game: int, over: Over, events: Sequence[str]) -> bytes:
    """Return the line that ends a game, with the encoded events that the seat hasn't had yet."""
    winner = "null" if over.winner is None else over.winner
    return (
        f'{{"type":"game_over","game":{game},"winner":{winner},"reason":"{over.ending.value}",'
        f'"survivors":{_text(list(over.survivors))},"events":[{",".join(events)}]}}\n'
    ).encode()


MATCH_OVER = encode({"type": "match_over"})


class Question:
    """The requests of one phase: what all asked seats are sent alike is encoded once."""

    __slots__ = ("_after", "_before", "_head")

    def __init__(self, board: Board, game: int) -> None:
        kind, own = _kind(board)
        self._head = f',"kind":"{kind}","game":{game},"events":['
        self._before = f'],"state":{_state(board)},"you":'
        self._after = f'{own},"legal":'

    def line(self, view: View, number: int, events: Sequence[str], menu: "Menu", limit_ms: int, bank_ms: int) -> bytes:
        """Return the request line of one seat; `number` is the request's id, times are in milliseconds."""
        return (
            f'{{"type":"request","id":{number}{self._head}{",".join(events)}{self._before}{_you(view)}{self._after}'
            f'{menu.json},"clock":{{"limit_ms":{limit_ms},"bank_ms":{bank_ms}}}}}\n'
        ).encode()


def _kind(board: Board) -> tuple[str, str]:
    """Return the kind of the present request and the fields that only this kind has."""
    match board.phase:
        case Turn():
            return "turn", ""
        case ChallengeWindow(_, pending, claim):
            return "challenge", f',"pending":{_pending(board, pending)},"claim":{_claim(claim)}'
        case BlockWindow(_, pending):
            return "block", f',"pending":{_pending(board, pending)}'
        case Proving(_, pending, claim, challenger):
            own = f',"pending":{_pending(board, pending)},"claim":{_claim(claim)},"challenger":{challenger}'
            return "prove", own
        case Losing(_, pending, reason):
            return "lose", f',"pending":{_pending(board, pending)},"reason":"{reason.value}"'
        case Exchanging(_, pending):
            return "exchange", f',"pending":{_pending(board, pending)}'
        case Over():
            raise ValueError("nothing is asked when the game is over")


def _pending(board: Board, pending: Act) -> str:
    target = "" if pending.target is None else f',"target":{pending.target}'
    return f'{{"actor":{board.actor},"action":"{pending.action.value}"{target}}}'


def _claim(claim: Claim) -> str:
    return f'{{"seat":{claim.seat},"role":"{claim.role.value}","block":{"true" if claim.block else "false"}}}'


def _state(board: Board) -> str:
    players = ",".join(
        f'{{"coins":{coins},"influence":{influence},"revealed":{_roles(revealed)}}}'
        for coins, influence, revealed in zip(board.coins, board.influence, board.revealed, strict=True)
    )
    return f'{{"turn":{board.turn},"actor":{board.actor},"deck":{board.deck},"players":[{players}]}}'


def _you(view: View) -> str:
    drawn = f',"drawn":{_roles(view.drawn)}' if view.drawn else ""
    return f'{{"seat":{view.seat},"cards":{_roles(view.cards)}{drawn}}}'


@lru_cache(maxsize=10_000)
def _roles(roles: tuple[Role, ...]) -> str:
    return _text([role.value for role in roles])


def _text(value: object) -> str:
    return json.dumps(value, separators=(",", ":"), ensure_ascii=False)


# ---------------------------------------------------------------- events


def event(number: int, happened: Event, seat: int | None) -> str:
    """Return the event, the game's `number`th from 0, as the seat sees it (None: a spectator), without a newline."""
    name, rest = _event(seen(happened, seat))
    return f'{{"n":{number},"event":"{name}",{rest}}}'


def has_private_part(happened: Event) -> bool:
    """Return whether the copy of the event's own seat differs from the others'."""
    return isinstance(happened, Shown | Exchanged)


def _event(happened: Event) -> tuple[str, str]:
    seat = f'"seat":{happened.seat}'
    match happened:
        case Coins(_, delta, reason):
            return "coins", f'{seat},"delta":{delta},"reason":"{reason.value}"'
        case Acted(_, action, target, claim):
            aimed = "" if target is None else f',"target":{target}'
            claimed = "" if claim is None else f',"claim":"{claim.value}"'
            return "action", f'{seat},"action":"{action.value}"{aimed}{claimed}'
        case Challenged(_, claimant, role):
            return "challenge", f'{seat},"claimant":{claimant},"role":"{role.value}"'
        case Shown(_, role, cards):
            return "shown", f'{seat},"role":"{role.value}"{_private(cards)}'
        case Unproven(_, role):
            return "unproven", f'{seat},"role":"{role.value}"'
        case Lost(_, role, why):
            return "lost", f'{seat},"role":"{role.value}","reason":"{why.value}"'
        case Exiled():
            return "exiled", seat
        case Blocked(_, role):
            return "block", f'{seat},"role":"{role.value}"'
        case Exchanged(_, count, cards):
            return "exchanged", f'{seat},"count":{count}{_private(cards)}'
        case Forfeited(_, roles):
            return "forfeit", f'{seat},"roles":{_roles(roles)}'


def _private(cards: tuple[Role, ...] | None) -> str:
    return "" if cards is None else f',"cards":{_roles(cards)}'


# ---------------------------------------------------------------- moves


class Menu:
    """One seat's legal moves, as the wire and the record write them. Menus are shared: see `menu`."""

    __slots__ = ("_by_payload", "json", "moves", "words")

    def __init__(self, moves: tuple[Move, ...]) -> None:
        payloads = [move_payload(move) for move in moves]
        self.moves = moves
        self.words = tuple(notation(move) for move in moves)
        self.json = _text(payloads)
        self._by_payload = {_frozen(payload): index for index, payload in enumerate(payloads)}

    def find(self, move: dict[str, Any]) -> int | None:
        """Return the index of the legal move that a reply's `move` is, None if it is none of them."""
        try:
            return self._by_payload.get(_frozen(move))
        except TypeError:  # something that can't be hashed or sorted, so no legal move
            return None


_MENUS: dict[int, Menu] = {}
_MOST_MENUS = 20_000  # about 40 MB; a ten-seat game has some 5,000 different lists


def menu(moves: tuple[Move, ...]) -> Menu:
    """Return the menu of a tuple of legal moves; the engine hands out the same tuples again and again."""
    known = _MENUS.get(id(moves))  # hashing a list of moves costs more than encoding it, hence by identity
    if known is None or known.moves is not moves:
        if len(_MENUS) >= _MOST_MENUS:
            _MENUS.clear()
        known = _MENUS[id(moves)] = Menu(moves)  # holds the tuple, so that its identity stays taken
    return known


def move_payload(move: Move) -> dict[str, Any]:
    """Return a move as it stands in `legal` and in a reply's `move`."""
    match move:
        case Act(action, None):
            return {"action": action.value}
        case Act(action, target):
            return {"action": action.value, "target": target}
        case Pass():
            return {"pass": True}
        case Challenge():
            return {"challenge": True}
        case Block(role):
            return {"block": role.value}
        case Show(role):
            return {"show": role.value}
        case Decline():
            return {"decline": True}
        case Lose(role):
            return {"lose": role.value}
        case Keep(roles):
            return {"keep": [role.value for role in roles]}


def _frozen(payload: dict[str, Any]) -> tuple[tuple[str, type, Any], ...]:
    """Return a key that is equal for equal payloads: types count (true is not 1), the order of a list doesn't."""
    return tuple(
        (key, type(value), tuple(sorted(value)) if isinstance(value, list) else value)
        for key, value in sorted(payload.items())
    )


class Feed:
    """The events of one game, encoded once each, and what each seat hasn't been sent yet."""

    __slots__ = ("_full", "_unsent", "count")

    def __init__(self, seats: int) -> None:
        self.count = 0
        self._full: list[str] = []
        self._unsent: list[list[str]] = [[] for _ in range(seats)]

    def add(self, events: Sequence[Event]) -> None:
        """Take in what happened."""
        for happened in events:
            public = event(self.count, happened, None)
            own = event(self.count, happened, happened.seat) if has_private_part(happened) else public
            for seat, unsent in enumerate(self._unsent):
                unsent.append(own if seat == happened.seat else public)
            self._full.append(own)
            self.count += 1

    def take(self, seat: int) -> list[str]:
        """Return what the seat hasn't had, and count it as sent."""
        unsent = self._unsent[seat]
        self._unsent[seat] = []
        return unsent

    def digest(self) -> str:
        """Return the SHA-256 of all events with their private parts, one a line."""
        return hashlib.sha256("\n".join(self._full).encode()).hexdigest()
