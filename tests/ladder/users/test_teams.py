"""Tests of teams: members never meet in a rated match, share quotas, and may use one another's bots."""

import random
import re
from collections import Counter
from collections.abc import Callable, Iterator
from contextlib import closing
from itertools import count, permutations
from pathlib import Path
from typing import Any, cast

import pytest
from sqlalchemy import Connection, func, select

from arena.run import final_plan
from arena.schedule import keyed_shuffle
from ladder import activation, bot_pages, bots, store, users
from ladder.challenges import queue_challenges
from ladder.dashboards import list_events, list_users_for_admin
from ladder.grading import create_final, number_owners
from ladder.home import view_account
from ladder.ladder import Ladder
from ladder.permissions import STAFF_VIEWER, Viewer
from ladder.round_queue import RoundQueue
from ladder.rounds import no_round_reason, plan_next_round
from ladder.settings import LadderError
from ladder.team_invitations import accept_invitation, form_team, invite_to_team, preview_invitation
from tests.ladder.classes import (
    Clock,
    add_settings,
    configure,
    copy_ladder,
    deadline,
    hand_in,
    look,
    make_ladder,
    send,
    serve,
)
from tests.ladder.term import Term

PEOPLE = "ada bob cleo dan"
matches = store.METADATA.tables["matches"]


@pytest.fixture(scope="module")
def begun(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Give a ladder with tables of two, in which each of four users has a bot that plays; eve has none."""
    folder = tmp_path_factory.mktemp("teams") / "spring"
    with closing(make_ladder(folder, f"{PEOPLE} eve")) as made:
        for login in PEOPLE.split():
            hand_in(made, login, f"bot-{login}")
    return folder


@pytest.fixture
def ladder(begun: Path, tmp_path: Path) -> Iterator[Ladder]:
    with closing(copy_ladder(begun, tmp_path / "spring")) as made:
        yield made


def join_team(ladder: Ladder, team: str, *logins: str, move: bool = False) -> users.TeamChanges:
    return users.join_teams(ladder, dict.fromkeys(logins, team), "teacher", "they asked", move)


def current(ladder: Ladder) -> dict[str, str]:
    return {row.login: row.team for row in look(ladder, STAFF_VIEWER, users.list_teams).items if row.left_at is None}


def acts(ladder: Ladder) -> list[tuple[str, str]]:
    def look(connection: Connection) -> list[tuple[str, str]]:
        return [(act.actor, act.reason) for act in store.list_audit_entries(connection, actions=("team",))]

    return ladder.database.read_with_retry(look)


def viewer(ladder: Ladder, login: str) -> Viewer:
    return users.authenticate_secret(ladder, users.issue_secret(ladder, login, "token", "teacher").secret, "token")


# --- members ----------------------------------------------------------------------------------------------------------


def test_a_user_is_in_one_team_at_a_time_with_a_history(ladder: Ladder) -> None:
    assert join_team(ladder, "Red", "ada", "bob") == users.TeamChanges(2, 0, 0)
    assert join_team(ladder, "red", "ada", "bob") == users.TeamChanges(0, 0, 0)
    with pytest.raises(LadderError, match="bob is in the team Red"):
        join_team(ladder, "Blue", "cleo", "bob")
    assert current(ladder) == {"ada": "Red", "bob": "Red"}
    ladder.clock = Clock(2e6)
    assert join_team(ladder, "Blue", "cleo", "bob", move=True) == users.TeamChanges(2, 1, 0)
    assert users.leave_teams(ladder, ["ada", "dan"], "teacher", "alone") == users.TeamChanges(0, 1, 0)
    assert users.leave_teams(ladder, ["ada"], "teacher", "alone") == users.TeamChanges(0, 0, 0)
    assert current(ladder) == {"cleo": "Blue", "bob": "Blue"}
    rows = [
        (row.team, row.login, row.joined_at, row.left_at) for row in look(ladder, STAFF_VIEWER, users.list_teams).items
    ]
    assert rows[-2:] == [("Red", "ada", 1e6, 2e6), ("Red", "bob", 1e6, 2e6)]
    output = ["joined Red: they asked"] * 2 + ["joined Blue: they asked", "left Red, joined Blue: they asked"]
    assert acts(ladder) == [("teacher", why) for why in [*output, "left Red: alone"]]


def test_staff_enters_the_start_of_a_membership(ladder: Ladder) -> None:
    users.join_teams(ladder, {"ada": "Red"}, "teacher", "they asked", since=9e5)
    assert [row.joined_at for row in look(ladder, STAFF_VIEWER, users.list_teams).items] == [9e5]
    assert acts(ladder)[0][1].startswith("joined Red as of 1970-01-11 ")
    with pytest.raises(LadderError, match="ada was in a team after that time"):
        users.join_teams(ladder, {"ada": "Blue"}, "teacher", "they asked", True, since=8e5)
    with pytest.raises(LadderError, match="in the future"):
        users.join_teams(ladder, {"bob": "Blue"}, "teacher", "they asked", since=9e9)


def test_a_wrong_start_of_a_membership_can_be_corrected(ladder: Ladder) -> None:
    """It is one audit entry; without a time nothing is corrected, and no time reaches into an earlier team."""
    ladder.clock = Clock(6e5)
    users.join_teams(ladder, {"ada": "Green"}, "teacher", "they asked", since=5e5)
    users.leave_teams(ladder, ["ada"], "teacher", "alone")
    ladder.clock = Clock(2e6)
    users.join_teams(ladder, {"ada": "Red"}, "teacher", "they asked", since=9e5)
    for since, joined in ((7e5, 1), (7e5, 0), (None, 0), (8e5, 1)):
        assert users.join_teams(ladder, {"ada": "red"}, "teacher", "mistyped", since=since) == users.TeamChanges(
            joined, 0, 0
        )
    with pytest.raises(LadderError, match="ada was in a team after that time"):
        users.join_teams(ladder, {"ada": "Red"}, "teacher", "they asked", since=5.5e5)
    with ladder.reading(STAFF_VIEWER) as context:
        assert [(row.team, row.joined_at, row.left_at) for row in users.list_teams(context).items] == [
            ("Green", 5e5, 6e5),
            ("Red", 8e5, None),
        ]
    assert [why.partition(" as of ")[0] for _, why in acts(ladder)[3:]] == ["joined Red"] * 2


def test_a_membership_moves_with_a_merged_user(ladder: Ladder) -> None:
    """A teammate's grade for a past deadline depends on the team at that time."""
    join_team(ladder, "Red", "ada", "dan")
    join_team(ladder, "Blue", "bob")
    ladder.clock = Clock(2e6)
    users.merge_users(ladder, "ada", "bob", "teacher", "one person")
    ids = {login: owner_id(ladder, login) for login in ("bob", "cleo", "dan")}
    assert ladder.database.read_with_retry(lambda connection: store.teammates_at(connection, 1.5e6)) == {
        ids["bob"]: {ids["bob"], ids["dan"]},
        ids["dan"]: {ids["bob"], ids["dan"]},
    }
    assert current(ladder) == {"bob": "Blue", "dan": "Red"}
    assert users.import_teams(
        ladder, b"login,team\nada,Green\n", "groups.csv", "teacher", move=True
    ) == users.TeamChanges(1, 1, 0)
    assert current(ladder) == {"bob": "Green", "dan": "Red"}


def owner_id(ladder: Ladder, login: str) -> int:
    owner = ladder.database.read_with_retry(lambda connection: store.find_user(connection, login))
    return owner.id


@pytest.mark.parametrize("out", [users.set_suspended, users.set_withdrawn])
def test_the_bot_of_a_suspended_teammate_does_not_count_for_the_team_quota(
    ladder: Ladder, out: Callable[[Ladder, str, bool, str, str], bool]
) -> None:
    """No member may submit to it; members see only that staff know the reason."""
    join_team(ladder, "Red", "bob", "eve")
    out(ladder, "bob", True, "teacher", "copied")
    with ladder.reading(viewer(ladder, "eve")) as context:
        output, found = bots.get_remaining_quota(ladder, context), bot_pages.view_bot(context, "bot-bob")
    assert (output.bots, output.can_add_bot) == ((), True)
    assert re.fullmatch(r"[A-Z][a-z]+-[A-Z][a-z]+", str(output.suggested_name))  # the pseudonym
    assert bot_pages.inactive_reason(found) == "no active version: ask the staff"
    assert send(ladder, "eve", "1", "bot-eve").version_ref == "bot-eve@1"
    with pytest.raises(LadderError, match="is used up: bot-eve"):
        send(ladder, "eve", "2", "other")


@pytest.mark.parametrize(
    ("team", "login", "why"),
    [
        ("=1+1", "ada", "isn't a valid name"),
        ("x" * 101, "ada", "isn't a valid name"),
        (" ", "ada", "isn't a valid name"),
        ("a\x1b[31m", "ada", "isn't a valid name"),
        ("Red", "staff", "staff is staff"),
        ("Red", "bo", "Did you mean bob"),
    ],
)
def test_an_invalid_team_or_login_changes_nothing(ladder: Ladder, team: str, login: str, why: str) -> None:
    with pytest.raises(LadderError, match=why):
        users.join_teams(ladder, {"bob": "Blue", login: team}, "teacher", "x")
    assert current(ladder) == {}


CANVAS = "name,canvas_user_id,user_id,login_id,sections,group_name\nAda,7,,ada,A,Red\nBob,8,,BOB,A,Red\nDan,9,,dan,A,\n"


@pytest.mark.parametrize(
    "text", [CANVAS, "Team;E-mail\nRed;ada\nred ;bob\n\n", "\ufefflogin\tgroup\nada\tRed\nbob\tRed\nbob\tRed\n"]
)
def test_teams_are_imported_from_a_table_of_users_and_groups(ladder: Ladder, text: str) -> None:
    """Sources are Canvas' group set, or any spreadsheet; users without a group stay unchanged."""
    settle_emails(ladder)
    join_team(ladder, "Green", "dan")
    assert users.import_teams(ladder, text.encode(), "groups.csv", "teacher") == users.TeamChanges(2, 0, 0)
    assert users.import_teams(ladder, text.encode(), "groups.csv", "teacher") == users.TeamChanges(0, 0, 0)
    assert current(ladder) == {"ada": "Red", "bob": "Red", "dan": "Green"}
    assert acts(ladder)[-1] == ("teacher", "joined Red: groups.csv")


def settle_emails(ladder: Ladder) -> None:
    people = store.METADATA.tables["users"]
    ladder.database.write(lambda connection: connection.execute(people.update().values(email=people.c.login)))


@pytest.mark.parametrize(
    ("text", "why"),
    [
        (
            "login,team\nada,Red\nzed,Red\nada,Blue\n",
            'line 3: no user has the identifier "zed"; line 4: "ada" is in two',
        ),
        ("login,colour\nada,Red\n", "the header has no column for the team or the user: login, colour"),
        ("team,group\nada,Red\n", "no column for the team or the user"),
        ("", "no column for the team or the user"),
        ("login,team,group\nada,Red,Blue\n", "line 1: several columns are for the team"),
        ('login,team\n"ada,Red\n', "isn't valid CSV"),
        ("login,team\nad\xe4,Red\n".encode("latin1"), "line 2: byte 0xe4 isn't valid UTF-8"),
        ("login,team\nada,=Red\n", "isn't a valid name"),
    ],
)
def test_an_invalid_table_of_teams_changes_nothing(ladder: Ladder, text: str | bytes, why: str) -> None:
    with pytest.raises(LadderError, match=why):
        users.import_teams(ladder, text.encode() if isinstance(text, str) else text, "groups.csv", "teacher")
    assert current(ladder) == {}


def test_a_table_of_teams_is_read_while_another_process_writes(ladder: Ladder) -> None:
    def import_meanwhile(_: object) -> None:
        with pytest.raises(LadderError, match="no column for the team"):
            users.import_teams(ladder, b"login\nada\n", "groups.csv", "teacher")

    ladder.database.write(import_meanwhile)


# --- never at one table -----------------------------------------------------------------------------------------------


def test_staff_adds_users_to_a_team_that_users_formed_only_with_its_members(ladder: Ladder) -> None:
    """A user could form a team under another group's name, and see the bots of those whom staff adds to it."""
    configure(ladder, max_team_members=4)
    form_team(ladder, "dan", "Red")
    accept_invitation(ladder, "cleo", invite_to_team(ladder, "dan").secret)
    with pytest.raises(LadderError, match=r"the team Red was formed by its members: dan, cleo\."):
        users.import_teams(ladder, b"login,team\nada,red\ndan,red\n", "teams.csv", "teacher")
    with pytest.raises(LadderError, match="formed by its members"):
        join_team(ladder, "RED", "ada")
    assert join_team(ladder, "Red", "ada", "cleo", "dan").joined == 1
    assert join_team(ladder, "Red", "bob").joined == 1


NAMES = ["Le Café", "Le Cafe\u0301", " LE CAFÉ ", "Le  Café"]


@pytest.mark.parametrize("name", NAMES, ids=["equal", "decomposed", "capitals", "spaces"])
def test_forming_a_team_of_an_existing_name_is_no_way_into_it(ladder: Ladder, name: str) -> None:
    configure(ladder, max_team_members=4)
    form_team(ladder, "dan", "Le Café")
    with pytest.raises(LadderError, match="exists"):
        form_team(ladder, "bob", name)
    assert current(ladder) == {"dan": "Le Café"}
    assert join_team(ladder, name, "ada", "dan").joined == 1
    assert current(ladder) == {"ada": "Le Café", "dan": "Le Café"}


def test_a_member_of_a_full_team_may_repeat_the_request(ladder: Ladder) -> None:
    """As after a commit whose answer was lost."""
    configure(ladder, max_team_members=2)
    form_team(ladder, "dan", "Red")
    secret = invite_to_team(ladder, "dan").secret
    for _ in range(2):
        accept_invitation(ladder, "cleo", secret)
    form_team(ladder, "dan", " red ")
    with pytest.raises(LadderError, match="the team Red is full: 2 members"):
        accept_invitation(ladder, "bob", secret)


def test_a_team_named_like_a_user_has_no_bots_of_that_user(ladder: Ladder) -> None:
    join_team(ladder, "ada", "bob")
    bots = {summary.user.login: summary.bots for summary in look(ladder, STAFF_VIEWER, list_users_for_admin).items}
    assert (bots["ada"], bots["bob"]) == (("bot-ada",), ("bot-bob",))


def test_joining_a_team_disables_the_joiners_newest_bots_beyond_the_quota(ladder: Ladder) -> None:
    """Otherwise a participant could bring more bots into a final than it has tables."""
    configure(ladder, max_team_members=4, max_bots_per_user=2)
    hand_in(ladder, "dan", "more")
    form_team(ladder, "ada", "Red")
    secret = invite_to_team(ladder, "ada").secret

    def list_playing() -> set[str]:
        with ladder.database.read() as connection:
            return {version.name for version in store.active_versions(connection) if not version.is_reference}

    assert [preview_invitation(ladder, login, secret)[1] for login in ("bob", "dan")] == [[], ["more"]]
    accept_invitation(ladder, "dan", secret)
    assert list_playing() == {"bot-ada", "bot-bob", "bot-cleo", "bot-dan"}
    assert preview_invitation(ladder, "bob", secret) == ("Red", ["bot-bob"])
    accept_invitation(ladder, "bob", secret)
    accept_invitation(ladder, "bob", secret)
    assert list_playing() == {"bot-ada", "bot-cleo", "bot-dan"}
    with pytest.raises(LadderError, match="the quota of 2 bots is used up"):
        activation.choose_version(ladder, "more", 1, "ada")
    users.leave_teams(ladder, ["bob"], "teacher", "x")
    assert "bot-bob" in list_playing()

    def auto_disable(connection: Connection) -> bool:
        version = next(each for each in store.active_versions(connection) if each.name == "bot-bob")
        return activation.auto_disable_version(connection, version, "it hangs", ladder.clock())

    assert ladder.database.write(auto_disable)
    accept_invitation(ladder, "bob", secret)
    users.leave_teams(ladder, ["bob"], "teacher", "x")
    assert "bot-bob" not in list_playing()


def test_members_of_a_team_never_meet_at_any_table_size(tmp_path: Path) -> None:
    """It holds in rounds and finals of 2 to 6 seats, with teams of 1 to 5 and users with two bots."""
    draw = random.Random(5)
    people = [f"p{number}" for number in range(16)]
    with closing(make_ladder(tmp_path / "spring", " ".join(people))) as ladder:
        configure(ladder, max_bots_per_user=2)
        for login in people:
            for number in range(draw.choice([1, 1, 2])):
                hand_in(ladder, login, f"{login}-{number}")
        rest, teams = people[:], count(1)
        while rest:
            size = draw.randint(1, 5)
            join_team(ladder, f"team {next(teams)}", *rest[:size])
            rest = rest[size:]
        alone = [login for login in people if draw.random() < 0.2]
        users.leave_teams(ladder, alone, "teacher", "x")
        now = current(ladder)
        field = ladder.database.read_with_retry(RoundQueue(ladder)._list_entrants)
        playing = {each.id: each for each in ladder.database.read_with_retry(store.active_versions)}
    party = {id: id if each.is_reference else now.get(each.login, each.login) for id, each in playing.items()}
    assert max(list(party.values()).count(name) for name in party.values()) > 4
    for seats in range(2, 7):
        assert no_round_reason(field, seats) is None
        met: dict[int, dict[int, int]] = {}
        for number in range(5):
            tables = plan_next_round(field, seats, met, keyed_shuffle(b"x" * 32, f"rounds/{seats}"), number)
            assert {version for table in tables for version in table} == set(playing)
            for table in tables:
                assert len({party[version] for version in table}) == len(table) == seats
                for one, other in permutations(table, 2):
                    met.setdefault(one, {})[other] = met.get(one, {}).get(other, 0) + 1
        order = list(playing.values())
        owners = number_owners(order)
        fits = max(Counter(owners).values()) * seats <= len(order)  # else not all can play equally often
        assert fits is (seats < 6)
        for drawn in final_plan(b"k" * 32, tuple(owners), seats, 24, seats).tables if fits else ():
            assert len({party[order[place].id] for place in drawn.bots}) == seats


def test_waiting_matches_between_new_teammates_are_cancelled(ladder: Ladder) -> None:
    """So are those that a runner returns. Challenges and other matches are played."""

    def queue(connection: Connection) -> tuple[list[int], list[int], int]:
        table = [each.id for each in store.active_versions(connection)]
        one, two, ada, bob, cleo, _ = table
        rated = store.queue_matches(
            connection, store.RATED, [[ada, bob], [ada, cleo], [one, two], [bob, ada]], 1.0, round=1
        )
        asked = store.queue_matches(connection, "challenge", [[ada, bob]], 1.0)
        runner = store.register_runner(connection, 1, 1.0)
        leased = store.claim_match(connection, runner, [], 1.0, kinds=[store.RATED])
        assert leased.id == rated[0]
        return rated, asked, leased.id

    rated, asked, leased = ladder.database.write(queue)
    assert join_team(ladder, "Red", "ada", "bob") == users.TeamChanges(2, 0, 1)

    def ends(connection: Connection) -> list[Any]:
        query = select(matches.c.status, matches.c.reason).where(matches.c.id.in_([*rated, *asked]))
        return [tuple(row) for row in connection.execute(query.order_by(matches.c.id))]

    why = "two of its bots belong to one owner or team"
    waits = ("queued", None)
    assert ladder.database.read_with_retry(ends) == [("leased", None), waits, waits, ("ended", why), waits]

    def next_of(connection: Connection) -> list[int]:
        connection.execute(matches.update().where(matches.c.id == leased).values(status="queued", runner=None))
        runner, held = store.register_runner(connection, 1, 2.0), list[int]()
        while (match := store.claim_match(connection, runner, held, 2.0)) is not None:
            held.append(match.id)
        return held

    assert ladder.database.write(next_of) == [*asked, rated[1], rated[2]]
    assert ladder.database.read_with_retry(ends)[0] == ("ended", why)


def test_a_final_keeps_its_plan(ladder: Ladder) -> None:
    """Users who become teammates later meet there; a new final separates them."""
    create_final(ladder, "first", None, games=6, actor="teacher")
    before = ladder.database.read_with_retry(lambda connection: tables(connection, 1))
    pair = next(table for table in before if all(version_ref.startswith("bot-") for version_ref in table))
    assert join_team(ladder, "Red", *(version_ref[4:-2] for version_ref in pair)) == users.TeamChanges(2, 0, 0)
    serve(ladder)
    assert ladder.database.read_with_retry(lambda connection: tables(connection, 1)) == before
    create_final(ladder, "second", None, games=6, actor="teacher")
    version_refs = ladder.database.read_with_retry(lambda connection: tables(connection, 2))
    assert version_refs
    assert not any(set(pair) == set(table) for table in version_refs)
    join_team(ladder, "Red", *PEOPLE.split(), move=True)
    create_final(ladder, "third", None, games=6, actor="teacher")  # without surplus bots of the team
    version_refs = ladder.database.read_with_retry(lambda connection: tables(connection, 3))
    assert version_refs
    assert not any(all(ref.startswith("bot-") for ref in table) for table in version_refs)


def tables(connection: Connection, final: int) -> list[list[str]]:
    """Return the version refs at each table of a final."""
    found = store.list_final_matches(connection, final)
    return [
        [store.get_version_by_id(connection, id).version_ref for id in store.versions_in_match(connection, match.id)]
        for match in found
    ]


# --- what is the team's -----------------------------------------------------------------------------------------------


def test_submissions_of_a_teammate_count_for_the_team(ladder: Ladder) -> None:
    configure(ladder, max_submissions_per_day=4)
    with pytest.raises(LadderError, match="belongs to another user"):
        send(ladder, "bob", "early", "bot-ada")
    join_team(ladder, "Red", "ada", "bob")
    sent = send(ladder, "bob", "1", "bot-ada")
    assert (sent.version_ref, sent.remaining) == ("bot-ada@2", 1)
    assert send(ladder, "ada", "2", "bot-bob").version_ref == "bot-bob@2"
    with pytest.raises(LadderError, match="the team of bob has submitted 4 of 4 versions allowed today"):
        send(ladder, "bob", "3", "bot-bob")
    with pytest.raises(LadderError, match=r"is used up: bot-ada, bot-bob"):
        send(ladder, "ada", "4", "third")
    newest = ladder.database.read_with_retry(
        lambda connection: store.get_version_by_id(connection, versions(connection) - 1)
    )
    assert (newest.version_ref, newest.login, newest.submitted_by) == ("bot-ada@2", "ada", "bob")
    with ladder.reading(viewer(ladder, "ada")) as context:
        output = bots.get_remaining_quota(ladder, context)
    assert (output.bots, output.can_add_bot, output.remaining) == (("bot-ada", "bot-bob"), False, 0)
    assert (output.suggested_name, output.resets_at) == (None, 12 * 86_400)
    users.leave_teams(ladder, ["bob"], "teacher", "x")
    assert send(ladder, "bob", "5", "bot-bob").version_ref == "bot-bob@3"
    with pytest.raises(LadderError, match="belongs to another user"):
        send(ladder, "bob", "6", "bot-ada")


def test_what_counted_for_a_member_still_counts_on_pages_after_leaving(ladder: Ladder) -> None:
    """The grades of a deadline that is over use the members at that time. A later version isn't late then."""
    join_team(ladder, "Red", "ada", "bob")
    now = ladder.clock()
    add_settings(ladder, deadline("over", now) + deadline("next", now + 1e5))
    configure(ladder, accept_late_days=9)
    cast(Clock, ladder.clock).now = now + 60
    activation.disable_bot(ladder, "bot-ada", "teacher", "it hangs")
    users.leave_teams(ladder, ["ada"], "teacher", "x")
    hand_in(ladder, "ada", "ada-2", now + 120)
    with ladder.reading(viewer(ladder, "ada")) as context:
        dues = bots.get_remaining_quota(ladder, context).deadlines
    assert [(due.counting, due.lateness, due.late_until) for due in dues] == [
        (("bot-bob@1",), None, None), (("ada-2@1",), None, None)
    ]  # fmt: skip


def versions(connection: Connection) -> int:
    return connection.scalar(select(func.max(store.METADATA.tables["versions"].c.id))) or 0


def test_a_teams_challenges_are_counted_together_and_its_bots_may_meet_there(ladder: Ladder) -> None:
    configure(ladder, max_challenges_per_day=3)
    join_team(ladder, "Red", "ada", "bob")
    asked = [queue_challenges(ladder, "bot-ada", ["bot-bob"], login) for login in ("ada", "bob")]  # at the same moment
    assert len({id for each in asked for id in each.matches}) == 2
    ladder.clock = Clock(1e6 + 1)
    assert queue_challenges(ladder, "bot-bob", ["bot-cleo"], "ada").remaining == 0
    ladder.clock = Clock(1e6 + 2)
    with pytest.raises(LadderError, match="the team of bob has queued 3 of"):
        queue_challenges(ladder, "bot-bob", ["bot-cleo"], "bob")
    with pytest.raises(LadderError, match="belongs to another user"):
        queue_challenges(ladder, "bot-ada", ["bot-cleo"], "cleo")


def test_a_teammate_activates_versions_unless_the_owner_is_suspended(ladder: Ladder) -> None:
    hand_in(ladder, "ada", "bot-ada", at=1e6 + 1)
    join_team(ladder, "Red", "ada", "bob")
    assert activation.choose_version(ladder, "bot-ada", 1, "bob")
    with pytest.raises(LadderError, match="belongs to another user"):
        activation.choose_version(ladder, "bot-ada", 2, "cleo")
    users.set_suspended(ladder, "ada", True, "teacher", "she copied it")
    for act in (
        lambda: activation.choose_version(ladder, "bot-ada", 2, "bob"),
        lambda: send(ladder, "bob", "x", "bot-ada"),
    ):
        with pytest.raises(LadderError, match="ada, the bot's owner, is suspended") as refused:
            act()
        assert "copied" not in str(refused.value)


def test_a_former_member_no_longer_sees_the_teams_bots(ladder: Ladder) -> None:
    secret = users.issue_secret(ladder, "bob", "token", "teacher").secret

    def sees() -> tuple[bool, bool, tuple[str, ...]]:
        with ladder.reading(users.authenticate_secret(ladder, secret, "token")) as context:
            bot, own = bot_pages.view_bot(context, "bot-ada"), view_account(context)
            files = bot_pages.find_version_archive(context, "bot-ada", 1)
        return bot.checks is not None, files is not None, tuple(each.login for each in own.team)

    assert sees() == (False, False, ())
    join_team(ladder, "Red", "ada", "bob")
    join_team(ladder, "Blue", "cleo", "dan")
    assert sees() == (True, True, ("ada", "bob"))
    users.leave_teams(ladder, ["ada"], "teacher", "x")
    assert sees() == (False, False, ("bob",))
    join_team(ladder, "Red", "ada")
    users.set_suspended(ladder, "bob", True, "teacher", "x")
    with pytest.raises(users.AuthenticationError):
        sees()


def test_only_members_and_staff_see_a_team(ladder: Ladder) -> None:
    join_team(ladder, "Red", "ada", "bob")
    join_team(ladder, "Blue", "bob", "cleo", move=True)
    for login, output in (("ada", {("Red", "ada")}), ("cleo", {("Blue", "bob"), ("Blue", "cleo")}), ("dan", set())):
        with ladder.reading(viewer(ladder, login)) as context:
            rows = users.list_teams(context).items
            decided = [line.decision.reason for line in list_events(context, limit=999).items if line.decision]
        assert {(row.team, row.login) for row in rows} == output
        assert [why for why in decided if "joined" in why] == ["joined Red: they asked"] * (login == "ada") + [
            "joined Blue: they asked"
        ] * (login == "cleo")


def test_an_event_of_a_teammates_bot_is_shown_as_to_its_owner(ladder: Ladder) -> None:
    join_team(ladder, "Red", "ada", "bob")
    activation.choose_version(ladder, "bot-ada", 1, "bob")
    hand_in(ladder, "ada", "bot-ada", at=1e6 + 1)
    activation.choose_version(ladder, "bot-ada", 1, "bob")
    by = {}
    for login in ("ada", "bob", "cleo"):
        with ladder.reading(viewer(ladder, login)) as context:
            last = [line for line in list_events(context, limit=999).items if line.version == "bot-ada@1"][-1]
        by[login] = None if last.decision is None else last.decision.actor
    assert by == {"ada": "bob", "bob": "bob", "cleo": None}


# --- the commands -----------------------------------------------------------------------------------------------------


def test_the_commands_report_their_effects(ladder: Ladder, tmp_path: Path) -> None:
    term, file = Term(ladder.path), tmp_path / "groups.csv"
    assert "2 joined a team, 0 left one" in term.arena("teams join", "Red", "ada", "bob", "--reason", "they asked").err
    assert "Choose to move" in term.arena("teams join", "Blue", "bob", "--reason", "x", code=2).err
    done = term.json("teams join", "Blue", "bob", "eve", "--move", "--reason", "x")
    assert done == {"joined": 2, "left": 1, "cancelled": 0}
    file.write_text("login,team\neve,Green\n")
    assert "1 joined a team, 1 left one" in term.arena("teams import", file, "--move").err
    assert "can't be read" in term.arena("teams import", tmp_path / "none", code=2).err
    assert "0 joined a team, 1 left one" in term.arena("teams leave", "eve", "--reason", "she left").err
    lines = term.arena("teams list").out.splitlines()
    assert [line.split()[:2] for line in lines if line.startswith("Red")] == [["Red", "ada"], ["Red", "bob"]]
