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
from contextlib import closing, contextmanager
from dataclasses import dataclass, replace
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

from arena import referee, run, with_extra
from arena.bots import Bot, BytecodeCache, normal_name
from arena.cli import options, run_models
from arena.cli import run as run_command
from arena.cli.console import fail, option, os_error_reason, print_note, treat_sigterm_as_sigint, usage_error
from arena.cli.options import complete_bot
from arena.cli.replay import describe_records
from arena.cli.terminal_game import GameTerminal, InteractiveGame
from arena.coup import Ruleset, derive_key, make_rules_object
from arena.escaping import escape_control
from arena.lessons import learn_page, puzzles_page, start_page
from arena.limits import LIMITS, Limits
from arena.play import PACES
from arena.replay import make_replay_object, replay_page, table_page
from arena.review import review_in_process
from arena.run import seed_key
from arena.sandbox import Box, HostProblem, Program, Sandbox, SandboxChoice, make_sandbox, scratch_folder
from arena.schedule import draw_seat_orders
from arena.tables.live_match import InteractiveMatch, ProcessLogs, RecordFolder

if TYPE_CHECKING:
    from arena.models import ModelTable

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


def use_plain_processes(run_options: run_command.RunOptions) -> run_command.RunOptions:
    """Return options for plain processes that aren't frozen. Exits with 2 if an isolating sandbox was requested."""
    if run_options.sandbox not in (None, "auto") and SandboxChoice(run_options.sandbox).isolates:
        usage_error(f"--debug starts bots as plain processes, for a debugger: omit --sandbox {run_options.sandbox}")
    return replace(run_options, sandbox="process", ponder=True)


def select_debuggee(name: str, names: Sequence[str], live: bool) -> Debuggee:
    """Return the bot `name` of `names` as a Debuggee. Exits with 2 if it isn't at the table.

    The bot's standard error goes to the terminal if there is one and it is free (`live`), else to a new file, whose
    path is printed.
    """
    if name not in names:
        usage_error(f"--debug {escape_control(name)}: the bots at the table are {', '.join(names)}")
    if live and os.isatty(2):
        return Debuggee(names.index(name), name, os.ttyname(2))
    descriptor, path = tempfile.mkstemp(".txt", "arena-debug-")
    os.close(descriptor)
    remedy = "a terminal for it" if live else "--browser"
    print_note(f"{name} writes its standard error to {path}; in another terminal: tail -f {path}; pdb needs {remedy}")
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
        """Return the timing of each bot, then of `persons` people; () if all share one. Only programs have a clock."""
        common, debuggee = self.settings.timing, self.debuggee
        if debuggee is None and not persons and not any(bot.is_model for bot in self.bots):
            return ()
        untimed = referee.Timing(limit_ms=referee.UNTIMED_MS, bank_ms=0, ponder=common.ponder)
        bot_timings = [untimed if bot.is_model else common for bot in self.bots]
        if debuggee is not None:
            bot_timings[debuggee.bot] = debuggee.timing(common)
        return (*bot_timings, *[untimed] * persons)

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
        key, seats = derive_key(self.seed_key, f"match|{number}"), len(names)
        orders = draw_seat_orders(key, seats, -(-games // seats) * seats)
        settings = replace(self.settings, open_names=open_names)
        return referee.MatchSpec(number, key, tuple(names), orders[:games], settings, timings)


@contextmanager
def open_table_setup(
    values: Mapping[str, Any], bots: Sequence[str], persons: int, debug: str | None = None, *, live: bool = True
) -> Iterator[TableSetup]:
    """Yield the table that the options' `values` request, with `persons` people in addition to the bots.

    debug: the name of the bot to run under a debugger. live: its standard error may go to the terminal.

    Sample bots fill free seats up to --seats. Without it, a single player gets a table of four (fewer if the rules
    allow fewer), and others only each other. Exits with 2 if the table can't be played as requested.
    """
    with run_command.exit_on_refusal(), _open_table(values, bots, persons, debug, live) as table:
        yield table


@contextmanager
def _open_table(
    values: Mapping[str, Any], bots: Sequence[str], persons: int, debug: str | None, live: bool
) -> Iterator[TableSetup]:
    """Yield a table with built and tested bots, and remove what was built when the context ends.

    The parameters are those of `open_table_setup`. Raises the errors that `run_command.exit_on_refusal` turns into exit
    codes.
    """
    run_options = run_command.RunOptions.from_options(tuple(bots), values)
    if debug is not None:
        run_options = use_plain_processes(run_options)
    folder = run_options.out or run.new_run_folder_name("arena-games")
    if folder.exists() or folder.is_symlink():
        raise run.FolderError(f"{folder} exists; name another --out")
    config, reasons = _plan_table(run_options, persons, "budget" in values)
    run_models.refuse_budget(config.bots, run_options.budget)
    run_command.require_outside_of_bots(folder, config.bots)
    debuggee = None if debug is None else select_debuggee(debug, [bot.name for bot in config.bots], live)
    run.remove_leftovers(config.sandbox)
    builds = run.RunBuilds(folder)
    builds.remove_dead()
    with scratch_folder() as scratch, closing(make_sandbox(config.sandbox, scratch)) as box:
        config = run_command.build_for_sandbox(run_options, config, reasons, box, builds)
        try:
            tested = tuple(bot for bot in config.bots if debuggee is None or bot.name != debuggee.name)
            run_command.require_startable_bots(replace(config, bots=tested), box, scratch)
            with open_models(config, run_options.budget, folder) as models:
                launch = _make_launcher(config, box, models, debuggee)
                yield TableSetup(config.bots, config.settings, folder, seed_key(run_options.seed), launch, debuggee)
        finally:
            builds.discard()


def _plan_table(
    run_options: run_command.RunOptions, persons: int, models: bool
) -> tuple[run.RunConfig, dict[str, HostProblem]]:
    """Return the config of a table whose free seats are filled, and the problems of stronger sandboxes.

    Of the config, the number of games and the key mean nothing. models: whether language models may play. Exits with 2
    if the rules don't allow the number of seats. Raises BotError or RulesetError if one can't be loaded.
    """
    ruleset = run.load_ruleset(run_options.rules or "coup")
    arguments = _fill_seats(run_options.bots, run_options.seats, persons, ruleset.max_seats)
    problem = ruleset.problem(len(arguments) + persons)
    if problem:
        usage_error(problem)
    choice, reasons = run_options.choose_sandbox()
    bots = run_command.load_named_bots(arguments, choice.name, models=models)
    settings = run_command.make_settings(run_options, ruleset)
    config = run.RunConfig(
        bots=bots, seats=len(bots) + persons, games=1, match_games=1, key=b"", settings=settings, sandbox=choice
    )
    return config, reasons


def _make_launcher(
    config: run.RunConfig, box: Sandbox, models: "ModelTable | None", debuggee: Debuggee | None
) -> Callable[[referee.MatchSpec, int], Box]:
    """Return the function that starts a bot of a match. models: None without one among the bots."""
    bytecode = BytecodeCache()

    def start(spec: referee.MatchSpec, bot: int) -> Box:
        if config.bots[bot].is_model:
            assert models is not None
            return models.start(spec, bot)
        program, limits = bytecode.program(config.bots[bot], config.sandbox, box), config.settings.limits
        if debuggee is not None and debuggee.bot == bot:
            program, limits = debuggee.program(program), debuggee.limits(limits)
        return box.start(program, limits)

    return start


@contextmanager
def open_models(config: run.RunConfig, budget_file: Path | None, folder: Path) -> "Iterator[ModelTable | None]":
    """Yield the language models of a table, None without one. Their journal is next to the folder."""
    if not any(bot.is_model for bot in config.bots):
        yield None
        return
    models = run_models.import_models()
    budget, players = run_models.load_models(config.bots, budget_file, config.sandbox)
    journal = models.Journal(folder.with_name(f"{folder.name}.models"))
    with closing(models.ModelClient(budget, journal, print_note)) as client:
        yield models.ModelTable(players, client)


def _fill_seats(bots: Sequence[str], seats: int | None, persons: int, max_seats: int) -> list[str]:
    """Return the named bots and then the sample bots that fill the free seats, and print these.

    seats: of the table; None for those of the players, or DEFAULT_SEATS for a single player. Exits with 2 if it is too
    small.
    """
    players = len(bots) + persons
    if seats is None:
        seats = players if players > 1 else min(run_command.DEFAULT_SEATS, max_seats)
    free_seats = seats - players
    if free_seats < 0:
        usage_error(f"--seats {seats} is too few for {len(bots)} bots{' and you' if persons else ''}: name fewer bots")
    samples = [f"sample:{name}" for name in itertools.islice(itertools.cycle(SAMPLES), free_seats)]
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
    person = _normalize_name(name)
    treat_sigterm_as_sigint()
    with open_table_setup(values, bots, 1, debug, live=browser) as table:
        bot_names = [bot.name for bot in table.bots]
        if person in bot_names:
            usage_error(f"a bot has the name {person!r}: choose your name with --name")
        if "you" in map(str.casefold, bot_names):
            usage_error('a bot has the name "you", which means you on the screen: name it with NAME=PATH')
        names = [*bot_names, person]
        if browser:
            play_in_browser(table, names, values["games"], values["show_names"], port, pace)
            return
        problem = _play_in_terminal(table, names, values["games"], values["show_names"])
    if problem is not None:
        fail(f"the match is void: {problem}")


def _open_lessons() -> None:
    """Write the page of lessons to a new file, and open it."""
    with _exit_on_write_error("the page of lessons"):
        page = Path(tempfile.mkdtemp(prefix="arena-learn-"), "learn.html")
        page.write_text(learn_page(puzzles="./puzzles.html"), "utf-8")
        page.with_name("puzzles.html").write_text(puzzles_page(("./learn.html", "Lessons")), "utf-8")
    print_note(f"the lessons are at {page.as_uri()}")
    _open_browser(page.as_uri())


def _open_browser(url: str) -> None:
    if sys.platform == "darwin" or os.environ.get("DISPLAY") or os.environ.get("WAYLAND_DISPLAY"):
        webbrowser.open(url)


def _normalize_name(name: str) -> str:
    """Return the normal form of a person's name. Exits with 2 if it isn't allowed."""
    try:
        return normal_name(name)
    except ValueError as problem:
        usage_error(f"--name: {problem}")


def _play_in_terminal(table: TableSetup, names: list[str], games: int, show_names: bool) -> str | None:
    """Play a match in the terminal, store it and print a summary; return this machine's failure, None without one.

    names: of the bots, then of the person. Exits with 130 after an interrupt, with 1 if the record can't be written.
    """
    screen = GameTerminal()
    spec = table.spec(games, names, table.timings(1), show_names)
    is_interrupted = False
    with _exit_on_write_error("the record"):
        folder = RecordFolder(table.folder)
    match = InteractiveMatch(spec, len(table.bots), table.starter(spec))
    game = InteractiveGame(screen, match, folder)
    try:
        with match:
            try:
                game.play()
            except KeyboardInterrupt:
                is_interrupted = True
                game.end()
    finally:  # also after an interrupt
        if match.games:
            with _exit_on_write_error("the record"):
                folder.save(match.record, match.logs)
        folder.discard()
        if not screen.closed:
            game.print_summary(table.folder)
    if is_interrupted:
        sys.exit(130)
    return game.problem


@contextmanager
def _exit_on_write_error(noun: str) -> Iterator[None]:
    """Exit with 1 if a file can't be written. noun: what is written."""
    try:
        yield
    except OSError as problem:
        fail(f"{noun} can't be written: {os_error_reason(problem)}")


class _PlayedRecords:
    """The records of the matches that were played in the browser, which are stored as each game ends."""

    def __init__(self, folder: Path) -> None:
        self._path = folder
        self._folder: RecordFolder | None = None
        self._records: dict[int, referee.Record] = {}  # by match

    @property
    def games(self) -> list[referee.GameRecord]:
        """The games of all matches, in order."""
        return [game for record in self._records.values() for game in record.games]

    def store(self, record: referee.Record, logs: ProcessLogs) -> str | None:
        """Store a match's games so far, and return the path of the replay. A failure to write is only noted."""
        try:
            self._folder = self._folder or RecordFolder(self._path)
            self._folder.save(record, logs)
        except OSError as problem:
            print_note(f"the record can't be written: {os_error_reason(problem)}")
        self._records[record.header.match] = record
        return "/replay"

    def render_replay(self, is_reviewed: bool) -> str | None:
        """Return the page of the latest match, with a review if requested; None before the first match."""
        if not self._records:
            return None
        record = self._records[max(self._records)]
        person = len(record.header.bots) - 1
        review = review_in_process(referee.write_record(record), person) if is_reviewed else None
        shown = make_replay_object(record)
        shown["bots"][person] = "you"
        return replay_page([shown], "The match", review=review, home=("/table", "Back to the table"))


def play_in_browser(
    table: TableSetup, names: Sequence[str], games: int, show_names: bool, port: int, pace: str
) -> None:
    """Serve the table until the person ends it, and store what was played.

    names: of the bots, then of the person. pace: of PACES, how long events are shown. Exits with 2 without the extra
    `web`, with 1 if the port is in use.
    """
    try:
        from arena import tables
    except ModuleNotFoundError as missing:
        usage_error(f"--browser needs {missing.name}: {with_extra('web')}")
    records = _PlayedRecords(table.folder)

    def set_up_match(number: int) -> tables.MatchSetup:
        spec = table.spec(games, names, table.timings(1), show_names, number)
        return tables.MatchSetup(spec, table.starter(spec), records.store)

    def make_table(secret: str) -> tables.LiveTable:
        slots = [tables.Slot("bot", bot.name) for bot in table.bots]
        slots.append(tables.Slot("person", names[-1], secret))
        settings = replace(table.settings, open_names=show_names)
        table_settings = tables.TableSettings(settings, games, table.timings(1)[-1])
        return tables.LiveTable("here", slots, table_settings, tables.TableCallbacks(set_up_match), pace=pace)

    with _open_port(port) as listener:
        pages = _list_pages(table.settings.rules)
        tables.LocalServer(listener, pages, records.render_replay, make_table, _announce_table).run()
    if records.games:
        print_note(describe_records(table.folder, "all cards", records.games, len(names) - 1))
    else:
        print_note("no game was completed")


def _list_pages(rules: Ruleset) -> dict[str, Callable[[], str]]:
    """Return the functions that render the pages of a local table, by path."""
    title = "Coup" if rules.name == "coup" else f"Coup: {rules.name}"
    return {
        "/": start_page,
        "/table": partial(table_page, title, make_rules_object(rules), "/socket"),
        "/learn": partial(learn_page, ("/", "Coup"), "/table", "/puzzles"),
        "/puzzles": partial(puzzles_page, ("/learn", "Lessons")),
    }


def _announce_table(url: str) -> None:
    print_note(f"the table is at {url}; Ctrl-C ends it")
    _open_browser(url)


def _open_port(port: int) -> socket.socket:
    """Return a socket of this machine that listens at a port, 0 for any free one. Exits with 1 if that fails."""
    try:
        return socket.create_server(("127.0.0.1", port))
    except OSError as problem:
        fail(f"port {port}: {os_error_reason(problem)}; choose another --port, or 0 for any free port")
