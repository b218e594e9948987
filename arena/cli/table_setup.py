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
_DEFAULT_SEATS = 4

OUT_OPTION = option(
    "--out", metavar="DIR", type=click.Path(path_type=Path), help="New folder for the record.  [arena-games/<time>]"
)
CLOCK_OPTION = option(
    "--clock",
    type=click.Choice(["auto", "own", "wall"]),
    help="The time that bots are charged; auto: their own time where the kernel reports it.  [auto]",
)


def describe_records(folder: Path, replay: str, games: Sequence[GameRecord], person: int | None = None) -> str:
    """Return a line that says where the records are and, if a bot was at fault, where the bots' standard error is.

    `replay`: what `arena replay` shows. `person`: the number of the human player, whose faults don't count.
    """
    text = f"kept in {folder}; {replay}: arena replay {shlex.quote(str(folder))}"
    faulty = any(fault.bot != person for game in games for fault in game.faults)
    return f"{text}; what bots wrote to standard error: {folder / 'logs'}/" if faulty else text


@dataclass(frozen=True, slots=True)
class TableSetup:
    """The bots and settings of a table. `start(bot)` starts a bot in a box; all randomness derives from `seed_key`."""

    bots: tuple[Bot, ...]
    terms: MatchSettings
    folder: Path
    seed_key: bytes
    start: Callable[[int], Box]
    debuggee: Debuggee | None = None

    def timings(self, persons: int) -> tuple[Timing, ...]:
        """Return the timing of each bot, then of `persons` people, who have no clock; () if all bots share one."""
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
        """Return the specification of match `number` (from 0) at this table: `games` games of the players `names`."""
        key = derive_key(self.seed_key, f"match|{number}")
        rows = seat_orders(len(names), -(-games // len(names)) * len(names), keyed_shuffle(key, "seats"))
        terms = replace(self.terms, open_names=open_names)
        return MatchSpec(number, key, tuple(names), rows[:games], terms, timings)


@contextmanager
def open_table_setup(
    given: Mapping[str, Any], bots: Sequence[str], persons: int, debug: str | None = None, live: bool = True
) -> Iterator[TableSetup]:
    """Yield the table that the options `given` request, with `persons` people in addition to the bots.

    debug: the name of the bot to run under a debugger. live: its standard error may go to the terminal.

    Sample bots fill the seats left free by named bots and people: up to --seats, or, without it, a table of four
    (fewer if the rules allow fewer). Exits with 2 if the table can't be played as requested.
    """
    with exit_on_refusal(), _open_table(given, bots, persons, debug, live) as table:
        yield table


@contextmanager
def _open_table(
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
    bots = _load_bots(wanted, choice.name)
    require_outside_of_bots(folder, bots)
    own = None if debug is None else select_debuggee(debug, [bot.name for bot in bots], live)
    config = _placeholder_run_config(asked, bots, len(bots) + persons, terms_of(asked, ruleset), choice)
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


def _placeholder_run_config(
    asked: RunOptions, bots: tuple[Bot, ...], seats: int, terms: MatchSettings, choice: Any
) -> RunConfig:
    """Return a run's config of these bots, terms and sandbox; the other fields are placeholders that nothing reads."""
    return RunConfig(bots=bots, seats=seats, games=1, match_games=1, key=b"", terms=terms, sandbox=choice)


def _load_bots(named: Sequence[str], sandbox: str) -> tuple[Bot, ...]:
    bots, remarks = load_bots(named, programs_of(sandbox))
    for remark in remarks:
        print_note(remark)
    return tuple(bots)


def _fill_seats(bots: Sequence[str], seats: int | None, persons: int, max_seats: int) -> list[str]:
    """Return the named bots and then the sample bots that fill the free seats. Exits with 2 if `seats` is too small."""
    can_play = len(bots) + persons > 1 and bots
    wanted = (
        seats if seats is not None else len(bots) + persons if can_play else min(_DEFAULT_SEATS, max_seats)
    ) - persons
    if wanted < len(bots):
        usage_error(f"--seats {seats} is too few for {len(bots)} bots{' and you' if persons else ''}: name fewer")
    samples = [f"sample:{name}" for name in itertools.islice(itertools.cycle(SAMPLES), max(0, wanted - len(bots)))]
    if samples:
        print_note(f"{'also at the table' if bots else 'at the table'}: {', '.join(samples)}")
    return [*bots, *samples]
