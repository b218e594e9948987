"""Tests of the events that a ladder lists."""

from contextlib import closing

from ladder.clock import DAY_S
from ladder.ladder import open_ladder, prune_expired
from tests.cli_workspace import QUICK_BOT
from tests.ladder.classes import Clock
from tests.ladder.term import Term, hand_in, write


def test_events_continue_from_a_number(own: Term) -> None:
    start = own.json("events")["next_cursor"]
    assert start == own.json("standings")["revision"]
    hand_in(own, write(own.path.parent / "late.py", f"{QUICK_BOT}# better\n"), "ada", "late")
    own.run()
    own.arena("void", 1, "--reason", "a test", code=2)
    own.arena("freeze", "--reason", "deadline", "--by", "teacher")
    happened = own.json("events", "--after", start)
    output = [(row["type"], row["version"], row["match"]) for row in happened["items"]]
    match = next(number for what, _, number in output if what == "match_ended")
    assert [each for each in output if each[0] not in ("standings_updated", "check_step")] == [
        ("submitted", "late@2", None), ("check_started", "late@2", None), ("check_finished", "late@2", None),
        ("match_ended", None, match), ("decision", "late@2", None), ("decision", None, None),
    ]  # fmt: skip
    assert happened["items"][-1]["decision"]["actor"] == "teacher"
    assert [row["id"] for row in happened["items"]] == list(range(start + 1, happened["next_cursor"] + 1))
    part = own.json("events", "--after", start, "--limit", 2)
    rest = own.json("events", "--after", part["next_cursor"])
    assert part["items"] + rest["items"] == happened["items"]
    last = happened["next_cursor"]
    assert own.json("events", "--after", last) == {"items": [], "next_cursor": last}
    assert own.arena("events", "--after", start).out.splitlines()[-1].endswith("teacher froze the ladder: deadline")
    texts = [own.arena("events", "--after", start, "--limit", last - start - left).err for left in (0, 1)]
    assert ["later events" in text for text in texts] == [False, True]


def test_events_expire_and_their_numbers_keep_increasing(own: Term) -> None:
    newest = own.json("events")["next_cursor"]
    with closing(open_ladder(own.path)) as ladder:
        ladder.clock = Clock(ladder.clock() + 31 * DAY_S)
        prune_expired(ladder)
    assert [row["id"] for row in own.json("events")["items"]] == [newest]
    own.arena("freeze", "--reason", "deadline")
    assert own.json("events")["next_cursor"] == newest + 1
