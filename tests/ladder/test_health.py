"""Tests of a ladder's health: the numbers of probes and metrics, also while the database doesn't answer."""

import os
import signal
import time
from contextlib import suppress
from pathlib import Path

import pytest
from prometheus_client import CollectorRegistry, generate_latest

from ladder.health import HealthMonitor, LadderMetrics
from ladder.store import register_runner
from tests.cases import each
from tests.ladder.small_ladder import play, small_ladder
from tests.postgres import Postgres, postgres_problem


@pytest.mark.clock
@pytest.mark.needs("postgresql", postgres_problem())
@each("frozen", [False, True])
def test_metrics_answer_in_a_second_while_postgres_is_down(tmp_path: Path, own_server: Postgres, frozen: bool) -> None:
    """The last values stay. A server that hangs is as unreachable as one that has stopped."""
    ladder = small_ladder(tmp_path / str(frozen), own_server.create(f"frozen_{frozen}"))
    play(ladder, 3)
    ladder.database.write(lambda connection: register_runner(connection, 1, 0.0))
    registry = CollectorRegistry(auto_describe=False)
    registry.register(LadderMetrics(HealthMonitor(ladder)))
    up = generate_latest(registry).decode()
    assert {"coup_database_up 1.0", "coup_games_total 6.0", "coup_live_runners 1.0"} <= set(up.splitlines())
    backends = own_server.processes() if frozen else []
    for process in backends:
        with suppress(ProcessLookupError):  # a worker of the server may end by itself
            os.kill(process, signal.SIGSTOP)
    if not frozen:
        own_server.stop()
    try:
        began = time.monotonic()
        down = generate_latest(registry).decode()
        while "coup_database_up 1.0" in down:  # a reading is used for half a second
            began = time.monotonic()
            down = generate_latest(registry).decode()
        assert time.monotonic() - began < 1.5
    finally:
        for process in backends:
            with suppress(ProcessLookupError):
                os.kill(process, signal.SIGCONT)
    assert down == up.replace("coup_database_up 1.0", "coup_database_up 0.0")
    if not frozen:
        own_server.start()
    until = time.monotonic() + 30
    while generate_latest(registry).decode() != up:
        assert time.monotonic() < until
    ladder.close()
