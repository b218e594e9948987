"""A docker-py client of an engine that answers, or why there is none and what mends that on this machine.

Must not know what the engine is asked for. `Situation` holds all that decides; so the choice of a remedy is a pure
function.
"""

import os
import shutil
from dataclasses import dataclass
from typing import Any

from arena.sandbox.trouble import Remedy, Trouble, TroubleError

HELLO_S = 5.0  # for an engine to say its version, which takes 1 ms
SOCKET = "/var/run/docker.sock"  # where docker-py looks for an engine if DOCKER_HOST is unset
LONGEST = 300  # characters of an error that are shown


def connect(timeout_s: float) -> Any:
    """Return a client of the engine that DOCKER_HOST and the like name; its calls end after `timeout_s`.

    Raises TroubleError, with the command that mends it, if no engine answers.
    """
    import docker  # takes 0.2 s, which only runs in Docker have to pay

    try:
        settings = docker.utils.kwargs_from_env()
        address = docker.utils.parse_host(settings.get("base_url"))
    except Exception as problem:  # docker's own, a ValueError for a port, files of TLS that aren't there
        raise TroubleError(no_address(problem, os.environ.get("DOCKER_HOST", ""))) from problem
    try:
        if address.startswith("http+unix://"):
            os.stat(address.removeprefix("http+unix://"))  # the client would leave a socket open, and Python warn of it
        client = docker.APIClient(version="auto", timeout=min(HELLO_S, timeout_s), **settings)
    except Exception as problem:  # docker wraps what it meets into DockerException, but not all of it
        raise TroubleError(unreachable(problem, situation())) from problem
    client.timeout = timeout_s
    return client


@dataclass(frozen=True, slots=True)
class Situation:
    """Hold DOCKER_HOST, "" where it is unset, and whether this machine has an engine's program."""

    host: str = ""
    installed: bool = False


def situation() -> Situation:
    """Look at the environment and at this machine."""
    path = f"{os.environ.get('PATH', '')}:/usr/sbin:/sbin"  # dockerd is where an ordinary user's PATH doesn't lead
    return Situation(os.environ.get("DOCKER_HOST", ""), shutil.which("dockerd", path=path) is not None)


def in_one_line(problem: BaseException) -> str:
    """Return what an error of docker-py says, in one line of at most LONGEST characters."""
    text = str(getattr(problem, "explanation", None) or problem) or type(problem).__name__
    if "timed out" in text:
        text = "it doesn't answer (time-out)"
    return " ".join(text.split())[:LONGEST]


def no_address(problem: BaseException, host: str) -> Trouble:
    """Say that the settings name no engine at all."""
    why = in_one_line(problem)
    if not host:
        return Trouble(f"DOCKER_TLS_VERIFY or DOCKER_CERT_PATH is set, but {why}", Remedy.UNSET_TLS)
    return Trouble(f"DOCKER_HOST={host} names no Docker engine ({why})", Remedy.UNSET_HOST)


def unreachable(problem: BaseException, here: Situation) -> Trouble:
    """Say why nothing answers, and what most likely mends it: nothing on this machine where DOCKER_HOST is wrong."""
    text = str(problem)
    denied = "Permission denied" in text
    absent = "No such file" in text or "Connection refused" in text
    if denied:
        return Trouble(f"no permission for the Docker engine at {here.host or SOCKET}", Remedy.BE_ROOT)
    if here.host:
        why = "nobody answers there" if absent else in_one_line(problem)
        return Trouble(f"DOCKER_HOST={here.host} leads to no Docker engine ({why})", Remedy.UNSET_HOST)
    if absent and not here.installed:
        return Trouble(f"Docker isn't installed, and no engine is at {SOCKET}", Remedy.INSTALL_DOCKER)
    if absent:
        return Trouble(f"Docker is installed, but no engine runs at {SOCKET}", Remedy.START_DOCKER)
    return Trouble(f"the Docker engine at {SOCKET} can't be reached ({in_one_line(problem)})", Remedy.RESTART_DOCKER)
