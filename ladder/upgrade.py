"""Upgrade the database of a ladder to this version's schema: back up first, and only while no other process uses it."""

import time
from collections.abc import Callable
from contextlib import closing
from dataclasses import dataclass, replace
from datetime import datetime
from pathlib import Path

from sqlalchemy import Connection

from arena.escaping import escape_control, quote_path
from ladder import store
from ladder.backups import BackupFile, write_backup
from ladder.ladder import require_database_file, resolve_database_url
from ladder.settings import LadderError, read_settings

_POLL_S = 1.0


@dataclass(frozen=True, slots=True)
class LadderUpgrade:
    """An upgrade of a ladder's database between two revisions. backup: None if there was nothing to do, or dry_run."""

    before: str
    after: str
    changes: tuple[store.SchemaUpgrade, ...]
    backup: BackupFile | None


def upgrade_ladder(
    folder: Path, backup: Path | None, dry_run: bool, report: Callable[[str], object], application: str = "arena"
) -> LadderUpgrade:
    """Back up the ladder in a folder, and upgrade its database; with `dry_run` only report what would be done.

    backup: the new file of the backup, None for one in the folder. report: called with a line about each step.
    Raises LadderError if the folder has no ladder or another process uses it, DatabaseError if the database can't be
    upgraded, OSError if the backup can't be written.
    """
    url = resolve_database_url(read_settings(folder).database, folder)
    with closing(store.Database(url, patience_s=10, application=application)) as database:
        require_database_file(database)
        revision, steps = database.read_with_retry(store.list_upgrades)
        upgrade = LadderUpgrade(revision, store.NEWEST_REVISION, tuple(steps), None)
        if not steps:
            report(f"{folder} has the newest schema, {store.NEWEST_REVISION}: there is nothing to do")
            return upgrade
        file = backup or folder / f"before-{store.NEWEST_REVISION}-{datetime.now():%Y%m%d-%H%M%S}.tar"
        report(f"to do: back up {folder} to {file}; then change the schema of its database from {revision}:")
        for step in steps:
            report(f"  {step.revision}: {step.title}")
        if dry_run:
            return upgrade
        _require_alone(database, report)
        size = write_backup(database, folder, file)
        report(f"wrote {file}: {size / 1e6:.1f} MB; to go back, install the previous version, and run")
        report(f"  arena ladder restore {quote_path(file)} NEW-FOLDER")
        store.upgrade_schema(database)
        report(f"upgraded {folder} to schema {store.NEWEST_REVISION}; start its processes again")
        return replace(upgrade, backup=BackupFile(str(file), size))


def _require_alone(database: store.Database, report: Callable[[str], object]) -> None:
    """Raise LadderError if another process uses the ladder.

    Processes of other machines that may be alive get HEARTBEAT_TIMEOUT_S for a heartbeat.
    """
    first_heartbeats: dict[str, int] = {}  # that this process has read, by runner
    deadline = time.monotonic() + store.HEARTBEAT_TIMEOUT_S
    while True:
        runners, connections = database.read_with_retry(
            lambda connection: _list_processes(connection, database.application)
        )
        is_first_look = not first_heartbeats
        first_heartbeats = {runner.id: runner.heartbeat for runner in runners} | first_heartbeats
        live = [
            runner
            for runner in runners
            if store.is_on_this_machine(runner) or runner.heartbeat != first_heartbeats[runner.id]
        ]
        if live or connections:
            names = [*map(_describe, live), *connections]
            raise LadderError(
                f"other processes use the ladder: {'; '.join(names)}.\nStop them, and repeat the command."
            )
        if not runners or time.monotonic() > deadline:
            return
        if is_first_look:  # they are on other machines
            report(
                f"waiting up to {store.HEARTBEAT_TIMEOUT_S:g} s for a heartbeat of {'; '.join(map(_describe, runners))}"
            )
        time.sleep(_POLL_S)


def _list_processes(connection: Connection, application: str) -> tuple[list[store.RunnerRecord], list[str]]:
    """Return the runners and table servers that may be alive, and other connections of arena's commands, as texts.

    application: PostgreSQL's name of the connections of this process.
    """
    runners = [*store.list_live_runners(connection), *store.list_live_runners(connection, table_servers=True)]
    live_runners = [runner for runner in runners if not store.has_process_ended(runner)]
    return live_runners, store.list_connections(connection, application)


def _describe(runner: store.RunnerRecord) -> str:
    noun = "runner" if runner.port is None else "table server"
    return f"{noun} {runner.id[:8]}, process {runner.pid} at {escape_control(runner.host.split()[0])}"
