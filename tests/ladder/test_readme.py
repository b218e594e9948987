"""Tests that the commands of docs/tutorials/first-ladder.md, run as they are printed there, end with standings."""

import re
import shlex

from tests.cli_workspace import Place
from tests.documents import blocks, document

# What this test adds, since the reader has a box, and stops the runner.
MORE = {
    "init": ["--sandbox", "process", "--seats", "2", "--match-games", "2"],
    "run": ["--matches", "2", "--jobs", "1"],
}


def commands_of(text: str) -> list[str]:
    return re.findall(r"^(?:\.venv/bin/)?arena ([^#\n]*?) *(?:#.*)?$", "".join(blocks("sh", text)), re.MULTILINE)


def test_the_commands_of_the_tutorial_end_with_standings(place: Place) -> None:
    tutorial = document("docs/tutorials/first-ladder.md")
    commands = commands_of(tutorial)
    assert [shlex.split(command)[1] for command in commands] == ["init", "users", "mybot", "submit", "run", "standings"]
    (roster,) = [block for block in blocks("text", tutorial) if block.startswith("login,")]
    (place.folder / "roster.csv").write_text(roster)
    for command in commands:
        words = shlex.split(command)
        if words[1] == "run":  # as a process, to its end; and all that waits is checked before
            assert place.run(*words, "--until", "idle", "--jobs", 1).code == 0
            ran = place.run(*words, *MORE["run"])
        else:
            ran = place.call(*words, *MORE.get(words[1], []))
        assert ran.code == 0, ran.err
    assert "mybot@1" in ran.out
    assert "Ada" not in ran.out


def test_init_and_submit_report_json(place: Place) -> None:
    """A course's scripts make a ladder, add users and submit bots."""
    made = place.call("ladder", "init", "spring", *MORE["init"], "--json").json
    assert made["folder"] == "spring"
    assert re.fullmatch("[0-9a-f]{64}", made["commitment"])
    added = place.call("ladder", "users", "add", "spring", "ada", "--json").json
    assert {name: added[name] for name in ("added", "changed", "absent")} == {"added": 1, "changed": 0, "absent": 0}
    for again in (False, True):
        taken = place.call("ladder", "submit", "spring", place.bot("mybot.py"), "--owner", "ada", "--json").json
        assert (taken["version_ref"], taken["duplicate"]) == ("mybot@1", again)
