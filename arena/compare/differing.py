"""Where OLD and NEW differ: the first decision of each pair of games at which they chose otherwise.

Until then both halves of the pair are the same to the letter: one position, one hand, and two choices. What follows is
no longer the same game, but over many pairs the choice is what made the difference. Choices are grouped by what was
asked and what either chose, in words without names: "take tax (bluff)" against "take income".

The points of all groups, with those of the pairs in which an opponent was the first to differ, add up to the difference
of the win shares: a pair without any difference is worth the same to both.
"""

from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass
from math import fsum, sqrt

from arena.compare.comparison import Pair
from arena.compare.config import OLD
from arena.coup import Act, Block, BlockWindow, Board, ChallengeWindow, Claim, Forfeit, Losing, Proving
from arena.referee import GameRecord, Header, Record, menus
from arena.tell import Given, Moment, moments
from protocol.words import story, tell_move

_LEAST = 10  # pairs from which an interval means something
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
class Example:
    """One such decision: OLD's match, the game and the turn; the hand and the table; the rest of the turn in words."""

    match: int
    game: int
    turn: int
    hand: tuple[str, ...]
    table: str
    old: str
    new: str
    old_won: float
    new_won: float


@dataclass(frozen=True, slots=True)
class Difference:
    """All pairs that first differed in the same way. `points`: what they add to the difference of the win shares.

    `pays` is NEW's gain in such a pair, `low` and `high` its 95 % interval, None of too few pairs. Shares, 0 to 1.
    """

    asked: str
    old: str
    new: str
    pairs: int
    old_won: float
    new_won: float
    points: float
    pays: float
    low: float | None
    high: float | None
    examples: tuple[Example, ...]


@dataclass(frozen=True, slots=True)
class Differences:
    """All groups, those first that matter most; how many pairs were alike to the end, or differed by an opponent."""

    groups: tuple[Difference, ...]
    alike: int
    by_opponents: int
    by_opponents_points: float


@dataclass(frozen=True, slots=True)
class _First:
    """The first moment at which the halves of a pair differ, in both, and the choices of OLD and NEW in words."""

    moment: Moment
    other: Moment
    asked: str
    old: str
    new: str


def differences(pairs: Sequence[Pair], record_of: Callable[[int], Record]) -> Differences:
    """Return where the halves of all pairs differ. `record_of` gives the record of a match.

    Raises RecordError where a record isn't one of the engine's.
    """
    found: dict[tuple[str, str, str], list[tuple[Pair, Example]]] = {}
    alike = by_opponents = 0
    lost = 0.0
    for pair, old, new in _games(pairs, record_of):
        header, game = old
        if game.words == new[1].words:
            alike += 1
            continue
        first = _first(*old, *new)
        if first is None:
            by_opponents += 1
            lost += pair.new - pair.old
            continue
        example = _example(pair, header, game, first)
        found.setdefault((first.asked, first.old, first.new), []).append((pair, example))
    groups = [_difference(key, members, len(pairs)) for key, members in found.items()]
    groups.sort(key=lambda group: (-abs(group.points), -group.pairs, group.asked, group.old, group.new))
    return Differences(tuple(groups), alike, by_opponents, lost / max(len(pairs), 1))


_Half = tuple[Header, GameRecord]


def _games(pairs: Iterable[Pair], record_of: Callable[[int], Record]) -> Iterator[tuple[Pair, _Half, _Half]]:
    """Yield each pair with both games; a block's records are read once."""
    block, records = -1, []
    for pair in pairs:
        if pair.block != block:
            block, records = pair.block, [record_of(2 * pair.block + half) for half in (0, 1)]
        old, new = ((record.header, record.games[pair.game]) for record in records)
        yield pair, old, new


def _first(old: Header, old_game: GameRecord, new: Header, new_game: GameRecord) -> _First | None:
    """Return the first moment at which the two chose otherwise; None if an opponent differed before."""
    seat = old_game.seating.index(OLD)
    for one, other in zip(moments(old, old_game), moments(new, new_game), strict=False):
        if one.given == other.given or _words(one) == _words(other):
            continue
        mine, theirs = (next((given for given in half.given if given.seat == seat), None) for half in (one, other))
        if mine is None or theirs is None or mine.word == theirs.word:
            return None
        said = [_choice(one.before.board, one.before.hands[seat], seat, given) for given in (mine, theirs)]
        return _First(one, other, _asked(one, seat), *said)
    return None


def _words(moment: Moment) -> list[str]:
    return [given.word for given in moment.given]


def _asked(moment: Moment, seat: int) -> str:
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


def _claim(pending: Act, claim: Claim) -> str:
    role = f"{'no ' if claim.denies else ''}{claim.role.value}"
    return f"a block of {_action(pending)} as {role}" if claim.block else f"{_action(pending)} as {role}"


def _action(act: Act) -> str:
    return {"foreign_aid": "foreign aid"}.get(act.action.value, act.action.value)


def _choice(board: Board, hand: Sequence[object], seat: int, given: Given) -> str:
    """Return a choice in words: whether it bluffs, and at whom it is aimed."""
    move = given.answer
    if isinstance(move, Forfeit):
        return f"forfeit ({given.fault})"
    aimed = move.target if isinstance(move, Act) else None
    words = tell_move(menus.move_payload(move), [_whom(board, seat, other) for other in range(board.seats)])
    if isinstance(move, Block) and move.role not in hand:
        words += " (bluff)"
    if isinstance(move, Act):
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


def _example(pair: Pair, header: Header, game: GameRecord, first: _First) -> Example:
    state = first.moment.before
    board = state.board
    seat = game.seating.index(OLD)
    names = ["it" if at == seat else header.handles[bot] for at, bot in enumerate(game.seating)]
    table = ", ".join(
        f"{name}: {board.influence[at]} card{'s' * (board.influence[at] != 1)}, {board.coins[at]} coins"
        for at, name in enumerate(names)
        if board.influence[at]
    )
    return Example(
        match=2 * pair.block,
        game=pair.game,
        turn=first.moment.turn,
        hand=tuple(role.value for role in state.hands[seat]),
        table=table,
        old=_followed(first.moment, names) or first.old,
        new=_followed(first.other, names) or first.new,
        old_won=pair.old,
        new_won=pair.new,
    )


def _followed(moment: Moment, names: Sequence[str]) -> str:
    return story(list(moment.payloads()), names)


def _difference(key: tuple[str, str, str], members: Sequence[tuple[Pair, Example]], pairs: int) -> Difference:
    gains = [pair.new - pair.old for pair, _ in members]
    count = len(gains)
    pays = fsum(gains) / count
    low = high = None
    if count >= _LEAST:
        half = 1.96 * sqrt((fsum((gain - pays) ** 2 for gain in gains) + 1) / (count - 1) / count)
        low, high = max(-1.0, pays - half), min(1.0, pays + half)
    return Difference(
        *key,
        pairs=count,
        old_won=fsum(pair.old for pair, _ in members) / count,
        new_won=fsum(pair.new for pair, _ in members) / count,
        points=fsum(gains) / pairs,
        pays=pays,
        low=low,
        high=high,
        examples=tuple(
            example for _, example in sorted(members, key=lambda member: member[0].old == member[0].new)[:_EXAMPLES]
        ),
    )
