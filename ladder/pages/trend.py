"""How a bot's share of wins changed: today's table beside those of earlier days."""

import time
from collections.abc import Mapping
from dataclasses import dataclass

from sqlalchemy import Connection

from ladder.standings import shares_in
from ladder.store.database import get_board

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
    return {} if told is None else shares_in(told)


def trend(connection: Connection, shares: Mapping[str, float], now: float) -> dict[str, Trend]:
    """Return the trends of bots with these shares. `now`: seconds since 1970; days are those of UTC."""
    day, week = (shares_at(connection, now, days) for days in (1, WEEK_DAYS))
    return {
        bot: Trend(*(share - then[bot] if bot in then else None for then in (day, week)))
        for bot, share in shares.items()
    }
