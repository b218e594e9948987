"""Tests of the commands that show bots and matches, and of decisions. Some answer feature requests elsewhere."""

from pathlib import Path

import pytest
from click.testing import CliRunner

from arena.cli import cli
from ladder.ladder import Ladder
from ladder.store import METADATA, deactivate_bot, find_bot
from tests.ladder.term import Term, hand_in, write


def rated(term: Term, bot: str) -> list[int]:
    return [line["id"] for line in term.json("matches", "--bot", bot, "--kind", "rated")["items"]]


def test_the_reason_of_a_rejection_stays_visible(term: Term) -> None:
    """Requested: a visible, lasting reason when compiling or validation fails (battlecode21 #90)."""
    output = term.arena("bot", "broken").out
    assert output.startswith("broken: no active version: version 1 is rejected: hello: the process has ended")
    assert "no such \\x1b[31mmodel" in output
    steps = term.json("bot", "broken")["checks"]["steps"]
    assert [step["severity"] for step in steps][-1] == "fail"
    assert steps[-1]["sent"].startswith('{"type":"hello"')


def test_build_output_is_kept_and_shown_without_escapes(own: Term, tmp_path: Path) -> None:
    """The first error is part of the step, the whole log has its own command."""
    (tmp_path / "made").mkdir()
    prints = "seq 1 500; echo 'error: no \\33[31mtype'; seq 501 999; exit 4"
    write(tmp_path / "made" / "build.sh", prints)
    write(tmp_path / "made" / "bot.toml", 'run = "./bot"\nbuild = ["sh", "build.sh"]\n')
    hand_in(own, tmp_path / "made", "eve", "made")
    own.run()
    output = own.arena("bot", "made").out
    assert "|  error: no \\x1b[31mtype\n" in output
    assert "build_log: yes\n" in output
    log = own.arena("bot", "made", "--build-log").out.splitlines()
    assert log == [*map(str, range(1, 501)), "error: no \\x1b[31mtype", *map(str, range(501, 1000))]
    assert own.json("bot", "made", "--build-log")["text"].startswith("1\n2\n")
    none = own.arena("bot", "broken", "--build-log")
    assert (none.out, none.err[:34]) == ("", "version 1 has no build output: it ")


def test_one_page_has_all_faults_of_a_bot_since_it_was_submitted(term: Term) -> None:
    """Requested: one overview of my bot's errors since I submitted it (aichallenge #187)."""
    page = term.json("bot", "late")
    faults = sum(
        seat["faults"] for line in page["recent_matches"] for seat in line["players"] if seat["version_ref"] == "late@1"
    )
    assert faults > 0
    assert page["versions"][0]["faults"]["bad_json"] >= faults
    assert {example["code"] for example in page["fault_reports"]} >= {"bad_json"}
    output = term.arena("bot", "late").out
    assert "no json \\x1b[31m" in output
    assert "| oh \\x1b[31mno" in output
    assert "\x1b[31m" not in output


def test_a_bots_page_sums_up_its_matches(term: Term) -> None:
    """Games and wins are of rated matches; the check's match counts for faults and times only."""
    page = term.json("bot", "late", "--last", 100)
    seats = [
        (line, seat) for line in page["recent_matches"] for seat in line["players"] if seat["version_ref"] == "late@1"
    ]
    [version] = page["versions"]
    for sums, lines in (
        ("rated_matches", [seat for line, seat in seats if line["is_rated"]]),
        ("all_matches", [seat for _, seat in seats]),
    ):
        assert version[sums]["games"] == sum(seat["games"] for seat in lines)
        assert version[sums]["wins"] == pytest.approx(sum(seat["wins"] for seat in lines))
        assert version[sums]["requests"] == sum(seat["requests"] for seat in lines) > 0
        assert version[sums]["max_time_us"] == max(seat["max_time_us"] for seat in lines)
    assert version["all_matches"]["matches"] == version["rated_matches"]["matches"] + 1
    assert page["standing"]["games"] == version["rated_matches"]["games"]
    assert page["standing"]["owner"] is page["owner"] is None
    assert page["standing"]["language"] == "Python"


def test_a_record_that_is_printed_can_be_verified(term: Term, tmp_path: Path) -> None:
    [first, *_] = rated(term, "late")
    assert term.arena("match", first).out.startswith(f"id: {first}\nkind: rated\n")
    file = write(tmp_path / "record.jsonl", term.arena("match", first, "--record").out)
    found = CliRunner().invoke(cli, ["verify", str(file)])
    assert (found.exit_code, found.stdout.startswith("6 games in 1 record:")) == (0, True)


def test_standard_error_is_printed_without_its_escapes(term: Term) -> None:
    """A bot's output must not control a terminal."""
    [first, *_] = rated(term, "late")
    output = term.arena("log", first, "late").out
    assert "oh \\x1b[31mno" in output
    assert "\x1b" not in output
    assert term.json("log", first, "late@1")["items"][0]["version"] == "late@1"
    assert "didn't play in match" in term.arena("log", first, "broken", code=2).err


def test_lists_of_matches_are_of_a_bot_and_of_a_kind(term: Term) -> None:
    lines = term.json("matches", "--bot", "late", "--last", 100)["items"]
    assert {line["kind"] for line in lines} == {"rated", "qualifying"}
    assert all("late@1" in [seat["version_ref"] for seat in line["players"]] for line in lines)
    assert [line["id"] for line in lines] == sorted((line["id"] for line in lines), reverse=True)
    first, rest = term.json("matches", "--last", 2), term.json("matches", "--last", 100)
    assert first["items"] == rest["items"][:2]
    assert rest["next_cursor"] is None
    assert term.json("matches", "--last", 100, "--after", first["next_cursor"])["items"] == rest["items"][2:]
    assert term.arena("matches", "--todo").err


@pytest.mark.parametrize(
    ("command", "arguments", "said"),
    [
        ("bot", ["lat"], "Did you mean late?"),
        ("bot", ["\x1b[31m"], "the ladder has no bot"),
        ("bot", ["late", "--version", "7"], "has no version 7"),
        ("match", ["999"], "the ladder has no match 999"),
        ("log", ["999", "late"], "the ladder has no match 999"),
        ("matches", ["--bot", "unknown"], "the ladder has no bot"),
        ("activate", ["late", "9", "--reason", "x"], "has no version 9"),
        ("activate", ["broken@1", "--reason", "x"], "it failed its check"),
        ("activate", ["late", "--reason", "x"], "Name one, such as late@1"),
        ("activate", [f"late@{'9' * 5000}", "--reason", "x"], "is not a valid integer"),
        ("activate", ["late@\uff12", "--reason", "x"], "is not a valid integer"),
        ("activate", ["9", "--reason", "x"], "Name one, such as 9@1"),
        ("submit", [], "Missing BOT or --owner"),
        ("submit", ["--from", ".", "--owner", "ada"], "can't be combined with BOT"),
        ("void", ["999", "--reason", "x"], "the ladder has no match 999"),
        ("void", ["1", "--reason", "x"], "it doesn't rate"),
        ("disable", ["late"], "--reason"),
    ],
)
def test_impossible_requests_are_refused(term: Term, command: str, arguments: list[str], said: str) -> None:
    refused = term.arena(command, *arguments, code=2).err
    assert said in refused
    assert "Traceback" not in refused
    assert "\x1b" not in refused


def test_an_owner_sees_who_disabled_the_bot_and_the_reason(own: Term) -> None:
    """Requested: slow or crashing bots must not block others, and their author is notified (aiarena-web #634, #788)."""
    own.arena("disable", "late", "--reason", "it sends rubbish", "--by", "prof")
    assert own.arena("bot", "late").out.startswith("late: the bot is disabled: it sends rubbish")
    own.arena("disable", "late", "--reason", "once more")
    own.arena("activate", "late@1", "--reason", "a second chance", "--by", "prof")
    shown = own.arena("bot", "late").out
    assert "the ladder activated version 1: " in shown
    assert "prof disabled the bot: it sends rubbish" in shown
    assert "prof activated version 1: a second chance" in shown
    page = own.json("bot", "late")
    assert [(act["action"], act["actor"], act["reason"]) for act in page["audit_log"]][1:] == [
        ("disable", "prof", "it sends rubbish"),
        ("activate", "prof", "a second chance"),
    ]
    assert page["versions"][0]["is_active"]


def test_bots_of_many_users_are_submitted_with_an_exit_code(own: Term, tmp_path: Path) -> None:
    (tmp_path / "all" / "eve").mkdir(parents=True)
    (tmp_path / "all" / "eve" / "bot.py").write_text("#!/usr/bin/env python3\n")
    output = own.arena("submit", "--from", tmp_path / "all", "--at", "2001-09-09T01:46:40Z", "--by", "prof")
    assert output.out == "eve: pseudonym-of-eve@1\n"
    (tmp_path / "all" / "zoe").mkdir()
    output = own.arena("submit", "--from", tmp_path / "all", "--at", "2001-09-09T01:46:40Z", "--json", code=1)
    assert (output.json["accepted"]["eve"]["duplicate"], [*output.json["rejected"]]) == (True, ["zoe"])


def test_a_bot_that_does_not_play_can_be_disabled(own: Term, ladder: Ladder) -> None:
    """An auto-disabled one would count for the next deadline, and one that waits would play."""
    bot = ladder.database.read_with_retry(lambda connection: find_bot(connection, "late"))
    ladder.database.write(
        lambda connection: deactivate_bot(connection, bot.id, "auto_disable", "ladder", "it forfeits", 5.0)
    )
    own.arena("disable", "late", "--reason", "copied", "--by", "prof")
    assert [act["action"] for act in own.json("bot", "late")["audit_log"]][-2:] == ["auto_disable", "disable"]


def test_a_decision_has_a_reason_and_a_person_and_is_made_once(term: Term) -> None:
    """The ladder's decisions yield to those of users, so its name is reserved."""
    for words in (["--reason", " "], ["--reason", "x", "--by", "ladder"], ["--reason", "x", "--by", ""]):
        assert term.arena("disable", "late", *words, code=2).messages
    assert "disable" not in [act["action"] for act in term.json("bot", "late")["audit_log"]]


def test_a_void_match_keeps_its_results_and_does_not_rate(own: Term) -> None:
    [first, *others] = rated(own, "late")
    before = own.json("match", first)
    own.arena("void", first, "--reason", "the host was asleep", "--by", "prof")
    after = own.json("match", first)
    assert (after["is_rated"], after["results"]) == (False, before["results"])
    assert "prof voided the match: the host was asleep" in own.arena("match", first).out
    assert own.json("bot", "late")["versions"][0]["rated_matches"]["matches"] == len(others)
    own.arena("void", first, "--undo", "--reason", "it was not")
    assert {**own.json("match", first), "audit_log": [], "revision": 0} == {**before, "audit_log": [], "revision": 0}


def test_a_page_works_without_pruned_records_and_logs(own: Term, ladder: Ladder) -> None:
    ladder.database.write(
        lambda connection: [connection.execute(METADATA.tables[name].delete()) for name in ("records", "logs")]
    )
    assert "no json \\x1b[31m" in own.arena("bot", "late").out
    [first, *_] = rated(own, "late")
    assert "records this old are removed" in own.arena("match", first, "--record", code=2).err
    assert "wrote nothing, or its log has expired" in own.arena("log", first, "late").err


def test_names_complete_in_a_shell(term: Term) -> None:
    """Completion lists folders that are ladders, and the bots of a ladder."""

    def completed(words: str, typed: str) -> list[str]:
        number = len(words.split())
        environment = {
            "_ARENA_COMPLETE": "bash_complete", "COMP_WORDS": f"{words} {typed}", "COMP_CWORD": str(number),
        }  # fmt: skip
        output = CliRunner().invoke(cli, [], env=environment, prog_name="arena", complete_var="_ARENA_COMPLETE").stdout
        return [line.partition(",")[2] for line in output.split()]

    assert completed("arena ladder bot", f"{term.path.parent}/") == [str(term.path)]
    assert completed(f"arena ladder bot {term.path}", "l") == ["late"]
    assert completed(f"arena ladder disable {term.path}", "") == ["broken", "late", "one", "two"]
    assert completed("arena ladder bot /nowhere", "") == []
