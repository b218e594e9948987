"""Encode the messages of `messages`, and errors, as lines.

A request is joined from cached fragments: parts that all seats of a phase share, and events, states and hands that
recur. Encoding them each time took two thirds of the referee's time. A test compares every line with its message.
"""

import hashlib
import json
from collections.abc import Sequence
from functools import lru_cache
from itertools import repeat

from arena.coup import Allegiance, Board, CertainCards, Event, Move, Phase, Role, View
from arena.referee import messages
from arena.referee.faults import FAULTS
from arena.referee.messages import SerializationCache
from arena.referee.move_payloads import LegalMoves, move_payload
from protocol import encode, escape_bytes

MAX_ECHO_BYTES = 200  # of a faulty line, sent back to its bot
MATCH_OVER = encode({"type": "match_over"})
_encode_json = json.JSONEncoder(separators=(",", ":"), ensure_ascii=False).encode


def encode_game_start(view: View, game: int, seed: str, players: Sequence[str]) -> bytes:
    """Return the line that opens a game for one seat.

    seed: 32 hex digits for the bot's randomness. players: the handles by seat.
    """
    head = f'{{"type":"game_start","game":{game},"game_seed":"{seed}","seat":{view.seat}'
    you, state = _encode_own_view(*view[1:]), _encode_state(view.board)
    return f'{head},"players":{_players_of_game(tuple(players))},"you":{you},"state":{state}}}\n'.encode()


@lru_cache(maxsize=100)
def _players_of_game(handles: tuple[str, ...]) -> str:
    return _encode_json(handles)


def encode_game_over(game: int, board: Board, events: Sequence[str]) -> bytes:
    """Return the line that ends a game, with the encoded events that the seat hasn't received."""
    head, state = _ENDINGS.get(board.phase, game), _encode_state(board)
    return f'{head},"events":[{",".join(events)}],"state":{state}}}\n'.encode()


class PhaseRequests:
    """The requests of one phase; parts that are the same for all asked seats are encoded once."""

    __slots__ = ("_head", "_middle", "_tail")

    def __init__(self, board: Board, game: int) -> None:
        self._head = f',"kind":"{messages.KINDS[type(board.phase)]}","game":{game},"events":['
        self._middle = f'],"state":{_encode_state(board)},"you":'
        self._tail = f'{_KIND_FIELDS.get(board.phase, board.actor)},"legal":'

    def line(
        self,
        view: View,
        certain: CertainCards,
        number: int,
        events: Sequence[str],
        legal: LegalMoves,
        limit_ms: int,
        bank_ms: int,
    ) -> bytes:
        """Return the request line of one seat, for which `messages.make_request` has the same parameters.

        `events`: encoded.
        """
        _, seat, cards, drawn, discards, examined_role = view
        you = _encode_own_view(seat, cards, drawn, discards, examined_role)
        if certain.players or certain.deck:
            you = f'{you[:-1]},"known":{_encode_known(certain)}}}'
        return (
            f'{{"type":"request","id":{number}{self._head}{",".join(events)}{self._middle}{you}'
            f'{self._tail}{legal.json},"clock":{{"limit_ms":{limit_ms},"bank_ms":{bank_ms}}}}}\n'
        ).encode()


def _encode_kind_fields(phase: Phase, actor: int) -> str:
    text = _encode_json(messages.make_kind_fields(actor, phase))[1:-1]
    return f",{text}" if text else ""


def _encode_unnumbered(happened: Event) -> str:
    return _encode_json(messages.make_unnumbered_event(happened))[1:]


def _encode_ending(phase: Phase, game: int) -> str:
    return _encode_json(messages.make_ending(game, phase))[:-1]


_KIND_FIELDS = SerializationCache(_encode_kind_fields)
_EVENTS, _ENDINGS = SerializationCache(_encode_unnumbered), SerializationCache(_encode_ending)


def _encode_state(board: Board) -> str:
    reserve = f',"reserve":{board.reserve}' if board.rules.reformation else ""
    players = _encode_players(board.coins, board.influence, board.revealed, board.sides)
    return f'{{"turn":{board.turn},"actor":{board.actor},"deck":{board.deck}{reserve},"players":{players}}}'


@lru_cache(maxsize=1000)  # half of all steps change neither coins nor cards
def _encode_players(
    coins: tuple[int, ...],
    influence: tuple[int, ...],
    revealed: tuple[tuple[Role, ...], ...],
    sides: tuple[Allegiance, ...],
) -> str:
    rows = map(_encode_player, coins, influence, revealed, sides or repeat(None))
    return f"[{','.join(rows)}]"


@lru_cache(maxsize=10_000)
def _encode_player(coins: int, influence: int, revealed: tuple[Role, ...], side: Allegiance | None) -> str:
    sides = () if side is None else (side,)
    return _encode_json(messages.make_players((coins,), (influence,), (revealed,), sides)[0])


@lru_cache(maxsize=10_000)
def _encode_own_view(
    seat: int, cards: tuple[Role, ...], drawn: tuple[Role, ...], discards: tuple[Role, ...], seen: Role | None
) -> str:
    return _encode_json(messages.make_own_view(seat, cards, drawn, discards, seen))


@lru_cache(maxsize=10_000)
def _encode_known(certain: CertainCards) -> str:
    return _encode_json(messages.make_certain_knowledge(certain))


def encode_event(number: int, happened: Event) -> str:
    """Return an event with its private parts. For a seat, pass it through `event_for_seat` first."""
    return f'{{"n":{number},{_EVENTS.get(happened)}'


class LineCursor(messages.EventCursor[str]):
    """The events of one game as texts."""

    __slots__ = ()

    def __init__(self, seats: int) -> None:
        super().__init__(seats, encode_event)

    def digest(self) -> str:
        """Return the SHA-256, 64 hex digits, of all events with their private parts, in order, joined by newlines."""
        texts = list(self._public)
        for number, happened in self._private.items():
            texts[number] = encode_event(number, happened)
        return hashlib.sha256("\n".join(texts).encode()).hexdigest()


def encode_error(number: int, code: str, detail: str | None, got: bytes | None, used: Move | None, lives: int) -> bytes:
    """Return the error line for the faulty reply to request `number`, with the fault's code and detail.

    got: the faulty line, None if none came. used: the move played instead, None if none was. lives: those left.
    """
    rule = FAULTS[code]
    message = rule.message if detail is None else f"{rule.message}: {detail}"
    return encode(
        {
            "type": "error",
            "id": number,
            "code": code,
            "message": f"{message}; {rule.help}",
            "got": None if got is None else escape_bytes(got, MAX_ECHO_BYTES),
            "used": None if used is None else move_payload(used),
            "lives": lives,
        }
    )
