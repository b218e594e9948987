"""Aggregate the results of games in this process: win rates with counts, for each bot and each of its seats.

Tables are lists of dicts with the same keys, for a notebook or a spreadsheet; they print as columns."""

from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from functools import cached_property
from pathlib import Path
from typing import Any

from arena.rating import win_rate_interval
from arena.referee import GameResult, Record, write_record
from arena.stats import StatsAccumulator


class Rows(list[dict[str, Any]]):
    """A table as a list of dicts, as for `pandas.DataFrame(rows)` and `csv.DictWriter`; str() gives aligned columns."""

    def __str__(self) -> str:
        """Return the table with a header, numbers with four digits, and "-" for None."""
        if not self:
            return "no rows"
        lines = [list(self[0]), *([_cell(value) for value in row.values()] for row in self)]
        widths = [max(map(len, column)) for column in zip(*lines, strict=True)]
        return "\n".join(
            "  ".join(text.ljust(width) for text, width in zip(line, widths, strict=True)).rstrip() for line in lines
        )


def _cell(value: Any) -> str:
    if value is None:
        return "-"
    return f"{value:.4g}" if isinstance(value, float) else str(value)


@dataclass(frozen=True, slots=True)
class WinRate:
    """A win rate: `wins` of `games`; a draw counts as 1/k of a win for each of k survivors."""

    wins: float
    games: int

    @property
    def value(self) -> float:
        """Return the win rate, 0 to 1; 0 without a game."""
        return self.wins / self.games if self.games else 0.0

    @property
    def interval(self) -> tuple[float, float]:
        """Return Wilson's 95 % interval of the rate, which assumes independent games."""
        return win_rate_interval(self.wins, self.games)

    def __str__(self) -> str:
        """Return the rate as text: `27.4 % (24.7 to 30.3) of 1000 games`."""
        low, high = self.interval
        return f"{100 * self.value:.1f} % ({100 * low:.1f} to {100 * high:.1f}) of {self.games} games"


@dataclass(frozen=True)
class Results:
    """The results of all games, in the order of play.

    `bots`: the names. `records`: one for each match, with all cards; empty unless requested.
    """

    bots: tuple[str, ...]
    games: tuple[GameResult, ...]
    records: tuple[Record, ...] = ()

    @cached_property
    def win_rates(self) -> Mapping[str, WinRate]:
        """Return the win rate of each bot, best first."""
        shares_by_bot = {bot: [share for share, _ in self._games_of(bot)] for bot in self.bots}
        rates = {bot: WinRate(sum(shares), len(shares)) for bot, shares in shares_by_bot.items()}
        return dict(sorted(rates.items(), key=lambda pair: -pair[1].value))

    def by_seat(self, bot: str) -> tuple[WinRate, ...]:
        """Return the win rate of a bot in each seat, from seat 0, in order. Raises KeyError for an unknown bot."""
        if bot not in self.bots:
            raise KeyError(f"no bot has the name {bot!r}; the bots are {', '.join(map(repr, self.bots))}")
        shares_by_seat: list[list[float]] = [[] for _ in self.games[0].seats]
        for share, seat in self._games_of(bot):
            shares_by_seat[seat].append(share)
        return tuple(WinRate(sum(shares), len(shares)) for shares in shares_by_seat)

    def table(self) -> Rows:
        """Return a row for each bot, best first: its win rate with the 95 % interval, and the rate in each seat."""
        rows = Rows()
        for bot, rate in self.win_rates.items():
            low, high = rate.interval
            seats = {f"seat {seat}": seat_rate.value for seat, seat_rate in enumerate(self.by_seat(bot))}
            numbers = {"win_rate": rate.value, "low": low, "high": high, "wins": rate.wins, "games": rate.games}
            rows.append({"bot": bot, **numbers, **seats})
        return rows

    def statistics(self) -> Rows:
        """Return the rates of `arena stats --csv`, one per row: bot, section, name, count, total, value, low, high.

        Raises ValueError if no records were kept.
        """
        if not self.records:
            raise ValueError("there are no records: call play(..., records=True)")
        accumulator = StatsAccumulator()
        for record in self.records:
            accumulator.add(record)
        rows = Rows()
        for bot in self.bots:
            for (section, name), tally in sorted(accumulator.bots[bot].tallies.items()):
                if tally.total:
                    low, high = tally.interval or (None, None)
                    numbers = {"count": tally.count, "total": tally.total, "value": tally.value}
                    rows.append({"bot": bot, "section": section, "name": name, **numbers, "low": low, "high": high})
        return rows

    def save(self, folder: str | Path) -> list[Path]:
        """Write each match's record to a file in a folder, created for its owner only; return the files.

        Raises ValueError if no records were kept, OSError if a file can't be written.
        """
        if not self.records:
            raise ValueError("there are no records: call play(..., records=True)")
        from arena.run import record_file_name  # locks files, which a browser can't

        folder = Path(folder)
        folder.mkdir(mode=0o700, parents=True, exist_ok=True)
        files = []
        for record in self.records:
            files.append(folder / record_file_name(record.header.match))
            files[-1].write_text(write_record(record), encoding="utf-8")
        return files

    def _games_of(self, bot: str) -> Iterator[tuple[float, int]]:
        """Yield (share of the win, seat) for each game of a bot."""
        for game in self.games:
            if bot in game.seats:
                seat = game.seats.index(bot)
                yield game.worth(seat), seat

    def __str__(self) -> str:
        """Return one line per bot, the best first."""
        return "\n".join(f"{bot!r}: {rate}" for bot, rate in self.win_rates.items())
