"""Test time limits on a machine that may be busy or stall for seconds: one of several tries must meet the limit."""

import time
from collections.abc import Callable

TRIES = 6


def within(limit_s: float, does: Callable[[], float | None], tries: int = TRIES) -> None:
    """Demand that something takes less than a limit, in s, in one of some tries.

    A busy machine is late with some of them; what is slow by itself is late with all. `does` may return the time that
    counts, if that isn't all of its own.
    """
    took: list[float] = []
    for _ in range(tries):
        began = time.monotonic()
        output = does()
        took.append(time.monotonic() - began if output is None else output)
        if took[-1] < limit_s:
            return
    raise AssertionError(f"it took {', '.join(f'{each:.2f}' for each in took)} s, each time over {limit_s} s")
