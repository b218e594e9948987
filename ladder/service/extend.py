"""More time for one person before a deadline: given with a reason, or taken back."""

from sqlalchemy import Connection

from arena.bots import shown
from ladder.service.due import DAY_S, late_days_left, time_text
from ladder.service.known import known_owner
from ladder.service.ladder import Ladder
from ladder.service.settings import Deadline, LadderError
from ladder.service.submit import read_time
from ladder.store.database import Act, Extension, extensions_in_force, note_act, put_extension


def extend(
    ladder: Ladder, login: str, name: str, until: str | None, days: int | None, late_days: int, who: str, why: str
) -> bool:
    """Give a person more time before a deadline; return False if it is so already.

    until: when it is over, as ISO 8601 has it, in the deadline's zone if it names none; or `days` after the deadline;
    or, without either, the person's own `late_days` after it. In any case they are taken from him. Raises LadderError.
    """
    settings = ladder.settings
    deadline = settings.deadline(name)
    if (until is None) + (days is None) != 1 and (until, days, late_days > 0) != (None, None, True):
        raise LadderError("an extension has one end.\nGive one of --until and --days, or --late-days alone.")
    due = deadline.at.timestamp()
    at = due + DAY_S * (late_days if days is None else days) if until is None else read_time(ladder, until, name)
    if at <= due:
        raise LadderError(f"the deadline {name} is {time_text(due, deadline)}.\nGive a time after it.")

    def act(connection: Connection) -> bool:
        owner = known_owner(connection, login)
        if owner.staff:
            raise LadderError(f"{shown(login)} is staff, who has no deadlines.\nName a participant.")
        left = late_days_left(connection, settings, without=name)[owner.id]
        if late_days > left:
            raise LadderError(f"{shown(login)} has {max(0, left)} late days left, not {late_days}.\nTake fewer.")
        return _put(ladder, connection, Extension(owner.id, name, at, late_days, why), deadline, who)

    return ladder.database.write(act)


def take_back(ladder: Ladder, login: str, name: str, who: str, why: str) -> bool:
    """Let a deadline be over for a person as for all; return False if it is so already. Raises LadderError."""
    deadline = ladder.settings.deadline(name)

    def act(connection: Connection) -> bool:
        none = Extension(known_owner(connection, login).id, name, None, 0, why)
        return _put(ladder, connection, none, deadline, who)

    return ladder.database.write(act)


def _put(ladder: Ladder, connection: Connection, new: Extension, deadline: Deadline, who: str) -> bool:
    """Write an extension with its act, unless it holds already."""
    key = (new.owner, new.deadline)
    old = next((each for each in extensions_in_force(connection) if (each.owner, each.deadline) == key), None)
    if ((None, 0) if old is None else (old.until, old.late_days)) == (new.until, new.late_days):
        return False
    time = "no more time" if new.until is None else f"more time until {time_text(new.until, deadline)}"
    spent = f" for {new.late_days} late days" if new.late_days else ""
    why = f"{new.deadline}, {time}{spent}: {new.why}"
    note_act(connection, Act(who, "extend", why, ladder.clock(), owner=new.owner))
    put_extension(connection, new)
    return True
