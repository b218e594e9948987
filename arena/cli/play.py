"""Implement `arena play`, with which a person plays against bots."""

import sys
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

import click

from arena.bots import normal_name
from arena.cli import options
from arena.cli.completion import complete_bot
from arena.cli.console import fail, option, os_error_reason, treat_sigterm_as_sigint, usage_error
from arena.cli.feed import DEBUG
from arena.cli.interactive import InteractiveGame
from arena.cli.play_browser import play_in_browser
from arena.cli.table_setup import CLOCK_OPTION, OUT_OPTION, open_table_setup
from arena.cli.terminal import GameTerminal
from arena.play import InteractiveMatch, RecordFolder


@click.command(cls=options.GroupedCommand)
@click.argument("bots", nargs=-1, metavar="[BOT...]", shell_complete=complete_bot)
@option("--games", type=click.IntRange(1, 1000), default=1, metavar="N", help="Play N games.")
@option(
    "--seats",
    type=click.IntRange(2, 10),
    metavar="N",
    help="Players at the table, you among them; sample bots fill it up.  [you and the BOTs; without BOTs 4]",
)
@options.RULES_OPTION
@option("--name", default="person", metavar="NAME", help="Your name in the record.")
@option("--browser", is_flag=True, help="Play on a page in the browser, on this machine alone.")
@option("--port", type=click.IntRange(0, 65535), default=0, metavar="N", help="With --browser: 0, any free one.")
@option("--speed", type=click.FloatRange(0, 30), default=0.8, metavar="S", help="With --browser: seconds a move.")
@option("--show-names", is_flag=True, help="All play under their names instead of letters.")
@option("--seed", type=int, metavar="N", help="Have the same cards as in another match with this seed.")
@options.sandbox_options
@options.PASS_ENV_OPTION
@options.limit_options
@CLOCK_OPTION
@OUT_OPTION
@DEBUG
def play(
    bots: tuple[str, ...], name: str, browser: bool, port: int, speed: float, debug: str | None, **given: Any
) -> None:
    """Play against bots, in the terminal or the browser.

    BOT is as for arena run. You see what a bot in your seat would get, and nothing else; what the players are
    called is shown after the match. What was played is kept: arena replay shows it, with all cards.
    """
    name = _check_name(name)
    treat_sigterm_as_sigint()
    with open_table_setup(given, bots, 1, debug, browser) as table:
        names = [*(bot.name for bot in table.bots), name]
        if name in names[:-1]:
            usage_error(f"a bot is called {name!r}: name yourself by --name")
        if any(other.casefold() == "you" for other in names[:-1]):
            usage_error('a bot is called "you", as you are on the screen: name it by other=PATH')
        if browser:
            play_in_browser(table, names, given, port, speed)
            return
        problem = _sit(GameTerminal(), table, names, given)
    if problem is not None:
        fail(f"the match is void: {problem}")


def _check_name(name: str) -> str:
    try:
        return normal_name(name)
    except ValueError as problem:
        usage_error(f"--name: {problem}")


def _sit(screen: GameTerminal, table: Any, names: list[str], given: dict[str, Any]) -> str | None:
    """Play, store the games and print a summary; return this machine's failure, None without one."""
    spec = table.spec(given["games"], names, table.timings(1), given["show_names"])
    interrupted = False
    with _writing():
        folder = RecordFolder(table.folder)
    sitting = InteractiveMatch(spec, len(table.bots), table.start)
    host = InteractiveGame(screen, sitting, folder)
    try:
        with sitting:
            try:
                host.play()
            except KeyboardInterrupt:
                interrupted = True
                host.end()
    finally:  # also where the end wasn't waited for
        if sitting.games:
            with _writing():
                folder.keep(sitting.record, sitting.logs)
        folder.discard()
        if not screen.closed:
            host.print_summary(table.folder)
    if interrupted:
        sys.exit(130)
    return host.problem


@contextmanager
def _writing() -> Iterator[None]:
    try:
        yield
    except OSError as problem:
        fail(f"the record can't be written: {os_error_reason(problem)}")
