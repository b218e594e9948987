"""Tests of the judge: the effect of a reply, with every bound reached exactly and exceeded by the smallest step."""

import pytest

from arena import referee
from arena.limits import Limits
from arena.referee import process
from arena.sandbox import Exit
from protocol import Malformed, ParsedReply

ALLOWED = referee.RequestBudget(0.5, Limits())
FULL = referee.PlayerBudget(3, 10.0)


def chose(index: int, own_s: float = 0.0) -> process.Reply:
    return process.ReplyReceived(ParsedReply(1, None, index), b"line", own_s)


def test_the_account_and_the_allowance_are_those_of_the_settings() -> None:
    """A bank that was emptied in an earlier game stays empty."""
    timing = referee.Timing(500, 10_000)
    assert referee.new_player_budget(2, timing) == referee.PlayerBudget(2, 10.0)
    assert referee.new_player_budget(2, timing, drained=True) == referee.PlayerBudget(2, 0.0)
    assert referee.make_request_budget(timing, Limits()) == ALLOWED


def test_a_player_without_a_clock_has_no_time_limit() -> None:
    allowed = referee.make_request_budget(referee.Timing(referee.UNTIMED_MS), Limits())
    choice, _, account = process.judge_reply(chose(0, own_s=1e6), 1, lambda _: None, FULL, allowed)
    assert (choice, account) == (0, FULL)


@pytest.mark.parametrize(
    ("index", "shown"), [(-1, "-1"), (0, None), (4, None), (5, "5"), (10**20, "10000000000000000000… (21 bytes)")]
)
def test_a_choice_is_an_index_into_the_legal_moves(index: int, shown: str | None) -> None:
    choice, wrong, _ = process.judge_reply(chose(index), 5, lambda _: None, FULL, ALLOWED)
    assert (choice == index) is (shown is None)
    assert (wrong and wrong.detail) == (shown and f"choice {shown} is not one of 0 to 4")


def test_an_illegal_move_needs_no_explanation_beside_its_line() -> None:
    reply = process.ReplyReceived(ParsedReply(1, {"action": "tax"}, None), b"line", 0.0)
    _, wrong, _ = process.judge_reply(reply, 5, lambda _: None, FULL, ALLOWED)
    assert wrong == process.FaultVerdict("illegal_move", None, b"line")


@pytest.mark.parametrize(("own_s", "bank_s"), [(0.0, 10.0), (0.5, 10.0), (0.75, 9.75), (10.5, 0.0), (20.0, 0.0)])
@pytest.mark.parametrize("kind", ["answered", "unreadable"])
def test_only_what_is_beyond_the_free_time_comes_from_the_bank(kind: str, own_s: float, bank_s: float) -> None:
    """A bank is never overdrawn."""
    reply = chose(0, own_s) if kind == "answered" else process.MalformedLine(Malformed("bad_json", "no"), b"x", own_s)
    _, _, account = process.judge_reply(reply, 1, lambda _: None, FULL, ALLOWED)
    assert account == referee.PlayerBudget(3 if kind == "answered" else 2, bank_s)


@pytest.mark.parametrize(
    ("lives", "instead"),
    [(3, process.SubstitutedMove.DEFAULT), (2, process.SubstitutedMove.DEFAULT), (1, process.SubstitutedMove.FORFEIT)],
)
@pytest.mark.parametrize(
    "reply",
    [process.TimedOut(1.0), process.MalformedLine(Malformed("bad_json", "no"), b"x", 0.0), chose(9)],
    ids=["late", "unreadable", "illegal"],
)
def test_a_fault_takes_one_life_and_the_last_one_forfeits(
    reply: process.Reply, lives: int, instead: process.SubstitutedMove
) -> None:
    """SPEC.md: a default move is played while lives are left."""
    choice, _, account = process.judge_reply(reply, 5, lambda _: None, FULL._replace(lives=lives), ALLOWED)
    assert choice is instead
    assert account.lives == lives - 1


@pytest.mark.parametrize(
    ("reply", "detail", "facts"),
    [
        (process.TimedOut(10.5), None, referee.Facts(10500)),
        (process.TimedOut(10.5, 7.25), "in 10500 ms it computed for 7250 ms", referee.Facts(10500, 7250)),
        (
            process.TimedOut(10.5, stale=40),
            "a line came for request 40, which had been answered or had timed out",
            referee.Facts(10500, stale=40),
        ),
    ],
)
def test_a_timeout_empties_the_bank_and_reports_known_times(
    reply: process.Reply, detail: str | None, facts: referee.Facts
) -> None:
    """docs/reference/protocol/clock.md."""
    _, wrong, account = process.judge_reply(reply, 5, lambda _: None, FULL, ALLOWED)
    assert account == referee.PlayerBudget(2, 0.0)
    assert wrong == process.FaultVerdict("timeout", detail, None, facts)


def test_a_dead_bot_forfeits_at_once_without_losing_a_life() -> None:
    """The detail is how the process ended, or what the table knew."""
    choice, wrong, account = process.judge_reply(
        process.ProcessExited("exited", Exit(3, None)), 5, lambda _: None, FULL, ALLOWED
    )
    assert (choice, account) == (process.SubstitutedMove.FORFEIT, FULL)
    assert wrong == process.FaultVerdict("exited", "exited with code 3", None, referee.Facts(exit_code=3))
    choice, wrong, account = process.judge_reply(
        process.ProcessExited("start_failed", detail="no such file"), 5, lambda _: None, FULL, ALLOWED
    )
    assert wrong == process.FaultVerdict("start_failed", "no such file", None)
    silent = process.ProcessExited("start_failed", detail="no hello within 300 ms", hello=process.TimedOut(0.3, 0.01))
    assert process.judge_reply(silent, 5, lambda _: None, FULL, ALLOWED)[1] == process.FaultVerdict(
        "start_failed", "no hello within 300 ms", None, referee.Facts(300, 10)
    )


@pytest.mark.parametrize(
    ("code", "process_exit", "detail"),
    [("exited", None, None), ("start_failed", Exit(3, None), None), ("exited", Exit(3, None), "exited with code 3")],
)
def test_only_the_known_exit_of_a_process_is_described(
    code: str, process_exit: Exit | None, detail: str | None
) -> None:
    assert process.exit_fault(code, process_exit, Limits()) == (code, detail)
