"""What others need to know of the Docker sandbox: whether it works here, and how what the dead left is removed."""

import contextlib
import functools
import sys

from arena.sandbox.backend import Backend
from arena.sandbox.box import ProgramError, SandboxError
from arena.sandbox.docker.box import DockerSandbox
from arena.sandbox.docker.command import LANGUAGES
from arena.sandbox.docker.engine import engine
from arena.sandbox.docker.recipe import missing
from arena.sandbox.linux import cgroup
from arena.sandbox.programs import Programs
from arena.sandbox.trial import trial
from arena.sandbox.trouble import Remedy, Trouble, TroubleError, trouble_of


@functools.cache
def why_not(runtime: str | None = None, image: str | None = None) -> Trouble | None:
    """Return None because a trial box ran, else why not, and the command that mends it."""
    if sys.platform != "linux":
        return Trouble("Docker's boxes need an engine that runs on the same Linux", Remedy.A_LINUX)
    try:
        tried = image or _some_image()
        trial(lambda scratch: DockerSandbox(scratch, runtime, tried))
    except (SandboxError, ProgramError, OSError) as problem:
        return trouble_of(problem, Remedy.ASK_DOCKER)
    return None


def _some_image() -> str:
    """Return one of our images that the engine has, any."""
    here = engine()
    tags = {tag for image in here.call(here.api.images) for tag in image.get("RepoTags") or ()}
    for name in LANGUAGES:
        if f"coup-arena/{name}:latest" in tags:
            return f"coup-arena/{name}"
    raise TroubleError(missing("coup-arena/python"))


def sweep() -> int:
    """Remove what dead processes of this host left with the engine; return how many containers. Never raises."""
    swept = 0
    with contextlib.suppress(SandboxError):
        swept = engine().sweep()
    cgroup.sweep()  # a container's processes are in groups of ours, too
    return swept


BACKEND = Backend(
    make=lambda choice, scratch: DockerSandbox(scratch, choice.runtime, choice.image),
    why_not=lambda choice: why_not(choice.runtime, choice.image),
    sweep=sweep,
    programs=lambda: Programs("python3", image=True),
    takes=("runtime", "image"),
)
