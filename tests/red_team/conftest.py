"""Fixtures of the red team's tests: each tier's stage, probes and channels, made once for each module."""

import os
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest

from tests.red_team.stage import Stage, missing

Needs = Callable[[str, str | None], None]


@pytest.fixture(scope="module")
def stage_of(tmp_path_factory: pytest.TempPathFactory, needs: Needs) -> Iterator[Callable[[str], Stage]]:
    """Give `stage_of(tier)`; skips, with the reason, where the tier can't be had."""
    made: dict[str, Stage] = {}

    def get(tier: str) -> Stage:
        if tier not in made:
            needs(tier, missing(tier))
            made[tier] = Stage(tier, tmp_path_factory.mktemp(f"red-team-{tier}"))
        return made[tier]

    yield get
    for stage in made.values():
        stage.close()


@pytest.fixture(scope="session")
def on_ci() -> bool:
    """Whether this is the kind of machine on which .ci/run requires everything: then more controls must work."""
    return bool(os.environ.get("ARENA_REQUIRE")) and os.getuid() == 0


@pytest.fixture
def scratch(tmp_path: Path) -> Path:
    return tmp_path / "scratch"
