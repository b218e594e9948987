"""Which versions of different owners are alike in their source texts, for staff. It accuses nobody."""

from dataclasses import dataclass


@dataclass(frozen=True, slots=True)
class Pair:
    """Two versions, their owners' logins, and how many percent of its own text each has in common with the other."""

    version: str
    owner: str
    share: float
    other_version: str
    other_owner: str
    other_share: float


@dataclass(frozen=True, slots=True)
class Similar:
    """The pairs of which one share is at least so many percent, the most alike first.

    versions: how many were compared. pairs: None where nothing was. unread: sentences on files that weren't compared.
    """

    at_least: float
    versions: int
    pairs: tuple[Pair, ...] | None
    unread: tuple[str, ...]
