"""Starting a stranger's program and talking to it over three pipes.

Knows bytes, limits and processes; must not know that there is a game, a protocol or a referee, and imports nothing
else of ours. A backend is one file behind `Sandbox`: `ProcessSandbox` runs a program as it is, `FakeSandbox` runs a
Python function over real pipes, for tests.
"""

from arena.sandbox.box import Box, Exit, Program, ProgramError, Sandbox, SandboxError
from arena.sandbox.capture import Capture
from arena.sandbox.fake import FakeBox, FakeSandbox, Peer, Script, replies
from arena.sandbox.limits import LIMITS, LimitRule, Limits, betrayed
from arena.sandbox.process import ProcessSandbox, remove_tree

__all__ = [
    "LIMITS",
    "Box",
    "Capture",
    "Exit",
    "FakeBox",
    "FakeSandbox",
    "LimitRule",
    "Limits",
    "Peer",
    "ProcessSandbox",
    "Program",
    "ProgramError",
    "Sandbox",
    "SandboxError",
    "Script",
    "betrayed",
    "remove_tree",
    "replies",
]
