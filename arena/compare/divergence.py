"""Find the first decision in each pair of games at which OLD and NEW chose differently.

Up to that decision both halves of a pair are identical: one position, one hand, two choices. The rest is no longer
the same game, but over many pairs the choice is the cause of the difference. Choices without effect at the table
don't count: table talk, or a challenge in addition to the one that counts. Choices are grouped by the request and by
both answers, as text without names: "take tax (bluff)" against "take income". All forfeits for one fault form one
group.

The points of all groups, and of the pairs in which an opponent diverged first, add up to the difference of the win
rates. A pair without a divergence has the same value for both."""

from collections import Counter, defaultdict
from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass, field
from itertools import chain, groupby, islice
from math import fsum, sqrt
from typing import Annotated

from pydantic import BaseModel, ConfigDict, Field

from arena import coup
from arena.compare import NEW, OLD, match_of
from arena.compare.comparison import GamePair
from arena.rating import Estimate
from arena.referee import GameRecord, MatchHeader, Record, move_payload
from arena.replay import ReplayStep, SeatAnswer, list_steps
from protocol.event_text import describe_events, describe_move

_MIN_PAIRS = 10  # for an interval
_MAX_EXAMPLES = 3  # of a group
_MAX_TURNS = 8  # of an example
_KINDS = {
    "turn": "its turn",
    "exchange": "an exchange: which cards to keep",
    "keep_shown": "its proven card",
    "examine_show": "examined: which card to show",
    "examine_decide": "the card that was examined",
    "draft": "the draft",
    "allegiance": "its allegiance",
}

_Choice = tuple[str, str, str]  # (request, OLD's choice, NEW's choice), as text
_Half = tuple[MatchHeader, GameRecord]  # a game of a pair, with the head of its match
Share = Annotated[float, Field(ge=0, le=1)]
Gain = Annotated[float, Field(ge=-1, le=1)]
Count = Annotated[int, Field(ge=0)]


class ReportModel(BaseModel):
    model_config = ConfigDict(strict=True, frozen=True, extra="forbid")


class DivergencePosition(ReportModel):
    """A decision at which a pair diverged, with hand and table. `old` and `new`: up to 8 turns with either choice."""

    match: Count = Field(description="OLD's")
    new_match: Count
    game: Count
    turn: Count
    hand: tuple[str, ...]
    table: str
    old: tuple[str, ...]
    new: tuple[str, ...]
    old_won: Share
    new_won: Share


class DivergenceGroup(ReportModel):
    """All pairs that diverged in the same way."""

    request: str
    old: str = Field(description="what OLD chose")
    new: str = Field(description="what NEW chose")
    pairs: Count
    old_win_rate: Share = Field(description="of these pairs")
    new_win_rate: Share
    win_rate_gain: Estimate = Field(
        description="NEW's gain in such a pair, with the 95 % interval of this row alone; null of fewer than 10 pairs"
    )
    contribution: Gain = Field(description="what these pairs add to the difference")
    examples: tuple[DivergencePosition, ...]


@dataclass(frozen=True, slots=True)
class Divergences:
    """All groups, the largest contributions first, and the number of pairs that were identical to the end.

    `diverged_by_opponent`: (name, number of pairs in which this opponent diverged first), the most frequent first.
    """

    groups: tuple[DivergenceGroup, ...]
    identical_pairs: int
    diverged_by_opponent: tuple[tuple[str, int], ...]
    opponent_contribution: float


@dataclass(frozen=True, slots=True)
class _FirstDivergence:
    """The first divergence of a pair, with the state before it, and the steps of either half from that turn on.

    `opponent`: the index in the header of an opponent that diverged first, without the rest; None if OLD and NEW did.
    """

    opponent: int | None = None
    choice: _Choice = ("", "", "")
    before: coup.State | None = None
    steps: tuple[Iterable[ReplayStep], Iterable[ReplayStep]] = ((), ())


@dataclass(slots=True)
class _Group:
    """The pairs that diverged by one choice, with examples of those whose halves ended differently, and of the others.

    There are at most _MAX_EXAMPLES of either kind.
    """

    pairs: list[GamePair] = field(default_factory=list)
    decisive_examples: list[DivergencePosition] = field(default_factory=list)
    other_examples: list[DivergencePosition] = field(default_factory=list)

    def add(self, pair: GamePair, old: _Half, divergence: _FirstDivergence) -> None:
        self.pairs.append(pair)
        examples = self.other_examples if pair.old == pair.new else self.decisive_examples
        if len(examples) < _MAX_EXAMPLES:
            examples.append(_make_position(pair, *old, divergence))


def find_divergences(pairs: Sequence[GamePair], record_of: Callable[[int], Record]) -> Divergences:
    """Return where the halves of all pairs diverge. `record_of` returns the record of a match.

    Raises RecordError if the engine doesn't reproduce a record.
    """
    groups: defaultdict[_Choice, _Group] = defaultdict(_Group)
    pairs_by_opponent: Counter[str] = Counter()
    identical_pairs = 0
    opponent_gain = 0.0
    for pair, old, new in _read_pairs(pairs, record_of):
        divergence = _find_first_divergence(old, new)
        if divergence is None:
            identical_pairs += 1
        elif divergence.opponent is not None:
            pairs_by_opponent[old[0].bots[divergence.opponent]] += 1
            opponent_gain += pair.new - pair.old
        else:
            groups[divergence.choice].add(pair, old, divergence)
    rows = [_make_divergence_group(choice, group, len(pairs)) for choice, group in groups.items()]
    rows.sort(key=lambda row: (-abs(row.contribution), -row.pairs, row.request, row.old, row.new))
    contribution = _round(opponent_gain / max(len(pairs), 1))
    return Divergences(tuple(rows), identical_pairs, tuple(pairs_by_opponent.most_common()), contribution)


def _read_pairs(
    pairs: Iterable[GamePair], record_of: Callable[[int], Record]
) -> Iterator[tuple[GamePair, _Half, _Half]]:
    """Yield each pair with both games; a block's records are read once."""
    block, records = -1, []
    for pair in pairs:
        if pair.block != block:
            block, records = pair.block, [record_of(match_of(pair.block, half)) for half in (OLD, NEW)]
        old, new = ((record.header, record.games[pair.game]) for record in records)
        yield pair, old, new


def _find_first_divergence(old: _Half, new: _Half) -> _FirstDivergence | None:
    """Return the first divergence of two games; None if they are identical in all that matters.

    Raises RecordError if the engine doesn't reproduce a record.
    """
    if old[1].moves == new[1].moves:  # saves the replay
        return None
    seating = old[1].seating
    seat = seating.index(OLD)
    old_steps, new_steps = list_steps(*old), list_steps(*new)
    turn: list[ReplayStep] = []  # the steps of the current turn so far, equal in both halves
    for old_step, new_step in zip(old_steps, new_steps, strict=False):
        if turn and turn[-1].turn != old_step.turn:
            turn = []
        if _is_alike(old_step, new_step):
            turn.append(old_step)
            continue
        choices = list(zip(old_step.answers, new_step.answers, strict=True))
        own_choices = next((pair for pair in choices if pair[0].seat == seat), None)
        if own_choices is None or own_choices[0].notation == own_choices[1].notation:
            other_seat = next(old.seat for old, new in choices if old.notation != new.notation)
            return _FirstDivergence(opponent=seating[other_seat])
        steps = chain((*turn, old_step), old_steps), chain((*turn, new_step), new_steps)
        return _FirstDivergence(None, _describe_difference(old_step, seat, own_choices), old_step.before, steps)
    return None


def _is_alike(old_step: ReplayStep, new_step: ReplayStep) -> bool:
    """Return whether moves, or events and states, are equal: then only table talk or an unused choice can differ."""
    has_equal_moves = _notations(old_step) == _notations(new_step)
    return has_equal_moves or (old_step.events, old_step.after) == (new_step.events, new_step.after)


def _describe_difference(step: ReplayStep, seat: int, answers: tuple[SeatAnswer, SeatAnswer]) -> _Choice:
    """Return what a seat was asked, and its different choices, in the old and in the new half."""
    if any(isinstance(answer.move, coup.Forfeit) for answer in answers):
        old, new = (
            f"forfeit ({answer.fault})" if isinstance(answer.move, coup.Forfeit) else "play on" for answer in answers
        )
        return "whatever is asked", old, new
    board, hand = step.before.board, step.before.hands[seat]
    old, new = (_describe_choice(board, hand, seat, answer) for answer in answers)
    return _describe_request(step, seat), old, new


def _notations(step: ReplayStep) -> list[str]:
    return [answer.notation for answer in step.answers]


def _describe_request(step: ReplayStep, seat: int) -> str:
    """Return what the seat was asked, in words that complete "asked ..."; by these words divergences are grouped."""
    board = step.before.board
    match board.phase:
        case coup.ChallengeWindow(_, pending, claim):
            clause = ", aimed at it" if pending.target == seat and not claim.block else ""
            return f"to challenge {_describe_claim(pending, claim)}{clause}"
        case coup.BlockWindow(_, pending, _):
            return f"to block {_describe_action(pending)}{', aimed at it' if pending.target == seat else ''}"
        case coup.Proving(_, pending, claim, _):
            return f"challenged: {_describe_claim(pending, claim)}"
        case coup.Losing():
            return "which card to lose"
    return _KINDS[step.kind]


def _describe_claim(pending: coup.ActionMove, claim: coup.Claim) -> str:
    role = f"{'no ' if claim.denies else ''}{claim.role.value}"
    action = _describe_action(pending)
    return f"a block of {action} as {role}" if claim.block else f"{action} as {role}"


def _describe_action(move: coup.ActionMove) -> str:
    return {"foreign_aid": "foreign aid"}.get(move.action.value, move.action.value)


def _describe_choice(board: coup.Board, hand: Sequence[object], seat: int, answer: SeatAnswer) -> str:
    """Describe a choice of a seat with this hand: the move, its target, and whether it is a bluff."""
    move = answer.move
    assert not isinstance(move, coup.Forfeit)
    text = describe_move(move_payload(move), [_describe_target(board, seat, target) for target in range(board.seats)])
    if _is_bluff(board, hand, move):
        text += " (bluff)"
    return text if answer.fault is None else f"{text} (for a fault: {answer.fault})"


def _is_bluff(board: coup.Board, hand: Sequence[object], move: coup.Move) -> bool:
    """Return whether a block or an action claims a role that this hand lacks, or denies one that it has."""
    if isinstance(move, coup.Block):
        return move.role not in hand
    if not isinstance(move, coup.ActionMove):
        return False
    rule = board.rules.rule(move.action, move.target is not None)
    return rule.claim is not None and (rule.claim in hand) is rule.denies


def _describe_target(board: coup.Board, seat: int, target: int) -> str:
    """Describe a player as the target of `seat`, without a name."""
    if target == seat:
        return "itself"
    opponents = [opponent for opponent in range(board.seats) if board.influence[opponent] and opponent != seat]
    if len(opponents) < 2:
        return "the other"
    is_richest = board.coins[target] == max(board.coins[opponent] for opponent in opponents)
    cards = "2 cards" if board.influence[target] > 1 else "1 card"
    return f"the richest ({cards})" if is_richest else f"a poorer one ({cards})"


def _make_position(
    pair: GamePair, header: MatchHeader, game: GameRecord, divergence: _FirstDivergence
) -> DivergencePosition:
    """Return a pair's first different choice as it is shown: the table before it, and both games' moves after it."""
    assert divergence.before is not None
    board = divergence.before.board
    own_seat = game.seating.index(OLD)
    names = ["it" if seat == own_seat else header.bots[bot] for seat, bot in enumerate(game.seating)]
    table = ", ".join(
        f"{name}: {board.influence[seat]} card{'' if board.influence[seat] == 1 else 's'}, {board.coins[seat]} coins"
        for seat, name in enumerate(names)
        if board.influence[seat]
    )
    old, new = (_describe_turns(steps, names) for steps in divergence.steps)
    return DivergencePosition(
        match=match_of(pair.block, OLD),
        new_match=match_of(pair.block, NEW),
        game=pair.game,
        turn=board.turn,
        hand=tuple(role.value for role in divergence.before.hands[own_seat]),
        table=table,
        old=old,
        new=new,
        old_won=pair.old,
        new_won=pair.new,
    )


def _describe_turns(steps: Iterable[ReplayStep], names: Sequence[str]) -> tuple[str, ...]:
    """Return the events of up to _MAX_TURNS turns as text."""
    turns = islice(groupby(steps, key=lambda step: step.turn), _MAX_TURNS)
    return tuple(
        describe_events([payload for step in turn for payload in step.payloads()], names) or "not visible to the bot"
        for _, turn in turns
    )


def _make_divergence_group(choice: _Choice, group: _Group, all_pairs: int) -> DivergenceGroup:
    """Return the pairs that diverged by the same choice as one row. all_pairs: the number in the whole comparison.

    With fewer than _MIN_PAIRS pairs the gain has no interval.
    """
    gains = [pair.new - pair.old for pair in group.pairs]
    count = len(gains)
    mean = fsum(gains) / count
    low = high = None
    if count >= _MIN_PAIRS:
        # As if one more pair had differed by a whole game, so that ten equal pairs don't look certain.
        margin = 1.96 * sqrt((fsum((gain - mean) ** 2 for gain in gains) + 1) / (count - 1) / count)
        low, high = max(-1.0, mean - margin), min(1.0, mean + margin)
    request, old, new = choice
    return DivergenceGroup(
        request=request,
        old=old,
        new=new,
        pairs=count,
        old_win_rate=round(fsum(pair.old for pair in group.pairs) / count, 4),
        new_win_rate=round(fsum(pair.new for pair in group.pairs) / count, 4),
        contribution=_round(fsum(gains) / all_pairs),
        win_rate_gain=round_estimate(mean, low, high),
        examples=(*group.decisive_examples, *group.other_examples)[:_MAX_EXAMPLES],
    )


def _round(difference: float) -> float:
    return round(difference, 5)


def round_estimate(value: float, low: float | None, high: float | None) -> Estimate:
    """Return an estimate as it is reported."""
    return Estimate(_round(value), None if low is None else _round(low), None if high is None else _round(high))
