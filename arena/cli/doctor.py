"""Implement `arena doctor`, which checks whether this host can run untrusted bots, and `arena sandbox`.

The commands `arena sandbox image ...` build and list the images of Docker boxes. Exit codes: 0 ok, 1 a build or a
check failed, 2 wrong use or no engine."""

import sys
import time

import click

from arena.checks import HostReport, check_host, try_sandboxes
from arena.cli import console
from arena.cli.check import finding_lines
from arena.sandbox import ISOLATING_SANDBOXES, SandboxError
from arena.sandbox.docker import LANGUAGES, get_engine
from arena.sandbox.docker import image as images


@click.command()
@console.json_option(HostReport)
def doctor(as_json: bool) -> None:
    """Check this machine: sandboxes, languages, timing noise.

    It prints findings with the commands that fix them: first problems that stop a run (fail), then missing requirements
    of untrusted bots (warn), then passed checks (ok) and possible improvements (note).

    Exit code 0 if a sandbox that isolates works, else 1.
    """
    problems = try_sandboxes()
    findings = check_host(problems)
    is_isolating = any(problems[name] is None for name in ISOLATING_SANDBOXES)
    if as_json:
        reasons = {name: None if problem is None else str(problem) for name, problem in problems.items()}
        console.print_json(HostReport(is_isolating, reasons, tuple(findings)))
    else:
        columns = max(len(finding.check) for finding in findings)
        console.print_text("\n".join(line for finding in findings for line in finding_lines(finding, columns)))
    sys.exit(0 if is_isolating else 1)


@click.group()
def sandbox() -> None:
    """Build and list images of the Docker sandbox."""


@sandbox.group()
def image() -> None:
    """Build and list images, one for each language.

    Without a LANGUAGE a command applies to all. rust and go only build bots; native builds bots in C and C++, and runs
    compiled bots and shell scripts.
    """


@image.command()
@click.argument("languages", nargs=-1, metavar="[LANGUAGE]...", type=click.Choice(LANGUAGES))
@console.option(
    "--base", metavar="IMAGE", help="Base image. Its packages aren't installed again.  [debian:bookworm-slim]"
)
@console.option("--network", metavar="MODE", help="Network of the build, such as none or host.  [the engine's default]")
@console.option("--verbose", "-v", is_flag=True, help="Print the output of the builds.")
@console.json_option(images.Images)
def build(languages: tuple[str, ...], base: str | None, network: str | None, verbose: bool, as_json: bool) -> None:
    """Build the images."""
    _require_engine()

    def say(line: str) -> None:
        if verbose:
            console.print_note(f"  {line}")

    languages = languages or LANGUAGES
    built: list[images.Image] = []
    for language in languages:
        tag = images.image_tag(language)
        console.print_note(f"building {tag}")
        try:
            id = images.build_image(language, base, network, say)
        except SandboxError as problem:
            console.print_error(str(problem))
            continue
        built.append(images.Image(language, tag, id))
        if not as_json:
            console.print_text(f"{tag} {_short(id)}")
    if as_json:
        console.print_json(images.Images(tuple(built)))
    sys.exit(0 if len(built) == len(languages) else 1)


@image.command("list")
@console.json_option(images.Images)
def list_(as_json: bool) -> None:
    """List the images."""
    _require_engine()
    listed = images.list_images()
    if as_json:
        console.print_json(images.Images(tuple(listed)))
        return
    columns: list[str | console.Column] = ["language", "image", "id", console.Column("size", number=True), "built"]
    console.print_parts(console.make_table(columns, list(map(_make_image_cells, listed))))
    missing = [listed_image.language for listed_image in listed if listed_image.id is None]
    if missing:
        console.print_note(f"build the missing images: arena sandbox image build {' '.join(missing)}")


def _make_image_cells(image: images.Image) -> list[str]:
    """Return the cells of an image in the list; an image without an id isn't built."""
    if image.id is None or image.size_bytes is None or image.built_at is None:
        return [image.language, image.tag, "missing", "", ""]
    built = time.strftime("%Y-%m-%d %H:%M", time.localtime(image.built_at))
    return [image.language, image.tag, _short(image.id), f"{image.size_bytes / 1e6:.0f} MB", built]


def _require_engine() -> None:
    """Exit with 2 unless an engine of Docker answers."""
    try:
        engine = get_engine()
        engine.call(engine.api.ping)
    except SandboxError as problem:
        console.usage_error(str(problem))


def _short(id: str) -> str:
    return id.removeprefix("sha256:")[:12]
