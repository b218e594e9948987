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

FIRST_DEALS = 30  # for every plausible move
MORE_DEALS = 200  # for the recorded move and the best move by the first deals
MIN_GAIN = 0.02  # a move that is better by less in the first deals isn't evaluated further

Message = dict[str, Any]
Move = dict[str, Any]


class UnknownRulesError(Exception):
    """The playouts don't support the rules of a match. The message lists the supported ones."""


@dataclass(frozen=True, slots=True)
class MoveEvaluation:
    """A decision of a seat: the request, the recorded move, and the best move by playouts.

    win_probability: of the seat after its move, 0 to 1, with its standard_error. cost: by how much of a game
    `better_move` is better, measured on other deals than the ones by which it was picked; 0 if no move looked better.
    cost_error: its standard error. margin: the systematic error of playouts of this kind of decision.
    claim_probability: at a challenge, the probability that the claim is true, given the cards that the seat sees.
    step: the index of the decision's step in its turn, from 0.
    """

    game: int
    step: int
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
    """Evaluate the decisions of one seat in one match, with the sample bot `strategist`."""

    def __init__(self) -> None:
        kind = sample("sample:strategist")
        self._strategist: Any = sys.modules[kind.__module__]
        bot: Any = kind()
        bot.best = self._evaluate_options
        bot.sure = False  # evaluate moves with a certain outcome, too
        bot.sitting = self._sitting
        self._bot = bot
        # A request and the index of its move; None: evaluate none.
        self._recorded: tuple[SentLine, Message, int] | None = None
        self._alternatives: list[int] | None = None  # indexes of moves; None: all plausible moves
        self._evaluation: MoveEvaluation | None = None  # of the latest line
        self._problem: Exception | None = None

    def judge(
        self, lines: Sequence[SentLine], games: frozenset[int], choices: Sequence[list[int]] | None = None
    ) -> Iterator[MoveEvaluation]:
        """Yield the decisions in these games, in order. Other games only show the players' behaviour.

        choices: the indexes of the alternatives at each line, as a judge chose; None: all plausible moves. Raises
        UnknownRulesError if the playouts don't support the rules of the match, and what an evaluation raises.
        """
        for number, sent in enumerate(lines):
            message = json.loads(sent.line)
            self._alternatives = None if choices is None else choices[number]
            self._evaluation = None
            self._recorded = None
            if sent.game in games and sent.choice is not None:
                self._recorded = sent, message, sent.choice
            self._bot.reply(message)
            if self._problem is not None:
                raise self._problem
            if message["type"] == "game_start" and not self._bot.imagines:
                raise UnknownRulesError(
                    "review supports games with the base roles or the inquisitor, but without the Reformation"
                )
            if self._evaluation is not None:
                yield self._evaluation

    def _sitting(self, game: Any) -> Any:
        """Return the seat's knowledge. In playouts the seat plays as an average player, without its own habits."""
        bot = self._bot
        habits = [bot.habit(game, player.seat) for player in game.players]
        habits[game.seat] = self._strategist.Habits()
        return self._strategist.Sitting(game, bot.weights, habits, game.random)

    def _evaluate_options(
        self,
        game: Any,
        moves: Sequence[Move],
        start: Callable[[Any, Move], None],
        sitting: Any = None,
        margin: float | None = None,
    ) -> Move:
        """Replace `Strategist.best`: evaluate the alternatives to the recorded move, and return the first move.

        The evaluation, or its exception, is stored for `judge`. start, sitting, margin: as of `Strategist.best`.
        """
        default = moves[0]
        if self._recorded is not None and len(game.legal) > 1:
            recorded_move = game.legal[self._recorded[2]]
            if self._alternatives is not None:
                moves = [game.legal[index] for index in self._alternatives]
            options = [recorded_move, *(move for move in moves if move != recorded_move)]
            try:
                self._evaluation = self._evaluate(game, options, start, sitting or self._sitting(game), margin)
            except Exception as problem:  # the kit would suppress it
                self._problem = problem
        return default

    def _evaluate(
        self, game: Any, options: list[Move], start: Callable[[Any, Move], None], sitting: Any, margin: float | None
    ) -> MoveEvaluation:
        """Return the evaluation of the recorded request. options: the move made, then its alternatives.

        The cost is measured on other deals than those that chose the best move, so that the choice doesn't inflate it.
        """
        assert self._recorded is not None
        sent, request, _ = self._recorded
        shares_by_deal = list(self._play_out(game, options, start, sitting, FIRST_DEALS))
        means = [fmean(shares) for shares in zip(*shares_by_deal, strict=True)]
        best = max(range(len(options)), key=means.__getitem__)
        recorded_shares = [shares[0] for shares in shares_by_deal]
        cost = error = 0.0
        if means[best] > means[0] + MIN_GAIN:
            pairs = list(self._play_out(game, [options[0], options[best]], start, sitting, MORE_DEALS))
            gains = [better - recorded for recorded, better in pairs]
            cost, error = fmean(gains), _standard_error(gains)
            recorded_shares += [recorded for recorded, _ in pairs]
        is_challenge = game.kind == "challenge"
        return MoveEvaluation(
            game=sent.game,
            step=sent.step,
            request=request,
            move=options[0],
            better_move=options[best],
            win_probability=fmean(recorded_shares),
            standard_error=_standard_error(recorded_shares),
            cost=cost,
            cost_error=error,
            margin=self._strategist.MARGIN if margin is None else margin,
            claim_probability=game.odds(game.claim["seat"], game.claim["role"]) if is_challenge else None,
        )

    def _play_out(
        self, game: Any, options: Sequence[Move], start: Callable[[Any, Move], None], sitting: Any, deals: int
    ) -> Iterator[list[float]]:
        """Yield for each sampled deal the seat's share of the win after each option."""
        for _ in range(deals):
            hands, deck = sitting.deal()
            shares = []
            for move in options:
                table = self._strategist.Table(sitting, hands, deck)
                start(table, move)
                shares.append(table.finish(sitting.me, game.actor))
            yield shares


def _standard_error(values: Sequence[float]) -> float:
    return float(stdev(values) / len(values) ** 0.5)
