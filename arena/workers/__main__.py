"""Run a worker process. Usage: python -m arena.workers SOCKET_DESCRIPTOR OWNER_PID CORES."""

import sys

from arena.workers.executors import run_worker

run_worker(int(sys.argv[1]), int(sys.argv[2]), sys.argv[3])
