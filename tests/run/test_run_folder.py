"""Tests of a run's folder: complete, once, in order; its logs are bounded.

Source: the docstring of arena/run/run_folder.py.
"""

import json
import stat
import tracemalloc
from itertools import permutations
from pathlib import Path

import pytest

from arena.referee import FailedMatch
from arena.run import FolderError, LogFolder, RunFolder, new_run_folder_name
from tests.ladder.store.matches import match_of, results_of, sample_of


def fresh(path: Path) -> RunFolder:
    folder = RunFolder(path / "run", results_of)
    folder.create({"run": 1})
    return folder


def reopen(folder: RunFolder) -> RunFolder:
    """Return the folder as another session of the run sees it."""
    return RunFolder(folder.path, results_of)


def load_session(folder: RunFolder) -> RunFolder:
    """Return the folder as another session that continues the run sees it."""
    later = reopen(folder)
    later.restore()
    return later


def listed(folder: RunFolder) -> list[tuple[int, str]]:
    text = (folder.path / "results.jsonl").read_text()
    return [(line["match"], line["reason"]) for line in map(json.loads, text.splitlines())]


def test_a_folder_is_readable_only_by_its_owner(tmp_path: Path) -> None:
    """Records reveal hidden cards, and the key all future ones."""
    folder = fresh(tmp_path)
    assert stat.S_IMODE(folder.path.stat().st_mode) == 0o700
    assert folder.config() == {"run": 1}
    assert load_session(folder).list_matches() == ()


def test_a_folder_is_made_once(tmp_path: Path) -> None:
    """Existing files are never overwritten; the message says that a run there can be continued."""
    folder = fresh(tmp_path)
    with pytest.raises(FolderError, match=r"run exists; name another --out, or continue with --resume"):
        reopen(folder).create({"run": 2})
    assert folder.config() == {"run": 1}
    (tmp_path / "other").mkdir()
    with pytest.raises(FolderError, match=r"other exists; name another --out$"):
        RunFolder(tmp_path / "other", results_of).create({})
    with pytest.raises(FolderError, match="can't be created"):
        RunFolder(folder.path / "run.json" / "below", results_of).create({})


@pytest.mark.parametrize("order", list(permutations(range(4))), ids=str)
def test_results_are_in_match_order_whichever_match_ends_first(tmp_path: Path, order: tuple[int, ...]) -> None:
    folder = fresh(tmp_path)
    for count, match in enumerate(order, start=1):
        folder.save(match_of(match, "xy" if match % 2 else "z"))
        have = set(order[:count])
        prefix = next(number for number in range(5) if number not in have)
        assert sorted({number for number, _ in listed(folder)}) == list(range(prefix))
    assert listed(folder) == [(0, "z"), (1, "x"), (1, "y"), (2, "z"), (3, "x"), (3, "y")]
    assert load_session(folder).list_matches() == (0, 1, 2, 3)


@pytest.mark.parametrize("kept", [(), (0,), (1,), (0, 2), (1, 3), (0, 1, 2, 3)], ids=str)
def test_a_later_session_continues_in_match_order(tmp_path: Path, kept: tuple[int, ...]) -> None:
    """A killed run may leave gaps: results.jsonl then ends at the first one, and grows as they are filled."""
    folder = fresh(tmp_path)
    for match in reversed(kept):
        folder.save(match_of(match))
    later = load_session(folder)
    assert later.list_matches() == kept, "in match order"
    for match in (3, 2, 1, 0):
        if match not in kept:
            later.save(match_of(match))
        numbers = [number for number, _ in listed(later)]
        assert numbers == sorted(numbers)
        assert len(numbers) == len(set(numbers)) * 2, "no match twice"
    later.finish()
    assert sorted(later.list_matches()) == [0, 1, 2, 3]
    assert listed(later) == [(match, letter) for match in range(4) for letter in "xy"]


def test_a_match_is_kept_once(tmp_path: Path) -> None:
    """The first record counts, also one of another session that this one hasn't read."""
    folder = fresh(tmp_path)
    folder.save(match_of(0, "ab"))
    for match, mark in ((2, "ef"), (2, "gh"), (1, "ij")):
        folder.save(match_of(match, mark))
    assert [letter for _, letter in listed(folder)] == list("abijef")
    other = reopen(folder)
    other.save(match_of(1, "kl"))
    assert folder.read(1) == "1 ij\n"
    assert [result.reason for result in other.results(1)] == ["i", "j"]


def test_a_record_written_during_an_interrupt_is_counted_at_the_end(tmp_path: Path) -> None:
    """Ctrl-C may come after a record is written and before it is noted."""
    folder = fresh(tmp_path)
    folder.save(match_of(0))
    reopen(folder).save(match_of(1))
    assert folder.list_matches() == (0,)
    folder.finish()
    assert folder.list_matches() == (0, 1)
    assert listed(folder) == [(0, "x"), (0, "y"), (1, "x"), (1, "y")]


def test_void_matches_are_forgotten_with_their_session(tmp_path: Path) -> None:
    """A later session plays them again, perhaps after the machine was repaired."""
    folder = fresh(tmp_path)
    folder.add_failed_attempt(FailedMatch(0, "no memory", True))
    folder.finish()
    assert load_session(folder).list_failed_attempts() == ()
    assert sorted(path.name for path in folder.path.iterdir()) == ["logs", "records", "results.jsonl", "run.json"]


def test_an_abandoned_match_leaves_a_gap_at_the_end(tmp_path: Path) -> None:
    folder = fresh(tmp_path)
    for match in (0, 2, 3):
        folder.save(match_of(match, "x"))
    assert listed(folder) == [(0, "x")]
    folder.finish()
    assert listed(folder) == [(0, "x"), (2, "x"), (3, "x")]


def test_half_written_files_are_no_records(tmp_path: Path) -> None:
    """A kill during a write leaves a .tmp file, which is ignored and removed when the run continues."""
    folder = fresh(tmp_path)
    folder.save(match_of(0))
    (folder.records / "000001.jsonl.tmp").write_text("1 x")
    (folder.path / "faults").mkdir(exist_ok=True)
    (folder.path / "faults" / "a.jsonl.tmp").write_text("{")
    (folder.records / "notes.jsonl").write_text("mine")
    (folder.records / "7.jsonl").write_text("7 x")
    (folder.path / "results.jsonl").write_text('{"match":0,"ga')
    later = load_session(folder)
    assert later.list_matches() == (0,)
    assert not list(later.path.rglob("*.tmp"))
    assert listed(later) == [(0, "x"), (0, "y")]
    assert (folder.records / "notes.jsonl").read_text() == "mine"


def test_folders_that_a_copy_lacks_are_made_again(tmp_path: Path) -> None:
    folder = fresh(tmp_path)
    folder.records.rmdir()
    folder.logs.rmdir()
    later = load_session(folder)
    later.save(match_of(0, logs=(("x", 1, b"loaded\n"),)))
    assert later.list_matches() == (0,)
    assert len(later.log_files(0, "x")) == 1


def test_an_incomplete_record_is_named(tmp_path: Path) -> None:
    """The message says to remove it, and then the match is played again."""
    folder = fresh(tmp_path)
    folder.save(match_of(0))
    folder.record(0).write_text("0 broken")
    with pytest.raises(FolderError, match=r"000000\.jsonl: the record is cut off; remove the file, and --resume plays"):
        reopen(folder).restore()
    folder.record(0).write_bytes(b"\xff")
    with pytest.raises(FolderError, match=r"000000\.jsonl: .*; remove the file"):
        reopen(folder).restore()


def test_a_record_under_another_matchs_number_is_named(tmp_path: Path) -> None:
    """A copy would count its games twice."""
    folder = fresh(tmp_path)
    folder.save(match_of(0))
    folder.record(1).write_bytes(folder.record(0).read_bytes())
    with pytest.raises(FolderError, match="it is the record of match 0"):
        load_session(folder)


def test_a_folder_that_could_not_be_filled_is_no_run(tmp_path: Path) -> None:
    """run.json is written last: a kill before that leaves no run to continue. An error leaves nothing."""

    def fill() -> None:
        assert (tmp_path / "run" / "logs").is_dir()
        with pytest.raises(FolderError, match=r"run exists; name another --out$"):
            folder.refuse_existing()
        raise KeyboardInterrupt

    folder = RunFolder(tmp_path / "run", results_of)
    with pytest.raises(KeyboardInterrupt):
        folder.create({"run": 1}, fill)
    folder.create({"run": 1})


def test_a_match_is_missing_after_a_failed_write(tmp_path: Path) -> None:
    """The caller gets OSError, and can save the match later."""
    folder = fresh(tmp_path)
    blocked = folder.records / "000000.jsonl.tmp"
    blocked.mkdir()
    with pytest.raises(OSError, match="000000"):
        folder.save(match_of(0))
    assert folder.list_matches() == ()
    assert folder.list_missing([0]) == [0]
    assert not (folder.path / "results.jsonl").exists()
    blocked.rmdir()
    folder.save(match_of(0))
    assert listed(folder) == [(0, "x"), (0, "y")]


def test_standard_error_has_one_file_for_each_process(tmp_path: Path) -> None:
    """Different names never share a file, and a bot's files are found by its name, in order of its processes."""
    folder = fresh(tmp_path)
    bots = ["honest", "honest-2", "my bot", "my_bot", "Zoë", "[x]*", "..", "😀" * 40]
    logs = tuple((bot, number, f"{bot} {number}".encode()) for bot in bots for number in (1, 2, 10))
    folder.save(match_of(5, logs=logs))
    assert len(list(folder.logs.iterdir())) == len(logs)
    for bot in bots:
        assert [path.read_text() for path in folder.log_files(5, bot)] == [f"{bot} {n}" for n in (1, 2, 10)]
    assert folder.log_files(5, "unknown") == []
    assert folder.log_files(50, "honest") == []


def test_fault_samples_survive_a_session_and_are_safe_to_print(tmp_path: Path) -> None:
    """Each bot with faults has a file, for its owner to read."""
    folder = fresh(tmp_path)
    folder.save(match_of(1))
    assert not (folder.path / "faults").exists()
    folder.save(match_of(0, fault_samples=(sample_of(0, got=b"\x1b[2J"),)))
    assert list(load_session(folder).fault_samples("a@1")) == [sample_of(0, got=b"\x1b[2J")]
    assert [path.name for path in (folder.path / "faults").iterdir()] == ["a%000401.jsonl"]
    assert folder.fault_sample_file("a@1").read_text().rstrip("\n").isprintable()


def test_fault_samples_of_a_match_without_a_record_are_replaced(tmp_path: Path) -> None:
    """The process died between writing the samples and the record."""
    folder = fresh(tmp_path)
    for match in (0, 1, 2):
        folder.save(match_of(match, fault_samples=(sample_of(match),)))
    folder.record(1).unlink()
    later = load_session(folder)
    assert list(later.fault_samples("a@1")) == [sample_of(0), sample_of(2)]
    later.save(match_of(1, fault_samples=(sample_of(1, got=b"again"),)))
    assert list(later.fault_samples("a@1")) == [sample_of(0), sample_of(1, got=b"again"), sample_of(2)]
    folder.record(1).unlink()
    later = load_session(folder)
    later.save(match_of(1))
    assert list(later.fault_samples("a@1")) == [sample_of(0), sample_of(2)]
    assert folder.fault_sample_file("a@1").read_text().count("\n") == 2


@pytest.mark.parametrize("text", ["{", "7", "{}", '{"match":0}', "\xff"])
def test_a_changed_file_of_fault_samples_is_named(tmp_path: Path, text: str) -> None:
    folder = fresh(tmp_path)
    folder.save(match_of(0, fault_samples=(sample_of(0),)))
    folder.fault_sample_file("a@1").write_bytes(text.encode("latin-1"))
    with pytest.raises(FolderError, match=r"faults/a%000401\.jsonl was changed: .*; remove the file, and resume"):
        load_session(folder).fault_samples("a@1")


def test_only_one_session_plays_in_a_folder(tmp_path: Path) -> None:
    """The lock is released when its process ends; here by hand."""
    folder = fresh(tmp_path)
    other = reopen(folder)
    folder.lock()
    with pytest.raises(FolderError, match="is in use by another arena process"):
        other.lock()
    folder.unlock()
    other.lock()
    other.unlock()


@pytest.mark.parametrize(
    ("text", "words"),
    [
        (None, "isn't the folder of a run: it has no run.json"),
        ("{", "isn't valid JSON"),
        ("[" * 100_000, "isn't valid JSON"),
        ("7", "isn't a JSON object"),
    ],
)
def test_an_unreadable_config_is_reported(tmp_path: Path, text: str | None, words: str) -> None:
    folder = fresh(tmp_path)
    config = folder.path / "run.json"
    if text is None:
        config.unlink()
    else:
        config.write_text(text)
    with pytest.raises(FolderError, match=words) as caught:
        folder.config()
    assert "\n" not in str(caught.value)


def test_an_incomplete_last_line_of_results_is_removed(tmp_path: Path) -> None:
    """results.jsonl is derived, so foreign lines are not followed by others."""
    folder = fresh(tmp_path)
    folder.save(match_of(0, "x"))
    with (folder.path / "results.jsonl").open("a") as out:
        out.write('{"match":1,"ga')
    folder.save(match_of(1, "y"))
    assert listed(folder) == [(0, "x"), (1, "y")]
    folder.restore()
    assert listed(folder) == [(0, "x"), (1, "y")]


def test_results_of_earlier_sessions_are_packed_until_needed(tmp_path: Path) -> None:
    """As objects they were most of the memory of a continued long run."""
    folder, games, matches = fresh(tmp_path), "abcdefghijkl", 40
    for match in range(matches):
        folder.save(match_of(match, games))
    later = reopen(folder)
    tracemalloc.start()
    try:
        later.restore()
        held, _ = tracemalloc.get_traced_memory()
    finally:
        tracemalloc.stop()
    assert held / (matches * len(games)) < 100
    assert [later.results(match) for match in later.list_matches()] == [
        match_of(each, games).results for each in range(matches)
    ]


def test_runs_that_start_in_the_same_second_have_different_folders() -> None:
    """Neither has made its folder while its bots are built and checked."""
    assert new_run_folder_name("arena-runs") != new_run_folder_name("arena-runs")


# --- standard error ---------------------------------------------------------------------------------------------------

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
