"""The command `arena ladder extend`: one person gets more time before a deadline."""

from pathlib import Path

import click

from arena.cli.answers import answers
from arena.cli.ladder.decide import print_decision
from arena.cli.ladder.opening import FOLDER, acting, ladder_at
from arena.cli.out import refuse
from ladder.service import Decided, take_back
from ladder.service import extend as give


@click.command()
@FOLDER
@click.argument("login", metavar="LOGIN")
@click.argument("deadline", metavar="DEADLINE")
@click.option("--until", metavar="TIME", help="Its end, as 2026-12-03T12:00, in the deadline's zone if it has none.")
@click.option("--days", type=click.IntRange(1, 366), metavar="N", help="Its end, so many days after the deadline.")
@click.option(
    "--late-days", type=click.IntRange(0, 366), metavar="N", default=0, help="Take them from the person's own."
)
@click.option("--undo", is_flag=True, help="Take it back: the deadline is the class's again.")
@acting
@answers(Decided)
def extend(
    folder: Path,
    login: str,
    deadline: str,
    until: str | None,
    days: int | None,
    late_days: int,
    undo: bool,
    who: str,
    why: str,
    as_json: bool,
) -> None:
    """Give a person more time before a deadline. The person is told until when, and why; the grade tells it, too.

    Given anew, it takes the place of what was given before.
    """
    if undo and (until is not None or days is not None or late_days):
        refuse("--undo takes all of it back; leave --until, --days and --late-days away")
    with ladder_at(folder) as ladder:
        if undo:
            new = take_back(ladder, login, deadline, who, why)
        else:
            new = give(ladder, login, deadline, until, days, late_days, who, why)
    print_decision(new, f"{login} has {'no more time' if undo else 'more time'} for {deadline}", as_json)
