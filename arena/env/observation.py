"""What a seat observes, as numbers: a function of its View and of the public parts of the events.

The array has three parts: what is asked of whom (the same for all seats), the seat's own cards, and a row for each
player, the seat's own first and then clockwise. FIELDS lists them in order; roles and actions have their places by
`arena.coup`'s order, which is alphabetical for roles. Counts are plain numbers, all else is 0 or 1.
"""

from array import array
from collections.abc import Iterable, Sequence
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from arena.coup import (
    Act,
    Acted,
    Action,
    Allegiance,
    Blocked,
    BlockWindow,
    Board,
    Challenged,
    ChallengeWindow,
    ChoosingSide,
    Coins,
    Drafting,
    Event,
    Examining,
    Exchanging,
    Losing,
    LossReason,
    Lost,
    Over,
    Phase,
    Proving,
    Resolved,
    Retaining,
    Revealing,
    Ruleset,
    Shown,
    Turn,
    Unproven,
    View,
)

Array = NDArray[np.int16]

_ROLES = 5  # every ruleset has five
_KINDS: tuple[tuple[type[Phase], str], ...] = (
    (Turn, "turn"),
    (ChallengeWindow, "challenge"),
    (BlockWindow, "block"),
    (Proving, "prove"),
    (Losing, "lose"),
    (Exchanging, "exchange"),
    (Retaining, "keep_shown"),
    (Revealing, "examine_show"),
    (Examining, "examine_decide"),
    (Drafting, "draft"),
    (ChoosingSide, "allegiance"),
)


class Field(NamedTuple):
    """A run of numbers in the array: its name, how many there are, and what they say."""

    name: str
    size: int
    says: str


_HEAD = (
    Field("turn", 1, "the turn's number, from 1"),
    Field("deck", 1, "cards in the court deck"),
    Field("reserve", 1, "coins in the treasury reserve"),
    Field("kind", len(_KINDS), f"what is asked now: {', '.join(name for _, name in _KINDS)}"),
    Field("action", len(Action), f"the pending action: {', '.join(Action)}"),
    Field("claim", _ROLES, "the role that is claimed now"),
    Field("denies", 1, "the claim is that one doesn't have that role"),
    Field("blocks", 1, "the claim is a block's"),
    Field("proven", 1, "the action's claim was challenged this turn and proven"),
    Field("reason", len(LossReason), f"why a card is lost now: {', '.join(LossReason)}"),
)
_OWN = (
    Field("cards", _ROLES, "how many cards of each role one holds"),
    Field("drawn", _ROLES, "how many of each role one has drawn in an exchange"),
    Field("discards", _ROLES, "how many of each role one's draft left over"),
    Field("seen", _ROLES, "the card that one is examining"),
)
_PLAYER = (
    Field("coins", 1, "coins"),
    Field("influence", 1, "cards in the hand; 0: out of the game"),
    Field("revealed", _ROLES, "how many cards of each role lie face up"),
    Field("side", len(Allegiance), f"the allegiance, if there is one: {', '.join(Allegiance)}"),
    Field("actor", 1, "whose turn it is"),
    Field("target", 1, "at whom the pending action is aimed"),
    Field("claimant", 1, "whose claim it is"),
    Field("challenger", 1, "who challenged it"),
    Field("claimed", _ROLES, "how often it claimed each role in this game"),
    Field("shown", _ROLES, "how often it proved each role"),
    Field("caught", _ROLES, "how often it was challenged for each role and didn't prove it"),
    Field("denied", 1, "how often it claimed not to have a role"),
    Field("challenges", 1, "how often it challenged"),
)


def _begins(fields: Sequence[Field]) -> dict[str, int]:
    """Return where each field begins."""
    sizes = [field.size for field in fields]
    return {field.name: sum(sizes[:place]) for place, field in enumerate(fields)}


_IN_HEAD, _IN_ROW = _begins(_HEAD), _begins(_PLAYER)
_HEAD_SIZE, _OWN_SIZE, _ROW_SIZE = (sum(field.size for field in fields) for fields in (_HEAD, _OWN, _PLAYER))


def fields(seats: int) -> dict[str, tuple[slice, str]]:
    """Return where each field stands in the array, and what it says; players are counted clockwise from oneself."""
    rows = [Field(f"player {step}: {field.name}", *field[1:]) for step in range(seats) for field in _PLAYER]
    every = (*_HEAD, *_OWN, *rows)
    begins = _begins(every)
    return {each.name: (slice(begins[each.name], begins[each.name] + each.size), each.says) for each in every}


def size(seats: int) -> int:
    """Return how many numbers an observation has."""
    return _HEAD_SIZE + _OWN_SIZE + seats * _ROW_SIZE


OwnCards = dict[tuple[object, ...], "array[int]"]  # what is counted of a seat's own cards, kept from game to game


class Watcher:
    """What is public of one game, as numbers. It is given boards and events, and makes each seat's array.

    The numbers stand in arrays of the standard library, whose single elements are read and written three times as fast
    as numpy's; what a board doesn't change isn't written again.
    """

    __slots__ = ("_board", "_flags", "_head", "_own", "_role", "_roles", "_rows", "_seats", "_twice")

    def __init__(self, rules: Ruleset, seats: int, own: OwnCards | None = None) -> None:
        self._roles = rules.roles
        self._role = {role: place for place, role in enumerate(rules.roles)}
        self._seats = range(0, seats * _ROW_SIZE, _ROW_SIZE)  # where each seat's row begins
        self._rows = array("h", bytes(2 * seats * _ROW_SIZE))
        self._flags: list[int] = []  # the places in the rows that hold a flag of the present board
        self._board: Board | None = None  # the board that head and rows are of
        self._head = _NO_HEAD
        self._twice = self._rows  # the rows two times, so that each seat's view of them is one slice
        self._own = {} if own is None else own

    def add(self, events: Iterable[Event]) -> None:
        """Count what players claimed, showed and lost. The private parts of the events aren't looked at."""
        rows, role, seats = self._rows, self._role, self._seats
        for happened in events:
            if isinstance(happened, _UNCOUNTED):  # most of them
                continue
            place = seats[happened.seat]
            if isinstance(happened, Acted):
                if happened.denies:
                    rows[place + _DENIED] += 1
                elif happened.claim is not None:
                    rows[place + _CLAIMED + role[happened.claim]] += 1
            elif isinstance(happened, Challenged):
                rows[place + _CHALLENGES] += 1
            elif isinstance(happened, Lost):
                rows[place + _REVEALED + role[happened.role]] += 1
            elif isinstance(happened, Unproven):
                if not happened.denies:
                    rows[place + _CAUGHT + role[happened.role]] += 1
            elif isinstance(happened, Shown):
                rows[place + _SHOWN + role[happened.role]] += 1
            elif isinstance(happened, Blocked):
                rows[place + _CLAIMED + role[happened.role]] += 1

    def observe(self, view: View) -> Array:
        """Return what a seat observes; an array of its own."""
        if self._board is not view.board:
            self._see(view.board)
        cards = (view.cards, view.drawn, view.discards, view.seen)
        own = self._own.get(cards)
        if own is None:
            own = self._own[cards] = self._counted(view)
        begin = self._seats[view.seat]
        return np.frombuffer(self._head + own + self._twice[begin : begin + len(self._rows)], np.int16)

    def _counted(self, view: View) -> "array[int]":
        seen = () if view.seen is None else (view.seen,)
        piles = (view.cards, view.drawn, view.discards, seen)
        return array("h", [pile.count(role) for pile in piles for role in self._roles])

    def _see(self, board: Board) -> None:
        """Take in a board: once for all seats."""
        before, self._board = self._board, board
        rows, seats = self._rows, self._seats
        if before is None or board.coins != before.coins:
            rows[_COINS::_ROW_SIZE] = array("h", board.coins)
        if before is None or board.influence != before.influence:
            rows[_INFLUENCE::_ROW_SIZE] = array("h", board.influence)
        if before is None or board.sides is not before.sides:
            for place, side in zip(seats, board.sides, strict=False):  # there are none before they are chosen
                for each, allegiance in enumerate(Allegiance):
                    rows[place + _SIDE + each] = side is allegiance
        phase = board.phase
        for place in self._flags:
            rows[place] = 0
        self._flags = flags = [seats[board.actor] + _ACTOR]
        kind = type(phase)
        head = _HEADS[kind][:]
        head[0] = board.turn
        head[1] = board.deck
        head[2] = board.reserve
        if kind in _PENDING:
            pending: Act = phase.pending  # type: ignore[union-attr]
            head[_ACTION[pending.action]] = 1
            if pending.target is not None:
                flags.append(seats[pending.target] + _TARGET)
            if isinstance(phase, _CLAIM):
                claim = phase.claim
                head[_CLAIM_ROLE + self._role[claim.role]] = 1
                head[_DENIES] = claim.denies
                head[_BLOCKS] = claim.block
                flags.append(seats[claim.seat] + _CLAIMANT)
                if kind is not ChallengeWindow:
                    flags.append(seats[phase.challenger] + _CHALLENGER)  # type: ignore[union-attr]
            elif kind is BlockWindow:
                head[_PROVEN] = phase.proven  # type: ignore[union-attr]
            elif kind is Losing:
                head[_REASON[phase.reason]] = 1  # type: ignore[union-attr]
        for place in flags:
            rows[place] = 1
        self._head = head
        self._twice = rows + rows


_UNCOUNTED = (Coins, Resolved)
_NO_HEAD = array("h", bytes(2 * _HEAD_SIZE))
_PENDING = {ChallengeWindow, BlockWindow, Proving, Retaining, Losing, Exchanging, Revealing, Examining}
_CLAIM = (ChallengeWindow, Proving, Retaining)
_HEADS = {
    phase: array("h", [int(place == _IN_HEAD["kind"] + kind) for place in range(_HEAD_SIZE)])
    for kind, phase in enumerate(phase for phase, _ in _KINDS)
}
_HEADS[Over] = _NO_HEAD
_ACTION = {action: _IN_HEAD["action"] + place for place, action in enumerate(Action)}
_REASON = {reason: _IN_HEAD["reason"] + place for place, reason in enumerate(LossReason)}
_CLAIM_ROLE, _DENIES, _BLOCKS, _PROVEN = (_IN_HEAD[name] for name in ("claim", "denies", "blocks", "proven"))
_COINS, _INFLUENCE, _REVEALED, _SIDE, _ACTOR, _TARGET, _CLAIMANT, _CHALLENGER = (
    _IN_ROW[name] for name in ("coins", "influence", "revealed", "side", "actor", "target", "claimant", "challenger")
)
_CLAIMED, _SHOWN, _CAUGHT, _DENIED, _CHALLENGES = (
    _IN_ROW[name] for name in ("claimed", "shown", "caught", "denied", "challenges")
)
