"""Table talk is the ladder's: a ladder of such games has it in all its matches, and no other ladder has it in any."""

import sys

import pytest

from arena.referee import Record, read, verify
from tests.ladder.service.ladders import cache
from tests.place import Place

TALKER = (
    f"#!{sys.executable} -SI\n"
    + """\
import json, sys
for line in sys.stdin:
    message = json.loads(line)
    if message["type"] == "hello":
        print('{"type":"hello"}', flush=True)
    elif message["type"] == "request":
        say = [{"says": "hold", "role": "duke"}, {"says": "text", "text": "<i>Peace</i>"}]
        print(json.dumps({"id": message["id"], "choice": 0, "say": say}), flush=True)
"""
)


@pytest.mark.parametrize("rules", ["open-table", "coup"])
def test_a_ladders_matches_have_talk_where_its_rules_have(place: Place, rules: str) -> None:
    """docs/ladder.md: `arena ladder init --rules open-table`."""
    bots = [place.bot(f"{name}.py", TALKER) for name in ("one", "two")]
    references = [word for bot in bots for word in ("--reference", bot)]
    words = ("--rules", rules, "--sandbox", "process", "--seats", 2, "--match-games", 2, *references)
    made = place.run("ladder", "init", "spring", *words)
    assert made.code == 0, made.err
    ran = place.run("ladder", "run", "spring", "--jobs", 1, "--matches", 1, **cache(place))
    assert ran.code == 0, ran.err
    [row] = place.run("ladder", "matches", "spring", "--kind", "rated", "--json").json["rows"]
    record: Record = read(place.run("ladder", "match", "spring", row["id"], "--record").out)
    verify(record)
    said = [statement for game in record.games for _, statement in game.said]
    assert {statement.text for statement in said} == ({None, "<i>Peace</i>"} if rules == "open-table" else set())
    assert [fault for game in record.games for fault in game.faults] == []
