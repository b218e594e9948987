"""Convert views and events of the engine to messages of the protocol, as dicts. No other module does this.

`wire` encodes messages as lines; bots in this process receive the dicts. Each message is a function of a View and of
events that passed `event_for_seat`, so hidden facts can't reach a seat. Every dict and list is made for one seat: a
bot that changes it affects no other seat. A test checks every message against the models of `protocol`.

An event cursor has the events of one game in serialized form, and the first event that each seat hasn't received yet.

For speed, serialized events and phases are cached by a flat tuple of their fields, since hashing and comparing
dataclasses takes longer than all other work on them. Enumerations are read by `_value_`, which takes a quarter of the
time of `value`."""

from collections.abc import Callable, Container, Hashable, Sequence
from dataclasses import MISSING, fields
from enum import StrEnum
from functools import lru_cache
from operator import attrgetter
from typing import Any, Generic, TypeVar, get_args

from arena.coup import (
    FIELDS,
    PRIVATE,
    Action,
    ActionMove,
    Allegiance,
    BlockWindow,
    Board,
    CertainCards,
    ChallengeWindow,
    ChoosingSide,
    Claim,
    DecidingKeepShown,
    Drafting,
    Event,
    Examining,
    Exchanging,
    Knowledge,
    Losing,
    Over,
    Phase,
    Proving,
    Revealing,
    Role,
    Ruleset,
    Turn,
    View,
    concerning,
    event_for_seat,
    list_private_seats,
    to_json_value,
)
from arena.referee.move_payloads import LegalMoves

Form = TypeVar("Form")  # the serialized form: text for the wire, a dict for bots in this process


class EventCursor(Generic[Form]):
    """A cursor that returns each event of a game to each seat once, as `form(number, event as the seat sees it)`."""

    __slots__ = (
        "_concerning",
        "_form",
        "_knowledge",
        "_known",
        "_pending",
        "_private",
        "_public",
        "_seat_forms",
        "_taken",
    )

    def __init__(self, seats: int, form: Callable[[int, Event], Form]) -> None:
        self._form = form
        self._public: list[Form] = []  # all events, as every seat sees them
        self._private: dict[int, Event] = {}  # by number, events with private parts
        # Each seat's form of private events that it hasn't received yet, by number.
        self._seat_forms: list[dict[int, Form]] = [{} for _ in range(seats)]
        self._taken = [0] * seats  # the number of events that each seat has received
        self._knowledge: list[Knowledge | None] = [None] * seats
        self._known = [CertainCards()] * seats
        self._concerning: Container[type[Event]] = get_args(Event)  # all kinds, until the rules are known
        self._pending: list[list[Event]] = [[] for _ in range(seats)]  # events that a seat's Knowledge hasn't received

    @property
    def count(self) -> int:
        """The number of events so far."""
        return len(self._public)

    def add(self, events: Sequence[Event]) -> None:
        """Add new events for all seats. Of an event with hidden parts, each seat gets the copy that it may see."""
        form, public = self._form, self._public
        for number, event in enumerate(events, start=len(public)):
            if type(event) not in PRIVATE:
                public.append(form(number, event))
                if type(event) in self._concerning:
                    for queue in self._pending:
                        queue.append(event)
                continue
            public_copy = event_for_seat(event, None)
            public.append(form(number, public_copy))
            self._private[number] = event
            for queue in self._pending:
                queue.append(public_copy)
            for seat in list_private_seats(event):
                self._pending[seat][-1] = seat_copy = event_for_seat(event, seat)
                self._seat_forms[seat][number] = form(number, seat_copy)

    def known(self, view: View) -> CertainCards:
        """Return the cards that a seat knows for certain. Call it once for each of the seat's requests."""
        seat = view.seat
        knowledge, events = self._knowledge[seat], self._pending[seat]
        if knowledge is None:
            knowledge = self._knowledge[seat] = Knowledge(view)
            self._concerning = concerning(view.board.rules)
        if events or view.drawn or view.seen is not None:
            self._known[seat] = knowledge.update(view, events)
            events.clear()
        return self._known[seat]

    def take(self, seat: int) -> list[Form]:
        """Return the events that the seat hasn't received, and count them as sent."""
        first_number = self._taken[seat]
        self._taken[seat] = len(self._public)
        events = self._public[first_number:]
        seat_forms = self._seat_forms[seat]
        if seat_forms:
            for number, event in seat_forms.items():
                events[number - first_number] = event
            seat_forms.clear()
        return events


def _make_key_reader(kind: type[Any]) -> Callable[[Any], Hashable]:
    """Return a function that returns the class of an event or phase and all fields that a message may contain."""
    names = []
    for field in fields(kind):
        if field.type in (ActionMove, Claim):
            names += [f"{field.name}.{inner_field.name}" for inner_field in fields(field.type)]
        elif field.name not in ("asked", "after_loss", "failed_challenge"):
            names.append(field.name)
    return attrgetter("__class__", *names)


_KEY_READERS = {kind: _make_key_reader(kind) for kind in get_args(Event | Phase)}


class SerializationCache(Generic[Form]):
    """A cache of `make(event or phase, *numbers)`. Its values must not be changed."""

    __slots__ = ("_forms", "_make")

    def __init__(self, make: Callable[..., Form]) -> None:
        self._forms: dict[Hashable, Form] = {}
        self._make = make

    def get(self, value: Event | Phase, *numbers: int) -> Form:
        """Return `make(value, *numbers)`, from the cache if it is there."""
        key = (_KEY_READERS[type(value)](value), numbers)
        form = self._forms.get(key)
        if form is None:
            if len(self._forms) >= 10_000:  # a few MB of texts
                self._forms.clear()
            form = self._forms[key] = self._make(value, *numbers)
        return form


Message = dict[str, Any]

# The kind of request in each phase.
KINDS: dict[type[Any], str] = {
    Turn: "turn",
    ChallengeWindow: "challenge",
    BlockWindow: "block",
    Proving: "prove",
    Losing: "lose",
    Exchanging: "exchange",
    DecidingKeepShown: "keep_shown",
    Revealing: "examine_show",
    Examining: "examine_decide",
    Drafting: "draft",
    ChoosingSide: "allegiance",
}

# The order of the first fields of a ruleset; the other fields follow in the order of FIELDS.
_RULES_FIRST = (
    *("name", "seats", "deck", "start_coins", "two_player_starter_coins"),
    *("coup_cost", "assassinate_cost", "forced_coup", "turn_limit"),
)
_NOT_SENT = ("min_seats", "max_seats")  # a bot needs only the number of seats of its table


def make_ruleset(rules: Ruleset, seats: int) -> Message:
    """Return the ruleset of the hello line: its fields, and values derived from them for this number of seats."""
    copies = rules.copies(seats)
    values: Message = {
        rule.name: to_json_value(rule.effective(rules, seats)) for rule in FIELDS if rule.name not in _NOT_SENT
    }
    values |= {
        "seats": seats,
        "deck": {role.value: copies for role in sorted(rules.roles)},
        "coup_cost": rules.rule(Action.COUP, targeted=True).cost,
        "assassinate_cost": rules.rule(Action.ASSASSINATE, targeted=True).cost,
    }
    return {name: values[name] for name in dict.fromkeys((*_RULES_FIRST, *values))}


def make_game_start(view: View, game: int, seed: str, players: Sequence[str]) -> Message:
    """Return the message that opens a game for one seat; `seed` is for the bot's randomness."""
    return {
        "type": "game_start",
        "game": game,
        "game_seed": seed,
        "seat": view.seat,
        "players": list(players),
        "you": make_own_view(*view[1:]),
        "state": make_public_state(view.board),
    }


def make_request(
    view: View,
    certain: CertainCards,
    game: int,
    number: int,
    events: list[Message],
    legal: LegalMoves,
    limit_ms: int,
    bank_ms: int,
) -> Message:
    """Return the request to one seat, with the id `number`.

    certain: what the seat knows for certain. events: new to the seat; they become part of the request.
    limit_ms, bank_ms: the free time for the request, and the rest of the bank.
    """
    board, you = view.board, make_own_view(*view[1:])
    if certain.players or certain.deck:
        you["known"] = make_certain_knowledge(certain)
    return {
        "type": "request",
        "id": number,
        "kind": KINDS[type(board.phase)],
        "game": game,
        "events": events,
        "state": make_public_state(board),
        "you": you,
        **make_kind_fields(board.actor, board.phase),
        "legal": legal.payloads(),
        "clock": {"limit_ms": limit_ms, "bank_ms": bank_ms},
    }


def make_moment(
    game: int,
    players: Sequence[str],
    board: Board,
    view: View | None,
    certain: CertainCards,
    first: int,
    events: Sequence[Event],
) -> Message:
    """Return a message with the newest events, numbered from `first`, as a seat or a spectator (`view` None) sees them.

    certain: what the seat knows for certain. The message is for people who follow a live game, not for bots.
    """
    seat = None if view is None else view.seat
    message: Message = {
        "type": "moment",
        "game": game,
        "players": list(players),
        "events": [make_event(number, happened, seat) for number, happened in enumerate(events, start=first)],
        "state": make_public_state(board),
    }
    if view is not None:
        message["you"] = make_own_view(*view[1:])
        if certain.players or certain.deck:
            message["you"]["known"] = make_certain_knowledge(certain)
    return message


def make_game_over(game: int, board: Board, events: list[Message]) -> Message:
    """Return the message that ends a game, with the events that the seat hasn't received, and the final state."""
    return {**make_ending(game, board.phase), "events": events, "state": make_public_state(board)}


def make_ending(game: int, over: Phase) -> Message:
    """Return the message that ends a game, without events and state."""
    assert isinstance(over, Over)
    return {
        "type": "game_over",
        "game": game,
        "winner": over.winner,
        "reason": over.ending.value,
        "survivors": list(over.survivors),
    }


# ---------------------------------------------------------------- events


# Event class -> (field, values at which messages omit it) of its fields in messages.
_FIELDS = {
    kind: [
        (field.name, (None,) if field.default is MISSING else (None, field.default))
        for field in fields(kind)
        if field.name not in ("seat", "denies")
    ]
    for kind in get_args(Event)
}


def make_event(number: int, happened: Event, seat: int | None) -> Message:
    """Return the event, the game's `number`th from 0, as the seat sees it (None: a spectator)."""
    return _copy_message(_number_event(number, event_for_seat(happened, seat)))


def make_full_event(number: int, happened: Event) -> Message:
    """Return an event with its private parts. For a seat, pass it through `event_for_seat` first."""
    return _copy_message(_number_event(number, happened))


def make_unnumbered_event(happened: Event) -> Message:
    """Return an event with its private parts, without its number."""
    message: Message = {"event": happened.word, "seat": happened.seat}
    for name, omitted_values in _FIELDS[type(happened)]:
        value = getattr(happened, name)
        if value not in omitted_values:
            message[name] = _json_value(value)
    if getattr(happened, "denies", False):
        claim_field = "claim" if "claim" in message else "role"
        message[claim_field] = _claimed(message[claim_field], denies=True)
    return message


def _json_value(value: Any) -> Any:
    if isinstance(value, tuple):
        return [member._value_ for member in value]
    return value._value_ if isinstance(value, StrEnum) else value


_UNNUMBERED = SerializationCache(make_unnumbered_event)


def _number_event(number: int, happened: Event) -> Message:
    return {"n": number, **_UNNUMBERED.get(happened)}


def _copy_message(message: Message) -> Message:
    """Return a copy of a message and its lists."""
    return {name: [*value] if type(value) is list else value for name, value in message.items()}


_WITH_LISTS = frozenset(
    kind.word for kind in get_args(Event) if any("tuple" in str(field.type) for field in fields(kind))
)


class MessageCursor(EventCursor[Message]):
    """The events of one game as dicts."""

    __slots__ = ()

    def __init__(self, seats: int) -> None:
        super().__init__(seats, _number_event)

    def take(self, seat: int) -> list[Message]:
        """Return the events that the seat hasn't received, as dicts that the caller may change."""
        events = super().take(seat)
        return [_copy_message(message) if message["event"] in _WITH_LISTS else message.copy() for message in events]


# ---------------------------------------------------------------- the parts of a request


def make_kind_fields(actor: int, phase: Phase) -> Message:
    """Return the fields that are specific to the present kind of request. Raises ValueError after the game."""
    match phase:  # by class only: positional patterns take four times as long as reading the fields
        case ChallengeWindow():
            return {"pending": _pending(actor, phase.pending), "claim": _claim(phase.claim)}
        case Turn() | Drafting() | ChoosingSide():
            return {}
        case BlockWindow():
            return {"pending": _pending(actor, phase.pending), "proven": phase.proven}
        case Proving() | DecidingKeepShown():
            pending, claim = _pending(actor, phase.pending), _claim(phase.claim)
            return {"pending": pending, "claim": claim, "challenger": phase.challenger}
        case Losing():
            return {"pending": _pending(actor, phase.pending), "reason": phase.reason._value_}
        case Exchanging() | Revealing() | Examining():
            return {"pending": _pending(actor, phase.pending)}
        case Over():
            raise ValueError("nothing is asked when the game is over")


def _pending(actor: int, pending: ActionMove) -> Message:
    target = {} if pending.target is None else {"target": pending.target}
    return {"actor": actor, "action": pending.action._value_, **target}


def _claim(claim: Claim) -> Message:
    return {"seat": claim.seat, "role": _claimed(claim.role._value_, claim.denies), "block": claim.block}


def _claimed(role: str, denies: bool) -> str:
    """Return a claim as "duke" or, for a claim to have no Duke, "not_duke": bots might ignore a separate flag."""
    return f"not_{role}" if denies else role


def make_public_state(board: Board) -> Message:
    """Return the public state of a game as the field `state` of messages has it."""
    message: Message = {"turn": board.turn, "actor": board.actor, "deck": board.deck}
    if board.rules.reformation:
        message["reserve"] = board.reserve
    message["players"] = make_players(board.coins, board.influence, board.revealed, board.sides)
    return message


def make_players(
    coins: tuple[int, ...],
    influence: tuple[int, ...],
    revealed: tuple[tuple[Role, ...], ...],
    sides: tuple[Allegiance, ...],
) -> list[Message]:
    """Return the public state of each player, in order of seats."""
    rows: list[Message] = [
        {"coins": player_coins, "influence": cards, "revealed": [*_values(roles)] if roles else []}
        for player_coins, cards, roles in zip(coins, influence, revealed, strict=True)
    ]
    for row, side in zip(rows, sides, strict=False):  # empty before they are chosen
        row["allegiance"] = side._value_
    return rows


def make_own_view(
    seat: int, cards: tuple[Role, ...], drawn: tuple[Role, ...], discards: tuple[Role, ...], examined_role: Role | None
) -> Message:
    """Return the private state of a seat: the fields of its view, without the board; empty fields are omitted."""
    message: Message = {"seat": seat, "cards": _roles(cards)}
    if drawn:
        message["drawn"] = _roles(drawn)
    if discards:
        message["discards"] = _roles(discards)
    if examined_role is not None:
        message["seen"] = examined_role._value_
    return message


def make_certain_knowledge(certain: CertainCards) -> Message:
    """Return the cards that a seat knows for certain; empty fields are omitted."""
    message: Message = {}
    players: list[Message] = []
    for player in certain.players:
        facts: Message = {"seat": player.seat}
        if player.has:
            facts["has"] = _roles(player.has)
        if player.lacks:
            facts["lacks"] = _roles(player.lacks)
        players.append(facts)
    if players:
        message["players"] = players
    if certain.deck:
        message["deck"] = _roles(certain.deck)
    return message


def _roles(roles: tuple[Role, ...]) -> list[str]:
    return [*_values(roles)] if roles else []


@lru_cache(maxsize=10_000)
def _values(roles: tuple[Role, ...]) -> tuple[str, ...]:
    return tuple(role._value_ for role in roles)
