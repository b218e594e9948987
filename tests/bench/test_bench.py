"""Baselines of the benchmarks, their output, and descriptions of responses."""

import re
import shutil
from pathlib import Path

import pytest

from tests.bench import figures, pipes, responses
from tests.documents import ROOT

needs_cc = pytest.mark.needs("cc", None if shutil.which("cc") else "there is no C compiler: apt install gcc libc6-dev")


@needs_cc
def test_the_bare_loop_has_the_same_conversation_as_the_referee(tmp_path: Path) -> None:
    """The ratio is meaningful only if both send and receive the same amount."""
    bots = [pipes.c_bot(tmp_path)] * 3
    cost, result, match = pipes.referee(bots, 6)
    floor = pipes.bare_loop(bots, match, result)
    assert floor.requests == cost.requests == result.requests > 0


@pytest.mark.parametrize(
    ("bot", "words"),
    [
        ("honest", r"Play: never lies, never challenges, .*never challenges false \w+ claims: bluff \w+ \(\+\d+\)"),
        (
            "turtle",
            r"Wins: 100.0 % .*Play: never challenges, never blocks\.\n\nResponse:\n\n- never bluff\n- never challenge",
        ),
        ("random_bot", r"lies in \d+ % of its blocks.*never bluff \(taxing without a duke: -\d\d\)"),
    ],
)
def test_responses_prints_the_section_of_a_sample_bot(bot: str, words: str, capsys: pytest.CaptureFixture[str]) -> None:
    """The search is too short for all of the documented table. The last bot has no kit, and is a process."""
    responses.main([bot, "--search", "24", "--games", "24"])
    out = capsys.readouterr().out
    assert re.search(words, out, re.DOTALL)
    page = (Path(__file__).parents[2] / "docs/explanation/sample-bots.md").read_text(encoding="utf-8")
    first = [re.sub(r"[\d.]+", "N", text.split(f"### {bot}\n")[1].split("Play: ")[0]) for text in (out, page)]
    assert first[0] == first[1]


def test_bots_with_the_kit_can_be_started() -> None:
    assert figures.start(ROOT, "kit", Path(), "process", matches=1)
