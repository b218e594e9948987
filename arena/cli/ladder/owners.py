"""The command `arena ladder owners`: who owns bots."""

from pathlib import Path

import click

from arena.cli import out
from arena.cli.answers import answers, print_json
from arena.cli.ladder.decide import print_decision
from arena.cli.ladder.opening import BY, FOLDER, acting, ladder_at
from arena.cli.ladder.view import print_view
from arena.cli.out import counted, note
from ladder import views
from ladder.access import STAFF
from ladder.service import (
    Decided,
    TakenIn,
    approve,
    merge_people,
    one_person,
    parse_roster,
    refuse,
    set_gone,
    take_in_people,
)


@click.group()
def owners() -> None:
    """List the owners of bots, import a roster, approve accounts, merge two owners, let one leave."""


@owners.command("list")
@FOLDER
@answers(views.OwnerList)
def list_owners(folder: Path, as_json: bool) -> None:
    """List all owners, with their pseudonyms: for the teacher."""
    with ladder_at(folder) as ladder, ladder.reading(STAFF) as reader:
        listing = views.owner_list(reader)
    print_view(listing, as_json)


@owners.command("add")
@FOLDER
@click.argument("login")
@click.option("--name", metavar="NAME", help="The person's name.  [the login]")
@click.option("--email", metavar="EMAIL", help="The person's email.")
@click.option("--section", metavar="NAME", help="The person's section of the class.")
@click.option("--pseudonym", metavar="NAME", help="What tables call the person.  [two words, drawn]")
@BY
@answers(TakenIn)
def add_owner(
    folder: Path,
    login: str,
    name: str | None,
    email: str | None,
    section: str | None,
    pseudonym: str | None,
    who: str,
    as_json: bool,
) -> None:
    """Add one owner, or bring one up to date."""
    with ladder_at(folder) as ladder:
        taken = take_in_people(ladder, [one_person(login, name, email, section, pseudonym)], who, "one person")
    if as_json:
        print_json(taken)
    else:
        _tell(taken)


@owners.command("import")
@FOLDER
@click.argument("roster", metavar="ROSTER", type=click.Path(path_type=Path))
@click.option("--partial", is_flag=True, help="Leave out lines that can't be taken in, and take in the others.")
@BY
@answers(TakenIn)
def import_roster(folder: Path, roster: Path, partial: bool, who: str, as_json: bool) -> None:
    """Import a class's roster, in CSV; those who are known are brought up to date.

    The header names the columns: login, email or number, and if there are any, name (or first and last name), section,
    pseudonym, staff. What Canvas and Moodle export is read as it is. Who is known by number, email or login is the same
    person, whichever roster names him. Pseudonyms that aren't told are drawn, and stay.
    """
    with ladder_at(folder) as ladder:
        try:
            data = roster.read_bytes()
        except OSError as problem:
            out.refuse(f"{roster} can't be read: {problem.strerror}")
        taken = take_in_people(ladder, parse_roster(data, roster.name), who, roster.name, partial=partial)
    if as_json:
        print_json(taken)
        return
    _tell(taken)
    if taken.absent:
        note(f"{counted(taken.absent, 'owner')} not in {roster.name} stay as they were")


@owners.command("merge")
@FOLDER
@click.argument("old", metavar="FROM")
@click.argument("new", metavar="INTO")
@acting
@answers(Decided)
def merge(folder: Path, old: str, new: str, who: str, why: str, as_json: bool) -> None:
    """Let two owners be one person: all of FROM is INTO's from now on.

    The login FROM leads to INTO, and its links, sessions, tokens and password let nobody in any more. What was played
    stays; rated matches to come, at whose table bots of both would meet, are cancelled.
    """
    with ladder_at(folder) as ladder:
        changed = merge_people(ladder, old, new, who, why)
    print_decision(changed, f"{old} is {new}", as_json)


@owners.command("leave")
@FOLDER
@click.argument("login", metavar="LOGIN")
@click.option("--undo", is_flag=True, help="Let the person come back: what played before plays again.")
@acting
@answers(Decided)
def leave(folder: Path, login: str, undo: bool, who: str, why: str, as_json: bool) -> None:
    """Let a person leave the course: as with a suspension, and without a line in grades.

    What was played stays, also in the ratings of others. A roster that names the person brings nobody back.
    """
    with ladder_at(folder) as ladder:
        changed = set_gone(ladder, login, not undo, who, why)
    print_decision(changed, f"{login} is {'' if undo else 'no longer '}in the course", as_json)


@owners.command("approve")
@FOLDER
@click.argument("logins", metavar="LOGIN...", nargs=-1, required=True)
@BY
@answers(Decided)
def approve_some(folder: Path, logins: tuple[str, ...], who: str, as_json: bool) -> None:
    """Let accounts take part that wait for approval: their people signed up by a link."""
    with ladder_at(folder) as ladder:
        new = sum(approve(ladder, login, who) for login in logins) > 0
    print_decision(new, f"approved: {', '.join(logins)}", as_json)


@owners.command("refuse")
@FOLDER
@click.argument("logins", metavar="LOGIN...", nargs=-1, required=True)
@acting
@answers(Decided)
def refuse_some(folder: Path, logins: tuple[str, ...], who: str, why: str, as_json: bool) -> None:
    """Remove accounts that wait for approval; their logins are free then."""
    with ladder_at(folder) as ladder:
        new = sum(refuse(ladder, login, who, why) for login in logins) > 0
    print_decision(new, f"removed: {', '.join(logins)}", as_json)


def _tell(taken: TakenIn) -> None:
    for each in taken.remarks:
        note(f"line {each.line}: {each.text}")
    for each in taken.left_out:
        note(f"line {each.line} is left out: {each.text}")
    left = f", {counted(len(taken.left_out), 'line')} left out" if taken.left_out else ""
    note(f"{counted(taken.added, 'owner')} added, {taken.changed} changed{left}")
