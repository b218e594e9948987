"""The command `arena ladder tables`: plays at the tables that people open on the ladder's pages."""

import sys
from pathlib import Path

import click

from arena.cli.ladder.journal import Journal
from arena.cli.ladder.opening import FOLDER, ladder_at
from arena.cli.lazy import needs_extras
from ladder.service import demand_boxes
from ladder.store.database import PATIENCE_S


@click.command()
@FOLDER
def tables(folder: Path) -> None:
    """Play at the tables that people open on the ladder's pages, until Ctrl-C or SIGTERM.

    `arena ladder serve` starts it, too. What is being played when it ends is void; games that had ended are kept.
    """
    with needs_extras():
        from ladder.dealer import deal_tables
    log = Journal(plain=sys.stderr.isatty())

    def hear(why: str | None) -> None:
        log.info("the database is back") if why is None else log.warn(why)

    with ladder_at(folder, PATIENCE_S, hear) as ladder:
        demand_boxes(ladder)
        deal_tables(ladder, log.info)
