"""Implement `arena play --browser`: serve a page as the player's interface."""

import os
import socket
import sys
import webbrowser
from collections.abc import Sequence
from dataclasses import asdict, replace
from typing import Any

from arena import with_extra
from arena.cli import rules as sheet
from arena.cli.console import fail, os_error_reason, print_note, usage_error
from arena.cli.table_setup import TableSetup, describe_records
from arena.coup import action_table
from arena.play import RecordFolder
from arena.referee import GameRecord, Record
from arena.replay import make_replay_object, replay_page, table_page


def play_in_browser(table: TableSetup, names: Sequence[str], given: dict[str, Any], port: int, pace_s: float) -> None:
    """Serve the table until the person ends it, and keep what was played. pace_s: how long a move is seen, in s."""
    try:
        from ladder.tables import LiveTable, MatchSetup, ProcessLogs, Slot, TableSettings, serve_local_table
    except ModuleNotFoundError as missing:
        usage_error(f"--browser needs {missing.name}: {with_extra('web')}")
    folders: list[RecordFolder] = []
    records: dict[int, Record] = {}

    def keep(record: Record, logs: ProcessLogs) -> str | None:
        try:
            if not folders:
                folders.append(RecordFolder(table.folder))
            folders[0].keep(record, logs)
        except OSError as problem:
            print_note(f"the record can't be written: {os_error_reason(problem)}")
        records[record.header.match] = record
        return "/replay"

    def deal(number: int) -> MatchSetup:
        spec = table.spec(given["games"], names, table.timings(1), given["show_names"], number)
        return MatchSetup(spec, table.start, keep)

    def seats(secret: str) -> LiveTable:
        places = [Slot("bot", bot.name) for bot in table.bots]
        terms = replace(table.terms, open_names=given["show_names"])
        offer = TableSettings(terms, given["games"], table.timings(1)[-1])
        return LiveTable("here", [*places, Slot("person", names[-1], secret)], offer, deal, pace_s=pace_s)

    def replay() -> str | None:
        return replay_page([make_replay_object(records[max(records)])], "The match") if records else None

    def begun(url: str) -> None:
        print_note(f"the table stands at {url}; Ctrl-C ends it")
        if sys.platform == "darwin" or os.environ.get("DISPLAY") or os.environ.get("WAYLAND_DISPLAY"):
            webbrowser.open(url)

    title = f"Coup: {table.terms.rules.name}"
    with _listening(port) as listening:
        rules = table.terms.rules
        at_table = table_page(
            title, sheet.plain_rules_text(rules), "/socket", [asdict(row) for row in action_table(rules)]
        )
        serve_local_table(listening, at_table, replay, seats, begun)
    games: list[GameRecord] = [game for record in records.values() for game in record.games]
    print_note(
        describe_records(table.folder, "all cards", games, len(names) - 1) if games else "no game was played to its end"
    )


def _listening(port: int) -> socket.socket:
    try:
        return socket.create_server(("127.0.0.1", port))
    except OSError as problem:
        fail(f"port {port}: {os_error_reason(problem)}; name another --port, or 0 for any that is free")
