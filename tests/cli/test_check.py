"""`arena check` with the most common mistakes. Source: the help of the command."""

import json
import shutil
import subprocess
from collections.abc import Callable
from pathlib import Path

import pytest

from tests.cli.screen import Screen
from tests.cli_workspace import BOT, Place, Ran

MISTAKES = Path(__file__).parents[1] / "mistakes"


def run_check(place: Place, *arguments: object) -> Ran:
    return place.run("check", *arguments, "--quick", "--bank-ms", 1500, "--sandbox", "process")


def mistake(name: str) -> Callable[[Place], object]:
    return lambda place: place.bot(f"{name}.py", (MISTAKES / f"{name}.py").read_text())


def program(place: Place, text: bytes, mode: int = 0o755, name: str = "bot") -> Path:
    path = place.folder / name
    path.write_bytes(text)
    path.chmod(mode)
    return path


def answers(reply: str, flush: str = "print(reply, flush=True)", before: str = "") -> Callable[[Place], object]:
    """Return a writer of a bot that answers each request with a text in which ID is the request's id."""
    text = (
        f"import json, sys\n{before}\nfor line in sys.stdin:\n    message = json.loads(line)\n"
        "    if message['type'] == 'hello':\n        print('{\"type\":\"hello\"}', flush=True)\n"
        "    if message['type'] == 'request':\n"
        f"        reply = {reply!r}.replace('ID', str(message['id']))\n        {flush}\n"
    )
    return lambda place: place.bot("bot.py", text)


def folder_run_by_shebang(place: Place) -> object:
    place.bot("bot/bot.toml", 'run = ["./bot.py"]\n')
    return program(place, b"#!/usr/bin/env python3\r\nprint()\r\n", name="bot/bot.py").parent


def folder_built_by_shebang(place: Place) -> object:
    place.bot("bot/bot.toml", 'run = "python3 bot.py"\nbuild = "./build.sh"\n')
    place.bot("bot/bot.py", "")
    return program(place, b"#!/bin/sh\r\n", name="bot/build.sh").parent


def json_module(place: Place) -> object:
    place.bot("bot/bot.toml", 'run = ["python3", "main.py"]\n')
    place.bot("bot/json.py", "x = 1\n")
    return place.bot("bot/main.py", "import json, sys\nfor line in sys.stdin: json.loads(line)\n").parent


LOOP = BOT.partition("\n")[2]
C_BUFFER = r"""#include <stdio.h>
#include <stdlib.h>
#include <string.h>
int main() { char b[1024]; while (fgets(b, sizeof b, stdin)) {
  char *id = strstr(b, "\"id\":");
  if (strstr(b, "\"type\":\"hello\"")) puts("{\"type\":\"hello\"}");
  else if (strstr(b, "\"legal\":")) printf("{\"id\":%d,\"choice\":0}\n", id ? atoi(id + 5) : 0);
  fflush(stdout); } }
"""
BASE_GAME = LOOP.replace(
    '"request":\n', '"request":\n        if message["kind"] == "draft": raise ValueError("draft")\n'
)
ONE_BEHIND = """import json, sys
last = 0
for line in sys.stdin:
    message = json.loads(line)
    if message["type"] == "hello": print('{"type":"hello"}', flush=True)
    if message["type"] == "request":
        if last: print('{"id":%d,"choice":0}' % last, flush=True)
        last = message["id"]
"""
SELECTS = """import json, select, sys
while True:
    select.select([sys.stdin], [], [])
    line = sys.stdin.readline()
    if not line: break
    message = json.loads(line)
    if message["type"] == "hello": print('{"type":"hello"}', flush=True)
    if message["type"] == "request": print('{"id":%d,"choice":0}' % message["id"], flush=True)
"""


def folder(manifest: str, **texts: str) -> Callable[[Place], object]:
    """Return a writer of a folder with a manifest and files, by their names with _ for the dot."""

    def make(place: Place) -> object:
        for name, text in texts.items():
            place.bot(f"bot/{name.replace('_', '.')}", text)
        return place.bot("bot/bot.toml", manifest).parent

    return make


def parent_module(place: Place) -> object:
    place.bot("common.py", "x = 1\n")
    return folder('run = "python3 bot.py"\n', bot_py="import common\n")(place)


# A row for each kind of evidence of a real process; each cause has its row in tests/checks/test_mistakes.py.
CASES: dict[str, tuple[Callable[[Place], object], str, str, str]] = {
    # mistake: the bot, the step that fails, words of the cause, words of the fix
    "exception at the fiftieth request": (mistake("fiftieth"), "more games", "KeyError", "fix the error"),
    "endless loop": (mistake("endless_loop"), "first game", "no line within 2000 ms", "endless loop"),
    "sleep": (mistake("sleeps"), "first game", "the bot sleeps", "look for a sleep"),
    "reads one line only": (mistake("reads_one_line"), "first game", "ended by itself", "for line in sys.stdin"),
    "writes into its folder": (mistake("writes_files"), "files", "games.log", "TMPDIR"),
    "byte order mark before the shebang": (
        lambda place: program(place, b"\xef\xbb\xbf#!/usr/bin/env python3\n"),
        "hello",
        "byte order mark",
        "(BOM)",
    ),
    "CR LF after the shebang": (folder_run_by_shebang, "hello", "CR LF", "LF line ends"),
    "CR LF in a build script": (folder_built_by_shebang, "build", "CR LF", "LF line ends"),
    "no end of line": (
        answers('{"id":ID,"choice":0}', "print(reply, end='', flush=True)"),
        "first game",
        "the reply lacks its newline",
        "flush it",
    ),
    "crash": (
        answers("x", "import os; os.kill(os.getpid(), 11)"),
        "first game",
        "the bot crashed: killed by signal 11",
        "-fsanitize=address",
    ),
    "a json.py": (json_module, "hello", "json.py hides Python's module json", "rename the file"),
    "a buffer of fixed size": (
        folder('run = "./bot"\nbuild = "cc -o bot bot.c"\n', bot_c=C_BUFFER),
        "all requests",
        "the request is cut after 1,023 bytes",
        "whole lines of any length",
    ),
    "a name with a space": (
        lambda place: (
            place.bot("bot/my bot.py", LOOP) and place.bot("bot/bot.toml", 'run = "python3 my bot.py"').parent
        ),
        "hello",
        'the command splits the name "my bot.py"',
        "as a list",
    ),
    # In whichever game two lines arrive at once.
    "select before readline": (lambda place: place.bot("bot.py", SELECTS), "", "another line", "select"),
    "a line that is read and dropped": (
        answers(
            '{"id":ID,"choice":0}',
            "print(reply, flush=True)",
            "drop = sys.stdin.readline\nprint('{\"type\":\"hello\"}', flush=True)\nfor _ in 'hgr': drop()",
        ),
        "first game",
        "now waits for its next line",
        "a line that is read and dropped",
    ),
    "a child that reads the bot's input": (
        answers('{"id":ID,"choice":0}', "import subprocess; subprocess.getoutput('sort'); print(reply, flush=True)"),
        "first game",
        "a process that the bot started reads the bot's input",
        "an empty standard input",
    ),
    "a filter behind the bot": (
        folder('run = "sh run.sh"\n', bot_py=LOOP, run_sh="python3 bot.py | grep -v DEBUG\n"),
        "hello",
        "the program grep behind the pipe",
        "--line-buffered",
    ),
    "a link to nothing": (
        lambda place: (
            (folder('run = "./bot"\n')(place), (place.folder / "bot" / "bot").symlink_to("/nowhere/bot"))
            and place.folder / "bot"
        ),
        "file",
        "a link to a file that isn't there: /nowhere/bot",
        "Put the program itself",
    ),
    "one behind": (
        lambda place: place.bot("bot.py", ONE_BEHIND),
        "first game",
        "after the next request",
        "not the one",
    ),
    "a library's banner": (
        folder(
            'run = "python3 bot.py"\n', bot_py=f"import banner\n{LOOP}", banner_py="print('pygame 2.5.2, welcome')\n"
        ),
        "hello",
        "a library that the bot imports prints",
        "redirect_stdout",
    ),
    "a module in the folder above": (parent_module, "hello", "is in the folder above", "move the module"),
    "only the base game": (
        folder('run = "python3 bot.py"\n', bot_py=BASE_GAME),
        "all requests",
        "ValueError: draft",
        "check it with --rules coup",
    ),
}
if not shutil.which("cc"):
    del CASES["a buffer of fixed size"]


def unfold(text: str) -> str:
    return " ".join(text.split())


BATCH = 8  # bots that are checked by one command; in its 60 s, on a busy machine too


@pytest.fixture(scope="module")
def output(places: Callable[[], Place]) -> dict[str, list[str]]:
    """Return the printed lines of each case; each bot has a folder of its own."""
    homes = {name: places() for name in CASES}
    bots = {str(CASES[name][0](home)): name for name, home in homes.items()}
    found: dict[str, list[str]] = {}
    for start in range(0, len(bots), BATCH):
        batch = list(bots)[start : start + BATCH]
        place = places()
        ran = run_check(place, *batch, "--start-ms", 3000)
        assert ran.code == 1, ran.err
        lines: list[str] = []
        for line in ran.out.splitlines():
            if line in batch:
                lines = found[bots[line]] = []
            else:
                lines.append(line)
        for saved in place.tmp.glob("arena-lines-*.jsonl"):  # for the commands that repeat the failures
            saved.unlink()
        place.require_nothing_left()
    return found


@pytest.mark.parametrize("name", CASES)
def test_a_mistake_fails_one_step_with_its_fix(output: dict[str, list[str]], name: str) -> None:
    _, step, cause, remedy = CASES[name]
    out = "\n".join(output[name])
    failed = [number for number, line in enumerate(output[name]) if "  fail  " in line]
    assert len(failed) == 1, out
    lines = output[name][failed[0] :]
    assert lines[0].split("  fail  ")[1].strip().startswith(step), out
    assert cause in unfold(" ".join(lines)), out
    assert remedy in unfold(" ".join(lines[1:])), out
    whole = ("  |  ", "  by hand: ")
    assert max(len(line) for line in output[name] if not any(mark in line for mark in whole)) <= 80
    for line in lines:
        if line.startswith("            sent "):
            assert '"type":"request"' not in line, "a request isn't shown as it was sent"
        elif line.startswith("            request "):
            assert line.split()[1].startswith('{"kind":'), "but what was asked first, then what could be answered"


LATER = ("fiftieth", "writes_files")  # they show after the first requests


def test_a_run_names_all_these_mistakes_before_it_plays(place: Place) -> None:
    bad = [path for path in sorted(MISTAKES.glob("*.py")) if path.stem not in LATER]
    for path in bad:
        mistake(path.stem)(place)
    good = place.bots(3)
    clocks = ("--start-ms", 4000, "--limit-ms", 500, "--bank-ms", 1500)

    ran = place.run("run", *good, *(path.name for path in bad), *clocks, "--out", "out")
    assert ran.code == 2
    for path in bad:
        assert f"{path.stem} can't play: " in ran.err
    for words in ("doesn't flush", "copy the id", "isn't valid JSON", "numpie", "endless loop"):
        assert words in ran.err


FINE = {
    "unicode and blanks in its path": ("größe 大 bot.py", BOT),
    "CR LF line ends": ("bot.py", BOT.replace("\n", "\r\n")),
}


@pytest.mark.parametrize(("name", "text"), FINE.values(), ids=FINE)
def test_correct_bots_pass(place: Place, name: str, text: str) -> None:
    (place.folder / name).write_bytes(text.encode())
    clocks = [word for flag in ("--start-ms", "--limit-ms", "--bank-ms") for word in (flag, "9" * 400)]
    ran = run_check(place, place.folder / name, "--rules", "coup", *clocks)
    assert ran.code == 0, ran.out
    assert "  fail  " not in ran.out


def test_a_check_tells_the_bot_the_limits_that_it_uses(place: Place) -> None:
    """An option wins over the file of the rules, as in `arena run`."""
    (place.folder / "my.toml").write_text("[limits]\nlimit_ms = 2000\nstart_ms = 9000\nmemory_mb = 512\n")
    told = '[message["limits"][name] for name in ("limit_ms", "bank_ms", "start_ms", "memory_mb")]'
    text = LOOP.replace("        seed =", f"        assert {told} == [3000, 1500, 9000, 512]\n        seed =")
    text = text.replace("        choice =", '        assert message["clock"]["limit_ms"] == 3000\n        choice =')
    ran = run_check(place, place.bot("bot.py", text), "--rules", "my.toml", "--limit-ms", 3000)
    assert ran.code == 0, ran.out
    assert "of 3000 ms" in ran.out


def test_a_failure_can_be_repeated_by_hand(place: Place) -> None:
    ran = place.run(
        "check", place.bot("my bot.py", LOOP.replace("        choice", "        1 // 0\n        choice", 1))
    )
    [command] = [line for line in ran.out.splitlines() if "  by hand: " in line]
    again = subprocess.run(
        command.partition("by hand: ")[2], shell=True, cwd=place.folder, capture_output=True, timeout=60
    )
    assert b"ZeroDivisionError" in again.stderr


def test_a_bot_that_hangs_after_the_first_verdict_fails(place: Place) -> None:
    hangs = LOOP.replace("        choice", "        while message['id'] > 150: pass\n        choice", 1)
    ran = place.run("check", place.bot("bot.py", hangs), "--rules", "coup", "--bank-ms", 500, "--sandbox", "process")
    assert ran.code == 1
    assert "bot.py can play so far; it now plays on\n" in ran.out
    assert "endurance         at request 151: no reply came in time" in ran.out
    assert ran.out.endswith("1 step failed\n")


@pytest.mark.parametrize(
    ("text", "words"),
    [
        (
            f"import multiprocessing\nmultiprocessing.set_start_method('spawn')\np = multiprocessing.Pool(1)\n"
            f"p._pool[0].join()\n{LOOP}",
            "__main__",
        ),
        (f"import sys\nprint('Traceback (most recent call last):\\nOops: x', file=sys.stderr)\n{LOOP}", "Oops: x"),
        (
            LOOP.replace("        choice", "        sys.stderr.write('x' * 50_000)\n        choice", 1),
            "KB for each request",
        ),
    ],
    ids=["a helper process", "a traceback", "much output"],
)
def test_standard_error_of_a_bot_that_passes_is_shown(place: Place, text: str, words: str) -> None:
    ran = run_check(place, place.bot("bot.py", text), "--rules", "coup")
    shown = unfold(ran.out.partition("note  standard error")[2])
    assert words in shown
    assert ran.out.endswith("can play\n")


def test_json_has_the_steps_of_all_bots(place: Place) -> None:
    loud = place.bot("loud.py", "print('\\x1b[2J', flush=True)\ninput()\n")
    ran = run_check(place, place.bot("good.py"), loud, "--rules", "coup", "--json")
    assert ran.code == 1
    good, bad = ran.json["bots"]
    assert (good["passed"], bad["passed"]) == (True, False)
    assert {step["severity"] for step in good["steps"]} <= {"ok", "note"}
    assert bad["steps"][-1]["received"] == "\\x1b[2J"


def test_gradescope_reads_each_step(place: Place) -> None:
    """Source: gradescope-autograders.readthedocs.io, Output format."""
    ran = run_check(place, place.bot("good.py"), "--rules", "coup", "--gradescope", "results.json")
    output = json.loads((place.folder / "results.json").read_text())
    assert (ran.code, output["score"], output["output"]) == (0, 1.0, f"{place.folder / 'good.py'} can play")
    assert {test["status"] for test in output["tests"]} == {"passed"}
    assert output["tests"][0]["name"] == "file"
    assert (
        output["tests"][0]["output"].splitlines()
        == ran.out.splitlines()[1 : 1 + len(output["tests"][0]["output"].splitlines())]
    )


def test_gradescope_gets_the_problem_of_a_submission(place: Place) -> None:
    (place.folder / "empty").mkdir()
    ran = run_check(place, "empty", "--rules", "coup", "--gradescope", "results.json")
    output = json.loads((place.folder / "results.json").read_text())
    assert (ran.code, output["score"], output["output"]) == (1, 0.0, "1 step failed")
    assert [test["status"] for test in output["tests"]].count("failed") == 1
    assert "-> " in output["tests"][-1]["output"], "what to do"


def test_gradescope_gets_no_file_of_wrong_use(place: Place) -> None:
    """Two bots, an unknown preset or a missing folder are no fault of the student."""
    bot = place.bot("bot.py").name
    for words in ((bot, bot), (bot, "--rules", "poker")):
        assert place.call("check", *words, "--quick", "--sandbox", "process", "--gradescope", "results.json").code == 2
    assert not (place.folder / "results.json").exists()
    assert run_check(place, bot, "--rules", "coup", "--gradescope", "no/results.json").code == 2


def test_a_narrow_terminal_gets_each_detail_below_its_step(place: Place) -> None:
    place.bot("bot.py", BOT)
    command = ["check", "bot.py", "--quick", "--rules", "coup", "--sandbox", "process"]
    made = Screen(command, 30, 20, place.folder, **place.environment({"COLUMNS": "30"}))
    try:
        lines = [line.rstrip() for line in made.until("can play").split("\n")]
    finally:
        made.close()
    assert max(map(len, lines)) <= 30
    at = lines.index(" 3  ok    first game")
    assert " ".join(lines[at + 1 : at + 3]).split()[1:] == ["requests", "answered", "with", "legal", "moves"]


def test_a_plain_process_notes_the_packages_that_no_box_has(place: Place) -> None:
    bot = place.bot("bot.py", "import click\n" + BOT)
    ran = run_check(place, bot, place.bot("plain.py", BOT), "--rules", "coup", "--json")
    step = next(step for step in ran.json["bots"][0]["steps"] if step["check"] == "imports")
    assert (ran.code, step["severity"]) == (0, "note")
    assert step["message"] == "click: a box has the standard library and the bot's folder"
    other = ran.json["bots"][1]["steps"]
    assert "imports" not in [step["check"] for step in other]


def test_a_compiled_bots_build_is_a_step_with_its_log(place: Place) -> None:
    place.bot("bot/bot.toml", 'run = "./bot"\nbuild = ["sh", "-c", "echo no compiler; exit 4"]\n')
    ran = run_check(place, "bot")
    assert ran.code == 1
    assert ran.err.splitlines()[-1].startswith("building bot (at most ")
    assert " 2  fail  build" in ran.out
    assert "exit code 4" in ran.out
    assert "|  no compiler" in ran.out
    assert "Full log" not in ran.out, "all of it is shown"
    prints = "seq 1 500; echo error: no type; seq 501 999; exit 4"
    place.bot("bot/bot.toml", f'run = "./bot"\nbuild = ["sh", "-c", "{prints}"]\n')
    ran = run_check(place, "bot", "--json")
    step = ran.json["bots"][0]["steps"][-1]
    assert step["stderr"][:3] == ["[...]", "error: no type", "501"]
    log = Path(step["advice"].splitlines()[-1].removeprefix("Full log: "))
    assert log.read_text().splitlines() == [*map(str, range(1, 501)), "error: no type", *map(str, range(501, 1000))]
    place.bot("bot/bot.toml", f'run = "./bot"\nbuild = ["sh", "-c", "echo {"long" * 100}; exit 4"]\n')
    again = run_check(place, "bot", "--json").json["bots"][0]["steps"][-1]
    assert again["advice"].endswith(log.name), "the line is cut where it is shown"
    assert log.read_text() == "long" * 100 + "\n", "the last log of a bot takes the place of the one before"
    assert log.stat().st_mode & 0o777 == 0o600
