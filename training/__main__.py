"""Train, and continue after an interruption: python -m training FOLDER --seats 2 --iterations 2000."""

import csv
from functools import partial
from itertools import product
from pathlib import Path
from typing import Any

import click
import numpy as np

from training import teacher
from training.curve import draw_curve
from training.learner import Learner, Plan, imitate
from training.network import Network

EVERY = 25  # iterations, the curve is measured and the state saved
OPPONENTS = ("teacher", "honest")  # of the curve


@click.command()
@click.argument("folder", type=click.Path(path_type=Path))
@click.option("--seats", multiple=True, type=click.IntRange(2, 6), default=[2], show_default=True)
@click.option("--games", default=1024, show_default=True, help="Games at once, at all sizes of table together.")
@click.option("--iterations", default=2000, show_default=True)
@click.option("--seed", default=1, show_default=True)
@click.option("--recorded", default=8000, show_default=True, help="Games of sample bots to record, for each size.")
@click.option("--hidden", default=128, show_default=True, help="The width of both hidden layers.")
@click.option("--start", type=click.Path(path_type=Path), help="Folder of a training to continue: a bot in recordings.")
@click.option("--respond", is_flag=True, help="Learn only against the network of --start, to exploit it.")
def main(folder: Path, start: Path | None, recorded: int, respond: bool, **options: Any) -> None:
    """Train a network for tables of these sizes in FOLDER, which has the weights, the curve and the recordings.

    The same command continues after an interruption, and ends with the same weights as without one.
    """
    if respond and start is None:
        raise click.UsageError("--respond needs --start.\nName the folder of the training to exploit.")
    learner = begin(folder, start, recorded, respond, **options)
    seats, iterations = learner.plan.games, learner.plan.iterations
    state, table = folder / "state.npz", folder / "curve.csv"
    if state.exists():
        learner.load(state)
    while learner.iteration < iterations:
        learner.learn()
        if learner.iteration % EVERY == 0 or learner.iteration == iterations:
            for seat_count, opponent in product(seats, OPPONENTS):
                learner.measure(seat_count, opponent, games=2000)
            learner.save(state)
            print(*learner.curve[-len(seats) * len(OPPONENTS) :], flush=True)
    with table.open("w", newline="") as file:
        csv.writer(file).writerows(learner.curve)
    draw_curve(table, folder / "curve.svg")


def begin(
    folder: Path,
    start: Path | None,
    recorded: int,
    respond: bool,
    seats: tuple[int, ...],
    games: int,
    iterations: int,
    seed: int,
    hidden: int,
) -> Learner:
    """Return a learner at its first iteration, after recording and imitating games if the folder has no imitations.

    With `respond`, which needs `start`, there are no imitations. The parameters are the command's options.
    """
    plan = Plan(
        {seat_count: games // len(seats) for seat_count in seats}, seed, (hidden, hidden), iterations=iterations
    )
    weights, bot = None, None
    folder.mkdir(parents=True, exist_ok=True)
    if start is not None:
        with np.load(start / "state.npz") as before:
            weights = before["weights"]
        network = Network((plan.inputs.size, *plan.hidden, len(plan.inputs.words) + 1))
        network.weights[:] = weights
        bot = partial(teacher.NetworkBot, plan.inputs, network)
        if respond:
            return Learner(plan, weights[None], fixed=True)
    path = folder / "imitations.npy"
    if not path.exists():
        for seat_count, first_game in product(seats, range(0, recorded, 250)):
            teacher.save(folder, seat_count, min(250, recorded - first_game), 10**6 * seed + first_game, bot)
        imitations = [
            imitate(plan, {seat_count: teacher.load(folder, name, seat_count) for seat_count in seats})
            for name in teacher.IMITATED
        ]
        np.save(folder / "half.npy", np.stack(imitations))
        (folder / "half.npy").replace(path)
    return Learner(plan, np.load(path), weights)


if __name__ == "__main__":
    main()
