"""What a bot, changed since, chooses at the requests of a recorded match.

It is sent the lines that the recorded bot was sent, whatever it answers: the game goes on as it went. So what it
remembers of its own answers may differ from what it sees happen.
"""

import json
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from typing import Any

from arena.referee import Record, SentLine, sent_lines
from protocol import Answer, decode, parse_reply
from protocol.words import tell_move


@dataclass(frozen=True, slots=True)
class AnswerPair:
    """A request, what the recorded bot chose, and what the program chooses now, in words.

    then: None where a fault chose. now: None where no allowed answer came.
    """

    match: int
    game: int
    turn: int
    kind: str
    then: str | None
    now: str | None


def ask_again(record: Record, bot: int, ask: Callable[[bytes], bytes]) -> Iterator[AnswerPair]:
    """Yield each request of a bot with the answer of a program to it, in order.

    ask: gives lines to a new process, and returns what that printed. Raises RecordError as `sent` does.
    """
    for lines in _processes(list(sent_lines(record, bot))):
        replies = _replies(ask(b"".join(each.line for each in lines)))
        for each in lines:
            message = json.loads(each.line)
            if message["type"] == "request":
                yield _pair(record, each, message, replies.get(message["id"]))


def _processes(lines: list[SentLine]) -> Iterator[list[SentLine]]:
    """Yield the lines of each process: one that is new is greeted."""
    hellos = [place for place, each in enumerate(lines) if each.line.startswith(b'{"type":"hello"')]
    for first, end in zip(hellos, [*hellos[1:], len(lines)], strict=True):
        yield lines[first:end]


def _replies(printed: bytes) -> dict[int, Answer]:
    """Return the answers by their ids; what is none is passed over."""
    replies = {}
    for line in printed.split(b"\n"):
        message = decode(line)
        answer = parse_reply(message) if isinstance(message, dict) else None
        if isinstance(answer, Answer):
            replies[answer.id] = answer
    return replies


def _pair(record: Record, each: SentLine, request: dict[str, Any], answer: Answer | None) -> AnswerPair:
    seating = next(game.seating for game in record.games if game.game == each.game)
    names = [record.header.bots[bot] for bot in seating]
    legal = request["legal"]
    now = None
    if answer is not None:
        spelled = {_key(move): place for place, move in enumerate(legal)}
        now = answer.choice if answer.move is None else spelled.get(_key(answer.move))
    words = [tell_move(move, names) for move in legal]
    return AnswerPair(
        record.header.match,
        each.game,
        request["state"]["turn"],
        request["kind"],
        None if each.choice is None else words[each.choice],
        words[now] if now is not None and 0 <= now < len(words) else None,
    )


def _key(move: dict[str, Any]) -> str:
    """Return a text that is equal for equal moves: types count (true is not 1), the order of a list doesn't."""
    return json.dumps(
        {name: sorted(value, key=str) if isinstance(value, list) else value for name, value in move.items()},
        sort_keys=True,
    )
