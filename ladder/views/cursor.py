"""Where a list goes on."""

from collections.abc import Callable, Sequence
from typing import TypeVar

T = TypeVar("T")


def cut(
    rows: Sequence[T], name: Callable[[T], str], after: str | None, limit: int | None
) -> tuple[Sequence[T], str | None]:
    """Return the rows after the one called `after`, `limit` at most; and the name after which the list goes on."""
    names = list(map(name, rows))
    start = names.index(after) + 1 if after in names else 0
    part = rows[start:][:limit]
    return part, name(part[-1]) if part and start + len(part) < len(rows) else None
