"""Review a person's own games after a match, in a process of low priority."""

import json
import os
import sys
from dataclasses import asdict
from typing import Any

from arena.referee import Record, read_record
from arena.review.move_evaluation import UnknownRulesError
from arena.review.review import Review, review_bot

_MAX_GAMES = 20  # of a match, the last ones; each takes about half a second
_MAX_S = 120.0
_CAUTION = (
    "The numbers are estimates. The sample bot strategist deals the cards that you couldn't see again and again, and "
    "plays each move to the end. Your opponents may play differently."
)


def review_person(record: Record, player: int) -> dict[str, Any]:
    """Return the review of a person's last games of a match, won or lost, as `replay_page` shows it.

    player: index in the record's header. For rules that playouts don't support, it has only the reason, as `caution`.
    """
    name = record.header.bots[player]
    try:
        review = review_bot([record], name, _MAX_GAMES, games_of=lambda record, _: _list_last_games(record))
    except UnknownRulesError as error:
        review = _empty_review(name, f"{error}.")
    return {**asdict(review), "caution": _CAUTION if review.decisions else review.caution, "person": True}


def _list_last_games(record: Record) -> list[int]:
    return [game.game for game in record.games][-_MAX_GAMES:]


def review_in_process(text: str, player: int) -> dict[str, Any]:
    """Return `review_person` of a record as text, from a new process; only a `caution` if the process fails."""
    import subprocess  # browsers have none

    command = [sys.executable, "-m", "arena.review", str(player)]
    try:
        process = subprocess.run(command, input=text, capture_output=True, text=True, timeout=_MAX_S, check=True)
    except (OSError, subprocess.SubprocessError):
        review = _empty_review("", "The review failed or took too long. Try again later.")
        return {**asdict(review), "person": True}
    result: dict[str, Any] = json.loads(process.stdout)
    return result


def _empty_review(name: str, reason: str) -> Review:
    return Review(name, "strategist", reason[:1].upper() + reason[1:], 0, 0, 0, (), (), ())


def main() -> None:
    """Print the review of the record on standard input."""
    os.nice(10)
    json.dump(review_person(read_record(sys.stdin.read()), int(sys.argv[1])), sys.stdout)
