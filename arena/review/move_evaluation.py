"""Evaluate each move of a decision by playouts of the sample bot `strategist`.

`strategist` is the strongest sample bot that explains its decisions.

The evaluation reads the lines that a seat was sent, as a bot does, and samples the hidden cards. A claim makes a card
likelier, according to the other players' behaviour in this match, and no player is dealt an impossible card. Each
sampled deal is played to its end once for each move, with the same behaviour."""

import json
import sys
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from statistics import fmean, stdev
from typing import Any

from arena.local import sample
from arena.referee import SentLine

FIRST_DEALS = 30  # for every move that is worth a thought
MORE_DEALS = 200  # for the move that was made, and the one that seemed the best
MIN_GAIN = 0.02  # a move that seems better by no more than this isn't looked at again

Message = dict[str, Any]
Move = dict[str, Any]


class UnknownRulesError(Exception):
    """The playouts don't know the rules of a match. Says which they know."""


@dataclass(frozen=True, slots=True)
class MoveEvaluation:
    """A decision of a seat: the request, the move that was made, and the one that the playouts like best.

    win_probability: of the seat after its move, 0 to 1; standard_error: of that. cost: by how much `better_move` is
    better, measured on other deals than those by which it was picked; 0 where nothing seemed better. cost_error: its
    standard error. margin: what playouts of this kind of decision are wrong by. claim_probability: at a challenge, how
    likely the claim is true by the cards that the seat sees, else None.
    """

    game: int
    request: Message
    move: Move
    better_move: Move
    win_probability: float
    standard_error: float
    cost: float
    cost_error: float
    margin: float
    claim_probability: float | None


class MoveEvaluator:
    """Follows a bot through a match. Raises UnknownRulesError at a match of other rules."""

    def __init__(self) -> None:
        kind = sample("sample:strategist")
        self._code: Any = sys.modules[kind.__module__]
        bot: Any = kind()
        bot.best = self._weigh
        bot.sure = False  # what is certain has its worth, too
        bot.sitting = self._sitting
        self._bot = bot
        self._chosen: int | None = None
        self._weighed: tuple[Any, ...] | None = None
        self._problem: Exception | None = None

    def judge(self, lines: Sequence[SentLine], games: frozenset[int]) -> Iterator[MoveEvaluation]:
        """Yield the decisions of these games, in order. The other games show how the others behave."""
        for each in lines:
            message = json.loads(each.line)
            self._weighed = None
            self._chosen = each.choice if each.game in games else None
            self._bot.reply(message)
            if self._problem is not None:
                raise self._problem
            if message["type"] == "game_start" and not self._bot.imagines:
                raise UnknownRulesError(
                    "the playouts know games with the five roles, or the inquisitor, and without the Reformation"
                )
            if self._weighed is not None:
                yield MoveEvaluation(each.game, message, *self._weighed)

    def _sitting(self, game: Any) -> Any:
        """Return what the seat knows. It plays on as common players do: its own faults would hide one another."""
        bot = self._bot
        habits = [bot.habit(game, player.seat) for player in game.players]
        habits[game.seat] = self._code.Habits()
        return self._code.Sitting(game, bot.weights, habits, game.random)

    def _weigh(
        self,
        game: Any,
        moves: Sequence[Move],
        start: Callable[[Any, Move], None],
        sitting: Any = None,
        margin: float | None = None,
    ) -> Move:
        """Stand in for `Strategist.best`, which a request asks with the moves that are worth a thought."""
        if self._chosen is not None and len(game.legal) > 1:
            made = game.legal[self._chosen]
            options = [made, *(move for move in moves if move != made)]
            try:
                self._weighed = self._worth(game, options, start, sitting or self._sitting(game), margin)
            except Exception as problem:  # the kit would swallow it
                self._problem = problem
        return moves[0]

    def _worth(
        self, game: Any, options: list[Move], start: Callable[[Any, Move], None], sitting: Any, margin: float | None
    ) -> tuple[Any, ...]:
        margin = self._code.MARGIN if margin is None else margin
        played = list(self._play(game, options, start, sitting, FIRST_DEALS))
        means = [fmean(each[number] for each in played) for number in range(len(options))]
        best = max(range(len(options)), key=means.__getitem__)
        chances = [each[0] for each in played]
        given = error = 0.0
        if means[best] > means[0] + MIN_GAIN:
            more = list(self._play(game, [options[0], options[best]], start, sitting, MORE_DEALS))
            gains = [better - made for made, better in more]
            given, error = fmean(gains), _error(gains)
            chances += [made for made, _ in more]
        likely = game.odds(game.claim["seat"], game.claim["role"]) if game.kind == "challenge" else None
        return options[0], options[best], fmean(chances), _error(chances), given, error, margin, likely

    def _play(
        self, game: Any, options: Sequence[Move], start: Callable[[Any, Move], None], sitting: Any, deals: int
    ) -> Iterator[list[float]]:
        """Yield for each imagined deal our part of the game after each option."""
        for _ in range(deals):
            hands, deck = sitting.deal()
            parts = []
            for move in options:
                table = self._code.Table(sitting, hands, deck)
                start(table, move)
                parts.append(table.finish(sitting.me, game.actor))
            yield parts


def _error(values: Sequence[float]) -> float:
    return float(stdev(values) / len(values) ** 0.5)
