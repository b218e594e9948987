"""Simulate studies whose truth is known, as tables drawn without games, and count how often the answers are right.

    python -m tests.study.simulation 2000

A study has three players and two conditions. Claims of a deal are correlated: the cards of a deal make bluffs more or
less likely for all players. Two players bluff equally often, the third more often; all win equally often."""

import sys
from collections import Counter
from random import Random

from arena.study_measures import Cases, Key, compare_all, measure_all

PLAYERS, CONDITIONS = ("a", "b", "c"), ("one", "two")
BLUFFS = {"a": 0.3, "b": 0.3, "c": 0.5}
SEATS = 4  # the fourth player is an anchor


def draw_study(dice: Random, deals: int) -> Cases:
    """Return the cases of a study."""
    cases = Cases()
    for deal in range(deals):
        luck = dice.uniform(-0.2, 0.2)  # of the cards
        hands = [dice.choices(range(SEATS), (4, 3, 2, 1))[0] for _ in range(SEATS)]  # the seat with the best cards
        for condition in CONDITIONS:
            for rotation in range(SEATS):
                strong = hands[rotation] if dice.random() < 0.4 else dice.randrange(SEATS)
                for number, player in enumerate(PLAYERS):
                    won = strong == (number + rotation) % SEATS
                    cases.add(Key(player, condition, "win_rate"), deal, won)
                    for _ in range(dice.randrange(1, 6)):
                        bluff = dice.random() < BLUFFS[player] + luck
                        cases.add(Key(player, condition, "bluffs"), deal, bluff)
    return cases


def simulate(studies: int, deals: int, seed: int = 1) -> dict[str, float]:
    """Return the shares: of intervals that contain the truth, and of studies with any wrong answer of a measure.

    A p-value never grows from look to look. So an answer that was ever wrong is wrong at the end.
    """
    found: Counter[str] = Counter()
    for number in range(studies):
        cases = draw_study(Random(f"{seed} {number}"), deals)
        wrong: set[str] = set()
        right = False
        for row in compare_all(cases, PLAYERS, CONDITIONS, deals, SEATS):
            planted = row.measure == "bluffs" and row.condition == row.other_condition and row.other_player == "c"
            if row.clear and not (planted and row.difference < 0):
                wrong.add(row.measure)
            right = right or (planted and row.clear)
        for measured in measure_all(cases, PLAYERS, CONDITIONS):
            truth = 1 / SEATS if measured.measure == "win_rate" else BLUFFS[measured.player]
            assert measured.low is not None
            assert measured.high is not None
            found[f"{measured.measure} covered"] += measured.low <= truth <= measured.high
        found.update(f"{measure} wrong" for measure in wrong)
        found["planted effect found"] += right
    cells = len(PLAYERS) * len(CONDITIONS)
    return {what: count / studies / (cells if what.endswith("covered") else 1) for what, count in found.items()}


if __name__ == "__main__":
    for number in (13, 50, 125):
        print(number, "deals:", simulate(int(sys.argv[1]), number), flush=True)
