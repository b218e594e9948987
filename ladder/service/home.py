"""Describe a ladder for its home page."""

from ladder.service.ladder import Ladder
from ladder.views import DeadlineSummary, LadderInfo


def describe_ladder(ladder: Ladder) -> LadderInfo:
    """Return a ladder's format, published commitments, and deadlines."""
    play, settings = ladder.play, ladder.last_settings
    return LadderInfo(
        name=ladder.name,
        rules=play.settings.rules.name,
        seats=play.seats,
        match_games=play.match_games,
        limit_ms=play.settings.timing.limit_ms,
        isolated=play.sandbox.isolates,
        commitment=ladder.commitment,
        submissions_per_day=settings.quotas.max_submissions_per_day,
        deadlines=tuple(DeadlineSummary(each.name, each.at.timestamp(), each.closes) for each in settings.deadlines),
    )
