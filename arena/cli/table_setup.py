"""Set up the table of a match to play or watch: load, build and check its bots as for a run."""

import itertools
import shlex
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import closing, contextmanager
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

import click

from arena.bots import Bot, BytecodeCache, load_bots
from arena.cli import options
from arena.cli.console import option, print_note, usage_error
from arena.cli.feed import Debuggee, select_debuggee, use_plain_processes
from arena.cli.run import (
    RunOptions,
    build_bots,
    exit_on_refusal,
    preflight_bots,
    require_outside_of_bots,
    run_of,
    terms_of,
    timing_of,
)
from arena.coup import derive_key
from arena.referee import UNTIMED_MS, GameRecord, MatchSettings, MatchSpec, Timing
from arena.run import RunBuilds, RunConfig, keyed_shuffle, load_ruleset, remove_leftovers, seed_key
from arena.sandbox import Box, make_sandbox, programs_of, scratch_folder
from ladder.schedule import seat_orders
from ladder.store import FolderError, new_run_folder_name

SAMPLES = ("opportunist", "honest", "bluffer", "counter", "challenger", "turtle", "random_bot", "strategist")
_USUAL = 4  # seats

OUT_OPTION = option(
    "--out", metavar="DIR", type=click.Path(path_type=Path), help="New folder for the record.  [arena-games/<time>]"
)
CLOCK_OPTION = option(
    "--clock",
    type=click.Choice(["auto", "own", "wall"]),
    help="The time that bots are charged; auto: their own time where the kernel reports it.  [auto]",
)


def announce_records(folder: Path, replay: str, games: Sequence[GameRecord], person: int | None = None) -> str:
    """Print where records are, and, if a bot was at fault, where its standard error is."""
    text = f"kept in {folder}; {replay}: arena replay {shlex.quote(str(folder))}"
    faulty = any(fault.bot != person for game in games for fault in game.faults)
    return f"{text}; what bots wrote to standard error: {folder / 'logs'}/" if faulty else text


@dataclass(frozen=True, slots=True)
class TableSetup:
    """A table: what plays, and how a bot of it is started. `seed_key` is what everything random comes from."""

    bots: tuple[Bot, ...]
    terms: MatchSettings
    folder: Path
    seed_key: bytes
    start: Callable[[int], Box]
    debuggee: Debuggee | None = None

    def timings(self, persons: int) -> tuple[Timing, ...]:
        """Return the times of the bots, then of `persons` people without a clock; () if all are alike."""
        times, own = self.terms.timing, self.debuggee
        if own is None and not persons:
            return ()
        bots = [own.timing(times) if own and own.bot == bot else times for bot in range(len(self.bots))]
        return (*bots, *[Timing(limit_ms=UNTIMED_MS, bank_ms=0, ponder=times.ponder)] * persons)

    def spec(
        self,
        games: int,
        names: Sequence[str],
        timings: tuple[Timing, ...] = (),
        open_names: bool = False,
        number: int = 0,
    ) -> MatchSpec:
        """Return a match of `games` games of these players, the `number`th at this table."""
        key = derive_key(self.seed_key, f"match|{number}")
        rows = seat_orders(len(names), -(-games // len(names)) * len(names), keyed_shuffle(key, "seats"))
        terms = replace(self.terms, open_names=open_names)
        return MatchSpec(number, key, tuple(names), rows[:games], terms, timings)


@contextmanager
def open_table_setup(
    given: Mapping[str, Any], bots: Sequence[str], persons: int, debug: str | None = None, live: bool = True
) -> Iterator[TableSetup]:
    """Yield the requested table, with `persons` people in addition.

    debug: the name of the bot under a debugger; `live`: what it writes may go to the terminal meanwhile.

    Without bots they are three samples, or as many as --seats wants; samples also fill the
    seats of --seats that no named bot takes. Exits with 2 if something can't be played as asked.
    """
    with exit_on_refusal(), _table(given, bots, persons, debug, live) as table:
        yield table


@contextmanager
def _table(
    given: Mapping[str, Any], named: Sequence[str], persons: int, debug: str | None, live: bool
) -> Iterator[TableSetup]:
    asked = RunOptions.from_options(tuple(named), given)
    if debug is not None:
        asked = use_plain_processes(asked)
    folder = asked.out or new_run_folder_name("arena-games")
    if folder.exists() or folder.is_symlink():
        raise FolderError(f"{folder} exists; name another --out")
    ruleset = load_ruleset(asked.rules or "coup")
    wanted = _fill_seats(asked.bots, asked.seats, persons, ruleset.max_seats)
    problem = ruleset.problem(len(wanted) + persons)
    if problem:
        usage_error(problem)
    choice, reasons = options.choose_sandbox(asked.sandbox, asked.docker_runtime, asked.docker_image, asked.pass_env)
    bots = _load(wanted, choice.name)
    require_outside_of_bots(folder, bots)
    own = None if debug is None else select_debuggee(debug, [bot.name for bot in bots], live)
    config = _config(asked, bots, len(bots) + persons, terms_of(asked, ruleset), choice)
    remove_leftovers(choice)
    building = RunBuilds(folder)
    building.remove_dead()
    with scratch_folder() as scratch, closing(make_sandbox(choice, scratch)) as box:
        options.announce_sandbox(choice, reasons, box, " (auto)" if asked.sandbox in (None, "auto") else "")
        options.require_enforced_limits(asked.limits, box)
        config = replace(config, terms=replace(config.terms, timing=timing_of(asked, config.terms.timing, box)))
        config = build_bots(config, box, building)
        try:
            looked_at = tuple(bot for bot in config.bots if own is None or bot.name != own.name)
            if looked_at:
                preflight_bots(asked, replace(config, bots=looked_at), box, scratch, run_of)

            bytecode = BytecodeCache()

            def start(bot: int) -> Box:
                program, limits = bytecode.program(config.bots[bot], choice, box), config.terms.limits
                if own is not None and own.bot == bot:
                    program, limits = own.program(program), own.limits(limits)
                return box.start(program, limits)

            yield TableSetup(config.bots, config.terms, folder, seed_key(asked.seed), start, own)
        finally:
            building.discard()


def _config(asked: RunOptions, bots: tuple[Bot, ...], seats: int, terms: MatchSettings, choice: Any) -> RunConfig:
    """Return the bots, the terms and the sandbox as a run has them; nothing else of it counts."""
    return RunConfig(bots=bots, seats=seats, games=1, match_games=1, key=b"", terms=terms, sandbox=choice)


def _load(named: Sequence[str], sandbox: str) -> tuple[Bot, ...]:
    bots, remarks = load_bots(named, programs_of(sandbox))
    for remark in remarks:
        print_note(remark)
    return tuple(bots)


def _fill_seats(bots: Sequence[str], seats: int | None, persons: int, most: int) -> list[str]:
    """Return the bots that play: those that are named, and samples in the seats that are left."""
    enough = len(bots) + persons > 1 and bots
    wanted = (seats if seats is not None else len(bots) + persons if enough else min(_USUAL, most)) - persons
    if wanted < len(bots):
        usage_error(f"--seats {seats} is too few for {len(bots)} bots{' and you' if persons else ''}: name fewer")
    samples = [f"sample:{name}" for name in itertools.islice(itertools.cycle(SAMPLES), max(0, wanted - len(bots)))]
    if samples:
        print_note(f"{'also at the table' if bots else 'at the table'}: {', '.join(samples)}")
    return [*bots, *samples]
