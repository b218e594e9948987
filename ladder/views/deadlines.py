"""Show deadlines as they apply to a user."""

from dataclasses import dataclass


@dataclass(frozen=True, slots=True)
class DeadlineSummary:
    """A deadline. closes_at: the end of its grace period for late submissions. Times are seconds since 1970.

    extension_reason: why the user has an extension, None without one. counting: refs of the user's versions that count
    so far. unchecked: refs of those that will count if they pass their check.
    """

    name: str
    deadline_at: float
    closes_at: float
    extension_reason: str | None = None
    counting: tuple[str, ...] = ()
    unchecked: tuple[str, ...] = ()
