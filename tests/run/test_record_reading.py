"""Tests of the results in a match's record, one for each game. The referee's tests check the records themselves."""

from pathlib import Path

import pytest

from arena import referee
from arena.run import FolderError, read_logs, record_results

BOTS = ("honest", "bad", "third")


def record(*games: referee.GameRecord) -> referee.Record:
    return referee.Record(referee.MatchHeader(match=5, key=bytes(32), bots=BOTS, handles=("A", "B", "C")), games)


def game(
    number: int, seating: tuple[int, ...], faults: list[referee.Fault], winner: int | None = 2
) -> referee.GameRecord:
    return referee.GameRecord(
        game=number,
        seating=seating,
        faults=tuple(faults),
        eliminated=((0, 4), (1, 7)),
        winner=winner,
        reason="last_standing",
        survivors=(2,),
        start={"actor": 0, "coins": [2] * 3, "deck": 9, "hands": [["duke", "duke"]] * 3},
        turns=9,
    )


def test_results_name_the_seats_by_their_bots() -> None:
    """Records number the bots of the match; seats change from game to game."""
    first, second = referee.game_results(
        record(game(0, (0, 1, 2), []), game(1, (2, 0, 1), [referee.Fault(1, "timeout", 3)]))
    )
    assert first == referee.GameResult(
        match=5,
        game=0,
        seats=("honest", "bad", "third"),
        winner=2,
        reason="last_standing",
        survivors=(2,),
        eliminated=((0, 4), (1, 7)),
        turns=9,
        forfeits=(),
        faults=(),
    )
    assert second.seats == ("third", "honest", "bad")
    assert second.faults == ((2, "timeout", 1),)
    assert second.game == 1


@pytest.mark.parametrize("code", referee.FAULTS)
def test_a_fault_that_forfeits_is_listed_as_a_forfeit(code: str) -> None:
    (found,) = referee.game_results(record(game(0, (2, 1, 0), [referee.Fault(0, code, 3)])))
    assert found.faults == ((2, code, 1),)
    assert found.forfeits == ((2,) if referee.FAULTS[code].consequence is referee.Consequence.FORFEIT else ())


def test_a_forfeit_by_the_last_life_is_listed_once() -> None:
    """A bot without lives has two faults at one step."""
    faults = [
        referee.Fault(2, "bad_json", 4),
        referee.Fault(2, "out_of_lives", 4, used="#"),
        referee.Fault(1, "stray_line", count=7),
    ]
    (found,) = referee.game_results(record(game(0, (0, 1, 2), faults)))
    assert found.forfeits == (2,)
    assert found.faults == ((2, "bad_json", 1), (2, "out_of_lives", 1), (1, "stray_line", 7))


def test_forfeits_are_listed_by_seat() -> None:
    faults = [referee.Fault(1, "exited", 3), referee.Fault(2, "exited", 5)]
    assert referee.game_results(record(game(0, (2, 0, 1), faults)))[0].forfeits == (0, 2)


def test_a_record_gives_the_results_that_its_text_gives() -> None:
    """A session counts the objects of its workers; a later one reads the records."""
    whole = record(game(0, (0, 1, 2), [referee.Fault(1, "timeout", 3)]), game(1, (1, 2, 0), [], winner=None))
    assert record_results(referee.write_record(whole)) == referee.game_results(whole)


def test_logs_are_found_from_within_the_folder_of_the_records(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    for folder in ("records", "logs"):
        (tmp_path / folder).mkdir()
    (tmp_path / "logs" / "000005-bad-1.txt").write_bytes(b"output")
    monkeypatch.chdir(tmp_path / "records")
    assert read_logs(Path("000005.jsonl"), record()) == {"bad": [b"output"]}


def test_an_invalid_record_is_refused() -> None:
    with pytest.raises(FolderError, match="cut off"):
        record_results('{"record":1')
