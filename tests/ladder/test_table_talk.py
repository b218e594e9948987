"""Tests of table talk: it depends on the ladder's rules, in all of its matches."""

import sys
from contextlib import closing
from pathlib import Path

from arena.coup import PRESETS
from arena.referee import MatchSettings, Record, read_record, verify_record
from arena.sandbox import SandboxChoice
from ladder.bots import submit_reference
from ladder.ladder import LadderFormat, create_ladder
from ladder.match_pages import find_record_text, list_matches
from ladder.permissions import STAFF_VIEWER
from tests.ladder.classes import serve
from tests.ladder.term import write

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


def test_a_ladders_matches_have_talk_where_its_rules_have(tmp_path: Path) -> None:
    """docs/tutorials/first-ladder.md: `arena ladder init --rules open-table`. Other rules ignore statements."""
    play = LadderFormat(MatchSettings(rules=PRESETS["open-table"]), SandboxChoice("process"), seats=2, match_games=2)
    with closing(create_ladder(tmp_path / "spring", play, None)) as ladder:
        for name in ("one", "two"):
            submit_reference(ladder, str(write(tmp_path / f"{name}.py", TALKER + f"# {name}\n")))
        serve(ladder)
        serve(ladder, 1)
        with ladder.reading(STAFF_VIEWER) as context:
            [row] = list_matches(context, kind="rated").items
            text = find_record_text(context, row.id)
    record: Record = read_record(text or "")
    verify_record(record)
    said = [statement for game in record.games for _, statement in game.statements]
    assert {statement.text for statement in said} == {None, "<i>Peace</i>"}
    assert [fault for game in record.games for fault in game.faults] == []
