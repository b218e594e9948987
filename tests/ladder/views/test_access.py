"""Who may see what: the table of fields beside the types of all views, and views made for all viewers."""

from collections.abc import Iterator
from contextlib import closing
from dataclasses import fields, is_dataclass, replace
from typing import Any, get_args, get_type_hints

import pytest
from sqlalchemy import Connection

from ladder import views
from ladder.access import ACTS, FIELDS, PUBLIC, STAFF, Viewer, Who, visible
from ladder.results import GameResult
from ladder.service import about, open_ladder, set_suspended
from ladder.standings import Standings
from ladder.store import PlayedMatch
from ladder.store.database import FINAL, Final, ids_of_labels, keep_match, put_final, put_matches
from tests.each import each
from tests.ladder.service.term import Term

ANSWERS = (
    views.Account,
    views.Allowance,
    Standings,
    views.ActList,
    views.Bot,
    views.BotList,
    views.Duels,
    views.Front,
    views.BuildLog,
    views.Credentials,
    views.EventList,
    views.FinalList,
    views.FinalState,
    views.GradesPage,
    views.Logs,
    views.Match,
    views.MatchList,
    views.Overview,
    views.OwnerList,
    views.People,
    views.PersonPage,
    views.Queue,
    views.Replay,
    views.Similar,
    views.TableList,
    views.TablePage,
    views.TableReplay,
    views.TeamList,
)
MATE = Viewer("cleo", mates=frozenset({"ada"}))
VIEWERS = {"public": PUBLIC, "ada": Viewer("ada"), "bob": Viewer("bob"), "mate of ada": MATE, "staff": STAFF}


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


@each("answer", [answer.__name__ for answer in ANSWERS])
def test_each_field_of_a_view_is_in_the_table(answer: str) -> None:
    """Nobody adds a field and forgets to say who may see it; what may be hidden can be None, or is within such."""
    [whole] = [each for each in ANSWERS if each.__name__ == answer]
    for found in set(types_in(whole)):
        assert set(FIELDS[found.__name__]) == {field.name for field in fields(found)}, found


def test_the_table_names_nothing_that_is_not_told() -> None:
    """A row stays no longer than its type."""
    assert set(FIELDS) == {found.__name__ for answer in ANSWERS for found in types_in(answer)}


def made(term: Term, viewer: Viewer) -> list[Any]:
    """Return all views of a ladder, as a viewer gets them."""
    with closing(open_ladder(term.path)) as ladder, ladder.reading(viewer) as reader:
        listed = views.match_list(reader, limit=100)
        matches = [view(reader, line.id) for line in listed.rows for view in (views.match, views.find_replay)]
        bots = [views.bot(reader, name) for name in ("late", "broken", "one")]
        logs = [views.logs(reader, line, "late") for line in listed.rows]
        lists = [listed, views.owner_list(reader), views.queue(reader), views.final_list(reader)]
        lists += [*views.event_list(reader).rows, views.credential_list(reader)]
        lists += [views.bot_list(reader), views.front(reader, about(ladder)), views.duels(reader)]
        lists += [views.act_list(reader), views.people(reader), views.person(reader, "ada"), views.account(reader)]
        lists += [views.team_list(reader)]
        lists += [views.overview(reader, views.Quotas(1, 10, 10, 16))]
        return [views.standings(reader), *lists, *matches, *bots, *logs, views.build_log(reader, "late")]


@pytest.mark.parametrize("name", VIEWERS)
def test_no_viewer_gets_what_is_not_for_him(term: Term, name: str) -> None:
    """Each field of each value, against the table; what is hidden is None wherever it stands."""
    viewer = VIEWERS[name]
    for view in made(term, viewer):
        late = isinstance(view, views.BuildLog | views.Logs)
        about = view.bot if isinstance(view, views.Bot) else view.version if isinstance(view, views.EventLine) else None
        owner = "ada" if late else OWNERS.get((about or "").partition("@")[0], "")
        mine = viewer.login == owner or isinstance(view, views.Account)
        other = Who.MATE if owner in viewer.mates else Who.PERSON if viewer.login else Who.ANYBODY
        who = Who.STAFF if viewer.staff else Who.OWNER if mine else other
        for value in values_in(view):
            if isinstance(value, views.OwnerLine) and value.pseudonym == f"pseudonym of {name}":
                continue  # it is the viewer
            known = isinstance(value, views.OwnerLine) and value.pseudonym.removeprefix("pseudonym of ") in viewer.mates
            for field, least in FIELDS[type(value).__name__].items():
                assert max(who, Who.MATE if known else who) >= least or getattr(value, field) is None, (
                    type(value),
                    field,
                )


def test_the_public_reads_nobodys_name_nor_what_a_bot_wrote(term: Term) -> None:
    """Beside staff, who reads all of it: so the words are there to be found."""
    private = ("'ada'", "no json", "oh \\x1b", "no such", "'teacher'")
    public, staff = (repr(list(made(term, viewer))) for viewer in (PUBLIC, STAFF))
    assert [word for word in private if word in public] == []
    assert [word for word in private[:-1] if word not in staff] == []


def test_an_owner_reads_what_is_the_owners_alone(term: Term) -> None:
    """A row of the table is a relation: the same person sees less of another's bot."""
    with closing(open_ladder(term.path)) as ladder, ladder.reading(Viewer("ada")) as reader:
        own, other = views.bot(reader, "late"), views.bot(reader, "broken")
    assert own is not None
    assert other is not None
    assert own.examples
    assert own.examination is not None
    assert (other.examples, other.examination, other.versions[0].reason) == (None, None, None)
    assert other.versions[0].all.matches == 0


def test_lists_go_on_from_a_cursor(term: Term) -> None:
    """Part after part they are the whole."""
    with closing(open_ladder(term.path)) as ladder, ladder.reading(PUBLIC) as reader:
        whole = views.owner_list(reader)
        assert (len(whole.rows), whole.next) == (4, None)
        first = views.owner_list(reader, limit=3)
        rest = views.owner_list(reader, after=first.next, limit=3)
        assert (first.rows + rest.rows, rest.next) == (whole.rows, None)


def test_matches_of_a_final_are_sealed_until_its_end(own: Term) -> None:
    """To all but staff: in lists, by their number, and in what a bot's matches add up to."""
    with closing(open_ladder(own.path)) as ladder:
        with ladder.reading(STAFF) as reader:
            before = played(reader)
        match = ladder.database.write(keep_final)
        for viewer, sealed in ((PUBLIC, True), (Viewer("ada"), True), (STAFF, False)):
            with ladder.reading(viewer) as reader:
                assert (views.match(reader, match) is None) is sealed
                assert (match in [line.id for line in views.match_list(reader, limit=100).rows]) is not sealed
                assert played(reader) == before + (not sealed)


def played(reader: views.Reader) -> int:
    """Return how many matches of a bot the reader is told of."""
    bot = views.bot(reader, "late")
    assert bot is not None
    return bot.versions[0].all.matches


def keep_final(connection: Connection) -> int:
    """Keep a final of which the only match was played, and isn't revealed; return the match."""
    labels = ("late@1", "one@1")
    table = tuple(ids_of_labels(connection, labels).values())
    final = put_final(connection, Final("last", bytes(32), table, 1, None, 2.0, False, 2.0))
    [match] = put_matches(connection, FINAL, [table], 2.0, final=final.id)
    result = GameResult(match, 0, labels, 0, "last_standing", (0,), ((1, 9),), 9, (), ())
    keep_match(connection, PlayedMatch(match, "record", (result,)), 3.0)
    return match


def test_a_mate_reads_of_a_bot_what_its_owner_does_but_why_the_owner_is_suspended(own: Term) -> None:
    """Account, credentials and grade stay the person's; what was decided about a person is his to hear."""
    with closing(open_ladder(own.path)) as ladder:
        set_suspended(ladder, "ada", True, "teacher", "she copied it")
        set_suspended(ladder, "ada", False, "teacher", "she didn't")
        with ladder.reading(MATE) as reader, ladder.reading(Viewer("ada")) as owners:
            mates, owned = views.bot(reader, "late"), views.bot(owners, "late")
            told = [repr([view(each) for view in (views.event_list, views.owner_list)]) for each in (reader, owners)]
            grade = [each.viewer.may("see grades", "ada") for each in (reader, owners)]
            kept = [len(views.credential_list(each, "ada").rows) for each in (reader, owners)]
    assert mates is not None
    assert owned is not None
    assert {act.what for act in owned.acts or ()} - {act.what for act in mates.acts or ()} == {"suspend", "unsuspend"}
    assert replace(mates, acts=None) == replace(owned, acts=None)
    assert ["she copied it" in text for text in told] == [False, True]
    assert ["'Ada'" in text for text in told] == [True, True]
    assert (grade, kept[0]) == ([False, True], 0)


@each("act", sorted(ACTS))
def test_staff_may_do_everything_and_the_public_nothing(act: str) -> None:
    """Between them the table decides."""
    assert STAFF.may(act, "ada")
    assert PUBLIC.may(act, None) == (act in ("come in", "see a table", "sit down"))  # for guests, by their secrets
    assert Viewer("ada").may(act, "ada") is (ACTS[act] <= Who.OWNER)
    assert Viewer("ada").may(act, "bob") is (ACTS[act] <= Who.PERSON)
    assert MATE.may(act, "ada") is (ACTS[act] <= Who.MATE)
    assert MATE.may(act, "bob") is (ACTS[act] <= Who.PERSON)


def test_a_type_that_the_table_does_not_know_is_shown_to_nobody() -> None:
    """It fails closed."""
    with pytest.raises(KeyError):
        visible(views.Reader(STAFF, None, 0.0, 2, 1, "", True), STAFF)  # type: ignore[arg-type]
