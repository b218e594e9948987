"""Tests of the page of statistics: one file, whose plots and tables agree, and are accessible."""

import re
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

from arena.coup import COUP, PRESETS
from arena.rating import Estimate
from arena.stats import StatsAccumulator
from arena.stats.plots import PlotRow, Scale, stats_page, svg_file
from arena.stats.report import SECTIONS, Rate, StatsReport, compare_bots, make_stats_report, rates_of
from tests.chromium import Reader
from tests.replay.games import random_game

HOSTILE = "</svg><script>alert(1)</script>\x1b[31m\u202e'&amp;"


BOTS = ("honest", "mybot", HOSTILE, "turtle")


def counted() -> tuple[StatsReport, StatsAccumulator]:
    accumulator = StatsAccumulator(("mybot", HOSTILE))
    for seed in range(4):
        record = random_game(COUP, 4, seed)
        accumulator.add(replace(record, header=replace(record.header, bots=BOTS)))
    return make_stats_report(accumulator, ["runs/new"], []), accumulator


def output() -> StatsReport:
    return counted()[0]


def one_bot() -> StatsReport:
    """Return a bot, for a page of one or of two."""
    found, accumulator = counted()
    bots = {bot.bot: bot for bot in found.bots}
    return compare_bots(found, accumulator, bots["mybot"], bots[HOSTILE])


def test_every_rate_is_in_a_table_and_has_a_point() -> None:
    """A point of a plot is a circle of the class `now`; those of a legend have no number."""
    found = output()
    text = stats_page(found, "title")
    rates = [rate for bot in found.bots for _, _, rate in rates_of(bot)]
    assert len(re.findall(r"<circle class='point now'", text)) == len(rates)
    for rate in rates:
        assert f">{rate.value:.1%}</td>" in text
        assert f">{rate.count:g} of {rate.total}</td>" in text
    assert all(f"<h2>{title}</h2>" in text for title, _ in SECTIONS.values())


def test_a_comparison_has_two_points_a_row() -> None:
    found = one_bot()
    assert found.comparison
    both = sum(len(names) for names in found.comparison.bots[0].differences.values())
    text = stats_page(found, "title")
    assert len(re.findall(r"<circle class='point before' cx='\d+\.", text)) == both


def test_a_comparison_marks_significant_differences() -> None:
    """A star is in the plot and in the table, with the difference and its interval; their number is stated."""
    found = one_bot()
    assert found.comparison
    (pair,) = found.comparison.bots
    first = pair.differences["win_rate"]["all"]
    for low, stars in ((0.01, 1), (-0.01, 0)):
        update = {"difference": Estimate(0.1, low, 0.3), "significant": low > 0}
        changed = first.model_copy(update=update)
        only = pair.model_copy(update={"differences": {"win_rate": {"all": changed}}})
        comparison = found.comparison.model_copy(update={"bots": [only]})
        text = stats_page(found.model_copy(update={"comparison": comparison}), "title")
        assert f": {stars} of 1 rates differ clearly" in text
        assert text.count(">*</text>") == stars
        assert f"<td class='number'>{'* ' * stars}+10.0</td><td class='number'>{100 * low:+.1f} to +30.0</td>" in text


def test_a_comparison_has_the_times_of_both() -> None:
    text = stats_page(one_bot(), "title")
    heads = re.findall(r"<th scope='col' class='number'>([^<]*)</th>", text.split("time for a request")[1])
    assert heads == ["requests", "median", "reference", "99 % within", "reference"]


def test_each_plot_has_a_title_and_a_description() -> None:
    """They are for readers that don't see it; a bot's name is untrusted text."""
    text = stats_page(output(), HOSTILE)
    plots = re.findall(r"<svg role='img'.*?</svg>", text, re.DOTALL)
    assert len(plots) > 30
    for plot in plots:
        assert re.search(r"<title>[^<]+</title><desc>[^<]+%[^<]*</desc>", plot)
    assert "<script" not in text
    assert not set("\x1b\u202e") & set(text)


@pytest.mark.parametrize(("scheme", "width", "whole"), [("light", 1280, True), ("dark", 360, False)])
def test_axe_finds_nothing_and_nothing_is_wider_than_the_screen(
    reader: Reader, axe: Callable[[Any], list[str]], tmp_path: Path, scheme: str, width: int, whole: bool
) -> None:
    """The rules cover contrast, names, roles and order, with open tables."""
    path = tmp_path / "page.html"
    path.write_text(stats_page(output() if whole else one_bot(), "What bots do"), "utf-8")
    shown = reader.open(path, color_scheme=scheme, width=width)
    shown.locator("summary").first.click()
    assert shown.locator("table").first.is_visible()
    assert axe(shown) == []
    assert shown.evaluate("document.documentElement.scrollWidth") == width


def test_a_page_of_another_game_has_its_actions() -> None:
    """Names come from the records; one match has points without a line, and the page explains it."""
    accumulator = StatsAccumulator()
    accumulator.add(random_game(PRESETS["reformation-inquisitor"], 4, 2))
    text = stats_page(make_stats_report(accumulator, ["x"], []), "title")
    assert ">convert" in text
    assert "<line class='range" not in text
    assert "all cases are from one match" in text
    assert "the line through it" not in text


def test_a_rate_without_an_interval_leaves_the_legend_of_the_others() -> None:
    """Of several matches most rates have an interval, and one that occurred in a single match has none."""
    found = output()
    lines = [rate.low is not None for bot in found.bots for _, _, rate in rates_of(bot)]
    assert {*lines} == {True, False}
    text = stats_page(found, "title")
    assert text.count("<line class='range") == sum(lines)
    assert "A point is a rate; the line through it contains the true rate" in text
    assert "A point without a line has no interval: all cases are from one match" in text


def test_files_of_a_measure_have_one_scale_and_whole_names() -> None:
    """Equal rates are at the same place in two files, although only one of them needs the whole axis."""
    name = "claude-sonnet-4-5-20250929"
    rates = [Rate(count=4, total=10, value=0.4, low=0.35, high=high) for high in (0.45, 0.9)]
    plots = [[PlotRow(name, rate)] for rate in rates]
    files = [svg_file("bluffs", caption, rows, Scale.of(plots)) for caption, rows in zip("qt", plots, strict=True)]
    places = [re.findall(r"cx='([\d.]+)'", text) for text in files]
    assert places[0] == places[1]
    for caption, text in zip("qt", files, strict=True):
        assert f">{caption}</text>" in text
        assert ">bluffs</text>" in text
        assert f">{name}</text>" in text
