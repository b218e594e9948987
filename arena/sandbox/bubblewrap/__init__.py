"""The bubblewrap sandbox: a program in namespaces of its own. Linux only."""

from arena.sandbox.bubblewrap import bwrap_process, command, rootfs
from arena.sandbox.bubblewrap.box import BACKEND, BubblewrapBox, BubblewrapSandbox, add_remedy, unavailable_reason
from arena.sandbox.bubblewrap.bwrap_process import BWRAP_MISSING, get_bwrap_path
