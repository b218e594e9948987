"""A person's box: its lines are handed on as messages, and its answers come from another thread.

The box waits for the answer to each line that wants one; a person that leaves ends the box, as a bot does that exits.
"""

import json
import socket
from collections.abc import Callable
from contextlib import suppress
from typing import Any

from arena.sandbox import InsideBox, Peer

Message = dict[str, Any]

_WANT_ANSWERS = ("hello", "request")


class Person:
    """A person's side of the pipes. `tell` is called with each message, in the box's own thread."""

    def __init__(self, tell: Callable[[Message], None]) -> None:
        self._tell = tell
        self._answers, self._answer = socket.socketpair()

    def start(self) -> InsideBox:
        """Start the box."""
        return InsideBox("person", self._script)

    def answer(self, message: Message) -> None:
        """Send the answer to the last message that wants one; nothing if the person has left."""
        with suppress(BrokenPipeError):
            self._answer.sendall(json.dumps(message).encode() + b"\n")

    def leave(self) -> None:
        """Have the box end instead of giving the next answer. To leave again completes a leave that was interrupted."""
        self._answer.shutdown(socket.SHUT_WR)

    def close(self) -> None:
        """Free what the person holds, after its boxes were closed."""
        self._answers.close()
        self._answer.close()

    def _script(self, peer: Peer) -> None:
        for line in peer.lines():
            message = json.loads(line)
            self._tell(message)
            if message["type"] in _WANT_ANSWERS:
                peer.wait_for(self._answers.fileno())
                answer = self._answers.recv(4096)  # a short message is read whole
                if not answer:
                    return
                peer.send(answer)
