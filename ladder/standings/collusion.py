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
TESTS_PER_PAIR = 3  # the first bot gives to the second, the second gives to the first, both gain


def find_collusion(
    fit: Fit, author: Mapping[int, int] | None = None, level: float = 0.05
) -> tuple[CollusionFinding, ...]:
    """Return the findings in ascending order of p. In a field without collusion, P(any finding) is at most `level`.

    All bots are tested, including inactive ones. author: bot -> author; if given, the findings are about pairs of
    authors, and the results of an author's bots are added.
    """
    if fit.posterior is None or not fit.win_rates.has_intervals:
        return ()
    sums = _PairSums(fit, fit.posterior, author)
    one_way, together = sums.tail_probabilities(sums.style_variances())
    tests = TESTS_PER_PAIR * max(1, len(sums.matches))
    rows: list[CollusionFinding] = []
    for kind, probabilities in enumerate((*one_way, together)):
        for pair in np.flatnonzero(probabilities * tests < level):
            order = [1, 0] if kind == 1 else [0, 1]
            first, second = order
            finding = CollusionFinding(
                bots=(int(sums.bots[pair, first]), int(sums.bots[pair, second])),
                one_way=kind < 2,
                games=int(sums.games[pair]),
                matches=int(sums.matches[pair]),
                wins=(float(sums.wins[pair, first]), float(sums.wins[pair, second])),
                expected=(float(sums.expected[pair, first]), float(sums.expected[pair, second])),
                p=float(probabilities[pair] * tests),
            )
            rows.append(finding)
    return tuple(sorted(rows, key=lambda row: (row.p, row.bots)))


class _PairSums:
    """The pairs that met in MIN_PAIR_MATCHES matches or more, and sums over the matches of each pair.

    bots: (pairs, 2), ascending in a row. matches, games: (pairs,). wins, expected: (pairs, 2), expected by the fit."""

    def __init__(self, fit: Fit, posterior: Posterior, author: Mapping[int, int] | None) -> None:
        names = np.array([bot if author is None else author[bot] for bot in fit.present.tolist()])
        order = np.argsort(names[fit.matches.tables], axis=1, kind="stable")  # each pair in ascending order
        tables = np.take_along_axis(fit.matches.tables, order, 1)
        self._chance = np.take_along_axis(win_probabilities(posterior.strengths, fit.matches), order, 1)
        won = np.take_along_axis(fit.matches.wins, order, 1)
        self._decided = won.sum(1)
        self._names, self._size = names[tables], int(names.max()) + 1
        self._seats = np.array(list(combinations(range(tables.shape[1]), 2)))
        first, second = self._names[:, self._seats[:, 0]], self._names[:, self._seats[:, 1]]
        keys, indices, counts = np.unique((first * self._size + second).T, return_inverse=True, return_counts=True)
        is_tested = (counts >= MIN_PAIR_MATCHES) & (keys // self._size != keys % self._size)
        number = np.where(is_tested, np.cumsum(is_tested) - 1, -1)
        self._places = number[indices].reshape(len(self._seats), -1)  # (pairs of seats, M)
        self.bots = np.stack([keys[is_tested] // self._size, keys[is_tested] % self._size], axis=1)
        self.matches = counts[is_tested]
        self.games = self._sum(lambda a, b: fit.matches.games)
        self.wins = np.stack([self._sum(lambda a, b: won[:, a]), self._sum(lambda a, b: won[:, b])], axis=1)
        fair = self._chance * self._decided[:, None]
        self.expected = np.stack([self._sum(lambda a, b: fair[:, a]), self._sum(lambda a, b: fair[:, b])], axis=1)
        self._second_part = self._expected_second_part(self._chance, won)
        beyond, variance = won - fair, fair * (1 - self._chance)
        self._dispersion = max(1.0, float((beyond**2).sum() / max(variance.sum(), 1e-9)))

        # The squared difference of each pair's wins beyond expectation, and its variance if games are independent.
        playing = np.flatnonzero(np.isin(fit.present, fit.field.playing()))
        active = np.isin(tables, playing)
        self._playing = len(np.unique(self._names[active]))
        apart = self._sum(lambda a, b: active[:, a] * active[:, b] * (beyond[:, a] - beyond[:, b]))
        self._squares = apart**2
        cross = 2 * self._chance * self._decided[:, None]
        self._variances = self._sum(
            lambda a, b: (
                active[:, a] * active[:, b] * (variance[:, a] + variance[:, b] + cross[:, a] * self._chance[:, b])
            )
        )

    def _expected_second_part(self, chance: Floats, won: Floats) -> Floats:
        """Return the part of the games won by either bot of a pair that the fit expects the second bot to win."""
        either = self.wins.sum(1)
        part = self._sum(
            lambda a, b: (won[:, a] + won[:, b]) * chance[:, b] / np.maximum(chance[:, a] + chance[:, b], 1e-300)
        )
        return np.asarray(np.where(either > 0, part / np.maximum(either, 1e-9), 0.5))

    def _sum(self, value: Callable[[int, int], Floats]) -> Floats:
        """Return, for each pair, the sum of `value(first seat, second seat)` over its matches. value: (M,)."""
        total = np.zeros(len(self.bots) + 1)
        for (one, other), places in zip(self._seats.tolist(), self._places, strict=True):
            total += np.bincount(places + 1, value(one, other), len(total))
        return total[1:]

    def _sum_third_squares(self, value: Callable[[int, int, int], Floats]) -> Floats:
        """Return, for each pair, the sum over third bots of the squared sum of `value` over the matches of the three.

        `value(first seat, second seat, third seat)` is (M,).
        """
        keys, values = [np.zeros(0, dtype=np.int64)], [np.zeros(0)]
        for (one, other), places in zip(self._seats.tolist(), self._places, strict=True):
            for third in set(range(self._names.shape[1])) - {one, other}:
                kept = places >= 0
                keys.append((places * self._size + self._names[:, third])[kept])
                values.append(value(one, other, third)[kept])
        known, places = np.unique(np.concatenate(keys), return_inverse=True)
        sums = np.bincount(places, np.concatenate(values), len(known))
        return np.bincount(known // self._size, sums**2, len(self.bots)).astype(np.float64)

    def style_variances(self) -> Floats:
        """Return, for each pair, gamma^2: the variance of style effects, estimated from all other pairs.

        Let U be one bot's wins beyond the fit minus the other's. Independent games give it the variance v; style adds
        gamma^2 v^2. The fit uses n - 1 of the n (n - 1) / 2 dimensions. Shared tables shrink the rest, by the part of a
        pair's tables that a third bot sits at.
        """
        bots, seats = self._playing, self._names.shape[1]
        left = 1 - (seats - 2) / max(bots - 2, seats - 1)
        kept = 1 - 2 / max(bots, 3)
        others = [values.sum() - values for values in (self._squares, self._variances, self._variances**2)]
        return np.asarray(((others[0] / kept / left - others[1]) / np.maximum(left * others[2], 1e-9)).clip(min=0.0))

    def tail_probabilities(self, style_variance: Floats) -> tuple[tuple[Floats, Floats], Floats]:
        """Return the probabilities of at least the observed wins: ((second bot's, first bot's), both bots').

        A style effect c raises a bot's log-strength by c against an opponent l and lowers l's by c. It increases the
        second bot's part of the wins of both by part (1 - part) c; by twice that if l is the other bot of the pair.
        It increases the games won by both by p (1 - q) c + p_l q c, where p is the win probability of the bot with the
        advantage, p_l that of l, and q that of both bots of the pair.
        """
        either, part = self.wins.sum(1), self._second_part
        free = part * (1 - part)
        met = self._sum_third_squares(lambda a, b, c: self._decided * (self._chance[:, a] + self._chance[:, b]))
        more = 4 * self.expected.sum(1) ** 2 + 2 * met
        log_odds = np.log(part.clip(1e-9, 1.0) / (1 - part).clip(1e-9, 1.0))
        ratio = self._dispersion + style_variance * free * more / np.maximum(self.expected.sum(1), 1e-9)
        ratio += either * free * (MODEL_ERROR * log_odds) ** 2
        given = (
            _tail_probability(self.wins[:, 1], either, part, ratio),
            _tail_probability(self.wins[:, 0], either, 1 - part, ratio),
        )
        games = self._sum(lambda a, b: self._decided)
        both = self.expected.sum(1) / np.maximum(games, 1e-9)
        chance, decided = self._chance, self._decided

        def gain(a: int, b: int, c: int) -> Floats:
            q = chance[:, a] + chance[:, b]
            return np.asarray(decided * (chance[:, a] * (1 - q) + chance[:, c] * q))

        own = self._sum(lambda a, b: decided * (chance[:, a] - chance[:, b]) * (1 - chance[:, a] - chance[:, b]))
        owed = own**2 + self._sum_third_squares(gain) + self._sum_third_squares(lambda a, b, c: gain(b, a, c))
        variance = np.maximum(games * both * (1 - both), 1e-9)
        return given, _tail_probability(either, games, both, self._dispersion + style_variance * owed / variance)


def _tail_probability(wins: Floats, games: Floats, chance: Floats, ratio: Floats) -> Floats:
    """Return the binomial probability of `wins` or more, with wins and games divided by `ratio`, the overdispersion."""
    from scipy.special import betainc  # slow to import: see `arena.rating`

    won, lost = wins / ratio, (games - wins) / ratio
    tail: Floats = np.where(won > 0, betainc(np.maximum(won, 1e-9), lost + 1, chance), 1.0)
    return tail
