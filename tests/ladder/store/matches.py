"""Matches for tests of stores. A record is a text of a match and a mark, with one game for each letter of the mark."""

from arena.referee import GameResult, PlayedMatch, StoredFaultSample
from arena.run import FolderError


def results_of(record: str) -> tuple[GameResult, ...]:
    """Return the results of a record: the letters are the reasons for which the games ended."""
    match, mark = record.split()
    if mark == "broken":
        raise FolderError("the record is cut off")
    return tuple(
        GameResult(int(match), game, ("a@1", "b@1"), 0, letter, (0,), ((1, 3),), 3, (), ())
        for game, letter in enumerate(mark)
    )


def match_of(
    number: int,
    mark: str = "xy",
    logs: tuple[tuple[str, int, bytes], ...] = (),
    fault_samples: tuple[StoredFaultSample, ...] = (),
) -> PlayedMatch:
    record = f"{number} {mark}\n"
    return PlayedMatch(number, record, results_of(record), logs, fault_samples)


def sample_of(match: int, code: str = "bad_json", got: bytes | None = b"oops", bot: str = "a@1") -> StoredFaultSample:
    return StoredFaultSample(match, bot, code, 0, 3, b'{"type":"request"}', got)
