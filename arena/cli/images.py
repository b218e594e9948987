"""The commands `arena sandbox ...`: the images that Docker boxes are made from. Part of the composition root.

Exit codes: 0 ok, 1 a build or a check failed, 2 wrong use or no engine. Data goes to stdout, progress to stderr.
"""

import sys
import time
from typing import TYPE_CHECKING, NoReturn

import click

if TYPE_CHECKING:
    from rich.table import Table

_WIDE = 10_000  # columns for a pipe or a file, so that no line is folded or cut
_LANGUAGES = ("python", "node", "native", "java")  # as arena.sandbox.docker has them; `arena --help` imports nothing


@click.group()
def sandbox() -> None:
    """Prepare what keeps bots apart."""


@sandbox.group()
def image() -> None:
    """Build, list and check the images of Docker boxes: one a language.

    Without a LANGUAGE a command is about all of them; native runs compiled bots and shell scripts.
    """


@image.command()
@click.argument("languages", nargs=-1, metavar="[LANGUAGE]...", type=click.Choice(_LANGUAGES))
@click.option(
    "--base", metavar="IMAGE", help="Image to start from; what it has isn't installed.  [debian:bookworm-slim]"
)
@click.option("--network", metavar="MODE", help="Network of the build: none, host, ...  [the engine's default]")
@click.option("--verbose", "-v", is_flag=True, help="Show all that the builds say.")
def build(languages: tuple[str, ...], base: str | None, network: str | None, verbose: bool) -> None:
    """Build the images."""
    from arena.sandbox import SandboxError
    from arena.sandbox.docker import image as images

    _need_engine()

    def say(line: str) -> None:
        if verbose:
            click.echo(f"  {line}", err=True)

    failed = False
    for language in languages or _LANGUAGES:
        click.echo(f"building {images.tag(language)}", err=True)
        try:
            made = images.build(language, base, network, say)
        except SandboxError as problem:
            click.echo(f"arena: {problem}", err=True)
            failed = True
        else:
            click.echo(f"{images.tag(language)} {_short(made)}")
    sys.exit(1 if failed else 0)


@image.command("list")
def list_() -> None:
    """Print which images there are."""
    from rich.table import Table

    from arena.sandbox.docker import image as images

    _need_engine()
    table = Table(box=None, pad_edge=False)
    for column, justify in (
        ("language", "left"),
        ("image", "left"),
        ("id", "left"),
        ("size", "right"),
        ("built", "left"),
    ):
        table.add_column(column, justify=justify, no_wrap=True)  # type: ignore[arg-type]  # a literal of rich's
    missing = []
    for found in images.listing():
        if found.id is None or found.size is None or found.built is None:
            missing.append(found.language)
            table.add_row(found.language, found.tag, "missing", "", "")
        else:
            built = time.strftime("%Y-%m-%d %H:%M", time.localtime(found.built))
            table.add_row(found.language, found.tag, _short(found.id), f"{found.size / 1e6:.0f} MB", built)
    _print(table)
    if missing:
        click.echo(f"build what is missing: arena sandbox image build {' '.join(missing)}", err=True)


@image.command()
@click.argument("languages", nargs=-1, metavar="[LANGUAGE]...", type=click.Choice(_LANGUAGES))
@click.option(
    "--docker-runtime", metavar="NAME", help="Runtime of the containers, such as runsc.  [the engine's default]"
)
def check(languages: tuple[str, ...], docker_runtime: str | None) -> None:
    """Start a hardened container of each image and look from inside what it may do."""
    from rich.table import Table

    from arena.sandbox import ProgramError, SandboxError
    from arena.sandbox.docker import image as images

    _need_engine()
    built = [found.language for found in images.listing() if found.id is not None]
    asked = languages or tuple(built)
    if not asked:
        _refuse("there is no image yet: arena sandbox image build")
    table = Table(box=None, pad_edge=False)
    for column in ("image", "check", "", "seen"):
        table.add_column(column, no_wrap=True)
    failed = False
    for language in asked:
        try:
            findings = images.check(language, docker_runtime)
        except (SandboxError, ProgramError) as problem:
            click.echo(f"arena: {language}: {problem}", err=True)
            failed = True
            continue
        for finding in findings:
            table.add_row(language, finding.what, "ok" if finding.good else "FAILED", finding.seen)
            failed = failed or not finding.good
    if table.row_count:
        _print(table)
    sys.exit(1 if failed else 0)


def _need_engine() -> None:
    """Exit with 2 where no engine answers."""
    from arena.sandbox import SandboxError
    from arena.sandbox.docker import engine

    try:
        here = engine()
        here.call(here.api.ping)
    except SandboxError as problem:
        _refuse(str(problem))


def _short(id: str) -> str:
    return id.removeprefix("sha256:")[:12]


def _print(table: "Table") -> None:
    from rich.console import Console

    console = Console(highlight=False, markup=False, emoji=False)
    if not console.is_terminal:
        console.width = _WIDE
    console.print(table)


def _refuse(text: str) -> NoReturn:
    click.echo(f"arena: {text}", err=True)
    sys.exit(2)
