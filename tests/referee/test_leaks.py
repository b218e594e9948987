"""Tests that matches leave nothing behind: no process, thread, descriptor or folder, however they end.

They run many short matches of scripted bots and of small shell programs. Source: arena/sandbox/box.py, "nothing
is left behind".
"""

import os
import threading
from collections.abc import Callable
from pathlib import Path

import pytest

from arena.limits import Limits
from arena.referee import ArenaError, MatchSettings, MatchSpec, Timing, write_record
from arena.referee.process import play_match
from arena.sandbox import Box, InProcessSandbox, ProcessSandbox, Program, SandboxError, Script, ScriptPeer
from tests.referee.scripted import Request, bot, reply
from tests.sandbox.talk import no_children, until

MATCHES = 50


def spec(number: int, games: int = 2) -> MatchSpec:
    return MatchSpec(
        match=number,
        key=number.to_bytes(32),
        bots=("subject", "other"),
        seatings=((0, 1), (1, 0))[:games],
        settings=MatchSettings(timing=Timing(start_ms=10_000)),
    )


Left = tuple[frozenset[str], int]


def leftovers() -> Left:
    """Give the descriptors that are open and the number of threads."""
    return frozenset(os.listdir("/dev/fd")), threading.active_count()


def require_no_more(before: Left) -> None:
    """Assert that nothing was added; leftovers of other tests may end meanwhile."""
    descriptors, threads = leftovers()
    assert sorted(descriptors - before[0], key=int) == []
    assert threads <= before[1]


# --- scripted bots ----------------------------------------------------------------------------------------------------


def at_second(act: Callable[[ScriptPeer, bytes], object]) -> Script:
    """Make a bot that answers all requests with the first move, and calls `act` at its second."""

    def answer(peer: ScriptPeer, request: Request) -> bytes | None:
        if request["id"] != 2:
            return reply(request)
        act(peer, reply(request))
        return None

    return bot(answer)


def dies_before_hello(peer: ScriptPeer) -> None:
    peer.die(1)


SUBJECTS: dict[str, Script] = {
    "polite": at_second(ScriptPeer.send),
    "dead": at_second(lambda peer, _: peer.die(1)),
    "dead after its answer": at_second(lambda peer, answer: (peer.send(answer), peer.die(signal=9))),
    "without output": at_second(lambda peer, answer: (peer.send(answer), peer.close_stdout())),
    "talking without end": at_second(lambda peer, _: peer.send(b"x" * 2_000_000)),
    "full of mistakes": at_second(lambda peer, _: peer.send(b"?\n" * 5)),
    "dead at the start": dies_before_hello,
}


def test_many_matches_leave_no_thread_and_no_descriptor() -> None:
    """Every misbehaviour is tried; there are two games, so that bots are restarted."""
    waited_for = "without output"  # 100 ms each time, to see whether it ends; so this one comes less often
    names = [name for name in SUBJECTS if name != waited_for] * 4 + [waited_for]
    sandbox = InProcessSandbox({**SUBJECTS, "other": SUBJECTS["polite"]})
    before = leftovers()
    for number in range(MATCHES):
        programs = (names[number % len(names)], "other")
        result = play_match(spec(number), lambda bot, programs=programs: start(sandbox, programs[bot]))
        assert write_record(result.record).endswith("\n")
    require_no_more(before)
    assert len(sandbox.boxes) > 2 * MATCHES
    assert all(box.stdin == box.stdout == box.stderr == -1 for box in sandbox.boxes)


def start(sandbox: InProcessSandbox, name: str) -> Box:
    return sandbox.start(Program((name,), Path()), Limits())


class BrokenOffError(Exception):
    """Stands for anything that ends a match from outside, for example Ctrl-C."""


@pytest.mark.parametrize("error", [SandboxError("no processes left"), BrokenOffError(), KeyboardInterrupt()])
def test_an_aborted_match_leaves_nothing(error: BaseException) -> None:
    """Source: match.play_match: it ends all processes, for any reason. Here a restart for the second game fails."""
    sandbox = InProcessSandbox({**SUBJECTS, "other": SUBJECTS["polite"]})
    before = leftovers()

    def launch(bot: int) -> Box:
        if len(sandbox.boxes) == 2:
            raise error
        return start(sandbox, ("dead", "other")[bot])

    with pytest.raises(ArenaError if isinstance(error, SandboxError) else type(error)):
        play_match(spec(0), launch)
    assert len(sandbox.boxes) == 2
    require_no_more(before)


# --- processes --------------------------------------------------------------------------------------------------------

HELLO = """read -r line; echo '{"type":"hello"}'; """
SHELL = {
    "leaves": HELLO,
    "dies": HELLO + "kill -9 $$",
    "answers once": HELLO + """read -r line; read -r line; echo '{"id":1,"choice":0}'""",
    "leaves a child": HELLO + "sleep 60 & exit 0",
    "leaves a child that holds its pipes": HELLO + "sleep 60 & sleep 60 & echo 'hm' >&2; exit 3",
    "fills its folders": HELLO + "mkdir -p $HOME/a/b $TMPDIR/c; echo x >$HOME/a/b/x; chmod 0 $HOME/a; exit 0",
    "doesn't start": "exit 3",
}


def test_processes_leave_no_processes_descriptors_or_folders(tmp_path: Path) -> None:
    """The other bot greets and dies, so that each game is short."""
    scratch = tmp_path / "scratch"
    sandbox = ProcessSandbox(scratch)
    sandbox.start(Program(("/bin/sh", "-c", "exit 0"), tmp_path), Limits()).close()  # makes what is made once
    before = leftovers()
    names = list(SHELL)
    for number in range(2 * len(names)):
        scripts = (SHELL[names[number % len(names)]], SHELL["dies"])
        result = play_match(
            spec(number),
            lambda bot, scripts=scripts: sandbox.start(Program(("/bin/sh", "-c", scripts[bot]), tmp_path), Limits()),
        )
        assert write_record(result.record).endswith("\n")

        def gone() -> bool:
            sandbox.close()  # reaps what a loaded host was slow to end
            return no_children()

        until(gone, names[number % len(names)])
        assert list(scratch.iterdir()) == [], names[number % len(names)]
    require_no_more(before)
