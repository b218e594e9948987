"""Find pairs of bots that favour each other at a table, beyond what strength and style explain.

At a table where one wins and the others are equal, collusion looks like one of two things.

- One gives to the other: of the games that either won, the other won more than its part. That part is the same at all
  tables, e^{s_b} / (e^{s_a} + e^{s_b}), with any other bots. So the wins of one among those of both are binomial.
- They play together: both of them won more games than the fit expects. Their number is binomial, or varies less.

A bot whose style suits it against another wins more against it, too. So variances are made larger by what opponents owe
one another in this field (`styles`, without the pair that is looked at, which else would hide itself), and by how much
more its matches vary than games do: the binomial is of fewer games by that factor. Gifts can't be distinguished from
style where it isn't much more than that; what both gain hardly depends on style.

A report is an accusation, and most fields have no bot to accuse. So it is the chance of a single false report in a
whole field that is kept small, by Bonferroni: each chance is multiplied with the number of all that were looked at. To
control the part of reports that are false (Benjamini and Hochberg) would let one in twenty accuse the innocent.
"""

from collections.abc import Callable, Mapping
from itertools import combinations

import numpy as np

from ladder.rating.estimate import CollusionFinding
from ladder.rating.matches import Floats
from ladder.rating.plackett_luce import win_probabilities
from ladder.rating.posterior import Posterior
from ladder.rating.strengths import Fit

MIN_PAIR_MATCHES = 10  # matches of a pair: with fewer, their tables matter more than they do
TESTS_PER_PAIR = 3  # of each pair: one gives to the other, the other to the one, both gain


def find_collusion(
    fit: Fit, author: Mapping[int, int] | None = None, level: float = 0.05
) -> tuple[CollusionFinding, ...]:
    """Return the favours, the clearest first. In a field without any there is one or more in a chance of `level`.

    All bots are looked at, also those that have left. With `author`, which says of each bot whose version it is, a
    favour is between authors: its numbers are theirs, and add up over the versions.
    """
    if fit.posterior is None or not fit.shares.known:
        return ()
    met = _Met(fit, fit.posterior, author)
    given, together = met.chances(met.styles())
    tests = TESTS_PER_PAIR * max(1, len(met.matches))
    rows: list[CollusionFinding] = []
    for kind, each in enumerate((*given, together)):
        for pair in np.flatnonzero(each * tests < level):
            order = [1, 0] if kind == 1 else [0, 1]
            one, other = met.bots[pair, order].tolist()
            won, fair = met.wins[pair, order].tolist(), met.expected[pair, order].tolist()
            games, matches = int(met.games[pair]), int(met.matches[pair])
            p = float(each[pair] * tests)
            rows.append(
                CollusionFinding((one, other), kind < 2, games, matches, (won[0], won[1]), (fair[0], fair[1]), p)
            )
    return tuple(sorted(rows, key=lambda row: (row.p, row.bots)))


class _Met:
    """The pairs that have met in LEAST matches, and sums over the matches of each."""

    def __init__(self, fit: Fit, posterior: Posterior, author: Mapping[int, int] | None) -> None:
        names = np.array([bot if author is None else author[bot] for bot in fit.present.tolist()])
        order = np.argsort(names[fit.matches.tables], axis=1, kind="stable")  # so a pair comes in one order
        tables = np.take_along_axis(fit.matches.tables, order, 1)
        self._chance = np.take_along_axis(win_probabilities(posterior.strengths, fit.matches), order, 1)
        won = np.take_along_axis(fit.matches.wins, order, 1)
        self._decided = won.sum(1)
        self._names, self._size = names[tables], int(names.max()) + 1
        self._seats = np.array(list(combinations(range(tables.shape[1]), 2)))
        one, other = self._names[:, self._seats[:, 0]], self._names[:, self._seats[:, 1]]
        known, places, count = np.unique((one * self._size + other).T, return_inverse=True, return_counts=True)
        often = (count >= MIN_PAIR_MATCHES) & (known // self._size != known % self._size)
        number = np.where(often, np.cumsum(often) - 1, -1)
        self._places = number[places].reshape(len(self._seats), -1)  # (pairs of seats, M)
        self.bots = np.stack([known[often] // self._size, known[often] % self._size], axis=1)
        self.matches = count[often]
        self.games = self._sum(lambda a, b: fit.matches.games)
        self.wins = np.stack([self._sum(lambda a, b: won[:, a]), self._sum(lambda a, b: won[:, b])], axis=1)
        fair = self._chance * self._decided[:, None]
        self.expected = np.stack([self._sum(lambda a, b: fair[:, a]), self._sum(lambda a, b: fair[:, b])], axis=1)
        self._part = self._mean(self._chance, won)
        beyond, variance = won - fair, fair * (1 - self._chance)
        self._varies = max(1.0, float((beyond**2).sum() / max(variance.sum(), 1e-9)))

        # What each pair won beyond what was expected, and what independent games make of it.
        playing = np.flatnonzero(np.isin(fit.present, fit.field.playing()))
        active = np.isin(tables, playing)
        self._playing = len(np.unique(self._names[active]))
        apart = self._sum(lambda a, b: active[:, a] * active[:, b] * (beyond[:, a] - beyond[:, b]))
        self._added = apart**2
        cross = 2 * self._chance * self._decided[:, None]
        self._chanced = self._sum(
            lambda a, b: (
                active[:, a] * active[:, b] * (variance[:, a] + variance[:, b] + cross[:, a] * self._chance[:, b])
            )
        )

    def _mean(self, chance: Floats, won: Floats) -> Floats:
        """Return the second's part of what either won, as the fit expects it."""
        either = self.wins.sum(1)
        part = self._sum(
            lambda a, b: (won[:, a] + won[:, b]) * chance[:, b] / np.maximum(chance[:, a] + chance[:, b], 1e-300)
        )
        return np.asarray(np.where(either > 0, part / np.maximum(either, 1e-9), 0.5))

    def _sum(self, value: Callable[[int, int], Floats]) -> Floats:
        """Return the sums over the matches of each pair, of a value (M,) of two seats."""
        total = np.zeros(len(self.bots) + 1)
        for (one, other), places in zip(self._seats.tolist(), self._places, strict=True):
            total += np.bincount(places + 1, value(one, other), len(total))
        return total[1:]

    def _squares(self, value: Callable[[int, int, int], Floats]) -> Floats:
        """Return the sums over third bots of the square of a value (M,) of three seats, summed over their matches."""
        keys, values = [np.zeros(0, dtype=np.int64)], [np.zeros(0)]
        for (one, other), places in zip(self._seats.tolist(), self._places, strict=True):
            for third in set(range(self._names.shape[1])) - {one, other}:
                kept = places >= 0
                keys.append((places * self._size + self._names[:, third])[kept])
                values.append(value(one, other, third)[kept])
        known, places = np.unique(np.concatenate(keys), return_inverse=True)
        sums = np.bincount(places, np.concatenate(values), len(known))
        return np.bincount(known // self._size, sums**2, len(self.bots)).astype(np.float64)

    def styles(self) -> Floats:
        """Return, for each pair, the variance of what the bots of all other pairs owe one another.

        U, what one of a pair won beyond the fit less what the other did, has by chance the variance v, and by what they
        owe one another gamma^2 v^2. The fit has taken n - 1 of the n (n - 1) / 2 dimensions, and where pairs share
        tables, the rest is smaller: by the part of a pair's tables at which a third bot sits.
        """
        bots, seats = self._playing, self._names.shape[1]
        left = 1 - (seats - 2) / max(bots - 2, seats - 1)
        kept = 1 - 2 / max(bots, 3)
        others = [values.sum() - values for values in (self._added, self._chanced, self._chanced**2)]
        return np.asarray(((others[0] / kept / left - others[1]) / np.maximum(left * others[2], 1e-9)).clip(min=0.0))

    def chances(self, gamma2: Floats) -> tuple[tuple[Floats, Floats], Floats]:
        """Return the probabilities of as many wins or more: of each pair's second, of its first, and of both.

        An opponent l that owes a bot c makes its height larger by c, and its own lower. Of the wins of both, this
        many more are the second's: part (1 - part) c, and twice that where they owe one another. Of all games, this
        many more are won by both, where p is the chance of the one that gains and q of both: p (1 - q) c + p_l q c.
        """
        either, part = self.wins.sum(1), self._part
        free = part * (1 - part)
        met = self._squares(lambda a, b, c: self._decided * (self._chance[:, a] + self._chance[:, b]))
        more = 4 * self.expected.sum(1) ** 2 + 2 * met
        ratio = self._varies + gamma2 * free * more / np.maximum(self.expected.sum(1), 1e-9)
        given = (
            _tail(self.wins[:, 1], either, part, ratio),
            _tail(self.wins[:, 0], either, 1 - part, ratio),
        )
        games = self._sum(lambda a, b: self._decided)
        both = self.expected.sum(1) / np.maximum(games, 1e-9)
        chance, decided = self._chance, self._decided

        def gain(a: int, b: int, c: int) -> Floats:
            q = chance[:, a] + chance[:, b]
            return np.asarray(decided * (chance[:, a] * (1 - q) + chance[:, c] * q))

        own = self._sum(lambda a, b: decided * (chance[:, a] - chance[:, b]) * (1 - chance[:, a] - chance[:, b]))
        owed = own**2 + self._squares(gain) + self._squares(lambda a, b, c: gain(b, a, c))
        variance = np.maximum(games * both * (1 - both), 1e-9)
        return given, _tail(either, games, both, self._varies + gamma2 * owed / variance)


def _tail(wins: Floats, games: Floats, chance: Floats, ratio: Floats) -> Floats:
    """Return the probability of as many wins or more, as of `ratio` times fewer independent games."""
    from scipy.special import betainc  # see `strengths`: it is slow to import

    won, lost = wins / ratio, (games - wins) / ratio
    tail: Floats = np.where(won > 0, betainc(np.maximum(won, 1e-9), lost + 1, chance), 1.0)
    return tail
