"""The bubblewrap sandbox: a program in namespaces of its own. Linux only."""

from arena.sandbox.bubblewrap import box, toolchain
from arena.sandbox.bubblewrap.box import MISSING, BubblewrapBox, BubblewrapSandbox, bwrap, remedied, why_not
from arena.sandbox.bubblewrap.held import HeldPipes

__all__ = [
    "MISSING",
    "BubblewrapBox",
    "BubblewrapSandbox",
    "HeldPipes",
    "box",
    "bwrap",
    "remedied",
    "toolchain",
    "why_not",
]
