"""Implement `arena play`, with which a person plays against bots in the terminal or, with --browser, on a page.

`open_table_setup` loads, builds and checks the bots of a table as for a run; `arena watch` uses it, too. `--debug BOT`
runs a bot as a plain process that a debugger can reach. It has no clock, isn't checked before the match and is never
frozen. A shell redirects its standard error to the terminal or a file, prints its process id there, and becomes the
bot."""

import itertools
import os
import socket
import sys
import tempfile
import webbrowser
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import ExitStack, closing, contextmanager
from dataclasses import dataclass, replace
from functools import partial
from pathlib import Path
from typing import Any

import click

from arena import referee, run, with_extra
from arena.bots import Bot, BytecodeCache, normal_name
from arena.cli import options
from arena.cli import run as run_command
from arena.cli.console import fail, option, os_error_reason, print_note, treat_sigterm_as_sigint, usage_error
from arena.cli.options import complete_bot
from arena.cli.replay import describe_records
from arena.cli.terminal_game import GameTerminal, InteractiveGame
from arena.coup import derive_key, make_rules_object
from arena.escaping import escape_control
from arena.lessons import learn_page, puzzles_page, start_page
from arena.limits import LIMITS, Limits
from arena.play import PACES
from arena.replay import make_replay_object, replay_page, table_page
from arena.review import review_in_process
from arena.run import seed_key
from arena.sandbox import Box, Program, Sandbox, SandboxChoice, make_sandbox, scratch_folder
from arena.schedule import keyed_shuffle, seat_orders
from arena.tables.live_match import InteractiveMatch, RecordFolder

SAMPLES = ("opportunist", "honest", "bluffer", "counter", "challenger", "turtle", "random_bot", "strategist")


_SHELL_SCRIPT = 'exec 2>>"$0"; echo "arena: $1 is process $$" >&2; shift; exec "$@"'


@dataclass(frozen=True, slots=True)
class Debuggee:
    """A bot under a debugger: its number at the table, its name, and the file for its standard error."""

    bot: int
    name: str
    stderr: str

    def program(self, program: Program) -> Program:
        """Return the program wrapped in a shell that prints its process id and then becomes the bot."""
        return replace(program, argv=("/bin/sh", "-c", _SHELL_SCRIPT, self.stderr, self.name, *program.argv))

    def limits(self, limits: Limits) -> Limits:
        """Return limits with the maximum CPU time."""
        return replace(limits, cpu_s=int(LIMITS["cpu_s"].maximum))

    def timing(self, timing: referee.Timing) -> referee.Timing:
        """Return a timing with a day to start and no clock."""
        return replace(timing, limit_ms=referee.UNTIMED_MS, bank_ms=0, start_ms=86_400_000, own=False)


def use_plain_processes(asked: run_command.RunOptions) -> run_command.RunOptions:
    """Return options for plain processes that aren't frozen. Exits with 2 if an isolating sandbox was requested."""
    if asked.sandbox not in (None, "auto") and SandboxChoice(asked.sandbox).isolates:
        usage_error(f"--debug starts bots as plain processes, for a debugger: omit --sandbox {asked.sandbox}")
    return replace(asked, sandbox="process", ponder=True)


def select_debuggee(name: str, names: Sequence[str], live: bool) -> Debuggee:
    """Return the bot `name` of `names` as a Debuggee. Exits with 2 if it isn't at the table.

    The bot's standard error goes to the terminal if there is one and it is free (`live`), else to a new file.
    """
    if name not in names:
        usage_error(f"--debug {escape_control(name)}: the bots at the table are {', '.join(names)}")
    if live and os.isatty(2):
        return Debuggee(names.index(name), name, os.ttyname(2))
    file, path = tempfile.mkstemp(".txt", "arena-debug-")
    os.close(file)
    pdb = "a terminal for it" if live else "--browser"
    print_note(f"{name} writes its standard error to {path}; in another terminal: tail -f {path}; pdb needs {pdb}")
    return Debuggee(names.index(name), name, path)


# The options of a table, which follow the own options of `arena play` and `arena watch`.
table_options = options.combine_options(
    option("--seed", type=int, metavar="N", help="Have the same cards as in another match with this seed."),
    options.sandbox_options,
    options.PASS_ENV_OPTION,
    options.BUDGET_OPTION,
    options.limit_options,
    option(
        "--clock",
        type=click.Choice(["auto", "own", "wall"]),
        help="Time that bots are charged; auto: own time if the kernel reports it, else wall time.  [auto]",
    ),
    option(
        "--out", metavar="DIR", type=click.Path(path_type=Path), help="New folder for the record.  [arena-games/<time>]"
    ),
    option(
        "--debug",
        metavar="BOT",
        help="Run this bot without time limits, show its standard error, and run all bots as plain processes.",
    ),
)


@dataclass(frozen=True, slots=True)
class TableSetup:
    """The bots and settings of a table. `launch` starts a bot of a spec; all randomness derives from `seed_key`."""

    bots: tuple[Bot, ...]
    settings: referee.MatchSettings
    folder: Path
    seed_key: bytes
    launch: Callable[[referee.MatchSpec, int], Box]
    debuggee: Debuggee | None = None

    def timings(self, persons: int) -> tuple[referee.Timing, ...]:
        """Return the timing of each bot, then of `persons` people; () if all bots share one.

        People and language models have no clock.
        """
        times, own = self.settings.timing, self.debuggee
        if own is None and not persons and not any(bot.is_model for bot in self.bots):
            return ()
        untimed = referee.Timing(limit_ms=referee.UNTIMED_MS, bank_ms=0, ponder=times.ponder)
        bots = [untimed if bot.is_model else times for bot in self.bots]
        if own is not None:
            bots[own.bot] = own.timing(times)
        return (*bots, *[untimed] * persons)

    def starter(self, spec: referee.MatchSpec) -> Callable[[int], Box]:
        """Return the function that starts a bot of this match."""
        return partial(self.launch, spec)

    def spec(
        self,
        games: int,
        names: Sequence[str],
        timings: tuple[referee.Timing, ...] = (),
        open_names: bool = False,
        number: int = 0,
    ) -> referee.MatchSpec:
        """Return the specification of match `number` (from 0) at this table: `games` games of the players `names`."""
        key = derive_key(self.seed_key, f"match|{number}")
        rows = seat_orders(len(names), -(-games // len(names)) * len(names), keyed_shuffle(key, "seats"))
        settings = replace(self.settings, open_names=open_names)
        return referee.MatchSpec(number, key, tuple(names), rows[:games], settings, timings)


@contextmanager
def open_table_setup(
    values: Mapping[str, Any], bots: Sequence[str], persons: int, debug: str | None = None, *, live: bool = True
) -> Iterator[TableSetup]:
    """Yield the table that the options' `values` request, with `persons` people in addition to the bots.

    debug: the name of the bot to run under a debugger. live: its standard error may go to the terminal.

    Sample bots fill the seats left free by named bots and people: up to --seats, or, without it, a table of four
    (fewer if the rules allow fewer). Exits with 2 if the table can't be played as requested.
    """
    with run_command.exit_on_refusal(), _open_table(values, bots, persons, debug, live) as table:
        yield table


@contextmanager
def _open_table(
    values: Mapping[str, Any], named: Sequence[str], persons: int, debug: str | None, live: bool
) -> Iterator[TableSetup]:
    """Yield a table with built and tested bots, and remove what was built when the context ends.

    values: of the options; named: the names of those that the user gave. persons: seats to leave free. debug: the
    bot that runs in a debugger, without a sandbox; live: whether a person plays at the table. Raises a run's errors.
    """
    asked = run_command.RunOptions.from_options(tuple(named), values)
    if debug is not None:
        asked = use_plain_processes(asked)
    folder = asked.out or run.new_run_folder_name("arena-games")
    if folder.exists() or folder.is_symlink():
        raise run.FolderError(f"{folder} exists; name another --out")
    ruleset = run.load_ruleset(asked.rules or "coup")
    arguments = _fill_seats(asked.bots, asked.seats, persons, ruleset.max_seats)
    problem = ruleset.problem(len(arguments) + persons)
    if problem:
        usage_error(problem)
    choice, reasons = options.choose_sandbox(asked.sandbox, asked.docker_runtime, asked.docker_image, asked.pass_env)
    bots = run_command.load_named_bots(arguments, choice.name, models="budget" in values)
    run_command.refuse_budget(bots, asked.budget)
    run_command.require_outside_of_bots(folder, bots)
    own = None if debug is None else select_debuggee(debug, [bot.name for bot in bots], live)
    settings = run_command.make_settings(asked, ruleset)  # the config's number of games and key aren't used here
    config = run.RunConfig(
        bots=bots, seats=len(bots) + persons, games=1, match_games=1, key=b"", settings=settings, sandbox=choice
    )
    run.remove_leftovers(choice)
    building = run.RunBuilds(folder)
    building.remove_dead()
    with scratch_folder() as scratch, closing(make_sandbox(choice, scratch)) as box, ExitStack() as stack:
        options.announce_sandbox(choice, reasons, box, " (auto)" if asked.sandbox in (None, "auto") else "")
        options.require_enforced_limits(asked.limits, box)
        timing = run_command.choose_timing(asked, config.settings.timing, box)
        config = replace(config, settings=replace(config.settings, timing=timing))
        config = run_command.build_bots(config, box, building)
        try:
            tested = tuple(bot for bot in config.bots if own is None or bot.name != own.name)
            if tested:
                run_command.preflight_bots(asked, replace(config, bots=tested), box, scratch, run_command.plan_run)
            models = stack.enter_context(open_models(config, asked.budget, folder))
            start = _make_starter(config, box, models, own)
            yield TableSetup(config.bots, config.settings, folder, seed_key(asked.seed), start, own)
        finally:
            building.discard()


def _make_starter(
    config: run.RunConfig, box: Sandbox, models: Any, debuggee: Debuggee | None
) -> Callable[[referee.MatchSpec, int], Box]:
    """Return the function that starts a bot of a match. models: the `ModelTable`, None without language models."""
    bytecode = BytecodeCache()

    def start(spec: referee.MatchSpec, bot: int) -> Box:
        if config.bots[bot].is_model:
            seat: Box = models.start(spec, bot)
            return seat
        program, limits = bytecode.program(config.bots[bot], config.sandbox, box), config.settings.limits
        if debuggee is not None and debuggee.bot == bot:
            program, limits = debuggee.program(program), debuggee.limits(limits)
        return box.start(program, limits)

    return start


@contextmanager
def open_models(config: run.RunConfig, budget_file: Path | None, folder: Path) -> Iterator[Any]:
    """Yield the `ModelTable` of a table's language models, None without one. Their journal is next to the folder."""
    if not any(bot.is_model for bot in config.bots):
        yield None
        return
    models = run_command.import_models()
    budget, players = run_command.load_models(config.bots, budget_file, config.sandbox)
    journal = models.Journal(folder.with_name(f"{folder.name}.models"))
    with closing(models.ModelClient(budget, journal, print_note)) as client:
        yield models.ModelTable(players, client)


def _fill_seats(bots: Sequence[str], seats: int | None, persons: int, max_seats: int) -> list[str]:
    """Return the named bots and then the sample bots that fill the free seats. Exits with 2 if `seats` is too small."""
    if seats is None:
        can_play = len(bots) + persons > 1 and bots
        seats = len(bots) + persons if can_play else min(run_command.DEFAULT_SEATS, max_seats)
    bots_wanted = seats - persons
    if bots_wanted < len(bots):
        usage_error(f"--seats {seats} is too few for {len(bots)} bots{' and you' if persons else ''}: name fewer bots")
    samples = [f"sample:{name}" for name in itertools.islice(itertools.cycle(SAMPLES), max(0, bots_wanted - len(bots)))]
    if samples:
        print_note(f"{'also at the table' if bots else 'at the table'}: {', '.join(samples)}")
    return [*bots, *samples]


@click.command(cls=options.GroupedCommand)
@click.argument("bots", nargs=-1, metavar="[BOT...]", shell_complete=complete_bot)
@option("--games", type=click.IntRange(1, 1000), default=1, metavar="N", help="Play N games.")
@option(
    "--seats",
    type=click.IntRange(2, 10),
    metavar="N",
    help="Players at the table, including you; sample bots take free seats.  [you and the BOTs; without BOTs 4]",
)
@options.RULES_OPTION
@option("--name", default="person", metavar="NAME", help="Your name in the record.")
@option("--learn", is_flag=True, help="Open the lessons in the browser: a guided first game, and more.")
@option("--browser", is_flag=True, help="Play on a web page; only this machine can open it.")
@option(
    "--port", type=click.IntRange(0, 65535), default=0, metavar="N", help="With --browser: port; 0 for any free one."
)
@option("--pace", type=click.Choice(tuple(PACES)), default="normal", help="With --browser: how long events are shown.")
@option("--show-names", is_flag=True, help="Show all players' names instead of letters.")
@table_options
def play(
    *,
    bots: tuple[str, ...],
    name: str,
    learn: bool,
    browser: bool,
    port: int,
    pace: str,
    debug: str | None,
    **values: Any,
) -> None:
    """Play against bots in the terminal or the browser.

    New to Coup? arena play --learn teaches it. BOT is as for arena run. You see only what a bot in your seat
    would see. The players' names are shown after the match. The record is kept: arena replay shows it with all
    cards.
    """
    if learn:
        _open_lessons()
        return
    name = _check_name(name)
    treat_sigterm_as_sigint()
    with open_table_setup(values, bots, 1, debug, live=browser) as table:
        names = [*(bot.name for bot in table.bots), name]
        if name in names[:-1]:
            usage_error(f"a bot has the name {name!r}: choose your name with --name")
        if any(other.casefold() == "you" for other in names[:-1]):
            usage_error('a bot has the name "you", which means you on the screen: name it with NAME=PATH')
        if browser:
            play_in_browser(table, names, values, port, pace)
            return
        problem = _sit(GameTerminal(), table, names, values)
    if problem is not None:
        fail(f"the match is void: {problem}")


def _open_lessons() -> None:
    """Write the page of lessons to a new file, and open it."""
    with _writing("the page of lessons"):
        page = Path(tempfile.mkdtemp(prefix="arena-learn-"), "learn.html")
        page.write_text(learn_page(puzzles="./puzzles.html"), "utf-8")
        page.with_name("puzzles.html").write_text(puzzles_page(("./learn.html", "Lessons")), "utf-8")
    print_note(f"the lessons are at {page.as_uri()}")
    _open_browser(page.as_uri())


def _open_browser(url: str) -> None:
    if sys.platform == "darwin" or os.environ.get("DISPLAY") or os.environ.get("WAYLAND_DISPLAY"):
        webbrowser.open(url)


def _check_name(name: str) -> str:
    try:
        return normal_name(name)
    except ValueError as problem:
        usage_error(f"--name: {problem}")


def _sit(screen: GameTerminal, table: Any, names: list[str], values: dict[str, Any]) -> str | None:
    """Play, store the games and print a summary; return this machine's failure, None without one."""
    spec = table.spec(values["games"], names, table.timings(1), values["show_names"])
    interrupted = False
    with _writing():
        folder = RecordFolder(table.folder)
    sitting = InteractiveMatch(spec, len(table.bots), table.starter(spec))
    host = InteractiveGame(screen, sitting, folder)
    try:
        with sitting:
            try:
                host.play()
            except KeyboardInterrupt:
                interrupted = True
                host.end()
    finally:  # also after an interrupt
        if sitting.games:
            with _writing():
                folder.save(sitting.record, sitting.logs)
        folder.discard()
        if not screen.closed:
            host.print_summary(table.folder)
    if interrupted:
        sys.exit(130)
    return host.problem


@contextmanager
def _writing(what: str = "the record") -> Iterator[None]:
    try:
        yield
    except OSError as problem:
        fail(f"{what} can't be written: {os_error_reason(problem)}")


def play_in_browser(table: TableSetup, names: Sequence[str], values: dict[str, Any], port: int, pace: str) -> None:
    """Serve the table until the person ends it, and keep what was played. pace: of PACES, how long events are shown."""
    try:
        from arena import tables
    except ModuleNotFoundError as missing:
        usage_error(f"--browser needs {missing.name}: {with_extra('web')}")
    folders: list[RecordFolder] = []
    records: dict[int, referee.Record] = {}

    def keep(record: referee.Record, logs: tables.ProcessLogs) -> str | None:
        try:
            if not folders:
                folders.append(RecordFolder(table.folder))
            folders[0].save(record, logs)
        except OSError as problem:
            print_note(f"the record can't be written: {os_error_reason(problem)}")
        records[record.header.match] = record
        return "/replay"

    def deal(number: int) -> tables.MatchSetup:
        spec = table.spec(values["games"], names, table.timings(1), values["show_names"], number)
        return tables.MatchSetup(spec, table.starter(spec), keep)

    def seats(secret: str) -> tables.LiveTable:
        slots = [tables.Slot("bot", bot.name) for bot in table.bots]
        slots.append(tables.Slot("person", names[-1], secret))
        settings = replace(table.settings, open_names=values["show_names"])
        table_settings = tables.TableSettings(settings, values["games"], table.timings(1)[-1])
        return tables.LiveTable("here", slots, table_settings, tables.TableCallbacks(deal), pace=pace)

    def replay(reviewed: bool) -> str | None:
        if not records:
            return None
        record = records[max(records)]
        review = review_in_process(referee.write_record(record), len(names) - 1) if reviewed else None
        shown = make_replay_object(record)
        shown["bots"][-1] = "you"
        return replay_page([shown], "The match", review=review, home=("/table", "Back to the table"))

    def begun(url: str) -> None:
        print_note(f"the table is at {url}; Ctrl-C ends it")
        _open_browser(url)

    title = "Coup" if table.settings.rules.name == "coup" else f"Coup: {table.settings.rules.name}"
    with _listening(port) as listening:
        rules = table.settings.rules
        pages: dict[str, Callable[[], str]] = {
            "/": start_page,
            "/table": partial(table_page, title, make_rules_object(rules), "/socket"),
            "/learn": partial(learn_page, ("/", "Coup"), "/table", "/puzzles"),
            "/puzzles": partial(puzzles_page, ("/learn", "Lessons")),
        }
        tables.serve_local_table(listening, pages, replay, seats, begun)
    games: list[referee.GameRecord] = [game for record in records.values() for game in record.games]
    print_note(describe_records(table.folder, "all cards", games, len(names) - 1) if games else "no game was completed")


def _listening(port: int) -> socket.socket:
    try:
        return socket.create_server(("127.0.0.1", port))
    except OSError as problem:
        fail(f"port {port}: {os_error_reason(problem)}; choose another --port, or 0 for any free port")
