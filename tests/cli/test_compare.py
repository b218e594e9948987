"""`arena compare` as a user runs it. Source: docs/howto/bots/compare-versions.md."""

import json
import os
import re
import shutil
import signal
import subprocess
from collections.abc import Callable
from pathlib import Path

import pytest

from tests.cli_workspace import QUICK_BOT, Place, Ran
from tests.ladder.term import begin_ladder

# A bot whose moves go by its seed; this one always takes the first.
FIRST = QUICK_BOT.replace("% moves", "* 0")
PAIRS = 12


def run_compare(place: Place, *more: object, old: str = "old.py", new: str = "new.py") -> Ran:
    words = ("--against", "c.py", "--max-pairs", 2 * PAIRS, "--match-games", PAIRS)
    return place.run("compare", old, new, *words, *more, "--json")


def write_bots(place: Place) -> Place:
    place.bot("old.py")
    place.bot("new.py", FIRST)
    place.bot("c.py", QUICK_BOT + "# c\n")
    return place


@pytest.fixture
def bots(place: Place) -> Place:
    return write_bots(place)


@pytest.fixture(scope="module")
def both(places: Callable[[], Place]) -> tuple[Place, Ran]:
    """Return a comparison of two blocks, `out` of its place, which stays unchanged."""
    place = write_bots(places())
    return place, run_compare(place, "--out", "out")


def test_both_halves_have_the_same_deals_seats_opponents_and_handles(both: tuple[Place, Ran]) -> None:
    place, ran = both
    assert ran.code == 0
    records = sorted((place.folder / "out" / "records").glob("*.jsonl"))
    assert len(records) == 4
    heads, games = [], []
    for record in records:
        lines = [json.loads(line) for line in record.read_text().splitlines()]
        heads.append(lines[0])
        games.append([(line["seats"], line["start"], line["game"]) for line in lines if "moves" in line])
    for block in (0, 2):
        old, new = heads[block], heads[block + 1]
        assert (old["bots"], new["bots"]) == (["OLD", "c"], ["NEW", "c"])
        assert (old["key"], old["handles"]) == (new["key"], new["handles"])
        assert games[block] == games[block + 1]
    assert heads[0]["key"] != heads[2]["key"]


def test_the_report_counts_pairs_and_lists_differences(both: tuple[Place, Ran]) -> None:
    place, shown = both[0], both[1].json
    assert (shown["blocks"], shown["pairs"], shown["max_pairs"]) == (2, 2 * PAIRS, 2 * PAIRS)
    assert shown["difference"]["value"] == pytest.approx(shown["new"]["win_rate"] - shown["old"]["win_rate"], abs=1e-3)
    value, low, high = shown["difference"].values()
    assert low <= value <= high
    added = sum(row["contribution"] for row in shown["divergences"]) + shown["opponent_contribution"]
    assert added == pytest.approx(value, abs=1e-3)
    assert (
        sum(row["pairs"] for row in shown["divergences"])
        + shown["identical_pairs"]
        + sum(shown["diverged_by_opponent"].values())
        == shown["pairs"]
    )
    page = (place.folder / "out" / "compare.html").read_text()
    assert f"OLD is {shown['old']['argument']}" in page
    assert page.index("Divergences") < page.index("<h2>Evidence")


def test_the_records_of_a_comparison_are_those_of_a_run(both: tuple[Place, Ran]) -> None:
    """They are verified and replayed as any others; but `run` resumes only its own folders."""
    place, ran = both
    assert place.call("verify", "out").code == 0
    row = ran.json["divergences"][0]["examples"][0]
    shown = place.call("replay", "out", "--match", row["match"], "--game", row["game"])
    assert shown.code == 0
    assert "OLD" in shown.out
    resumed = place.call("run", "--resume", "out")
    assert resumed.code == 2
    assert "resume it with arena compare --resume" in resumed.err


def test_a_killed_comparison_resumes_and_counts_nothing_twice(bots: Place) -> None:
    process = bots.start("compare", "old.py", "new.py", "--against", "c.py", "--max-pairs", 36, "--out", "out")
    records = bots.folder / "out" / "records"
    bots.wait(lambda: len(list(records.glob("*.jsonl"))) >= 2, process=process)
    os.killpg(process.pid, signal.SIGKILL)
    process.communicate(timeout=60)
    bots.twin("out", "whole")
    resumed, whole = (bots.run("compare", "--resume", name, "--json", "--jobs", 1) for name in ("out", "whole"))
    assert (resumed.code, whole.code) == (0, 0)
    assert {**resumed.json, "run": ""} == {**whole.json, "run": ""}


def test_it_stops_after_its_time_and_resumes(bots: Place) -> None:
    bots.bot("new.py", QUICK_BOT + "# plays as old.py does, so that no number of pairs decides\n")
    ran = bots.run(
        "compare", "old.py", "new.py", "--against", "c.py", "--min-effect", 0.1, "--time", "2s", "--out", "o"
    )
    assert ran.code == 0, ran.err
    assert " points may stay undecided: " in ran.err
    assert ran.err.splitlines()[-1] == "the time is over; resume with: arena compare --resume o"
    assert ran.out.startswith("undecided after")
    ran = bots.run("compare", "--resume", "o", "--time", "1s")
    assert (ran.code, ran.err.splitlines()[-1]) == (0, "the time is over; resume with: arena compare --resume o")


def test_it_stops_as_soon_as_it_is_clear(bots: Place) -> None:
    words = ("compare", "sample:honest", "new.py", "--against", "sample:counter")
    shown = bots.run(*words, "--json", "--out", "out").json
    assert shown["verdict"] == "worse"
    assert shown["verdict_text"].startswith("NEW is worse by ")
    assert shown["pairs"] == 2 * shown["blocks"] < 400
    assert shown["difference"]["high"] < 0
    whole = bots.call("verify", "out")
    assert (whole.code, "the verdict needed" in whole.out) == (0, True)
    run = bots.folder / "out" / "run.json"
    run.write_text(run.read_text().replace('"ended": ', '"ended": 1, "was": '))
    (bots.folder / "out" / "records" / "000000.jsonl").unlink()
    assert bots.call("verify", "out").code == 1


def test_equal_contents_are_refused_under_any_name(bots: Place) -> None:
    bots.bot("copy.py")
    for name in ("one", "other"):
        bots.bot(f"{name}/bot.toml", 'run = ["python3", "bot.py"]\n')
        bots.bot(f"{name}/bot.py")
    for old, new in (("old.py", "old.py"), ("old.py", "copy.py"), ("one", "other")):
        ran = bots.call("compare", old, new, "--against", "c.py", "--json")
        assert ran.code == 2
        assert re.fullmatch(
            r"OLD and NEW have the same contents \(SHA-256 [0-9a-f]{12}\): nothing to compare\.\nSave .*",
            ran.json["error"],
        )
    assert not (bots.folder / "arena-compare").exists()


def test_an_old_version_can_be_a_revision_of_git(bots: Place) -> None:
    bots.bot("deep/mine/bot.toml", 'run = ["python3", "bot.py"]\n')
    bots.bot("deep/mine/bot.py", "# first\n" + FIRST)
    bots.bot("deep/gone.py", FIRST)
    repository(bots.folder)
    bots.bot("deep/mine/bot.py")
    (bots.folder / "deep" / "gone.py").unlink()
    bots.bot("new.py", "# changed\n" + QUICK_BOT)
    commit = git(bots.folder, "rev-parse", "HEAD").strip()
    for old, new in (("deep/mine@HEAD", "deep/mine"), ("deep/gone.py@HEAD", "new.py")):
        ran = run_compare(bots, old=old, new=new)
        assert ran.code == 0, ran.err
        assert ran.json["old"]["argument"] == old
        assert ran.json["old"]["resolved"].endswith(f" at {commit}")
        assert ran.json["discordant_pairs"] > 0


def test_a_version_can_be_that_of_a_ladder(bots: Place, tmp_path: Path) -> None:
    term = begin_ladder(tmp_path)
    ran = run_compare(bots, "--ladder", term.path, old="one@1", new="new.py")
    assert ran.code == 0, ran.err
    assert ran.json["old"]["resolved"] == f"one@1 of {term.path}"
    refused = bots.call("compare", "one@7", "new.py", "--against", "c.py", "--ladder", term.path)
    assert refused.code == 2
    assert 'the bot one has no version "one@7"' in refused.err


@pytest.mark.parametrize(
    ("words", "said"),
    [
        (("old.py",), "name both versions and their opponents"),
        (("old.py", "--against", "new.py", "c.py"), "name both versions and their opponents"),
        (("old.py", "new.py"), "name both versions and their opponents"),
        (("old.py", "new.py", "--against", "c.py", "--seats", 4), "4 seats, but 1 opponent: 3 are needed"),
        (("old.py", "new.py", "--against", "c.py", "--min-effect", 0), "--min-effect"),
        (("old.py@HEAD", "new.py", "--against", "c.py"), "isn't in a git repository"),
        (("nowhere.py", "new.py", "--against", "c.py"), "nowhere.py doesn't exist"),
        (("old.py", "new.py", "--against", "c.py", "--out", "."), "exists; name another --out"),
        (("--resume", "nothing"), "nothing doesn't exist"),
        (("--resume", "nothing", "--min-effect", 3), "omit --min-effect"),
    ],
)
def test_impossible_comparisons_are_refused(bots: Place, words: tuple[object, ...], said: str) -> None:
    ran = bots.call("compare", *words)
    assert ran.code == 2
    assert said in ran.err


def test_a_revision_that_is_not_there_is_refused(bots: Place) -> None:
    repository(bots.folder)
    for old, said in (("old.py@HEAD~9", "has no revision HEAD~9"), ("other.py@HEAD", "isn't in commit")):
        ran = bots.call("compare", old, "new.py", "--against", "c.py")
        assert ran.code == 2
        assert said in ran.err


def test_a_version_may_be_an_opponent(bots: Place) -> None:
    long_name = f"{'b' * 32}.py"  # with the revision, 40 characters from the slash on
    bots.bot(f"far/{long_name}")
    repository(bots.folder)
    git(bots.folder, "branch", "x=1")
    bots.bot("d.py", "# d\n" + QUICK_BOT)
    opponents = ("--seats", 3, "--against", "c.py", "d.py", f"far/{long_name}@x=1")
    ran = bots.run("compare", "old.py", "new.py", *opponents, "--max-pairs", 18, "--json")
    assert ran.code == 0, ran.err
    assert ran.json["opponents"] == ["c", "d", f"{long_name}@x 1"]
    assert [row["bot"] for row in ran.json["by_opponent"]] == ["c", "d", f"{long_name}@x 1"]
    assert [row["blocks"] for row in ran.json["by_opponent"]] == [4, 4, 4]


def test_a_version_that_forfeits_must_be_fixed_before_its_verdict_counts(bots: Place) -> None:
    bots.bot(
        "new.py",
        QUICK_BOT.replace("    choice = ", "    if 'game\":1,' in line:\n        raise SystemExit(1)\n    choice = "),
    )
    ran = bots.run("compare", "old.py", "new.py", "--against", "c.py", "--max-pairs", 12, "--out", "out")
    lines = ran.out.splitlines()
    assert re.match(r"NEW is |undecided after 12 pairs: ", lines[0])
    assert re.match(r"\d+ pairs in \d blocks, ", lines[1])
    assert any(line.startswith("NEW forfeited ") for line in lines[:5])
    assert "forfeit (exited)" in ran.out
    assert any(line.startswith("page out/compare.html; ") for line in lines)


def repository(folder: Path) -> None:
    git(folder, "init", "-q")
    git(folder, "add", "-A")
    git(folder, "-c", "user.email=a@example.org", "-c", "user.name=a", "commit", "-qm", "first")


def git(folder: Path, *words: str) -> str:
    found = shutil.which("git")
    assert found is not None
    return subprocess.run([found, *words], cwd=folder, check=True, capture_output=True, text=True).stdout
