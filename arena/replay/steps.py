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
    place = number = 0
    for step in replay_game(header, game):
        answers = []
        for offset, (seat, answer) in enumerate(zip(step.before.board.phase.asked, step.answers, strict=True)):
            at = place + offset
            answers.append(SeatAnswer(seat, answer, game.moves[at], game.times[at], faults.get((at, seat))))
        kind = messages.KINDS[type(step.before.board.phase)]
        yield ReplayStep(place, kind, step.before, tuple(answers), step.after, number, step.events)
        place += len(answers)
        number += len(step.events)


def describe_turn(header: MatchHeader, game: GameRecord, turn: int, seat: int, names: Sequence[str]) -> str:
    """Return the events of a turn as text, as a seat received them, up to its elimination.

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
    heard = [bot for place, bot in enumerate(header.bots) if viewers is None or place in viewers]
    written = {bot: _stderr_by_game(logs.get(bot, ())) for bot in heard} if logs else {}
    return {
        "arena": __version__,
        "match": header.match,
        "bots": list(header.bots),
        "handles": list(header.handles),
        "ruleset": messages.make_ruleset(header.settings.rules, len(header.bots)),
        **({} if viewers is None else {"viewers": sorted(viewers)}),
        "games": [_make_game_object(record, game, written, viewers) for game in record.games],
    }


_StderrByGame = dict[int, list[tuple[int, str]]]  # game -> (turn, text) in order


def _make_game_object(
    record: Record, game: GameRecord, written: Mapping[str, _StderrByGame], viewers: Collection[int] | None
) -> dict[str, Any]:
    """Return a game as the pages' scripts read it, with only the hidden cards, times and output of `viewers`.

    written: standard error by bot. viewers: indices of bots; None shows everything.
    """
    bots = [record.header.bots[bot] for bot in game.seating]
    own = [seat for seat, bot in enumerate(game.seating) if viewers is None or bot in viewers]
    hands = [hand if seat in own else [None] * len(hand) for seat, hand in enumerate(game.start["hands"])]
    steps = list(list_steps(record.header, game))
    knowledge_by_step = _list_new_knowledge(steps, [-1, *own])
    payload: dict[str, Any] = {
        "game": game.game,
        "seating": list(game.seating),
        "winner": game.winner,
        "reason": game.reason,
        "survivors": list(game.survivors),
        "turns": game.turns,
        "start": {"sides": [], "reserve": 0, **game.start, "hands": hands},
        "steps": [
            _make_step_object(step, own, viewers is None, certain)
            for step, certain in zip(steps, knowledge_by_step, strict=True)
        ],
        "stderr": [
            {"seat": seat, "turn": turn, "text": text}
            for seat, bot in enumerate(bots)
            for turn, text in written.get(bot, {}).get(game.game, ())
        ],
    }
    strays = [(game.seating.index(fault.bot), fault) for fault in game.faults if fault.step is None]
    others = [[seat, fault.code, fault.count] for seat, fault in strays if seat in own]
    if others:  # unsolicited lines
        payload["unattributed_faults"] = others
    return payload


def _list_new_knowledge(steps: Sequence[ReplayStep], viewers: Sequence[int]) -> Iterator[dict[str, Any]]:
    """Yield for each step the knowledge that changed, by viewer: a seat, or -1 for public knowledge."""
    knowledge = {viewer: coup.Knowledge(_view_of(steps[0].before, viewer)) for viewer in viewers}
    before = dict.fromkeys(viewers, coup.NOTHING_KNOWN)
    kinds = coup.concerning(steps[0].before.board.rules)
    for step in steps:
        news = [event for event in step.events if type(event) in kinds]
        after = {
            viewer: seat_knowledge.known(
                _view_of(step.after, viewer),
                [coup.event_for_seat(event, viewer if viewer >= 0 else None) for event in news],
            )
            for viewer, seat_knowledge in knowledge.items()
        }
        yield {
            str(viewer): messages.make_certain_knowledge(certain)
            for viewer, certain in after.items()
            if certain != before[viewer]
        }
        before = after


def _view_of(state: coup.State, viewer: int) -> coup.View:
    return coup.view_from_seat(state, viewer) if viewer >= 0 else coup.View(state.board, viewer, (), (), (), None)


def _make_step_object(
    step: ReplayStep, own: Sequence[int], all_cards: bool, new_knowledge: Mapping[str, Any]
) -> dict[str, Any]:
    """Return a step as the pages' scripts read it. own: the seats whose answers and cards may be shown."""
    before = step.before
    acts = before.board.actor in own
    payload: dict[str, Any] = {
        "turn": step.turn,
        "kind": step.kind,
        "answers": [
            [
                answer.seat,
                answer.notation if answer.seat in own or step.kind in _PUBLIC_REQUESTS else None,
                answer.time_us if answer.seat in own else None,
            ]
            for answer in step.answers
        ],
    }
    if before.drawn:
        payload["drawn"] = [role.value if acts else None for role in before.drawn]
    if before.seen is not None and acts:
        payload["seen"] = before.seen.value
    faults = [[answer.seat, answer.fault] for answer in step.answers if answer.fault is not None and answer.seat in own]
    if faults:
        payload["faults"] = faults
    payload["events"] = list(step.payloads() if all_cards else _merged_events(step, own))
    if new_knowledge:
        payload["known"] = new_knowledge
    return payload


def _merged_events(step: ReplayStep, own: Sequence[int]) -> Iterator[dict[str, Any]]:
    """Yield the events, each merged from the versions that a spectator and these seats received."""
    for number, event in enumerate(step.events, start=step.first_event):
        yield reduce(or_, (messages.make_event(number, event, seat) for seat in (None, *own)))


def _stderr_by_game(processes: Sequence[bytes]) -> _StderrByGame:
    """Return the standard error of a bot's processes by game, without output before the first game."""
    parts: _StderrByGame = {}
    for written in processes:
        for game, part in split_by_game(written).items():
            if game is not None:
                texts = [(turn, b"\n".join(lines).decode(errors="replace")) for turn, lines in lines_by_turn(part)]
                parts.setdefault(game, []).extend(texts)
    return parts
