"""The command `arena stats`. Source: its help."""

import csv
import io
from dataclasses import replace
from pathlib import Path

import pytest

from arena.coup import COUP
from arena.referee import Record, write_record
from arena.stats.report import SECTIONS
from tests.cli_workspace import Place
from tests.replay.games import random_game


@pytest.fixture
def recorded_run(place: Place) -> Place:
    folder = place.folder / "new" / "records"
    folder.mkdir(parents=True)
    for match in range(4):
        (folder / f"{match:06d}.jsonl").write_text(write_record(random_game(COUP, 4, 20 + match)))
    return place


def test_all_bots_are_in_tables_of_80_columns(recorded_run: Place) -> None:
    ran = recorded_run.call("stats", "new", "--all")
    assert (ran.code, ran.err) == (0, "")
    assert ran.out.startswith("4 games of coup at 4 seats; ")
    assert max(map(len, ran.out.splitlines())) <= 80
    assert sum(line.startswith("bot2 ") for line in ran.out.splitlines()) == 5


def test_one_bot_is_compared_with_the_best_other_bot(recorded_run: Place) -> None:
    ran = recorded_run.call("stats", "new", "--bot", "bot1")
    assert ran.code == 0
    assert max(map(len, ran.out.splitlines())) <= 80
    best = next(bot["bot"] for bot in recorded_run.call("stats", "new", "--json").json["bots"] if bot["bot"] != "bot1")
    assert ran.out == recorded_run.call("stats", "new", "--bot", "bot1", "--with", best).out


PAIR = ("--bot", "bot1", "--with", "bot2")


def test_two_bots_are_compared(recorded_run: Place) -> None:
    short, ran = (recorded_run.call("stats", "new", *PAIR, *more) for more in ((), ("--all",)))
    assert (short.code, ran.code) == (0, 0)
    assert "\nbot1 and bot2: " in ran.out
    *lines, rest = short.out.splitlines()
    assert len(lines) < 40 < len(ran.out.splitlines())
    assert lines[:-1] == ran.out.splitlines()[: len(lines) - 1]
    assert rest == f"{len(ran.out.splitlines()) - len(lines) + 1} more lines: --all"
    assert max(map(len, ran.out.splitlines())) <= 80


def test_one_match_has_no_interval_and_no_star(recorded_run: Place) -> None:
    one, why = "new/records/000000.jsonl", "no interval: all cases are from one match"
    for more in ([], ["--bot", "bot1"], PAIR):
        ran = recorded_run.call("stats", one, *more)
        assert (ran.code, why in ran.out) == (0, True)
        assert not any(line.endswith(" *") and "differ" not in line for line in ran.out.splitlines())
    assert recorded_run.call("stats", one, "--json").json["bots"][0]["win_rate"]["all"]["low"] is None


def test_json_follows_its_schema(recorded_run: Place) -> None:
    schema = recorded_run.call("stats", "--json-schema").json
    found = recorded_run.call("stats", "new", *PAIR, "--json").json
    assert found["version"] == schema["properties"]["version"]["const"] == 1
    assert found.keys() == schema["properties"].keys()
    (bot,), profile = found["bots"], schema["$defs"]["Profile"]
    assert bot.keys() == profile["properties"].keys()
    assert bot["win_rate"]["all"]["low"] is not None
    assert [(pair["bot"], pair["other"]["bot"]) for pair in found["comparison"]["bots"]] == [("bot1", "bot2")]
    assert found["comparison"]["records"]["paths"] == ["new"]


def test_csv_has_a_line_for_each_rate(recorded_run: Place) -> None:
    rows = list(csv.DictReader(io.StringIO(recorded_run.call("stats", "new", "--csv").out)))
    found = recorded_run.call("stats", "new", "--json").json
    bots = {bot["bot"]: bot for bot in found["bots"]}
    assert len(rows) == sum(len(bot[section]) for bot in found["bots"] for section in SECTIONS)
    for row in rows:
        rate = bots[row["bot"]][row["section"]][row["name"]]
        cells = [row[column] for column in ("count", "total", "value", "low", "high")]
        wanted = [rate[name] for name in ("count", "total", "value", "low", "high") if rate[name] is not None]
        assert [float(cell) for cell in cells if cell] == wanted
    differences = list(csv.DictReader(io.StringIO(recorded_run.call("stats", "new", *PAIR, "--csv").out)))
    assert {row["other"] for row in differences} == {"bot2"}


@pytest.mark.parametrize(
    ("arguments", "words"),
    [
        ([], "name a run's folder or a record"),
        (["empty"], "empty contains no records. Name a run's folder"),
        (["stopped"], "stopped contains no records. Resume the run: no match has ended."),
        (["half.jsonl"], "half.jsonl: the record is cut off"),
        (["half.jsonl", "future.jsonl"], "and 1 file more"),
        (["new", "--bot", "unknown"], "its bots are bot"),
        (["new", "--with", "bot1"], "add --bot"),
        (["new", "--bot", "bot1", "--with", "bot1"], "compared with itself"),
        (["new", "--json", "--csv"], "choose one of"),
    ],
)
def test_wrong_options_are_refused_with_the_allowed_ones(recorded_run: Place, arguments: list[str], words: str) -> None:
    write_broken_records(recorded_run.folder)
    ran = recorded_run.call("stats", *arguments)
    assert (ran.code, ran.out) == (2, "")
    assert words in " ".join(ran.messages)


def write_broken_records(folder: Path) -> None:
    text = (folder / "new" / "records" / "000000.jsonl").read_text()
    (folder / "half.jsonl").write_text(text[:-20])
    (folder / "future.jsonl").write_text(text.replace('"record":4', '"record":99', 1))
    (folder / "empty").mkdir()
    (folder / "stopped").mkdir()
    (folder / "stopped" / "run.json").write_text("{}")


def rename_bots(record: Record, *bots: str) -> Record:
    return replace(record, header=replace(record.header, bots=bots))


def test_a_record_that_cannot_be_read_is_named_and_the_others_count(recorded_run: Place) -> None:
    (recorded_run.folder / "new" / "records" / "000001.jsonl").write_text("cut")
    ran = recorded_run.call("stats", "new", "--json")
    assert ran.code == 1
    assert "skipped: new/records/000001.jsonl: the record is cut off" in ran.err
    assert len(ran.json["records"]["skipped"]) == 1
    assert ran.json["records"]["games"] == 3


def test_a_name_is_shown_as_text(recorded_run: Place) -> None:
    """A bot's name may contain control sequences, or a spreadsheet's formula."""
    file = recorded_run.folder / "one.jsonl"
    file.write_text(write_record(rename_bots(random_game(COUP, 2, 3), "=\x1b[31m", "b")))
    ran = recorded_run.call("stats", "one.jsonl")
    assert ran.code == 0
    assert "\x1b" not in ran.out
    assert "=\\x1b[31m" in ran.out
    assert "\n'=" in recorded_run.call("stats", "one.jsonl", "--csv").out


def test_a_page_is_written_and_one_that_cannot_be_is_a_failure(recorded_run: Place) -> None:
    ran = recorded_run.call("stats", "new", *PAIR, "--html", "bot1.html")
    assert (ran.code, ran.out) == (0, "")
    assert "open it in a browser" in ran.err
    assert (recorded_run.folder / "bot1.html").read_text().startswith("<!doctype html>")
    ran = recorded_run.call("stats", "new", "--html", "nowhere/page.html")
    assert (ran.code, len(ran.messages)) == (1, 1)
