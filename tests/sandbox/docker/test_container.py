"""Tests of containers without an engine."""

import os
from types import SimpleNamespace
from typing import Any
from unittest.mock import MagicMock

import pytest

from arena.sandbox import HostProblemError, docker
from arena.sandbox.linux import global_identity
from tests.sandbox.talk import descriptors


def test_no_descriptor_is_left_of_a_container_that_ended_at_once(monkeypatch: pytest.MonkeyPatch) -> None:
    """Its process ends between the pidfd and the read of its group."""
    container = docker.container.Container.__new__(docker.container.Container)
    container.id = "1" * 64
    monkeypatch.setattr(os, "pidfd_open", lambda pid: os.open(os.devnull, os.O_RDONLY))
    before = descriptors()
    with pytest.raises(HostProblemError):
        container._open_pidfd(4194305)  # one more than Linux gives
    assert descriptors() == before


def test_a_sweep_goes_past_a_container_that_the_engine_refuses_to_remove() -> None:
    where, _, _ = global_identity().rpartition("/")
    dead = {docker.OWNER_LABEL: f"{where}/1.9.{os.stat('/proc/self/ns/pid').st_ino}"}
    removed: list[str] = []

    class RefusedError(Exception):
        status_code = 500

    def remove_container(container: str, **_: Any) -> None:
        if container == "refused":
            raise RefusedError
        removed.append(container)

    engine = docker.Engine.__new__(docker.Engine)
    engine.events = MagicMock()
    containers = [{"Id": name, "Labels": dead} for name in ("refused", "other")]
    engine.api = SimpleNamespace(containers=lambda **_: containers, remove_container=remove_container)
    assert engine.cleanup_stale() == 1
    assert removed == ["other"]
