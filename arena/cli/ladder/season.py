"""The commands `arena ladder season ...`: a season is over, and the next one begins with the same people."""

from pathlib import Path

import click

from arena.bots import shown
from arena.cli.answers import answers, print_json
from arena.cli.ladder.decide import print_decision
from arena.cli.ladder.opening import BY, FOLDER, acting, ladder_at
from arena.cli.out import note
from ladder.service import Decided, Season, next_season, set_closed


@click.group()
def season() -> None:
    """Close a season, and begin the next one with the same people."""


@season.command()
@FOLDER
@click.option("--undo", is_flag=True, help="Let the season go on.")
@acting
@answers(Decided)
def close(folder: Path, undo: bool, who: str, why: str, as_json: bool) -> None:
    """Close a ladder: nothing is submitted any more, no rated match, challenge, table or final begins.

    What is being played ends, and so does a final that was held before. The pages stay.
    """
    with ladder_at(folder) as ladder:
        new = set_closed(ladder, not undo, who, why)
    print_decision(new, f"the ladder is {'not ' if undo else ''}closed", as_json)


@season.command("next")
@FOLDER
@click.argument("new", metavar="NEW", type=click.Path(path_type=Path))
@click.option("--database", metavar="URL", help="postgresql+psycopg://USER@HOST/NAME.  [a file in the folder]")
@click.option("--with-bots", is_flag=True, help="Submit what plays of people's bots, too.")
@BY
@answers(Season)
def begin(folder: Path, new: Path, database: str | None, with_bots: bool, who: str, as_json: bool) -> None:
    """Make a ladder in a new folder: what is played, people and reference bots are those of LADDER.

    People keep login, pseudonym, team and password. Who is suspended or has left doesn't come along.
    """
    with ladder_at(folder) as ladder:
        made = next_season(ladder, new, who, database, with_bots)
    if as_json:
        print_json(made)
        return
    note(f"made {new}: people: {made.people}, bots to be examined: {made.bots}; its ladder.toml has no deadlines yet")
    note(f"the key of all deals has the SHA-256 {made.commitment}")
    if made.left_out:
        note(f"left out, since suspended: {shown(', '.join(made.left_out))}")
