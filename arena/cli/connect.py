"""Implement `arena connect`: connect a program of this machine to a seat at a ladder's table."""

import asyncio
import json
import re
import shutil
from dataclasses import dataclass
from functools import partial
from pathlib import Path

import click

from arena import with_extra
from arena.cli.api_client import LadderClient, ServerRefusedError, ServerUnreachableError, open_client, token_file
from arena.cli.console import fail, option, print_note, print_text, treat_sigterm_as_sigint, usage_error

_CLOSE_TIMEOUT_S = 5.0


@click.command()
@click.argument("url", metavar="URL")
@click.argument("command", nargs=-1, required=True, metavar="-- PROGRAM...")
@option(
    "--token-file",
    "file",
    metavar="FILE",
    type=click.Path(path_type=Path),
    help="File with the token of the seat or your account.  [$ARENA_TOKEN_FILE, else ~/.config/arena/token]",
)
@option("--challenge", metavar="BOT,...", help="Open a table with these bots. URL is the address of the ladder.")
@option("--games", type=click.IntRange(1, 1000), metavar="N", help="With --challenge: number of games.  [the ladder's]")
@option("--rules", metavar="NAME", help="With --challenge: the ruleset.  [the ladder's]")
@option("--name", metavar="NAME", help="With --challenge: name of the program.  [its file name]")
@option(
    "--reconnect-timeout",
    type=click.FloatRange(1, 86400),
    metavar="S",
    help="Seconds to retry a lost connection.  [while the program's clock runs]",
)
def connect(
    url: str,
    command: tuple[str, ...],
    file: Path | None,
    challenge: str | None,
    reconnect_timeout: float | None,
    games: int | None,
    rules: str | None,
    name: str | None,
) -> None:
    """Connect a local program to a table on a ladder server.

    URL is the address of the seat: https://HOST/tables/ID/program. With --challenge it is the ladder's address. PROGRAM
    speaks the protocol as under arena run. It runs as a plain process with your permissions, and its standard
    error goes to this terminal. Ctrl-C leaves the table. Exit code 0 if the match was played to its end, else 1.
    """
    try:
        from arena.connect import ConnectError, SeatAddress, connect_program
    except ModuleNotFoundError as missing:
        usage_error(f"arena connect needs {missing.name}: {with_extra('web')}")
    if challenge is None and any((games, rules, name)):
        usage_error("--games, --rules and --name need --challenge")
    if shutil.which(command[0]) is None:
        usage_error(f"{command[0]} can't be started: program not found")
    seat_url = re.sub("^ws(?=s?:)", "http", url, flags=re.IGNORECASE)
    on_unreached = None
    server = open_client(seat_url, token_file(file))
    if challenge is not None:
        bots = [bot.strip() for bot in challenge.split(",")]
        table = _open_table(server, bots, name or Path(command[-1]).stem, games, rules)
        seat_url = server.url + table.program
        on_unreached = partial(_close_table, server, table)
    treat_sigterm_as_sigint()
    socket_url = re.sub("^http", "ws", seat_url, flags=re.IGNORECASE)
    seat = SeatAddress(socket_url, server.token, server.proxy, server.called, on_unreached)
    try:
        results = asyncio.run(connect_program(seat, command, print_note, reconnect_timeout))
    except ConnectError as problem:
        if problem.usage:
            usage_error(str(problem))
        fail(str(problem))
    print_text(results.summary)
    if results.lost or results.games < results.total_games:
        fail("the program didn't play the match to its end")


@dataclass(frozen=True, slots=True)
class _OpenedTable:
    """The number of a table, and the paths of its page and of the program's seat."""

    id: str
    page: str
    program: str


def _open_table(
    server: LadderClient, bots: list[str], program: str, games: int | None, rules: str | None
) -> _OpenedTable:
    """Open a table for the program with this name and the bots, by the server's API; None: the ladder's default.

    Exits with 1 if the server doesn't open it.
    """
    settings = {name: value for name, value in (("games", games), ("rules", rules)) if value}
    body = json.dumps({"bots": bots, "program": program, **settings}).encode()
    headers = {"Content-Type": "application/json", "Content-Length": str(len(body))}
    try:
        answer = server.ask("/api/tables", [body], headers)
        table = _OpenedTable(str(answer["id"]), str(answer["page"]), str(answer["program"]))
    except (ServerUnreachableError, ServerRefusedError) as problem:
        fail(str(problem))
    except (KeyError, TypeError):
        fail(f"{server.called} isn't a ladder server")
    if not table.page.startswith("/") or not table.program.startswith("/"):
        fail(f"{server.called} isn't a ladder server")
    print_note(f"table: {server.url}{table.page}")
    return table


def _close_table(server: LadderClient, table: _OpenedTable) -> None:
    """Close a table that its program never reached; print where it can be closed if the server doesn't answer."""
    try:
        server.ask(f"/api/tables/{table.id}/close", [], {"Content-Length": "0"}, _CLOSE_TIMEOUT_S)
        print_note(f"table {table.id} is closed, because the program didn't reach it")
    except (ServerUnreachableError, ServerRefusedError):
        print_note(f"the program didn't reach table {table.id}: close it on its page, {server.url}{table.page}")
