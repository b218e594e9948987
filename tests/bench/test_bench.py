"""The benchmarks run; what they measure is nobody's test."""

import re
import shutil
import subprocess
import sys
from collections import Counter
from collections.abc import Callable
from functools import partial
from pathlib import Path
from typing import Any

import pytest

from arena.local import play
from arena.sandbox import why_not
from tests.bench import (
    engine,
    figures,
    ladder,
    learning,
    pairs,
    peers,
    pipes,
    replies,
    starts,
    web,
)
from tests.bench.habits import HABITS, Habits, Reply
from tests.bench.peers import environments

Needs = Callable[[str, str | None], None]
needs_cc = pytest.mark.needs("cc", None if shutil.which("cc") else "there is no C compiler: apt install gcc libc6-dev")


def test_the_engine_benchmark_plays() -> None:
    """Makefile: bench."""
    assert engine.decisions_per_second(3, 0.05) > 0


@needs_cc
def test_the_bare_loop_has_the_same_conversation_as_the_referee(tmp_path: Path) -> None:
    """The ratio means something only if both send and receive as much."""
    bots = [pipes.c_bot(tmp_path)] * 3
    cost, result, match = pipes.referee(bots, 6)
    floor = pipes.bare_loop(bots, match, result)
    assert floor.requests == cost.requests == result.requests > 0


def test_the_benchmarks_python_bots_play_without_a_fault() -> None:
    """They are the sample bots."""
    cost, result, _ = pipes.referee(pipes.python_bots(2), 2)
    assert cost.requests == result.requests > 0


def test_the_benchmark_of_a_ladder_measures() -> None:
    """Makefile: bench."""
    found = ladder.term(games=600, bots=8)
    assert min(found.batch, found.again, found.read) > 0


def test_the_benchmark_of_the_environment_plays() -> None:
    """Makefile: bench."""
    found = learning.beside_the_engine(3, 1, 0.02)
    assert min(found.engine, found.aec, found.parallel) > 0


@pytest.mark.filterwarnings("ignore")  # theirs
@pytest.mark.parametrize("name", environments.ENVIRONMENTS)
def test_another_environment_is_measured_where_it_is_installed(name: str, monkeypatch: pytest.MonkeyPatch) -> None:
    """And is left out where it isn't."""
    found = learning.beside_another(name, 1, 0.01)
    assert found is None or min(found) > 0
    for package in ("pyspiel", "rlcard", f"pettingzoo.classic.{environments.ENVIRONMENTS[name][1]}"):
        monkeypatch.setitem(sys.modules, package, None)
    assert learning.beside_another(name, 1, 0.01) is None


def test_the_benchmark_of_bots_in_process_plays_them_over_pipes_too() -> None:
    """Makefile: bench."""
    found = learning.games_per_second(12)
    assert min(found.piped, found.one_match, found.engine) > 0
    assert found.in_process > found.piped


def test_a_reply_without_habits_is_the_honest_sample() -> None:
    """Else a habit's worth would be measured against nothing that is known."""
    tables = [play({"a": bot, "b": "sample:opportunist"}, 48, seed=1) for bot in (partial(Reply, {}), "sample:honest")]
    assert tables[0].games == tables[1].games


@pytest.mark.parametrize(
    ("bot", "words"),
    [
        (
            "honest",
            r"\| `honest` \| .*never lies, never challenges, .* with or without a .* \(\+\d+: no such lie is called\)",
        ),
        ("turtle", r"\| `turtle` \| 100.0 % .* never challenges, never blocks \| never bluffs; never challenges"),
        ("random_bot", r"\| `random_bot` \| .* of its blocks are lies.*never bluffs \(to tax without a duke: -\d\d\)"),
    ],
)
def test_what_beats_a_sample_bot_is_told_in_words(bot: str, words: str, capsys: pytest.CaptureFixture[str]) -> None:
    """The table of docs/samples.md, from a search that is too short for more. The last has no kit, and is a process."""
    replies.main([bot, "--search", "200", "--games", "96"])
    head, row = capsys.readouterr().out.rsplit("\n", 2)[:2]
    assert f"{head}\n" in (Path(__file__).parents[2] / "docs" / "samples.md").read_text(encoding="utf-8")
    assert re.match(words, row)
    assert row.count("|") == 6


class Listener:
    """A bot that plays at random, and keeps what it is told."""

    def __init__(self) -> None:
        self.heard: list[dict[str, Any]] = []

    def reply(self, message: dict[str, Any]) -> dict[str, Any] | None:
        self.heard.append(message)
        if message["type"] == "request":
            return {"id": message["id"], "choice": message["id"] * 7 % len(message["legal"])}
        return {"type": "hello"} if message["type"] == "hello" else None


def test_every_choice_of_a_habit_makes_a_bot_play_otherwise() -> None:
    """Words for what never happens would be no words: each bot answers the same requests of random games."""
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


def another_tree(folder: Path) -> None:
    """Make a checkout whose package can't be imported."""
    root = Path(__file__).parents[2]
    for name in ("ladder", "protocol", "sample_bots"):
        (folder / name).symlink_to(root / name)
    (folder / "arena").mkdir()
    (folder / "arena" / "__init__.py").write_text("raise ImportError('of another tree')")


def test_a_pair_is_measured_in_the_packages_of_its_tree(tmp_path: Path) -> None:
    """The measuring code is this tree's; a tree without the packages gives no figures."""
    another_tree(tmp_path)
    with pytest.raises(pairs.MeasurementError, match="another tree"):
        pairs.measure(tmp_path, "local", None, tmp_path)


def test_the_commit_before_is_the_last_that_differs(tmp_path: Path) -> None:
    """HEAD while files differ from it: else a change would be measured beside itself, or beside two changes."""
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
    """It's what counts on a busy machine."""
    assert pairs.row("a figure", [10.0, 20.0, 30.0], [10.0, 22.0, 30.0], [5.0, 10.0, 24.0]).split() == [
        *("x0.500", "0.50-0.65", "x1.000", "1.00-1.05", "20.00", "10.00", "a", "figure")
    ]


def test_pairs_say_whether_the_texts_of_both_trees_are_the_same() -> None:
    """A run that ends otherwise is a failure, and no figure."""
    assert pairs.told([{"text": "a", "us": 1.0}], [{"text": "a", "us": 1.0}], [{"text": "a", "us": 2.0}])
    old = [{"text": "a", "more": "b"}]
    assert not pairs.told(old, old, [{"text": "c", "more": "b"}])


@needs_cc
def test_pairs_fail_where_a_tree_cannot_be_measured(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    """A script that only looks at the exit code must not take it for measured."""
    another_tree(tmp_path)
    with pytest.raises(SystemExit) as ended:
        pairs.main(["local", "--against", str(tmp_path), "--pairs", "1"])
    assert ended.value.code == 1
    assert "left out: local" in capsys.readouterr().out


@pytest.mark.boxes
def test_starts_in_a_box_are_measured_with_the_bytecode_that_a_worker_makes(tmp_path: Path, needs: Needs) -> None:
    """Else the kit would be compiled at each start."""
    needs("bubblewrap", why_not("bubblewrap"))
    started = figures.programs(Path(__file__).parents[2], "kit", tmp_path, "bubblewrap")
    assert all(each.bytecode for each in started)


@needs_cc
def test_the_measurements_of_pairs_measure(tmp_path: Path) -> None:
    """Each is made of starts and matches of these."""
    bot, tree = Path(pipes.c_bot(tmp_path).argv[0]), Path(__file__).parents[2]
    (found,) = figures.start(tree, "c", bot, "process", matches=1).values()
    assert float(found) > 0
    own, bots, result = figures.played(figures.programs(tree, "kit", bot, "process"), 4)
    assert min(own, bots, result.requests) > 0


@needs_cc
def test_the_chess_runner_plays_the_same_bot(tmp_path: Path) -> None:
    """Else its figures would be another bot's."""
    found = peers.chess_runner(pipes.c_bot(tmp_path), tmp_path, 401)
    assert found.requests == 400, "less those of the short run"
    assert found.own > 0
    assert 200 < found.line_bytes < 1000


def test_the_poker_dealer_plays_the_same_bot() -> None:
    """It speaks with both."""
    found = peers.poker_dealer(peers.first_bot(), 4, 4, pipes.ENVIRONMENT)
    assert found.requests > 16
    assert found.own > 0
    cost, result, _ = pipes.referee([peers.first_bot()] * 2, 2)
    assert cost.requests == result.requests > 0


def test_starts_are_measured_of_what_is_here() -> None:
    """A language that isn't here is named with the reason."""
    found = starts.start("process", "python", 1)
    assert found.problem is None
    assert found.cpu_ms > 0
    assert starts.start("process", "no such bot", 1).problem is not None


def test_the_benchmark_of_pages_measures() -> None:
    """Each page is there, and costs something."""
    with web.filled(games=600, bots=8) as ladder:
        costs = web.measure(ladder)
    assert {cost.status for cost in costs if "5000" not in cost.path and "bot7" not in cost.path} == {200}
    assert all(cost.drawn > 0 for cost in costs)
