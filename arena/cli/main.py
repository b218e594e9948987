"""Define the entry point of `arena`, and its group of commands, each of which is imported when it is called.

The group's help and shell completion need only one line for each command."""

import atexit
import errno
import gc
import os
import sys
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from importlib import import_module
from typing import Any

import click

from arena import __version__, is_compiled, is_compiled_stale, with_extra
from arena.cli.console import fail, os_error_reason, print_note, usage_error

_EXTRAS = {
    "httpx": "models",
    "sqlalchemy": "ladder",
    "alembic": "ladder",
    "prometheus_client": "ladder",
    "distributed": "cluster",
}
_EXTRAS |= dict.fromkeys(("fastapi", "starlette", "uvicorn", "jinja2", "multipart", "argon2", "authlib"), "web")


@contextmanager
def require_extras() -> Iterator[None]:
    """Exit with 2 and the command that installs it if a package of an extra is missing."""
    try:
        yield
    except ModuleNotFoundError as problem:
        extra = _EXTRAS.get(problem.name or "")
        if extra is None:
            raise
        usage_error(f"this command needs the package {problem.name}: {with_extra(extra)}")


class LazyCommand(click.Command):
    """The placeholder of a command, which imports the module of the command when it is called."""

    def __init__(self, name: str, module: str, short_help: str) -> None:
        super().__init__(name, short_help=short_help)
        self._module = module

    def load(self) -> click.Command:
        with require_extras():
            command: click.Command = getattr(import_module(self._module), str(self.name).replace("-", "_"))
        return command

    def make_context(
        self, info_name: str | None, args: list[str], parent: click.Context | None = None, **extra: Any
    ) -> click.Context:
        """Return a context of the loaded command, with which click continues."""
        if extra.get("resilient_parsing") and args and args[-1].startswith("-"):
            args = args[:-1]  # the value that is being completed: without it click would parse no other word
        return self.load().make_context(info_name, args, parent, **extra)


def lazy_commands(modules: Mapping[str, Mapping[str, str]]) -> Sequence[click.Command]:
    """Return commands from a table: module -> name -> its short help in the group's help."""
    return [LazyCommand(name, module, help) for module, helps in modules.items() for name, help in helps.items()]


COMMANDS = {
    "arena.cli.check": {"check": "Check that bots start and answer every kind of request."},
    "arena.cli.compare": {"compare": "Test whether a bot's new version is better than the old one."},
    "arena.cli.connect": {"connect": "Connect a local program to a table on a ladder server."},
    "arena.cli.doctor": {
        "doctor": "Check this machine: sandboxes, languages, timing noise.",
        "sandbox": "Build and list images of the Docker sandbox.",
    },
    "arena.cli.exploit": {"exploit": "Search for habits that beat a bot, and measure by how much."},
    "arena.cli.feed": {"feed": "Print the lines that a bot received in a recorded match."},
    "ladder.cli": {"ladder": "Run a ladder: accept submissions, check, play and rate bots."},
    "arena.cli.new": {"new": "Create a working bot from a template."},
    "arena.cli.odds": {"odds": "Calculate the probability that opponents hold each role."},
    "arena.cli.play": {"play": "Play against bots in the terminal or the browser."},
    "arena.cli.replay": {"replay": "Show recorded games as text or as an HTML page."},
    "arena.cli.review": {"review": "Find the decisions that cost a bot the most wins."},
    "arena.cli.rules": {"rules": "List the rulesets, or print the rules of one."},
    "arena.cli.run": {"run": "Play bots against each other and print the standings."},
    "arena.cli.stats": {"stats": "Print statistics on how bots play."},
    "arena.cli.study": {"study": "Plan, play and report a study of language models."},
    "arena.cli.submit": {"submit": "Submit a bot to a ladder server and show its checks."},
    "arena.cli.verify": {"verify": "Replay records and verify events and results."},
    "arena.cli.watch": {"watch": "Watch bots play, turn by turn."},
}


def main() -> None:
    """Run the command; the entry point of the distribution. Exits with the code of the command."""
    if sys.platform == "win32":
        click.echo("arena: Windows isn't supported; use WSL2 (wsl --install) and run arena there", err=True)
        sys.exit(2)
    _configure_process()
    if "_ARENA_COMPLETE" in os.environ:
        import_module("arena.cli.options")  # other commands don't need it
    if is_compiled_stale():
        print_note("the compiled referee is older than its sources, and runs in place of them: run make compiled")
    try:
        cli(prog_name="arena")
    except OSError as problem:
        if problem.errno != errno.ENOSPC:
            raise
        os.dup2(os.open(os.devnull, os.O_WRONLY), 1)  # Python flushes the rest of a help text at its end
        fail(os_error_reason(problem))


def _configure_process() -> None:
    """Set threads, garbage collection, standard input and standard output of this process for a command."""
    os.environ.setdefault("OPENBLAS_NUM_THREADS", "1")  # its threads would wait in loops, on cores that matches need
    gc.set_threshold(10_000)  # at the default 700, loading modules takes a tenth longer
    atexit.register(gc.freeze)  # else Python collects garbage in all modules twice before it ends
    if sys.stdin is None:  # closed by the caller, as some services do
        sys.stdin = os.fdopen(os.open(os.devnull, os.O_RDONLY), encoding="utf-8")
    if hasattr(sys.stdin, "reconfigure"):
        sys.stdin.reconfigure(errors="replace")  # a pasted text may be of another encoding
    if hasattr(sys.stdout, "reconfigure"):
        # The terminal's encoding may lack characters of a bot's name or a path.
        sys.stdout.reconfigure(errors="backslashreplace")


def show_version(context: click.Context, _parameter: click.Parameter, is_requested: bool) -> None:
    """Print the arena's version, the protocol's, and whether the referee is compiled, and exit."""
    if is_requested and not context.resilient_parsing:
        from protocol import PROTOCOL  # not imported to print the help

        kind = "compiled" if is_compiled() else "pure Python"
        click.echo(f"arena {__version__}, protocol {PROTOCOL}, {kind}")
        context.exit()


class Commands(click.Group):
    """A group that turns an interrupt or an error of the system into one line on stderr and an exit code."""

    def invoke(self, ctx: click.Context) -> Any:
        try:
            return super().invoke(ctx)
        except KeyboardInterrupt:
            print_note("interrupted")
            sys.exit(130)  # click's own code is 1
        except OSError as problem:
            if problem.filename is None and not isinstance(problem, FileNotFoundError):
                raise  # a bug, which needs its traceback; click handles a closed pipe
            fail(os_error_reason(problem))  # not 2, so that systemd restarts a service


@click.group(cls=Commands, context_settings={"help_option_names": ["-h", "--help"], "max_content_width": 100})
@click.option(
    "--version",
    is_flag=True,
    is_eager=True,
    expose_value=False,
    callback=show_version,
    help="Show the versions of the arena and the protocol, and whether the referee is compiled.",
)
def cli() -> None:
    """Play bot programs against each other at the card game Coup."""


for command in lazy_commands(COMMANDS):
    cli.add_command(command)
