"""Implement `arena ladder serve` (the pages and a runner) and `arena ladder export-site` (the pages as files)."""

import ctypes
import os
import signal
import subprocess
import sys
import threading
import time
from collections import deque
from collections.abc import Callable, Iterator
from contextlib import contextmanager, suppress
from pathlib import Path

import click

from arena.cli.console import option, print_note, treat_sigterm_as_sigint, usage_error
from arena.cli.ladder.common import FOLDER_ARGUMENT, open_ladder_or_exit
from arena.cli.main import require_extras
from arena.cli.rules import plain_rules_text
from ladder.service import STAFF_USER, issue_secret, require_sandbox

FILE = click.Path(path_type=Path, exists=True, dir_okay=False)
_NICE = 5  # a third of the server's weight
MAX_SHUTDOWN_S = 60.0  # for a runner to end its matches when the server ends
RESTART_PAUSE_S = 0.5  # between two polls of a process, and before a restart
MAX_RESTARTS, HOUR_S = 5, 3600.0  # restarts within this time, at most


@click.command()
@FOLDER_ARGUMENT
@option("--host", metavar="ADDRESS", default="127.0.0.1", help="Address to listen on.")
@option("--port", type=click.IntRange(0, 65535), metavar="N", default=8000, help="Port to listen on.")
@option("--tls-cert", type=FILE, help="PEM file of the server's certificate.")
@option("--tls-key", type=FILE, help="PEM file of its key.")
@option("--insecure", is_flag=True, help="Allow listening without TLS on other addresses than 127.0.0.1.")
@option("--no-runner", is_flag=True, help="Serve only the pages: start no runner and no tables.")
@option("--no-tables", is_flag=True, help="Start no tables for people.")
@option("--jobs", type=click.IntRange(1), metavar="N", help="Matches to play in parallel.  [number of cores]")
def serve(
    folder: Path,
    host: str,
    port: int,
    tls_cert: Path | None,
    tls_key: Path | None,
    insecure: bool,
    no_runner: bool,
    no_tables: bool,
    jobs: int | None,
) -> None:
    """Serve the ladder's pages, and start its runner and its tables for people.

    On a terminal it prints a link with which staff signs in; else use arena ladder access add LADDER staff. Ctrl-C or
    SIGTERM stops everything, the runner after the matches in progress.
    """
    with require_extras():
        from ladder.web import ServerAddress, serve_web
    if (tls_cert is None) != (tls_key is None):
        usage_error("TLS needs both --tls-cert and --tls-key")
    with open_ladder_or_exit(folder) as ladder:
        address = ServerAddress(host, port, tls_cert, tls_key, ladder.settings.web.base_url)
        address.check(insecure)
        if not no_runner:
            require_sandbox(ladder)

        def begun(url: str) -> None:
            print_note(f"the ladder {ladder.name}: {url}")
            if sys.stderr.isatty():
                link = issue_secret(ladder, STAFF_USER.login, "link", "serve").secret
                print_note(f"sign in as staff, once within a day: {url}/sign-in?link={link}")
            print_note("Ctrl-C ends it")

        treat_sigterm_as_sigint()
        runner = [] if no_runner else ["run", str(folder), *(["--jobs", str(jobs)] if jobs else [])]
        tables = [] if no_runner or no_tables else ["serve-tables", str(folder)]
        gives_way = (
            _lower_priority if ladder.play.terms.timing.own else _end_with_parent
        )  # pages and tables come first then
        # uvicorn ends, and passes the signal on
        with (
            _kept_running("runner", runner, gives_way),
            _kept_running("process for tables", tables, _end_with_parent),
            suppress(KeyboardInterrupt),
        ):
            serve_web(ladder, address, begun, plain_rules_text)


@contextmanager
def _kept_running(what: str, words: list[str], begin: Callable[[], None]) -> Iterator[None]:
    """Run a command of the ladder next to the pages, restart it when it ends, and stop it with the pages.

    After MAX_RESTARTS within an hour it isn't restarted; the staff page shows which runners are alive.
    """
    ending = threading.Event()
    restarts: deque[float] = deque(maxlen=MAX_RESTARTS)

    def keep() -> None:  # a thread that lives as long as its processes: the kernel ends them with it
        while not ending.is_set():
            process = _start(words, begin)
            while process.poll() is None and not ending.wait(RESTART_PAUSE_S):
                pass
            if process.poll() is None:
                _end(process)
            elif not ending.wait(RESTART_PAUSE_S):
                now = time.monotonic()
                if len(restarts) == MAX_RESTARTS and now - restarts[0] < HOUR_S:
                    print_note(
                        f"the {what} has ended with {process.returncode}, {MAX_RESTARTS + 1} times an hour: it stays "
                        "down"
                    )
                    return
                restarts.append(now)
                print_note(f"the {what} has ended with {process.returncode}, and starts again")

    keeper = threading.Thread(target=keep, name=what)
    if words:
        keeper.start()
    try:
        yield
    finally:
        ending.set()
        if words:
            keeper.join()


def _start(words: list[str], begin: Callable[[], None]) -> "subprocess.Popen[bytes]":
    command = [sys.executable, "-m", "arena.cli", "ladder", *words]
    return subprocess.Popen(command, stdin=subprocess.DEVNULL, start_new_session=True, preexec_fn=begin)


def _end(process: "subprocess.Popen[bytes]") -> None:
    process.terminate()
    try:
        process.wait(MAX_SHUTDOWN_S)
    except (subprocess.TimeoutExpired, KeyboardInterrupt):
        process.terminate()  # a second one stops it at once
        process.wait()


def _lower_priority() -> None:
    """Yield to pages and tables, and end with the server. With own time, waiting isn't charged to bots."""
    os.nice(_NICE)
    _end_with_parent()


def _end_with_parent() -> None:
    """Request SIGTERM from the kernel when the server is killed (Linux): the next server starts new processes."""
    if sys.platform == "linux":
        pr_set_pdeathsig = 1  # linux/prctl.h
        ctypes.CDLL(None).prctl(pr_set_pdeathsig, signal.SIGTERM)


@click.command()
@FOLDER_ARGUMENT
@click.argument("to", metavar="DIR", type=click.Path(path_type=Path, file_okay=False))
def export_site(folder: Path, to: Path) -> None:
    """Write the public pages as static files: standings, bots, finals, the newest 200 matches.

    Run it again to update the files: each is replaced atomically.
    """
    with require_extras():
        from ladder.web import export_static_site
    with open_ladder_or_exit(folder) as ladder:
        count = export_static_site(ladder, to)
    print_note(f"{to}: {count} files; open {to / 'index.html'}")
