"""Explain a bot's lost games: its costliest decisions, their patterns, and its win probability over time.

A what-if replay sends a changed bot the requests of a recorded match and compares its choices. The bot receives the
recorded lines whatever it answers, so its memory of its own answers can differ from the events."""

import json
from collections import defaultdict
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from contextlib import closing, suppress
from dataclasses import dataclass
from statistics import fmean, stdev
from typing import Any, NamedTuple

from arena.local import play_in_processes
from arena.rating import Z_95, Estimate
from arena.referee import Record, SentLine, sent_lines
from arena.review.move_evaluation import MoveEvaluation, MoveEvaluator
from protocol import ParsedReply, decode, parse_reply
from protocol.event_text import describe_move

_CAUTION = (
    "The gains are estimated by playouts of the sample bot strategist: it samples the hidden cards from what the bot "
    "knew, and plays each move to the end with simple strategies, not your opponents'. Use the list to find decisions "
    "to look at. A pattern is a hint. A simple change can make the bot worse, so measure it with arena compare."
)
_MAX_PATTERNS = 3
_MIN_COUNT = 3  # costly decisions in a pattern


class Judge(NamedTuple):
    """A bot that chooses in the place of the reviewed one. ask: as for `replay_decisions`."""

    name: str
    ask: Callable[[bytes], bytes]


class JudgeError(Exception):
    """A judge chose no legal move for some request, so its better moves would be missed."""


@dataclass(frozen=True, slots=True)
class CostlyDecision:
    """A costly decision. The moves are texts; step: the index of its step in the turn, from 0.

    win_probability: of the bot after its move, 0 to 1. cost: by how much of a game `better_move` was better. Both are
    results of playouts, see `arena.review.move_evaluation`.
    """

    match: int
    game: int
    seat: int
    turn: int
    step: int
    kind: str
    move: str
    better_move: str
    win_probability: Estimate
    cost: Estimate


@dataclass(frozen=True, slots=True)
class WinProbability:
    """The probability that a bot wins after its decision in a step of a turn, 0 to 1."""

    turn: int
    step: int
    kind: str
    estimate: Estimate


@dataclass(frozen=True, slots=True)
class WinProbabilityCurve:
    """The win probability after each decision of a lost game, in order, given the seat's knowledge."""

    match: int
    game: int
    seat: int
    points: tuple[WinProbability, ...]


@dataclass(frozen=True, slots=True)
class MistakePattern:
    """A common feature of costly decisions.

    cost: wins lost by it in a hundred lost games, with a 95 % interval that assumes independent games. A game counts
    with its first such decision: a better move there changes what follows.
    """

    text: str
    count: int
    cost: Estimate


@dataclass(frozen=True, slots=True)
class Review:
    """The review of a bot's lost games: `games` of the `lost` ones were reviewed, with `decisions` decisions.

    judge: the bot that chose the better moves. caution: how to read the numbers, for people.
    costly_decisions: decisions whose cost clearly exceeds the error of playouts, the costliest first.
    """

    bot: str
    judge: str
    caution: str
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
    index = record.header.bots.index(bot)
    return [game.game for game in record.games if game.lost_by(index)]


def review_bot(
    records: Iterable[Record],
    bot: str,
    max_games: int,
    *,
    jobs: int = 1,
    on_match: Callable[[], None] = lambda: None,
    judge: Judge | None = None,
    games_of: Callable[[Record, str], list[int]] = lost_games,
) -> Review:
    """Review a bot's first `max_games` lost games. The same records give the same review for any `jobs`.

    A KeyboardInterrupt ends the review, which then has the games so far.

    jobs: number of processes, above 1 only on Linux. on_match: called after each match. judge: the bot whose choices
    are the alternatives; None: all plausible moves. games_of: the games to review, in place of the lost ones.

    Raises RecordError if the engine doesn't reproduce a record, UnknownRulesError for rules that playouts don't
    support, JudgeError for a judge without a choice, and ValueError and JobError like `arena.local.play`.
    """
    lost_count = 0
    matches: list[tuple[Record, list[int]]] = []  # and the games of each that are reviewed
    for record in records:
        games = games_of(record, bot)
        matches.append((record, games[: max(0, max_games - lost_count)]))
        lost_count += len(games)

    def evaluate(index: int) -> list[MoveEvaluation]:
        record, games = matches[index]
        return _evaluate_games(bot, record, games, judge)

    findings = _Findings()
    numbers = [record.header.match for record, _ in matches]
    with (
        suppress(KeyboardInterrupt),
        closing(play_in_processes(evaluate, numbers, min(jobs, len(matches) or 1))) as evaluations_by_match,
    ):
        for (record, games), evaluations in zip(matches, evaluations_by_match, strict=True):
            findings.add_match(record, bot, games, evaluations)
            on_match()
    return _make_review(bot, "strategist" if judge is None else judge.name, lost_count, findings)


def _make_review(bot: str, judge: str, lost_count: int, findings: "_Findings") -> Review:
    """Return the review of what was found, with the costliest decisions and patterns first."""
    patterns = _find_significant_patterns(findings.costs_by_pattern, len(findings.curves))
    return Review(
        bot=bot,
        judge=judge,
        caution=f"The better moves are those that {judge} would make, if playouts confirm them. {_CAUTION}",
        lost=lost_count,
        games=len(findings.curves),
        decisions=findings.decisions,
        costly_decisions=tuple(sorted(findings.costly, key=lambda decision: -decision.cost.value)),
        patterns=tuple(sorted(patterns, key=lambda pattern: -pattern.cost.value)[:_MAX_PATTERNS]),
        curves=tuple(findings.curves),
    )


GameCosts = list[tuple[tuple[int, int], float]]  # ((match, game), cost) of each decision, in order


class _Findings:
    """What is found in the matches of a review."""

    def __init__(self) -> None:
        self.decisions = 0
        self.costly: list[CostlyDecision] = []
        self.costs_by_pattern: dict[str, GameCosts] = defaultdict(list)
        self.curves: list[WinProbabilityCurve] = []

    def add_match(self, record: Record, bot: str, games: list[int], evaluations: Sequence[MoveEvaluation]) -> None:
        """Add the bot's evaluated decisions in these games of a match; a game without any has an empty curve."""
        points: dict[int, list[WinProbability]] = {game: [] for game in games}
        for evaluation in evaluations:
            turn, kind = evaluation.request["state"]["turn"], evaluation.request["kind"]
            points[evaluation.game].append(WinProbability(turn, evaluation.step, kind, _win_probability(evaluation)))
            if _is_costly(evaluation):
                self.costly.append(_make_costly_decision(record, evaluation))
                game_key = record.header.match, evaluation.game
                self.costs_by_pattern[_describe_pattern(evaluation)].append((game_key, evaluation.cost))
        self.decisions += len(evaluations)
        for game in record.games:
            if game.game in points:
                seat = game.seating.index(record.header.bots.index(bot))
                curve = WinProbabilityCurve(record.header.match, game.game, seat, tuple(points[game.game]))
                self.curves.append(curve)


def review_game(record: Record, bot: str, game: int) -> list[CostlyDecision]:
    """Return a bot's costly decisions in a game, the costliest first. Raises like `review_bot`."""
    costly = [
        _make_costly_decision(record, evaluation)
        for evaluation in _evaluate_games(bot, record, [game])
        if _is_costly(evaluation)
    ]
    return sorted(costly, key=lambda decision: -decision.cost.value)


def _is_costly(evaluation: MoveEvaluation) -> bool:
    return evaluation.cost - Z_95 * evaluation.cost_error > evaluation.margin


def _evaluate_games(bot: str, record: Record, games: Sequence[int], judge: Judge | None = None) -> list[MoveEvaluation]:
    """Return the evaluated decisions of a bot's games; a judge chooses the alternatives. Raises like `review_bot`."""
    if not games:
        return []
    lines = list(sent_lines(record, record.header.bots.index(bot)))
    choices = None if judge is None else _ask_judge(judge, lines)
    return list(MoveEvaluator().judge(lines, frozenset(games), choices))


def _ask_judge(judge: Judge, lines: list[SentLine]) -> list[list[int]]:
    """Return for each line the judge's choice as a list of one index; [] for a line that isn't a request.

    Raises JudgeError if the judge didn't choose a legal move for each request.
    """
    choices = list(_find_choices(lines, judge.ask))
    requests = [number for number, sent in enumerate(lines) if sent.line.startswith(b'{"type":"request"')]
    missing_count = sum(choices[number] is None for number in requests)
    if missing_count:
        raise JudgeError(f"{judge.name} chose no legal move for {missing_count} of {len(requests)} requests")
    return [[] if choice is None else [choice] for choice in choices]


def _make_costly_decision(record: Record, evaluation: MoveEvaluation) -> CostlyDecision:
    """Return a decision as the review lists it, with players by name."""
    seating = next(game.seating for game in record.games if game.game == evaluation.game)
    names = [record.header.bots[bot] for bot in seating]
    request = evaluation.request
    return CostlyDecision(
        match=record.header.match,
        game=evaluation.game,
        seat=request["you"]["seat"],
        turn=request["state"]["turn"],
        step=evaluation.step,
        kind=request["kind"],
        move=describe_move(evaluation.move, names),
        better_move=describe_move(evaluation.better_move, names),
        win_probability=_win_probability(evaluation),
        cost=_make_estimate(evaluation.cost, evaluation.cost_error),
    )


def _win_probability(evaluation: MoveEvaluation) -> Estimate:
    """Return the win probability after the recorded move, with an interval within 0 and 1."""
    value, margin = evaluation.win_probability, Z_95 * evaluation.standard_error
    return Estimate(round(value, 2), round(max(0.0, value - margin), 2), round(min(1.0, value + margin), 2))


def _make_estimate(value: float, standard_error: float, digits: int = 2) -> Estimate:
    """Return an estimate with as many digits as are shown, so that the terminal and the page round it the same way."""
    margin = Z_95 * standard_error
    return Estimate(round(value, digits), round(value - margin, digits), round(value + margin, digits))


def _find_significant_patterns(costs_by_pattern: Mapping[str, GameCosts], games: int) -> Iterator[MistakePattern]:
    """Yield the patterns whose cost is significantly above 0. games: number of reviewed games."""
    for text, game_costs in costs_by_pattern.items():
        if len(game_costs) < _MIN_COUNT or games < 2:
            continue
        first_costs = dict(reversed(game_costs))  # by game
        costs = [*first_costs.values(), *[0.0] * (games - len(first_costs))]
        cost = _make_estimate(100 * fmean(costs), 100 * stdev(costs) / games**0.5, 1)
        if cost.low is not None and cost.low > 0:
            yield MistakePattern(text, len(game_costs), cost)


def _describe_pattern(evaluation: MoveEvaluation) -> str:
    """Return what is wrong with a costly decision, in words by which such decisions are grouped."""
    move, better, request = evaluation.move, evaluation.better_move, evaluation.request
    cards, pending = request["you"]["cards"], request.get("pending", {})
    is_attacked = pending.get("action") == "assassinate" and pending.get("target") == request["you"]["seat"]
    attack = " when its last card is attacked" if is_attacked and len(cards) == 1 else ""
    match request["kind"]:
        case "challenge" if "challenge" in move:
            return "challenges claims where passing is better"
        case "challenge" if evaluation.claim_probability == 0:
            return "doesn't challenge claims that can't be true"
        case "challenge":
            return f"passes where challenging is better{attack}"
        case "block" if "pass" in better:
            return "blocks where passing is better"
        case "block" if "pass" not in move:
            return f"blocks as {move['block']} where {better['block']} is better"
        case "block":
            means = "with the card in its hand" if better["block"] in cards else "with a bluff"
            return f"passes where blocking {means} is better{attack}"
        case "turn" if move["action"] == better["action"]:
            return f"aims {_action_text(move)} at the wrong player"
        case "turn":
            return f"takes {_action_text(move)} where {_action_text(better)} is better"
        case "lose":
            return "loses the wrong card"
    return "keeps the wrong cards of an exchange"


def _action_text(move: Mapping[str, Any]) -> str:
    return str(move["action"]).replace("_", " ")


@dataclass(frozen=True, slots=True)
class DecisionPair:
    """A request with the recorded choice and the new program's choice, as texts.

    recorded_choice: None if a fault replaced it. new_choice: None if the program gave no legal answer.
    """

    match: int
    game: int
    turn: int
    kind: str
    recorded_choice: str | None
    new_choice: str | None


def replay_decisions(record: Record, bot: int, ask: Callable[[bytes], bytes]) -> Iterator[DecisionPair]:
    """Yield each request to a bot with the answer of another program, in order.

    bot: index in the record's header. ask: sends lines to a new process and returns its output. Raises RecordError like
    `sent_lines`.
    """
    lines = list(sent_lines(record, bot))
    for sent, choice in zip(lines, _find_choices(lines, ask), strict=True):
        message = json.loads(sent.line)
        if message["type"] == "request":
            yield _make_decision_pair(record, sent, message, choice)


def _find_choices(lines: list[SentLine], ask: Callable[[bytes], bytes]) -> Iterator[int | None]:
    """Yield for each line the index of the legal move that a program chooses, None without a legal choice."""
    for process_lines in _split_by_process(lines):
        replies = _parse_replies(ask(b"".join(sent.line for sent in process_lines)))
        for sent in process_lines:
            message = json.loads(sent.line)
            reply = replies.get(message["id"]) if message["type"] == "request" else None
            yield None if reply is None else _find_choice(reply, message["legal"])


def _find_choice(reply: ParsedReply, legal: Sequence[dict[str, Any]]) -> int | None:
    """Return the index of the move that a reply chooses; None if it isn't legal."""
    indexes = {_move_key(move): index for index, move in enumerate(legal)}
    choice = reply.choice if reply.move is None else indexes.get(_move_key(reply.move))
    return choice if choice is not None and 0 <= choice < len(legal) else None


def _split_by_process(lines: list[SentLine]) -> Iterator[list[SentLine]]:
    """Yield the lines to each process of the bot; the first line to each is a hello."""
    hellos = [index for index, sent in enumerate(lines) if sent.line.startswith(b'{"type":"hello"')]
    for start, end in zip(hellos, [*hellos[1:], len(lines)], strict=True):
        yield lines[start:end]


def _parse_replies(printed: bytes) -> dict[int, ParsedReply]:
    """Return the first answer to each request in a program's output, by request id; skip other lines."""
    replies: dict[int, ParsedReply] = {}
    for line in printed.split(b"\n"):
        message = decode(line)
        reply = parse_reply(message) if isinstance(message, dict) else None
        if isinstance(reply, ParsedReply):
            replies.setdefault(reply.id, reply)
    return replies


def _make_decision_pair(record: Record, sent: SentLine, request: dict[str, Any], choice: int | None) -> DecisionPair:
    """Return the recorded and the new choice of a request in words. choice: an index of its moves, None for a fault."""
    seating = next(game.seating for game in record.games if game.game == sent.game)
    names = [record.header.bots[bot] for bot in seating]
    texts = [describe_move(move, names) for move in request["legal"]]
    return DecisionPair(
        record.header.match,
        sent.game,
        request["state"]["turn"],
        request["kind"],
        None if sent.choice is None else texts[sent.choice],
        None if choice is None else texts[choice],
    )


def _move_key(move: dict[str, Any]) -> str:
    """Return a text that is equal for equal moves: true differs from 1, but the order of a list doesn't matter."""
    return json.dumps(
        {name: sorted(value, key=str) if isinstance(value, list) else value for name, value in move.items()},
        sort_keys=True,
    )
