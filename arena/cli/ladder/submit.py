"""The command `arena ladder submit`: a bot's new version is taken in, or those of many people."""

import sys
from pathlib import Path

import click

from arena.bots import sample_file, shown
from arena.cli.answers import answers, print_json
from arena.cli.ladder.opening import BY, FOLDER, ladder_at
from arena.cli.out import note, write
from arena.cli.submit import print_submission
from ladder.service import Collected, Taken, local_time, read_time, submit_all
from ladder.service import submit as take_in


@click.command()
@FOLDER
@click.argument("bot", metavar="[BOT]", required=False, type=click.Path(path_type=Path))
@click.option("--owner", "login", metavar="LOGIN", help="Whose bot it is.")
@click.option("--name", metavar="NAME", help="The bot's name.  [what its bot.toml or its file says]")
@click.option("--at", metavar="TIME", help="When it was handed in, such as 2026-12-01T23:50+01:00.  [now]")
@click.option(
    "--from",
    "source",
    metavar="FOLDER",
    type=click.Path(path_type=Path, exists=True, file_okay=False),
    help="Many people's bots: subfolders whose names are logins.",
)
@BY
@answers(Taken, Collected)
def submit(
    folder: Path,
    bot: Path | None,
    login: str | None,
    name: str | None,
    at: str | None,
    source: Path | None,
    who: str,
    as_json: bool,
) -> None:
    """Submit a version of a bot: a file, a folder, a zip or a tar; or sample:NAME.

    The ladder's runner examines it; if it is fit, it plays in place of the version before. With --at it is received at
    that time, as you say, which is written down; no quota of a day holds then.

    With --from, each subfolder is submitted for the owner whose login is its name. Exit code 1 if one was refused.
    """
    if source is None and (bot is None or login is None):
        raise click.UsageError("name a BOT and its --owner; or many people's: --from FOLDER")
    if source is not None and (bot or login or name):
        raise click.UsageError("--from takes each person's bot: it goes with no BOT, --owner or --name")
    with ladder_at(folder) as ladder:
        received = None if at is None else read_time(ladder, at)
        if source is not None:
            found = submit_all(ladder, source, received, who)
            _report(found, as_json)
            sys.exit(bool(found.refused))
        assert bot is not None
        assert login is not None
        taken = take_in(ladder, sample_file(str(bot)) or bot, login, name, received, who)
    if as_json:
        print_json(taken)
        return
    print_submission(taken.label, taken.again, taken.left, taken.late, taken.disabled)
    if received is not None:
        note(f"it was received {local_time(taken.received)}")
    note(f"see what comes of it: arena ladder bot {folder} {taken.name}")


def _report(found: Collected, as_json: bool) -> None:
    if as_json:
        print_json(found)
        return
    for login, taken in found.taken.items():
        late = "" if taken.late is None else f", late for {taken.late}"
        write(f"{shown(login)}: {shown(taken.label)}{', there already' if taken.again else ''}{late}")
    for login, why in found.refused.items():
        note(f"{login} is refused: {why}")
