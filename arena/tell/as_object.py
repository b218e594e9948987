"""A match as one JSON object, for pages: everything that was played, or what some of its bots could know of it.

What follows from the events (coins, hands, sides) isn't told twice: a page folds them. What is cut is null, so that a
page can count it: cards, moves that no event tells, times. `known` of a step is what is certain after it, by seat and
for spectators ("-1"), as `you.known` of a request; a viewer for whom nothing has changed is left out.
"""

from collections.abc import Collection, Iterator, Mapping, Sequence
from functools import reduce
from operator import or_
from typing import Any

from arena import __version__
from arena.coup import NOTHING_KNOWN, Knowledge, State, View, concerning, seen, view
from arena.referee import GameRecord, Record, by_game, by_turn, messages
from arena.tell.moments import Moment, moments

Logs = Mapping[str, Sequence[bytes]]  # a bot's name -> the standard error of its processes, in order

# Requests whose answers the events tell to all. Who passed, or also wanted to speak, is told to nobody.
_OPEN = frozenset(("turn", "prove", "lose", "keep_shown", "examine_decide", "allegiance"))


def as_object(record: Record, logs: Logs | None = None, eyes: Collection[int] | None = None) -> dict[str, Any]:
    """Return a match, with what its bots wrote to standard error beside the turns in which they did.

    eyes: None tells all cards. Else what those bots, by their places in the header, could know together, with their own
    times, faults and standard error; of no bots: what everybody could. Nothing else may change a byte of it.
    Raises RecordError for a game that the engine doesn't play so.
    """
    header = record.header
    heard = [bot for place, bot in enumerate(header.bots) if eyes is None or place in eyes]
    written = {bot: _by_game(logs.get(bot, ())) for bot in heard} if logs else {}
    return {
        "arena": __version__,
        "match": header.match,
        "bots": list(header.bots),
        "handles": list(header.handles),
        "ruleset": messages.ruleset(header.terms.rules, len(header.bots)),
        **({} if eyes is None else {"eyes": sorted(eyes)}),
        "games": [_game(record, game, written, eyes) for game in record.games],
    }


_Written = dict[int, list[tuple[int, str]]]  # game -> (turn, text) in order


def _game(
    record: Record, game: GameRecord, written: Mapping[str, _Written], eyes: Collection[int] | None
) -> dict[str, Any]:
    bots = [record.header.bots[bot] for bot in game.seating]
    own = [seat for seat, bot in enumerate(game.seating) if eyes is None or bot in eyes]
    hands = [hand if seat in own else [None] * len(hand) for seat, hand in enumerate(game.start["hands"])]
    unfolded = list(moments(record.header, game))
    known = _known(unfolded, [-1, *own])
    payload: dict[str, Any] = {
        "game": game.game,
        "seating": list(game.seating),
        "winner": game.winner,
        "reason": game.reason,
        "survivors": list(game.survivors),
        "turns": game.turns,
        "start": {"sides": [], "reserve": 0, **game.start, "hands": hands},
        "steps": [_step(moment, own, eyes is None, certain) for moment, certain in zip(unfolded, known, strict=True)],
        "stderr": [
            {"seat": seat, "turn": turn, "text": text}
            for seat, bot in enumerate(bots)
            for turn, text in written.get(bot, {}).get(game.game, ())
        ],
    }
    strays = [(game.seating.index(fault.bot), fault) for fault in game.faults if fault.step is None]
    others = [[seat, fault.code, fault.count] for seat, fault in strays if seat in own]
    if others:  # lines that answered nothing
        payload["strays"] = others
    return payload


def _known(unfolded: Sequence[Moment], viewers: Sequence[int]) -> Iterator[dict[str, Any]]:
    """Yield what is certain after each moment and wasn't before, by viewer; viewer -1 sees what all see."""
    minds = {viewer: Knowledge(_sight(unfolded[0].before, viewer)) for viewer in viewers}
    before = dict.fromkeys(viewers, NOTHING_KNOWN)
    kinds = concerning(unfolded[0].before.board.rules)
    for moment in unfolded:
        news = [event for event in moment.events if type(event) in kinds]
        after = {
            viewer: mind.known(
                _sight(moment.after, viewer), [seen(event, viewer if viewer >= 0 else None) for event in news]
            )
            for viewer, mind in minds.items()
        }
        yield {str(viewer): messages.certain(known) for viewer, known in after.items() if known != before[viewer]}
        before = after


def _sight(state: State, viewer: int) -> View:
    return view(state, viewer) if viewer >= 0 else View(state.board, viewer, (), (), (), None)


def _step(moment: Moment, own: Sequence[int], whole: bool, known: Mapping[str, Any]) -> dict[str, Any]:
    before = moment.before
    acts = before.board.actor in own
    payload: dict[str, Any] = {
        "turn": moment.turn,
        "kind": moment.kind,
        "given": [
            [
                each.seat,
                each.word if each.seat in own or moment.kind in _OPEN else None,
                each.time_us if each.seat in own else None,
            ]
            for each in moment.given
        ],
    }
    if before.drawn:
        payload["drawn"] = [role.value if acts else None for role in before.drawn]
    if before.seen is not None and acts:
        payload["seen"] = before.seen.value
    faults = [[each.seat, each.fault] for each in moment.given if each.fault is not None and each.seat in own]
    if faults:
        payload["fault"] = faults
    payload["events"] = list(moment.payloads() if whole else _copies(moment, own))
    if known:
        payload["known"] = known
    return payload


def _copies(moment: Moment, own: Sequence[int]) -> Iterator[dict[str, Any]]:
    """Yield the events as an onlooker and these seats were sent them, all copies of one in one."""
    for number, event in enumerate(moment.events, start=moment.first):
        yield reduce(or_, (messages.event(number, event, seat) for seat in (None, *own)))


def _by_game(processes: Sequence[bytes]) -> _Written:
    """Return what a bot's processes wrote, by game. What one wrote before its first game counts to none."""
    parts: _Written = {}
    for written in processes:
        for game, part in by_game(written).items():
            if game is not None:
                texts = [(turn, b"\n".join(lines).decode(errors="replace")) for turn, lines in by_turn(part)]
                parts.setdefault(game, []).extend(texts)
    return parts
