"""Turn moves into the JSON of messages and lines, and find the legal move that a reply's JSON names."""

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

# Each kind of move as JSON: an element of `legal`, or a reply's `move`.
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
    """Return a move as JSON: an element of `legal`, or a reply's `move`."""
    return _PAYLOADS[type(move)](move)


class LegalMoves:
    """A seat's legal moves; `words` has them in notation. Instances are shared: see `make_legal_moves`."""

    __slots__ = ("_by_payload", "_payloads", "json", "moves", "words")

    def __init__(self, moves: tuple[Move, ...]) -> None:
        self.moves = moves
        self.words = tuple(_word(move) for move in moves)
        self.json = f"[{','.join(_move_json(move) for move in moves)}]"
        self._by_payload: dict[_Frozen, int] = {}  # filled when a reply first has `move` instead of `choice`
        self._payloads: tuple[Payload, ...] = ()  # filled when a bot in this process first needs them

    def find(self, move: Payload) -> int | None:
        """Return the index of the legal move that equals a reply's `move`, None if it isn't legal."""
        if not self._by_payload:
            self._by_payload = {_move_key(move): index for index, move in enumerate(self.moves)}
        try:
            return self._by_payload.get(_make_key(move))
        except TypeError:  # a value that can't be hashed or sorted, so it isn't a legal move
            return None

    def payloads(self) -> list[Payload]:
        """Return the moves as dicts that the caller may change."""
        if type(self.moves[0]) is Keep:  # it has a list, which shallow copies would share
            return [move_payload(move) for move in self.moves]
        if not self._payloads:
            self._payloads = tuple(map(move_payload, self.moves))
        return [payload.copy() for payload in self._payloads]


_Frozen = tuple[tuple[str, type, Any], ...]
_CACHE: dict[int, LegalMoves] = {}


def make_legal_moves(moves: tuple[Move, ...]) -> LegalMoves:
    """Return the LegalMoves of a tuple, cached by identity: the engine returns the same tuples repeatedly."""
    legal = _CACHE.get(id(moves))  # by identity, because hashing a list of moves takes longer than encoding it
    if legal is None or legal.moves is not moves:
        if len(_CACHE) >= 5_000:  # under 30 MB with ten seats; small processes fork faster
            _CACHE.clear()
        legal = _CACHE[id(moves)] = LegalMoves(moves)  # keeps the tuple alive, so that no other gets its id
    return legal


@lru_cache(maxsize=2000)
def _word(move: Move) -> str:
    return format_move(move)


@lru_cache(maxsize=2000)
def _move_json(move: Move) -> str:
    return json.dumps(move_payload(move), separators=(",", ":"))


@lru_cache(maxsize=2000)
def _move_key(move: Move) -> _Frozen:
    return _make_key(move_payload(move))


def _make_key(payload: Payload) -> _Frozen:
    """Return a hashable key of a payload. Keys distinguish types (true is not 1) and ignore the order of lists."""
    return tuple(
        (key, type(value), tuple(sorted(value)) if isinstance(value, list) else value)
        for key, value in sorted(payload.items())
    )
