"""Explain a bot's lost games: its costliest decisions, their patterns, and its win probability over time.

A what-if replay sends a changed bot the requests of a recorded match and compares its choices. The bot receives the
recorded lines whatever it answers, so its memory of its own answers can differ from the events."""

import json
from collections import defaultdict
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from contextlib import closing
from dataclasses import dataclass
from statistics import fmean, stdev
from typing import Any

from arena.local import play_in_processes
from arena.referee import Record, SentLine, sent_lines
from arena.review.move_evaluation import MoveEvaluation, MoveEvaluator
from ladder.rating import Z_95, Estimate
from protocol import ParsedReply, decode, parse_reply
from protocol.event_text import describe_move

_PATTERNS = 3  # at most, the costliest
_MIN_COUNT = 3  # what happened less often is no pattern


@dataclass(frozen=True, slots=True)
class CostlyDecision:
    """A decision that cost something. The moves are in words, `curve_index` is its index in the game's curve, from 0.

    win_probability: of the bot after it, 0 to 1. cost: by how much of a game `better_move` was better; cost_error: its
    standard error. Both are what playouts say, see `arena.review.move_evaluation`.
    """

    match: int
    game: int
    seat: int
    curve_index: int
    turn: int
    kind: str
    move: str
    better_move: str
    win_probability: float
    cost: float
    cost_error: float


@dataclass(frozen=True, slots=True)
class WinProbability:
    """How likely a bot was to win after its decision in a turn, 0 to 1, and the standard error of that."""

    turn: int
    kind: str
    value: float
    standard_error: float


@dataclass(frozen=True, slots=True)
class WinProbabilityCurve:
    """The win probability over a lost game, by what the seat knew, in the order of its decisions."""

    match: int
    game: int
    seat: int
    points: tuple[WinProbability, ...]


@dataclass(frozen=True, slots=True)
class MistakePattern:
    """What costly decisions have in common. cost: wins lost in a hundred lost games, with its 95 % interval, which
    takes games as independent."""

    text: str
    count: int
    cost: Estimate


@dataclass(frozen=True, slots=True)
class Review:
    """The lost games of a bot. `lost` were lost, `games` of them were looked at, with `decisions` decisions.

    costly_decisions: those that cost more than playouts are wrong by, the costliest first.
    """

    bot: str
    lost: int
    games: int
    decisions: int
    costly_decisions: tuple[CostlyDecision, ...]
    patterns: tuple[MistakePattern, ...]
    curves: tuple[WinProbabilityCurve, ...]


def lost_games(record: Record, bot: str) -> list[int]:
    """Return the numbers of the games of a record that a bot lost."""
    if bot not in record.header.bots:
        return []
    place = record.header.bots.index(bot)
    return [game.game for game in record.games if game.lost_by(place)]


def review_bot(
    records: Iterable[Record], bot: str, most: int, jobs: int = 1, done: Callable[[], None] = lambda: None
) -> Review:
    """Review a bot's first `most` lost games. The same records give the same review, whatever `jobs` is.

    jobs: how many processes look at matches, above 1 on Linux alone. done: is called after each match. Raises
    RecordError where the engine doesn't play a record so, UnknownRulesError for rules that no playout knows, ValueError
    and JobError as `arena.local.play` does.
    """
    lost = decisions = 0
    costly: list[CostlyDecision] = []
    alike: dict[str, list[tuple[tuple[int, int], float]]] = defaultdict(list)
    curves: list[WinProbabilityCurve] = []
    work: list[tuple[Record, list[int]]] = []
    for record in records:
        games = lost_games(record, bot)
        work.append((record, games[: max(0, most - lost)]))
        lost += len(games)
    numbers = [record.header.match for record, _ in work]
    with closing(
        play_in_processes(lambda place: _evaluations(bot, *work[place]), numbers, min(jobs, len(work)))
    ) as pieces:
        for (record, games), evaluations in zip(work, pieces, strict=True):
            points: dict[int, list[WinProbability]] = {game: [] for game in games}
            for evaluation in evaluations:
                decisions += 1
                turn, kind = evaluation.request["state"]["turn"], evaluation.request["kind"]
                points[evaluation.game].append(
                    WinProbability(turn, kind, evaluation.win_probability, evaluation.standard_error)
                )
                if evaluation.cost - Z_95 * evaluation.cost_error > evaluation.margin:
                    costly.append(_decision(record, evaluation, len(points[evaluation.game]) - 1))
                    alike[_pattern(evaluation)].append(((record.header.match, evaluation.game), evaluation.cost))
            place = record.header.bots.index(bot) if games else 0
            for game in record.games:
                if game.game in points:
                    seat = game.seating.index(place)
                    curves.append(WinProbabilityCurve(record.header.match, game.game, seat, tuple(points[game.game])))
            done()
    costly.sort(key=lambda decision: -decision.cost)
    patterns = sorted(_patterns(alike, len(curves)), key=lambda pattern: -pattern.cost.value)[:_PATTERNS]
    return Review(bot, lost, len(curves), decisions, tuple(costly), tuple(patterns), tuple(curves))


def _evaluations(bot: str, record: Record, games: Sequence[int]) -> list[MoveEvaluation]:
    if not games:
        return []
    return list(MoveEvaluator().judge(list(sent_lines(record, record.header.bots.index(bot))), frozenset(games)))


def _decision(record: Record, evaluation: MoveEvaluation, place: int) -> CostlyDecision:
    seating = next(game.seating for game in record.games if game.game == evaluation.game)
    names = [record.header.bots[bot] for bot in seating]
    request = evaluation.request
    return CostlyDecision(
        match=record.header.match,
        game=evaluation.game,
        seat=request["you"]["seat"],
        curve_index=place,
        turn=request["state"]["turn"],
        kind=request["kind"],
        move=describe_move(evaluation.move, names),
        better_move=describe_move(evaluation.better_move, names),
        win_probability=evaluation.win_probability,
        cost=evaluation.cost,
        cost_error=evaluation.cost_error,
    )


def _patterns(alike: Mapping[str, Sequence[tuple[tuple[int, int], float]]], games: int) -> Iterator[MistakePattern]:
    """Yield the patterns whose cost isn't by chance."""
    for text, costs_by_game in alike.items():
        if len(costs_by_game) < _MIN_COUNT or games < 2:
            continue
        by_game: dict[tuple[int, int], float] = defaultdict(float)
        for game, cost in costs_by_game:
            by_game[game] += cost
        costs = [*by_game.values(), *[0.0] * (games - len(by_game))]
        cost, half = 100 * fmean(costs), 100 * Z_95 * stdev(costs) / games**0.5
        if cost > half:
            yield MistakePattern(text, len(costs_by_game), Estimate(cost, cost - half, cost + half))


def _pattern(evaluation: MoveEvaluation) -> str:
    """Return the mistake pattern that a costly decision belongs to."""
    move, better, request = evaluation.move, evaluation.better_move, evaluation.request
    cards, seat = request["you"]["cards"], request["you"]["seat"]
    last = len(cards) == 1 and request.get("pending", {}).get("action") == "assassinate"
    dies = " when its last card is attacked" if last and request["pending"].get("target") == seat else ""
    match request["kind"]:
        case "challenge" if "challenge" in move:
            return "challenges claims that are better let pass"
        case "challenge" if evaluation.claim_probability == 0:
            return "lets claims pass that can't be true"
        case "challenge":
            return f"lets claims pass that are better challenged{dies}"
        case "block" if "pass" in better:
            return "blocks where passing is better"
        case "block" if "pass" not in move:
            return f"blocks as {move['block']} where {better['block']} is better"
        case "block":
            held = "with the card in its hand" if better["block"] in cards else "by a bluff"
            return f"passes where blocking {held} is better{dies}"
        case "turn" if move["action"] == better["action"]:
            return f"aims {_action(move)} at the wrong player"
        case "turn":
            return f"takes {_action(move)} where {_action(better)} is better"
        case "lose":
            return "loses the wrong card"
    return "keeps the wrong cards of an exchange"


def _action(move: Mapping[str, Any]) -> str:
    return str(move["action"]).replace("_", " ")


@dataclass(frozen=True, slots=True)
class DecisionPair:
    """A request, what the recorded bot chose, and what the program chooses now, in words.

    recorded_choice: None where a fault chose. new_choice: None where no allowed answer came.
    """

    match: int
    game: int
    turn: int
    kind: str
    recorded_choice: str | None
    new_choice: str | None


def replay_decisions(record: Record, bot: int, ask: Callable[[bytes], bytes]) -> Iterator[DecisionPair]:
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


def _replies(printed: bytes) -> dict[int, ParsedReply]:
    """Return the answers by their ids; other lines are skipped."""
    replies = {}
    for line in printed.split(b"\n"):
        message = decode(line)
        answer = parse_reply(message) if isinstance(message, dict) else None
        if isinstance(answer, ParsedReply):
            replies[answer.id] = answer
    return replies


def _pair(record: Record, each: SentLine, request: dict[str, Any], answer: ParsedReply | None) -> DecisionPair:
    seating = next(game.seating for game in record.games if game.game == each.game)
    names = [record.header.bots[bot] for bot in seating]
    legal = request["legal"]
    now = None
    if answer is not None:
        spelled = {_key(move): place for place, move in enumerate(legal)}
        now = answer.choice if answer.move is None else spelled.get(_key(answer.move))
    words = [describe_move(move, names) for move in legal]
    return DecisionPair(
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
