"""What a ladder is, for everybody."""

from ladder.service.ladder import Ladder
from ladder.views import About, Due


def about(ladder: Ladder) -> About:
    """Return what a ladder plays, what it published, and what is due."""
    play, settings = ladder.play, ladder.last_settings
    return About(
        name=ladder.name,
        rules=play.terms.rules.name,
        seats=play.seats,
        match_games=play.match_games,
        limit_ms=play.terms.timing.limit_ms,
        isolated=play.sandbox.isolates,
        commitment=ladder.commitment,
        submissions=settings.quotas.submissions_per_day,
        due=tuple(Due(each.name, each.at.timestamp(), each.closes) for each in settings.deadlines),
    )
