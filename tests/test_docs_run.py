"""Commands and programs of the README and of other documents run.

The present interpreter's environment stands for `.venv`, which the README's first command would make from the network.
"""

import csv
import io
import json
import os
import re
import shlex
import shutil
import signal
import subprocess
import sys
import tomllib
from functools import reduce
from pathlib import Path

import pytest

from tests.cli_workspace import Place
from tests.command import Command, completed
from tests.documents import ROOT, blocks, document

README, FIRST_BOT = document("README.md"), document("docs/tutorials/first-bot.md")
TUNING, COURSE, RESEARCH = (
    document(f"docs/howto/{name}.md") for name in ("bots/tune-parameters", "course/plan", "bots/analyze-results")
)

PREFIX = Path(sys.prefix)
LIMIT_S = 400  # only a failure takes this long


def make(*arguments: str) -> subprocess.CompletedProcess[str]:
    # Without the flags of the make that runs these tests: -n, -j or its variables.
    environment = {name: value for name, value in os.environ.items() if not name.startswith(("MAKE", "MFLAGS"))}
    return subprocess.run(
        ["make", *arguments], cwd=ROOT, env=environment, capture_output=True, text=True, timeout=LIMIT_S, check=False
    )


def first_commands() -> list[list[str]]:
    """Return the README's first block: each command's words, without its comment."""
    lines = [line.partition(" #")[0].strip() for line in blocks("sh", README)[0].splitlines()]
    return [re.findall(r'[^\s"]+="[^"]*"|\S+', line) for line in lines if line]


def test_the_readmes_first_commands_are_targets_that_begin_with_an_environment() -> None:
    """On a fresh machine `make run` and `make play` create .venv first."""
    found = first_commands()
    assert found[:2] == [["make", "run"], ["make", "play"]]
    for words in found[:2]:
        planned = make("--always-make", "--dry-run", "VENV=/fresh", *(word.replace('"', "") for word in words[1:]))
        assert planned.returncode == 0, planned.stderr
        steps = planned.stdout.splitlines()
        venv = next(number for number, step in enumerate(steps) if "-m venv /fresh" in step)
        install = next(number for number, step in enumerate(steps) if re.search(r"\bpip .*install", step))
        assert venv < install < len(steps) - 1
        assert {"run": "arena run", "play": "arena play --browser"}[words[1]] in steps[-1]


def test_every_make_target_of_the_documents_exists() -> None:
    text = README + (ROOT / "CONTRIBUTING.md").read_text(encoding="utf-8")
    targets = set(re.findall(r"\bmake ([a-z-]+)", "\n".join([*blocks("sh", text), *re.findall(r"`([^`\n]+)`", text)])))
    assert {"run", "quick", "check"} <= targets
    planned = make("--dry-run", "--always-make", "VENV=/fresh", *sorted(targets))
    assert planned.returncode == 0, planned.stderr


def test_the_readmes_bot_passes_its_own_test_and_plays_without_a_fault(tmp_path: Path) -> None:
    bot = tmp_path / "tiny.py"
    bot.write_text(README.split("<<'END'\n")[1].split("END\n")[0])
    with (ROOT / "protocol" / "examples" / "to_bot.jsonl").open() as heard:
        tried = subprocess.run(
            [sys.executable, bot], stdin=heard, capture_output=True, text=True, timeout=LIMIT_S, check=True
        )
    wanted = (ROOT / "protocol" / "examples" / "from_bot.jsonl").read_text().splitlines()
    assert [json.loads(line).get("id") for line in tried.stdout.splitlines()] == [
        json.loads(line).get("id") for line in wanted
    ]
    command = ["run", str(bot), "sample_bots/turtle.py", "--games", "2", "--match-games", "2", "--json"]
    ran = completed([*command, "--out", str(tmp_path / "out")], cwd=ROOT)
    assert ran.returncode == 0, ran.stderr
    found = json.loads(ran.stdout)
    assert found["games"] == 2
    assert {count for row in found["standings"] for count in row["faults_by_code"].values()} == {0}


@pytest.mark.needs("command", None if (PREFIX / "bin" / "arena").exists() else "it isn't installed with this Python")
def test_the_blocks_of_the_readme_run_when_they_are_pasted(tmp_path: Path) -> None:
    """In an empty folder, with few games. The first block is make's; the last ones of the others serve until Ctrl-C."""
    places = {"PATH": f"{PREFIX / 'bin'}{os.pathsep}{os.environ['PATH']}", "PYTHONPATH": str(ROOT)}
    _, *pasted, site = blocks("sh", README)
    assert site.startswith("make playground site && ")
    started, serve = pasted[-1].splitlines()[:-1], pasted[-1].splitlines()[-1].partition(" #")[0]
    for block in (*pasted[:-1], "\n".join(started)):
        ran = subprocess.run(
            ["bash", "-ec", re.sub(r"--games \d+", "--games 12", block)],
            cwd=tmp_path,
            env=os.environ | places,
            capture_output=True,
            text=True,
            timeout=LIMIT_S,
            check=False,
        )
        assert ran.returncode == 0, ran.stdout + ran.stderr
    words = [*shlex.split(serve)[1:], "--port", "0"]  # so that tests don't share a port
    with Command(words, cwd=tmp_path, stdout=subprocess.PIPE, stderr=subprocess.STDOUT) as serving:
        assert serving.stdout
        assert any("http://127.0.0.1:" in line for line in serving.stdout)
        serving.send_signal(signal.SIGTERM)
        serving.communicate(timeout=LIMIT_S)


def test_the_first_page_ends_with_a_bot_that_wins_more(tmp_path: Path) -> None:
    """Its commands run with few games; its change is made in the place that it names."""
    before, after = FIRST_BOT.split("DOUBT = 0.1")
    assert [run_command(line, tmp_path) for line in commands_of(before)][-2].startswith("12 games")
    bot = tmp_path / "mybot" / "bot.py"
    changed = re.sub(r"^DOUBT = [0-9.]+$", "DOUBT = 0.1", bot.read_text(), flags=re.MULTILINE)
    assert changed != bot.read_text()
    bot.write_text(changed)
    (output,) = (run_command(line, tmp_path) for line in commands_of(after))
    assert "12 pairs in 3 blocks" in output
    assert (tmp_path / "lost.html").is_file()
    bot.write_text(blocks("python", FIRST_BOT)[0])  # a whole bot, which needs the kit in its folder
    assert "mybot can play" in run_command("arena check mybot --rules coup --sandbox process", tmp_path)


def test_the_recipe_of_tuning_ends_with_a_comparison_on_fresh_deals(tmp_path: Path) -> None:
    """use-bots-in-python.md, with few trials and games."""
    recipe = TUNING.split("## Tune two numbers")[1].split("\n## ")[0]
    (bot,), tune = blocks("python", recipe), document("docs/howto/bots/tune.py")
    (new,), (copy, tuning, comparison) = (block.splitlines() for block in blocks("sh", recipe))
    run_command(new, tmp_path)
    (tmp_path / "old" / "bot.py").write_text(bot)
    (tmp_path / "tune.py").write_text(tune.replace("TRIALS, GAMES = 60, 240", "TRIALS, GAMES = 6, 12"))
    assert copy == "cp -r old new"
    shutil.copytree(tmp_path / "old", tmp_path / "new")
    assert tuning == "PYTHONPATH=new python tune.py"
    tuned = subprocess.run(
        [sys.executable, "tune.py"],
        cwd=tmp_path,
        env=os.environ | {"PYTHONPATH": f"new{os.pathsep}{ROOT}"},
        capture_output=True,
        text=True,
        timeout=LIMIT_S,
        check=False,
    )
    assert tuned.returncode == 0, tuned.stderr
    assert len(re.findall(r"^trial \d: .* of 60 games afresh: DOUBT ", tuned.stdout, re.MULTILINE)) == 5
    numbers = [
        re.findall(r"^(?:DOUBT|BLUFF) = (\S+)", (tmp_path / f"{name}/bot.py").read_text(), re.MULTILINE)
        for name in ("old", "new")
    ]
    assert numbers[0] == ["0.1", "0.1"]
    assert numbers[1] != numbers[0]
    assert all(re.fullmatch(r"[01]\.\d\d", number) for number in numbers[1])
    assert "12 pairs in 3 blocks" in run_command(f"{comparison} --max-pairs 12 --sandbox process", tmp_path)


def test_the_commands_of_the_course_run(place: Place) -> None:
    """They are those of docs/howto/course/plan.md, with deadlines that are over and few games."""
    settings = document("docs/howto/course/course.toml")
    baselines = tomllib.loads(settings)["baselines"]
    assert sum(baseline["points"] for baseline in baselines) == 100
    assert len(re.findall("^at = 2027-", settings, re.MULTILINE)) == 4
    (place.folder / "roster.csv").write_text("login,name\nada,Ada Lovelace\nbob,Bob Noyce\n")
    begin, *commands = re.findall("^arena (.*)", "".join(blocks("sh", COURSE)), re.MULTILINE)
    made = place.call(*shlex.split(begin), "--sandbox", "process", "--seats", 2, "--match-games", 2)
    assert made.code == 0, made.err
    (place.folder / "spring" / "ladder.toml").write_text(settings.replace("at = 2027-", "at = 2021-"))
    output = {}
    for command in commands:
        words = shlex.split(re.sub(r"--games \d+", "--games 2", command), comments=True)
        if words[1] == "serve":  # it doesn't end; meanwhile a student submits
            words = ["ladder", "run", "spring", "--until", "idle"]
            in_time = ["--owner", "ada", "--name", "mine", "--at", "2021-04-10T12:00Z"]
            assert place.call("ladder", "submit", "spring", "sample:bluffer", *in_time).code == 0
        ran = place.run(*words, "--jobs", 2) if words[1] == "run" else place.call(*words)
        assert ran.code == 0 or words[1] == "doctor", (command, ran.err)
        output[command] = ran.out
    published = re.findall(r"`(spring/final-[^`]+)`", COURSE)
    assert published == ["spring/final-week-1.txt", "spring/final-week-4.txt"]
    assert all((place.folder / name).is_file() for name in published)
    (released,) = (out for command, out in output.items() if command.endswith("--final week-4"))
    assert released.startswith("2 grades, at most 100 points each\n")
    final = place.call("ladder", "grades", "show", "spring", "--release", "week-4").out
    ada, bob = csv.DictReader(io.StringIO(final))
    assert (ada["version"], ada["max_points"], bob["reason"]) == ("mine@1", "100", "no version was submitted")
    for baseline in baselines:
        assert f"{baseline['name']}: not passed, " in ada["reason"]  # there are too few games


def test_a_run_becomes_the_tables_of_the_page_of_research(tmp_path: Path) -> None:
    """analyze-results.md: its command with fewer games, its script, and the rows of the table that it shows."""
    command, script = (block.strip() for block in blocks("sh", RESEARCH))
    assert "--games 1200 --seed 7" in command
    run_command(command.replace("--games 1200", "--games 36 --sandbox process"), tmp_path)
    assert script == "python analyze_run.py run"
    made = subprocess.run(
        [sys.executable, ROOT / "docs/howto/bots/analyze_run.py", "run"],
        cwd=tmp_path,
        capture_output=True,
        text=True,
        timeout=LIMIT_S,
        check=False,
    )
    assert made.returncode == 0, made.stderr
    (shown,) = re.findall(r"^```\n(how often.*?)^```", RESEARCH, re.MULTILINE | re.DOTALL)
    names = [sorted(re.findall(r"^(?:how .*|│ +\w+ +)", text, re.MULTILINE)) for text in (shown, made.stdout)]
    assert set(names[0]) <= set(names[1])
    assert {path.name for path in tmp_path.glob("*.parquet")} == {"results.parquet", "games.parquet", "moves.parquet"}


def commands_of(text: str) -> list[str]:
    """Return the commands in a document, with few games in plain processes."""
    lines = "".join(blocks("sh", text)).splitlines()
    quick = {
        "--games 240": "--games 12 --match-games 12 --sandbox process",
        "--against": "--max-pairs 12 --sandbox process --against",
        "arena check mybot": "arena check mybot --rules coup --sandbox process",
        "arena watch": "arena watch --sandbox process",
    }
    return [reduce(lambda made, pair: made.replace(*pair), quick.items(), line) for line in lines]


def run_command(line: str, folder: Path) -> str:
    words = line.split()
    if words[0] == "cp":
        return subprocess.run(words, cwd=folder, check=True, capture_output=True, text=True).stdout
    assert words[0] == "arena"
    ran = completed(words[1:], cwd=folder)
    assert ran.returncode == 0, ran.stderr
    return ran.stdout
