"""Tests of submissions: of many users at once, and with a time entered by staff."""

import errno
import os
import time
from collections.abc import Iterator
from contextlib import closing
from pathlib import Path

import pytest
from sqlalchemy import Connection, case, update

from arena.bots import BotError
from ladder import store
from ladder.activation import disable_bot
from ladder.bots import get_remaining_quota, submit_bot, submit_folder
from ladder.clock import format_local_time, parse_time
from ladder.ladder import Ladder
from ladder.match_pages import view_queue
from ladder.permissions import STAFF_VIEWER, Viewer
from ladder.settings import LadderError
from ladder.users import create_account, issue_secret, join_teams, set_suspended, set_withdrawn
from ladder.view_context import NO_RUNNER
from tests.cli_workspace import QUICK_BOT
from tests.ladder.classes import (
    Clock,
    add_settings,
    configure,
    deadline,
    extend,
    hand_in,
    make_ladder,
    replace_setting,
    send,
)
from tests.ladder.term import Term

NOW, EARLIER = 1e6, 9e5
PY = f"{QUICK_BOT}#"


@pytest.fixture
def ladder(tmp_path: Path) -> Iterator[Ladder]:
    with closing(make_ladder(tmp_path / "spring", owners="ada bob dan eve")) as made:
        add_settings(made, deadline("first", NOW - 10))
        yield made


def test_a_bot_is_named_after_no_pseudonym_of_another_user(ladder: Ladder) -> None:
    """Otherwise the other user's first bot couldn't get its usual name."""
    names = {each.login: each.pseudonym.lower() for each in ladder.database.read_with_retry(store.all_users)}
    for separator in " -_":
        with pytest.raises(LadderError, match="is the pseudonym of another user"):
            send(ladder, "ada", "", names["bob"].replace(" ", separator))
    assert send(ladder, "ada", "", names["ada"].replace(" ", "-")).number == 1


def test_a_subfolder_that_cannot_be_read_or_named_stops_no_other_submission(
    ladder: Ladder, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    list_folder = Path.iterdir

    def refuse_ada(folder: Path) -> Iterator[Path]:
        if folder.name == "ada":
            raise PermissionError(errno.EACCES, "Permission denied")
        return list_folder(folder)

    monkeypatch.setattr(Path, "iterdir", refuse_ada)
    for name in (b"ada", b"bob", b"\xff", b"d\x1b"):
        folder = Path(os.fsdecode(os.fsencode(tmp_path) + b"/many/" + name))
        folder.mkdir(parents=True)
        (folder / "bot.py").write_text(PY)
    result = submit_folder(ladder, tmp_path / "many", None, "prof")
    assert list(result.accepted) == ["bob"]
    assert list(result.rejected) == ["ada", "d\\x1b", "\\udcff"]
    assert "can't be read: Permission denied" in result.rejected["ada"]
    assert "has no user" in result.rejected["\\udcff"]


def test_the_queue_says_when_a_check_will_be_done(ladder: Ladder) -> None:
    """At the pace of the last checks: eight in 50 s, of them two of reference bots at the start.

    The last one was submitted 4 s before its end: the checks didn't wait longer.
    """
    for number in range(6):
        hand_in(ladder, "ada", "bot", NOW + 10 * number)
    versions = store.METADATA.tables["versions"]
    waits_s = case((versions.c.number == 6, 4), else_=1000)
    early = update(versions).values(submitted_at=versions.c.checked_at - waits_s)
    ladder.database.write(lambda connection: connection.execute(early))
    for login in ("bob", "dan"):
        send(ladder, login, login, f"bot-of-{login}")
    with ladder.reading(STAFF_VIEWER) as context:
        assert (context.stall_reason, view_queue(context).checks[0].done_at) == (NO_RUNNER, None)
    ladder.database.write(lambda connection: store.register_runner(connection, 1, NOW))
    with ladder.reading(STAFF_VIEWER) as context:
        left_s = [(check.done_at or 0.0) - context.now for check in view_queue(context).checks]
    assert left_s == pytest.approx([44 / 6, 88 / 6])


def test_a_submission_without_a_name_is_the_next_version_of_the_only_bot(ladder: Ladder, tmp_path: Path) -> None:
    """Also of a teammate's; the names in the files count for a first bot, and if there are several."""
    join_teams(ladder, {"ada": "Red", "bob": "Red"}, "prof", "x")
    configure(ladder, max_bots_per_user=2)
    path = tmp_path / "=mine.py"  # a bot can't be called so
    path.write_text(PY)
    assert submit_bot(ladder, path, "ada", name="Quiet-Fox").version_ref == "Quiet-Fox@1"
    for number, login in ((2, "bob"), (3, "ada")):
        path.write_text(f"{PY}{number}")
        assert submit_bot(ladder, path, login).version_ref == f"Quiet-Fox@{number}"
    (top := tmp_path / "all" / "bob").mkdir(parents=True)
    (top / "bot.py").write_text(f"{PY}4")
    assert submit_folder(ladder, top.parent, None, "prof").accepted["bob"].version_ref == "Quiet-Fox@4"
    assert submit_bot(ladder, path, "ada", name="second").version_ref == "second@1"
    with pytest.raises(LadderError, match="formula"):
        submit_bot(ladder, path, "ada")


def test_a_disabled_bot_leaves_its_owner_the_quota(ladder: Ladder, tmp_path: Path) -> None:
    """Else a user whom a team's quota had cost the only bot couldn't play again, even after leaving the team."""
    hand_in(ladder, "ada", "first")
    (path := tmp_path / "second.py").write_text(PY)
    with pytest.raises(LadderError, match=r"quota of 1 bot .* is used up: first"):
        submit_bot(ladder, path, "ada", name="second")
    for can_add in (False, True):
        with ladder.reading(Viewer("ada")) as context:
            assert get_remaining_quota(ladder, context).can_add_bot == can_add
        disable_bot(ladder, "first", "prof", "it hangs")
    assert submit_bot(ladder, path, "ada").version_ref == "second@1"
    for files in (ladder.path / "first.py", path):  # version 1 again, and a new one
        assert submit_bot(ladder, files, "ada", name="first").disabled_reason == "it hangs"


def test_staff_submits_for_users_that_take_part(ladder: Ladder) -> None:
    link = issue_secret(ladder, "staff", "join", "staff", "ask").secret
    create_account(ladder, link, "cyd", "Cyd", "")
    set_suspended(ladder, "bob", True, "staff", "copied")
    set_withdrawn(ladder, "dan", True, "staff", "moved")
    with ladder.reading(STAFF_VIEWER) as context:
        assert [login for login, _ in get_remaining_quota(ladder, context).owners or ()] == ["ada", "eve"]


def test_a_program_larger_than_the_limit_is_rejected(ladder: Ladder, tmp_path: Path) -> None:
    configure(ladder, max_upload_mb=1)
    (path := tmp_path / "big.py").write_text(PY + "x" * (1 << 20))
    with pytest.raises(BotError, match="1 MB"):
        submit_bot(ladder, path, "ada")


def test_each_subfolder_is_submitted_for_the_login_in_its_name(ladder: Ladder, tmp_path: Path) -> None:
    """A first bot has the pseudonym as its name. Later files are its next version."""
    top = tmp_path / "all"
    files = {"ada/bot.py": PY, "bob/bot.toml": 'run = "python3 b.py"\n', "bob/b.py": PY, "zoe/bot.py": PY, "x.py": PY}
    for name, text in files.items():
        (top / name).parent.mkdir(parents=True, exist_ok=True)
        (top / name).write_text(text)
    (top / "dan").mkdir()
    (top / "dan" / "bot.py").symlink_to("/etc/passwd")
    (top / "eve").mkdir()
    names = {each.login: "-".join(each.pseudonym.split()) for each in ladder.database.read_with_retry(store.all_users)}
    found = submit_folder(ladder, top, EARLIER, "prof")
    assert {login: (one.version_ref, one.received_at) for login, one in found.accepted.items()} == {
        "ada": (f"{names['ada']}@1", EARLIER),
        "bob": (f"{names['bob']}@1", EARLIER),
    }
    assert {login: why.partition("\n")[0] for login, why in found.rejected.items()} == {
        "dan": "the folder is or contains a symbolic link.",
        "eve": "eve was rejected: it contains no file.",
        "zoe": 'the ladder has no user "zoe".',
    }
    assert all(one.duplicate for one in submit_folder(ladder, top, EARLIER, "prof").accepted.values())
    (top / "ada" / "bot.py").write_text(f"{PY}2")
    assert submit_folder(ladder, top, NOW, "prof").accepted["ada"].version_ref == f"{names['ada']}@2"
    configure(ladder, max_bots_per_user=2)
    send(ladder, "ada", 3, "more")
    assert submit_folder(ladder, top, NOW, "prof").rejected["ada"].startswith("the user has several bots")
    with pytest.raises(LadderError, match="has no subfolder"):
        submit_folder(ladder, top / "ada", EARLIER, "prof")


def test_files_whose_check_was_abandoned_are_submitted_as_a_new_version(ladder: Ladder) -> None:
    """The cause was the host, so the same files may pass now."""

    def give_up(connection: Connection) -> None:
        [version] = store.unchecked_versions(connection, NOW)
        for number in range(store.MAX_ATTEMPTS):
            at = NOW + 3600 * number
            runner = store.register_runner(connection, 1, at)
            assert store.claim_check(connection, runner, [], at) is not None
            store.release_check(connection, version.id, runner, "no space", at)

    assert [sent(ladder, 1)[0] for _ in range(2)] == [1, 1]
    ladder.database.write(give_up)
    assert [sent(ladder, 1)[0] for _ in range(2)] == [2, 2]


def test_case_and_repeated_spaces_in_a_bots_name_make_no_other_bot(ladder: Ladder) -> None:
    """A stored bot keeps its name, though an older version accepted one that looks alike: the most alike counts."""
    for number, name in enumerate(("Die Straße", "DIE STRASSE", "die  straße"), 1):
        assert send(ladder, "ada", number, name).version_ref == f"Die Straße@{number}"
    with pytest.raises(LadderError, match="belongs to another user"):
        send(ladder, "bob", "", "DIE   STRAßE")
    ladder.database.write(lambda connection: store.get_or_create_bot(connection, "Die  Straße", 2, NOW))
    for number, name in enumerate(("Die  Straße", "die  straße"), 1):
        assert send(ladder, "ada", f"4.{number}", name).version_ref == f"Die  Straße@{number}"


@pytest.mark.parametrize("name", [" ", "one\ntwo", "\u202etwo", "one@1", "=one", "n" * 200])
def test_a_name_that_results_or_spreadsheets_cannot_hold_is_refused(ladder: Ladder, name: str) -> None:
    with pytest.raises(LadderError):
        send(ladder, "ada", "", name)


def test_a_time_in_the_future_is_refused(ladder: Ladder) -> None:
    with pytest.raises(LadderError, match="in the future"):
        sent(ladder, 1, NOW + 1)


TOKYO = "Asia/Tokyo"  # where the server stands
MORNING = 13 * 86_400  # midnight of UTC
ZONES: dict[str, tuple[tuple[str, ...], str | None, int]] = {
    "none: the server's": ((), None, 9),
    "that of the deadlines": (("-05:00", "-05:00"), None, -5),
    "they have several": (("-05:00", "+01:00"), None, 9),
    "of one that is named": (("-05:00", "+01:00"), "two", 1),
}


@pytest.mark.parametrize("of", ZONES)
def test_a_time_without_a_zone_is_in_the_deadlines(ladder: Ladder, monkeypatch: pytest.MonkeyPatch, of: str) -> None:
    zones, name, hours = ZONES[of]
    monkeypatch.setenv("TZ", TOKYO)
    time.tzset()
    try:
        ladder.clock = Clock(MORNING * 2)
        replace_setting(ladder, deadline("first", NOW - 10), "")
        for number, zone in zip(("one", "two"), zones, strict=False):
            add_settings(ladder, f'[[deadlines]]\nname = "{number}"\nat = 1970-01-12T00:00:00{zone}\n')
        at = MORNING - 3600 * hours
        assert parse_time(ladder.settings, "1970-01-14T00:00", name) == at
        assert parse_time(ladder.settings, "1970-01-14T00:00Z", name) == MORNING
        if name:
            extend(ladder, "ada", name, until="1970-01-14T00:00")
            assert [each.extended_until for each in ladder.database.read_with_retry(store.extensions_in_force)] == [at]
        assert format_local_time(MORNING) == "1970-01-14 09:00+09:00"
    finally:
        monkeypatch.undo()
        time.tzset()


@pytest.mark.parametrize("text", ["1970-01-14", "1970-01-14+01:00", "19700114", " 1970-01-14 ", "soon", "12:00"])
def test_a_time_is_one_of_a_day(ladder: Ladder, text: str) -> None:
    with pytest.raises(LadderError, match="isn't a valid time"):
        parse_time(ladder.settings, text)
    with pytest.raises(LadderError, match="isn't a valid time"):
        extend(ladder, "ada", until=text)


def sent(ladder: Ladder, code: int, received: float | None = None, at: float = NOW) -> tuple[int, float | None]:
    ladder.clock = Clock(at)
    by = None if received is None else "prof"
    taken = send(ladder, "ada", code, "ada", received_at=received, submitted_by=by)
    return taken.number, taken.received_at


def printed_by(ladder: Ladder) -> list[str]:
    return ladder.database.read_with_retry(
        lambda connection: [act.reason for act in store.list_audit_entries(connection, actions=("receive",))]
    )


def test_submissions_by_staff_do_not_count_against_quotas(ladder: Ladder) -> None:
    configure(ladder, max_submissions_per_day=1)
    for code in range(3):
        assert sent(ladder, code, EARLIER + code)[0] == code + 1
    assert sent(ladder, 8)[0] == 4
    with pytest.raises(LadderError, match="of 1 version allowed"):
        sent(ladder, 9)
    assert sent(ladder, 10, NOW)[0] == 5


def test_submitting_the_same_files_again_corrects_the_time(ladder: Ladder) -> None:
    """The ladder's own time yields only to an earlier one; a time entered by staff to any."""
    assert sent(ladder, 1) == (1, NOW)
    assert sent(ladder, 1, NOW, at=NOW + 5) == (1, NOW)
    assert printed_by(ladder) == []
    assert sent(ladder, 1, EARLIER) == (1, EARLIER)
    assert sent(ladder, 1, EARLIER) == (1, EARLIER)
    assert sent(ladder, 1, EARLIER + 60) == (1, EARLIER + 60)
    assert len(printed_by(ladder)) == 2
    assert printed_by(ladder)[0].endswith(", set by prof")
    assert sent(ladder, 2, EARLIER + 90) == (2, EARLIER + 90)
    assert sent(ladder, 1, EARLIER + 99) == (1, EARLIER + 99)  # over a version that came between


def test_submitting_earlier_files_again_makes_a_new_version(ladder: Ladder) -> None:
    """Three come at the same moment. Only the next version is compared with files of an earlier time."""
    assert [sent(ladder, code, at=NOW + at // 3)[0] for at, code in enumerate((1, 2, 1, 1))] == [1, 2, 3, 3]
    assert sent(ladder, 2, EARLIER) == (4, EARLIER)


def test_late_counts_by_the_time_of_receipt(ladder: Ladder) -> None:
    add_settings(ladder, deadline("second", NOW - 1000, grace_minutes=15))
    assert send(ladder, "ada", "", received_at=NOW - 500, submitted_by="prof").late_for == "second"


def test_lateness_of_a_teammates_submission_agrees_with_the_grade(ladder: Ladder) -> None:
    """The deadline is that of the bot's owner, whichever member submits."""
    add_settings(ladder, deadline("second", NOW - 1000, grace_minutes=15))
    join_teams(ladder, {"ada": "Red", "bob": "Red"}, "prof", "as they asked")
    sent(ladder, 1, EARLIER)
    extend(ladder, "bob", "second", days=1)
    assert send(ladder, "bob", 2, received_at=NOW - 500, submitted_by="prof").late_for == "second"


def test_a_sample_bot_can_be_submitted_by_its_name(own: Term) -> None:
    assert own.json("submit", "sample:honest", "--owner", "eve")["version_ref"] == "honest@1"
    assert "isn't a sample bot" in own.arena("submit", "sample:unknown", "--owner", "eve", code=2).err
