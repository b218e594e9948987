"""Benchmarks of speed and size: `make bench`, or `python -m tests.bench NAME...` for some of them.

Each figure is printed with its floor or goal from the same run, as a ratio, since machines differ and are never idle.
None of them is a test: a slow machine causes no failure.
"""

import os

os.environ.setdefault("OPENBLAS_NUM_THREADS", "1")  # as a ladder's runner does; must precede the import of numpy
