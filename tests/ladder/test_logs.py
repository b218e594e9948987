"""Tests that a run's logs are bounded for each bot: the first and the last are kept, the others are counted."""

from pathlib import Path

import pytest

from ladder.store import LogFolder

BLOCK = 4096


def sizes(folder: Path, bot: str) -> dict[int, int]:
    """Return the bytes of a bot's logs, by match."""
    return {int(path.name[:6]): path.stat().st_size for path in folder.glob(f"*-{bot}-1.txt")}


def test_logs_up_to_the_limit_are_kept_completely(tmp_path: Path) -> None:
    logs = LogFolder(tmp_path, 10 * BLOCK)
    for bot in ("a", "b"):
        for match in range(10):
            logs.add(match, bot, 1, b"x" * BLOCK)
    assert len(list(tmp_path.iterdir())) == 20


def test_the_first_half_and_the_last_half_are_kept_and_the_rest_is_counted(tmp_path: Path) -> None:
    logs = LogFolder(tmp_path, 10 * BLOCK)
    for match in range(100):
        logs.add(match, "a", 1, b"x" * BLOCK)
    assert sorted(sizes(tmp_path, "a")) == [0, 1, 2, 3, 4, 95, 96, 97, 98, 99]
    output = (tmp_path / "a.left-out.txt").read_text()
    assert output == "450 kB in 90 files left out: the first and the last are kept\n"


def test_matches_that_end_out_of_order_are_kept_in_the_order_of_their_numbers(tmp_path: Path) -> None:
    logs = LogFolder(tmp_path, 4 * BLOCK)
    for match in (1, 0, 3, 2, 5, 4, 7, 6):
        logs.add(match, "a", 1, b"")
    assert sorted(sizes(tmp_path, "a")) == [0, 1, 6, 7]


def test_a_log_larger_than_the_limit_is_kept_if_it_is_the_last(tmp_path: Path) -> None:
    logs = LogFolder(tmp_path, 2 * BLOCK)
    for match in range(3):
        logs.add(match, "a", 1, b"x" * 8 * BLOCK)
    assert list(sizes(tmp_path, "a")) == [2]


def test_a_later_session_continues_the_count(tmp_path: Path) -> None:
    for match in range(100):
        LogFolder(tmp_path, 10 * BLOCK).add(match, "a", 1, b"x" * BLOCK)
    assert sorted(sizes(tmp_path, "a")) == [0, 1, 2, 3, 4, 95, 96, 97, 98, 99]
    assert (tmp_path / "a.left-out.txt").read_text().startswith("450 kB in 90 files")


@pytest.mark.parametrize("left", [b"", b"450 kB in", b"\xff\x00"])
def test_an_unreadable_count_is_ignored(tmp_path: Path, left: bytes) -> None:
    """A killed arena or a full disk may leave such a file; the next match is kept anyway."""
    logs = LogFolder(tmp_path, 2 * BLOCK)
    (tmp_path / "a.left-out.txt").write_bytes(left)
    for match in range(3):
        logs.add(match, "a", 1, b"x" * BLOCK)
    output = (tmp_path / "a.left-out.txt").read_text()
    assert output == "5 kB in 1 files left out: the first and the last are kept\n"


def test_the_count_is_replaced_atomically(tmp_path: Path) -> None:
    logs = LogFolder(tmp_path, 2 * BLOCK)
    for match in range(3):
        logs.add(match, "a", 1, b"x" * BLOCK)
    before = tmp_path / "before.txt"
    before.hardlink_to(tmp_path / "a.left-out.txt")
    logs.add(3, "a", 1, b"x" * BLOCK)
    assert before.read_text().startswith("5 kB in 1 files")
    assert (tmp_path / "a.left-out.txt").read_text().startswith("10 kB in 2 files")


def test_a_match_that_is_kept_again_is_counted_once(tmp_path: Path) -> None:
    """A log is written before its record. After a crash between the two the match is played again."""
    logs = LogFolder(tmp_path, 10 * BLOCK)
    for _ in range(20):
        logs.add(0, "a", 1, b"x" * BLOCK)
    logs.add(1, "a", 1, b"y")
    assert sorted(sizes(tmp_path, "a")) == [0, 1]
    assert not (tmp_path / "a.left-out.txt").exists()


def test_the_files_of_a_bot_are_distinguished_from_those_of_similar_names(tmp_path: Path) -> None:
    """The first process of bot-2 isn't a process of bot; neither is the file that counts omitted logs."""
    logs = LogFolder(tmp_path)
    for bot, process in (("bot", 1), ("bot", 2), ("bot", 10), ("bot-2", 1)):
        logs.add(7, bot, process, b"x")
    assert [path.name for path in logs.files(7, "bot")] == [f"000007-bot-{number}.txt" for number in (1, 2, 10)]
