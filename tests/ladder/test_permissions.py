"""Tests of permissions: the access table of fields against the types of all views, and views for all viewers."""

import importlib
import sys
from collections.abc import Iterator
from contextlib import closing
from dataclasses import fields, is_dataclass, replace
from typing import Any, get_args, get_type_hints

import pytest
from sqlalchemy import Connection

from arena.referee import GameResult, PlayedMatch
from ladder import bot_pages, dashboards, home, match_pages, standings, users
from ladder.audit_log import list_audit_log
from ladder.grading import list_finals
from ladder.ladder import Ladder, open_ladder
from ladder.permissions import FIELD_LEVELS, PERMISSIONS, PUBLIC_VIEWER, STAFF_VIEWER, AccessLevel, Viewer, hide_fields
from ladder.store import FINAL, Final, insert_final, queue_matches, save_match
from ladder.view_context import ViewContext
from tests.cases import each
from tests.ladder.classes import look
from tests.ladder.term import Term
from tests.ladder.version_refs import version_ids_by_ref

MATE = Viewer("cleo", mates=frozenset({"ada"}))
VIEWERS = {
    "public": PUBLIC_VIEWER,
    "ada": Viewer("ada"),
    "bob": Viewer("bob"),
    "mate of ada": MATE,
    "staff": STAFF_VIEWER,
}


OWNERS = {"late": "ada", "broken": "bob"}


def types_in(hint: Any) -> Iterator[type]:
    """Yield the dataclasses that a type's values may hold, itself among them."""
    if is_dataclass(hint):
        assert isinstance(hint, type)
        yield hint
        yield from (found for inner in get_type_hints(hint).values() for found in types_in(inner))
    for argument in get_args(hint):
        yield from types_in(argument)


def values_in(value: Any) -> Iterator[Any]:
    """Yield the dataclasses that a value holds, itself among them."""
    if is_dataclass(value):
        yield value
        yield from (found for field in fields(value) for found in values_in(getattr(value, field.name)))
    elif isinstance(value, tuple | list):
        yield from (found for inner in value for found in values_in(inner))


def test_the_table_names_each_field_of_its_types_and_of_the_types_within() -> None:
    """A new field needs an entry; one that may be hidden can be None, or is within such a field."""
    importlib.import_module("ladder.web")  # which shows all of them
    modules = [module for name, module in sys.modules.items() if name.startswith(("arena.", "ladder."))]
    named = {found.__name__: found for module in modules for found in vars(module).values() if isinstance(found, type)}
    for name in FIELD_LEVELS:
        for found in set(types_in(named[name])):
            assert set(FIELD_LEVELS[found.__name__]) == {field.name for field in fields(found)}, found


def all_views(term: Term, viewer: Viewer) -> list[Any]:
    lists = (
        *(match_pages.list_matches, match_pages.view_queue, list_finals, list_audit_log, standings.view_standings),
        *(standings.view_head_to_head, bot_pages.list_bots, home.view_account, dashboards.view_dashboard),
        *(dashboards.list_users_for_admin, users.list_users, users.list_credentials, users.list_teams),
    )
    with closing(open_ladder(term.path)) as ladder, ladder.reading(viewer) as context:
        views = [view(context) for view in lists]
        views += dashboards.list_events(context).items
        views += [bot_pages.view_bot(context, name) for name in ("late", "broken", "one")]
        # The account is another view.
        views += [replace(home.view_home(context, home.describe_ladder(ladder)), account=None)]
        views += [dashboards.view_user_for_admin(context, "ada"), bot_pages.view_build_log(context, "late")]
        for line in match_pages.list_matches(context, limit=100).items:
            views += [match_pages.view_match(context, line.id), match_pages.view_match_replay(context, line.id)]
            views += [bot_pages.view_logs(context, line, "late")]
        return views


@pytest.mark.parametrize("name", VIEWERS)
def test_no_viewer_gets_fields_without_permission(term: Term, name: str) -> None:
    """Each field of each value is compared to the table; hidden ones are None everywhere."""
    viewer = VIEWERS[name]
    for view in all_views(term, viewer):
        late = isinstance(view, bot_pages.BuildLog | bot_pages.BotLogs)
        about = view.version if isinstance(view, dashboards.EventSummary) else None
        about = view.bot if isinstance(view, bot_pages.BotPage) else about
        owner = "ada" if late else OWNERS.get((about or "").partition("@")[0], "")
        mine = viewer.login == owner or isinstance(view, home.AccountPage)
        other = (
            AccessLevel.MATE if owner in viewer.mates else AccessLevel.PERSON if viewer.login else AccessLevel.ANYBODY
        )
        who = AccessLevel.STAFF if viewer.staff else AccessLevel.OWNER if mine else other
        for value in values_in(view):
            if isinstance(value, users.UserSummary) and value.pseudonym == f"pseudonym of {name}":
                continue  # it is the viewer
            known = (
                isinstance(value, users.UserSummary) and value.pseudonym.removeprefix("pseudonym of ") in viewer.mates
            )
            for field, least in FIELD_LEVELS[type(value).__name__].items():
                assert max(who, AccessLevel.MATE if known else who) >= least or getattr(value, field) is None, (
                    type(value),
                    field,
                )


def test_an_owner_reads_private_fields_of_their_bots_only(term: Term) -> None:
    """A row of the table is a relation: the same user sees less of another's bot."""
    with closing(open_ladder(term.path)) as ladder, ladder.reading(Viewer("ada")) as context:
        own, other = bot_pages.view_bot(context, "late"), bot_pages.view_bot(context, "broken")
    assert own.fault_reports
    assert own.checks is not None
    assert (other.fault_reports, other.checks, other.versions[0].reason) == (None, None, None)
    assert other.versions[0].all_matches.matches == 0


def test_lists_continue_from_a_cursor(term: Term) -> None:
    with closing(open_ladder(term.path)) as ladder, ladder.reading(PUBLIC_VIEWER) as context:
        whole = users.list_users(context)
        assert (len(whole.items), whole.next_cursor) == (4, None)
        first = users.list_users(context, limit=3)
        rest = users.list_users(context, after=first.next_cursor, limit=3)
        assert (first.items + rest.items, rest.next_cursor) == (whole.items, None)


def test_matches_of_a_final_are_sealed_until_its_end(ladder: Ladder) -> None:
    """All but staff are excluded: from lists, matches by number, and the sums of a bot."""
    before = look(ladder, STAFF_VIEWER, played)
    match = ladder.database.write(store_final)
    for viewer, sealed in ((PUBLIC_VIEWER, True), (Viewer("ada"), True), (STAFF_VIEWER, False)):
        with ladder.reading(viewer) as context:
            assert (match_pages.view_match(context, match) is None) is sealed
            assert (match in [line.id for line in match_pages.list_matches(context, limit=100).items]) is not sealed
            assert played(context) == before + (not sealed)


def played(context: ViewContext) -> int:
    """Return how many matches of a bot the viewer sees."""
    bot = bot_pages.view_bot(context, "late")
    return bot.versions[0].all_matches.matches


def store_final(connection: Connection) -> int:
    """Store a final whose only match was played, and isn't revealed; return the match."""
    version_refs = ("late@1", "one@1")
    table = tuple(version_ids_by_ref(connection, version_refs).values())
    final = insert_final(connection, Final("last", bytes(32), table, 1, None, 2.0, False, 2.0))
    [match] = queue_matches(connection, FINAL, [table], 2.0, final=final.id)
    result = GameResult(match, 0, version_refs, 0, "last_standing", (0,), ((1, 9),), 9, (), ())
    save_match(connection, PlayedMatch(match, "record", (result,)), 3.0)
    return match


def test_a_teammate_reads_all_of_a_bot_but_the_reason_of_its_owners_suspension(ladder: Ladder) -> None:
    """Account, credentials and grade are personal, and so are decisions about a user."""
    users.set_suspended(ladder, "ada", True, "teacher", "she copied it")
    users.set_suspended(ladder, "ada", False, "teacher", "she didn't")
    viewers = (MATE, Viewer("ada"))
    mates, owned = (look(ladder, viewer, bot_pages.view_bot, "late") for viewer in viewers)
    lists = (dashboards.list_events, users.list_users)
    output = [repr([look(ladder, viewer, view) for view in lists]) for viewer in viewers]
    seen_by_mate, decided = ({act.action for act in page.audit_log} for page in (mates, owned))
    assert decided - seen_by_mate == {"suspend", "unsuspend"}
    assert replace(mates, audit_log=None) == replace(owned, audit_log=None)
    assert ["she copied it" in text for text in output] == [False, True]
    assert ["'Ada'" in text for text in output] == [True, True]
    assert [viewer.can("grades:read", "ada") for viewer in viewers] == [False, True]
    assert not look(ladder, MATE, users.list_credentials, "ada").items


# Written out, so that a change in the program's table is noticed.
ACTS = {
    AccessLevel.ANYBODY: "agreed_name:view site:view table:join table:view",
    AccessLevel.PERSON: "account:read account:write bot:manage bot:upload chat:write ladder:read table:manage"
    " table:open",
    AccessLevel.MATE: "bot:challenge bot:choose_version bot:submit build_log:read cards:view files:read log:read",
    AccessLevel.OWNER: "grades:read player_cards:view table:close user_decisions:read",
    AccessLevel.STAFF: "bot:activate bot:disable chat:moderate credentials:issue final:create final:preview"
    " ladder:freeze ladder:manage match:void record:read user:suspend users:read",
}
NEEDED_LEVELS = {act: level for level, acts in ACTS.items() for act in acts.split()}
# Types and their fields that not all may read, as written out; a type alone stands for all of its fields.
PRIVATE_FIELDS = {
    AccessLevel.MATE: "BotPage: checks fault_reports lost_games costly_decisions opponents audit_log deadlines;"
    " BotStyle: hidden; BotVersion: received_at faults digest reason checked_at blocked_reason submitted_by;"
    " BuildLog; CheckStepView; CostlyDecision; DeadlineSummary: counting unchecked late_until lateness"
    " late_days_left; DecisionSummary: actor;"
    " EventSummary: decision; FaultReport; HiddenNumber: name count total; LostGame; Membership: team login name"
    " joined_at; OwnBotSummary; ProcessLog; UserSummary: login name; VersionCheckView",
    AccessLevel.OWNER: "AccountPage; BaselineResult; CredentialSummary; DeadlineSummary: extension_reason; Grade;"
    " GradeChange; Membership: left_at; RemainingQuota: bots suggested_name can_add_bot remaining limit resets_at"
    " max_upload_mb deadlines disabled_bots; TablePage: manages; TableSlot: bot; UserSummary: email student_id section"
    " suspension_reason canvas_id moodle_id withdrawal_reason awaiting_approval shows_name",
    AccessLevel.STAFF: "AuditEntrySummary; AuditLog; BotPage: owner; BotSummary: owner; ChatLineSummary: muted;"
    " CollusionReport: suspects; CollusionSuspects; Dashboard; DashboardProblem; EventSummary: details;"
    " FailedAttempt: reason; FieldStyle: hidden; Finding; GradesPage: release_problem; HiddenNumber: field_mean;"
    " MatchPage: reason can_void; MatchSummary: reason; QueuePage: runners; ReleaseSummary: created_by; RemainingQuota:"
    " owners; RunnerSummary; SimilarityPair; SimilarityReport; StandingsPage: sections; StandingsRow: owner;"
    " UserAdminList; UserAdminPage; UserAdminSummary",
}


def test_each_permission_has_the_level_that_is_written_here() -> None:
    assert PERMISSIONS == NEEDED_LEVELS


@each("level", PRIVATE_FIELDS)
def test_each_private_field_has_the_level_that_is_written_here(level: AccessLevel) -> None:
    written = {
        name: fields.split() for name, _, fields in (row.partition(": ") for row in PRIVATE_FIELDS[level].split("; "))
    }
    for name, row in FIELD_LEVELS.items():
        found = [field for field, needed in row.items() if needed is level]
        assert sorted(found) == sorted(written.get(name, ()) or (row if name in written else ())), name


@each("act", sorted(NEEDED_LEVELS))
def test_staff_may_do_everything_and_the_public_nothing(act: str) -> None:
    assert STAFF_VIEWER.can(act, "ada")
    assert PUBLIC_VIEWER.can(act, None) == (NEEDED_LEVELS[act] is AccessLevel.ANYBODY)  # for guests, by their secrets
    assert Viewer("ada").can(act, "ada") is (NEEDED_LEVELS[act] <= AccessLevel.OWNER)
    assert Viewer("ada").can(act, "bob") is (NEEDED_LEVELS[act] <= AccessLevel.PERSON)
    assert MATE.can(act, "ada") is (NEEDED_LEVELS[act] <= AccessLevel.MATE)
    assert MATE.can(act, "bob") is (NEEDED_LEVELS[act] <= AccessLevel.PERSON)


def test_a_type_missing_in_the_table_is_hidden_from_all() -> None:
    with pytest.raises(KeyError):
        hide_fields(ViewContext(STAFF_VIEWER, None, 0.0, 2, 1, "", True), STAFF_VIEWER)  # type: ignore[arg-type]
