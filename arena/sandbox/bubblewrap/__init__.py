"""The bubblewrap sandbox: a program in namespaces of its own. Linux only."""

from arena.sandbox.bubblewrap import covers, keeper, toolchain
from arena.sandbox.bubblewrap.backend import BACKEND
from arena.sandbox.bubblewrap.box import BubblewrapBox, BubblewrapSandbox
from arena.sandbox.bubblewrap.keeper import MISSING, bwrap
from arena.sandbox.bubblewrap.trial import remedied, why_not
