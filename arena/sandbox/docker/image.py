"""Build and list the images of bots' containers: one for each language, from images/LANGUAGE.Dockerfile.

A Dockerfile takes a base image (--build-arg BASE) and installs an interpreter only if the base lacks one, so some
builds need no network. Images never contain files of a bot, and bots have no Dockerfile. This module must not know
bots.
"""

import io
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from arena.sandbox.box import SandboxError
from arena.sandbox.docker.command import LANGUAGES
from arena.sandbox.docker.engine import get_engine, one_line_text
from arena.sandbox.host_problems import HostProblem, HostProblemError, Remedy

FOLDER = Path(__file__).parent / "images"
BUILD_S = 900.0  # without output from the engine; a package mirror can be slow


@dataclass(frozen=True, slots=True)
class Image:
    """A language's image; `id`, `size_bytes` and `built_at` (seconds since 1970) are None if it isn't built."""

    language: str
    tag: str
    id: str | None = None
    size_bytes: int | None = None
    built_at: float | None = None


@dataclass(frozen=True, slots=True)
class Images:
    """The images of all languages, built or not."""

    items: tuple[Image, ...]


def image_tag(language: str) -> str:
    return f"coup-arena/{language}"


def list_images() -> list[Image]:
    """Return the image of each language, built or not, in the order of LANGUAGES.

    Raises SandboxError if the engine refuses or can't be reached.
    """
    engine = get_engine()
    entry_by_name = {name: entry for entry in engine.call(engine.api.images) for name in entry.get("RepoTags") or ()}
    images = []
    for language in LANGUAGES:
        tag = image_tag(language)
        entry = entry_by_name.get(f"{tag}:latest")
        if entry is None:
            images.append(Image(language, tag))
        else:
            images.append(Image(language, tag, entry["Id"], entry["Size"], float(entry["Created"])))
    return images


def build_image(
    language: str, base: str | None = None, network: str | None = None, say: Callable[[str], None] = lambda line: None
) -> str:
    """Build a language's image and return its id.

    base: the image to start from, None for the Dockerfile's default. network: None for the engine's default, or "none"
    if the engine has no bridge. say: is called with each line of the build's log. Raises SandboxError with the last
    lines.
    """
    engine = get_engine()
    if network is None and "bridge" not in {network_info["Name"] for network_info in engine.call(engine.api.networks)}:
        network = "none"
    log = engine.call(
        engine.api.build,
        fileobj=io.BytesIO((FOLDER / f"{language}.Dockerfile").read_bytes()),
        tag=image_tag(language),
        buildargs={} if base is None else {"BASE": base},
        network_mode=network,
        rm=True,
        forcerm=True,
        decode=True,
        timeout=BUILD_S,
    )
    _read_build_log(log, language, base, say)
    return str(engine.call(engine.api.inspect_image, image_tag(language))["Id"])


def _read_build_log(log: Iterable[dict[str, Any]], language: str, base: str | None, say: Callable[[str], None]) -> None:
    """Read a build's log to its end. Raises SandboxError, with the last five lines, if the build failed."""
    lines: list[str] = []
    try:
        for entry in log:
            if "error" in entry:
                raise _build_error(language, base, str(entry["error"]), lines)
            for line in str(entry.get("stream", "")).splitlines():
                if line.strip():
                    lines = [*lines[-4:], line]
                    say(line)
    except SandboxError:
        raise
    except Exception as problem:  # errors of requests and docker have no other common base
        raise SandboxError(f"building {image_tag(language)}: {one_line_text(problem)}") from problem


def _build_error(language: str, base: str | None, error: str, lines: Sequence[str]) -> SandboxError:
    reason = " ".join(error.split())
    if any(sign in reason for sign in ("pull access denied", "lookup", "no such host", "manifest", "i/o timeout")):
        text = f"building {image_tag(language)}: its base {base or 'image'} can't be downloaded ({reason})"
        return HostProblemError(HostProblem(text, Remedy.OTHER_BASE, (language,)))
    quoted_lines = "".join(f"\n  | {line}" for line in lines)
    return SandboxError(f"building {image_tag(language)} failed: {reason}{quoted_lines}")
