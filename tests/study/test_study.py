"""Studies with models: kills, outages and a used-up budget change no count, and a report needs no call."""

import csv
import json
import os
import signal
import threading
import zlib
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from pathlib import Path
from random import Random
from types import SimpleNamespace
from typing import Any, cast

import pytest

from arena.run import read_records
from arena.stats import ALL, StatsAccumulator
from arena.study import StudyConfig
from arena.study_measures import Measured
from arena.study_publication import write_report
from arena.study_report import Study, StudyReport
from tests.cli_workspace import Place
from tests.models.endpoint import Endpoint, Question, Reply, model_folder, play, serving

WAIT_S = 240
KILLS = 10 if "ARENA_SOAK" in os.environ else 2
FILE = """
players = ["a", "b", "c"]
seats = 3
games = 6
seed = 1
budget = "budget.toml"
[conditions.quiet]
rules = "coup"
[conditions.talk]
rules = "open-table"
players = { b = "bold" }
"""


def by_prompt(question: Question) -> Reply:
    """Play a move, and talk, by the prompt alone; the model `useless` never answers."""
    number = zlib.crc32(question.prompt.encode())
    if not question.moves or (question.body["model"] == "useless" and number % 8 == 0):  # or it is asked again
        return Reply("I pass.")
    say = [{"says": "hold", "role": "duke"}] if "say" in str(question.body.get("response_format")) else []
    return play(1 + number % len(question.moves), say=say, reasoning="I think.\ud83d")  # half of an emoji


def prepare(place: Place, endpoint: Endpoint, calls: int = 9000) -> None:
    for name in ("a", "b", "bold"):
        model_folder(place.folder / name, endpoint.url)
    model_folder(place.folder / "c", endpoint.url)
    (place.folder / "c" / "bot.toml").write_text(f'[model]\nendpoint = "{endpoint.url}"\nmodel = "useless"\n')
    budget = f"calls = {calls}\npatience_s = 0\n[prices.fake]\ninput = 1.0\noutput = 1.0\n"
    (place.folder / "budget.toml").write_text(budget)
    (place.folder / "study.toml").write_text(FILE)


def start(out: str, file: str = "study.toml") -> list[str]:
    return ["study", "run", file, "--out", out, "--sandbox", "process", "--jobs", "2"]


def report(place: Place, out: str) -> dict[str, Any]:
    """Return the report without what calls that don't count change."""
    ran = place.run("study", "report", out, "--playouts", "0", "--json")
    assert ran.code == 0, ran.err
    return {name: value for name, value in ran.json.items() if name not in ("study", "calls", "calls_cut_off")}


def without_seconds(found: dict[str, Any]) -> dict[str, Any]:
    return {**found, "measures": [row for row in found["measures"] if "seconds" not in row["measure"]]}


def rows(place: Place, out: str, table: str) -> list[dict[str, Any]]:
    lines = (place.folder / out / "report" / "tables" / f"{table}.jsonl").read_text().splitlines()
    return [json.loads(line) for line in lines]


@dataclass(frozen=True)
class Whole:
    """An undisturbed study "s", its report, and the number of its calls."""

    place: Place
    endpoint: Endpoint
    report: dict[str, Any]
    calls: int


@pytest.fixture(scope="module")
def whole(places: Callable[[], Place]) -> Iterator[Whole]:
    place = places()
    with serving(by_prompt) as endpoint:
        prepare(place, endpoint)
        assert place.run(*start("s")).code == 0
        yield Whole(place, endpoint, report(place, "s"), endpoint.answered)


def test_kills_and_an_outage_change_no_number(whole: Whole) -> None:
    """Kills at random moments; then a refused key, which pauses the study."""
    dice, place, endpoint = Random(61), whole.place, whole.endpoint
    words = start("cut")
    for _ in range(KILLS):
        came, last = threading.Event(), len(endpoint.questions) + dice.randrange(5, whole.calls // 12)

        def hang(question: Question, last: int = last, came: threading.Event = came) -> Reply:
            if question.number == last:
                came.set()
            return by_prompt(question)

        endpoint.policy = hang
        process = place.start(*words)
        assert came.wait(WAIT_S)
        os.kill(process.pid, signal.SIGKILL)
        process.communicate()
        words = ["study", "run", "--resume", "cut", "--jobs", "2"]
    first = len(endpoint.questions)
    outage = Reply(status=401, raw=b"{}")
    endpoint.policy = lambda question: outage if question.number == first + 9 else by_prompt(question)
    paused = place.run(*words)
    endpoint.policy = by_prompt
    assert paused.code == 1
    assert "arena study run --resume cut" in paused.err
    assert place.run(*words).code == 0
    made = len(endpoint.questions)
    assert without_seconds(report(place, "cut")) == without_seconds(whole.report)
    assert len(endpoint.questions) == made
    assert place.run("verify", "cut").code == 0


def test_tables_join_with_each_other_and_the_journal(whole: Whole) -> None:
    place, found = whole.place, whole.report
    decisions = {(row["match"], row["move"]): row for row in rows(place, "s", "decisions")}
    journal = {}
    for line in (place.folder / "s" / "models" / "journal.jsonl").read_text().splitlines():
        call = json.loads(line)
        journal[call["call"]] = call
    for row in decisions.values():
        if row["call"] is None:
            assert row["legal"] == 1
            continue
        call = journal[row["call"]]
        assert (call["match"], call["turn"], call["seat"], call["kind"]) == tuple(
            row[name] for name in ("match", "turn", "seat", "kind")
        )
        names = {"b": "bold"} if row["condition"] == "talk" else {}
        assert call["player"] == names.get(row["player"], row["player"])
    calls = rows(place, "s", "calls")
    assert all(call["used"] for call in calls)
    claims = {(row["match"], row["move"]): row for row in rows(place, "s", "claims")}
    for challenge in rows(place, "s", "challenges"):
        claim = claims[challenge["match"], challenge["claim_move"]]
        assert challenge["right"] != claim["true"]
        assert claim["challenged"]
    for row in claims.values():
        decision = decisions[row["match"], row["move"]]
        assert decision["bluff"] != row["true"] == (row["role"] in row["hand"])
    bluffs = [json.loads(line) for line in (place.folder / "s" / "report" / "bluffs.jsonl").read_text().splitlines()]
    assert {(row["match"], row["move"]) for row in bluffs} == {key for key, row in claims.items() if not row["true"]}
    assert {row["reasoning"] for row in bluffs if row["player"] != "c"} == {"I think.\ud83d"}
    statements = rows(place, "s", "statements")
    assert {row["condition"] for row in statements} == {"talk"}
    hands = {key: row["hand"] for key, row in decisions.items()}
    assert all(row["true"] == ("duke" in hands[row["match"], row["move"]]) for row in statements)
    measures = {(row["player"], row["condition"], row["measure"], row["name"]): row for row in found["measures"]}
    useless = [row for row in decisions.values() if row["player"] == "c" and row["condition"] == "talk" and row["call"]]
    answers = measures["c", "talk", "answers", "default move"]
    assert answers["total"] == len(useless)
    assert answers["count"] == sum(row["outcome"] == "default move" for row in useless) > 0
    assert measures["a", "quiet", "tokens_game", "all"]["total"] == 6
    with (place.folder / "s" / "report" / "tables" / "claims.csv").open() as table:
        assert [int(row["move"]) for row in csv.DictReader(table)] == [move for _, move in claims]
    counted = StatsAccumulator()
    for record, _ in read_records(place.folder / "s", print):
        counted.add(record)
    for measure, section in (("challenges", "challenges"), ("blocks", "blocks")):
        both = [measures["a", condition, measure, "all"] for condition in ("quiet", "talk")]
        made = counted.bots["a"].tallies[section, "made"]
        assert (sum(row["count"] for row in both), sum(row["total"] for row in both)) == (made.count, made.total)
    planned = place.call("study", "plan", "study.toml", "--pilot", "s", "--json").json
    assert planned["calls"] == len(calls)
    assert planned["tokens"] == sum(call["tokens"] for call in calls)
    assert {row["measure"]: row["comparisons"] for row in planned["differences"]}["bluffs"] == 9
    assert {row["pilot_condition"] for row in planned["uses"]} == {"quiet", "talk"}
    changed = FILE.replace('"a"', '"new=a"').replace("talk", "other")
    (place.folder / "changed.toml").write_text(changed)
    planned = place.call("study", "plan", "changed.toml", "--pilot", "s", "--json").json
    assert [row["pilot_condition"] for row in planned["uses"]] == [None, "quiet", "quiet"] * 2
    assert "in part assumed" in place.call("study", "plan", "changed.toml", "--pilot", "s").out
    (place.folder / "changed.toml").write_text(
        'players = ["new=a"]\ngames = 4\nseats = 2\nanchors = ["sample:honest"]\n[conditions.quiet]\n'
    )
    refused = place.call("study", "plan", "changed.toml", "--pilot", "s")
    assert refused.code == 2
    assert "s: no complete deal of any of the players new" in refused.err
    page = (place.folder / "s" / "report" / "replays" / "deal-0001.html").read_text()
    assert page.count("I think.") > 100
    assert "Coup Arena" in (place.folder / "s" / "report" / "report.html").read_text()


def test_a_plan_says_what_a_study_takes_before_a_call(place: Place) -> None:
    """Limits of a key need more hours than the answers; keys and endpoints aren't used."""
    with serving() as endpoint:
        prepare(place, endpoint, 500)
        with (place.folder / "budget.toml").open("a") as budget:
            budget.write(f'[keys."{endpoint.url}"]\nrequests_per_minute = 1\n')
        planned = place.call("study", "plan", "study.toml", "--json").json
        assert not endpoint.questions
    assert (planned["deals"], planned["games"], planned["games_each"]) == (2, 12, 6)
    assert planned["calls"] == 12 * 3 * 30
    assert planned["hours"] == 18.0
    assert planned["dollars"] is None  # `useless` has no price
    assert planned["refused"] == ["about 1080 calls, and the budget allows 500"]
    assert [row["measure"] for row in planned["differences"]] == ["win_rate"]


def test_a_study_is_refused_before_it_has_a_folder(place: Place) -> None:
    """A model's key is missing."""
    model_folder(place.folder / "a", "http://localhost:1/v1/chat/completions", 'key_env = "NO_SUCH_KEY"')
    (place.folder / "study.toml").write_text(
        'players = ["a", "sample:honest"]\nseats = 2\ngames = 2\n[conditions.coup]\n'
    )
    refused = place.call("study", "run", "study.toml", "--out", "s", "--sandbox", "process")
    assert refused.code == 2
    assert "contains no key" in refused.err
    assert not (place.folder / "s").exists()


def test_a_used_up_budget_leaves_whole_deals(whole: Whole) -> None:
    """They have the numbers that they have in the whole study."""
    place = whole.place
    (place.folder / "short.toml").write_text(FILE.replace("budget.toml", "less.toml"))
    (place.folder / "less.toml").write_text(f"calls = {whole.calls * 3 // 4}\n")
    stopped = place.run(*start("short", "short.toml"))
    assert "is used up" in stopped.err
    assert "arena study run --resume short --budget FILE" in stopped.err
    assert "models: about 1080 calls" in stopped.err
    assert "too much: about 1080 calls, and the budget allows" in stopped.err
    with (place.folder / "short" / "models" / "reserved.jsonl").open("a") as reserved:
        reserved.write('{"call": 99999, "tokens": 5, "dollars": 0.1}\n')
    unwritten = place.call("study", "report", "short", "--playouts", 0, "--out", "short.toml")
    assert (unwritten.code, "written into short.toml: Not a directory; name another --out" in unwritten.err) == (
        1,
        True,
    )
    found = report(place, "short")
    page = (place.folder / "short" / "report" / "report.html").read_text()
    assert "cut off by a crash, or open</th><td class='number'>1</td>" in page
    assert (found["deals"], found["planned_deals"], found["games"]) == (1, 2, 6)
    assert rows(place, "short", "claims") == [row for row in rows(place, "s", "claims") if row["deal"] == 0]


def test_each_plot_has_a_file(tmp_path: Path) -> None:
    """Names of conditions may be long, or differ in nothing but signs that a file's name can't have."""
    values = {"count": 1.0, "total": 2, "deals": 1, "value": 0.5, "low": None, "high": None}
    measures = [Measured("a", name, "bluffs", ALL, **values) for name in ("a b", "a-b", "A.b", "b" * 300)]  # type: ignore[arg-type]
    found = StudyReport(
        study="s", design="mixed", seats=2, players=["a"], anchors=[], conditions={}, planned_deals=1, deals=0, games=0,
        measures=measures, differences=[], calls=[], calls_cut_off=0, notes=[], methods="",
    )  # fmt: skip
    config = cast(StudyConfig, SimpleNamespace(players=(), anchors=(), conditions=()))
    write_report(Study(tmp_path, config, []), found, tmp_path)
    assert len(list((tmp_path / "figures").iterdir())) == 4
