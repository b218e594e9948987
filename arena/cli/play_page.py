"""`arena play --browser`: the person's side is a page, which this process serves."""

import os
import socket
import sys
import webbrowser
from collections.abc import Sequence
from dataclasses import asdict, replace
from typing import Any

from arena import with_extra
from arena.cli import sheet
from arena.cli.out import fail, note, reason, refuse
from arena.cli.seating import Seating, where_kept
from arena.coup import card
from arena.page import page, table_page
from arena.play import RecordFolder
from arena.referee import GameRecord, Record
from arena.tell import as_object


def sit_in_browser(table: Seating, names: Sequence[str], given: dict[str, Any], port: int, pace_s: float) -> None:
    """Serve the table until the person ends it, and keep what was played. pace_s: how long a move is seen, in s."""
    try:
        from ladder.tables import Deal, Logs, Offer, Place, Table, serve_local
    except ModuleNotFoundError as missing:
        refuse(f"--browser needs {missing.name}: {with_extra('web')}")
    folders: list[RecordFolder] = []
    records: dict[int, Record] = {}

    def keep(record: Record, logs: Logs) -> str | None:
        try:
            if not folders:
                folders.append(RecordFolder(table.folder))
            folders[0].keep(record, logs)
        except OSError as problem:
            note(f"the record can't be written: {reason(problem)}")
        records[record.header.match] = record
        return "/replay"

    def deal(number: int) -> Deal:
        spec = table.spec(given["games"], names, table.timings(1), given["open_names"], number)
        return Deal(spec, table.start, keep)

    def seats(secret: str) -> Table:
        places = [Place("bot", bot.name) for bot in table.bots]
        terms = replace(table.terms, open_names=given["open_names"])
        offer = Offer(terms, given["games"], table.timings(1)[-1])
        return Table("here", [*places, Place("person", names[-1], secret)], offer, deal, pace_s=pace_s)

    def replay() -> str | None:
        return page([as_object(records[max(records)])], "The match") if records else None

    def begun(url: str) -> None:
        note(f"the table stands at {url}; Ctrl-C ends it")
        if sys.platform == "darwin" or os.environ.get("DISPLAY") or os.environ.get("WAYLAND_DISPLAY"):
            webbrowser.open(url)

    title = f"Coup: {table.terms.rules.name}"
    with _listening(port) as listening:
        rules = table.terms.rules
        at_table = table_page(title, sheet.as_text(rules), "/socket", [asdict(row) for row in card(rules)])
        serve_local(listening, at_table, replay, seats, begun)
    games: list[GameRecord] = [game for record in records.values() for game in record.games]
    note(where_kept(table.folder, "all cards", games, len(names) - 1) if games else "no game was played to its end")


def _listening(port: int) -> socket.socket:
    try:
        return socket.create_server(("127.0.0.1", port))
    except OSError as problem:
        fail(f"port {port}: {reason(problem)}; name another --port, or 0 for any that is free")
