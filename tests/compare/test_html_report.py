"""The page of a comparison in a real browser: wide and narrow, dark and light, with a name that is markup."""

import re
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from arena.compare import divergence, report
from arena.compare.html_report import comparison_page
from arena.rating import Estimate
from tests.chromium import Reader

NASTY = "<img src=x onerror=window.hit=1>"


def answer() -> report.CompareReport:
    """Return a report with all that a page can show."""
    position = divergence.DivergencePosition(
        match=4,
        new_match=5,
        game=3,
        turn=7,
        hand=("duke", "contessa"),
        table=f"it: 2 cards, 5 coins, {NASTY}: 1 card, 2 coins",
        old=("it takes tax", f"{NASTY} takes income"),
        new=(f"it steals from {NASTY} · {NASTY} challenges: it can't show the captain · it loses the contessa",),
        old_won=1.0,
        new_won=0.0,
    )
    row = divergence.DivergenceGroup(
        request="its turn",
        old="take tax",
        new="steal from the richest (2 cards) (bluff)",
        pairs=40,
        old_win_rate=0.5,
        new_win_rate=0.25,
        win_rate_gain=Estimate(-0.25, -0.41, -0.09),
        contribution=-0.1,
        examples=(position,),
    )
    return report.CompareReport(
        error=NASTY,
        verdict="worse",
        verdict_text="NEW is worse by 2 to 18 points",
        old=report.ComparedSide(argument=NASTY, resolved=f"/home/{NASTY}", win_rate=0.4, faults=0, forfeits=0),
        new=report.ComparedSide(argument="new", resolved="/home/new", win_rate=0.3, faults=3, forfeits=3),
        opponents=[NASTY, "honest", "counter", "bluffer"],
        run="a folder/out",
        rules="coup",
        seed=None,
        seats=4,
        min_effect=0.05,
        difference=Estimate(-0.1, -0.18, -0.02),
        pairing_gain=1.2,
        blocks=2,
        pairs=24,
        discordant_pairs=10,
        max_pairs=1500,
        blocks_left=None,
        interim_results=[report.InterimResult(blocks=at, difference=Estimate(-0.1, -0.3, 0.1)) for at in (1, 2)],
        identical_pairs=5,
        diverged_by_opponent={NASTY: 3},
        opponent_contribution=0.01,
        divergences=[row],
        by_opponent=[report.OpponentDifference(bot=NASTY, blocks=2, difference=Estimate(-0.1))],
    )


@pytest.mark.parametrize(("scheme", "width"), [("light", 390), ("dark", 1280)])
def test_the_page_is_accessible_and_runs_no_untrusted_script(
    reader: Reader, axe: Callable[[Any], list[str]], tmp_path: Path, scheme: str, width: int
) -> None:
    file = tmp_path / "compare.html"
    file.write_text(comparison_page(answer()), encoding="utf-8")
    shown = reader.open(file, width=width, color_scheme=scheme)
    for more in shown.locator("summary").all():
        more.click()
    assert axe(shown) == []
    assert shown.evaluate("window.hit") is None
    assert shown.evaluate("document.documentElement.scrollWidth <= innerWidth")
    text = shown.locator("main").inner_text()
    assert text.index("Divergences") < text.index("Evidence")
    assert "arena replay 'a folder/out' --match 5 --game 3 --from 7" in text
    assert "NEW forfeited 3 games" in text
    assert NASTY in text


def test_an_undecided_comparison_says_what_may_decide_it() -> None:
    undecided = answer().model_copy(update={"verdict": "not known"})
    assert "More pairs, or a larger change, may decide." in comparison_page(undecided)
    assert "may decide" not in comparison_page(answer())


def test_each_grid_line_has_its_label_also_at_the_smallest_difference_that_counts() -> None:
    interim = report.InterimResult(blocks=1, difference=Estimate(0.0, -0.04, 0.04))
    page = comparison_page(answer().model_copy(update={"interim_results": [interim]}))
    labels = re.findall(r"text-anchor='end'>([^<]*)<", page)
    assert labels == ["-10", "-5", "0", "+5", "+10"]


def test_before_the_first_block_no_section_is_empty() -> None:
    first_forfeit = report.ComparedSide(argument="new", resolved="/home/new", win_rate=None, faults=1, forfeits=1)
    nothing = {"interim_results": [], "by_opponent": [], "pairs": 0, "new": first_forfeit}
    page = comparison_page(answer().model_copy(update=nothing))
    assert "By opponent" not in page
    assert "NEW forfeited 1 game:" in page


def test_an_error_of_two_lines_has_two_paragraphs() -> None:
    page = comparison_page(answer().model_copy(update={"error": "the disk is full\nResume with: arena compare"}))
    assert "<p>The comparison stopped early: the disk is full</p>\n<p>Resume with: arena compare</p>" in page
