"""List a seat's legal moves in the forms that messages, lines and records use."""

import json
from collections.abc import Callable
from functools import lru_cache
from typing import Any

from arena.coup import (
    ActionMove,
    Block,
    Challenge,
    Decline,
    ExamineDecision,
    Keep,
    KeepShown,
    Lose,
    Move,
    Pass,
    Pick,
    Reveal,
    Show,
    ShowHand,
    Side,
    format_move,
)

Payload = dict[str, Any]

# Each kind of move as it stands in `legal` and in a reply's `move`.
_PAYLOADS: dict[type[Move], Callable[[Any], Payload]] = {
    ActionMove: lambda move: {"action": move.action.value} | ({} if move.target is None else {"target": move.target}),
    Pass: lambda _: {"pass": True},
    Challenge: lambda _: {"challenge": True},
    Block: lambda move: {"block": move.role.value},
    Show: lambda move: {"show": move.role.value},
    ShowHand: lambda _: {"show": "all"},
    Decline: lambda _: {"decline": True},
    Lose: lambda move: {"lose": move.role.value},
    Keep: lambda move: {"keep": [role.value for role in move.roles]},
    KeepShown: lambda move: {"keep_shown": move.shown},
    Pick: lambda move: {"pick": move.role.value},
    Side: lambda move: {"side": move.allegiance.value},
    Reveal: lambda move: {"reveal": move.role.value},
    ExamineDecision: lambda move: {"examined": "force_swap" if move.swap else "hand_back"},
}


def move_payload(move: Move) -> Payload:
    """Return a move as it stands in `legal` and in a reply's `move`."""
    return _PAYLOADS[type(move)](move)


class LegalMoves:
    """One seat's legal moves. Menus are shared: see `menu`."""

    __slots__ = ("_by_payload", "_payloads", "json", "moves", "words")

    def __init__(self, moves: tuple[Move, ...]) -> None:
        self.moves = moves
        self.words = tuple(_word(move) for move in moves)
        self.json = f"[{','.join(_move_json(move) for move in moves)}]"
        self._by_payload: dict[_Frozen, int] = {}  # made when a reply first spells a move out
        self._payloads: tuple[Payload, ...] = ()  # made when a bot in this process first gets them

    def find(self, move: Payload) -> int | None:
        """Return the index of the legal move that a reply's `move` is, None if it isn't legal."""
        if not self._by_payload:
            self._by_payload = {_move_key(move): index for index, move in enumerate(self.moves)}
        try:
            return self._by_payload.get(_frozen(move))
        except TypeError:  # something that can't be hashed or sorted, so no legal move
            return None

    def payloads(self) -> list[Payload]:
        """Return the moves as dicts, which are the caller's own."""
        if type(self.moves[0]) is Keep:  # the one with a list, which copies would share
            return [move_payload(move) for move in self.moves]
        if not self._payloads:
            self._payloads = tuple(map(move_payload, self.moves))
        return [payload.copy() for payload in self._payloads]


_Frozen = tuple[tuple[str, type, Any], ...]
_MENUS: dict[int, LegalMoves] = {}
_MAX_CACHED_MENUS = 5_000  # under 30 MB with ten seats; a process forks faster the smaller it is


def make_legal_moves(moves: tuple[Move, ...]) -> LegalMoves:
    """Return the menu of a tuple of legal moves; the engine returns the same tuples repeatedly."""
    known = _MENUS.get(id(moves))  # hashing a list of moves costs more than encoding it, hence by identity
    if known is None or known.moves is not moves:
        if len(_MENUS) >= _MAX_CACHED_MENUS:
            _MENUS.clear()
        known = _MENUS[id(moves)] = LegalMoves(moves)  # holds the tuple, so that its identity stays taken
    return known


@lru_cache(maxsize=2000)
def _word(move: Move) -> str:
    return format_move(move)


@lru_cache(maxsize=2000)
def _move_json(move: Move) -> str:
    return json.dumps(move_payload(move), separators=(",", ":"))


@lru_cache(maxsize=2000)
def _move_key(move: Move) -> _Frozen:
    return _frozen(move_payload(move))


def _frozen(payload: Payload) -> _Frozen:
    """Return a key that is equal for equal payloads: types count (true is not 1), the order of a list doesn't."""
    return tuple(
        (key, type(value), tuple(sorted(value)) if isinstance(value, list) else value)
        for key, value in sorted(payload.items())
    )
