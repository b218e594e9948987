"""Implement the `arena ladder` commands that create, run, serve, check, back up and restore a ladder.

`init` creates a ladder's folder, database, match settings and reference bots. `run` checks, plays and rates until it
is stopped. `serve` serves the pages and starts `run` and `serve-tables`, which runs the tables that users open.
`export-site` writes the pages as files. `doctor` reports the ladder's health. `backup` and `restore` convert a ladder
to one file and back. `upgrade` changes the database for a new version."""

import ctypes
import os
import signal
import subprocess
import sys
import threading
import time
from collections import deque
from collections.abc import Callable, Iterator
from contextlib import closing, contextmanager, nullcontext, suppress
from dataclasses import replace
from functools import partial
from pathlib import Path
from typing import Any

import click
from rich.console import RenderableType
from rich.text import Text
from sqlalchemy import Connection

from arena.checks import Finding
from arena.cli import options
from arena.cli.check import finding_lines, has_failure
from arena.cli.console import (
    ExistingPath,
    json_option,
    option,
    print_json,
    print_note,
    print_text,
    show_progress,
    treat_sigterm_as_sigint,
    usage_error,
)
from arena.cli.main import require_extras
from arena.cli.options import complete_bot, complete_rules
from arena.cli.run import count_cores, default_match_games
from arena.formatting import format_count
from arena.referee import SETTABLE_LIMITS, MatchSettings
from arena.run import load_ruleset, open_executor
from arena.sandbox import for_this_command, make_sandbox, scratch_folder, untrusted_problem
from arena.schedule import require_even_match_games
from arena.workers import Idle
from arena.workers.cluster import Tls
from ladder import runner_events
from ladder.backups import BackupFile, restore_backup, write_backup
from ladder.bots import read_reference, save_reference
from ladder.checkup import Checkup, check_ladder
from ladder.cli.common import FOLDER_ARGUMENT, Journal, open_ladder_or_exit, user_friendly_errors
from ladder.health import serve_metrics
from ladder.ladder import (
    STAFF_USER,
    CreatedLadder,
    LadderFormat,
    PruneResult,
    create_ladder,
    prune_expired,
    require_sandbox,
)
from ladder.runner import LadderRunner, RunnerMetrics
from ladder.store import RETRY_TIMEOUT_S
from ladder.upgrade import LadderUpgrade, upgrade_ladder
from ladder.users import issue_secret

REFERENCES = ("sample:random_bot", "sample:turtle", "sample:honest", "sample:opportunist")


@click.command(cls=options.GroupedCommand)
@click.argument("folder", metavar="LADDER", type=click.Path(path_type=Path))
@option(
    "--rules", metavar="NAME|FILE", shell_complete=complete_rules, default="coup", help="Preset, or a ruleset in TOML."
)
@option("--seats", type=click.IntRange(2, 10), metavar="N", default=4, help="Number of bots at a table.")
@option("--match-games", type=click.IntRange(1), metavar="N", help="Number of games in a match.  [12, in Docker 24]")
@option(
    "--reference",
    "references",
    multiple=True,
    metavar="BOT",
    shell_complete=complete_bot,
    help=f"Reference bot, which sets the rating scale; can be repeated.  [{' '.join(REFERENCES)}]",
)
@option("--database", metavar="URL", help="Such as postgresql+psycopg://USER@HOST/NAME.  [a file in the folder]")
@options.sandbox_options
@options.limit_options
@option("--clock", type=click.Choice(["auto", "own", "wall"]), help="Time charged: a bot's own, or wall time.  [auto]")
@option("--ponder", is_flag=True, help="Allow bots to compute while they wait for a request.")
@option("--strict", is_flag=True, help="Make the first fault forfeit the game.")
@json_option(CreatedLadder)
def init(folder: Path, references: tuple[str, ...], database: str | None, as_json: bool, **given: Any) -> None:
    """Create a ladder in a new folder.

    Its rules, limits, seats and sandbox can't be changed later. LADDER/ladder.toml has the other settings, such as
    quotas and deadlines. Untrusted bots need a sandbox that isolates, with control groups. Use --sandbox process only
    for authors that you trust.
    """
    with user_friendly_errors():
        read = [read_reference(reference) for reference in references or REFERENCES]
        choice, reasons = options.choose_sandbox(given["sandbox"], given["docker_runtime"], given["docker_image"])
        if not choice.isolates and given["sandbox"] in (None, "auto"):
            why = "; ".join(f"{name}: {reason}" for name, reason in reasons.items())
            usage_error(
                f"no sandbox that isolates untrusted bots works on this machine ({why}).\n"
                "Run arena doctor; for authors that you trust, add --sandbox process."
            )
        reason = untrusted_problem(choice) if choice.isolates else None
        if reason is not None:
            usage_error(
                f"the sandbox {choice.name} doesn't isolate untrusted bots on this machine: "
                f"{for_this_command(reason)}\nRun arena doctor."
            )
        with scratch_folder() as scratch, closing(make_sandbox(choice, scratch)) as box:
            play = _make_format(given, choice, box)

        def fill(connection: Connection) -> None:
            for reference in read:
                save_reference(connection, reference, time.time())

        with closing(create_ladder(folder, play, database, fill)) as ladder:
            if as_json:
                print_json(CreatedLadder(str(folder), ladder.commitment))
                return
            print_note(
                f"created {folder}: {play.settings.rules.name} at {play.seats} seats, games a match: {play.match_games}"
            )
            print_note(f"SHA-256 of the key of all deals: {ladder.commitment}")
            print_note(f"next: arena ladder serve {folder}, then set the ladder up in the browser")
            print_note(
                f"for friends without accounts: public and allow_guests in {folder}/ladder.toml, or on that page"
            )
            print_note(f"without pages: arena ladder users import {folder} roster.csv; arena ladder run {folder}")


def _make_format(given: dict[str, Any], choice: Any, box: Any) -> Any:
    """Return the format of the ladder's matches. Exits with 2 if it can't be played."""
    flags = {name: given[name] for name in SETTABLE_LIMITS}
    rules = load_ruleset(given["rules"])
    problem = rules.problem(given["seats"])
    if problem:
        usage_error(problem)
    timing, limits = options.combine_limits(flags, given["rules"])
    options.require_enforced_limits(flags, box)
    own = box.reports_wait_time if given["clock"] in (None, "auto") else given["clock"] == "own"
    timing = replace(timing, own=own, ponder=given["ponder"])
    options.require_own_clock(timing, box)
    settings = MatchSettings(
        rules=rules, timing=timing, limits=limits, lives=1 if given["strict"] else MatchSettings().lives
    )
    match_games = given["match_games"] or default_match_games(choice.name, given["seats"])
    try:
        require_even_match_games(given["seats"], match_games)
    except ValueError as problem:
        usage_error(f"--match-games: {problem}")
    return LadderFormat(settings, choice, given["seats"], match_games)


FILE = ExistingPath("Name a file.", dir_okay=False)
STATUS_S = 60.0  # between two lines of progress if there is no terminal
MAX_FAILED_ATTEMPTS = 20  # in a row: then this machine is the cause, and the runner stops


@click.command()
@FOLDER_ARGUMENT
@option("--jobs", type=click.IntRange(1), metavar="N", help="Matches to play in parallel.  [number of cores]")
@option("--matches", type=click.IntRange(1), metavar="N", help="Stop after N matches.")
@option(
    "--until",
    type=click.Choice(["idle", "decided"]),
    help="idle: stop when no check, challenge or final is pending. decided: stop when the leader is within 2 "
    "points of the "
    "best with a probability of 98 %.",
)
@option(
    "--executor",
    type=click.Choice(["local", "dask"]),
    help="Play matches on this machine, or on a Dask cluster.  [dask with --scheduler, else local]",
)
@option("--scheduler", metavar="ADDRESS", help="The Dask scheduler, such as tcp://10.0.0.1:8786.")
@option("--tls-ca", type=FILE, help="PEM file of the certificate authority of the cluster.")
@option("--tls-cert", type=FILE, help="PEM file of the runner's certificate.")
@option("--tls-key", type=FILE, help="PEM file of the certificate's key.")
@option("--metrics", metavar="[ADDRESS:]PORT", help="Serve Prometheus metrics, by default on 127.0.0.1.")
@option("--verbose", is_flag=True, help="Log each match.")
@json_option(runner_events.RunnerEventEntry, about="Print JSON on stdout, one line for each event.")
def run(
    *,
    folder: Path,
    jobs: int | None,
    matches: int | None,
    until: str | None,
    executor: str | None,
    scheduler: str | None,
    tls_ca: Path | None,
    tls_cert: Path | None,
    tls_key: Path | None,
    metrics: str | None,
    verbose: bool,
    as_json: bool,
) -> None:
    """Check submissions, play matches and rate bots.

    Ctrl-C or SIGTERM stops the runner after the matches in progress; a second one stops it immediately. The next run
    continues, even after kill -9. Unless stderr is a terminal, each line has a time, a level and ids.

    Exit codes: 0 done, or stopped by the first signal; 1 this machine or the database failed; 2 wrong use; 130 stopped
    by the second signal.
    """
    if (executor == "dask") != (scheduler is not None) and executor is not None:
        usage_error(
            "--executor dask requires --scheduler ADDRESS, and --executor local excludes it.\nAdd or remove it."
        )
    log = Journal()

    with open_ladder_or_exit(folder, RETRY_TIMEOUT_S, log) as ladder:
        tls = _make_tls(scheduler, tls_ca, tls_cert, tls_key)
        if scheduler is None:
            require_sandbox(ladder)
        with open_executor(ladder.play.sandbox, jobs or count_cores(), scheduler, tls) as pool:
            service = LadderRunner(ladder, pool, matches, until)
            log.runner = service.runner[:8]
            exported = RunnerMetrics(service)
            with nullcontext() if metrics is None else serve_metrics(exported.registry, metrics) as url:
                log.info(f"running {folder} as process {os.getpid()}{f', metrics at {url}' if url else ''}")
                _log_other_runners(service, log)
                asked = _stop_on_signal(service)
                try:
                    status = _run_to_end(
                        service, exported, log, verbose, as_json=as_json, asked=asked, alone=scheduler is None
                    )
                except KeyboardInterrupt:
                    log.warn("stopped immediately: matches in progress will be played again")
                    status = 130
    log.info(f"stopped; print the standings: arena ladder standings {folder}")
    sys.exit(status)


def _log_other_runners(service: LadderRunner, log: Journal) -> None:
    others = service.other_runners()
    if not others:
        return
    text = f"other runners play this ladder, too: {', '.join(others)}"
    if service.ladder.database.sqlite is None:
        log.info(text)
    else:
        log.warn(f"{text}; with SQLite they wait for each other's writes; PostgreSQL is made for several runners")


def _make_tls(scheduler: str | None, ca: Path | None, cert: Path | None, key: Path | None) -> Tls | None:
    """Return the files of a cluster's certificates. Exits with 2 if some are missing."""
    paths = (ca, cert, key)
    if any(paths) and scheduler is None:
        usage_error(
            "--tls-ca, --tls-cert and --tls-key work only with --scheduler.\nAdd --scheduler, or leave them out."
        )
    if not any(paths):
        return None
    if ca is None or cert is None or key is None:
        usage_error("TLS requires --tls-ca, --tls-cert and --tls-key.\nGive all three.")
    return Tls(ca, cert, key)


def _stop_on_signal(service: LadderRunner) -> Callable[[], bool]:
    """Make Ctrl-C, SIGTERM and the server's death stop the service; return a function that returns whether one came."""
    came = False

    def stop(number: int, _frame: object) -> None:
        nonlocal came
        came = True  # printed by the loop, because a handler may interrupt a print
        service.stop()
        for second in (signal.SIGINT, signal.SIGTERM) if number != SERVER_DEATH_SIGNAL else ():
            signal.signal(second, signal.default_int_handler)

    for number in (signal.SIGINT, signal.SIGTERM, SERVER_DEATH_SIGNAL):
        signal.signal(number, stop)
    return lambda: came


def _run_to_end(
    service: LadderRunner,
    metrics: RunnerMetrics,
    log: Journal,
    verbose: bool,
    *,
    as_json: bool,
    asked: Callable[[], bool],
    alone: bool,
) -> int:
    """Run the service to its end; return the exit code.

    asked: returns whether a signal came. alone: no other machine plays.
    """
    played = failed_in_row = 0
    has_failed = has_announced_stop = False
    idle_reason: str | None = None  # why no match can be played

    def describe_progress() -> str:
        games = format_count(played * service.ladder.play.match_games, "game")
        return f"{format_count(played, 'match', 'es')}, {games}; {service.summary()}"

    def draw_progress() -> RenderableType:
        return Text(describe_progress())

    with (
        show_progress(draw_progress, describe_progress, say=log.info, say_s=STATUS_S) as redraw,
        closing(service.events()) as events,
    ):
        for event in events:
            metrics.count(event)
            if asked() and not has_announced_stop:
                has_announced_stop = True
                log.info("stopping after the matches in progress; send the signal again to stop immediately")
            _log_event(event, log, verbose)
            if as_json and not isinstance(event, Idle):
                kind = runner_events.event_kind(type(event))
                print_json(runner_events.RunnerEventEntry(kind, service.ladder.clock(), event))
            match event:
                case runner_events.MatchFinished(new=new):
                    played += new
                    failed_in_row = 0
                case runner_events.CheckFinished():
                    failed_in_row = 0
                case runner_events.WorkerRefused() if alone and not has_failed:
                    has_failed = True
                    service.stop()
                case runner_events.AttemptFailed() | runner_events.WorkerRefused():
                    failed_in_row += 1
                case Idle() if not service.queue.running and service.queue.empty:
                    old_reason, idle_reason = idle_reason, service.queue.no_match_reason()
                    if idle_reason not in (None, old_reason):
                        log.warn(f"no matches can be played: {idle_reason}")
            redraw()
            if failed_in_row >= MAX_FAILED_ATTEMPTS and not has_failed:
                has_failed = True
                log.error(f"stopping: {MAX_FAILED_ATTEMPTS} attempts failed in a row on this machine; run arena doctor")
                service.stop()
    return 1 if has_failed else 0


def _log_event(event: runner_events.RunnerUpdate, log: Journal, verbose: bool) -> None:
    """Log a runner's event. verbose: also each match; events that the other commands show aren't logged."""
    match event:
        case runner_events.MatchFinished(id, new) if verbose:
            log.info("finished" if new else "was finished before", match=id)
        case runner_events.CheckFinished(version_ref, reason, plays):
            state = "and active" if plays else "but not active: the bot is disabled or has a newer version"
            result = f"accepted, {state}" if reason is None else f"rejected: {reason}"
            log.info(result, version=version_ref)
        case runner_events.VersionAutoDisabled(version_ref, reason):
            log.warn(f"auto-disabled: {reason}", version=version_ref)
        case runner_events.AttemptFailed(id, is_check, reason, abandoned):
            text = f"attempt failed{', abandoned' if abandoned else ''}: {reason}"
            log.warn(text, **{"check" if is_check else "match": id})
        case runner_events.WorkerRefused(reason):
            log.warn(f"a worker refused to start: {reason}")
        case runner_events.WorkerExcluded(worker, reason):
            log.warn(f"excluded from matches: {reason}", worker=worker)
        case runner_events.DependencyLost(text):
            log.warn(text)
        case runner_events.DependencyRestored(text):
            log.info(text)
        case runner_events.ClockBehind(seconds):
            log.warn(
                f"this machine's clock is {seconds:.0f} s behind the database's newest entry; run arena ladder doctor"
            )
        case runner_events.SettingsUnreadable(reason):
            log.warn(f"ladder.toml is invalid; the previous settings stay in use: {reason}")
        case PruneResult(records, logs):
            log.info(f"removed expired records of {format_count(records, 'match', 'es')} and logs of {logs}")


@click.command()
@FOLDER_ARGUMENT
def serve_tables(folder: Path) -> None:
    """Serve live tables without the web pages.

    The command runs the tables that users open on the ladder's pages until Ctrl-C or SIGTERM. `arena ladder serve` also
    starts it. A match in progress when it stops is void; its finished games are kept.
    """
    with require_extras():
        from ladder.tables import server
    log = Journal()

    with open_ladder_or_exit(folder, RETRY_TIMEOUT_S, log) as ladder:
        require_sandbox(ladder)
        server.serve_tables(ladder, log.info)


MAX_SHUTDOWN_S = 60.0  # for a runner to end its matches when the server ends
EXIT_POLL_S = 0.5  # between two polls of a process
RESTART_PAUSE_S = 0.5
SERVER_DEATH_SIGNAL = signal.SIGUSR1  # to a runner, which a second SIGTERM would stop at once
MAX_RESTARTS, HOUR_S = 5, 3600.0  # restarts within this time, at most


@click.command()
@FOLDER_ARGUMENT
@option("--host", metavar="ADDRESS", default="127.0.0.1", help="Address to listen on.")
@option("--port", type=click.IntRange(0, 65535), metavar="N", default=8000, help="Port to listen on.")
@option("--tls-cert", type=FILE, help="PEM file of the server's certificate.")
@option("--tls-key", type=FILE, help="PEM file of the certificate's key.")
@option("--insecure", is_flag=True, help="Allow addresses other than 127.0.0.1 without TLS.")
@option("--no-runner", is_flag=True, help="Serve only the pages, without runner and live tables.")
@option("--no-tables", is_flag=True, help="Serve no live tables.")
@option("--jobs", type=click.IntRange(1), metavar="N", help="Matches to play in parallel.  [number of cores]")
@option("--metrics", metavar="[ADDRESS:]PORT", help="Serve Prometheus metrics of the pages, by default on 127.0.0.1.")
def serve(
    *,
    folder: Path,
    host: str,
    port: int,
    tls_cert: Path | None,
    tls_key: Path | None,
    insecure: bool,
    no_runner: bool,
    no_tables: bool,
    jobs: int | None,
    metrics: str | None,
) -> None:
    """Serve the web pages and run the ladder.

    The command also starts a runner and the live tables. On a terminal it prints a sign-in link for staff; elsewhere
    use `arena ladder access add LADDER staff`. Ctrl-C or SIGTERM stops everything, the runner after the matches in
    progress. /healthz and /readyz answer probes.
    """
    with require_extras():
        from ladder.web import ServerAddress, serve_web
    if (tls_cert is None) != (tls_key is None):
        usage_error("TLS requires --tls-cert and --tls-key.\nGive both.")
    log = Journal()
    with open_ladder_or_exit(folder, log=log) as ladder:
        address = ServerAddress(host, port, tls_cert, tls_key, ladder.settings.web.base_url)
        address.require_secure(insecure)
        if not no_runner:
            require_sandbox(ladder)

        def begun(url: str) -> None:
            log.info(f"the ladder {ladder.name}: {url}")
            if sys.stderr.isatty():
                link = issue_secret(ladder, STAFF_USER.login, "link", "serve").secret
                print_note(f"sign in as staff (works once, for a day): {url}/sign-in?link={link}")
                print_note("stop it with Ctrl-C")
            else:
                log.info(f"a sign-in link for staff: arena ladder access add {folder} {STAFF_USER.login}")

        treat_sigterm_as_sigint()
        runner = [] if no_runner else ["run", str(folder), *(["--jobs", str(jobs)] if jobs else [])]
        tables = [] if no_runner or no_tables else ["serve-tables", str(folder)]
        with (
            _keep_running("runner", runner, partial(_begin_runner, ladder.play.settings.timing.own), log),
            _keep_running("table server", tables, partial(_end_with_server, signal.SIGTERM), log),
            suppress(KeyboardInterrupt),  # uvicorn ends, and passes the signal on
        ):
            serve_web(ladder, address, begun, metrics)


@contextmanager
def _keep_running(what: str, words: list[str], begin: Callable[[], None], log: Journal) -> Iterator[None]:
    """Run a command of the ladder next to the pages, restart it when it ends, and stop it with the pages.

    After MAX_RESTARTS within an hour it isn't restarted; the staff page shows which runners are alive.
    """
    if not words:
        yield
        return
    ending = threading.Event()
    keeper = threading.Thread(target=_restart_until, args=(ending, what, words, begin, log), name=what)
    keeper.start()
    try:
        yield
    finally:
        ending.set()
        keeper.join()


def _restart_until(
    ending: threading.Event, what: str, words: list[str], begin: Callable[[], None], log: Journal
) -> None:
    """Start the process, and again whenever it exits, until `ending` is set or it exits too often in an hour.

    Needs a thread that lives as long as the process: the kernel ends the process with the thread that started it.
    """
    restarts: deque[float] = deque(maxlen=MAX_RESTARTS)
    while not ending.is_set():
        process = _start_process(words, begin)
        if not _wait_for_exit(process, ending):
            _end_process(process)
        elif not ending.wait(RESTART_PAUSE_S):
            now = time.monotonic()
            if len(restarts) == MAX_RESTARTS and now - restarts[0] < HOUR_S:
                log.error(
                    f"the {what} exited with {process.returncode} for the {MAX_RESTARTS + 1}th time in an hour, "
                    "and isn't restarted"
                )
                return
            restarts.append(now)
            log.warn(f"the {what} exited with {process.returncode}, and is restarted")


def _wait_for_exit(process: "subprocess.Popen[bytes]", ending: threading.Event) -> bool:
    """Wait until a process exits or `ending` is set; return whether it has exited."""
    while process.poll() is None:
        if ending.wait(EXIT_POLL_S):
            return process.poll() is not None
    return True


def _start_process(words: list[str], begin: Callable[[], None]) -> "subprocess.Popen[bytes]":
    command = [sys.executable, "-m", "arena.cli", "ladder", *words]
    return subprocess.Popen(command, stdin=subprocess.DEVNULL, start_new_session=True, preexec_fn=begin)


def _end_process(process: "subprocess.Popen[bytes]") -> None:
    process.terminate()
    try:
        process.wait(MAX_SHUTDOWN_S)
    except (subprocess.TimeoutExpired, KeyboardInterrupt):
        process.terminate()  # a second SIGTERM would stop it immediately
        process.wait()


def _begin_runner(has_own_time: bool) -> None:
    """End with the server, and yield to pages and tables if bots have own time: they aren't charged for waiting."""
    if has_own_time:
        os.nice(5)  # a third of the server's weight
    _end_with_server(SERVER_DEATH_SIGNAL)


def _end_with_server(number: int) -> None:
    """Request a signal from the kernel when the server is killed (Linux): the next server starts new processes.

    The kernel may send the signal several times, once for each thread of the server that dies.
    """
    if sys.platform == "linux":
        pr_set_pdeathsig = 1  # linux/prctl.h
        ctypes.CDLL(None).prctl(pr_set_pdeathsig, number)


@click.command()
@FOLDER_ARGUMENT
@click.argument("to", metavar="DIR", type=click.Path(path_type=Path, file_okay=False))
def export_site(folder: Path, to: Path) -> None:
    """Export the public pages as static files.

    They contain the standings, bots, finals and the newest 200 matches. Run the command again to update them: each file
    is replaced atomically.
    """
    with require_extras():
        from ladder.web import export_static_site
    with open_ladder_or_exit(folder) as ladder:
        count = export_static_site(ladder, to)
    print_note(f"wrote {format_count(count, 'file')} to {to}; open {to / 'index.html'}")


@click.command()
@FOLDER_ARGUMENT
@option("--deep", is_flag=True, help="Also recompute all totals and standings, and compare.")
@option("--prune", is_flag=True, help="First remove records and logs that have expired (retention in ladder.toml).")
@json_option(Checkup)
def doctor(folder: Path, deep: bool, prune: bool, as_json: bool) -> None:
    """Check a ladder's health: disks, clock, sandbox, queue.

    It also checks the database and the runners. The ladder may be running. Exit code 1 if a check fails, else 0.
    """
    if prune:
        with open_ladder_or_exit(folder) as ladder:
            pruned = prune_expired(ladder)
        print_note(
            f"removed expired records of {format_count(pruned.records, 'match', 'es')} and logs of {pruned.logs}"
        )
    with user_friendly_errors():
        results: list[Finding] = []
        for finding in check_ladder(folder, deep):
            results.append(finding)
            if not as_json:
                print_text("\n".join(finding_lines(finding)))
    if as_json:
        print_json(Checkup(tuple(results)))
    sys.exit(1 if has_failure(results) else 0)


NEW_FILE = click.Path(path_type=Path, dir_okay=False)


@click.command()
@FOLDER_ARGUMENT
@click.argument("file", metavar="FILE", type=NEW_FILE)
@json_option(BackupFile)
def backup(folder: Path, file: Path, as_json: bool) -> None:
    """Back up the ladder to a tar file.

    The ladder may be running. FILE can be restored to SQLite or PostgreSQL. It contains the key of all deals: store it
    where no other user can read it.
    """
    with open_ladder_or_exit(folder) as ladder:
        size = write_backup(ladder, file)
    if as_json:
        print_json(BackupFile(str(file), size))
    else:
        print_note(f"wrote {file}: {size / 1e6:.1f} MB; restore it: arena ladder restore {file} NEW-FOLDER")


@click.command()
@FOLDER_ARGUMENT
@option("--backup", type=NEW_FILE, metavar="FILE", help="Backup to write first.  [a file in the ladder's folder]")
@option("--dry-run", is_flag=True, help="Only print what would be done.")
@json_option(LadderUpgrade)
def upgrade(folder: Path, backup: Path | None, dry_run: bool, as_json: bool) -> None:
    """Upgrade the ladder's database for this version of the arena.

    First stop the ladder's processes: the command names those that it finds and changes nothing. It writes a backup
    before it changes the database, completely or not at all. Only this command upgrades a ladder.
    """
    with user_friendly_errors():
        done = upgrade_ladder(folder, backup, dry_run, print_note, click.get_current_context().command_path)
    if as_json:
        print_json(done)


@click.command()
@click.argument("file", metavar="FILE", type=NEW_FILE)
@FOLDER_ARGUMENT
@option("--database", metavar="URL", help="Empty database to restore into.  [a file in the folder]")
@json_option(CreatedLadder)
def restore(file: Path, folder: Path, database: str | None, as_json: bool) -> None:
    """Restore a ladder from a backup.

    FILE comes from `arena ladder backup`; LADDER is a new folder. Matches that were in progress are played again. A
    backup of SQLite can be restored to PostgreSQL, and the reverse. Run only one of the two ladders: both would play
    the same matches.
    """
    with user_friendly_errors(), closing(restore_backup(file, folder, database)) as ladder:
        commitment = ladder.commitment
    if as_json:
        print_json(CreatedLadder(str(folder), commitment))
    else:
        print_note(f"restored {folder}; SHA-256 of the key of all deals: {commitment}")
        print_note(f"next: arena ladder doctor {folder}; arena ladder run {folder}")
