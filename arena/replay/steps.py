"""Replay a recorded game as steps, and convert a match to one JSON object for pages.

A step is one request to some seats with its outcome. It ends when the engine has applied the answers; `events` are
the results. A step shows all cards; `event_for_seat` reduces events to what one seat may know, as in the match.

The JSON contains the whole match, or only what some of its bots could know. Facts that follow from the events (coins,
hands, sides) aren't repeated: a page computes them. Redacted cards, moves and times are null, so that a page can count
them."""

from collections.abc import Collection, Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import reduce
from operator import or_
from typing import Any

from arena import __version__, coup
from arena.referee import GameRecord, MatchHeader, Record, lines_by_turn, messages, replay_game, split_by_game
from protocol.event_text import describe_events


@dataclass(frozen=True, slots=True)
class SeatAnswer:
    """The answer of one seat: the move, its notation and the response time in µs.

    fault: the code of the fault that led to this move or forfeit; None if the bot chose the move.
    """

    seat: int
    move: coup.MoveOrForfeit
    notation: str
    time_us: int
    fault: str | None


@dataclass(frozen=True, slots=True)
class ReplayStep:
    """One step of a game. `answers`: in the order in which they take effect.

    `move_index`: index of its first move among the moves of the game. `first_event`: the number of its first event.
    """

    move_index: int
    kind: str
    before: coup.State
    answers: tuple[SeatAnswer, ...]
    after: coup.State
    first_event: int
    events: tuple[coup.Event, ...]

    def payloads(self, seat: int | None = None) -> Iterator[dict[str, Any]]:
        """Yield the events as the seat received them; None: with all cards, and `held` in `unproven`.

        `held`: whether a claimant that declined to show could have proved the claim, which no seat learns.
        """
        for number, event in enumerate(self.events, start=self.first_event):
            if seat is not None:
                yield messages.make_event(number, event, seat)
                continue
            payload = messages.make_full_event(number, event)
            if isinstance(event, coup.Unproven):
                payload["held"] = (event.role in self.before.hands[event.seat]) is not event.denies
            yield payload

    @property
    def turn(self) -> int:
        """Return the turn in which the seats were asked, from 1."""
        return self.before.board.turn


def list_steps(header: MatchHeader, game: GameRecord) -> Iterator[ReplayStep]:
    """Yield the steps of a recorded game. Raises RecordError if the engine doesn't reproduce it."""
    # Of several faults at one decision the last one counts.
    faults = {
        (fault.step, game.seating.index(fault.bot)): fault.code for fault in game.faults if fault.step is not None
    }
    first_move = first_event = 0
    for step in replay_game(header, game):
        phase = step.before.board.phase
        answers = tuple(
            SeatAnswer(seat, move, game.moves[index], game.times[index], faults.get((index, seat)))
            for index, (seat, move) in enumerate(zip(phase.asked, step.answers, strict=True), start=first_move)
        )
        kind = messages.KINDS[type(phase)]
        yield ReplayStep(first_move, kind, step.before, answers, step.after, first_event, step.events)
        first_move += len(answers)
        first_event += len(step.events)


def describe_turn(header: MatchHeader, game: GameRecord, turn: int, seat: int, names: Sequence[str]) -> str:
    """Return the events of a turn as text, as a seat received them, up to its elimination in this turn.

    names: of the players, by seat. Raises RecordError if the engine doesn't reproduce the game.
    """
    payloads: list[dict[str, Any]] = []
    for step in list_steps(header, game):
        if step.turn == turn:
            payloads += step.payloads(seat)
            if not step.after.board.influence[seat]:
                break
    return describe_events(payloads, names)


Logs = Mapping[str, Sequence[bytes]]  # a bot's name -> the standard error of its processes, in order

# Requests whose answers are in public events.
_PUBLIC_REQUESTS = frozenset(("turn", "prove", "lose", "keep_shown", "examine_decide", "allegiance"))


def make_replay_object(
    record: Record, logs: Logs | None = None, viewers: Collection[int] | None = None
) -> dict[str, Any]:
    """Return a match as a JSON object, with its bots' standard error by turn.

    viewers: None for all cards, or indices of bots in the header, for their joint knowledge with their own times,
    faults and standard error; an empty collection for public knowledge. No hidden data changes any byte of the object.
    Raises RecordError if the engine doesn't reproduce a game.
    """
    header = record.header
    logged_bots = [bot for index, bot in enumerate(header.bots) if viewers is None or index in viewers]
    stderr = {bot: _stderr_by_game(logs.get(bot, ())) for bot in logged_bots} if logs else {}
    return {
        "arena": __version__,
        "match": header.match,
        "bots": list(header.bots),
        "handles": list(header.handles),
        "ruleset": messages.make_ruleset(header.settings.rules, len(header.bots)),
        **({} if viewers is None else {"viewers": sorted(viewers)}),
        "games": [_make_game_object(record, game, stderr, viewers) for game in record.games],
    }


_StderrByGame = dict[int, list[tuple[int, str]]]  # game -> (turn, text) in order


def _make_game_object(
    record: Record, game: GameRecord, stderr: Mapping[str, _StderrByGame], viewers: Collection[int] | None
) -> dict[str, Any]:
    """Return a game as the pages' scripts read it, with only the hidden cards, times and output of `viewers`.

    stderr: by bot. viewers: indices of bots; None shows everything.
    """
    seats = [seat for seat, bot in enumerate(game.seating) if viewers is None or bot in viewers]
    hands = [hand if seat in seats else [None] * len(hand) for seat, hand in enumerate(game.start["hands"])]
    steps = list(list_steps(record.header, game))
    knowledge_by_step = _list_new_knowledge(steps, [-1, *seats])
    payload: dict[str, Any] = {
        "game": game.game,
        "seating": list(game.seating),
        "winner": game.winner,
        "reason": game.reason,
        "survivors": list(game.survivors),
        "turns": game.turns,
        "start": {"sides": [], "reserve": 0, **game.start, "hands": hands},
        "steps": [
            _make_step_object(step, seats, viewers is None, certain)
            for step, certain in zip(steps, knowledge_by_step, strict=True)
        ],
        "stderr": [
            {"seat": seat, "turn": turn, "text": text}
            for seat, bot in enumerate(game.seating)
            for turn, text in stderr.get(record.header.bots[bot], {}).get(game.game, ())
        ],
    }
    unattributed_faults = _list_unattributed_faults(game, seats)
    if unattributed_faults:
        payload["unattributed_faults"] = unattributed_faults
    return payload


def _list_unattributed_faults(game: GameRecord, seats: Sequence[int]) -> list[list[Any]]:
    """Return [seat, code, count] of each fault of these seats that belongs to no move, such as unsolicited lines."""
    faults = [(game.seating.index(fault.bot), fault) for fault in game.faults if fault.step is None]
    return [[seat, fault.code, fault.count] for seat, fault in faults if seat in seats]


def _list_new_knowledge(steps: Sequence[ReplayStep], viewers: Sequence[int]) -> Iterator[dict[str, Any]]:
    """Yield for each step the knowledge that changed, by viewer: a seat, or -1 for public knowledge."""
    knowledge_by_viewer = {viewer: coup.Knowledge(_view_of(steps[0].before, viewer)) for viewer in viewers}
    last_known = dict.fromkeys(viewers, coup.NOTHING_KNOWN)
    event_classes = coup.concerning(steps[0].before.board.rules)
    for step in steps:
        events = [event for event in step.events if type(event) in event_classes]
        changes: dict[str, Any] = {}
        for viewer, knowledge in knowledge_by_viewer.items():
            seat = viewer if viewer >= 0 else None
            copies = [coup.event_for_seat(event, seat) for event in events]
            certain = knowledge.update(_view_of(step.after, viewer), copies)
            if certain != last_known[viewer]:
                changes[str(viewer)] = messages.make_certain_knowledge(certain)
            last_known[viewer] = certain
        yield changes


def _view_of(state: coup.State, viewer: int) -> coup.View:
    return coup.view_from_seat(state, viewer) if viewer >= 0 else coup.View(state.board, viewer, (), (), (), None)


def _make_step_object(
    step: ReplayStep, seats: Sequence[int], shows_all: bool, new_knowledge: Mapping[str, Any]
) -> dict[str, Any]:
    """Return a step as the pages' scripts read it.

    seats: those whose answers and cards may be shown. shows_all: whether events have all cards.
    """
    before = step.before
    shows_actor = before.board.actor in seats
    payload: dict[str, Any] = {
        "turn": step.turn,
        "kind": step.kind,
        "answers": [
            [
                answer.seat,
                answer.notation if answer.seat in seats or step.kind in _PUBLIC_REQUESTS else None,
                answer.time_us if answer.seat in seats else None,
            ]
            for answer in step.answers
        ],
    }
    if before.drawn:
        payload["drawn"] = [role.value if shows_actor else None for role in before.drawn]
    if before.seen is not None and shows_actor:
        payload["seen"] = before.seen.value
    faults = [[answer.seat, answer.fault] for answer in step.answers if answer.fault and answer.seat in seats]
    if faults:
        payload["faults"] = faults
    payload["events"] = list(step.payloads() if shows_all else _merged_events(step, seats))
    if new_knowledge:
        payload["known"] = new_knowledge
    return payload


def _merged_events(step: ReplayStep, seats: Sequence[int]) -> Iterator[dict[str, Any]]:
    """Yield the events, each merged from the versions that a spectator and these seats received."""
    for number, event in enumerate(step.events, start=step.first_event):
        yield reduce(or_, (messages.make_event(number, event, seat) for seat in (None, *seats)))


def _stderr_by_game(processes: Sequence[bytes]) -> _StderrByGame:
    """Return the standard error of a bot's processes by game, without output before the first game."""
    texts_by_game: _StderrByGame = {}
    for stderr in processes:
        for game, output in split_by_game(stderr).items():
            if game is not None:
                texts = [(turn, b"\n".join(lines).decode(errors="replace")) for turn, lines in lines_by_turn(output)]
                texts_by_game.setdefault(game, []).extend(texts)
    return texts_by_game
