"""More time that one person got before a deadline. Rows are never changed: a person's newest for a deadline holds."""

from dataclasses import dataclass

from sqlalchemy import Connection, func, insert, select

from ladder.store.database.tables import extensions


@dataclass(frozen=True, slots=True)
class Extension:
    """A person's own end of a deadline, by the deadline's name. until: seconds since 1970, None: the deadline's own.

    late_days: of the person's own that it took. why: the reason, as it is told to the person.
    """

    owner: int
    deadline: str
    until: float | None
    late_days: int
    why: str


def put_extension(connection: Connection, extension: Extension) -> None:
    """Let an extension hold from now on. The act that says so is the caller's to note."""
    columns = ("owner", "deadline", "until", "late_days", "why")
    connection.execute(insert(extensions).values({name: getattr(extension, name) for name in columns}))


def extensions_in_force(connection: Connection) -> list[Extension]:
    """Return the extensions that hold now, in the order in which they were given."""
    newest = select(func.max(extensions.c.id)).group_by(extensions.c.owner, extensions.c.deadline)
    query = select(
        extensions.c.owner, extensions.c.deadline, extensions.c.until, extensions.c.late_days, extensions.c.why
    ).where(extensions.c.id.in_(newest), extensions.c.until.is_not(None))  # fmt: skip
    return [Extension(*row) for row in connection.execute(query.order_by(extensions.c.id))]
