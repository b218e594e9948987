"""How long the referee itself has waited for a core: what it reads late, no bot is charged for."""

import os

_FILE = "/proc/thread-self/schedstat"  # time on a core and time of waiting, in ns; Linux only


class Waits:
    """How long the thread that made it has waited for a core, in ns; 0 where the kernel doesn't tell.

    Holds a descriptor until `close`: to open the file takes ten times as long as to read it.
    """

    def __init__(self) -> None:
        try:
            self._descriptor = os.open(_FILE, os.O_RDONLY | os.O_CLOEXEC)
        except OSError:
            self._descriptor = -1

    def __call__(self) -> int:
        """Return the time so far."""
        return int(os.pread(self._descriptor, 64, 0).split()[1]) if self._descriptor >= 0 else 0

    def close(self) -> None:
        """Close the file; the time is 0 afterwards."""
        if self._descriptor >= 0:
            os.close(self._descriptor)
            self._descriptor = -1
