"""Test time limits on a machine that may be busy or stall for seconds: one of several attempts must meet the limit."""

import time
from collections.abc import Callable

TRIES = 6


def within(limit_s: float, does: Callable[[], float | None], tries: int = TRIES) -> None:
    """Check that something takes less than a limit, in s, in one of several attempts.

    A busy machine exceeds some of them; slow code exceeds all. `does` may return the time that counts.
    """
    took: list[float] = []
    for _ in range(tries):
        began = time.monotonic()
        output = does()
        took.append(time.monotonic() - began if output is None else output)
        if took[-1] < limit_s:
            return
    raise AssertionError(f"it took {', '.join(f'{each:.2f}' for each in took)} s, each time over {limit_s} s")
