"""Scripted bots: a script runs in a thread behind real pipes (`InProcessSandbox`); the referee is real."""

import json
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

from arena import referee
from arena.limits import Limits
from arena.referee.process import play_match
from arena.sandbox import Box, InProcessSandbox, Program, Script, ScriptPeer

WAIT_S = 60.0  # only a failure takes this long
STEP_S = 4.0  # see Clock.pass_by
HELLO = b'{"type":"hello","name":"scripted"}\n'

Request = dict[str, Any]
Answer = Callable[[ScriptPeer, Request], bytes | None]


def bot(answer: Answer, seen: list[bytes] | None = None, greets: Callable[[Request], object] = id) -> Script:
    """Make a bot that greets and sends what `answer` returns for each request.

    `seen` collects the lines that it gets; `greets` is called with the hello.
    """

    def script(peer: ScriptPeer) -> None:
        for line in peer.lines():
            if seen is not None:
                seen.append(line)
            message = json.loads(line)
            if message["type"] == "hello":
                greets(message)
                peer.send(HELLO)
            elif message["type"] == "request":
                peer.send(answer(peer, message) or b"")

    return script


def reply(request: Request, choice: int = 0) -> bytes:
    return b'{"id":%d,"choice":%d}\n' % (request["id"], choice)


def first(_: ScriptPeer, request: Request) -> bytes:
    """Choose the first legal move: income, or a coup of the lowest seat; pass; show, or decline."""
    return reply(request)


def seatings(seats: int, games: int) -> tuple[tuple[int, ...], ...]:
    """Return seatings in which bot i sits in seat i of the first game, and one further in each later one."""
    return tuple(tuple((seat + game) % seats for seat in range(seats)) for game in range(games))


def play_scripts(spec: referee.MatchSpec, scripts: list[Script], **more: Any) -> referee.MatchResult:
    """Play a match in which script i is bot i; `more` is for `play_match`."""
    sandbox = InProcessSandbox(dict(zip(spec.bots, scripts, strict=True)))

    def launch(number: int) -> Box:
        return sandbox.start(Program((spec.bots[number],), Path()), Limits())

    return play_match(spec, launch, **more)


class Clock:
    """A clock that moves only in scripts. All steps are sums of 2^-n, so that floats stay exact."""

    def __init__(self) -> None:
        self._now = 1000.0
        self._readings = 0
        self._end = time.monotonic() + WAIT_S

    def __call__(self) -> float:
        assert time.monotonic() < self._end, "the match hangs"
        self._readings += 1
        return self._now

    def settle(self, peer: ScriptPeer) -> None:
        """Wait until the referee has sent all requests, started the clocks and read everything sent before.

        It reads the clock twice for each poll, and a log line ends a poll.
        """
        enough = self._readings + 6
        while self._readings < enough:
            peer.log(b".")

    def pass_by(self, peer: ScriptPeer, seconds: float) -> None:
        """Let this much time pass between earlier and later messages.

        In steps: a referee that sleeps for over 5 s assumes that the host was suspended.
        """
        self.settle(peer)
        while seconds > STEP_S:
            self._now += STEP_S
            seconds -= STEP_S
            self.settle(peer)
        self._now += seconds

    def stand_still(self, peer: ScriptPeer, seconds: float) -> None:
        self.settle(peer)
        self._now += seconds
        peer.log(b".")
