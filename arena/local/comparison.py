"""Compare two bots in this process, in pairs of games, by the test of `arena compare`."""

from collections.abc import Generator, Mapping, Sequence
from contextlib import closing

from arena.compare import NAMES, Evidence, PairedResult, block_of, plan_blocks
from arena.coup import Ruleset, derive_key
from arena.local.match import BotArgument, find_ruleset, name_bots, require_factories
from arena.local.session import make_session_key, play_in_processes, play_table
from arena.referee import game_results
from arena.schedule import keyed_shuffle

_MAX_SEATS = 4  # by default, as in `arena compare`


def compare(
    old: BotArgument,
    new: BotArgument,
    against: Sequence[BotArgument] | Mapping[str, BotArgument],
    *,
    min_effect: float = 0.05,
    max_pairs: int = 1500,
    rules: str | Ruleset = "coup",
    seats: int | None = None,
    match_games: int | None = None,
    seed: int | None = None,
    jobs: int = 1,
) -> PairedResult:
    """Test whether `new` wins more than `old` against these opponents; stop at the verdict or after `max_pairs`.

    Bots are classes, or functions without arguments, that make a bot for each match, or "sample:honest". `min_effect`:
    the difference in win rate that counts, 0 to 1. `seats`: None for 4, or fewer if there are fewer bots.
    `match_games`: None for as many as seats. Other arguments and exceptions are as for `play`; ValueError also for a
    `min_effect` out of range, and if `old` equals `new`.
    """
    if not 0 < min_effect <= 1:
        raise ValueError(f"min_effect={min_effect}: from above 0 to 1 is allowed")
    evidence = Evidence(min_effect)
    played_blocks = play_blocks(
        old, new, against, max_pairs=max_pairs, rules=rules, seats=seats, match_games=match_games, seed=seed, jobs=jobs
    )
    with closing(played_blocks) as blocks:
        for pairs in blocks:
            evidence.add(pairs)
            if evidence.verdict is not None:
                break
    return evidence.result()


def play_blocks(
    old: BotArgument,
    new: BotArgument,
    against: Sequence[BotArgument] | Mapping[str, BotArgument],
    *,
    max_pairs: int,
    rules: str | Ruleset = "coup",
    seats: int | None = None,
    match_games: int | None = None,
    seed: int | None = None,
    jobs: int = 1,
) -> Generator[list[tuple[float, float]], None, None]:
    """Yield the pairs of each block: the share of the win, 0 to 1, of `old` and of `new`.

    Arguments and exceptions are as for `compare`.
    """
    opponents = name_bots(against)
    if old == new:
        raise ValueError("old and new are the same bot: nothing to compare")
    bots_by_name = {**name_bots(dict(zip(NAMES, (old, new), strict=True))), **opponents}
    if len(bots_by_name) < 2 + len(opponents):
        raise ValueError("an opponent can't have the name OLD or NEW")
    require_factories(bots_by_name, "in a comparison")
    ruleset = find_ruleset(rules)
    seats = min(_MAX_SEATS, 1 + len(opponents), ruleset.max_seats) if seats is None else seats
    match_games = seats if match_games is None else match_games
    key = make_session_key(seed)
    tables = plan_blocks(len(opponents), seats, max_pairs, match_games, keyed_shuffle(key, "opponents")).tables

    def play_half(index: int) -> list[float]:
        table = tables[index]
        block_key = derive_key(key, f"block|{block_of(table.match)}")
        record = play_table(table, block_key, bots_by_name, ruleset, match_games, jobs=jobs, seed=seed)
        version = record.header.bots[0]  # OLD or NEW
        return [game.worth(game.seats.index(version)) for game in game_results(record)]

    with closing(play_in_processes(play_half, range(len(tables)), min(jobs, len(tables)))) as halves:
        for old_shares in halves:
            new_shares = next(halves)
            yield list(zip(old_shares, new_shares, strict=True))
