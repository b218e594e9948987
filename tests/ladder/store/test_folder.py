"""A run's folder: whole or not at all, once, in order. Source: DESIGN.md, section 4, and ladder/store/folder.py.

A record here is a text of two words, the match and a mark, and its results are one line a letter of the mark.
"""

import json
import stat
from itertools import permutations
from pathlib import Path
from typing import Any

import pytest

from ladder.store import FolderError, RunFolder


def lines_of(record: str) -> list[dict[str, Any]]:
    match, mark = record.split()
    if mark == "broken":
        raise FolderError("the record is cut off")
    return [{"match": int(match), "game": game, "letter": letter} for game, letter in enumerate(mark)]


def fresh(path: Path) -> RunFolder:
    folder = RunFolder(path / "run", lines_of)
    folder.create({"run": 1})
    return folder


def again(folder: RunFolder) -> RunFolder:
    """Return the folder as another session of the run sees it."""
    return RunFolder(folder.path, lines_of)


def listed(folder: RunFolder) -> list[tuple[int, str]]:
    text = (folder.path / "results.jsonl").read_text()
    return [(line["match"], line["letter"]) for line in map(json.loads, text.splitlines())]


def save(folder: RunFolder, match: int, mark: str = "xy") -> list[dict[str, Any]]:
    return folder.save(match, f"{match} {mark}\n", [])


def test_a_folder_is_its_owners_alone(tmp_path: Path) -> None:
    """Records tell hidden cards, and the key all future ones."""
    folder = fresh(tmp_path)
    assert stat.S_IMODE(folder.path.stat().st_mode) == 0o700
    assert folder.config() == {"run": 1}
    assert folder.complete() == []


def test_a_folder_is_made_once(tmp_path: Path) -> None:
    """What exists is never written to; a run there can be gone on with, which is said."""
    folder = fresh(tmp_path)
    with pytest.raises(FolderError, match=r"run exists; name another --out, or go on with --resume"):
        again(folder).create({"run": 2})
    assert folder.config() == {"run": 1}
    (tmp_path / "other").mkdir()
    with pytest.raises(FolderError, match=r"other exists; name another --out$"):
        RunFolder(tmp_path / "other", lines_of).create({})
    with pytest.raises(FolderError, match="can't be made"):
        RunFolder(folder.path / "run.json" / "below", lines_of).create({})


@pytest.mark.parametrize("order", list(permutations(range(4))), ids=str)
def test_results_stand_in_match_order_whatever_ends_first(tmp_path: Path, order: tuple[int, ...]) -> None:
    """Matches run side by side; those that end early wait for the ones before them, at every moment."""
    folder = fresh(tmp_path)
    for count, match in enumerate(order, start=1):
        save(folder, match, "xy" if match % 2 else "z")
        have = set(order[:count])
        prefix = next(number for number in range(5) if number not in have)
        assert sorted({number for number, _ in listed(folder)}) == list(range(prefix))
    assert listed(folder) == [(0, "z"), (1, "x"), (1, "y"), (2, "z"), (3, "x"), (3, "y")]
    assert folder.complete() == [0, 1, 2, 3]


@pytest.mark.parametrize("kept", [(), (0,), (1,), (0, 2), (1, 3), (0, 1, 2, 3)], ids=str)
def test_a_later_session_goes_on_in_match_order(tmp_path: Path, kept: tuple[int, ...]) -> None:
    """What a killed run left may have gaps: results.jsonl then ends at the first, and grows as they are filled."""
    folder = fresh(tmp_path)
    for match in kept:
        save(folder, match)
    later = again(folder)
    told = [lines[0]["match"] for lines in later.load()]
    assert told == sorted(kept)
    for match in (3, 2, 1, 0):
        if match not in kept:
            save(later, match)
        numbers = [number for number, _ in listed(later)]
        assert numbers == sorted(numbers)
        assert len(numbers) == len(set(numbers)) * 2, "no match twice"
    assert [lines[0]["match"] for lines in later.finish()] == [0, 1, 2, 3]
    assert listed(later) == [(match, letter) for match in range(4) for letter in "xy"]


def test_a_match_is_kept_once(tmp_path: Path) -> None:
    """What was kept first counts: a match that was played twice gives the same results twice."""
    folder = fresh(tmp_path)
    first = save(folder, 0, "ab")
    assert save(folder, 0, "cd") == first
    assert folder.read(0) == "0 ab\n"
    assert listed(folder) == [(0, "a"), (0, "b")]
    save(folder, 2, "ef")
    save(folder, 2, "gh")
    save(folder, 1, "ij")
    assert [letter for _, letter in listed(folder)] == list("abijef")


def test_a_match_that_was_given_up_leaves_a_gap_at_the_end(tmp_path: Path) -> None:
    """`finish` lists what comes after it, too."""
    folder = fresh(tmp_path)
    for match in (0, 2, 3):
        save(folder, match, "x")
    assert listed(folder) == [(0, "x")]
    assert [lines[0]["match"] for lines in folder.finish()] == [0, 2, 3]
    assert listed(folder) == [(0, "x"), (2, "x"), (3, "x")]


def test_half_written_files_are_no_records(tmp_path: Path) -> None:
    """A kill in the middle of a write leaves a .tmp, which counts for nothing and goes when the run goes on."""
    folder = fresh(tmp_path)
    save(folder, 0)
    (folder.records / "000001.jsonl.tmp").write_text("1 x")
    (folder.records / "notes.jsonl").write_text("mine")
    (folder.records / "7.jsonl").write_text("7 x")
    (folder.path / "results.jsonl").write_text('{"match":0,"ga')
    later = again(folder)
    assert later.complete() == [0]
    assert [lines[0]["match"] for lines in later.load()] == [0]
    assert not list(later.records.glob("*.tmp"))
    assert listed(later) == [(0, "x"), (0, "y")]
    assert (folder.records / "notes.jsonl").read_text() == "mine"


def test_a_record_that_is_not_whole_is_named(tmp_path: Path) -> None:
    """With the way out: remove it, and the match is played again."""
    folder = fresh(tmp_path)
    save(folder, 0)
    folder.record(0).write_text("0 broken")
    with pytest.raises(FolderError, match=r"000000\.jsonl: the record is cut off; remove it, and --resume plays"):
        list(again(folder).load())
    folder.record(0).write_bytes(b"\xff")
    with pytest.raises(FolderError, match=r"000000\.jsonl: .*; remove it"):
        list(again(folder).load())


def test_a_disk_that_takes_no_record_has_no_match(tmp_path: Path) -> None:
    """OSError goes up to whoever plays; the match isn't there and can be saved later."""
    folder = fresh(tmp_path)
    blocked = folder.records / "000000.jsonl.tmp"
    blocked.mkdir()
    with pytest.raises(OSError, match="000000"):
        save(folder, 0)
    assert folder.complete() == []
    assert not (folder.path / "results.jsonl").exists()
    blocked.rmdir()
    save(folder, 0)
    assert listed(folder) == [(0, "x"), (0, "y")]


def test_the_standard_error_of_each_process_has_a_file_of_its_own(tmp_path: Path) -> None:
    """Names that differ never share a file, and a bot's files are found by its name, in order of its processes."""
    folder = fresh(tmp_path)
    bots = ["honest", "honest-2", "my bot", "my_bot", "Zoë", "[x]*", "..", "😀"]
    logs = [(bot, number, f"{bot} {number}".encode()) for bot in bots for number in (1, 2, 10)]
    folder.save(5, "5 x\n", logs)
    assert len(list(folder.logs.iterdir())) == len(logs)
    for bot in bots:
        assert [path.read_text() for path in folder.log_files(5, bot)] == [f"{bot} {n}" for n in (1, 2, 10)]
    assert folder.log_files(5, "nobody") == []
    assert folder.log_files(50, "honest") == []


def test_a_name_as_long_as_names_may_be_fits_into_a_file_name(tmp_path: Path) -> None:
    """40 characters, none of which a file's name takes as it is."""
    folder = fresh(tmp_path)
    folder.save(0, "0 x\n", [("😀" * 40, 9, b"")])
    assert len(folder.log_files(0, "😀" * 40)) == 1


def test_only_one_plays_in_a_folder(tmp_path: Path) -> None:
    """The lock goes with the process that has it; here by hand."""
    folder = fresh(tmp_path)
    other = again(folder)
    folder.lock()
    with pytest.raises(FolderError, match="is being played by another arena"):
        other.lock()
    folder.unlock()
    other.lock()
    other.unlock()


@pytest.mark.parametrize(
    ("text", "words"),
    [
        (None, "holds no run: it has no run.json"),
        ("{", "is not JSON"),
        ("[" * 100_000, "is not JSON"),
        ("7", "holds no JSON object"),
    ],
)
def test_a_config_that_cannot_be_read_is_told(tmp_path: Path, text: str | None, words: str) -> None:
    """One line that says what to do."""
    folder = fresh(tmp_path)
    config = folder.path / "run.json"
    if text is None:
        config.unlink()
    else:
        config.write_text(text)
    with pytest.raises(FolderError, match=words) as caught:
        folder.config()
    assert "\n" not in str(caught.value)
