"""Which versions play a final or are graded: those that count at a deadline, or that play now.

Reference bots are there with the version that plays.
"""

from sqlalchemy import Connection

from arena.bots import shown
from ladder.service.due import own_dues, picker, time_text
from ladder.service.settings import Deadline, LadderError, Settings
from ladder.store.database import Version, active_versions, all_owners, fit_versions, unexamined


def snapshot(connection: Connection, settings: Settings, deadline: Deadline | None) -> list[Version]:
    """Return the versions that count at a deadline, or that play now, in order of their labels."""
    versions = active_versions(connection)
    if deadline is not None:
        standing = picker(connection)(fit_versions(connection), own_dues(connection, settings, deadline))
        versions = [*standing, *(version for version in versions if version.reference)]
    return sorted(versions, key=lambda version: version.label)


def awaiting(connection: Connection, settings: Settings, deadline: Deadline | None, now: float) -> list[Version]:
    """Return the versions whose examination may change which count at a deadline, or play now."""
    waiting = unexamined(connection, now)
    if deadline is None:
        return waiting
    due, pick, fit = own_dues(connection, settings, deadline), picker(connection), fit_versions(connection)
    return [each for each in waiting if each in pick([*(one for one in fit if one.owner == each.owner), each], due)]


def who_has_time(connection: Connection, settings: Settings, deadline: Deadline | None, now: float) -> str:
    """Return who has more time than a deadline, and still has it, in words; "" for nobody."""
    if deadline is None:
        return ""
    due = own_dues(connection, settings, deadline)
    own = ((owner.login, due(owner.id)) for owner in all_owners(connection))
    return ", ".join(f"{shown(login)} until {time_text(each.at, deadline)}" for login, each in own if each.closes > now)


def demand_examined(
    connection: Connection, settings: Settings, deadline: Deadline | None, now: float, folder: object
) -> None:
    """Raise LadderError before a deadline is over, and while a version that may stand isn't examined.

    It doesn't wait for who has more time than the class.
    """
    if deadline is not None and now <= deadline.closes:
        minutes = int((deadline.closes - now) / 60) + 1
        raise LadderError(f"the deadline {deadline.name} closes in {minutes} minutes.\nWait until then.")
    waiting = awaiting(connection, settings, deadline, now)
    if waiting:
        labels = ", ".join(shown(version.label) for version in waiting[:5])
        raise LadderError(
            f"{len(waiting)} versions wait for their examination ({labels}).\n"
            f"Have them examined: arena ladder run {folder} --until examined"
        )
