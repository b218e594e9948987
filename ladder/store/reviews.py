"""Choose lost games for a review, and store the results.

A review is a row for a version and a match. It is inserted before the review starts, and gets its result once. An
interrupted review isn't repeated: the next one is of another match, so a game that ends workers can't stop a ladder."""

import json
from collections import Counter
from collections.abc import Mapping, Sequence
from typing import Any

from sqlalchemy import Connection, and_, func, insert, select, update

from ladder.store.events import REVIEW_FINISHED, record_event
from ladder.store.queue import CHALLENGE, PLAYED, RATED
from ladder.store.schema_tables import match_players, matches, records, reviews
from ladder.store.versions import Version, active_versions


def claim_review(
    connection: Connection, timestamp: float, day_begin: float, max_reviews: int
) -> tuple[Version, int] | None:
    """Insert a review, and return its version and match; return None if no match qualifies.

    The version is active and isn't a reference bot. Of those with a match to review, it has the fewest reviews since
    the Unix time `day_begin`, below `max_reviews`.
    """
    query = select(reviews.c.version, func.count()).where(reviews.c.created_at >= day_begin).group_by(reviews.c.version)
    counts: Counter[int] = Counter(dict(connection.execute(query).all()))
    for version in sorted(active_versions(connection), key=lambda version: counts[version.id]):
        is_eligible = not version.is_reference and counts[version.id] < max_reviews
        match = _find_unreviewed_match(connection, version.id) if is_eligible else None
        if match is not None:
            connection.execute(insert(reviews).values(version=version.id, match=match, created_at=timestamp))
            return version, match
    return None


def _find_unreviewed_match(connection: Connection, version: int) -> int | None:
    """Return the newest played rated match or challenge, with a stored record, that a version's review can be about.

    The version didn't win all of its games, and has no review of it. None if no match qualifies.
    """
    query = (
        select(match_players.c.match)
        .join(matches, matches.c.id == match_players.c.match)
        .join(records, records.c.match == matches.c.id)
        .outerjoin(reviews, and_(reviews.c.match == matches.c.id, reviews.c.version == version))
        .where(match_players.c.version == version, match_players.c.wins < match_players.c.games)
        .where(matches.c.outcome == PLAYED, matches.c.kind.in_((RATED, CHALLENGE)), reviews.c.match.is_(None))
        .order_by(match_players.c.match.desc())
    )
    return connection.scalar(query.limit(1))


def save_review(
    connection: Connection, version: int, match: int, decisions: Sequence[Mapping[str, Any]], timestamp: float
) -> None:
    """Store the decisions that a review found, unless they are stored."""
    query = update(reviews).where(reviews.c.version == version, reviews.c.match == match, reviews.c.data.is_(None))
    if connection.execute(query.values(data=json.dumps(list(decisions)))).rowcount and decisions:
        record_event(connection, REVIEW_FINISHED, timestamp, version=version)


def list_reviewed_decisions(connection: Connection, versions: Sequence[int], count: int) -> list[dict[str, Any]]:
    """Return the decisions in the `count` newest reviews of versions, the newest match first.

    Each decision is an object as `save_review` stored it: the fields of a CostlyDecision.
    """
    query = select(reviews.c.data).where(reviews.c.version.in_(versions), reviews.c.data.is_not(None))
    texts = connection.scalars(query.order_by(reviews.c.match.desc()).limit(count))
    return [decision for text in texts for decision in json.loads(text or "[]")]
