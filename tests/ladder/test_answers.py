"""Tests that the output of `--json` has exactly the fields of `--json-schema`, in all ladder commands."""

import json

import pytest
from click.testing import CliRunner
from pydantic import TypeAdapter

from arena.cli import cli
from ladder.bot_pages import BotLogs, BotPage, BuildLog
from ladder.checkup import Checkup
from ladder.grading import FinalList
from ladder.match_pages import MatchList, MatchPage, QueuePage
from ladder.runner_events import MatchFinished, RunnerEventEntry, StandingsUpdated
from ladder.standings import RebuiltStandings
from ladder.standings.computation import Standings
from ladder.users import UserList
from tests.cli_workspace import Place
from tests.ladder.ladders import cache, ladder_in
from tests.ladder.term import Term

# A command that only looks -> what it answers, and its words; MATCH is one that a bot called late played.
LOOKS: dict[str, tuple[object, list[list[str]]]] = {
    "standings": (Standings, [[], ["--show-logins"], ["--at", "2000-01-01"]]),
    "bot": (BotPage | BuildLog, [["late"], ["broken"], ["one", "--build-log"]]),
    "match": (MatchPage, [["MATCH"]]),
    "matches": (MatchList, [[], ["--todo"], ["--kind", "rated"]]),
    "queue": (QueuePage, [[]]),
    "log": (BotLogs, [["MATCH", "late"]]),
    "final list": (FinalList, [[]]),
    "users list": (UserList, [[]]),
    "doctor": (Checkup, [[]]),
    "rerate": (RebuiltStandings, [[]]),
}


@pytest.mark.parametrize("name", LOOKS)
def test_json_output_matches_its_schema(own: Term, name: str) -> None:
    """The schema is made from the types, and the output can be parsed into them without loss."""
    shape, calls = LOOKS[name]
    adapter = TypeAdapter(shape)
    schema = CliRunner().invoke(cli, ["ladder", *name.split(), "--json-schema"]).stdout
    assert {**json.loads(schema), "title": ""} == {**adapter.json_schema(mode="serialization"), "title": ""}
    match = own.json("matches", "--bot", "late")["items"][0]["id"]
    for words in calls:
        given = [str(match) if word == "MATCH" else word for word in words]
        ran = CliRunner().invoke(cli, ["ladder", *name.split(), str(own.path), *given, "--json"])
        assert ran.exit_code in (0, 1), ran.stderr
        assert ran.stdout.count("\n") == 1
        answer = adapter.validate_json(ran.stdout)
        assert json.loads(adapter.dump_json(answer)) == json.loads(ran.stdout)


def test_a_runner_prints_one_json_line_for_each_event(place: Place) -> None:
    ran = place.run("ladder", "run", ladder_in(place, fit=True), "--jobs", 1, "--matches", 1, "--json", **cache(place))
    adapter = TypeAdapter(RunnerEventEntry)
    happenings = [adapter.validate_json(line) for line in ran.out.splitlines()]
    assert [json.loads(adapter.dump_json(one)) for one in happenings] == list(map(json.loads, ran.out.splitlines()))
    assert [one.type for one in happenings] == ["match_finished", "standings_updated"]
    assert [type(one.event) for one in happenings] == [MatchFinished, StandingsUpdated]
