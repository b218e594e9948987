"""Who plays whom in this process: tables, seats and keys as in a run."""

import os
import random
from collections.abc import Mapping, Sequence
from contextlib import closing

from arena.coup import Ruleset, derived
from arena.local.jobs import in_jobs
from arena.local.match import play_match
from arena.local.players import Given, Player, entrants, refuse_objects
from arena.local.results import Results
from arena.referee import MatchSpec, Record, Terms
from arena.run import game_results, keyed_shuffle, load
from ladder.results import GameResult
from ladder.schedule import Table, plan, seatings

_MATCH_GAMES = 12  # as in `arena run`: what a bot learns of others, it learns in so many games


def play(
    bots: Sequence[Given] | Mapping[str, Given],
    games: int = 1000,
    *,
    rules: str | Ruleset = "coup",
    seats: int | None = None,
    match_games: int | None = None,
    seed: int | None = None,
    records: bool = False,
    jobs: int = 1,
) -> Results:
    """Play bots against each other in this process, and return who won how often.

    `bots` are classes, or functions without arguments, that make a bot for each match, or objects that play them all;
    a mapping names them. `games` is rounded up to whole rounds of matches, in which all bots sit in all seats equally
    often. `seats`: as many as there are bots if None; with fewer, tables are dealt as in a run. `match_games`: 12,
    rounded up to a multiple of the seats, if None. `seed`: the same one deals the same cards and seats, None draws one.
    `records`: whether to keep what `arena replay` and `arena verify` read, and `Results.statistics` counts. `jobs`: how
    many processes play, forked from this one, on Linux; the results are the same, unless bots share what they remember.

    A bot that raises ends all: its exception comes out with notes of the match and the request. One whose reply isn't
    allowed raises WrongReplyError. Raises ValueError for numbers that make no plan and for what `jobs` above 1 can't
    play, RulesetError for rules that aren't there, JobError for a process that a bot ended.
    """
    named = entrants(bots)
    ruleset = load(rules) if isinstance(rules, str) else rules
    seats = len(named) if seats is None else seats
    match_games = -(-_MATCH_GAMES // seats) * seats if match_games is None and seats else match_games or 0
    key = os.urandom(32) if seed is None else derived(b"arena.local", f"seed|{seed}")
    planned = plan(len(named), seats, games, match_games, keyed_shuffle(key, "schedule"))
    problem = ruleset.problem(seats)
    if problem:
        raise ValueError(problem)
    names = tuple(named)
    if jobs < 1:
        raise ValueError(f"jobs={jobs}: one process or more")
    if jobs > 1:
        refuse_objects(named, f"with jobs={jobs}")

    def played(table: Table) -> tuple[list[GameResult], Record | None]:
        own = derived(key, f"match|{table.match}")
        spec = MatchSpec(
            match=table.match,
            key=own,
            bots=tuple(names[bot] for bot in table.bots),
            seatings=seatings(seats, match_games, keyed_shuffle(own, "seats")),
            terms=Terms(rules=ruleset),
        )
        if jobs > 1:
            random.seed(own)  # else every process would roll the same
        try:
            record = play_match(spec, [Player(name, named[name]) for name in spec.bots], keep_moves=records)
        except Exception as problem:
            problem.add_note(f"It was match {table.match}" + ("." if seed is None else f" of seed {seed}."))
            raise
        return list(game_results(record)), record if records else None

    results: list[GameResult] = []
    kept: list[Record] = []
    jobs = min(jobs, len(planned.tables))
    tables = planned.tables
    with closing(in_jobs(lambda place: played(tables[place]), [table.match for table in tables], jobs)) as matches:
        for ended, record in matches:
            results += ended
            if record is not None:
                kept.append(record)
    return Results(names, tuple(results), tuple(kept))
