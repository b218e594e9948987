"""Find pairs of bots that favour each other at a table, beyond what strength and style explain.

A game has one winner, and its losers are equal. So collusion has one of two forms.

- A bot a gives wins to a bot b: b won more than its part of the games that either won. By the fit, this part depends
  little on the other bots at the table. So b's wins among the wins of both are almost binomial.
- Both gain: together they won more games than the fit expects. The number is binomial, or varies less.

A bot whose style is strong against another bot also wins more against it. So the variances are increased by two
effects. `style_variances` estimates the effects of style between opponents in this field, without the tested pair,
because collusion would otherwise hide itself. The dispersion of matches divides the games of the binomial, because the
games of a match aren't independent. One-way collusion is found only if it is much larger than the effects of style. The
test whether both gain hardly depends on style. Between bots of very different strength, the model's error counts, too.

A finding is an accusation, and most fields have no collusion. So the tests limit the probability of any false finding
in a field, by Bonferroni: each p is multiplied by the number of tests. A limit on the part of false findings (Benjamini
and Hochberg) would accept that one finding in twenty accuses the innocent."""

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from itertools import combinations

import numpy as np

from arena.rating import Fit
from arena.rating.laplace_approximation import Posterior
from arena.rating.matches import Floats
from arena.rating.winner_model import win_probabilities


@dataclass(frozen=True, slots=True)
class CollusionFinding:
    """The wins of two bots in the games that both played, and the wins that the fit of all games expects."""

    bots: tuple[int, int]
    """Giver and receiver if `one_way`, else in ascending order."""
    one_way: bool
    """Whether the first bot gives wins to the second; else both gain."""
    games: int
    matches: int
    wins: tuple[float, float]
    expected: tuple[float, float]
    p: float
    """The probability, at most, that a field without collusion has a finding as clear as this."""


MIN_PAIR_MATCHES = 10  # with fewer matches of a pair, the other bots at the tables matter more than the pair
# Standard deviation of the model's error in the log-odds between two bots, as a part of them. Where the winners are by
# Plackett-Luce, the normal model expects too few wins of a bot that is far weaker: without this, 17 % of long ladders
# of very different bots had a finding.
MODEL_ERROR = 0.1
MAX_P = 0.05  # of a finding, corrected for the number of tests
TESTS_PER_PAIR = 3  # the first bot gives to the second, the second gives to the first, both gain


def find_collusion(fit: Fit, authors: Mapping[int, int] | None = None) -> tuple[CollusionFinding, ...]:
    """Return the findings in ascending order of p. In a field without collusion, P(any finding) is at most MAX_P.

    All bots are tested, including inactive ones. authors: bot -> author; if given, the findings are about pairs of
    authors, and the results of an author's bots are added.
    """
    if fit.posterior is None or not fit.win_rates.has_intervals:
        return ()
    sums = _PairSums(fit, fit.posterior, authors)
    style_variances = sums.style_variances()
    gift_to_second, gift_to_first = sums.gift_probabilities(style_variances)
    joint_gain = sums.joint_gain_probabilities(style_variances)
    tests = TESTS_PER_PAIR * max(1, len(sums.matches))
    findings: list[CollusionFinding] = []
    for probabilities, order, one_way in (
        (gift_to_second, (0, 1), True),
        (gift_to_first, (1, 0), True),
        (joint_gain, (0, 1), False),
    ):
        for pair in np.flatnonzero(probabilities * tests < MAX_P):
            findings.append(sums.make_finding(int(pair), order, one_way, float(probabilities[pair] * tests)))
    return tuple(sorted(findings, key=lambda finding: (finding.p, finding.bots)))


class _PairSums:
    """The pairs that met in MIN_PAIR_MATCHES matches or more, and sums over the matches of each pair.

    bots: (pairs, 2), ascending in a row. matches, games: (pairs,). wins, expected: (pairs, 2), expected by the fit.
    At each table of a match, bots are in ascending order, too: columns of arrays (M, seats) are places in this order.
    Such arrays are the bots, their wins, chances of a win in a game and surplus of wins by the fit, and its variance.
    """

    def __init__(self, fit: Fit, posterior: Posterior, authors: Mapping[int, int] | None) -> None:
        numbers = np.array([bot if authors is None else authors[bot] for bot in fit.present.tolist()])
        order = np.argsort(numbers[fit.matches.tables], axis=1, kind="stable")
        tables = np.take_along_axis(fit.matches.tables, order, 1)
        self._wins = np.take_along_axis(fit.matches.wins, order, 1)
        self._chances = np.take_along_axis(win_probabilities(posterior.strengths, fit.matches), order, 1)
        self._decided_games = self._wins.sum(1)  # (M,): without games that no bot won
        self._bots, self._size = numbers[tables], int(numbers.max()) + 1
        self._number_pairs()
        fair_wins = self._chances * self._decided_games[:, None]
        self.games = self._sum(lambda a, b: fit.matches.games)
        self.wins = self._sum_columns(self._wins)
        self.expected = self._sum_columns(fair_wins)
        self._surplus = self._wins - fair_wins
        self._variance = fair_wins * (1 - self._chances)  # of wins, if games are independent
        self._dispersion = max(1.0, float((self._surplus**2).sum() / max(self._variance.sum(), 1e-9)))
        self._is_active = np.isin(tables, np.flatnonzero(np.isin(fit.present, fit.field.playing())))

    def _number_pairs(self) -> None:
        """Set bots and matches, and for each match the number of the tested pair in each two places, -1 without one."""
        self._seats = np.array(list(combinations(range(self._bots.shape[1]), 2)))
        first, second = self._bots[:, self._seats[:, 0]], self._bots[:, self._seats[:, 1]]
        keys, indices, counts = np.unique((first * self._size + second).T, return_inverse=True, return_counts=True)
        is_tested = (counts >= MIN_PAIR_MATCHES) & (keys // self._size != keys % self._size)
        pairs = np.where(is_tested, np.cumsum(is_tested) - 1, -1)
        self._pairs = pairs[indices].reshape(len(self._seats), -1)  # (pairs of seats, M)
        self.bots = np.stack([keys[is_tested] // self._size, keys[is_tested] % self._size], axis=1)
        self.matches = counts[is_tested]

    def make_finding(self, pair: int, order: tuple[int, int], one_way: bool, p: float) -> CollusionFinding:
        """Return the finding about a pair, whose bots it lists in this order of columns."""
        first, second = order
        return CollusionFinding(
            bots=(int(self.bots[pair, first]), int(self.bots[pair, second])),
            one_way=one_way,
            games=int(self.games[pair]),
            matches=int(self.matches[pair]),
            wins=(float(self.wins[pair, first]), float(self.wins[pair, second])),
            expected=(float(self.expected[pair, first]), float(self.expected[pair, second])),
            p=p,
        )

    def _sum(self, value: Callable[[int, int], Floats]) -> Floats:
        """Return, for each pair, the sum of `value(first seat, second seat)` over its matches. value: (M,)."""
        total = np.zeros(len(self.bots) + 1)
        for (first, second), pairs in zip(self._seats.tolist(), self._pairs, strict=True):
            total += np.bincount(pairs + 1, value(first, second), len(total))
        return total[1:]

    def _sum_columns(self, values: Floats) -> Floats:
        """Return (pairs, 2): the sums of the first and the second bot's values over a pair's matches.

        values: (M, seats).
        """
        return np.stack([self._sum(lambda a, b: values[:, a]), self._sum(lambda a, b: values[:, b])], axis=1)

    def _sum_third_squares(self, value: Callable[[int, int, int], Floats]) -> Floats:
        """Return, for each pair, the sum over third bots of the squared sum of `value` over the matches of the three.

        `value(first seat, second seat, third seat)` is (M,).
        """
        keys, values = [np.zeros(0, dtype=np.int64)], [np.zeros(0)]
        for (first, second), pairs in zip(self._seats.tolist(), self._pairs, strict=True):
            is_tested = pairs >= 0
            for third in set(range(self._bots.shape[1])) - {first, second}:
                keys.append((pairs * self._size + self._bots[:, third])[is_tested])
                values.append(value(first, second, third)[is_tested])
        triples, indices = np.unique(np.concatenate(keys), return_inverse=True)
        sums = np.bincount(indices, np.concatenate(values), len(triples))
        return np.bincount(triples // self._size, sums**2, len(self.bots)).astype(np.float64)

    def style_variances(self) -> Floats:
        """Return, for each pair, gamma^2: the variance of style effects, estimated from all other pairs.

        Let U be one bot's wins beyond the fit minus the other's, of active bots. Independent games give it the variance
        v; style adds gamma^2 v^2. The fit uses n - 1 of the n (n - 1) / 2 dimensions. Shared tables shrink the rest, by
        the part of a pair's tables that a third bot sits at.
        """
        active, surplus, variance = self._is_active, self._surplus, self._variance
        differences = self._sum(lambda a, b: active[:, a] * active[:, b] * (surplus[:, a] - surplus[:, b]))
        covariance = 2 * self._chances * self._decided_games[:, None]
        variances = self._sum(
            lambda a, b: (
                active[:, a] * active[:, b] * (variance[:, a] + variance[:, b] + covariance[:, a] * self._chances[:, b])
            )
        )
        active_bots, seats = len(np.unique(self._bots[active])), self._bots.shape[1]
        unshared_share = 1 - (seats - 2) / max(active_bots - 2, seats - 1)
        free_share = 1 - 2 / max(active_bots, 3)
        u2, v, v2 = (values.sum() - values for values in (differences**2, variances, variances**2))  # of other pairs
        excess = u2 / free_share / unshared_share - v
        return np.asarray((excess / np.maximum(unshared_share * v2, 1e-9)).clip(min=0.0))

    def _expected_share_of_second(self, pair_wins: Floats) -> Floats:
        """Return the share of the games won by either bot of a pair that the fit expects the second bot to win."""
        chances, wins = self._chances, self._wins
        second_wins = self._sum(
            lambda a, b: (wins[:, a] + wins[:, b]) * chances[:, b] / np.maximum(chances[:, a] + chances[:, b], 1e-300)
        )
        return np.asarray(np.where(pair_wins > 0, second_wins / np.maximum(pair_wins, 1e-9), 0.5))

    def gift_probabilities(self, style_variances: Floats) -> tuple[Floats, Floats]:
        """Return the probabilities, by pair, that the second bot, and that the first, wins as many games or more.

        These are the p-values of gifts to it, given the wins of both bots. style_variances: by pair.
        A style effect c raises a bot's log-strength by c against an opponent l and lowers l's by c. It increases the
        second bot's share of the wins of both by share (1 - share) c; by twice that if l is the other bot of the pair.
        """
        pair_wins, expected_wins = self.wins.sum(1), self.expected.sum(1)
        share = self._expected_share_of_second(pair_wins)
        share_variance = share * (1 - share)
        chances = self._chances
        third_squares = self._sum_third_squares(lambda a, b, c: self._decided_games * (chances[:, a] + chances[:, b]))
        effects = 4 * expected_wins**2 + 2 * third_squares
        log_odds = np.log(share.clip(1e-9, 1.0) / (1 - share).clip(1e-9, 1.0))
        ratio = self._dispersion + style_variances * share_variance * effects / np.maximum(expected_wins, 1e-9)
        ratio += pair_wins * share_variance * (MODEL_ERROR * log_odds) ** 2
        return (
            _tail_probability(self.wins[:, 1], pair_wins, share, ratio),
            _tail_probability(self.wins[:, 0], pair_wins, 1 - share, ratio),
        )

    def joint_gain_probabilities(self, style_variances: Floats) -> Floats:
        """Return the probabilities, by pair, that both bots together win as many games or more.

        style_variances: by pair.

        A style effect c of a bot against an opponent l increases the games won by both by p (1 - q) c + p_l q c, where
        p is the win probability of the bot with the advantage, p_l that of l, and q that of both bots of the pair.
        """
        chances, decided_games = self._chances, self._decided_games
        games = self._sum(lambda a, b: decided_games)
        pair_chance = self.expected.sum(1) / np.maximum(games, 1e-9)

        def gain(a: int, b: int, c: int) -> Floats:
            q = chances[:, a] + chances[:, b]
            return np.asarray(decided_games * (chances[:, a] * (1 - q) + chances[:, c] * q))

        inner = self._sum(
            lambda a, b: decided_games * (chances[:, a] - chances[:, b]) * (1 - chances[:, a] - chances[:, b])
        )
        effects = inner**2 + self._sum_third_squares(gain) + self._sum_third_squares(lambda a, b, c: gain(b, a, c))
        variance = np.maximum(games * pair_chance * (1 - pair_chance), 1e-9)
        ratio = self._dispersion + style_variances * effects / variance
        return _tail_probability(self.wins.sum(1), games, pair_chance, ratio)


def _tail_probability(wins: Floats, games: Floats, chance: Floats, ratio: Floats) -> Floats:
    """Return the binomial probability of `wins` or more, with wins and games divided by `ratio`, the overdispersion."""
    from scipy.special import betainc  # slow to import: see `arena.rating`

    scaled_wins, scaled_losses = wins / ratio, (games - wins) / ratio
    tail: Floats = np.where(scaled_wins > 0, betainc(np.maximum(scaled_wins, 1e-9), scaled_losses + 1, chance), 1.0)
    return tail
