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
    """The pairs, the most alike first.

    versions: how many were compared. pairs: None where nothing was. unread: sentences on files that weren't compared.
    """

    versions: int
    pairs: tuple[Pair, ...] | None
    unread: tuple[str, ...]
