"""Draw the curve of a training, with intervals."""

import csv
from pathlib import Path

import matplotlib as mpl

mpl.use("svg")
from matplotlib import pyplot

from arena.local import WinRate


def draw_curve(table: Path, path: Path) -> None:
    """Draw the rows of curve.csv: iteration, seats, opponent, wins, games."""
    curves: dict[str, list[tuple[int, float, float, float]]] = {}
    for iteration, seats, opponent, wins, games in csv.reader(table.open()):
        rate = WinRate(float(wins), int(games))
        curves.setdefault(f"{opponent}, {seats} seats", []).append((int(iteration), rate.value, *rate.interval))
    figure, axes = pyplot.subplots(figsize=(7, 4))
    for name, points in curves.items():
        iterations, values, lows, highs = zip(*points, strict=True)
        (line,) = axes.plot(iterations, values, label=name)
        axes.fill_between(iterations, lows, highs, alpha=0.3, color=line.get_color())
    axes.set(xlabel="iterations", ylabel="win rate, with 95 % intervals", ylim=(0, 1))
    axes.legend(frameon=False)
    figure.savefig(path)
