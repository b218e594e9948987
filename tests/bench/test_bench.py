"""Baselines of the benchmarks, their output, and descriptions of responses."""

import re
import shutil
import subprocess
from functools import partial
from pathlib import Path

import pytest

from tests.bench import figures, pairs, pipes, responses
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
    responses.main([bot, "--search", "200", "--games", "96"])
    out = capsys.readouterr().out
    assert re.search(words, out, re.DOTALL)
    page = (Path(__file__).parents[2] / "docs/explanation/sample-bots.md").read_text(encoding="utf-8")
    first = [re.sub(r"[\d.]+", "N", text.split(f"### {bot}\n")[1].split("Play: ")[0]) for text in (out, page)]
    assert first[0] == first[1]


def test_bots_with_the_kit_can_be_started() -> None:
    assert figures.start(ROOT, "kit", Path(), "process", matches=1)


def test_the_commit_before_is_the_last_that_differs(tmp_path: Path) -> None:
    """It is HEAD while files differ from it; otherwise a change would be compared with itself, or with two."""
    tree = tmp_path / "tree"
    for name in pairs.NEEDED:
        (tree / name).mkdir(parents=True)
        (tree / name / "file").write_text("one")
    git = partial(subprocess.run, check=True, capture_output=True, cwd=tree)
    git(["git", "init"])
    for text in ("two", "three"):
        git(["git", "add", "."])
        git(["git", "-c", "user.name=a", "-c", "user.email=a@b", "commit", "-m", text])
        (tree / "arena" / "file").write_text(text)
    for number, expected in enumerate(("two", "one")):
        git(["git", "checkout", "."] if number else ["git", "status"])
        (before := tmp_path / expected).mkdir()
        pairs.check_out(tree, before)
        assert (before / "arena" / "file").read_text() == expected


def test_pairs_report_whether_the_texts_of_both_trees_are_the_same() -> None:
    assert pairs.differs([{"text": "a", "us": 1.0}], [{"text": "a", "us": 1.0}], [{"text": "a", "us": 2.0}])
    old = [{"text": "a", "more": "b"}]
    assert not pairs.differs(old, old, [{"text": "c", "more": "b"}])


def test_pairs_fail_where_a_tree_cannot_be_measured(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    for name in pairs.NEEDED:
        (tmp_path / name).mkdir()
    (tmp_path / "arena" / "__init__.py").write_text("raise ImportError('of another tree')")
    with pytest.raises(SystemExit) as ended:
        pairs.main(["local", "--against", str(tmp_path), "--pairs", "1"])
    assert ended.value.code == 1
    assert "left out: local" in capsys.readouterr().out
