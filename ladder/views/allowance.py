"""What somebody may submit now."""

from dataclasses import dataclass

from ladder.views.front import Due


@dataclass(frozen=True, slots=True)
class Allowance:
    """What somebody may submit now. bots: the names of the person's; another: whether one more is allowed.

    left: submissions of today; most: of a day, which ends at `renewed`, in seconds since 1970. upload_mb: of one.
    """

    bots: tuple[str, ...]
    another: bool
    left: int
    most: int
    renewed: float
    upload_mb: int
    due: tuple[Due, ...]
