"""Tests of containers without an engine."""

import os

import pytest

from arena.sandbox import HostProblemError, docker
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
