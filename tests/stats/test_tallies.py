"""Tallies that are kept beside records. Source: the docstring of arena/stats/tallies.py."""

import errno
import os
import re
import shutil
import sys
from pathlib import Path

import pytest

from arena.count import Fold, MatchCounts, counts_of
from arena.coup import PRESETS
from arena.referee import Record, write
from arena.run import KeptError, record_at
from arena.stats import Answer, answer, counts_at
from tests.tell.games import random_game
from tests.test_boundaries import ROOMS


@pytest.fixture
def run(tmp_path: Path) -> Path:
    """A run's folder with a record of each preset that four play."""
    folder = tmp_path / "run"
    (folder / "records").mkdir(parents=True)
    (folder / "run.json").write_text("{}")
    for match, rules in enumerate(each for each in PRESETS.values() if not each.problem(4)):
        (folder / "records" / f"{match:06d}.jsonl").write_text(write(random_game(rules, 4, match)))
    return folder


def files(run: Path, kind: str = "records") -> list[Path]:
    return sorted((run / kind).iterdir())


def of(run: Path) -> Answer:
    fold = Fold(("bot0", "bot1"))
    for file in files(run):
        fold.take(counts_at(file))
    return answer(fold, [], [])


@pytest.fixture
def counted(monkeypatch: pytest.MonkeyPatch) -> list[int]:
    """The numbers of the matches that were counted, not read from tallies."""
    seen: list[int] = []

    def noted(record: Record) -> MatchCounts:
        seen.append(record.header.match)
        return counts_of(record)

    monkeypatch.setattr("arena.stats.tallies.counts_of", noted)
    return seen


def anew(run: Path) -> Answer:
    fold = Fold(("bot0", "bot1"))
    for file in files(run):
        fold.add(record_at(file))
    return answer(fold, [], [])


def test_the_second_look_reads_tallies_alone_and_answers_the_same(run: Path, counted: list[int]) -> None:
    """Also with half of them."""
    told = anew(run)
    assert of(run) == told
    assert len(counted) == len(files(run)) == len(files(run, "tallies")) > 3
    counted.clear()
    assert (of(run), counted) == (told, [])
    for file in files(run, "tallies")[::2]:
        file.unlink()
    assert of(run).model_dump_json() == told.model_dump_json()
    assert len(counted) == len(files(run)[::2])


def test_a_record_that_was_changed_is_counted_anew(run: Path) -> None:
    """Also where its time says nothing of it, and its times of requests alone differ, which its checksum leaves out."""
    before, file = of(run), files(run)[0]
    found, text = file.stat(), file.read_text()
    slower = re.sub(r'"times_us":\[\d+', '"times_us":[9000000', text)
    for changed in (slower, write(random_game(PRESETS["coup"], 4, 99)), text[:-1]):
        file.write_text(changed)
        os.utime(file, ns=(found.st_atime_ns, found.st_mtime_ns))
        if changed == text[:-1]:
            with pytest.raises(KeptError, match="cut off"):
                counts_at(file)
        else:
            assert of(run) == anew(run) != before
    file.write_text(text)
    assert of(run) == before


def test_a_tally_that_is_damaged_is_counted_anew(run: Path, counted: list[int]) -> None:
    """Cut off as a kill leaves it, or with a byte changed, and whole afterwards."""
    told, tally = of(run), files(run, "tallies")[1]
    whole = tally.read_bytes()
    damaged = [whole[:size] for size in range(0, len(whole), 97)]
    damaged += [whole[:at] + bytes([whole[at] ^ 1]) + whole[at + 1 :] for at in range(0, len(whole), 97)]
    for each in (*damaged, whole + b"\n", files(run, "tallies")[0].read_bytes()):
        counted.clear()
        tally.write_bytes(each)
        counts_at(files(run)[1])
        assert len(counted) == 1
        assert tally.read_bytes() == whole
    assert of(run) == told


def test_a_run_from_elsewhere_is_counted_not_believed(run: Path, tmp_path: Path, counted: list[int]) -> None:
    """Who sends a run could send tallies that say what its records don't."""
    told = of(run)
    counted.clear()
    shutil.copytree(run, tmp_path / "sent")
    assert of(tmp_path / "sent") == told
    assert len(counted) == len(files(run))


def test_other_code_counts_anew(run: Path, counted: list[int], monkeypatch: pytest.MonkeyPatch) -> None:
    """What it depends on is told by the rooms that counting may import."""
    of(run)
    counted.clear()
    monkeypatch.setattr("arena.stats.tallies._code", lambda: "other")
    of(run)
    assert len(counted) == len(files(run))
    rooms = {f"arena.{room}".replace("arena.../", "") for room in sys.modules["arena.stats.tallies"].CODE}
    for room in ("arena.count", "arena.coup", "arena.referee", "arena.tell"):
        assert {room, *ROOMS[room]} - {"arena", "ladder.rating"} <= rooms, "what follows the version, or the count"


@pytest.mark.parametrize("code", [errno.EACCES, errno.ENOSPC, errno.EROFS])
def test_where_no_tally_can_be_written_there_is_none(run: Path, monkeypatch: pytest.MonkeyPatch, code: int) -> None:
    told, told_open = anew(run), Path.open

    def refuse(path: Path, mode: str = "r", *rest: object, **more: object) -> object:
        if mode == "xb":
            raise OSError(code, os.strerror(code))
        return told_open(path, mode, *rest, **more)  # type: ignore[call-overload]

    monkeypatch.setattr(Path, "open", refuse)
    assert of(run) == told
    assert files(run, "tallies") == []
    (run / "tallies").rmdir()
    (run / "tallies").write_text("a file")
    assert of(run) == told


def test_nothing_is_written_through_a_link_or_outside_of_a_run(run: Path, tmp_path: Path) -> None:
    """A record that stands elsewhere has no tally: `records` may be anybody's folder."""
    (tmp_path / "mine").write_text("mine")
    (run / "tallies").mkdir()
    (run / "tallies" / "000000.tally").symlink_to(tmp_path / "mine")
    told = of(run)
    assert (tmp_path / "mine").read_text() == "mine"
    assert not (run / "tallies" / "000000.tally").is_symlink()
    (run / "run.json").unlink()
    shutil.rmtree(run / "tallies")
    assert of(run) == told
    assert not (run / "tallies").exists()
