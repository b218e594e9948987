"""Baselines of the benchmarks, their output, and descriptions of habits."""

import re
import shutil
import subprocess
from collections import Counter
from functools import partial
from pathlib import Path
from typing import Any

import pytest

from arena.local import play
from tests.bench import pairs, pipes, replies
from tests.bench.habits import HABITS, Habits, Reply

needs_cc = pytest.mark.needs("cc", None if shutil.which("cc") else "there is no C compiler: apt install gcc libc6-dev")


@needs_cc
def test_the_bare_loop_has_the_same_conversation_as_the_referee(tmp_path: Path) -> None:
    """The ratio is meaningful only if both send and receive the same amount."""
    bots = [pipes.c_bot(tmp_path)] * 3
    cost, result, match = pipes.referee(bots, 6)
    floor = pipes.bare_loop(bots, match, result)
    assert floor.requests == cost.requests == result.requests > 0


def test_a_reply_without_habits_is_the_honest_sample() -> None:
    tables = [play({"a": bot, "b": "sample:opportunist"}, 48, seed=1) for bot in (partial(Reply, {}), "sample:honest")]
    assert tables[0].games == tables[1].games


@pytest.mark.parametrize(
    ("bot", "words"),
    [
        ("honest", r"Play: never lies, never challenges, .* bluffs \w+ \(\+\d+\)"),
        (
            "turtle",
            r"Wins: 100.0 % .*Play: never challenges, never blocks\.\n\nReply:\n\n- never bluffs\n- never challenges",
        ),
        ("random_bot", r"Of its blocks, \d+ % are lies.*never bluffs \(taxing without a duke: -\d\d\)"),
    ],
)
def test_replies_prints_the_section_of_a_sample_bot(bot: str, words: str, capsys: pytest.CaptureFixture[str]) -> None:
    """The search is too short for all of the documented table. The last bot has no kit, and is a process."""
    replies.main([bot, "--search", "200", "--games", "96"])
    out = capsys.readouterr().out
    assert re.search(words, out, re.DOTALL)
    page = (Path(__file__).parents[2] / "docs/explanation/sample-bots.md").read_text(encoding="utf-8")
    first = [re.sub(r"[\d.]+", "N", text.split(f"### {bot}\n")[1].split("Play: ")[0]) for text in (out, page)]
    assert first[0] == first[1]


class Listener:
    """A bot that plays at random, and keeps the messages that it gets."""

    def __init__(self) -> None:
        self.heard: list[dict[str, Any]] = []

    def reply(self, message: dict[str, Any]) -> dict[str, Any] | None:
        self.heard.append(message)
        if message["type"] == "request":
            return {"id": message["id"], "choice": message["id"] * 7 % len(message["legal"])}
        return {"type": "hello"} if message["type"] == "hello" else None


def test_every_choice_of_a_habit_changes_a_move() -> None:
    listener = Listener()
    play({"a": listener, **{str(number): Listener() for number in range(3)}}, 80, seed=1, match_games=80)
    bases: list[Habits] = [{}, dict.fromkeys(replies.BLUFFS + replies.DOUBTS, "always")]
    same = Counter[tuple[str, str]]()
    for base in bases:
        plain = answers(base, listener.heard)
        for name, habit in HABITS.items():
            same.update(
                (name, choice) for choice in habit.choices if answers({**base, name: choice}, listener.heard) == plain
            )
    assert [choice for choice, count in same.items() if count == len(bases)] == []


def answers(habits: Habits, messages: list[dict[str, Any]]) -> list[object]:
    bot = Reply(habits)
    return [bot.reply(message) for message in messages]


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


def test_a_row_of_pairs_has_the_ratio_first() -> None:
    assert pairs.row("a figure", [10.0, 20.0, 30.0], [10.0, 22.0, 30.0], [5.0, 10.0, 24.0]).split() == [
        *("x0.500", "0.50-0.65", "x1.000", "1.00-1.05", "20.00", "10.00", "a", "figure")
    ]


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
