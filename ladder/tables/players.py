"""Show what users won at tables. Guests aren't counted, and neither are bots."""

from dataclasses import dataclass

from arena.rating import Estimate, win_rate_interval
from ladder.store import list_table_results
from ladder.view_context import ViewContext

MIN_GAMES_FOR_RATE = 20


@dataclass(frozen=True, slots=True)
class PresetResult:
    """A user's games with one ruleset, and how many of them the user won."""

    rules: str
    games: int
    wins: float


@dataclass(frozen=True, slots=True)
class PlayerSummary:
    """A user's games at tables. wins: a draw among j players is 1/j. win_rate: None below MIN_GAMES_FOR_RATE games.

    The interval of win_rate is Wilson's, for independent games.
    """

    pseudonym: str
    games: int
    wins: float
    win_rate: Estimate | None
    by_rules: tuple[PresetResult, ...]


@dataclass(frozen=True, slots=True)
class PlayerList:
    """Users with games at tables: most wins first, then most games."""

    items: tuple[PlayerSummary, ...]
    revision: int | None = None


def list_players(context: ViewContext) -> PlayerList:
    """Return the users with games in ended matches at tables."""
    results: dict[str, list[PresetResult]] = {}
    for pseudonym, rules, games, wins in list_table_results(context.connection):
        results.setdefault(pseudonym, []).append(PresetResult(rules, games, wins))
    players = [_summarize(pseudonym, tuple(rows)) for pseudonym, rows in results.items()]
    ranked = sorted(players, key=lambda player: (-player.wins, -player.games, player.pseudonym))
    return PlayerList(tuple(ranked), context.revision)


def _summarize(pseudonym: str, by_rules: tuple[PresetResult, ...]) -> PlayerSummary:
    games, wins = sum(result.games for result in by_rules), sum(result.wins for result in by_rules)
    has_rate = games >= MIN_GAMES_FOR_RATE
    win_rate = Estimate(wins / games, *win_rate_interval(wins, games)) if has_rate else None
    return PlayerSummary(pseudonym, games, wins, win_rate, by_rules)
