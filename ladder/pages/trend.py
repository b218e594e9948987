"""How a bot's share of wins changed: today's table beside those of earlier days."""

import time
from dataclasses import dataclass

from sqlalchemy import Connection

from ladder.standings import Standings
from ladder.store.database import get_board

__all__ = ["Trend", "shares_at", "trend"]

DAY_S = 86_400
WEEK_DAYS = 7


@dataclass(frozen=True, slots=True)
class Trend:
    """How much a bot's adjusted share grew since the table of yesterday, and of 7 days ago; None where it had none."""

    day: float | None
    week: float | None


def shares_at(connection: Connection, now: float, days: int) -> dict[str, float]:
    """Return each bot's adjusted share in the last table of the day so many days ago, or of the last one before."""
    told = get_board(connection, time.strftime("%Y-%m-%d", time.gmtime(now - days * DAY_S)))
    rows = () if told is None else Standings.from_json(told).rows
    return {row.bot: row.adjusted.value for row in rows if row.adjusted is not None}


def trend(connection: Connection, table: Standings, now: float) -> dict[str, Trend]:
    """Return the trend of each bot of the table. `now`: seconds since 1970; days are those of UTC."""
    day, week = (shares_at(connection, now, days) for days in (1, WEEK_DAYS))

    def grown(bot: str, value: float, then: dict[str, float]) -> float | None:
        return value - then[bot] if bot in then else None

    return {
        row.bot: Trend(grown(row.bot, row.adjusted.value, day), grown(row.bot, row.adjusted.value, week))
        for row in table.rows
        if row.adjusted is not None
    }
