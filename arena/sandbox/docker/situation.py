"""Why no Docker engine answers, and what mends it on this machine.

Must not know how an engine is asked. `Situation` holds all that decides; so the choice of a remedy is a pure function.
"""

import os
import shutil
import sys
from dataclasses import dataclass
from pathlib import Path

from arena.sandbox.trouble import Remedy, Trouble

SOCKET = "/var/run/docker.sock"  # where docker-py looks for an engine if DOCKER_HOST is unset
LONGEST = 300  # characters of an error that are shown


@dataclass(frozen=True, slots=True)
class Situation:
    """Hold what decides how a missing engine is had.

    host: DOCKER_HOST, "" where it is unset. tls: whether TLS is asked for. installed: whether this machine has an
    engine's program. systemd: whether systemd runs the services. system: as sys.platform. group: the name of the group
    that may use the socket, None where it can't be told.
    """

    host: str = ""
    tls: bool = False
    installed: bool = False
    systemd: bool = True
    system: str = "linux"
    group: str | None = "docker"


def situation() -> Situation:
    """Look at the environment and at this machine."""
    host = os.environ.get("DOCKER_HOST", "")
    path = f"{os.environ.get('PATH', '')}:/usr/sbin:/sbin"  # dockerd is where an ordinary user's PATH doesn't lead
    program = "/Applications/Docker.app" if sys.platform == "darwin" else shutil.which("dockerd", path=path)
    return Situation(
        host,
        any(os.environ.get(name) for name in ("DOCKER_TLS_VERIFY", "DOCKER_CERT_PATH")),
        program is not None and os.path.exists(program),
        os.path.isdir("/run/systemd/system"),
        sys.platform,
        _group(Path(host.removeprefix("unix://") or SOCKET)),
    )


def _group(path: Path) -> str | None:
    try:
        return path.group()
    except (OSError, KeyError, ValueError):
        return None


def in_one_line(problem: BaseException) -> str:
    """Return what an error of docker-py says, in one line of at most LONGEST characters."""
    text = str(getattr(problem, "explanation", None) or problem) or type(problem).__name__
    if "timed out" in text:
        text = "it doesn't answer (time-out)"
    return " ".join(text.split())[:LONGEST]


def no_address(problem: BaseException, here: Situation) -> Trouble:
    """Say that the settings name no engine at all."""
    why = in_one_line(problem)
    if not here.host and here.tls:
        return Trouble(f"DOCKER_TLS_VERIFY or DOCKER_CERT_PATH is set, but {why}", Remedy.UNSET_TLS)
    text = f"DOCKER_HOST={here.host} names no Docker engine ({why})"
    return Trouble(text, Remedy.UNSET_HOST, more=f"or set it to one's address, such as unix://{SOCKET}")


def unreachable(problem: BaseException, here: Situation) -> Trouble:
    """Say why nothing answers, and what most likely mends it: nothing on this machine where DOCKER_HOST is wrong."""
    text = str(problem)
    denied = "Permission denied" in text
    absent = "No such file" in text or "Connection refused" in text
    if "paramiko" in text:
        text = f"DOCKER_HOST={here.host} needs the paramiko package, which is missing"
        return Trouble(text, Remedy.INSTALL_SSH_CLIENT)
    if denied and (not here.host or here.group == "docker"):  # another group may be that of a user's own engine
        return Trouble(f"no permission for the Docker engine at {here.host or SOCKET}", Remedy.JOIN_DOCKER)
    if here.host:
        why = "no permission" if denied else "nobody answers there" if absent else in_one_line(problem)
        return Trouble(f"DOCKER_HOST={here.host} leads to no Docker engine ({why})", Remedy.UNSET_HOST)
    if absent and not here.installed:
        remedy = Remedy.INSTALL_DOCKER_MAC if here.system == "darwin" else Remedy.INSTALL_DOCKER
        return Trouble(f"Docker isn't installed, and no engine is at {SOCKET}", remedy)
    if absent:
        return Trouble(f"Docker is installed, but no engine runs at {SOCKET}", _service(here, Remedy.START_DOCKER))
    text = f"the Docker engine at {SOCKET} can't be reached ({in_one_line(problem)})"
    return Trouble(text, _service(here, Remedy.RESTART_DOCKER))


def _service(here: Situation, remedy: Remedy) -> Remedy:
    """Return what starts or restarts an engine on this system, `remedy` where systemd does."""
    if here.system == "darwin":
        return Remedy.START_DOCKER_MAC
    if not here.systemd:
        return Remedy.START_DOCKER_NO_SYSTEMD if remedy is Remedy.START_DOCKER else Remedy.RESTART_DOCKER_NO_SYSTEMD
    return remedy
