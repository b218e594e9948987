"""Tests of the check of a version before it plays in a ladder. Source: the docstring of ladder/worker.py."""

import errno
import io
import os
import pickle
import subprocess
import sys
import tempfile
from dataclasses import replace
from pathlib import Path

import pytest

from arena import bots
from arena.checks import CheckStep, Severity
from arena.limits import Limits
from arena.referee import ArenaError, MatchSettings, Timing
from arena.sandbox import SandboxChoice, no_space_message, programs_of
from arena.workers import WorkerRejectedError
from ladder.worker import VersionCheckJob, VersionCheckResult, check_version
from tests.cli_workspace import BOT, LOOK_SEED, SETTLE_S, Place

ROOT = Path(__file__).parents[2]
BAD = ROOT / "tests" / "bad_bots"
PATIENT = MatchSettings(timing=Timing(limit_ms=60_000, bank_ms=60_000, start_ms=60_000))  # a machine may be busy
QUICK = MatchSettings(timing=Timing(limit_ms=200, bank_ms=200, start_ms=2000))  # for bots that say nothing
GREETED = replace(QUICK, timing=replace(QUICK.timing, start_ms=60_000))
PLAIN, BOXED = SandboxChoice("process"), SandboxChoice("bubblewrap")

# As BOT, but its command is its manifest's: a box has another python.
ANY = BOT.split("\n", 1)[1]
# Plays well while it is looked at, and in the match answers some requests so.
TWO_FACED = """import json, sys
asked = 0
for line in sys.stdin:
    message = json.loads(line)
    if message["type"] == "hello":
        looked_at = message["bot_seed"] == "{seed}"
        print('{{"type":"hello"}}', flush=True)
    elif message["type"] == "request":
        asked += 1
        wrong = not looked_at and asked {when}
        if wrong:
            print("wrong on purpose", file=sys.stderr, flush=True)
        print(json.dumps({{"id": message["id"], "choice": 99 if wrong else 0}}), flush=True)
"""


@pytest.fixture(autouse=True)
def temporary(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> "object":
    """Give the folder for temporary files, and assert that none stays."""
    folder = tmp_path / "temporary"
    folder.mkdir()
    monkeypatch.setattr("tempfile.tempdir", str(folder))
    yield folder
    assert list(folder.iterdir()) == []


def write_bot(folder: Path, files: dict[str, str]) -> Path:
    """Write a bot's files, and return the only one, or their folder."""
    home = folder / "home" / "mybot"
    home.mkdir(parents=True)
    for name, text in files.items():
        (home / name).write_text(text)
    return home / next(iter(files)) if len(files) == 1 else home


def job_of(
    submitted: Path, choice: SandboxChoice = PLAIN, references: tuple[str, ...] = ("honest", "turtle")
) -> VersionCheckJob:
    """Return the job of a submission: three seats, one game in each."""
    programs = programs_of(choice.name)
    others = []
    for name in references:
        (bot,), _ = bots.load_bots([name if "/" in name else f"sample:{name}"], programs)
        archive, name = io.BytesIO(), bot.name
        with tempfile.TemporaryDirectory() as place:
            bot = bots.copy_with_kit(bot, True, Path(place, name))
            bots.pack(bot.path, archive)
        others.append((bots.make_portable(replace(bot, name=f"{name}@1"), programs), archive.getvalue()))
    taken = bots.read_submission(submitted)
    name = f"{taken.name}@3"
    sent = (name, taken.archive, taken.digest, taken.file, PATIENT, choice, 3, 3, tuple(others), bytes(32))
    return VersionCheckJob(*sent, match=7, endurance_s=0.0)


def choice_of(box: str, request: pytest.FixtureRequest) -> SandboxChoice:
    """Return the choice of a sandbox; skip the test where it doesn't work."""
    if box != "process":
        request.getfixturevalue(box)
    return SandboxChoice(box)


def checked(job: VersionCheckJob) -> VersionCheckResult:
    """Check as a worker on another machine does: everything is pickled."""
    sent = pickle.dumps(job)
    back = pickle.dumps(check_version(pickle.loads(sent)))
    for path in (str(ROOT), sys.prefix, "arena-run-", "/temporary/"):
        assert path.encode() not in sent + back
    found: VersionCheckResult = pickle.loads(back)
    assert [step.number for step in found.steps] == list(range(1, len(found.steps) + 1))
    assert found.passed == (found.played is not None and failures(found) == [])
    return found


def failures(found: VersionCheckResult) -> list[CheckStep]:
    return [step for step in found.steps if step.severity is Severity.FAIL]


def failure(found: VersionCheckResult) -> CheckStep:
    (step,) = failures(found)
    return step


def test_a_worker_without_space_for_its_folder_names_the_full_one(
    tmp_path: Path, temporary: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    def fail() -> None:
        raise OSError(errno.ENOSPC, no_space_message(temporary))

    job = job_of(write_bot(tmp_path, {"mybot.py": BOT}), references=())
    monkeypatch.setattr("ladder.worker.scratch_folder", fail)
    with pytest.raises(WorkerRejectedError, match=f"no space for temporary files in {temporary}:"):
        check_version(job)


@pytest.mark.parametrize("box", ["process", "bubblewrap"])
def test_a_good_bot_passes_and_plays_a_match_under_its_versions_name(
    tmp_path: Path, box: str, request: pytest.FixtureRequest
) -> None:
    """The built bot that the check returns plays from the stored files."""
    choice = choice_of(box, request)
    manifest = 'run = ["python3", "-S", "made.py"]\nbuild = ["sh", "-c", "echo building; cp bot.txt made.py"]\n'
    for number, files in enumerate(({"good.py": ANY}, {"bot.toml": manifest, "bot.txt": ANY})):
        submitted = write_bot(tmp_path / str(number), files)
        found = checked(job_of(submitted, choice))
        assert failures(found) == []
        assert found.steps[-1].check == "qualifying match"
        names = {name for result in found.played.results for name in result.seats}
        assert names == {found.bot.name, "honest@1", "turtle@1"}
        assert found.bot.name == ("good@3", "mybot@3")[number]
        assert found.played.match == 7
        assert (found.built is None) == (number == 0)
        assert b"".join(step.log for step in found.steps) == (b"", b"building\n")[number]
        (tmp_path / f"cache{number}").mkdir()
        archive = job_of(submitted).archive if found.built is None else found.built
        bots.BotCache(tmp_path / f"cache{number}").add(found.bot, io.BytesIO(archive))


def test_seats_without_a_reference_are_filled_by_references_or_the_version_itself(tmp_path: Path) -> None:
    submitted = write_bot(tmp_path, {"good.py": ANY})
    for references, others in ((("honest",), ["honest@1", "honest@1 (2)"]), ((), ["good@3 (1)", "good@3 (2)"])):
        played = checked(job_of(submitted, references=references)).played
        assert sorted(played.results[0].seats) == sorted(["good@3", *others])


FAILING: dict[str, tuple[str | Path, str, str]] = {
    "dies at its start": (BAD / "exit_at_start.py", "hello", "FileNotFoundError"),
    "is no Python": (BAD / "syntax_error.py", "hello", "SyntaxError"),
    "says nothing at its start": (BAD / "silent_at_start.py", "hello", "no hello within 2000 ms"),
    "says nothing": (BAD / "silent.py", "first game", "no reply came in time"),
    "plays what isn't legal": (BAD / "illegal_move.py", "first game", "isn't legal now"),
    "dies after its first answer": (BAD / "dies_after_answer.py", "first game", ""),
    "prints without end": (BAD / "flood_no_newline.py", "", "longer than|line|bytes"),
    "prints to standard output": (BAD / "print_debug.py", "", ""),
    "stays after the end": (BAD / "ignores_eof.py", "end of input", "still runs 3000 ms after"),
    "needs a program that isn't there": ("#!/usr/bin/env no-such-program\n", "file", "isn't on PATH"),
}


@pytest.mark.parametrize(("bot", "step", "words"), FAILING.values(), ids=FAILING.keys())
def test_a_failed_step_rejects_a_version_with_a_reason(tmp_path: Path, bot: str | Path, step: str, words: str) -> None:
    file = write_bot(tmp_path, {"bot.py": bot}) if isinstance(bot, str) else bot
    settings = {BAD / "silent_at_start.py": QUICK, BAD / "silent.py": GREETED}.get(Path(file), PATIENT)
    found = checked(replace(job_of(file), settings=settings))
    failed = failure(found)
    assert step in ("", failed.check)
    assert words.split("|")[0] in failed.message or any(word in failed.message for word in words.split("|"))
    assert failed.advice
    assert found.bot is None
    assert found.played is None


def test_a_version_that_breaks_down_in_a_long_match_is_rejected(tmp_path: Path) -> None:
    dies = ANY.replace("        choice", "        assert message['id'] <= 150\n        choice", 1)
    found = checked(replace(job_of(write_bot(tmp_path, {"good.py": dies})), endurance_s=60.0))
    assert failure(found).check == "endurance"
    assert "at request 151: the bot ended with an error: AssertionError" in failure(found).message


def test_a_version_that_forfeits_its_qualifying_match_fails_with_the_exchange(tmp_path: Path) -> None:
    found = checked(job_of(write_bot(tmp_path, {"bot.py": TWO_FACED.format(seed=LOOK_SEED, when="> 2")})))
    failed = failure(found)
    assert failed.check == "qualifying match"
    assert "the bot forfeited 3 of 3 games" in failed.message
    assert failed.sent
    assert failed.sent.startswith(b'{"type":"request"')
    assert failed.received == b'{"id": 3, "choice": 99}'
    assert failed.stderr[-1] == b"wrong on purpose"
    assert failed.advice
    assert found.played is not None


def test_a_fault_that_costs_no_game_is_reported_and_passes(tmp_path: Path) -> None:
    found = checked(job_of(write_bot(tmp_path, {"bot.py": TWO_FACED.format(seed=LOOK_SEED, when="== 3")})))
    assert found.passed
    output = found.steps[-1]
    assert output.severity is Severity.NOTE
    assert "with faults: 1; " in output.message
    assert output.received == b'{"id": 3, "choice": 99}'


TOO_LONG = "took longer than 1"  # or 10
BUILDS: dict[str, tuple[str, str, bytes]] = {
    "fails": ("echo said; echo worse >&2; exit 3", "failed", b"said\nworse\n"),
    "hangs": ("echo said; sleep 1000", TOO_LONG, b"said\n"),
    "makes nothing": ("echo said", "created no executable", b"said\n"),
}


SAID: dict[str, dict[str, str] | Path] = {
    "a bot in Python": ROOT / "sample_bots" / "python",
    "a bot in JavaScript": ROOT / "sample_bots" / "honest.js",
    "a traceback": {"bot.py": "import no_such_module\n"},
    "a file that isn't there": {
        "bot.toml": 'run = "python3 bot.py"',
        "bot.py": "import os\nopen(os.getcwd() + '/x')\n",
    },
    "no such program": {"bot.toml": 'run = "./made"', "x": ""},
    "no program": {"bot.toml": 'run = "./x"', "x": ""},
    "no such builder": {"bot.toml": 'run = "./made"\nbuild = "no-such x"', "x": ""},
    "a compiler's errors": {"bot.toml": 'run = "./made"\nbuild = "cc -o made m.c"', "m.c": "int main( { x }"},
    "a build that prints where it is": {"bot.toml": 'run = "./made"\nbuild = "sh -c \'echo $PWD/x; exit 3\'"', "x": ""},
}


@pytest.mark.parametrize("files", SAID.values(), ids=SAID.keys())
def test_no_step_names_a_folder_of_the_machine_that_checks(tmp_path: Path, files: dict[str, str] | Path) -> None:
    """A bot that is a plain process can see these folders. `checked` looks for them, also in all other tests."""
    assert checked(job_of(files if isinstance(files, Path) else write_bot(tmp_path, files))).steps


@pytest.mark.parametrize("box", ["process", "bubblewrap"])
@pytest.mark.parametrize(("script", "words", "log"), BUILDS.values(), ids=BUILDS.keys())
def test_a_build_that_fails_keeps_its_log(
    tmp_path: Path, script: str, words: str, log: bytes, box: str, request: pytest.FixtureRequest
) -> None:
    choice = choice_of(box, request)
    manifest = f'run = "./made"\nbuild = ["sh", "-c", {script!r}]\n'
    job = job_of(write_bot(tmp_path, {"bot.toml": manifest, "x": ""}), choice)
    limits = (60.0,) if words != TOO_LONG else (1.0, 10.0)  # a busy machine hasn't begun in a second
    for limit in limits:
        failed = failure(checked(replace(job, build_s=limit)))
        if failed.log:
            break
    assert failed.check == "build"
    assert words in failed.message
    assert failed.log == log


def test_a_build_with_too_large_output_is_rejected(tmp_path: Path) -> None:
    manifest = 'run = ["python3", "-S", "bot.py"]\nbuild = ["truncate", "-s", "65M", "big"]\n'
    found = checked(job_of(write_bot(tmp_path, {"bot.toml": manifest, "bot.py": ANY})))
    assert failure(found).message == "the build created 65 MB, more than the allowed 64 MB"


@pytest.mark.boxes
@pytest.mark.parametrize("what", ["memory", "disk", "forks"])
def test_a_bot_that_exhausts_resources_fails_in_bounded_time(tmp_path: Path, what: str, bubblewrap: None) -> None:
    takes = {
        "memory": "x = b'x' * (1 << 30)",
        "disk": "import os\nwith open(os.environ['TMPDIR'] + '/x', 'wb') as f:\n  while True: f.write(bytes(1 << 20))",
        "forks": "import os\nwhile True: os.fork()",
    }[what]
    settings = replace(QUICK, limits=Limits(memory_mb=64, processes=16))
    found = checked(replace(job_of(write_bot(tmp_path, {"bot.py": takes + "\n" + ANY}), BOXED), settings=settings))
    failed = failure(found)
    assert failed.check == "hello"
    assert failed.stderr or "memory" in failed.message or "no hello" in failed.message
    assert found.seconds < 120


def test_a_link_whose_name_is_too_long_for_the_machine_fails_the_version(tmp_path: Path) -> None:
    """Whatever its files make the file system refuse is the version's fault, not the machine's."""
    home = write_bot(tmp_path, {"bot.toml": f'run = ["python3", "{"x/" * 2500}.py"]\n', "bot.py": ANY})
    assert failure(checked(job_of(home))).check in ("file", "hello")


def test_a_failure_of_the_machine_is_not_the_versions_fault(tmp_path: Path) -> None:
    job = job_of(write_bot(tmp_path, {"good.py": BOT}))
    (bot, archive), *_ = job.references
    for wrong in (
        replace(job, digest="0" * 64),
        replace(job, archive=job.archive[:700]),
        replace(job, references=((replace(bot, digest="0" * 64), archive),)),
        replace(job, references=((replace(bot, argv=("no-such-program",)), archive),)),
    ):
        with pytest.raises(ArenaError):
            check_version(wrong)
    with pytest.raises(WorkerRejectedError, match=r"arena .*, not 0\.0\.1"):
        check_version(replace(job, arena="0.0.1"))


KILLED = """
import pickle, sys
from pathlib import Path
from ladder.worker import check_version
found = check_version(pickle.loads(Path(sys.argv[1]).read_bytes()))
print(found.passed)
"""
STEPS = {
    "build": 'run = ["python3", "-S", "bot.py"]\nbuild = ["sh", "-c", "sleep LONG & sleep LONG"]\n',
    "check": 'run = ["sh", "-c", "sleep LONG & sleep LONG"]\n',
    "match": 'run = ["python3", "-S", "bot.py"]\n',
}
HANGS = f"""import json, os, sys
for line in sys.stdin:
    message = json.loads(line)
    if message["type"] == "hello":
        if message["bot_seed"] != "{LOOK_SEED}":
            os.fork()
            os.execvp("sleep", ["sleep", "LONG"])
        print('{{"type":"hello"}}', flush=True)
    elif message["type"] == "request":
        print(json.dumps({{"id": message["id"], "choice": 0}}), flush=True)
"""


@pytest.mark.needs("linux", None if sys.platform == "linux" else "it has /proc; elsewhere orphans live on")
@pytest.mark.parametrize(
    ("step", "box"),
    [(step, box) for step in STEPS for box in ("process", "bubblewrap") if (step, box) != ("build", "process")],
)
def test_the_check_after_a_killed_worker_cleans_up_after_it(
    place: Place, tmp_path: Path, step: str, box: str, request: pytest.FixtureRequest
) -> None:
    """Neither a process nor a folder remains, whether the bot hangs in its build, in the check or in the match.

    The exception is a build by the user outside of any box, as for plain processes: it continues.
    """
    choice = choice_of(box, request)
    long = f"1000.{os.getpid()}{list(STEPS).index(step)}{len(box)}"  # a number of seconds that no other process sleeps
    files = {"bot.toml": STEPS[step].replace("LONG", long), "bot.py": HANGS.replace("LONG", long)}
    hanging = replace(job_of(write_bot(tmp_path, files), choice), settings=PATIENT)
    (place.folder / "hangs").write_bytes(pickle.dumps(hanging))
    (place.folder / "good").write_bytes(pickle.dumps(job_of(place.bot("good.py", ANY), choice)))

    def start(job: str) -> "subprocess.Popen[str]":
        process = subprocess.Popen(
            [sys.executable, "-P", "-c", KILLED, place.folder / job],
            env={**os.environ, "PYTHONPATH": str(ROOT), "TMPDIR": str(place.tmp)},
            stdout=subprocess.PIPE,
            stderr=subprocess.PIPE,
            text=True,
            start_new_session=True,
        )
        place.started.append(process)
        return process

    process = start("hangs")
    place.wait(lambda: count_sleeping(long) == 2, process=process)
    process.kill()
    process.communicate(timeout=SETTLE_S)
    assert place.end(start("good")).out == "True\n"
    place.require_nothing_left()
    place.wait(lambda: not count_sleeping(long), SETTLE_S)


def count_sleeping(seconds: str) -> int:
    found = 0
    for path in Path("/proc").glob("[0-9]*/cmdline"):
        try:
            found += path.read_bytes() == f"sleep\0{seconds}\0".encode()
        except OSError:  # it has just ended
            continue
    return found


def test_the_faults_of_a_check_are_the_versions_own(tmp_path: Path) -> None:
    """A reference at the same table may have been broken since."""
    broken = tmp_path / "broken.py"
    broken.write_text(TWO_FACED.format(seed="", when="> 2"))
    found = checked(job_of(write_bot(tmp_path, {"bot.py": ANY}), references=("honest", str(broken))))
    assert any(result.faults for result in found.played.results)
    assert found.steps[-1].severity is Severity.OK
    assert found.steps[-1].message.endswith("without a fault")
