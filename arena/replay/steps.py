"""Replay a recorded game as steps, and convert a match to one JSON object for pages.

A step is one request to some seats with its outcome. It ends when the engine has applied the answers; `events` are
the results. A step shows all cards; `event_for_seat` reduces events to what one seat may know, as in the match.

The JSON contains the whole match, or only what some of its bots could know. Facts that follow from the events (coins,
hands, sides, each seat's knowledge) aren't repeated: a page computes them. Redacted cards, moves and times are null,
so that a page can count them."""

from collections.abc import Collection, Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import reduce
from operator import or_
from typing import Any

from arena import __version__
from arena.coup import (
    NOTHING_KNOWN,
    Event,
    Knowledge,
    MoveOrForfeit,
    State,
    Unproven,
    View,
    concerning,
    event_for_seat,
    view_from_seat,
)
from arena.referee import GameRecord, MatchHeader, Record, lines_by_turn, messages, replay_game, split_by_game


@dataclass(frozen=True, slots=True)
class SeatAnswer:
    """The answer of one seat: the move, in notation too, what it took in us, and the fault that it was played for.

    A forfeit has the fault that led to it.
    """

    seat: int
    move: MoveOrForfeit
    notation: str
    time_us: int
    fault: str | None


@dataclass(frozen=True, slots=True)
class ReplayStep:
    """One step of a game. `answers` are in the order in which they count.

    `move_index`: of its first move among the moves of the game. `first_event`: the number of its first event.
    """

    move_index: int
    kind: str
    before: State
    answers: tuple[SeatAnswer, ...]
    after: State
    first_event: int
    events: tuple[Event, ...]

    def payloads(self, seat: int | None = None) -> Iterator[dict[str, Any]]:
        """Yield the events as the seat was sent them; None knows all cards, and so what a claimant `held`.

        A claimant that declines holds what it claimed, or doesn't: `unproven` reveals that to no seat.
        """
        for number, event in enumerate(self.events, start=self.first_event):
            if seat is not None:
                yield messages.make_event(number, event, seat)
                continue
            payload = messages.make_full_event(number, event)
            if isinstance(event, Unproven):
                payload["held"] = (event.role in self.before.hands[event.seat]) is not event.denies
            yield payload

    @property
    def turn(self) -> int:
        """Return the turn in which the seats were asked, from 1."""
        return self.before.board.turn


def list_steps(header: MatchHeader, game: GameRecord) -> Iterator[ReplayStep]:
    """Yield the moments of a recorded game. Raises RecordError where the engine doesn't play it so."""
    # Of several faults at one decision the last is the one that counted.
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


Logs = Mapping[str, Sequence[bytes]]  # a bot's name -> the standard error of its processes, in order

# Requests whose answers are in public events. Passes, and further statements, stay secret.
_OPEN = frozenset(("turn", "prove", "lose", "keep_shown", "examine_decide", "allegiance"))


def make_replay_object(
    record: Record, logs: Logs | None = None, viewers: Collection[int] | None = None
) -> dict[str, Any]:
    """Return a match, with its bots' standard error by turn.

    viewers: None shows all cards. Else what those bots, by their index in the header, could know together, with their
    own times, faults and standard error; of no bots: what everybody could. Nothing else may change a byte of it.
    Raises RecordError for a game that the engine doesn't play so.
    """
    header = record.header
    heard = [bot for place, bot in enumerate(header.bots) if viewers is None or place in viewers]
    written = {bot: _by_game(logs.get(bot, ())) for bot in heard} if logs else {}
    return {
        "arena": __version__,
        "match": header.match,
        "bots": list(header.bots),
        "handles": list(header.handles),
        "ruleset": messages.make_ruleset(header.terms.rules, len(header.bots)),
        **({} if viewers is None else {"viewers": sorted(viewers)}),
        "games": [_game(record, game, written, viewers) for game in record.games],
    }


_Written = dict[int, list[tuple[int, str]]]  # game -> (turn, text) in order


def _game(
    record: Record, game: GameRecord, written: Mapping[str, _Written], viewers: Collection[int] | None
) -> dict[str, Any]:
    bots = [record.header.bots[bot] for bot in game.seating]
    own = [seat for seat, bot in enumerate(game.seating) if viewers is None or bot in viewers]
    hands = [hand if seat in own else [None] * len(hand) for seat, hand in enumerate(game.start["hands"])]
    unfolded = list(list_steps(record.header, game))
    known = _known(unfolded, [-1, *own])
    payload: dict[str, Any] = {
        "game": game.game,
        "seating": list(game.seating),
        "winner": game.winner,
        "reason": game.reason,
        "survivors": list(game.survivors),
        "turns": game.turns,
        "start": {"sides": [], "reserve": 0, **game.start, "hands": hands},
        "steps": [
            _step(moment, own, viewers is None, certain) for moment, certain in zip(unfolded, known, strict=True)
        ],
        "stderr": [
            {"seat": seat, "turn": turn, "text": text}
            for seat, bot in enumerate(bots)
            for turn, text in written.get(bot, {}).get(game.game, ())
        ],
    }
    strays = [(game.seating.index(fault.bot), fault) for fault in game.faults if fault.step is None]
    others = [[seat, fault.code, fault.count] for seat, fault in strays if seat in own]
    if others:  # lines that answered nothing
        payload["unattributed_faults"] = others
    return payload


def _known(unfolded: Sequence[ReplayStep], viewers: Sequence[int]) -> Iterator[dict[str, Any]]:
    """Yield what is certain after each moment and wasn't before, by viewer; viewer -1 sees what all see."""
    minds = {viewer: Knowledge(_sight(unfolded[0].before, viewer)) for viewer in viewers}
    before = dict.fromkeys(viewers, NOTHING_KNOWN)
    kinds = concerning(unfolded[0].before.board.rules)
    for moment in unfolded:
        news = [event for event in moment.events if type(event) in kinds]
        after = {
            viewer: mind.known(
                _sight(moment.after, viewer), [event_for_seat(event, viewer if viewer >= 0 else None) for event in news]
            )
            for viewer, mind in minds.items()
        }
        yield {
            str(viewer): messages.make_certain_knowledge(known)
            for viewer, known in after.items()
            if known != before[viewer]
        }
        before = after


def _sight(state: State, viewer: int) -> View:
    return view_from_seat(state, viewer) if viewer >= 0 else View(state.board, viewer, (), (), (), None)


def _step(moment: ReplayStep, own: Sequence[int], whole: bool, known: Mapping[str, Any]) -> dict[str, Any]:
    before = moment.before
    acts = before.board.actor in own
    payload: dict[str, Any] = {
        "turn": moment.turn,
        "kind": moment.kind,
        "answers": [
            [
                each.seat,
                each.notation if each.seat in own or moment.kind in _OPEN else None,
                each.time_us if each.seat in own else None,
            ]
            for each in moment.answers
        ],
    }
    if before.drawn:
        payload["drawn"] = [role.value if acts else None for role in before.drawn]
    if before.seen is not None and acts:
        payload["seen"] = before.seen.value
    faults = [[each.seat, each.fault] for each in moment.answers if each.fault is not None and each.seat in own]
    if faults:
        payload["faults"] = faults
    payload["events"] = list(moment.payloads() if whole else _copies(moment, own))
    if known:
        payload["known"] = known
    return payload


def _copies(moment: ReplayStep, own: Sequence[int]) -> Iterator[dict[str, Any]]:
    """Yield the events as a spectator and these seats were sent them, all copies of one in one."""
    for number, event in enumerate(moment.events, start=moment.first_event):
        yield reduce(or_, (messages.make_event(number, event, seat) for seat in (None, *own)))


def _by_game(processes: Sequence[bytes]) -> _Written:
    """Return what a bot's processes wrote, by game. What one wrote before its first game counts to none."""
    parts: _Written = {}
    for written in processes:
        for game, part in split_by_game(written).items():
            if game is not None:
                texts = [(turn, b"\n".join(lines).decode(errors="replace")) for turn, lines in lines_by_turn(part)]
                parts.setdefault(game, []).extend(texts)
    return parts
