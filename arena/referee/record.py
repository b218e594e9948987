"""Write and read the record of a match, and replay it through the engine.

A record is JSONL: a header, one line per game, and an end line whose checksum covers all other lines, without times.
It contains facts that can't be recomputed (match settings, key, seats, moves, faults, times), facts by which
`verify_record` detects a changed engine (result, number of events and their digest), and facts for readers without an
engine: the seat of each move (`by`), the start of the game (`start`), and drawn cards (`draws`, see game_recorder.py).
The moves of a game are one string, in notation, in the order of the requests; `said` has the statements made with them,
if any. Times (`times_us`, one per move, by the match's clock) are ignored by all comparisons. Format:
docs/reference/records.md.

Version 3 lacks `by`, `start` and `draws`; `read_record` computes them by a replay.
"""

import hashlib
import json
from collections import Counter
from collections.abc import Iterator, Sequence
from dataclasses import asdict, dataclass, field, replace
from typing import Any

from arena.coup import (
    FORFEIT,
    Allegiance,
    Event,
    GameEnding,
    IllegalMoveError,
    KeyedRng,
    MoveOrForfeit,
    Role,
    State,
    StatementMade,
    apply_moves,
    deal_game,
    draw_number,
    first_seat,
    format_move,
    list_legal_moves,
    parse_move,
    permute,
    view_from_seat,
)
from arena.referee.faults import FAULTS, Fault
from arena.referee.game_record import GameRecord, default_move, find_fault_problems
from arena.referee.game_recorder import GameRecorder
from arena.referee.settings import MatchSettings, Timing
from arena.referee.table_talk import (
    SayError,
    list_statements,
    read_recorded_statements,
    require_sayable,
    statement_payload,
)

VERSION = 4
READABLE_VERSIONS = (3, 4)
_TIMES = "times_us"  # the field that comparisons ignore
_ROLES, _SIDES = frozenset(role.value for role in Role), frozenset(side.value for side in Allegiance)
_ENDINGS = frozenset(ending.value for ending in GameEnding)


class RecordError(Exception):
    """A record can't be read, or its replay gives another game. The message is one line."""


@dataclass(frozen=True, slots=True)
class MatchHeader:
    """Facts about all games of a match. `timings`: each bot's timing, if they differed from `settings.timing`.

    `digests`: of the bots' files; only in records of runs.
    """

    match: int
    key: bytes
    bots: tuple[str, ...]
    handles: tuple[str, ...]
    settings: MatchSettings = field(default_factory=MatchSettings)
    timings: tuple[Timing, ...] = ()
    digests: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True)
class Record:
    """A complete match, played or read."""

    header: MatchHeader
    games: tuple[GameRecord, ...]


# ---------------------------------------------------------------- write and read


def write_record(record: Record) -> str:
    """Return the record as lines of JSON: the header, a line for each game, and a last one with the lines' SHA-256."""
    header, games = record.header, record.games
    lines = [
        {
            "record": VERSION,
            "match": header.match,
            "key": header.key.hex(),
            "bots": header.bots,
            "handles": header.handles,
            "terms": header.settings.to_json(),
            **({"timings": [asdict(timing) for timing in header.timings]} if header.timings else {}),
            **({"digests": header.digests} if header.digests else {}),
        }
    ]
    lines += [_make_game_payload(game) for game in games]
    lines.append({"end": True, "games": len(games), "sha256": _checksum(lines)})
    return "".join(_dump(line) + "\n" for line in lines)


def _make_game_payload(game: GameRecord) -> dict[str, Any]:
    """Return a game as its line in a record stores it; the order of the fields is part of the format."""
    said = [{"move": move, **statement_payload(statement)} for move, statement in game.statements]
    return {
        "game": game.game,
        "seats": game.seating,
        "starter": game.starter,
        "start": game.start,
        "moves": " ".join(game.moves),
        "by": "".join(map(str, game.move_seats)),
        "draws": " ".join(game.draws),
        **({"said": said} if said else {}),
        "faults": [_fault_payload(fault) for fault in game.faults],
        "winner": game.winner,
        "reason": game.reason,
        "survivors": game.survivors,
        "eliminated": game.eliminated,
        "turns": game.turns,
        "events": game.events,
        "events_sha256": game.digest,
        "times_us": game.times,
    }


def _fault_payload(fault: Fault) -> dict[str, Any]:
    payload = {name: getattr(fault, name) for name in Fault.__dataclass_fields__}
    return {name: value for name, value in payload.items() if value is not None and (name, value) != ("count", 1)}


def _dump(payload: dict[str, Any]) -> str:
    return json.dumps(payload, separators=(",", ":"), ensure_ascii=False)


def _checksum(lines: Sequence[dict[str, Any]]) -> str:
    digest = hashlib.sha256()
    for line in lines:
        digest.update(_dump({key: value for key, value in line.items() if key != _TIMES}).encode() + b"\n")
    return digest.hexdigest()


def read_record(text: str) -> Record:
    """Return the record in a text of `write_record`. Raises RecordError if it is cut off, changed or not a record."""
    lines = _parse_lines(text)
    version = _read_version(lines[0])
    _require_intact(lines)
    try:
        header = _read_header(lines[0])
        _require_valid_header(header)
        return Record(header, tuple(_complete_game(header, _read_game(line, version), version) for line in lines[1:-1]))
    except (AttributeError, KeyError, TypeError, ValueError) as problem:
        raise RecordError(f"the record lacks something: {problem!r}") from problem


def _parse_lines(text: str) -> list[dict[str, Any]]:
    """Return the JSON objects of all lines, one or more. Raises RecordError for any other text."""
    if not text:
        raise RecordError("this is no record: it is empty")
    if not text.endswith("\n"):
        raise RecordError("the record is cut off: its last line has no end")
    lines = []
    for number, line in enumerate(text[:-1].split("\n"), start=1):
        try:
            payload = json.loads(line)
        except (ValueError, RecursionError):  # RecursionError: deeply nested brackets
            payload = None
        if not isinstance(payload, dict):
            raise RecordError(f"line {number} is not a JSON object")
        lines.append(payload)
    return lines


def _read_version(head: dict[str, Any]) -> int:
    """Return the version in the first line of a record. Raises RecordError if this arena can't read it."""
    if "record" not in head:
        raise RecordError("this is no record: the first line has no field named record")
    version: int = head["record"]
    if version not in READABLE_VERSIONS:
        raise RecordError(
            f"the record has version {version}, this arena reads versions {' and '.join(map(str, READABLE_VERSIONS))}"
        )
    return version


def _require_intact(lines: Sequence[dict[str, Any]]) -> None:
    """Raise RecordError unless the last line ends the record, and has the checksum of all others."""
    if not lines[-1].get("end"):
        raise RecordError("the record is cut off: it has no end line")
    try:
        checksum = _checksum(lines[:-1])
    except UnicodeEncodeError:  # a lone surrogate, which `write_record` can't have written
        checksum = None
    if checksum is None or lines[-1].get("sha256") != checksum:
        raise RecordError("the record was changed: its checksum doesn't fit")


def _read_header(payload: dict[str, Any]) -> MatchHeader:
    return MatchHeader(
        match=payload["match"],
        key=bytes.fromhex(payload["key"]),
        bots=tuple(payload["bots"]),
        handles=tuple(payload["handles"]),
        settings=MatchSettings.from_json(payload["terms"]),
        timings=tuple(Timing.from_json(timing) for timing in payload.get("timings", ())),
        digests=tuple(payload.get("digests", ())),
    )


def _read_game(payload: dict[str, Any], version: int) -> GameRecord:
    """Return the game of a record's line. version: of the record; older ones lack start, seats of moves and draws."""
    facts = payload if version == VERSION else {"start": {}, "by": "", "draws": "", **payload}
    move_seats = tuple(map(int, facts["by"]))
    return GameRecord(
        game=payload["game"],
        seating=tuple(payload["seats"]),
        moves=tuple(payload["moves"].split()),
        move_seats=move_seats,
        times=_read_times(payload),
        statements=read_recorded_statements(payload.get("said", ()), move_seats),
        faults=tuple(map(_read_fault, payload["faults"])),
        eliminated=tuple((seat, turn) for seat, turn in payload["eliminated"]),
        winner=payload["winner"],
        reason=payload["reason"],
        survivors=tuple(payload["survivors"]),
        starter=payload["starter"],
        start=dict(facts["start"]),
        draws=tuple(facts["draws"].split()),
        turns=payload["turns"],
        events=payload["events"],
        digest=payload["events_sha256"],
    )


def _read_times(payload: dict[str, Any]) -> tuple[int, ...]:
    """Return the times of a game, which the checksum doesn't cover. Raises ValueError for invalid ones."""
    times, moves = payload[_TIMES], len(payload["moves"].split())
    if not isinstance(times, list) or len(times) != moves or any(type(time) is not int for time in times):
        raise ValueError(f"game {payload['game']} has not one time for each of its {moves} moves")
    return tuple(times)


def _complete_game(header: MatchHeader, game: GameRecord, version: int) -> GameRecord:
    """Return the checked game, with fields that version 3 lacks. Raises ValueError, or RecordError from the replay."""
    _require_valid_game(header, game)
    if version == VERSION:
        _require_valid_start(header, game)
        return game
    replayed = _recompute_game(header, game)
    return replace(game, start=replayed.start, move_seats=replayed.move_seats, draws=replayed.draws)


def _require_valid_header(header: MatchHeader) -> None:
    """Raise ValueError for an impossible header: a valid checksum doesn't exclude it."""
    if not _are_counts(header.match) or not _are_texts(*header.bots, *header.handles, *header.digests):
        raise ValueError("match is a number, and bots and handles have names")
    if len(header.handles) != len(header.bots):
        raise ValueError(f"{len(header.bots)} bots have {len(header.handles)} handles")


def _require_valid_game(header: MatchHeader, game: GameRecord) -> None:
    """Raise ValueError for seats, faults, counts or an ending that no game of the match has."""
    if not _are_counts(*game.seating) or sorted(game.seating) != list(range(len(header.bots))):
        raise ValueError(f"the seats of game {game.game} aren't those of {len(header.bots)} bots")
    _require_valid_faults(game)
    winners = [] if game.winner is None else [game.winner]
    seats = [game.starter, *game.survivors, *(seat for seat, _ in game.eliminated), *winners]
    if not _are_counts(*seats) or max(seats) >= len(header.bots):
        raise ValueError(f"game {game.game} names seats that don't exist")
    if not _are_counts(game.game, game.turns, game.events, *(turn for _, turn in game.eliminated)):
        raise ValueError(f"game {game.game}: counts must be integers, at least 0")
    if game.reason not in _ENDINGS:
        raise ValueError(f"game {game.game} ended by {game.reason!r}")


def _require_valid_faults(game: GameRecord) -> None:
    """Raise ValueError for a fault of no bot of the game, or one with an impossible number or text."""
    if any(fault.bot not in game.seating for fault in game.faults):
        raise ValueError(f"a fault of game {game.game} is of no bot of the match")
    for fault in game.faults:
        if not _are_counts(fault.bot, fault.count, fault.step or 0) or not _are_texts(
            *filter(None, (fault.got, fault.used))
        ):
            raise ValueError(f"game {game.game}: a fault has an invalid number or text")


def _require_valid_start(header: MatchHeader, game: GameRecord) -> None:
    """Raise ValueError for an impossible start of a game with this number of seats."""
    start, seats = game.start, len(header.bots)
    sides = start.get("sides", ())
    unknown_words = {word for hand in start["hands"] for word in hand} - _ROLES | set(sides) - _SIDES
    if unknown_words:
        raise ValueError(f"the start of game {game.game} has {unknown_words}")
    if not _are_counts(start["actor"], start["deck"], *start["coins"]) or start["actor"] >= seats:
        raise ValueError(f"the start of game {game.game} has invalid numbers")
    if len(start["hands"]) != seats or len(start["coins"]) != seats or len(sides) not in (0, seats):
        raise ValueError(f"the start of game {game.game} isn't one of {seats} seats")


def _are_counts(*values: Any) -> bool:
    """Return whether all values are integers of at least 0; needs one value or more."""
    return {*map(type, values)} == {int} and min(values) >= 0


def _are_texts(*values: object) -> bool:
    return {*map(type, values)} <= {str}


def _read_fault(payload: dict[str, Any]) -> Fault:
    fault = Fault(**payload)
    if fault.code not in FAULTS:
        raise ValueError(f"no fault is called {fault.code!r}")
    return fault


# ---------------------------------------------------------------- replay


@dataclass(frozen=True, slots=True)
class EngineStep:
    """One step of a replay: the state, the answers in the order of its asked seats, the next state, and the events."""

    before: State
    answers: tuple[MoveOrForfeit, ...]
    after: State
    events: tuple[Event, ...]


def replay_game(header: MatchHeader, game: GameRecord) -> Iterator[EngineStep]:
    """Replay a game and yield its steps. Raises RecordError at an illegal, missing or superfluous move."""
    chance = KeyedRng(header.key, game.game)
    try:
        state = deal_game(header.settings.rules, len(game.seating), chance, game.starter)
    except ValueError as problem:
        raise RecordError(f"game {game.game}: {problem}") from None
    first_move = 0
    while state.board.phase.asked:
        answers = _read_answers(game, state, first_move)
        next_move = first_move + len(answers)
        try:
            next_state, events = apply_moves(state, answers, chance)
        except IllegalMoveError as problem:
            raise RecordError(f"game {game.game}, move {next_move}: {problem}") from problem
        if game.statements:
            events = (*_step_statements(game, state, first_move, next_move), *events)
        yield EngineStep(state, answers, next_state, events)
        state, first_move = next_state, next_move
    if first_move != len(game.moves):
        raise RecordError(f"game {game.game}: {len(game.moves) - first_move} moves come after its end")


def _read_answers(game: GameRecord, state: State, first_move: int) -> tuple[MoveOrForfeit, ...]:
    """Return the recorded answers of all asked seats. first_move: the index of the first one.

    Raises RecordError if one is missing, can't be read, or isn't legal for its seat.
    """
    asked_seats = state.board.phase.asked
    words = game.moves[first_move : first_move + len(asked_seats)]
    if len(words) < len(asked_seats):
        raise RecordError(f"game {game.game}: the moves end before the game does")
    answers = []
    for index, (seat, word) in enumerate(zip(asked_seats, words, strict=True), start=first_move):
        try:
            answer = parse_move(word)
        except ValueError:
            raise RecordError(f"game {game.game}, move {index}: {word!r} is no move") from None
        if answer != FORFEIT and answer not in list_legal_moves(view_from_seat(state, seat)):
            raise RecordError(f"game {game.game}, move {index}: {word!r} is not legal for seat {seat}")
        answers.append(answer)
    return tuple(answers)


def _step_statements(game: GameRecord, state: State, first_move: int, next_move: int) -> list[StatementMade]:
    """Return the statements of the step with the moves from `first_move` to before `next_move`.

    Raises RecordError for an invalid one.
    """
    statements = [(move, statement) for move, statement in game.statements if first_move <= move < next_move]
    for index in range(first_move, next_move):
        try:
            require_sayable([statement for move, statement in statements if move == index], state.board)
        except SayError as problem:
            raise RecordError(f"game {game.game}, move {index}: an invalid statement: {problem}") from problem
    return list_statements(statements, first_move)


# Field that a replay recomputes -> its name in messages.
_VERIFIED = {
    "start": "start",
    "move_seats": "seats of the moves",
    "draws": "draws",
    "winner": "result",
    "reason": "result",
    "survivors": "result",
    "eliminated": "eliminations",
    "turns": "number of turns",
    "events": "number of events",
    "digest": "events",
}


def handles_of(key: bytes, bots: tuple[str, ...], settings: MatchSettings) -> tuple[str, ...]:
    """Return the handle of each bot of a match: its name with open names, else a letter drawn for this match."""
    return bots if settings.open_names else tuple(permute("ABCDEFGHIJ"[: len(bots)], draw_number(key, "handles")))


def verify_record(record: Record) -> None:
    """Replay every game and check that events, result and faults are the same.

    Also check handles, the order of games and their starters, which follow from the key and the results. Raises
    RecordError at the first difference.
    """
    header, forfeits, last_winner = record.header, Counter[int](), None
    if header.handles != handles_of(header.key, header.bots, header.settings):
        raise RecordError("the handles are not those that the match's key draws")
    for number, game in enumerate(record.games):
        if game.game != number:
            raise RecordError(f"game {game.game} is in the place of game {number}")
        if game.starter != first_seat(game.seating, last_winner):
            raise RecordError(f"game {game.game}: seat {game.starter} is not the last winner's")
        last_winner = None if game.winner is None else game.seating[game.winner]
        _require_same_facts(game, _recompute_game(header, game))
        for problem in find_fault_problems(header.settings, game, _list_default_moves(header, game), forfeits):
            raise RecordError(f"game {game.game}: {problem}")
        forfeits.update(game.list_forfeiting_bots())


def _require_same_facts(game: GameRecord, replayed_game: GameRecord) -> None:
    """Raise RecordError, with the first difference, unless a replay gave the recorded facts."""
    for field_name, name in _VERIFIED.items():
        recorded, replayed = getattr(game, field_name), getattr(replayed_game, field_name)
        if recorded != replayed:
            raise RecordError(f"game {game.game}: the {name} differ: the record has {recorded}, the engine {replayed}")


def _list_default_moves(header: MatchHeader, game: GameRecord) -> dict[int, str]:
    """Return move index -> default move in notation, for each move at which a fault is recorded."""
    fault_moves = {fault.step for fault in game.faults}
    if not fault_moves - {None}:
        return {}
    chance = KeyedRng(header.key, game.game)
    decisions = ((step.before, seat) for step in replay_game(header, game) for seat in step.before.board.phase.asked)
    return {
        index: format_move(default_move(view_from_seat(state, seat), state.events, chance))
        for index, (state, seat) in enumerate(decisions)
        if index in fault_moves
    }


def _recompute_game(header: MatchHeader, game: GameRecord) -> GameRecord:
    """Return a new record of the game, recomputed by a replay of its moves.

    Raises RecordError if a move can't be replayed.
    """
    recorder = GameRecorder(game.game, game.seating, game.starter)
    for step in replay_game(header, game):
        recorder.add_step(step.before, step.answers, step.after, step.events)
    return recorder.make_record(step.after)
