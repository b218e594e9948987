"""The judge: what a reply counts for, with every bound met exactly and passed by the least step."""

import math

import pytest

from arena.referee import (
    Account,
    Allowance,
    Answered,
    Gone,
    Instead,
    Reply,
    Terms,
    TimedOut,
    Timing,
    Unreadable,
    allowance,
    new_account,
    verdict,
)
from arena.sandbox import Exit, Limits
from protocol import Answer, Malformed

BY_CPU = Allowance(2.5, 0.5, True, Limits())
FULL = Account(3, 50.0, 10.0)


def chose(index: int, wall_s: float = 0.0, cpu_ns: int = 0) -> Reply:
    return Answered(Answer(1, None, index), b"line", wall_s, cpu_ns)


def test_the_account_and_the_allowance_are_those_of_the_terms() -> None:
    """By CPU time the wall budgets are five times as large; by wall time CPU time has no end."""
    by_wall, by_cpu = Terms(timing=Timing(500, 10_000)), Terms(timing=Timing(500, 10_000, cpu=True), lives=1)
    assert new_account(by_wall) == Account(3, 10.0, math.inf)
    assert new_account(by_cpu) == Account(1, 50.0, 10.0)
    assert allowance(by_wall) == Allowance(0.5, math.inf, False, Limits())
    assert allowance(by_cpu) == BY_CPU


@pytest.mark.parametrize(("index", "counts"), [(-1, False), (0, True), (4, True), (5, False)])
def test_a_choice_is_an_index_into_the_legal_moves(index: int, counts: bool) -> None:
    """The first, the last, and one beyond each."""
    found = verdict(chose(index), 5, lambda _: None, FULL, BY_CPU)
    assert (found.choice == index) is counts
    assert (found.wrong is None) is counts
    if found.wrong is not None:
        assert found.wrong.detail == f"choice {index} is not one of 0 to 4"


@pytest.mark.parametrize(
    ("wall_s", "cpu_ns", "banks"),
    [
        (2.5, 500_000_000, (50.0, 10.0)),
        (2.75, 500_000_000, (49.75, 10.0)),
        (2.5, 750_000_000, (50.0, 9.75)),
        (52.5, 10_500_000_000, (0.0, 0.0)),
        (60.0, 20_000_000_000, (0.0, 0.0)),
    ],
)
def test_only_what_is_beyond_the_free_time_comes_from_the_banks(
    wall_s: float, cpu_ns: int, banks: tuple[float, float]
) -> None:
    """The free time itself is free; a bank is never overdrawn."""
    found = verdict(chose(0, wall_s, cpu_ns), 1, lambda _: None, FULL, BY_CPU)
    assert (found.account.wall_bank, found.account.cpu_bank) == banks
    assert found.account.lives == 3


@pytest.mark.parametrize(("lives", "instead"), [(3, Instead.DEFAULT), (2, Instead.DEFAULT), (1, Instead.FORFEIT)])
@pytest.mark.parametrize(
    "reply",
    [TimedOut(True, 1.0, 2), Unreadable(Malformed("bad_json", "no"), b"x", 0.0, 0), chose(9)],
    ids=["late", "unreadable", "illegal"],
)
def test_a_fault_takes_one_life_and_the_last_one_forfeits(reply: Reply, lives: int, instead: Instead) -> None:
    """SPEC.md: a default move is played while lives are left."""
    found = verdict(reply, 5, lambda _: None, FULL._replace(lives=lives), BY_CPU)
    assert found.choice is instead
    assert found.account.lives == lives - 1


@pytest.mark.parametrize("by_cpu", [True, False])
def test_a_timeout_empties_both_banks(by_cpu: bool) -> None:
    """And says which time ran out, by CPU time."""
    found = verdict(TimedOut(by_cpu, 1.0, 2), 5, lambda _: None, FULL, BY_CPU)
    assert found.account == Account(2, 0.0, 0.0)
    assert found.wrong is not None
    assert (found.wrong.code, found.wrong.line) == ("timeout", None)
    assert (found.wrong.detail or "").startswith("the CPU time" if by_cpu else "the wall time")


def test_by_wall_time_a_timeout_leaves_cpu_time_without_end() -> None:
    """There is nothing to say but that the time ran out."""
    allowed = Allowance(0.5, math.inf, False, Limits())
    found = verdict(TimedOut(False, 1.0, 0), 5, lambda _: None, Account(3, 10.0, math.inf), allowed)
    assert found.account == Account(2, 0.0, math.inf)
    assert found.wrong is not None
    assert found.wrong.detail is None


def test_who_is_gone_forfeits_at_once_and_pays_no_life() -> None:
    """The detail is how the process ended, or what the table knew."""
    found = verdict(Gone("exited", Exit(3, None)), 5, lambda _: None, FULL, BY_CPU)
    assert (found.choice, found.account) == (Instead.FORFEIT, FULL)
    assert found.wrong is not None
    assert (found.wrong.code, found.wrong.detail) == ("exited", "exited with code 3")
    found = verdict(Gone("start_failed", detail="no such file"), 5, lambda _: None, FULL, BY_CPU)
    assert found.wrong is not None
    assert found.wrong.detail == "no such file"
