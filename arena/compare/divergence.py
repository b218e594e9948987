"""Find the first decision in each pair of games at which OLD and NEW chose differently.

Up to that decision both halves of a pair are identical: one position, one hand, two choices. The rest is no longer
the same game, but over many pairs the choice is the cause of the difference. Choices without effect at the table
don't count: table talk, or a challenge in addition to the one that counts. Choices are grouped by the request and by
both answers, in words without names: "take tax (bluff)" against "take income". All forfeits for one fault form one
group.

The points of all groups, and of the pairs in which an opponent diverged first, add up to the difference of the win
rates. A pair without a divergence has the same value for both."""

from collections import Counter
from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass
from itertools import takewhile
from math import fsum, sqrt

from arena.compare.comparison import NEW, OLD, GamePair, match_of
from arena.coup import ActionMove, Block, BlockWindow, Board, ChallengeWindow, Claim, Forfeit, Losing, Proving, State
from arena.referee import GameRecord, MatchHeader, Record, legal_moves
from arena.replay import ReplayStep, SeatAnswer, list_steps
from ladder.rating import Estimate
from protocol.event_text import describe_events, describe_move

_MIN_PAIRS = 10  # pairs from which an interval means something
_EXAMPLES = 3  # of a group
_KINDS = {
    "turn": "its turn",
    "exchange": "an exchange: which cards to keep",
    "keep_shown": "its proven card",
    "examine_show": "it is examined: which card to show",
    "examine_decide": "the card that it examines",
    "draft": "the draft",
    "allegiance": "its allegiance",
}


@dataclass(frozen=True, slots=True)
class DivergenceExample:
    """One such decision: the game of either's match, the turn, the hand and the table; the whole turn with either."""

    match: int
    new_match: int
    game: int
    turn: int
    hand: tuple[str, ...]
    table: str
    old: str
    new: str
    old_won: float
    new_won: float


@dataclass(frozen=True, slots=True)
class Divergence:
    """All pairs that first differed in the same way. `contribution`: their part of the difference of the win rates.

    `win_rate_gain` is NEW's gain in such a pair with its 95 % interval, None of too few pairs. Rates are from 0 to 1.
    """

    request: str
    old: str
    new: str
    pairs: int
    old_win_rate: float
    new_win_rate: float
    contribution: float
    win_rate_gain: Estimate
    examples: tuple[DivergenceExample, ...]


@dataclass(frozen=True, slots=True)
class Divergences:
    """All groups, the largest contributions first; how many pairs were identical to the end.

    `diverged_by_opponent`: in how many pairs an opponent was the first to differ, by its name, the most frequent first.
    """

    groups: tuple[Divergence, ...]
    identical_pairs: int
    diverged_by_opponent: tuple[tuple[str, int], ...]
    opponent_contribution: float


@dataclass(frozen=True, slots=True)
class _First:
    """The choices of OLD and NEW at which a pair differs first, in words, and their turn in either half.

    `opponent`: the bot that differed first instead, by its place in the header; None if it was the two.
    """

    opponent: int | None = None
    request: str = ""
    old: str = ""
    new: str = ""
    before: State | None = None
    turns: tuple[Sequence[ReplayStep], Sequence[ReplayStep]] = ((), ())


def find_divergences(pairs: Sequence[GamePair], record_of: Callable[[int], Record]) -> Divergences:
    """Return where the halves of all pairs differ. `record_of` gives the record of a match.

    Raises RecordError where a record isn't one of the engine's.
    """
    groups: dict[tuple[str, str, str], list[tuple[GamePair, DivergenceExample]]] = {}
    opponents: Counter[str] = Counter()
    alike = 0
    points = 0.0
    for pair, old, new in _games(pairs, record_of):
        first = None if old[1].moves == new[1].moves else _first(*old, *new)
        if first is None:
            alike += 1
        elif first.opponent is not None:
            opponents[old[0].bots[first.opponent]] += 1
            points += pair.new - pair.old
        else:
            key = (first.request, first.old, first.new)
            groups.setdefault(key, []).append((pair, _example(pair, *old, first)))
    rows = [_difference(key, members, len(pairs)) for key, members in groups.items()]
    rows.sort(key=lambda row: (-abs(row.contribution), -row.pairs, row.request, row.old, row.new))
    return Divergences(tuple(rows), alike, tuple(opponents.most_common()), points / max(len(pairs), 1))


_Half = tuple[MatchHeader, GameRecord]


def _games(pairs: Iterable[GamePair], record_of: Callable[[int], Record]) -> Iterator[tuple[GamePair, _Half, _Half]]:
    """Yield each pair with both games; a block's records are read once."""
    block, records = -1, []
    for pair in pairs:
        if pair.block != block:
            block, records = pair.block, [record_of(match_of(pair.block, half)) for half in (OLD, NEW)]
        old, new = ((record.header, record.games[pair.game]) for record in records)
        yield pair, old, new


def _first(old: MatchHeader, old_game: GameRecord, new: MatchHeader, new_game: GameRecord) -> _First | None:
    """Return the first choice at which OLD and NEW differ, or the opponent that did; None if the games are alike."""
    seat = old_game.seating.index(OLD)
    halves = list_steps(old, old_game), list_steps(new, new_game)
    turn: list[ReplayStep] = []  # what both halves share of the present turn
    for one, other in zip(*halves, strict=False):
        # Of equal moves nothing but talk can differ.
        if _words(one) == _words(other) or (one.events, one.after) == (other.events, other.after):
            turn = [*(turn if turn and turn[-1].turn == one.turn else ()), one]
            continue
        choices = list(zip(one.answers, other.answers, strict=True))
        mine = next((pair for pair in choices if pair[0].seat == seat), None)
        if mine is None or mine[0].notation == mine[1].notation:
            seats = [left.seat for left, right in choices if left.notation != right.notation]
            return _First(opponent=old_game.seating[seats[0]])
        shared = turn if turn and turn[-1].turn == one.turn else []
        turns = [*shared, one, *_rest(one, halves[0])], [*shared, other, *_rest(other, halves[1])]
        fault = mine[1].fault or mine[0].fault
        if isinstance(mine[0].move, Forfeit) or isinstance(mine[1].move, Forfeit):
            left, right = (f"forfeit ({fault})" if isinstance(each.move, Forfeit) else "play on" for each in mine)
            return _First(None, "whatever is asked", left, right, one.before, turns)
        left, right = (_choice(one.before.board, one.before.hands[seat], seat, given) for given in mine)
        return _First(None, _request_words(one, seat), left, right, one.before, turns)
    return None


def _words(moment: ReplayStep) -> list[str]:
    return [given.notation for given in moment.answers]


def _rest(moment: ReplayStep, later: Iterator[ReplayStep]) -> Iterator[ReplayStep]:
    """Yield what follows a moment in its turn."""
    return takewhile(lambda other: other.turn == moment.turn, later)


def _request_words(moment: ReplayStep, seat: int) -> str:
    """Return in words what was asked."""
    board = moment.before.board
    match board.phase:
        case ChallengeWindow(_, pending, claim):
            whom = ", aimed at it" if pending.target == seat and not claim.block else ""
            return f"to challenge {_claim(pending, claim)}{whom}"
        case BlockWindow(_, pending, _):
            return f"to block {_action(pending)}{', aimed at it' if pending.target == seat else ''}"
        case Proving(_, pending, claim, _):
            return f"challenged: {_claim(pending, claim)}"
        case Losing():
            return "which card to lose"
    return _KINDS[moment.kind]


def _claim(pending: ActionMove, claim: Claim) -> str:
    role = f"{'no ' if claim.denies else ''}{claim.role.value}"
    return f"a block of {_action(pending)} as {role}" if claim.block else f"{_action(pending)} as {role}"


def _action(act: ActionMove) -> str:
    return {"foreign_aid": "foreign aid"}.get(act.action.value, act.action.value)


def _choice(board: Board, hand: Sequence[object], seat: int, given: SeatAnswer) -> str:
    """Return a choice in words: whether it bluffs, and at whom it is aimed."""
    move = given.move
    assert not isinstance(move, Forfeit)
    aimed = move.target if isinstance(move, ActionMove) else None
    words = describe_move(legal_moves.move_payload(move), [_whom(board, seat, other) for other in range(board.seats)])
    if isinstance(move, Block) and move.role not in hand:
        words += " (bluff)"
    if isinstance(move, ActionMove):
        row = board.rules.rule(move.action, aimed is not None)
        if row.claim is not None and (row.claim in hand) is row.denies:
            words += " (bluff)"
    return words if given.fault is None else f"{words} (for a fault: {given.fault})"


def _whom(board: Board, seat: int, other: int) -> str:
    """Describe a player as a target, without a name."""
    if other == seat:
        return "itself"
    living = [at for at in range(board.seats) if board.influence[at] and at != seat]
    if len(living) < 2:
        return "the other"
    rich = board.coins[other] == max(board.coins[at] for at in living)
    cards = "2 cards" if board.influence[other] > 1 else "1 card"
    return f"the richest ({cards})" if rich else f"a poorer one ({cards})"


def _example(pair: GamePair, header: MatchHeader, game: GameRecord, first: _First) -> DivergenceExample:
    assert first.before is not None
    board = first.before.board
    seat = game.seating.index(OLD)
    names = ["it" if at == seat else header.bots[bot] for at, bot in enumerate(game.seating)]
    table = ", ".join(
        f"{name}: {board.influence[at]} card{'s' * (board.influence[at] != 1)}, {board.coins[at]} coins"
        for at, name in enumerate(names)
        if board.influence[at]
    )
    old, new = (_turn_words(turn, names) for turn in first.turns)
    return DivergenceExample(
        match=match_of(pair.block, OLD),
        new_match=match_of(pair.block, NEW),
        game=pair.game,
        turn=board.turn,
        hand=tuple(role.value for role in first.before.hands[seat]),
        table=table,
        old=old,
        new=new,
        old_won=pair.old,
        new_won=pair.new,
    )


def _turn_words(turn: Iterable[ReplayStep], names: Sequence[str]) -> str:
    payloads = [payload for moment in turn for payload in moment.payloads()]
    return describe_events(payloads, names) or "nothing is seen of it"


def _difference(
    key: tuple[str, str, str], members: Sequence[tuple[GamePair, DivergenceExample]], pairs: int
) -> Divergence:
    gains = [pair.new - pair.old for pair, _ in members]
    count = len(gains)
    mean = fsum(gains) / count
    gain = Estimate(mean)
    if count >= _MIN_PAIRS:
        # As if one more pair had differed by a whole game: ten pairs that are alike aren't certain.
        half = 1.96 * sqrt((fsum((each - mean) ** 2 for each in gains) + 1) / (count - 1) / count)
        gain = Estimate(mean, max(-1.0, mean - half), min(1.0, mean + half))
    return Divergence(
        *key,
        pairs=count,
        old_win_rate=fsum(pair.old for pair, _ in members) / count,
        new_win_rate=fsum(pair.new for pair, _ in members) / count,
        contribution=fsum(gains) / pairs,
        win_rate_gain=gain,
        examples=tuple(
            example for _, example in sorted(members, key=lambda member: member[0].old == member[0].new)[:_EXAMPLES]
        ),
    )
