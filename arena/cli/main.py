"""The command `arena` itself: its entry point, and the group that holds all commands."""

import sys
from typing import Any

import click

from arena import __version__
from arena.cli.check import check
from arena.cli.doctor import doctor
from arena.cli.images import sandbox
from arena.cli.ladder import ladder
from arena.cli.new import new
from arena.cli.odds import odds
from arena.cli.out import fail, note, reason
from arena.cli.play import play
from arena.cli.replay import replay
from arena.cli.rules import rules
from arena.cli.run import run
from arena.cli.stats import stats
from arena.cli.verify import verify
from arena.cli.watch import watch


def main() -> None:
    """Run the command; the entry point of the distribution."""
    if sys.platform == "win32":
        click.echo("arena: Windows isn't supported; use WSL2 (wsl --install), where arena runs as on Linux", err=True)
        sys.exit(2)
    if hasattr(sys.stdout, "reconfigure"):
        # A bot's name or a path may be more than the terminal can show.
        sys.stdout.reconfigure(errors="backslashreplace")
    cli(prog_name="arena")


def show_version(context: click.Context, _parameter: click.Parameter, wanted: bool) -> None:
    """Print the arena's version and the protocol's, and exit."""
    if wanted and not context.resilient_parsing:
        from protocol import PROTOCOL

        click.echo(f"arena {__version__}, protocol {PROTOCOL}")
        context.exit()


class Commands(click.Group):
    """A group whose commands end in one line, wherever they are interrupted or the system refuses them a file."""

    def invoke(self, ctx: click.Context) -> Any:
        """Run the command."""
        try:
            return super().invoke(ctx)
        except KeyboardInterrupt:
            note("interrupted")
            sys.exit(130)  # click's own code is 1
        except OSError as problem:
            if problem.filename is None and not isinstance(problem, FileNotFoundError):
                raise  # it says too little without its traceback; click knows the reader that has gone
            fail(reason(problem))  # and not wrong use: a service that ends so is started again


@click.group(cls=Commands, context_settings={"help_option_names": ["-h", "--help"], "max_content_width": 100})
@click.option(
    "--version",
    is_flag=True,
    is_eager=True,
    expose_value=False,
    callback=show_version,
    help="Show the versions of the arena and of the protocol.",
)
def cli() -> None:
    """Play bot programs against each other at the card game Coup."""


for command in (new, check, run, play, watch, replay, stats, ladder, verify, rules, odds, doctor, sandbox):
    cli.add_command(command)
