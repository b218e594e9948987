"""A bot that plays honestly until its second request, then attacks, and reports on standard error.

usage: bot.py ATTACK TOKEN      the token marks this process and its descendants, so that survivors are found

The suite reads lines on standard error of the form "saw NAME VALUE".
"""

# mypy: disable-error-code="import-not-found, no-any-return"
# (A box holds this folder alone, so its files import each other by their bare names.)

from __future__ import annotations

import contextlib
import json
import mmap
import os
import shutil
import signal
import sys
import time

import calls

ATTACK_AT = 2  # the id of the request at which the bot attacks
MAX_CHILDREN = 300  # far above Limits.processes, and harmless to a host
CHILD_S = 30.0  # a surviving child ends by itself, so a failed test leaves none for long
BOT = os.path.dirname(os.path.abspath(__file__))


def saw(name: str, value: object) -> None:
    print("saw", name, value, file=sys.stderr, flush=True)


def idle_and_exit() -> None:
    time.sleep(CHILD_S)
    os._exit(0)


def honest() -> None:
    """Do nothing: the control."""


# --- processes --------------------------------------------------------------------------------------------------------


def stop() -> None:
    """Row 4: stop itself."""
    os.kill(os.getpid(), signal.SIGSTOP)


def kill_supervisor() -> None:
    """Row 5: stop and kill process 1 and the parent."""
    for pid in {1, os.getppid()}:
        if pid not in (0, os.getpid()):
            for number in (signal.SIGSTOP, signal.SIGTERM, signal.SIGKILL):
                saw(f"kill-{pid if pid == 1 else 'parent'}", calls.word_of(lambda n=number, p=pid: os.kill(p, n)))


def kill_all() -> None:
    """Row 6: kill every process in reach."""
    saw("kill-all", calls.word_of(lambda: os.kill(-1, signal.SIGKILL)))


def heir() -> None:
    """Row 10: die while a grandchild keeps the pipes open."""
    if os.fork() == 0:
        os.setsid()
        if os.fork() == 0:
            idle_and_exit()
        os._exit(0)
    os.wait()
    os._exit(3)


def another_program() -> None:
    """Row 12: become a shell that becomes a bot, and continue the conversation."""
    answer()
    os.execv("/bin/sh", ["sh", "-c", 'exec "$0" "$@"', sys.executable, f"{BOT}/player.py"])


def from_memory() -> None:
    """Row 13: become a program in memory."""
    answer()
    descriptor = os.memfd_create("packed", 0)
    with open(os.path.realpath(sys.executable), "rb") as source, open(descriptor, "wb", closefd=False) as target:
        shutil.copyfileobj(source, target)
    os.execve(
        f"/proc/self/fd/{descriptor}", ["python3", f"{BOT}/player.py"], {**os.environ, "PYTHONHOME": sys.base_prefix}
    )


def zombies() -> None:
    """Row 15: leave dead children unreaped."""
    made = 0
    try:
        while made < MAX_CHILDREN:
            if os.fork() == 0:
                os._exit(0)
            made += 1
    except OSError as problem:
        saw("errno", problem.errno)
    saw("processes", made)


def slow_death() -> None:
    """Row 17: be killed with much memory in many mappings."""
    held = [mmap.mmap(-1, 1024 * 1024) for _ in range(150)]
    for memory in held:
        memory.write(bytes(len(memory)))
    time.sleep(CHILD_S)


# --- memory and files -------------------------------------------------------------------------------------------------


def memory_in_child() -> None:
    """Row 32: let children take memory, each less than the limit, and report whether one is killed."""
    children = []
    for _ in range(8):
        child = os.fork()
        if child == 0:
            held = bytearray(os.urandom(1024)) * (128 * 1024)
            time.sleep(CHILD_S)
            os._exit(len(held) % 2)
        children.append(child)
    saw("ended", 1 if os.WIFSIGNALED(os.wait()[1]) else 0)
    for child in children:
        with contextlib.suppress(ProcessLookupError):  # the child that has ended
            os.kill(child, signal.SIGKILL)


# --- the loop ---------------------------------------------------------------------------------------------------------

TOKEN = sys.argv[2] if len(sys.argv) > 2 else ""
_open_request = 0


def answer() -> None:
    print(json.dumps({"id": _open_request, "choice": 0}), flush=True)


# Attacks that answer their own requests, or never return.
_TAKES_OVER = {another_program, from_memory}


def main() -> None:
    global _open_request
    calls.refuse_privileges()

    attack = globals()[sys.argv[1]]
    for line in sys.stdin:
        message = json.loads(line)
        if message["type"] == "hello":
            print('{"type":"hello"}', flush=True)
        elif message["type"] == "request":
            _open_request = message["id"]
            if message["id"] == ATTACK_AT:
                attack()
                if attack in _TAKES_OVER:
                    return
            answer()


if __name__ == "__main__":
    main()
