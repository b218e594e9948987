"""Encodes the messages to a seat as the numbers that `arena.env` trains on, and plays with a trained policy.

Copy this file next to your bot. It requires only Python 3.9 or newer. This is encoding version 3.

    trained = Player("weights.json")
    for each line of the referee, as a dict:
        choice = trained.choice(message)  # an index into message["legal"]; None: not a request, or other rules

`Encoder` returns the array and the mask of a request, equal to the observation of `arena.env`. `Policy` is a network of
dense layers from a file. `Watcher` counts events; `arena.env` uses it too. docs/reference/environment.md documents the
fields.
"""

from __future__ import annotations

import os
import sys
from array import array
from itertools import combinations_with_replacement
from math import exp, tanh
from operator import mul
from types import SimpleNamespace

TYPE_CHECKING = False  # like typing.TYPE_CHECKING, without the slow import
if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator, Sequence
    from typing import Any

    Message = dict[str, Any]

__all__ = ["ENCODING", "Encoder", "Field", "Player", "Policy", "Watcher", "action_words", "fields", "size"]

ENCODING = 3  # increases if the same messages give other numbers, or if actions change places

ACTIONS = ("income", "foreign_aid", "coup", "tax", "assassinate", "steal", "exchange", "examine", "convert", "embezzle")
KINDS = (
    *("turn", "challenge", "block", "prove", "lose", "exchange", "keep_shown"),
    *("examine_show", "examine_decide", "draft", "allegiance"),
)
REASONS = ("coup", "assassinate", "challenge")
SIDES = ("loyalist", "reformist")
_ROLES = 5  # every ruleset has five


class Field:
    """A field of the observation: its name, its size (how many numbers in a row) and its meaning."""

    __slots__ = ("name", "says", "size")

    def __init__(self, name: str, size: int, says: str) -> None:
        self.name = name
        self.size = size
        self.says = says


_HEAD = (
    Field("turn", 1, "the number of the turn, from 1"),
    Field("deck", 1, "cards in the court deck"),
    Field("reserve", 1, "coins in the treasury reserve"),
    Field("kind", len(KINDS), f"the kind of request: {', '.join(KINDS)}"),
    Field("action", len(ACTIONS), f"the pending action: {', '.join(ACTIONS)}"),
    Field("claim", _ROLES, "the claimed role"),
    Field("denies", 1, "1 if the claim is to lack that role"),
    Field("blocks", 1, "1 if the claim is a block"),
    Field("proven", 1, "1 if the action's claim was challenged in this turn and proven"),
    Field("reason", len(REASONS), f"the reason for losing a card: {', '.join(REASONS)}"),
)
_OWN = (
    Field("cards", _ROLES, "the observer's cards of each role"),
    Field("drawn", _ROLES, "the observer's drawn cards of each role, in an exchange"),
    Field("discards", _ROLES, "the observer's discards of each role, after a draft"),
    Field("seen", _ROLES, "the role of the card that the observer examines"),
    Field("in_deck", _ROLES, "cards of each role that are certainly in the court deck"),
)
_PLAYER = (  # what all seats know
    Field("coins", 1, "its coins"),
    Field("influence", 1, "its face-down cards; 0 if it is out, or in a draft"),
    Field("revealed", _ROLES, "its face-up cards of each role"),
    Field("side", len(SIDES), f"its allegiance, if any: {', '.join(SIDES)}"),
    Field("actor", 1, "1 if it has the turn"),
    Field("target", 1, "1 if the pending action is aimed at it"),
    Field("claimant", 1, "1 if it made the claim"),
    Field("challenger", 1, "1 if it challenged the claim"),
    Field("claimed", _ROLES, "its claims of each role in this game"),
    Field("shown", _ROLES, "its proofs of each role"),
    Field("kept", _ROLES, "its proofs of each role after which it kept the card"),
    Field("caught", _ROLES, "its challenged claims of each role that it didn't prove"),
    Field("denied", 1, "its claims to lack a role"),
    Field("cleared", 1, "its claims to lack a role that it proved"),
    Field("conceded", 1, "its challenged claims to lack a role that it didn't prove"),
    Field("challenges", 1, "its challenges"),
    Field("examined", 1, "its cards that were examined and handed back"),
    Field("swapped", 1, "its cards that were examined and replaced"),
    Field("hands_back", 1, "cards that it examined and handed back"),
    Field("force_swaps", 1, "cards that it examined and had replaced"),
)
_SECRET = (  # what one seat knows of each player
    Field("known", _ROLES, "cards of each role that it certainly holds"),
    Field("lacks", _ROLES, "1 for each role that it certainly doesn't hold"),
    Field("looked", _ROLES, "cards of each role in its hand that the observer examined"),
    Field("knows", _ROLES, "cards of each role in the observer's hand that it examined"),
)


def _find_starts(fields: Sequence[Field]) -> dict[str, int]:
    """Return the index of each field's first number."""
    sizes = [field.size for field in fields]
    return {field.name: sum(sizes[:index]) for index, field in enumerate(fields)}


_IN_HEAD, _IN_ROW, _IN_SECRET = _find_starts(_HEAD), _find_starts(_PLAYER), _find_starts(_SECRET)
_HEAD_SIZE, _OWN_SIZE, _ROW_SIZE, _SECRET_SIZE = (
    sum(field.size for field in fields) for fields in (_HEAD, _OWN, _PLAYER, _SECRET)
)
_ROWS_AT = _HEAD_SIZE + _OWN_SIZE
_INFLUENCE, _REVEALED, _SIDE = (_IN_ROW[name] for name in ("influence", "revealed", "side"))
_KNOWN, _LACKS, _LOOKED, _KNOWS = (_IN_SECRET[name] for name in ("known", "lacks", "looked", "knows"))


def fields(seats: int) -> list[Field]:
    """Return the fields of an observation in order; player 0 is the observer, others follow clockwise."""
    rows = [
        Field(f"player {step}: {field.name}", field.size, field.says)
        for group in (_PLAYER, _SECRET)
        for step in range(seats)
        for field in group
    ]
    return [*_HEAD, *_OWN, *rows]


def size(seats: int) -> int:
    """Return how many numbers an observation has with this number of seats."""
    return _HEAD_SIZE + _OWN_SIZE + seats * (_ROW_SIZE + _SECRET_SIZE)


def action_words(rules: Message, seats: int) -> tuple[str, ...]:
    """Return the word of every action by index: "wait", then all moves that can be legal, sorted.

    `rules` has the fields of `hello.ruleset`. Targets count clockwise from the agent: `steal:+1` is the next seat.
    """
    return ("wait", *sorted({*_moves(rules, seats)}))


def _moves(rules: Message, seats: int) -> Iterator[str]:
    """Yield the words of all moves that the rules allow to anyone."""
    inquisitor, reformation, roles = rules["inquisitor"], rules["reformation"], sorted(rules["deck"])
    yield from ("income", "foreign_aid", "tax", "exchange", "-", "!")
    attacks = ["coup", "assassinate", "steal"]
    if inquisitor:
        attacks.append("examine")
        yield from ("hand_back", "force_swap")
    if reformation:
        attacks.append("convert")
        yield from ("convert", "embezzle")
    yield from (f"{action}:+{step}" for action in attacks for step in range(1, seats))
    yield from (f"block:{role}" for role in roles if role != "assassin")
    yield from (f"lose:{role}" for role in roles)
    for count in (1, 2):
        yield from ("keep:" + "+".join(hand) for hand in combinations_with_replacement(roles, count))
    if rules["prove"] == "choose":
        yield from ("decline", *(f"show:{role}" for role in roles))
        if reformation:
            yield "show:all"
    if rules["shown_card"] == "may_keep":
        yield from ("keep_shown", "replace_shown")
    if inquisitor and rules["examine_pick"] == "target":
        yield from (f"reveal:{role}" for role in roles)
    if rules["draft"]:
        yield from (f"pick:{role}" for role in roles)
    if reformation and rules["allegiance_start"] == "starter_chooses":
        yield from (f"side:{side}" for side in SIDES)


class Watcher:
    """The events and boards of one game as numbers, from which each seat's array is made.

    Events have the attributes of `arena.coup`'s events; a value that is hidden from a seat is None. From a complete
    event, each seat's numbers use only what that seat may know. The numbers are in arrays, whose single elements are
    faster to read and write than numpy's. `roles`: sorted. `own`: a cache that later games of the rules may share.
    """

    __slots__ = (
        "_board",
        "_flags",
        "_head",
        "_head_place",
        "_known",
        "_own_place",
        "_role",
        "_roles",
        "_row_place",
        "_row_places",
        "_rows",
        "_seats",
        "_secret_place",
        "_secrets",
        "_twice",
        "own",
    )

    def __init__(self, roles: Sequence[str], seats: int, own: dict[Any, array[int]] | None = None) -> None:
        self._roles = tuple(roles)
        self._role = {role: place for place, role in enumerate(roles)}
        self._seats = tuple(range(0, seats * _ROW_SIZE, _ROW_SIZE))  # the start of each seat's row
        self._rows = array("h", bytes(2 * seats * _ROW_SIZE))
        self._flags: list[int] = []  # the places in the rows with a flag of the current board
        length = seats * _ROW_SIZE
        self._row_places = [slice(place, place + length) for place in self._seats]  # each seat's view, in `_twice`
        # The parts of an observation.
        self._head_place, self._own_place = slice(_HEAD_SIZE), slice(_HEAD_SIZE, _ROWS_AT)
        self._row_place, self._secret_place = slice(_ROWS_AT, _ROWS_AT + length), slice(_ROWS_AT + length, size(seats))
        self._known: list[Any] = [_NOTHING] * seats  # the certain facts in each seat's secrets
        self._board: Sequence[Any] = _NO_BOARD  # the board of head and rows
        self.own = {} if own is None else own  # counts of own cards
        self._head = _NO_HEAD
        self._twice = self._rows  # the rows twice, so that each seat's view is one slice
        self._secrets = [array("h", bytes(2 * seats * _SECRET_SIZE))] * seats  # each seat's facts about the others

    def add(self, events: Iterable[Any]) -> None:
        """Count what players claimed, showed, kept and examined."""
        for event in events:
            take = _TAKES.get(event.word)
            if take is not None:
                take(self, event)

    def fill(self, numbers: array[int], seat: int, piles: tuple[Any, ...], known: tuple[Any, Any]) -> None:
        """Write a seat's observation of the latest board into an array.

        `piles`: the seat's cards, drawn cards, discards, and the role of the card that it examines, or None.
        `known`: the facts that are certain for the seat, in the order of `CertainCards` of `arena.coup`.
        """
        if known is not self._known[seat]:
            self._store_certain_facts(seat, known)
        piles = (*piles, known[1])
        counts = self.own.get(piles)
        if counts is None:
            *hidden_piles, examined_role, deck = piles
            all_piles = (*hidden_piles, (examined_role,), deck)
            counts = self.own[piles] = array("h", [pile.count(role) for pile in all_piles for role in self._roles])
        numbers[self._head_place] = self._head
        numbers[self._own_place] = counts
        numbers[self._row_place] = self._twice[self._row_places[seat]]
        numbers[self._secret_place] = self._secrets[seat]

    def see(self, board: Sequence[Any], kind: str) -> None:
        """Store the numbers of a board, which `fill` writes for each seat. `kind`: of the request; empty without one.

        The board is a sequence of rules, turn, actor, deck, coins, influence, revealed, phase, sides, reserve. Coins,
        influence and sides that are the same objects as in the last board count as unchanged.
        """
        last_board, self._board = self._board, board
        _, turn, actor, deck, coins, influence, _, phase, sides, reserve = board  # faster than access by name
        _, _, _, _, last_coins, last_influence, _, _, last_sides, _ = last_board
        rows, seats = self._rows, self._seats
        if coins is not last_coins:
            for row, number in zip(seats, coins):  # noqa: B905 (Python 3.9); coins come first
                rows[row] = number
        if influence is not last_influence:
            rows[_INFLUENCE::_ROW_SIZE] = array("h", influence)
        if sides is not last_sides:
            for row, side in zip(seats, sides):  # noqa: B905 (it is empty before they are chosen)
                for index, allegiance in enumerate(SIDES):
                    rows[row + _SIDE + index] = side == allegiance
        for place in self._flags:
            rows[place] = 0
        self._flags = [seats[actor] + _ACTOR]
        self._head = head = _HEADS[kind][:]
        head[0] = turn
        head[1] = deck
        head[2] = reserve
        if kind in _PENDING:
            self._see_pending(phase, kind)
        for place in self._flags:
            rows[place] = 1
        self._twice = rows + rows

    def _see_pending(self, phase: Any, kind: str) -> None:
        """Store the pending action of a phase, and its claim or reason, in the head and the flags."""
        head, flags, seats, pending = self._head, self._flags, self._seats, phase.pending
        head[_ACTION[pending.action]] = 1
        if pending.target is not None:
            flags.append(seats[pending.target] + _TARGET)
        if kind in _CLAIMS:
            claim = phase.claim
            head[_CLAIM + self._role[claim.role]] = 1
            head[_DENIES] = claim.denies
            head[_BLOCKS] = claim.block
            flags.append(seats[claim.seat] + _CLAIMANT)
            if kind != "challenge":
                flags.append(seats[phase.challenger] + _CHALLENGER)
        elif kind == "block":
            head[_PROVEN] = phase.proven
        elif kind == "lose":
            head[_REASON[phase.reason]] = 1

    def _store_certain_facts(self, seat: int, known: tuple[Any, Any]) -> None:
        """Store the facts that are certain for a seat, as of `fill`, in a new array of its secrets."""
        self._known[seat] = known
        secret = self._secrets[seat] = self._secrets[seat][:]
        for start in range(_KNOWN, len(secret), _SECRET_SIZE):
            secret[start : start + 2 * _ROLES] = _NO_ROLES
        for opponent, has, lacks in known[0]:
            row = (opponent - seat) % len(self._seats) * _SECRET_SIZE
            for role in has:
                secret[row + _KNOWN + self._role[role]] += 1
            for role in lacks:
                secret[row + _LACKS + self._role[role]] = 1

    # --- events -------------------------------------------------------------------------------------------------------

    def _acted(self, event: Any) -> None:
        if event.denies:
            self._rows[self._seats[event.seat] + _DENIED] += 1
        elif event.claim is not None:
            self._claimed(event.seat, event.claim)

    def _claimed(self, seat: int, role: str) -> None:
        self._rows[self._seats[seat] + _CLAIMED + self._role[role]] += 1

    def _blocked(self, event: Any) -> None:
        self._claimed(event.seat, event.role)

    def _challenged(self, event: Any) -> None:
        self._rows[self._seats[event.seat] + _CHALLENGES] += 1

    def _unproven(self, event: Any) -> None:
        place = _CONCEDED if event.denies else _CAUGHT + self._role[event.role]
        self._rows[self._seats[event.seat] + place] += 1

    def _shown(self, event: Any) -> None:
        place = self._seats[event.seat] + self._role[event.role]
        self._rows[place + _SHOWN] += 1
        if not event.replaced:
            self._rows[place + _KEPT] += 1

    def _shown_hand(self, event: Any) -> None:
        self._rows[self._seats[event.seat] + _CLEARED] += 1

    def _lost(self, event: Any) -> None:
        self._rows[self._seats[event.seat] + _REVEALED + self._role[event.role]] += 1

    def _forfeited(self, event: Any) -> None:
        for role in event.roles:
            self._rows[self._seats[event.seat] + _REVEALED + self._role[role]] += 1

    def _examined(self, event: Any) -> None:
        seat, target, rows = event.seat, event.target, self._rows
        rows[self._seats[seat] + (_FORCE_SWAPS if event.replaced else _HANDS_BACK)] += 1
        rows[self._seats[target] + (_SWAPPED if event.replaced else _EXAMINED)] += 1
        if event.role is not None:
            role = self._role[event.role]
            self._note(seat, target, _LOOKED + role)
            self._note(target, seat, _KNOWS + role)

    def _note(self, knower: int, of: int, place: int) -> None:
        """Count a card that a seat has seen of another seat."""
        secret = self._secrets[knower] = self._secrets[knower][:]
        secret[(of - knower) % len(self._seats) * _SECRET_SIZE + place] += 1


_TAKES = {
    "action": Watcher._acted,
    "block": Watcher._blocked,
    "challenge": Watcher._challenged,
    "shown": Watcher._shown,
    "unproven": Watcher._unproven,
    "lost": Watcher._lost,
    "forfeit": Watcher._forfeited,
    "shown_hand": Watcher._shown_hand,
    "examined": Watcher._examined,
}
_NO_BOARD = (None,) * 10
_NOTHING = ((), ())  # is certain
_NO_ROLES = array("h", bytes(2 * 2 * _ROLES))
_NO_HEAD = array("h", bytes(2 * _HEAD_SIZE))
_HEADS = {
    kind: array("h", [int(place == _IN_HEAD["kind"] + each) for place in range(_HEAD_SIZE)])
    for each, kind in enumerate(KINDS)
}
_HEADS[""] = _NO_HEAD
_PENDING = frozenset(KINDS) - {"turn", "draft", "allegiance"}
_CLAIMS = frozenset(("challenge", "prove", "keep_shown"))
_ACTION = {action: _IN_HEAD["action"] + place for place, action in enumerate(ACTIONS)}
_REASON = {reason: _IN_HEAD["reason"] + place for place, reason in enumerate(REASONS)}
_CLAIM, _DENIES, _BLOCKS, _PROVEN = (_IN_HEAD[name] for name in ("claim", "denies", "blocks", "proven"))
_ACTOR, _TARGET, _CLAIMANT, _CHALLENGER = (_IN_ROW[name] for name in ("actor", "target", "claimant", "challenger"))
_CLAIMED, _SHOWN, _KEPT, _CAUGHT = (_IN_ROW[name] for name in ("claimed", "shown", "kept", "caught"))
_DENIED, _CLEARED, _CONCEDED, _CHALLENGES = (_IN_ROW[name] for name in ("denied", "cleared", "conceded", "challenges"))
_EXAMINED, _SWAPPED, _HANDS_BACK, _FORCE_SWAPS = (
    _IN_ROW[name] for name in ("examined", "swapped", "hands_back", "force_swaps")
)


# --- lines ------------------------------------------------------------------------------------------------------------


class Encoder:
    """An encoder of the messages to one seat. `hello`: the referee's first message, as a dict.

    After a request `observation` is an array of int16 with `size(seats)` numbers, and `mask` a bytearray with a 1 for
    each legal action. `actions` has the action of each element of `legal`, in order; None for an unknown action.
    """

    def __init__(self, hello: Message) -> None:
        rules = hello["ruleset"]
        self.seats: int = rules["seats"]
        self.roles = sorted(rules["deck"])
        self.words = action_words(rules, self.seats)
        self.observation = array("h")
        self.mask = bytearray()
        self.actions: list[int | None] = []
        self._index = {word: action for action, word in enumerate(self.words)}
        self._own: dict[Any, array[int]] = {}
        self._watcher = Watcher(self.roles, self.seats, self._own)

    def take(self, message: Message) -> bool:
        """Process the referee's next message; return whether it is a request.

        A request sets `observation`, `actions` (of each legal move, None for one without a word) and `mask`.
        """
        message_type = message["type"]
        if message_type == "game_start":
            self._watcher = Watcher(self.roles, self.seats, self._own)
        if message_type != "request":
            return False
        watcher, you = self._watcher, message["you"]
        watcher.add(map(_event, message["events"]))
        kind = message["kind"]
        watcher.see(_board(message), kind if kind in _HEADS else "")
        piles = (tuple(you["cards"]), tuple(you.get("drawn", ())), tuple(you.get("discards", ())), you.get("seen"))
        self.observation = array("h", bytes(2 * size(self.seats)))
        watcher.fill(self.observation, you["seat"], piles, _certain(you.get("known", {})))
        self.actions = [self._index.get(self._word(move, you["seat"])) for move in message["legal"]]
        self.mask = bytearray(len(self.words))
        for action in self.actions:
            if action is not None:
                self.mask[action] = 1
        return True

    def _word(self, move: Message, seat: int) -> str:
        """Return the word of a move in `legal`."""
        if "action" in move:
            step = f":+{(move['target'] - seat) % self.seats}" if "target" in move else ""
            return f"{move['action']}{step}"
        name, value = next(iter(move.items()))
        word = f"{name}:{value}"
        return "keep:" + "+".join(sorted(value)) if name == "keep" else _SINGLE.get(word, word)


_SINGLE = {
    "pass:True": "-",
    "challenge:True": "!",
    "decline:True": "decline",
    "keep_shown:True": "keep_shown",
    "keep_shown:False": "replace_shown",
    "examined:hand_back": "hand_back",
    "examined:force_swap": "force_swap",
}
_ABSENT = {"target": None, "claim": None, "role": None, "replaced": True, "denies": False}


def _event(message: Message) -> SimpleNamespace:
    """Return an event of a message with the attributes of `arena.coup`'s events."""
    converted = {**_role(message, "claim"), **_role(message, "role"), "word": message["event"]}
    return SimpleNamespace(**{**_ABSENT, **message, **converted})


def _role(message: Message, name: str) -> Message:
    """Return a claimed role, and whether the claim denies it."""
    role = message.get(name)
    if role is None or not role.startswith("not_"):
        return {}
    return {name: role[len("not_") :], "denies": True}


def _certain(certain: Message) -> tuple[Any, Any]:
    """Return `you.known` of a request in the order of `CertainCards` of `arena.coup`."""
    players = [
        (player["seat"], player.get("has", ()), player.get("lacks", ())) for player in certain.get("players", ())
    ]
    return players, tuple(certain.get("deck", ()))


def _board(request: Message) -> tuple[Any, ...]:
    """Return the board of a request in the order of `arena.coup`'s board."""
    state = request["state"]
    players = state["players"]
    claim = request.get("claim")
    phase = SimpleNamespace(
        pending=SimpleNamespace(**{"target": None, **request.get("pending", {})}),
        claim=None if claim is None else SimpleNamespace(**{"denies": False, **claim, **_role(claim, "role")}),
        challenger=request.get("challenger"),
        proven=request.get("proven"),
        reason=request.get("reason"),
    )
    coins, influence = ([player[name] for player in players] for name in ("coins", "influence"))
    sides = [player["allegiance"] for player in players if "allegiance" in player]
    reserve = state.get("reserve", 0)
    return None, state["turn"], state["actor"], state["deck"], coins, influence, None, phase, sides, reserve


# --- policies ---------------------------------------------------------------------------------------------------------

_NUMPY_FROM = 20_000  # weights; with fewer, the import takes more time than it saves in a match
_TIE = 1e-6  # a smaller difference is a tie, since libraries add in different orders


class Policy:
    """A network of dense layers: it computes the scores of all actions from an observation.

    `layers`: pairs of weights, with a row for each output, and biases. `activation`: "tanh", "relu" or "none", between
    the layers and not after the last. `numpy`: whether to use numpy, if it can be imported; None: for many weights.
    The constructor raises ValueError for another activation, or layers of wrong shapes.
    """

    def __init__(self, layers: Sequence[Any], activation: str = "tanh", numpy: bool | None = None) -> None:
        if activation not in ACTIVATIONS:
            raise ValueError(f"there is no activation {activation!r}; there are: {', '.join(ACTIVATIONS)}")
        self.activation = activation
        self._np = None
        if numpy or (numpy is None and sum(len(row) for rows, _ in layers for row in rows) >= _NUMPY_FROM):
            self._np = _numpy()
        if not len(layers) or not len(layers[0][0]):
            raise ValueError("a policy needs a layer with an output")
        self.inputs = self.outputs = len(layers[0][0][0])
        for rows, bias in layers:
            if {*map(len, rows)} != {self.outputs} or len(rows) != len(bias):
                raise ValueError(f"a layer needs {self.outputs} weights and a bias for each of its {len(rows)} outputs")
            self.outputs = len(bias)
        self._layers: list[Any] = list(layers)
        if self._np is not None:
            self._layers = [(self._np.array(rows, float), self._np.array(bias, float)) for rows, bias in layers]

    def scores(self, observation: Sequence[int]) -> list[float]:
        """Return the score of each action, by index, for one observation; a higher score is better."""
        values: Any = observation if self._np is None else self._np.array(observation, float)
        for place, (rows, bias) in enumerate(self._layers):
            if place and self.activation != "none":
                values = self._activated(values)
            if self._np is None:
                values = [sum(map(mul, row, values)) + add for row, add in zip(rows, bias)]  # noqa: B905
            else:
                values = rows @ values + bias
        return [float(value) for value in values]

    def _activated(self, values: Any) -> Any:
        if self._np is not None:
            return self._np.tanh(values) if self.activation == "tanh" else self._np.maximum(values, 0)
        return [tanh(value) if self.activation == "tanh" else max(value, 0.0) for value in values]

    def best(self, observation: Sequence[int], actions: Iterable[int]) -> int:
        """Return the action with the highest score among `actions`; ties go to the lowest index."""
        scores = self.scores(observation)
        legal = sorted(actions)
        top = max(scores[action] for action in legal)
        return next(action for action in legal if scores[action] >= top - _TIE * (1 + abs(top)))

    def drawn(self, observation: Sequence[int], actions: Iterable[int], chance: float) -> int:
        """Return one of `actions`, drawn by the softmax of their scores; `chance` is a random number in [0, 1)."""
        scores = self.scores(observation)
        legal = sorted(actions)
        top = max(scores[action] for action in legal)
        weights = [exp(scores[action] - top) for action in legal]
        remaining = chance * sum(weights)
        for action, weight in zip(legal, weights):  # noqa: B905
            remaining -= weight
            if remaining < 0:
                return action
        return legal[-1]


ACTIVATIONS = ("tanh", "relu", "none")


def _numpy() -> Any:
    """Return numpy, or None if it can't be imported."""
    os.environ.setdefault("OPENBLAS_NUM_THREADS", "1")  # a box has few cores and counts threads
    try:
        import numpy
    except Exception:  # a sandbox may lack anything that it needs
        return None
    return numpy


class Player:
    """A trained policy that plays. `weights`: a file written by `save_bot` of `arena.env`.

    The constructor raises OSError if the file can't be read, and ValueError if it is for another encoding.
    """

    def __init__(self, weights: str | os.PathLike[str]) -> None:
        import json

        with open(weights, encoding="utf-8") as file:
            self._trained = trained = json.load(file)
        if trained["encoding"] != ENCODING:
            raise ValueError(
                f"{weights} was trained with encoding {trained['encoding']}, and this coup_env.py has {ENCODING}: "
                "copy the coup_env.py of the arena that you trained with, or train again"
            )
        self.policy = Policy([(layer["weights"], layer["bias"]) for layer in trained["layers"]], trained["activation"])
        self.encoder: Encoder | None = None
        self._random: Any = None

    def choice(self, message: Message) -> int | None:
        """Process each message of the referee once, in order; return the index of a move in `legal`.

        None if the message isn't a request, the policy was trained for other rules or seats, or it knows no legal move.
        """
        if message["type"] == "hello":
            self.encoder = self._new_encoder(message)
        if message["type"] == "game_start" and self._trained["choice"] == "drawn":
            from random import Random

            self._random = Random(message.get("game_seed"))
        encoder = self.encoder
        if encoder is None or not encoder.take(message):
            return None
        actions = [action for action in encoder.actions if action is not None]
        if not actions:
            return None
        if self._random is None:
            action = self.policy.best(encoder.observation, actions)
        else:
            action = self.policy.drawn(encoder.observation, actions, self._random.random())
        return encoder.actions.index(action)

    def _new_encoder(self, hello: Message) -> Encoder | None:
        """Return the encoder of a match; None, with a note on standard error, if the policy isn't for its table."""
        encoder = Encoder(hello)
        if list(encoder.words) == self._trained["actions"] and size(encoder.seats) == self.policy.inputs:
            return encoder
        print("coup_env: the policy was trained for other rules or seats", file=sys.stderr, flush=True)
        return None
