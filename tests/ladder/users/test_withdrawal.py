"""Tests of suspended users, and of users who left the course."""

from ladder import users
from ladder.bot_pages import view_bot
from ladder.dashboards import list_events
from ladder.ladder import Ladder
from ladder.permissions import PUBLIC_VIEWER, STAFF_VIEWER, Viewer
from tests.cli_workspace import QUICK_BOT
from tests.ladder.term import Term, hand_in, write

SEE_REASON = ((Viewer("ada"), True), (STAFF_VIEWER, True), (Viewer("bob"), False), (PUBLIC_VIEWER, False))


def test_bots_of_a_suspended_user_neither_play_nor_count(own: Term, ladder: Ladder) -> None:
    """Lifting the suspension restores everything. Only the user is shown the reason."""
    own.json("challenge", "late", "one", "--owner", "ada")
    before = own.json("standings")
    own.arena("suspend", "ada", "--reason", "copied from bob")
    assert "suspended already" in own.arena("suspend", "ada", "--reason", "again").err
    assert [line["outcome"] for line in own.json("matches", "--kind", "challenge")["items"]] == ["cancelled"]
    sent = own.arena("submit", own.path / "ladder.toml", "--owner", "ada", code=2)
    assert "ada is suspended: copied from bob" in sent.err
    for owner, words in (("ada", ("late", "one")), ("bob", ("one", "late")), ("staff", ("one", "late"))):
        own.arena("challenge", *words, "--owner", owner, code=2)
    assert "the owner is suspended: copied from bob" in own.arena("bot", "late").out
    own.run(2)
    assert "late" not in [row["bot"] for row in own.json("standings")["items"]]
    assert own.json("bot", "late")["versions"][0]["is_active"] is False
    for viewer, sees in SEE_REASON:
        with ladder.reading(viewer) as context:
            assert ("copied" in repr((users.list_users(context), view_bot(context, "late")))) is sees
            assert ("copied" in repr(list_events(context))) is sees
    for names in (False, True):
        own.arena("export", "--out", own.path / f"out-{names}", *["--show-logins"] * names)
        assert ("copied from bob" in (own.path / f"out-{names}" / "audit_log.csv").read_text()) is names
    own.arena("suspend", "ada", "--undo", "--reason", "it was bob")
    own.run(2)
    assert {row["bot"] for row in before["items"]} == {row["bot"] for row in own.json("standings")["items"]}
    assert "staff owns" in own.arena("suspend", "staff", "--reason", "no", code=2).err


def test_a_bot_of_a_withdrawn_user_is_marked_for_owner_and_staff(own: Term, ladder: Ladder) -> None:
    own.arena("users withdraw", "ada", "--reason", "dropped out")
    assert "the owner left the course: dropped out" in own.arena("bot", "late").out
    asked = own.arena("challenge", "late", "one", "--owner", "ada", code=2)
    assert "ada is no longer in the course: dropped out" in asked.err
    for viewer, sees in SEE_REASON:
        with ladder.reading(viewer) as context:
            output = (users.list_users(context), view_bot(context, "late"), list_events(context))
            assert ("dropped" in repr(output)) is sees
    own.arena("users withdraw", "ada", "--undo", "--reason", "is back")
    assert "left the course" not in own.arena("bot", "late").out.partition("\nacts:")[0]


def test_a_suspended_persons_submission_waits_and_no_deadline_waits_for_it(own: Term) -> None:
    hand_in(own, write(own.path.parent / "late.py", f"{QUICK_BOT}# better\n"), "ada", "late")
    own.arena("suspend", "ada", "--reason", "asked to")
    own.run()
    assert own.json("bot", "late")["versions"][1]["status"] == "queued"
    own.arena("final create", "last", "--games", 2)
    assert not any("late" in version for version in own.json("final show", "last")["versions"])
    own.arena("suspend", "ada", "--undo", "--reason", "done")
    own.run()
    assert own.json("bot", "late")["versions"][1]["is_active"]
