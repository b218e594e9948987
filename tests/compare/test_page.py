"""The page of a comparison in a real browser: wide and narrow, dark and light, with a name that is markup."""

from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from arena.compare.html_report import comparison_page
from arena.compare.report import (
    ComparedSide,
    CompareReport,
    DivergenceGroup,
    DivergencePosition,
    InterimResult,
    OpponentDifference,
)
from tests.chromium import Reader

NASTY = "<img src=x onerror=window.hit=1>"


def answer() -> CompareReport:
    """Return an answer with all that a page can show."""
    position = DivergencePosition(
        match=4,
        new_match=5,
        game=3,
        turn=7,
        hand=("duke", "contessa"),
        table=f"it: 2 cards, 5 coins, {NASTY}: 1 card, 2 coins",
        old="it takes tax",
        new=f"it steals from {NASTY} · {NASTY} challenges: it can't show the captain · it loses the contessa",
        old_won=1.0,
        new_won=0.0,
    )
    row = DivergenceGroup(
        asked="its turn",
        old="take tax",
        new="steal from the richest (2 cards) (bluff)",
        pairs=40,
        old_won=0.5,
        new_won=0.25,
        pays=-0.25,
        low=-0.41,
        high=-0.09,
        points=-0.1,
        examples=(position,),
    )
    return CompareReport(
        error=NASTY,
        verdict="worse",
        words="worse by 2 to 18 points",
        old=ComparedSide(given=NASTY, meant=f"/home/{NASTY}", won=0.4, faults=0, forfeits=0),
        new=ComparedSide(given="new", meant="/home/new", won=0.3, faults=3, forfeits=3),
        opponents=[NASTY, "honest", "counter", "bluffer"],
        run="a folder/out",
        rules="coup",
        seed=None,
        seats=4,
        points=0.05,
        difference=-0.1,
        low=-0.18,
        high=-0.02,
        better=0.01,
        not_better=44.0,
        hint=0.0,
        blocks=2,
        pairs=24,
        discordant=10,
        most_pairs=1500,
        blocks_left=None,
        looks=[
            InterimResult(blocks=at, difference=-0.1, low=-0.3, high=0.1, better=0.5, not_better=3.0 * at)
            for at in (1, 2)
        ],
        alike=5,
        by_opponents={NASTY: 3},
        by_opponents_points=0.01,
        differs=[row],
        against=[OpponentDifference(bot=NASTY, blocks=2, difference=-0.1, low=None, high=None)],
    )


@pytest.mark.parametrize(("scheme", "width"), [("light", 390), ("dark", 1280)])
def test_the_page_is_read_by_all_and_runs_nothing_of_a_strangers(
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
    assert text.index("Where they differ") < text.index("Evidence")
    assert "arena replay 'a folder/out' --match 5 --game 3 --from 7" in text
    assert "NEW forfeited 3 games" in text
    assert NASTY in text
