"""A bot that passes the short check plays on in one process. Source: the help of `arena check`."""

import random
from collections.abc import Callable
from dataclasses import replace
from itertools import count
from pathlib import Path
from types import SimpleNamespace

import pytest

from arena.bots import load_bots
from arena.checks import BotCheck, CheckSettings, CheckStep, Endurance, ProcessFindings, Severity, Timeouts
from arena.coup import PRESETS
from arena.referee import MatchSettings, Timing
from arena.sandbox import InProcessSandbox, SandboxChoice, Script, ScriptPeer
from tests.referee.scripted import Request, bot, reply


def plays(at_request: Callable[[ScriptPeer, int], object]) -> Script:
    """Return a script that always chooses the first legal move; `at_request` is called with a request's number."""

    def answer(peer: ScriptPeer, request: Request) -> bytes:
        at_request(peer, request["id"])
        return reply(request)

    return bot(answer)


def check(folder: Path, script: Script, **settings: object) -> list[CheckStep]:
    """Return the steps of a check that plays on."""
    (folder / "bot.py").write_text("")
    argv = load_bots([str(folder / "bot.py")])[0][0].argv
    usual = CheckSettings(
        InProcessSandbox({argv[0]: script}),
        SandboxChoice("process"),
        folder / "scratch",
        rules=(PRESETS["coup"],),
        hello_s=1e9,
        timeouts=Timeouts(1e9, 0.0),
        leave_s=1e9,
        endurance_s=1e9,
        progress_s=1e9,
    )
    checking = BotCheck(replace(usual, **settings))  # type: ignore[arg-type]
    return [*checking.steps_before_run(str(folder / "bot.py")), *checking.steps_of_run()]


def test_a_bot_plays_as_many_requests_as_a_match_has_after_its_other_steps(tmp_path: Path) -> None:
    *before, begin, end = check(tmp_path, plays(lambda peer, number: None))
    assert before[-1].check == "times"
    assert (begin.check, begin.severity, begin.message) == ("endurance", Severity.NOW, "0 of 700 requests")
    assert end.severity is Severity.OK
    assert int(end.message.split()[2]) >= 700


def test_without_time_to_play_on_there_is_no_such_step(tmp_path: Path) -> None:
    assert "endurance" not in [step.check for step in check(tmp_path, plays(lambda *_: None), endurance_s=0.0)]


def test_a_bot_that_hangs_after_some_requests_fails(tmp_path: Path) -> None:
    def hangs(peer: ScriptPeer, number: int) -> None:
        if number > 200:
            peer.wait()

    last = check(tmp_path, plays(hangs), timeouts=Timeouts(0.5, 0.0))[-1]
    assert (last.check, last.severity) == ("endurance", Severity.FAIL)
    assert last.message.startswith("at request 201: no reply came in time")
    assert "flush" not in last.advice


def test_a_bot_that_ends_while_it_is_left_alone_has_the_advice_about_timers(tmp_path: Path) -> None:
    def impatient(peer: ScriptPeer, number: int) -> None:
        if number == 20 and len(peers) > 4:  # only the process that plays on
            peer.die(signal=14)

    peers: list[ScriptPeer] = []

    def script(peer: ScriptPeer) -> None:
        peers.append(peer)
        plays(impatient)(peer)

    last = check(tmp_path, script, pause_s=0.2)[-1]
    assert (last.check, last.severity) == ("endurance", Severity.FAIL)
    assert last.message.startswith("at request 20: the bot fails after 0.2 s without a request")
    assert "stop each timer" in last.advice


def test_a_bot_that_leaves_out_one_reply_isnt_called_late(tmp_path: Path) -> None:
    script = bot(lambda _, request: reply(request) if request["id"] != 5 else None)
    last = check(tmp_path, script, timeouts=Timeouts(0.5, 0.0))[-1]
    assert last.message.startswith("no reply came in time")
    assert last.received is None


def grows(by_mb: float) -> Script:
    def use(peer: ScriptPeer, number: int) -> None:
        peer.peak_bytes = round((10 + by_mb * number) * 2**20)
        if peer.peak_bytes > 256 << 20:
            peer.die(signal=9, limit="memory_mb")

    return plays(use)


@pytest.mark.parametrize(
    ("by_mb", "seconds", "level", "words"),
    [
        (0.01, 1e9, Severity.OK, "checked for 700 requests"),
        (0.2, 1e9, Severity.WARN, "by 0.2 MB a request: the limit comes at request 1230"),
        (1.0, 1e9, Severity.FAIL, "at request 247: out of memory: 256 MB"),
        (0.5, 60.0, Severity.FAIL, "by 0.5 MB a request: the limit comes at request 492"),
    ],
    ids=["little", "later", "too much", "too much, and slow"],
)
def test_growing_memory_is_extrapolated(
    tmp_path: Path, by_mb: float, seconds: float, level: Severity, words: str
) -> None:
    ticks = count()  # each look at the clock takes time
    last = check(tmp_path, grows(by_mb), endurance_s=seconds, clock=lambda: next(ticks) / 25)[-1]
    assert (last.check, last.severity) == ("endurance", level)
    assert words in last.message


def test_a_slow_bot_is_told_for_how_many_requests_it_was_checked(tmp_path: Path) -> None:
    ticks = count()
    last = check(tmp_path, plays(lambda *_: None), endurance_s=60.0, clock=lambda: next(ticks) / 25)[-1]
    assert last.severity is Severity.NOTE
    assert "requests in 60 s; a match may have 700" in last.message


def test_a_slow_bot_whose_requests_take_different_times_isnt_called_growing(tmp_path: Path) -> None:
    now, dice = [0.0], random.Random(0)

    def varies(peer: ScriptPeer, number: int) -> None:
        now[0] += dice.uniform(0.05, 0.15)

    within = MatchSettings(timing=Timing(limit_ms=160, bank_ms=0))
    last = check(tmp_path, plays(varies), endurance_s=20.0, clock=lambda: now[0], match_settings=within)[-1]
    assert (last.severity, last.message) == (Severity.NOTE, "checked for 202 requests in 20 s; a match may have 700")


def test_a_growing_reply_is_named(tmp_path: Path) -> None:
    def answer(_: ScriptPeer, request: Request) -> bytes:
        return b'{"id":%d,"choice":0,"log":"%s"}\n' % (request["id"], b"." * 150 * request["id"])

    last = check(tmp_path, bot(answer))[-1]
    assert last.severity is Severity.FAIL
    assert "a line is over 64 KiB: the reply grew from" in last.message


def test_cpu_time_that_grows_with_the_square_of_the_requests_is_extrapolated() -> None:
    def growths(by_ms: Callable[[int], float]) -> list[str]:
        usage = Endurance(SimpleNamespace(times=[]), MatchSettings())  # type: ignore[arg-type]
        for requests in range(10, 300, 10):
            usage.rows.append((requests, (None,) * 4))
            usage.cpu_ms.append(sum(map(by_ms, range(requests))))
        return [f"{each.text}, at {each.limit_at:.0f}" for each in usage.growths()]

    assert growths(lambda number: 5.0) == []
    (text,) = growths(lambda number: 0.0005 * number**2)
    assert text.startswith("the time for a request grew from")
    assert 1100 < int(text.rpartition(" ")[2]) < 1300


def test_replies_that_take_a_fixed_time_on_a_busy_machine_are_a_warning() -> None:
    findings = ProcessFindings(times=[0.2] * 20, waits={"turn": [1.2] * 20})
    step = findings.report_times(0.0, MatchSettings())
    assert step.severity is Severity.WARN
    assert "1.20 s of wall time" in step.message
    findings.waits = {"turn": [0.2, 1.2, 3.0] * 10}
    assert findings.report_times(0.0, MatchSettings()).severity is Severity.OK


def test_a_name_that_is_not_utf8_is_reported_as_an_unknown_method() -> None:
    findings = ProcessFindings(uncalled={b"coup_kit: the kit never calls Bot.\xff; it calls others": None})
    assert findings.report_uncalled_methods().message == "a method isn't part of the kit"
