"""The commands `arena ladder applicants ...`: people who ask to join, by a link of the staff's."""

from pathlib import Path

import click

from arena.bots import shown
from arena.cli.answers import answers, print_json
from arena.cli.ladder.decide import print_decision
from arena.cli.ladder.opening import BY, FOLDER, acting, ladder_at
from arena.cli.ladder.words import when
from arena.cli.out import show, table
from ladder import views
from ladder.access import STAFF
from ladder.service import Decided, approve, refuse

_NUMBER = click.IntRange(1, 2**31 - 1)


@click.group()
def applicants() -> None:
    """Take in people who ask to join by a link (`access add --kind join`), or refuse."""


@applicants.command("list")
@FOLDER
@answers(views.Applicants)
def list_applicants(folder: Path, as_json: bool) -> None:
    """List who asked to join, and what was decided."""
    with ladder_at(folder) as ladder, ladder.reading(STAFF) as reader:
        listing = views.applicant_list(reader)
    if as_json:
        print_json(listing)
        return
    rows = []
    for row in listing.rows:
        why = "login or email is somebody's here" if row.known else row.why or ""
        cells = [row.login, row.name, row.email or "", when(row.at), row.state, why]
        rows.append((str(row.id), *map(shown, cells)))
    show(table(["id", "login", "name", "email", "on", "state", ""], rows))


@applicants.command("approve")
@FOLDER
@click.argument("number", metavar="NUMBER", type=_NUMBER)
@click.option("--login", metavar="LOGIN", help="Another login than the one that was asked for.")
@BY
@answers(Decided)
def approve_one(folder: Path, number: int, login: str | None, who: str, as_json: bool) -> None:
    """Take an applicant in, who then signs in by the page of the request, once, within 14 days."""
    with ladder_at(folder) as ladder:
        new = approve(ladder, number, who, login)
    print_decision(new, f"applicant {number} is taken in", as_json)


@applicants.command("refuse")
@FOLDER
@click.argument("numbers", metavar="NUMBER...", nargs=-1, required=True, type=_NUMBER)
@acting
@answers(Decided)
def refuse_some(folder: Path, numbers: tuple[int, ...], who: str, why: str, as_json: bool) -> None:
    """Refuse applicants, who read the reason on the pages of their requests."""
    with ladder_at(folder) as ladder:
        new = sum(refuse(ladder, number, who, why) for number in numbers) > 0
    print_decision(new, f"refused: {', '.join(map(str, numbers))}", as_json)
