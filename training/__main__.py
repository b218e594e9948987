"""Train, and continue after an interruption: python -m training FOLDER --seats 2 --iterations 2000."""

import csv
from itertools import product
from pathlib import Path

import click
import numpy as np

from training import teacher
from training.curve import draw_curve
from training.learner import Learner, Plan, imitate

EVERY = 25  # iterations, the curve is measured and the state saved
OPPONENTS = ("teacher", "honest")  # of the curve


@click.command()
@click.argument("folder", type=click.Path(path_type=Path))
@click.option("--seats", multiple=True, type=click.IntRange(2, 6), default=[2], show_default=True)
@click.option("--games", default=1024, show_default=True, help="Games at once, at all sizes of table together.")
@click.option("--iterations", default=2000, show_default=True)
@click.option("--seed", default=1, show_default=True)
@click.option("--recorded", default=8000, show_default=True, help="Games of the teacher to record, for each size.")
@click.option("--hidden", default=128, show_default=True, help="The width of both hidden layers.")
def main(
    folder: Path, seats: tuple[int, ...], games: int, iterations: int, seed: int, recorded: int, hidden: int
) -> None:
    """Train a network for tables of these sizes in FOLDER, which has the weights, the curve and the recordings.

    The same command continues after an interruption, and ends with the same weights as without one.
    """
    plan = Plan({each: games // len(seats) for each in seats}, seed, (hidden, hidden), iterations=iterations)
    start, state, table = folder / "imitation.npy", folder / "state.npz", folder / "curve.csv"
    if not start.exists():
        for each in seats:
            for done in range(0, recorded, 500):
                teacher.save(folder, each, min(500, recorded - done), seed=10**6 * seed + done)
        weights = imitate(plan, {each: teacher.load(folder, each) for each in seats})
        np.save(folder / "half.npy", weights)
        (folder / "half.npy").replace(start)
    learner = Learner(plan, np.load(start))
    if state.exists():
        learner.load(state)
    while learner.iteration < iterations:
        learner.learn()
        if learner.iteration % EVERY == 0 or learner.iteration == iterations:
            for each, opponent in product(seats, OPPONENTS):
                learner.measure(each, opponent, games=2000)
            learner.save(state)
            print(*learner.curve[-len(seats) * len(OPPONENTS) :], flush=True)
    with table.open("w", newline="") as file:
        csv.writer(file).writerows(learner.curve)
    draw_curve(table, folder / "curve.svg")


if __name__ == "__main__":
    main()
