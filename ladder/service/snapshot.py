"""Which versions stand for their bots at a deadline, whatever happened later.

A bot's is the newest of those that were received in time, are fit, and aren't disabled; who is
suspended or left has none.
Reference bots are there with the version that plays.
"""

from sqlalchemy import Connection

from arena.bots import shown
from ladder.service.settings import Deadline, LadderError
from ladder.store.database import Version, active_versions, disabled_versions, fit_versions, unexamined


def snapshot(connection: Connection, deadline: Deadline | None) -> list[Version]:
    """Return the versions that stand for their bots at a deadline, or that play now, in order of their labels."""
    playing = active_versions(connection)
    if deadline is None:
        return sorted(playing, key=lambda version: version.label)
    disabled = disabled_versions(connection)
    newest = {
        version.bot: version
        for version in sorted(fit_versions(connection), key=lambda version: (version.received, version.id))
        if not version.reference
        and version.received <= deadline.closes
        and version.id not in disabled
        and not version.out
    }
    found = [*newest.values(), *(version for version in playing if version.reference)]
    return sorted(found, key=lambda version: version.label)


def demand_examined(connection: Connection, deadline: Deadline | None, now: float, folder: object) -> None:
    """Raise LadderError before a deadline is over, and while a version that came in time isn't examined."""
    if deadline is not None and now <= deadline.closes:
        minutes = int((deadline.closes - now) / 60) + 1
        raise LadderError(f"the deadline {deadline.name} closes in {minutes} minutes.\nA final begins after it.")
    waiting = unexamined(connection, now if deadline is None else deadline.closes)
    if waiting:
        labels = ", ".join(shown(version.label) for version in waiting[:5])
        raise LadderError(
            f"{len(waiting)} versions wait for their examination ({labels}).\n"
            f"Have them examined: arena ladder run {folder} --until examined"
        )
