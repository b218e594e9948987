"""`arena run` and `arena verify`. Source: the README, "Run"."""

import csv
import io
import json
import re
import shutil
import stat
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from arena.cli import cli
from arena.run.report import RefusedRun, RunReport
from arena.sandbox import ProcessSandbox
from arena.sandbox.linux import cgroup
from tests.cli.screen import Screen
from tests.cli_workspace import ANSWER, ILLEGAL, Place, Ran, bot_text

ROOT = Path(__file__).parents[2]
SMALL = ("--games", 8, "--match-games", 2)  # two bots: four matches


def results(folder: Path) -> list[dict[str, Any]]:
    return [json.loads(line) for line in (folder / "results.jsonl").read_text().splitlines()]


def untimed_records(folder: Path) -> dict[str, list[dict[str, Any]]]:
    """Return each record's lines without their times, which the last line's checksum doesn't cover."""
    return {
        path.name: [
            {key: value for key, value in json.loads(line).items() if key not in {"times_us", "cpu_us"}}
            for line in path.read_text().splitlines()
        ]
        for path in sorted((folder / "records").iterdir())
    }


Shared = tuple[Place, Ran]  # a run that stays unchanged, in `out` of its place, and its output


@pytest.fixture(scope="module")
def duel(places: Callable[[], Place]) -> Shared:
    """Return a run of two bots under a seed, with enough matches for intervals, and --json."""
    place = places()
    arguments = ("--games", 64, "--match-games", 2, "--seed", 7, "--json", "--out", "out")
    return place, place.run("run", *place.bots(2), *arguments)


@pytest.fixture(scope="module")
def three(places: Callable[[], Place]) -> Shared:
    """Return a run of three bots by two workers, in a folder whose parents it made."""
    place = places()
    arguments = ("--games", 12, "--match-games", 3, "--jobs", 2, "--out", "deep/er/out")
    return place, place.run("run", *place.bots(3), *arguments)


ODD_NAMES = [f"[red]{'x' * 30}", "[bold]", ":dog: %s {0}", f"Zoë ± 中文{'y' * 26}"]  # two of 35 characters


@pytest.fixture(scope="module")
def odd(places: Callable[[], Place]) -> Shared:
    """Return a run of bots with odd and long names, with its output on a narrow terminal."""
    place = places()
    bots = [f"{name}={place.bot('a.py')}" for name in ODD_NAMES]
    return place, place.run("run", *bots, "--games", 40, "--match-games", 4, "--out", "[bold]:cat:", COLUMNS="1")


def copy_run(shared: Shared, place: Place) -> Path:
    return Path(shutil.copytree(shared[0].folder / "out", place.folder / "out"))


# --- what is printed --------------------------------------------------------------------------------------------------


def test_json_is_one_object_on_stdout_with_the_promised_fields(duel: Shared) -> None:
    place, ran = duel
    assert ran.code == 0
    assert "seed 7: a bot that guesses the seed can compute all cards" in ran.err
    assert ran.out.count("\n") == 1
    found = ran.json
    settings = {"version": 1, "error": None, "run": "out", "rules": "coup", "seed": 7, "seats": 2}
    counts = {"games": 64, "matches": 32, "failed_attempts": 0, "abandoned": [], "skipped": []}
    assert {key: found[key] for key in (*settings, *counts)} == settings | counts
    assert found["draws"] == sum(line["winner"] is None for line in results(place.folder / "out"))
    assert [row["position"] for row in found["standings"]] == [1, 2]
    assert found["fair_win_rate"] == 0.5
    for row in found["standings"]:
        assert row["games"] == 64
        assert row["win_rate"] == round(row["wins"] / 64, 4)
        rate, rating = row["win_rate_adjusted"], row["rating"]
        assert 0 <= rate["low"] <= rate["value"] <= rate["high"] <= 1
        assert rating["low"] < rating["value"] < rating["high"]
        assert row["rank_range"] in ([1, 1], [1, 2], [2, 2])
        assert (row["forfeits"], row["faults"]) == (0, 0)
        took = found["request_ms"][row["bot"]]
        assert 0 < took["median"] <= took["p99"] < 10_000
        assert {"illegal_move", "timeout", "exited", "stray_line"} <= set(row["faults_by_code"]), (
            "also codes without a fault"
        )
        assert set(row["faults_by_code"].values()) == {0}
    assert sum(row["wins"] for row in found["standings"]) == 64
    duel = found["head_to_head"]["a"]["b"]
    assert duel["games"] == 64
    assert duel["wins"] == found["head_to_head"]["b"]["a"]["losses"]
    assert duel["matches"] == 32
    assert duel["win_rate"] == pytest.approx(duel["wins"] / 64, abs=5e-5)
    assert sum(found["win_rate_by_seat"]) == pytest.approx(1)
    assert all(number > 0 for number in found["speed"].values())


def test_json_is_printed_after_a_failure_too(place: Place) -> None:
    ran = place.call("run", "gone.py", "--json")
    assert ran.code == 2
    assert ran.json == {"version": 1, "error": "\n".join(ran.messages).removeprefix("arena: ")}
    assert "gone.py doesn't exist" in ran.json["error"]
    arguments = [*place.bots(2), "--games", 40, "--match-games", 2, "--json", "--out", "out"]
    ran = place.run("run", *arguments, file_bytes=4096)
    assert ran.code == 1
    assert ran.json["error"] == "\n".join(ran.messages).removeprefix("arena: ")
    assert "the results can't be written" in ran.json["error"]
    assert ran.json["games"] > 0


def test_json_follows_its_schema(place: Place, duel: Shared) -> None:
    schema = json.loads(place.call("run", "--json-schema").out)
    assert [part["$ref"].split("/")[-1] for part in schema["anyOf"]] == ["RunReport", "RefusedRun"]
    assert schema["$defs"]["RunReport"]["additionalProperties"] is False
    for shape, ran in ((RunReport, duel[1]), (RefusedRun, place.call("run", "gone.py", "--json"))):
        assert json.loads(shape.model_validate_json(ran.out).model_dump_json()) == ran.json


def test_a_run_has_enough_games_for_intervals_by_default(place: Place) -> None:
    """Fewer than ten matches of two bots give none. The run ends at the preflight."""
    dies = place.bot("dies.py", "raise SystemExit\n")
    ran = place.run("run", dies, *place.bots(1), "--seats", 2, "--match-games", 100, "--sandbox", "process")
    assert "1000 games of coup: 10 rounds of 1 match" in ran.err
    ran = place.call("run", dies, *place.bots(1), "--games", 7, "--sandbox", "process", "--out", "seven")
    assert "12 games of coup (at least 7 in whole rounds): 1 round of 1 match" in ran.err


def test_tables_go_to_stdout_and_the_rest_to_stderr(three: Shared) -> None:
    ran = three[1]
    assert ran.code == 0
    assert "12 games of coup: 4 rounds of 1 match, 3 games each, at 3 seats" in ran.err
    assert "only for bots that you trust" in ran.err
    first, *rest = ran.out.splitlines()
    assert first.startswith("12 games of coup at 3 seats in 4 matches")
    assert rest[1].split() == ["rating", "adjusted", "win", "games/", "own"]
    assert re.match(r"rank  bot +± 95 % +win rate +95 % +rate +matches +faults +ms$", rest[2])
    assert {line.split()[1] for line in rest[3:6]} == {"a", "b", "c"}
    assert all(re.fullmatch(r"1-3   [abc] +\d+\.\d +- +- +\d+\.\d% +12/4 +0 +\d+\.\d", line) for line in rest[3:6])
    assert "fair win rate 33.3 %\n" in ran.out
    assert "own ms: the median of a bot's own time for a decision" in ran.out
    assert "too few matches for the adjusted win rate and intervals; use about --games" in ran.out
    assert rest[-1] == "records deep/er/out/records/, standard error deep/er/out/logs/; arena verify deep/er/out"
    assert "\x1b" not in ran.out + ran.err, "no colours in a pipe"


def test_names_with_markup_and_odd_characters_are_printed_as_they_are(odd: Shared) -> None:
    place, ran = odd
    assert ran.code == 0
    assert "…" not in ran.out
    for name in ODD_NAMES:
        shown = [line for line in ran.out.splitlines() if re.sub(r"^\d+(-\d+)? +", "", line).startswith(f"{name} ")]
        assert len(shown) == 3, f"{name}: standings, times and head-to-head results"
    assert "records [bold]:cat:/records/" in ran.out
    assert place.call("verify", "[bold]:cat:").code == 0
    logs = list((place.folder / "[bold]:cat:" / "logs").glob("000000-*"))
    assert len(logs) == 4, "each bot has a file of its own"


def test_a_terminal_shows_live_standings_and_then_the_result(place: Place) -> None:
    rows = (
        r"rank 1-2 *\r\n  bot: [ab] *\r\n  rating ± 95 %: \d+\.\d *\r\n  adjusted win rate: - *\r\n  95 %: - *\r\n"
        r"  win rate: \d+\.\d% *\r\n  games/matches: 8/4 *\r\n  faults: 0 *\r\n  \w+ ms: \d+\.\d *\r"
    )
    command = ["run", *place.bots(2), *map(str, SMALL), "--out", "out", "--sandbox", "process", "--jobs", "1"]
    screen = Screen(command, 44, cwd=place.folder, TMPDIR=str(place.tmp))
    try:
        shown = screen.until(r"arena\s+verify\s+out")
        assert screen.process.wait(60) == 0
    finally:
        screen.close()
    assert "of 4 matches" in shown, "the live table"
    assert "games/s" in shown
    assert "Traceback" not in shown
    assert len(re.findall(rows, shown)) == 2


def test_a_faulty_bot_is_shown_with_the_first_example_of_each_kind(place: Place) -> None:
    illegal = "json.dumps({'id': m['id'], 'choice': 99})"
    loud = place.bot(
        "loud.py",
        bot_text(
            "print('thinking [red] \\x1b[2J', file=sys.stderr)",
            f"print({illegal} if n == 2 else 'income [bold]', flush=True)",
        ),
    ).name
    ran = place.run("run", *place.bots(1), loud, *SMALL, "--out", "out")
    assert ran.code == 0, "a bot's fault is no failure of the run"
    found = ran.out[ran.out.index("loud: ") :].splitlines()
    assert found[1] == "  match 0, game 0, bad_json: the line is text, not a reply: income [bold]"
    assert [line[:13] for line in found[2:7]] == [
        f"    {label:9}" for label in ("request", "answer", "played", "help", "stderr")
    ]
    assert found[2][13:].startswith('{"kind":"'), "what was asked comes first"
    assert '"legal":[' in found[2][13:60]
    assert found[3][13:] == "income [bold]"
    assert found[4][13:] in ("take income", "pass")
    assert "for debug output: print(..., file=sys.stderr)" in found[5]
    assert found[6][13:] == "out/logs/000000-loud-1.txt"
    assert found[7].strip() == r"| thinking [red] \x1b[2J"
    examples = [line for line in found if line.startswith("  match ")]
    assert len(examples) == 2
    assert examples[1].startswith("  match 0, game 0, illegal_move: the choice 99 isn't an index into legal")
    again = place.run("run", "--resume", "out", "--json")
    assert json.loads(RunReport.model_validate_json(again.out).model_dump_json()) == again.json


@pytest.mark.clock
def test_a_timeout_is_explained_by_the_bots_activity(place: Place, needs: Callable[[str, str | None], None]) -> None:
    """The kernel's count of CPU time reaches the example; tests/checks/test_mistakes.py has the other causes."""
    if not ProcessSandbox(place.tmp / "scratch").reports_wait_time:
        needs("cgroup", "CPU time isn't reported here")
    bad = place.bot("bad.py", bot_text("while n > 2: pass", ANSWER)).name
    arguments = ("--limit-ms", 300, "--bank-ms", 0, "--strict", "--games", 2, "--match-games", 2)
    ran = place.run("run", *place.bots(1), bad, *arguments, "--out", "out")
    (example,) = re.findall(r"match 0, game 0, timeout: .*?(?=  match |$)", " ".join(ran.out.split()))
    assert "it computed for" in example
    assert "look for an endless loop" in example


def test_faults_are_counted_without_their_consequences(place: Place) -> None:
    bad = place.bot("bad.py", bot_text(ILLEGAL)).name
    arguments = ("run", *place.bots(1), bad, "--games", 12, "--match-games", 12, "--out", "out", "--json")
    (row,) = [row for row in place.run(*arguments).json["standings"] if row["bot"] == "bad"]
    codes = {code: count for code, count in row["faults_by_code"].items() if count}
    assert codes == {"illegal_move": 9, "out_of_lives": 3, "retired": 9}
    ran = place.run("run", "--resume", "out")
    assert "bad: 9 faults (illegal_move 9), 12 games forfeited (out_of_lives 3, retired 9)" in ran.out
    assert re.search(r"^1-2   bad .* 12/1 +9$", ran.out, re.MULTILINE)


def test_the_reported_file_has_the_exact_lines_of_the_pipe(place: Place) -> None:
    ran = place.run("run", *place.bots(1), write_listener(place, "bad.py"), *SMALL, "--out", "out")
    named = re.search(r"^  all: (\S+) \(3 kept of (\d+)\)$", ran.out, re.MULTILINE)
    assert named is not None
    found = [
        count for line in results(place.folder / "out") for _, code, count in line["faults"] if code == "illegal_move"
    ]
    assert int(named[2]) == sum(found)
    kept = [json.loads(line) for line in (place.folder / named[1]).read_text().splitlines()]
    assert [line["match"] for line in kept] == [0, 1, 2]
    for line in kept:
        log = place.folder / "out" / "logs" / f"{line['match']:06d}-bad-1.txt"
        assert line["sent"] in log.read_text().splitlines()
        assert json.loads(line["got"]) == {"id": json.loads(line["sent"])["id"], "choice": 999}
    again = place.run("run", "--resume", "out")
    assert again.out[again.out.index("bad: ") :] == ran.out[ran.out.index("bad: ") :]


def test_csv_has_the_standings_and_head_to_head(three: Shared) -> None:
    place = three[0]
    rows = list(csv.DictReader(io.StringIO(place.run("run", "--resume", "deep/er/out", "--csv").out)))
    same = place.run("run", "--resume", "deep/er/out", "--json").json
    assert [row["bot"] for row in rows] == [row["bot"] for row in same["standings"]]
    for row in rows:
        opponents = same["head_to_head"][row["bot"]]
        assert len(opponents) == 2
        for other, duel in opponents.items():
            assert (row[f"win_rate against {other}"], row[f"matches against {other}"]) == ("", str(duel["matches"]))
        assert row[f"matches against {row['bot']}"] == ""


def test_a_bots_peak_memory_is_reported(place: Place, needs: Callable[[str, str | None], None]) -> None:
    needs("cgroup", cgroup.cgroup_problem())
    large = place.bot("large.py", bot_text("keeps = b'x' * (60 << 20) if n == 1 else keeps", ANSWER)).name
    peaks = place.run("run", *place.bots(1), large, "--games", 1, "--json").json["peak_memory_bytes"]
    assert 0 < peaks["a"] < 60 << 20 < peaks["large"]


# --- the folder -------------------------------------------------------------------------------------------------------


def test_the_folder_has_the_promised_files_for_its_owner_alone(three: Shared) -> None:
    """Records contain hidden cards."""
    place, _ = three
    out = place.folder / "deep/er/out"
    assert stat.S_IMODE(out.stat().st_mode) == 0o700
    assert sorted(path.name for path in out.iterdir()) == ["logs", "records", "results.jsonl", "run.json"]
    assert sorted(path.name for path in (out / "records").iterdir()) == [f"{n:06d}.jsonl" for n in range(4)]
    assert sorted(path.name for path in (out / "logs").iterdir()) == [
        f"{n:06d}-{bot}-1.txt" for n in range(4) for bot in "abc"
    ]
    place.require_nothing_left()


def test_a_run_without_out_goes_to_a_folder_of_its_own(place: Place) -> None:
    ran = place.run("run", *place.bots(2), "--games", 2, "--match-games", 2, "--json")
    assert "seed" not in ran.err
    name = ran.json["run"]
    assert re.fullmatch(r"arena-runs/\d{4}-\d\d-\d\d-\d{6}-[0-9a-f]{6}", name)
    assert (place.folder / name / "results.jsonl").is_file()
    assert json.loads((place.folder / name / "run.json").read_text())["seed"] is None


def test_a_seed_repeats_the_run_with_any_number_of_jobs(place: Place) -> None:
    bots = place.bots(4)
    arguments = ("--seats", 3, "--match-games", 3, "--games", 12, "--seed", -5)
    for jobs in (1, 2):
        assert place.run("run", *bots, *arguments, "--jobs", jobs, "--out", f"o{jobs}").code == 0
    one, two = place.folder / "o1", place.folder / "o2"
    assert (one / "results.jsonl").read_bytes() == (two / "results.jsonl").read_bytes()
    assert untimed_records(one) == untimed_records(two)
    assert len({line["turns"] for line in results(one)}) > 3, "the games differ from each other"


@pytest.mark.needs("linux", None if sys.platform == "linux" else "threads are counted on Linux alone")
def test_a_run_is_rated_in_one_thread(duel: Shared) -> None:
    """numpy's threads, one per core, cost more than the rest of a small run's end."""
    program = (
        "import atexit, os, sys\n"
        "atexit.register(lambda: print(*sorted({'numpy'} & set(sys.modules)), len(os.listdir('/proc/self/task'))))\n"
        "from arena.cli import main\n"
        "main()"
    )
    place, _ = duel
    environment = place.environment()
    environment.pop("OPENBLAS_NUM_THREADS", None)
    ran = subprocess.run(
        [sys.executable, "-c", program, "run", "--resume", "out"],
        capture_output=True,
        text=True,
        env=environment,
        cwd=place.folder,
    )
    assert ran.stdout.splitlines()[-1] == "numpy 1"


# --- options ----------------------------------------------------------------------------------------------------------


def write_listener(place: Place, name: str) -> str:
    """Write a bot that copies its input to stderr and makes illegal moves in the run."""
    return place.bot(name, bot_text(ILLEGAL, line="print(line, end='', file=sys.stderr)")).name


def read_heard(place: Place, folder: str, bot: str) -> list[dict[str, Any]]:
    text = (place.folder / folder / "logs" / f"000000-{bot}-1.txt").read_text()
    return [json.loads(line) for line in text.splitlines() if line.startswith("{")]


CLOCKS = ("--limit-ms", 4321, "--bank-ms", 0, "--start-ms", 54_321)


@pytest.mark.parametrize(
    ("flags", "lives", "handles", "clocks"),
    [
        ((), 3, ["A", "B"], (500, 10_000, 10_000)),
        (("--strict", "--show-names", *CLOCKS), 1, ["bad", "good"], (4321, 0, 54_321)),
    ],
    ids=["defaults", "all options"],
)
def test_options_reach_the_bots(
    place: Place, flags: tuple[object, ...], lives: int, handles: list[str], clocks: tuple[int, int, int]
) -> None:
    bots = (write_listener(place, "bad.py"), place.bot("good.py"))
    ran = place.run("run", *bots, "--games", 2, "--match-games", 2, *flags, "--json", "--out", "out")
    row = next(row for row in ran.json["standings"] if row["bot"] == "bad")
    lines = read_heard(place, "out", "bad")
    limits = lines[0]["limits"]
    assert limits["lives"] == lives
    assert (limits["limit_ms"], limits["bank_ms"], limits["start_ms"]) == clocks
    assert row["faults_by_code"]["illegal_move"] == lives * 2
    assert row["forfeits"] == 2
    assert row["wins"] == 0
    assert sorted(lines[0]["match"]["handles"]) == handles
    assert [sorted(line["players"]) for line in lines if line["type"] == "game_start"] == [handles]
    output = json.dumps(lines)
    assert ("good" in output) == ("good" in handles)
    assert str(place.folder) not in output


def test_a_folder_with_a_manifest_is_built_and_played(place: Place) -> None:
    manifest = 'name = "my bot"\nbuild = ["sh", "-c", "cp source.txt bot.py"]\nrun = ["PYTHON", "bot.py"]\n'
    place.bot("built/bot.toml", manifest.replace("PYTHON", sys.executable))
    shows = "import os, sys\nprint(os.getcwd(), file=sys.stderr)\n"
    place.bot("built/source.txt", shows + place.bot("a.py").read_text())
    ran = place.run("run", "built", "a.py", *SMALL, "--out", "out")
    assert ran.code == 0
    assert "bots are built in their own folders with your permissions" in ran.err
    logs = sorted((place.folder / "out" / "logs").glob("*my*bot-1.txt"))
    assert [str(place.folder / "built") in path.read_text() for path in logs] == [True] * 4


def test_bots_that_are_named_like_modules_do_not_disturb_the_arena(place: Place) -> None:
    """Users have random.py and queue.py in their folder."""
    for name in ("random.py", "queue.py", "json.py", "socket.py"):
        place.bot(name)
    ran = place.run("run", "random.py", "queue.py", "--games", 2, "--match-games", 2, "--json")
    assert ran.code == 0
    assert ran.json["games"] == 2


# --- verify -----------------------------------------------------------------------------------------------------------


def test_verify_replays_a_run_and_a_single_record(duel: Shared) -> None:
    place, _ = duel
    whole = place.call("verify", "out")
    assert (whole.code, whole.err) == (0, "")
    assert whole.out == "64 games in 32 records: every move legal, every event and result the same\n"
    alone = place.call("verify", "out/records/000002.jsonl").out.splitlines()
    assert alone[0].startswith("2 games in 1 record:")
    assert alone[1:] == ["without run.json or final.json, the plan of the matches can't be checked"]


def test_verify_has_an_exit_code_of_its_own_for_a_run_that_was_stopped(place: Place, duel: Shared) -> None:
    folder = copy_run(duel, place)
    config = json.loads((folder / "run.json").read_text())
    del config["ended"]
    (folder / "run.json").write_text(json.dumps(config))
    (folder / "records" / "000031.jsonl").unlink()
    (folder / "results.jsonl").write_text("")
    ran = place.call("verify", "out")
    said = "the run was stopped before its end: 31 of 32 planned matches are in the folder"
    assert (ran.code, ran.out.splitlines()[1:]) == (3, [said])
    ran = place.call("verify", "out", "--json")
    assert (ran.code, ran.json["stopped"]) == (3, said)


def test_any_interruption_exits_with_130(capsys: pytest.CaptureFixture[str]) -> None:
    group = type(cli)("arena")

    @group.command()
    def stuck() -> None:
        raise KeyboardInterrupt

    with pytest.raises(SystemExit) as ended:
        group(["stuck"])
    assert ended.value.code == 130
    assert capsys.readouterr().err == "interrupted\n"
