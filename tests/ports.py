"""Ports for servers that a test starts as programs, which need their port as an argument."""

import itertools
import os
import socket

# Below those that the kernel assigns: otherwise another test could get the port before the server starts.
LEAST, PORTS = 10_000, 20_000
NUMBERS = itertools.count(
    os.getpid() * 1009
)  # processes that test at the same time, with near ids, have different ones


def free_port() -> int:
    while True:
        port = LEAST + next(NUMBERS) % PORTS
        with socket.socket() as trial:
            try:
                trial.bind(("127.0.0.1", port))
            except OSError:  # another process does
                continue
        return port
