"""The commands `arena sandbox ...`: the images that Docker boxes are made from. Part of the composition root.

Exit codes: 0 ok, 1 a build or a check failed, 2 wrong use or no engine. Data goes to stdout, progress to stderr.
"""

import sys
import time

import click

from arena.cli.answers import answers, print_json
from arena.cli.out import Column, error, note, refuse, show, table, write
from arena.sandbox import SandboxError
from arena.sandbox.docker import LANGUAGES, engine
from arena.sandbox.docker import image as images


@click.group()
def sandbox() -> None:
    """Prepare what keeps bots apart."""


@sandbox.group()
def image() -> None:
    """Build and list the images of Docker boxes: one for each language.

    Without a LANGUAGE a command is about all of them; rust and go only
    build bots; native builds those in C and C++, and runs all that are compiled, and shell scripts.
    """


@image.command()
@click.argument("languages", nargs=-1, metavar="[LANGUAGE]...", type=click.Choice(LANGUAGES))
@click.option(
    "--base", metavar="IMAGE", help="Image to start from; what it has isn't installed.  [debian:bookworm-slim]"
)
@click.option("--network", metavar="MODE", help="Network of the build, such as none or host.  [the engine's default]")
@click.option("--verbose", "-v", is_flag=True, help="Show all that the builds say.")
@answers(images.Images)
def build(languages: tuple[str, ...], base: str | None, network: str | None, verbose: bool, as_json: bool) -> None:
    """Build the images."""
    _need_engine()

    def say(line: str) -> None:
        if verbose:
            note(f"  {line}")

    failed, names = False, []
    for language in languages or LANGUAGES:
        note(f"building {images.tag(language)}")
        try:
            id = images.build(language, base, network, say)
        except SandboxError as problem:
            error(str(problem))
            failed = True
        else:
            names.append(images.Image(language, images.tag(language), id))
            if not as_json:
                write(f"{images.tag(language)} {_short(id)}")
    if as_json:
        print_json(images.Images(tuple(names)))
    sys.exit(1 if failed else 0)


@image.command("list")
@answers(images.Images)
def list_(as_json: bool) -> None:
    """Print which images there are."""
    _need_engine()
    listed = images.listing()
    if as_json:
        print_json(images.Images(tuple(listed)))
        return
    rows, missing = [], []
    for each in listed:
        if each.id is None or each.size is None or each.built is None:
            missing.append(each.language)
            rows.append([each.language, each.tag, "missing", "", ""])
        else:
            built = time.strftime("%Y-%m-%d %H:%M", time.localtime(each.built))
            rows.append([each.language, each.tag, _short(each.id), f"{each.size / 1e6:.0f} MB", built])
    show(table(["language", "image", "id", Column("size", number=True), "built"], rows))
    if missing:
        note(f"build what is missing: arena sandbox image build {' '.join(missing)}")


def _need_engine() -> None:
    """Exit with 2 where no engine answers."""
    try:
        here = engine()
        here.call(here.api.ping)
    except SandboxError as problem:
        refuse(str(problem))


def _short(id: str) -> str:
    return id.removeprefix("sha256:")[:12]
