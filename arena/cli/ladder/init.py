"""The command `arena ladder init`: a new ladder's folder, database, terms of play and reference bots."""

import time
from contextlib import closing
from dataclasses import replace
from pathlib import Path
from typing import Any

import click
from sqlalchemy import Connection

from arena.cli import options
from arena.cli.answers import answers, print_json
from arena.cli.completion import complete_bot, complete_rules
from arena.cli.ladder.opening import plain_errors
from arena.cli.new_run import match_games_of
from arena.cli.out import note, refuse
from arena.referee import SETTABLE, Terms
from arena.run import load
from arena.sandbox import make, scratch_folder, why_no_strangers
from ladder.schedule import check_match_games
from ladder.service import Created, Play, create, put_reference, read_reference

REFERENCES = ("sample:random_bot", "sample:turtle", "sample:honest", "sample:opportunist")


@click.command(cls=options.GroupedCommand)
@click.argument("folder", metavar="LADDER", type=click.Path(path_type=Path))
@click.option(
    "--rules",
    metavar="NAME|FILE",
    shell_complete=complete_rules,
    default="coup",
    help="Preset, or a ruleset in TOML.  [coup]",
)
@click.option("--seats", type=click.IntRange(2, 10), metavar="N", default=4, help="Bots at a table.  [4]")
@click.option("--match-games", type=click.IntRange(1), metavar="N", help="Games in a match.  [12, in Docker 24]")
@click.option(
    "--reference",
    "references",
    multiple=True,
    metavar="BOT",
    shell_complete=complete_bot,
    help=f"A bot to compare with, which fixes the scale; may be given again.  [{' '.join(REFERENCES)}]",
)
@click.option("--database", metavar="URL", help="postgresql+psycopg://USER@HOST/NAME.  [a file in the folder]")
@options.sandbox_options
@options.limit_options
@click.option("--clock", type=click.Choice(["auto", "own", "wall"]), help="The time that is charged.  [auto]")
@click.option("--ponder", is_flag=True, help="Let bots compute while it isn't their turn.")
@click.option("--strict", is_flag=True, help="The first fault forfeits the game.")
@answers(Created)
def init(folder: Path, references: tuple[str, ...], database: str | None, as_json: bool, **given: Any) -> None:
    """Make a ladder in a new folder.

    What is played (rules, limits, seats, sandbox) is fixed by this; quotas and deadlines stand in LADDER/ladder.toml.
    Strangers' bots play only in an isolating sandbox with control groups. --sandbox process is for authors you trust.
    """
    with plain_errors():
        read = [read_reference(reference) for reference in references or REFERENCES]
        choice, reasons = options.chosen(given["sandbox"], given["docker_runtime"], given["docker_image"])
        if not choice.isolates and given["sandbox"] in (None, "auto"):
            why = "; ".join(f"{name}: {trouble}" for name, trouble in reasons.items())
            refuse(
                f"strangers' bots need a sandbox that isolates, and none works here ({why}).\n"
                "See arena doctor; for a ladder of authors you trust: --sandbox process"
            )
        trouble = why_no_strangers(choice) if choice.isolates else None
        if trouble is not None:
            refuse(f"strangers' bots can't play here in {choice.name}: {trouble}\nSee arena doctor.")
        with scratch_folder() as scratch, closing(make(choice, scratch)) as box:
            play = _play(given, choice, box)

        def fill(connection: Connection) -> None:
            for reference in read:
                put_reference(connection, reference, time.time())

        with closing(create(folder, play, database, fill)) as ladder:
            if as_json:
                print_json(Created(str(folder), ladder.commitment))
                return
            note(f"made {folder}: {play.terms.rules.name} at {play.seats} seats, {play.match_games} games a match")
            note(f"the key of all deals has the SHA-256 {ladder.commitment}")
            note(f"next: arena ladder owners import {folder} roster.csv; arena ladder run {folder}")
            note(f"with pages in the browser: arena ladder serve {folder}")


def _play(given: dict[str, Any], choice: Any, box: Any) -> Any:
    """Return what will be played. Exits with 2 if that can't be."""
    flags = {name: given[name] for name in SETTABLE}
    rules = load(given["rules"])
    problem = rules.problem(given["seats"])
    if problem:
        refuse(problem)
    timing, limits = options.limits_of(flags, given["rules"])
    options.demand_limits(flags, box)
    own = box.tells_waits if given["clock"] in (None, "auto") else given["clock"] == "own"
    timing = replace(timing, own=own, ponder=given["ponder"])
    options.demand_clock(timing, box)
    terms = Terms(rules=rules, timing=timing, limits=limits, lives=1 if given["strict"] else Terms().lives)
    match_games = given["match_games"] or match_games_of(choice.name, given["seats"])
    try:
        check_match_games(given["seats"], match_games)
    except ValueError as problem:
        refuse(f"--match-games: {problem}")
    return Play(terms, choice, given["seats"], match_games)
