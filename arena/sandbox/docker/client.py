"""A docker-py client of an engine that answers, or why there is none.

Must not know what the engine is asked for.
"""

import os
from typing import Any

from arena.sandbox.docker.situation import no_address, situation, unreachable
from arena.sandbox.trouble import Remedy, Trouble, TroubleError

HELLO_S = 5.0  # for an engine to say its version, which takes 1 ms


def connect(timeout_s: float) -> Any:
    """Return a client of the engine that DOCKER_HOST and the like name; its calls end after `timeout_s`.

    Raises TroubleError, with the command that mends it, if no engine answers.
    """
    try:
        import docker
    except ImportError as problem:
        raise TroubleError(Trouble("Python's docker package is missing", Remedy.INSTALL_CLIENT)) from problem
    try:
        settings = docker.utils.kwargs_from_env()
        address = docker.utils.parse_host(settings.get("base_url"))
    except Exception as problem:  # docker's own, a ValueError for a port, files of TLS that aren't there
        raise TroubleError(no_address(problem, situation())) from problem
    try:
        if address.startswith("http+unix://"):
            os.stat(address.removeprefix("http+unix://"))  # the client would leave a socket open, and Python warn of it
        client = docker.APIClient(version="auto", timeout=min(HELLO_S, timeout_s), **settings)
    except Exception as problem:  # docker wraps what it meets into DockerException, but not all of it
        raise TroubleError(unreachable(problem, situation())) from problem
    client.timeout = timeout_s
    return client
