"""The command `arena ladder owners`: who owns bots."""

from pathlib import Path

import click

from arena.bots import shown
from arena.cli.answers import answers, print_json
from arena.cli.ladder.opened import BY, FOLDER, opened
from arena.cli.out import counted, note, refuse, show, table
from ladder import views
from ladder.access import STAFF
from ladder.service import TakenIn, one_person, parse_roster, take_in_people


@click.group()
def owners() -> None:
    """List the owners of bots, and import a roster."""


@owners.command("list")
@FOLDER
@answers(views.OwnerList)
def list_owners(folder: Path, as_json: bool) -> None:
    """List all owners, with their pseudonyms: for the teacher."""
    with opened(folder) as ladder, ladder.reading(STAFF) as reader:
        found = views.owner_list(reader)
    if as_json:
        print_json(found)
        return
    rows = [
        (
            shown(owner.login or ""),
            shown(owner.name or ""),
            shown(owner.pseudonym),
            shown(owner.section or ""),
            shown(owner.email or ""),
            shown(owner.number or ""),
            "staff" if owner.staff else "suspended" if owner.suspended is not None else "",
        )
        for owner in found.rows
    ]
    show(table(["login", "name", "pseudonym", "section", "email", "number", ""], rows))


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
    with opened(folder) as ladder:
        taken = take_in_people(ladder, [one_person(login, name, email, section, pseudonym)], who, "one person")
    if as_json:
        print_json(taken)
    else:
        _tell(taken)


@owners.command("import")
@FOLDER
@click.argument("roster", metavar="ROSTER", type=click.Path(path_type=Path))
@BY
@answers(TakenIn)
def import_roster(folder: Path, roster: Path, who: str, as_json: bool) -> None:
    """Import a class's roster, in CSV; those who are known are brought up to date.

    The header names the columns: login or email, and if there are any, name (or first and last name), section, number,
    pseudonym, staff. What Canvas and Moodle export is read as it is. Pseudonyms that aren't told are drawn, and stay.
    """
    with opened(folder) as ladder:
        try:
            data = roster.read_bytes()
        except OSError as problem:
            refuse(f"{roster} can't be read: {problem.strerror}")
        taken = take_in_people(ladder, parse_roster(data, roster.name), who, roster.name)
    if as_json:
        print_json(taken)
        return
    _tell(taken)
    if taken.absent:
        note(f"{counted(taken.absent, 'owner')} not in {roster.name} stay as they were")


def _tell(taken: TakenIn) -> None:
    note(f"{counted(taken.added, 'owner')} added, {taken.changed} changed")
