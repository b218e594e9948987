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
import threading
import time
from collections.abc import Callable

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


def fork_bomb() -> None:
    """Row 1: start processes until refused."""
    made = 0
    try:
        while made < MAX_CHILDREN:
            if os.fork() == 0:
                idle_and_exit()
            made += 1
    except OSError as problem:
        saw("errno", problem.errno)
    saw("processes", made)


def daemon() -> None:
    """Row 2: leave the session, the group and the parent, ignore all signals and forget the environment."""
    if os.fork() == 0:
        os.setsid()
        if os.fork() == 0:
            code = (
                f"import signal, time\nfor s in range(1, 32):\n if s not in (9, 19): signal.signal(s, 1)\n"
                f"time.sleep({CHILD_S})"
            )
            null = os.open("/dev/null", os.O_RDWR)
            for end in range(3):
                os.dup2(null, end)
            os.execve(sys.executable, ["python3", "-c", code, TOKEN], {})
        os._exit(0)
    os.wait()


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


# --- time -------------------------------------------------------------------------------------------------------------


def busy() -> None:
    """Think for ever."""
    while True:
        pass


def burn_in_thread() -> None:
    """Row 20: think while others do."""
    _burn(lambda: threading.Thread(target=busy, daemon=True).start())


def burn_in_child() -> None:
    """Row 21: leave a child that thinks."""

    def child() -> None:
        if os.fork() == 0:
            signal.alarm(int(CHILD_S))
            busy()

    _burn(child)


def _burn(start: Callable[[], None]) -> None:
    """Keep playing next to a burner, and report its share of the others' time."""
    answer()
    start()
    time.sleep(0.02)
    away = used = 0.0
    left, burnt = time.monotonic(), _burnt()
    for line in sys.stdin:
        away += time.monotonic() - left
        used += _burnt() - burnt
        message = json.loads(line)
        if message["type"] == "game_over":
            break
        if message["type"] == "request":
            print(json.dumps({"id": message["id"], "choice": 0}), flush=True)
            left, burnt = time.monotonic(), _burnt()
        else:
            left, burnt = time.monotonic(), _burnt()
    saw("burnt-percent", round(100 * used / away) if away else 0)


def _burnt() -> float:
    """Return the CPU time of this session's live processes, in s."""
    total = time.process_time()
    for pid in filter(str.isdigit, os.listdir("/proc")):
        with contextlib.suppress(OSError):
            if int(pid) != os.getpid() and os.getsid(int(pid)) == os.getsid(0):
                with open(f"/proc/{pid}/schedstat", encoding="ascii") as file:
                    total += int(file.read().split()[0]) / 1e9
    return total


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
_TAKES_OVER = {another_program, from_memory, burn_in_thread, burn_in_child}


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
