"""Why a bot lost: over its lost games the decisions that cost most, what they have in common, and its chances."""

from collections import defaultdict
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from contextlib import closing
from dataclasses import dataclass
from statistics import fmean, stdev
from typing import Any

from arena.local import in_jobs
from arena.referee import Record, sent_lines
from arena.review.judge import Evaluation, Judge
from ladder.rating import Z
from protocol.words import tell_move

_HABITS = 3  # decisions that are shown
_TIMES = 3  # what happened less often is no habit


@dataclass(frozen=True, slots=True)
class Decision:
    """A decision that gave something away. The moves are in words, `turn` is its turn, `place` its place in the
    game's curve, from 0.

    chance: how likely the bot won after it, 0 to 1. given: by how much of a game `better` was better; error: its
    standard error. Both are what playouts say, see `arena.review.judge`.
    """

    match: int
    game: int
    seat: int
    place: int
    turn: int
    kind: str
    made: str
    better: str
    chance: float
    given: float
    error: float


@dataclass(frozen=True, slots=True)
class Chance:
    """How likely a bot was to win after its decision in a turn, 0 to 1, and the standard error of that."""

    turn: int
    kind: str
    chance: float
    error: float


@dataclass(frozen=True, slots=True)
class Curve:
    """The chances of a lost game, by what the seat knew, in the order of its decisions."""

    match: int
    game: int
    seat: int
    chances: tuple[Chance, ...]


@dataclass(frozen=True, slots=True)
class Habit:
    """What costly decisions have in common. cost: wins given away in a hundred lost games, with the ends of its 95 %
    interval, which takes games as independent."""

    words: str
    times: int
    cost: float
    low: float
    high: float


@dataclass(frozen=True, slots=True)
class Review:
    """The lost games of a bot. `lost` were lost, `games` of them were looked at, with so many decisions.

    costly: those that gave away more than playouts are wrong by, the dearest first.
    """

    bot: str
    lost: int
    games: int
    decisions: int
    costly: tuple[Decision, ...]
    habits: tuple[Habit, ...]
    curves: tuple[Curve, ...]


def lost_games(record: Record, bot: str) -> list[int]:
    """Return the numbers of the games of a record that a bot lost."""
    if bot not in record.header.bots:
        return []
    place = record.header.bots.index(bot)
    return [game.game for game in record.games if game.lost_by(place)]


def review(
    records: Iterable[Record], bot: str, most: int, jobs: int = 1, done: Callable[[], None] = lambda: None
) -> Review:
    """Return what a bot's first `most` lost games tell. The same records give the same review, whatever `jobs` is.

    jobs: how many processes look at matches, above 1 on Linux alone. done: is called after each match. Raises
    RecordError where the engine doesn't play a record so, UnknownRulesError for rules that no playout knows, ValueError
    and JobError as `arena.local.play` does.
    """
    lost = decisions = 0
    costly: list[Decision] = []
    alike: dict[str, list[tuple[tuple[int, int], float]]] = defaultdict(list)
    curves: list[Curve] = []
    work: list[tuple[Record, list[int]]] = []
    for record in records:
        games = lost_games(record, bot)
        work.append((record, games[: max(0, most - lost)]))
        lost += len(games)
    numbers = [record.header.match for record, _ in work]
    with closing(in_jobs(lambda place: _evaluations(bot, *work[place]), numbers, min(jobs, len(work)))) as pieces:
        for (record, games), evaluations in zip(work, pieces, strict=True):
            chances: dict[int, list[Chance]] = {game: [] for game in games}
            for evaluation in evaluations:
                decisions += 1
                turn, kind = evaluation.request["state"]["turn"], evaluation.request["kind"]
                chances[evaluation.game].append(Chance(turn, kind, evaluation.chance, evaluation.error))
                if evaluation.given - Z * evaluation.given_error > evaluation.margin:
                    costly.append(_decision(record, evaluation, len(chances[evaluation.game]) - 1))
                    alike[_habit(evaluation)].append(((record.header.match, evaluation.game), evaluation.given))
            place = record.header.bots.index(bot) if games else 0
            for game in record.games:
                if game.game in chances:
                    seat = game.seating.index(place)
                    curves.append(Curve(record.header.match, game.game, seat, tuple(chances[game.game])))
            done()
    costly.sort(key=lambda decision: -decision.given)
    habits = sorted(_habits(alike, len(curves)), key=lambda habit: -habit.cost)[:_HABITS]
    return Review(bot, lost, len(curves), decisions, tuple(costly), tuple(habits), tuple(curves))


def _evaluations(bot: str, record: Record, games: Sequence[int]) -> list[Evaluation]:
    if not games:
        return []
    return list(Judge().judge(list(sent_lines(record, record.header.bots.index(bot))), frozenset(games)))


def _decision(record: Record, evaluation: Evaluation, place: int) -> Decision:
    seating = next(game.seating for game in record.games if game.game == evaluation.game)
    names = [record.header.bots[bot] for bot in seating]
    request = evaluation.request
    return Decision(
        match=record.header.match,
        game=evaluation.game,
        seat=request["you"]["seat"],
        place=place,
        turn=request["state"]["turn"],
        kind=request["kind"],
        made=tell_move(evaluation.move, names),
        better=tell_move(evaluation.better, names),
        chance=evaluation.chance,
        given=evaluation.given,
        error=evaluation.given_error,
    )


def _habits(alike: Mapping[str, Sequence[tuple[tuple[int, int], float]]], games: int) -> Iterator[Habit]:
    """Yield the habits whose cost isn't by chance."""
    for words, given in alike.items():
        if len(given) < _TIMES or games < 2:
            continue
        by_game: dict[tuple[int, int], float] = defaultdict(float)
        for game, cost in given:
            by_game[game] += cost
        costs = [*by_game.values(), *[0.0] * (games - len(by_game))]
        cost, half = 100 * fmean(costs), 100 * Z * stdev(costs) / games**0.5
        if cost > half:
            yield Habit(words, len(given), cost, cost - half, cost + half)


def _habit(evaluation: Evaluation) -> str:
    """Say what a costly decision is a case of."""
    move, better, request = evaluation.move, evaluation.better, evaluation.request
    cards, seat = request["you"]["cards"], request["you"]["seat"]
    last = len(cards) == 1 and request.get("pending", {}).get("action") == "assassinate"
    dies = " when its last card is attacked" if last and request["pending"].get("target") == seat else ""
    match request["kind"]:
        case "challenge" if "challenge" in move:
            return "challenges claims that are better let pass"
        case "challenge" if evaluation.likely == 0:
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
