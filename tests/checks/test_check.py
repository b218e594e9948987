"""The bot check, with scripted programs over real pipes. Source: protocol/SPEC.md, whose promises it verifies."""

import json
import math
import random
import re
import threading
import time
from collections.abc import Callable, Generator
from contextlib import closing
from dataclasses import replace
from functools import partial
from itertools import chain, count
from pathlib import Path
from typing import Any

import pytest

from arena import checks, coup
from arena.bots import load_bots
from arena.limits import Limits
from arena.referee import MatchSettings, Timing, make_legal_moves, wire
from arena.sandbox import InProcessSandbox, Program, SandboxChoice, Script, ScriptPeer, make_reply_script

Message = dict[str, Any]
PATIENT, PATIENT_S = checks.Timeouts(60.0, 60.0), 60.0  # for scripts that answer, on a machine that may be busy
SHORT, SHORT_S = checks.Timeouts(0.4, 0.4), 0.6  # for silent scripts


def check_bot(argument: str, settings: checks.CheckSettings) -> Generator[checks.CheckStep, None, None]:
    """Check the bot of a command-line argument, and yield the steps.

    Raises SandboxError or OSError if this machine fails. Closing the iterator ends the check's processes.
    """
    check = checks.BotCheck(settings)
    for number, step in enumerate(chain(check.steps_before_run(argument), check.steps_of_run()), 1):
        yield replace(step, number=number)


def polite(message: Message, answer: Callable[[Message], object] | None = None) -> bytes | None:
    """Answer as SPEC's first bot does; `answer` makes another reply to a request."""
    if message["type"] == "hello":
        return b'{"type":"hello"}\n'
    if message["type"] != "request":
        return None
    reply = (
        {"id": message["id"], "choice": message["id"] % len(message["legal"])} if answer is None else answer(message)
    )
    return reply if isinstance(reply, bytes) else json.dumps(reply).encode() + b"\n"


def answering(answer: Callable[[Message], object] | None = None) -> Script:
    return make_reply_script(lambda line: polite(json.loads(line), answer))


def make_settings(
    folder: Path, script: Script | None = None, reports_wait_time: bool = False, bot: str = "bot.py"
) -> checks.CheckSettings:
    """Return settings in which a script stands for a bot, and for all with the same interpreter."""
    if script is not None and bot == "bot.py":
        (folder / bot).write_text("")
    scripts = {} if script is None else {load_bots([str(folder / bot)])[0][0].argv[0]: script}
    sandbox = InProcessSandbox(scripts, reports_wait_time=reports_wait_time)
    settings = checks.CheckSettings(sandbox, SandboxChoice("process"), folder / "scratch")
    # A busy machine would report progress.
    return replace(settings, hello_s=PATIENT_S, timeouts=PATIENT, progress_s=math.inf)


def run_check(
    folder: Path,
    script: Script | None,
    patience: checks.Timeouts = PATIENT,
    reports_wait_time: bool = False,
    bot: str = "bot.py",
    **settings: Any,
) -> list[checks.CheckStep]:
    usual = make_settings(folder, script, reports_wait_time, bot)
    steps = list(check_bot(str(folder / bot), replace(usual, timeouts=patience, **settings)))
    assert isinstance(usual.sandbox, InProcessSandbox)
    assert all(box.stdin == -1 for box in usual.sandbox.boxes), "a box wasn't closed"
    assert [step.number for step in steps] == list(range(1, len(steps) + 1))
    return steps


def find_failure(steps: list[checks.CheckStep]) -> checks.CheckStep:
    (failed,) = [step for step in steps if step.severity is checks.Severity.FAIL]
    return failed


def test_a_healthy_bot_passes_every_step_and_is_asked_every_kind_of_request(tmp_path: Path) -> None:
    """It always chooses the first legal move, which alone doesn't cause every kind."""
    for answer, output in ((None, []), (lambda message: {"id": message["id"], "choice": 0}, ["choices"])):
        steps = run_check(tmp_path, answering(answer))
        assert [step.check for step in steps if step.severity is not checks.Severity.OK] == output
        (table,) = [step.timings for step in steps if step.timings]
        asked = {kind: (int(asked), int(answered)) for kind, asked, answered in table[1:]}
        assert asked.keys() == frozenset().union(*(checks.request_kinds(rules) for rules in coup.PRESETS.values()))
        assert all(asked == answered > 0 for asked, answered in asked.values())


@pytest.mark.parametrize("name", coup.PRESETS)
def test_the_requests_of_one_ruleset_alone_are_all_tested(tmp_path: Path, name: str) -> None:
    steps = run_check(tmp_path, answering(), rules=(coup.PRESETS[name],))
    assert [step for step in steps if step.severity is checks.Severity.FAIL] == []
    (table,) = [step.timings for step in steps if step.timings]
    assert {kind for kind, _, _ in table[1:]} >= {"turn", "challenge", "lose"}


def test_a_turn_that_returns_nothing_is_reported(tmp_path: Path) -> None:
    def last(message: dict[str, Any]) -> dict[str, Any]:
        return {"id": message["id"], "choice": 0 if message["kind"] == "turn" else len(message["legal"]) - 1}

    def rich(message: dict[str, Any]) -> dict[str, Any]:
        return last(message) if len(message["legal"]) < 12 else {"id": message["id"], "choice": 2}

    for answer, found in ((last, ["choices"]), (rich, [])):
        steps = run_check(tmp_path, answering(answer))
        assert [step.check for step in steps if step.severity is not checks.Severity.OK] == found
    assert not found
    [step] = [step for step in run_check(tmp_path, answering(last)) if step.check == "choices"]
    assert "in its turns the bot always plays legal[0]" in step.message


@pytest.mark.parametrize("name", coup.PRESETS)
def test_the_kinds_of_a_game_are_those_of_random_games(name: str) -> None:
    rules = coup.PRESETS[name]
    seats = 2 if rules.problem(2) is None else 3
    rng, found = random.Random(name), set()
    for game in range(60):
        chance = coup.KeyedRng(b"kinds", game)
        state = coup.deal_game(rules, seats, chance)
        while asked := state.board.phase.asked:
            sight = coup.view_from_seat(state, asked[0])
            line = wire.PhaseRequests(state.board, game).line(
                sight, coup.CertainCards(), 1, [], make_legal_moves(coup.list_legal_moves(sight)), 1, 1
            )
            found.add(json.loads(line)["kind"])
            state, _ = coup.apply_moves(
                state, [rng.choice(coup.list_legal_moves(coup.view_from_seat(state, seat))) for seat in asked], chance
            )
    assert found == checks.request_kinds(rules)


WRONG: dict[str, tuple[Callable[[Message], object], str, str]] = {
    "text": (lambda message: b"thinking\n", "first game", "the line is text"),
    "an id that was never asked": (
        lambda message: {"id": message["id"] + 1, "choice": 0},
        "first game",
        "the request had",
    ),
    "the id before, from its second request on": (
        lambda message: {"id": max(1, message["id"] - 1), "choice": 0},
        "first game",
        "the id 1, the request had 2",
    ),
    "an answer to the request before, too often": (
        lambda message: b'{"id":1,"choice":0}\n' * (1 if message["id"] == 1 else 21),
        "first game",
        "replies to a request more than once",
    ),
    "the id before": (lambda message: {"id": message["id"] - 1, "choice": 0}, "first game", "id"),
    "an id as a string": (lambda message: {"id": str(message["id"]), "choice": 0}, "first game", 'the id "1"'),
    "an index too large": (
        lambda message: {"id": message["id"], "choice": len(message["legal"])},
        "first game",
        "isn't an index into legal",
    ),
    "a move that isn't legal": (
        lambda message: {"id": message["id"], "move": {"action": "win"}},
        "first game",
        "isn't legal now; legal: ",
    ),
    "a wrong answer to the fiftieth request": (
        lambda message: {"id": message["id"], "choice": 99 if message["id"] == 50 else 0},
        "more games",
        "isn't an index into legal",
    ),
    "no answer to one kind of request": (
        lambda message: b"?\n" if message["kind"] == "keep_shown" else {"id": message["id"], "choice": 0},
        "all requests",
        "andy: ",
    ),
    "an invalid statement, in a game with talk": (
        lambda message: {"id": message["id"], "choice": 0, "say": "hello"},
        "all requests",
        "open-table: say is dropped",
    ),
    "no answer but to fields it knows": (
        lambda message: b"?\n" if "later" in message else {"id": message["id"], "choice": 0},
        "unknown things",
        "not lines with unknown fields at the start and the end: ?",
    ),
    "an answer and a remark": (
        lambda message: json.dumps({"id": message["id"], "choice": 0}).encode() + b"\nthat was easy\n",
        "standard output",
        "don't answer a request",
    ),
}


@pytest.mark.parametrize(("answer", "name", "words"), WRONG.values(), ids=WRONG.keys())
def test_a_wrong_answer_fails_its_step_with_a_sample(
    tmp_path: Path, answer: Callable[[Message], object], name: str, words: str
) -> None:
    # A reply to the previous request is ignored; the right one may follow.
    failed = find_failure(run_check(tmp_path, answering(answer), SHORT if "the request had 2" in words else PATIENT))
    assert failed.check == name
    assert words in failed.message
    assert failed.received
    assert failed.advice
    if name != "standard output":
        assert b'"type":"request"' in (failed.sent or b"")


def silent_after_hello(peer: ScriptPeer) -> None:
    peer.read_line()
    peer.send(b'{"type":"hello"}\n')
    peer.wait()


def at_the_end_of_input(peer: ScriptPeer) -> None:
    said = b"".join(filter(None, (polite(json.loads(line)) for line in peer.lines())))
    peer.send(said)


def flushes_only_its_hello(peer: ScriptPeer) -> None:
    peer.read_line()
    peer.send(b'{"type":"hello"}\n')
    at_the_end_of_input(peer)


def dying(*wrote: bytes) -> Script:
    """Return a script that writes lines to standard error at its first request, and dies."""

    def script(peer: ScriptPeer) -> None:
        for line in peer.lines():
            if b'"request"' in line:
                peer.log(b"\n".join((*wrote, b"")))
                peer.die(1)
            if b'"hello"' in line:
                peer.send(b'{"type":"hello"}\n')

    return script


dies_of_the_first_request = dying(b"KeyError: 'cards'")


def stays(peer: ScriptPeer) -> None:
    answering()(peer)
    peer.wait()


SILENT: dict[str, tuple[Script, str, str]] = {
    "nothing at all": (ScriptPeer.wait, "hello", "no hello within"),
    "its hello at the end of its input": (at_the_end_of_input, "hello", "doesn't flush"),
    "nothing after its hello": (silent_after_hello, "first game", "no line within"),
    "its replies at the end of its input": (flushes_only_its_hello, "first game", "doesn't flush"),
    "a last word": (dies_of_the_first_request, "first game", "KeyError: 'cards'"),
    "all, and doesn't leave": (stays, "end of input", "still runs"),
}


@pytest.mark.parametrize(("script", "name", "words"), SILENT.values(), ids=SILENT.keys())
def test_a_bot_without_hello_or_reply_fails(tmp_path: Path, script: Script, name: str, words: str) -> None:
    patience = PATIENT if script in (dies_of_the_first_request, stays) else SHORT  # these two don't let it wait
    failed = find_failure(run_check(tmp_path, script, patience, hello_s=SHORT_S if name == "hello" else PATIENT_S))
    assert failed.check == name
    assert words in failed.message
    assert failed.stderr == ((b"KeyError: 'cards'",) if script is dies_of_the_first_request else ())


@pytest.mark.clock
def test_a_bot_that_idles_is_not_awaited_until_its_time_is_over(tmp_path: Path) -> None:
    def computes(peer: ScriptPeer) -> None:
        for line in peer.lines():
            for _ in range(6 * (b'"id":1,' in line)):
                time.sleep(0.1)
                peer.burn(0.05)
            peer.send(polite(json.loads(line)) or b"")

    fails, plays = checks.Severity.FAIL, checks.Severity.OK
    for script, level in ((ScriptPeer.wait, fails), (silent_after_hello, fails), (computes, plays)):
        settings = replace(make_settings(tmp_path, script, True), idle_s=0.4, leave_s=PATIENT_S)
        step = checks.smoke_test(load_bots([str(tmp_path / "bot.py")])[0][0], settings, lambda: None)
        assert step.severity is level
        assert level is plays or "within" in step.message


@pytest.mark.parametrize(
    ("printed", "words"),
    [
        ("bot.cpp:1:10: fatal error: coup_kit.hpp: No such file or directory", 'add kit = "python"'),
        ("bot.c:1: undefined reference to pow", "Correct the first error that the build printed"),
    ],
)
def test_a_failed_build_gets_the_advice_of_its_output(tmp_path: Path, printed: str, words: str) -> None:
    (tmp_path / "bot").mkdir()
    text = f"echo '{printed}' >&2; exit 1"
    (tmp_path / "bot" / "bot.toml").write_text(f'run = "./bot"\nbuild = ["sh", "-c", {json.dumps(text)}]\n')
    failed = find_failure(run_check(tmp_path, None, bot="bot"))
    assert failed.check == "build"
    assert failed.advice.startswith(words)
    assert "Run the command in the bot's folder" in failed.advice


def test_a_slow_answer_is_not_reported_as_unflushed(tmp_path: Path) -> None:
    def slow(peer: ScriptPeer) -> None:
        for line in peer.lines():
            time.sleep(0.7 * (b'"request"' in line))  # more than SHORT
            peer.send(polite(json.loads(line)) or b"")

    failed = find_failure(run_check(tmp_path, slow, SHORT))
    assert "end each search" in failed.advice
    assert "flush" not in failed.message + failed.advice


def test_a_bot_may_think_as_long_as_a_matchs_bank_allows(tmp_path: Path) -> None:
    allowed = checks.CheckSettings(InProcessSandbox({}), SandboxChoice("process"), tmp_path).timeouts
    assert allowed == checks.Timeouts(Timing().limit_ms / 1000, Timing().bank_ms / 1000)


def test_a_slow_bot_is_started_a_few_times_and_asked_all_kinds(tmp_path: Path) -> None:
    starts = count()

    def slow(peer: ScriptPeer) -> None:
        next(starts)
        for line in peer.lines():
            time.sleep(1.05 * (b'"hello"' in line))
            peer.send(polite(json.loads(line)) or b"")

    steps = run_check(tmp_path, slow)
    (table,) = [step.timings for step in steps if step.timings]
    assert {kind for kind, _, _ in table[1:]} == frozenset().union(
        *(checks.request_kinds(rules) for rules in coup.PRESETS.values())
    )
    assert next(starts) <= 6 < len(coup.PRESETS)


@pytest.mark.parametrize("odd", ["a pointer", "a link", "a virtual environment"])
def test_files_that_a_ladder_lacks_are_reported(tmp_path: Path, odd: str) -> None:
    home = tmp_path / "bot"
    home.mkdir()
    (home / "bot.toml").write_text('run = "python3 bot.py"\n')
    (home / "bot.py").write_text("")
    if odd == "a link":
        (home / "weights").symlink_to("/etc/hostname")
    elif odd == "a virtual environment":
        (home / "weights" / "bin").mkdir(parents=True)
        (home / "weights" / "pyvenv.cfg").write_text("")
        (home / "weights" / "bin" / "python").symlink_to("/usr/bin/python3")
    else:
        (home / "weights").write_text("version https://git-lfs.github.com/spec/v1\noid sha256:0\nsize 9\n")
    first = next(check_bot(str(home), make_settings(tmp_path)))
    assert first.severity is checks.Severity.WARN
    assert ("run python3" in first.advice) == (odd == "a virtual environment")
    assert "weights" in first.message


FAILED = b"coup_kit: MyBot.turn failed at request 8: turn, game 0, turn 4"
PYTHONS = (
    FAILED,
    b"Traceback (most recent call last):",
    *(b"  of the kit" for _ in range(9)),
    b"  bot.py",
    b"KeyError: 'x'",
)
OTHERS = (FAILED, b"KeyError: 'x'", b"  bot.js:7", *(b"  of the kit" for _ in range(9)))
OWN_FRAMES = (
    (b'  File "/bot/bot.py", line 7, in turn', b"    x[9]", b'  File "/bot/coup_kit.py", line 8', b"    y()"),
    (b"main.turn(0x1)", b"\t/tmp/build/bot.go:40 +0x3", b"main.call(0x1)", b"\t/tmp/build/coup_kit.go:415 +0x1"),
    (b"    at MyBot.turn (/bot/bot.js:7:1)", b"    at x (/bot/coup_kit.js:3:1)", b"    at node:internal/main:1"),
    (b"\tat MyBot.turn(MyBot.java:70)", b"\tat CoupKit.reply(CoupKit.java:9)", b"\tat java.base/java.lang.Thread.run"),
)


@pytest.mark.parametrize(("wrote", "first", "last"), [(PYTHONS, 1, 7), (OTHERS, 8, 0)], ids=["Python", "others"])
def test_of_a_long_error_the_authors_own_line_is_shown(
    tmp_path: Path, wrote: tuple[bytes, ...], first: int, last: int
) -> None:
    """It is at the end in Python, and at the beginning elsewhere."""
    failed = find_failure(run_check(tmp_path, dying(b"of an earlier turn", *wrote)))
    assert failed.stderr == (*wrote[:first], *wrote[len(wrote) - last :])


@pytest.mark.parametrize("wrote", OWN_FRAMES, ids=["Python", "Go", "JavaScript", "Java"])
def test_frames_of_kits_and_runtimes_are_left_out(tmp_path: Path, wrote: tuple[bytes, ...]) -> None:
    failed = find_failure(run_check(tmp_path, dying(FAILED, *wrote, b"oops: x")))
    assert failed.stderr == (FAILED, *wrote[: len(wrote) // 2], b"oops: x")


def test_rare_forms_of_requests_are_asked_with_the_first_rules(tmp_path: Path) -> None:
    seen: set[str] = set()

    def answer(message: dict[str, Any]) -> dict[str, Any]:
        cards, players = message["you"]["cards"], len(message["state"]["players"])
        seen.update({f"{players} players"} | {f"{message['kind']}, {len(set(cards))} of {len(cards)} cards"})
        exchanges = [place for place, move in enumerate(message["legal"]) if move.get("action") == "exchange"]
        return {"id": message["id"], "choice": (*exchanges, 0)[0]}

    steps = run_check(tmp_path, answering(answer), rules=(coup.PRESETS["coup"],))
    assert not [step for step in steps if step.severity is checks.Severity.FAIL]
    assert seen >= {"exchange, 1 of 1 cards", "lose, 1 of 2 cards", "10 players"}


def test_a_request_has_the_time_bank_that_is_left(tmp_path: Path) -> None:
    now, banks = [0.0], list[int]()

    def answer(message: dict[str, Any]) -> dict[str, Any]:
        now[0] += 0.1
        banks.append(message["clock"]["bank_ms"])
        return {"id": message["id"], "choice": 0}

    run_check(tmp_path, answering(answer), checks.Timeouts(0.0, 1e9), clock=lambda: now[0])
    assert banks[:3] == [10_000, 9900, 9800]


def test_the_progress_of_a_slow_bot_is_reported_before_its_first_verdict(tmp_path: Path) -> None:
    now = [0.0]

    def answer(message: dict[str, Any]) -> dict[str, Any]:
        now[0] += 0.1
        return {"id": message["id"], "choice": 0}

    steps = run_check(tmp_path, answering(answer), clock=lambda: now[0], progress_s=2.0)
    assert {step.check for step in steps if step.severity is checks.Severity.NOW} == {"more games", "all requests"}


def test_a_stall_of_the_machine_is_not_a_timeout(tmp_path: Path) -> None:
    readings = count()

    def clock() -> float:
        return time.monotonic() + next(readings) // 7 * 1000

    steps = run_check(tmp_path, answering(), clock=clock, progress_s=2.0)
    assert {step.severity for step in steps} <= {checks.Severity.OK, checks.Severity.NOTE, checks.Severity.NOW}


def test_a_bot_whose_games_cannot_be_repeated_gets_a_note_and_passes(tmp_path: Path) -> None:
    rng = random.Random(1)
    steps = run_check(
        tmp_path, answering(lambda message: {"id": message["id"], "choice": rng.randrange(len(message["legal"]))})
    )
    assert {step.check: step.severity for step in steps if step.severity is not checks.Severity.OK} == {
        "same seeds": "note"
    }


def test_peak_memory_is_reported_with_its_limit(tmp_path: Path) -> None:
    """It is the sum of all processes, in megabytes, rounded up."""
    peaks = iter([3 << 20, (13 << 20) + 1])

    def has(peer: ScriptPeer) -> None:
        peer.peak_bytes = next(peaks, 1)
        answering()(peer)

    assert "; memory 14 MB of 256 MB" in run_check(tmp_path, has)[-1].message
    assert "memory" not in run_check(tmp_path, answering())[-1].message


def in_one_folder(folder: Path, script: Script) -> list[tuple[int, checks.CheckStep]]:
    """Check two files of one folder and one that doesn't exist, all with one script."""
    names = [str(folder / name) for name in ("a.py", "none.py", "b.py")]
    for name in (names[0], names[2]):
        Path(name).write_text("")
    settings = make_settings(folder, script)
    found = list(checks.check_all(names, settings))
    assert isinstance(settings.sandbox, InProcessSandbox)
    assert all(box.stdin == -1 for box in settings.sandbox.boxes), "a box wasn't closed"
    return found


def test_several_bots_are_checked_at_once_and_reported_in_order(tmp_path: Path) -> None:
    starts, both = count(), threading.Barrier(2)

    def meets(peer: ScriptPeer) -> None:
        if next(starts) < 2:
            both.wait(PATIENT_S)
        answering()(peer)

    found = in_one_folder(tmp_path, meets)
    names = [step.check for place, step in found if place == 0]
    assert [place for place, _ in found] == [0] * len(names) + [1] + [2] * len(names)
    assert [step.number for _, step in found] == [*range(1, len(names) + 1), 1, *range(1, len(names) + 1)]
    assert [step.severity for _, step in found if step.severity is not checks.Severity.OK] == [checks.Severity.FAIL]


def test_a_new_file_in_a_folder_of_two_bots_is_attributed_to_neither(tmp_path: Path) -> None:
    def writes(peer: ScriptPeer) -> None:
        (tmp_path / "games.log").write_text("")
        answering()(peer)

    steps = [step for _, step in in_one_folder(tmp_path, writes) if step.check == "files"]
    assert [step.severity for step in steps] == [checks.Severity.NOTE] * 2
    assert "or another bot in its folder, wrote next to its program: games.log" in steps[0].message


def test_a_slow_start_is_a_note(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    assert (
        checks.CheckSettings(InProcessSandbox({}), SandboxChoice("process"), tmp_path).hello_s
        == MatchSettings().timing.start_ms / 1000
    )
    monkeypatch.setattr("arena.checks.bot_check.SLOW_S", -1.0)
    (step,) = [step for step in run_check(tmp_path, answering()) if step.check == "hello"]
    assert step.severity is checks.Severity.NOTE
    assert re.fullmatch(r"it took \d+\.\d s of 60 s to start", step.message)


def test_a_missing_bot_fails_the_first_step(tmp_path: Path) -> None:
    (step,) = run_check(tmp_path, None, bot="none.py")
    assert (step.check, step.severity) == ("file", checks.Severity.FAIL)
    assert step.advice == "A bot is a file, or a folder with bot.toml."


def test_the_preflight_reports_a_bot_that_is_silent_after_its_hello(tmp_path: Path) -> None:
    """It is reported once, after two seconds of silence, before its time is over."""
    for script, level, output in ((answering(), checks.Severity.OK, 0), (silent_after_hello, checks.Severity.FAIL, 1)):
        mute: list[bool] = []
        settings = replace(make_settings(tmp_path, script), timeouts=checks.Timeouts(2.1, 0.0))
        ((found,), _) = load_bots([str(tmp_path / "bot.py")])
        assert checks.smoke_test(found, settings, partial(mute.append, True)).severity is level
        assert len(mute) == output


def test_a_slow_bot_is_asked_less_where_time_is_limited(tmp_path: Path) -> None:
    ticks = count()  # each look at the clock takes a tenth of a second

    def asked(enough_s: float) -> tuple[int, str]:
        never, clock = checks.Timeouts(1e9, 0.0), lambda: next(ticks) / 10
        limits = {"hello_s": 1e9, "leave_s": 1e9, "enough_s": enough_s, "rules": (coup.PRESETS["coup"],)}
        steps = {step.check: step for step in run_check(tmp_path, answering(), never, clock=clock, **limits)}
        assert {step.severity for step in steps.values()} <= {checks.Severity.OK, checks.Severity.NOTE}
        return int(steps["more games"].message.split()[0]), steps["all requests"].message

    games, everything = asked(1e9)
    assert games > 2
    assert "never asked" not in everything
    assert asked(0.1)[0] == 2


@pytest.mark.parametrize("said", ["bot.c:1: warning: unused", "cc -Wall -Wno-warning"])
def test_warnings_of_a_build_that_succeeds_are_shown(tmp_path: Path, said: str) -> None:
    (tmp_path / "bot").mkdir()
    (tmp_path / "bot" / "bot.toml").write_text(f'run = "python3 bot.py"\nbuild = ["echo", "{said}"]\n')
    warned = " warning: " in said
    building = []
    settings = replace(make_settings(tmp_path), on_build=building.append)
    with closing(check_bot(str(tmp_path / "bot"), settings)) as steps:
        assert next(steps).check == "file"
        step = next(steps)
    assert (step.check, step.severity, step.log) == ("build", checks.Severity.OK, said.encode() + b"\n")
    assert step.stderr == ((said.encode(),) if warned else ())
    assert step.message.endswith("with warnings") == warned
    assert [bot.name for bot in building] == ["bot"]


def test_files_of_a_build_are_not_attributed_to_the_bot(tmp_path: Path) -> None:
    (tmp_path / "bot").mkdir()
    (tmp_path / "bot" / "bot.toml").write_text('run = "python3 bot.py"\nbuild = "touch made"\n')
    steps = run_check(tmp_path, answering(), bot="bot")
    assert (tmp_path / "bot" / "made").exists()
    assert [step for step in steps if step.severity is checks.Severity.FAIL] == []


@pytest.mark.clock
@pytest.mark.parametrize("starved_s", [2.0, 0.0], ids=["kept from a core", "slow"])
def test_waiting_for_a_core_is_not_own_time(tmp_path: Path, starved_s: float) -> None:
    def script(peer: ScriptPeer) -> None:
        for line in peer.lines():
            message = json.loads(line)
            if message["type"] == "hello":
                peer.starve(starved_s)
                time.sleep(0.2)
            peer.send(polite(message) or b"")

    steps = run_check(tmp_path, script, hello_s=0.1, reports_wait_time=True)
    assert [step.check for step in steps if step.severity is checks.Severity.FAIL] == ([] if starved_s else ["hello"])


def test_a_bot_that_would_fail_without_altered_lines_isnt_said_to_depend_on_them(tmp_path: Path) -> None:
    def tires(message: Message) -> object:
        return b"?\n" if message["id"] > 64 else {"id": message["id"], "choice": 0}

    failed = find_failure(run_check(tmp_path, answering(tires)))
    assert failed.check == "unknown things"
    assert failed.message == "the line is text, not a reply: ?"


@pytest.mark.parametrize(
    ("ends", "words"),
    [
        (lambda seen: [line["type"] for line in seen].count("game_start") == 2, "keeps from earlier games"),
        (lambda seen: seen[-1]["type"] == "game_over", "ended at the line before the request, of the type game_over"),
        (
            lambda seen: seen[-1]["type"] == "game_over" and seen[-1]["winner"] is None,
            "whose winner is null, as after each draw",
        ),
    ],
    ids=["kept", "at the end of a game", "after a draw"],
)
def test_another_process_shows_at_which_line_or_state_a_bot_fails(
    tmp_path: Path, ends: Callable[[list[Message]], bool], words: str
) -> None:
    def script(peer: ScriptPeer) -> None:
        seen: list[Message] = []
        for line in peer.lines():
            seen.append(json.loads(line))
            if seen[-1]["type"] in ("request", "game_over") and ends(seen):
                peer.die(1)
            if (reply := polite(seen[-1])) is not None:
                peer.send(reply)

    assert words in find_failure(run_check(tmp_path, script)).advice


def test_a_program_that_ends_late_gets_a_note(tmp_path: Path) -> None:
    over, late, calls = threading.Event(), threading.Event(), count()

    def clock() -> float:
        now = next(calls)
        if over.is_set() and now > begun[0] + 100:
            late.set()
        return now / 100

    begun = [0]

    def script(peer: ScriptPeer) -> None:
        answering()(peer)
        begun[0] = next(calls)
        over.set()
        late.wait(PATIENT_S)

    steps = run_check(tmp_path, script, clock=clock)
    (step,) = [each for each in steps if each.check == "end of input"]
    assert (step.severity, step.message) == (checks.Severity.NOTE, "exits later than 500 ms after its input ended")


def test_a_line_that_a_bot_does_not_read_to_its_end_is_reported_whole() -> None:
    long_line = b"." * 200_000  # more than a pipe holds
    box = InProcessSandbox({"bot": ScriptPeer.wait}).start(Program(("bot",), Path()), Limits())
    with closing(box), pytest.raises(checks.ConnectionBrokenError) as broken:
        checks.BotConnection(box, Limits()).send(long_line + b"\n", 0.1)
    assert broken.value.sent == long_line
