"""A match as one JSON object, for pages: everything that was played, all cards included.

What follows from the events (coins, hands, sides, what a seat may know) isn't told twice: a page folds them.
"""

from collections.abc import Mapping, Sequence
from typing import Any

from arena import __version__
from arena.referee import GameRecord, Record, by_game, by_turn, messages
from arena.tell.moments import Moment, moments

Logs = Mapping[str, Sequence[bytes]]  # a bot's name -> the standard error of its processes, in order


def told(record: Record, logs: Logs | None = None) -> dict[str, Any]:
    """Return a match, with what its bots wrote to standard error beside the turns in which they did.

    Raises RecordError for a game that the engine doesn't play so.
    """
    header = record.header
    written = {bot: _by_game(logs.get(bot, ())) for bot in header.bots} if logs else {}
    return {
        "arena": __version__,
        "match": header.match,
        "bots": list(header.bots),
        "handles": list(header.handles),
        "ruleset": messages.ruleset(header.terms.rules, len(header.bots)),
        "games": [_game(record, game, written) for game in record.games],
    }


_Written = dict[int, list[tuple[int, str]]]  # game -> (turn, text) in order


def _game(record: Record, game: GameRecord, written: Mapping[str, _Written]) -> dict[str, Any]:
    bots = [record.header.bots[bot] for bot in game.seating]
    payload: dict[str, Any] = {
        "game": game.game,
        "seating": list(game.seating),
        "winner": game.winner,
        "reason": game.reason,
        "survivors": list(game.survivors),
        "turns": game.turns,
        "start": {"sides": [], "reserve": 0, **game.start},
        "steps": [_step(moment) for moment in moments(record.header, game)],
        "stderr": [
            {"seat": seat, "turn": turn, "text": text}
            for seat, bot in enumerate(bots)
            for turn, text in written.get(bot, {}).get(game.game, ())
        ],
    }
    others = [fault for fault in game.faults if fault.step is None]
    if others:  # lines that answered nothing
        payload["strays"] = [[game.seating.index(fault.bot), fault.code, fault.count] for fault in others]
    return payload


def _step(moment: Moment) -> dict[str, Any]:
    payload: dict[str, Any] = {
        "turn": moment.turn,
        "kind": moment.kind,
        "given": [[each.seat, each.word, each.time_us] for each in moment.given],
    }
    if moment.before.drawn:
        payload["drawn"] = [role.value for role in moment.before.drawn]
    if moment.before.seen is not None:
        payload["seen"] = moment.before.seen.value
    faults = [[each.seat, each.fault] for each in moment.given if each.fault is not None]
    if faults:
        payload["fault"] = faults
    payload["events"] = list(moment.payloads())
    return payload


def _by_game(processes: Sequence[bytes]) -> _Written:
    """Return what a bot's processes wrote, by game. What one wrote before its first game counts to none."""
    found: _Written = {}
    for written in processes:
        for game, part in by_game(written).items():
            if game is not None:
                texts = [(turn, b"\n".join(lines).decode(errors="replace")) for turn, lines in by_turn(part)]
                found.setdefault(game, []).extend(texts)
    return found
