"""A ladder's kept exchanges -> examples for the bot's owner."""

from collections.abc import Iterable

from sqlalchemy import Connection

from arena.run import Example, example
from ladder.service.ladder import Ladder
from ladder.store import KeptExchange
from ladder.store.database import Version, get_log, get_record


def fault_example(
    ladder: Ladder, connection: Connection, kept: KeptExchange, versions: Iterable[Version]
) -> Example | None:
    """Return what an exchange of one of the versions tells its owner, None if it is of none of them.

    The record and the logs of a match are kept for a time only: without them, the example says less.
    """
    version = next((each for each in versions if each.label == kept.bot), None)
    if version is None:
        return None
    logs = [
        (f"process {number} of match {kept.match}", data)
        for number, data in get_log(connection, kept.match, version.id)
    ]
    record = get_record(connection, kept.match)
    return example(kept, record, logs, ladder.play.sandbox.name, version.words or (), version.file is not None)
