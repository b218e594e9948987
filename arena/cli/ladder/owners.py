"""The command `arena ladder owners`: who owns bots."""

from pathlib import Path

import click

from arena.cli.ladder.opened import AS_JSON, FOLDER, opened, print_json
from arena.cli.out import note, show, table


@click.group()
def owners() -> None:
    """List the owners of bots, and import a roster."""


@owners.command("list")
@FOLDER
@AS_JSON
def list_owners(folder: Path, as_json: bool) -> None:
    """List all owners, with their pseudonyms: for the teacher."""
    from dataclasses import asdict

    with opened(folder) as ladder:
        from ladder.store.database import all_owners

        with ladder.database.read() as connection:
            found = all_owners(connection)
    if as_json:
        print_json([asdict(owner) for owner in found])
        return
    rows = [
        (
            owner.login,
            owner.name,
            owner.pseudonym,
            owner.section or "",
            owner.email or "",
            "staff" if owner.staff else "",
        )
        for owner in found
    ]
    show(table(["login", "name", "pseudonym", "section", "email", ""], rows))


@owners.command("add")
@FOLDER
@click.argument("login")
@click.option("--name", metavar="NAME", help="The person's name.  [the login]")
@click.option("--pseudonym", metavar="NAME", help="What tables call the person.  [the login]")
def add_owner(folder: Path, login: str, name: str | None, pseudonym: str | None) -> None:
    """Add one owner."""
    with opened(folder) as ladder:
        from ladder.store.database import Owner, put_owners

        owner = Owner(login, name or login, pseudonym or login)
        added, _ = ladder.database.write(lambda connection: put_owners(connection, [owner], ladder.clock()))
    note(f"{login} is an owner now" if added else f"{login} was an owner before")
