"""The commands `arena ladder ...`, a module each. As elsewhere, packages are imported inside the functions."""

import click

from arena.cli.ladder.backup import backup, restore
from arena.cli.ladder.bot import bot
from arena.cli.ladder.challenge import challenge
from arena.cli.ladder.decide import activate, disable, freeze, void
from arena.cli.ladder.doctor import doctor
from arena.cli.ladder.export import export
from arena.cli.ladder.final import final
from arena.cli.ladder.grades import grades
from arena.cli.ladder.init import init
from arena.cli.ladder.log import log
from arena.cli.ladder.match import match
from arena.cli.ladder.matches import matches
from arena.cli.ladder.owners import owners
from arena.cli.ladder.queue import queue
from arena.cli.ladder.recheck import recheck
from arena.cli.ladder.rerate import rerate
from arena.cli.ladder.run import run
from arena.cli.ladder.standings import standings
from arena.cli.ladder.submit import submit

__all__ = ["ladder"]


@click.group()
def ladder() -> None:
    """Keep a ladder: bots are submitted, examined, played and rated for as long as a term lasts."""


for command in (
    init,
    owners,
    submit,
    run,
    standings,
    doctor,
    bot,
    match,
    matches,
    queue,
    log,
    activate,
    disable,
    freeze,
    void,
    challenge,
    rerate,
    recheck,
    export,
    backup,
    restore,
    final,
    grades,
):
    ladder.add_command(command)
