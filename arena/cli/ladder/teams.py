"""The commands `arena ladder teams ...`: who is in which team."""

from pathlib import Path

import click

from arena.cli.answers import answers, print_json
from arena.cli.ladder.opening import BY, FOLDER, acting, ladder_at
from arena.cli.ladder.view import print_view
from arena.cli.out import counted, note, refuse
from ladder import views
from ladder.access import STAFF
from ladder.service import Teamed, import_teams, join_teams, leave_teams, read_time

MOVE = click.option("--move", is_flag=True, help="Let people who are in another team leave it.")
SINCE = click.option("--since", metavar="TIME", help="From when on: a grade asks who was in a team then.  [now]")


@click.group()
def teams() -> None:
    """Let people be in teams, and list them.

    Bots of a team never meet in a rated match; quotas are the team's; members see one another's bots as their own.
    """


@teams.command("list")
@FOLDER
@answers(views.TeamList)
def list_teams(folder: Path, as_json: bool) -> None:
    """List all teams, with who is in them since when, and who was until when."""
    with ladder_at(folder) as ladder, ladder.reading(STAFF) as reader:
        listed = views.team_list(reader)
    print_view(listed, as_json)


@teams.command("join")
@FOLDER
@click.argument("team", metavar="TEAM")
@click.argument("logins", metavar="LOGIN...", nargs=-1, required=True)
@MOVE
@SINCE
@acting
@answers(Teamed)
def join(
    folder: Path, team: str, logins: tuple[str, ...], move: bool, since: str | None, who: str, why: str, as_json: bool
) -> None:
    """Let people be in a team, which is made if there is none of the name.

    Rated matches that haven't begun are cancelled where two of the team would sit at one table. Finals go on.
    """
    with ladder_at(folder) as ladder:
        at = read_time(ladder, since) if since else None
        done = join_teams(ladder, dict.fromkeys(logins, team), who, why, move, at)
    _tell(done, as_json)


@teams.command("leave")
@FOLDER
@click.argument("logins", metavar="LOGIN...", nargs=-1, required=True)
@acting
@answers(Teamed)
def leave(folder: Path, logins: tuple[str, ...], who: str, why: str, as_json: bool) -> None:
    """Let people be in no team: from now on they see nothing of the others' bots, and may meet them."""
    with ladder_at(folder) as ladder:
        done = leave_teams(ladder, logins, who, why)
    _tell(done, as_json)


@teams.command("import")
@FOLDER
@click.argument("file", metavar="FILE", type=click.Path(path_type=Path))
@MOVE
@SINCE
@BY
@answers(Teamed)
def take_in(folder: Path, file: Path, move: bool, since: str | None, who: str, as_json: bool) -> None:
    """Let people be in the teams of a CSV, whose header names login, email or number, and team or group.

    All join or none. What Canvas exports of a group set is read as it is.
    """
    with ladder_at(folder) as ladder:
        try:
            data = file.read_bytes()
        except OSError as problem:
            refuse(f"{file} can't be read: {problem.strerror}")
        done = import_teams(ladder, data, file.name, who, move, read_time(ladder, since) if since else None)
    _tell(done, as_json)


def _tell(done: Teamed, as_json: bool) -> None:
    if as_json:
        print_json(done)
    elif not done.changed:
        note("it is so already: nothing was decided")
    else:
        note(f"{done.joined} joined a team, {done.left} left one")
        if done.cancelled:
            note(f"{counted(done.cancelled, 'rated match', 'es')} cancelled that can't be played any more")
