"""Tests that a run's folder is compared to its run.json.

Source: docs/explanation/fairness-and-proofs.md. Each change below is consistent in itself, as by an attacker who can
write checksums and results.jsonl again.
"""

import json
import math
import random
import shutil
from collections.abc import Callable, Iterator
from dataclasses import replace
from itertools import count
from pathlib import Path
from typing import Any

import pytest

from arena import referee
from arena.bots import Bot
from arena.limits import Limits
from arena.run import RecordFileError, RunConfig, RunFolder, record_results, verify_all
from arena.sandbox import Script, ScriptPeer
from tests.cases import each
from tests.referee.scripted import Request, bot, play_scripts, reply

NAMES = ("a", "b", "c")
CONFIG = RunConfig(
    bots=tuple(Bot(name, Path(f"/bots/{name}"), ("/bin/true",), Path("/bots"), None, name * 64) for name in NAMES),
    seats=3,
    games=9,
    match_games=3,
    key=bytes(31) + bytes([9]),
)


def make_player() -> Script:
    """Make a bot that plays at random by the seed of the match; bot A makes mistakes and dies."""
    chance, bad = random.Random(), [False]

    def greets(hello: Request) -> None:
        chance.seed(hello["bot_seed"])
        bad[0] = hello["match"]["your_handle"] == "A"

    def answer(peer: ScriptPeer, request: Request) -> bytes:
        choice = chance.randrange(len(request["legal"]))
        if bad[0] and chance.randrange(40) == 0:
            peer.die(5)
        return reply(request, 999 if bad[0] and chance.randrange(5) == 0 else choice)

    return bot(answer, greets=greets)


def played(config: RunConfig, folder: Path, matches: int | None = None) -> Path:
    """Play a run's matches, or the first ones, into a folder; it has ended if all are there."""
    store = RunFolder(folder, record_results)
    store.create(config.to_json())
    for table in config.plan().tables[:matches]:
        ticks = count()
        spec = config.spec(table.match, table.bots)
        scripts = [make_player() for _ in table.bots]
        record = play_scripts(spec, scripts, clock=lambda ticks=ticks: next(ticks) / 1e6).record
        store.save(referee.PlayedMatch(table.match, referee.write_record(record), referee.game_results(record)))
    store.finish()
    if matches is None:
        store.end()
    return folder


@pytest.fixture(scope="module")
def run(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Give a run of three matches that has ended; don't change it."""
    return played(CONFIG, tmp_path_factory.mktemp("run") / "out")


# --- changes of the run ----------------------------------------------------------------------------------------------

Change = Callable[[Path], object]


def record_file(folder: Path, match: int) -> Path:
    return folder / "records" / f"{match:06d}.jsonl"


def listed(folder: Path) -> None:
    records = [referee.read_record(file.read_text()) for file in sorted((folder / "records").iterdir())]
    lines = (result.to_line() for record in records for result in referee.game_results(record))
    (folder / "results.jsonl").write_text("".join(lines))


def in_record(edit: Callable[[referee.Record], referee.Record], match: int = 1) -> Change:
    def change(folder: Path) -> None:
        file = record_file(folder, match)
        file.write_text(referee.write_record(edit(referee.read_record(file.read_text()))))

    return change


def games(edit: Callable[[tuple[referee.GameRecord, ...]], tuple[referee.GameRecord, ...]]) -> Change:
    return in_record(lambda record: replace(record, games=edit(record.games)))


def header(**fields: Any) -> Change:
    return in_record(lambda record: replace(record, header=replace(record.header, **fields)))


def in_run(edit: Callable[[dict[str, Any]], object]) -> Change:
    def change(folder: Path) -> None:
        config = json.loads((folder / "run.json").read_text())
        edit(config)
        (folder / "run.json").write_text(json.dumps(config))

    return change


def swap_values(values: tuple[Any, ...]) -> tuple[Any, ...]:
    return (values[1], values[0], *values[2:])


def edit_everywhere(edit: Callable[[referee.Record], referee.Record]) -> Change:
    return lambda folder: [in_record(edit, match)(folder) for match in range(3)]


def renumbered(record: referee.Record) -> referee.Record:
    return replace(record, header=replace(record.header, match=1))


def with_faults(edit: Callable[[referee.GameRecord], tuple[referee.Fault, ...]]) -> Change:
    return games(lambda all: tuple(replace(game, faults=edit(game)) for game in all))


def without(code: str) -> Change:
    return with_faults(lambda game: tuple(fault for fault in game.faults if fault.code != code))


def other_than_default(game: referee.GameRecord) -> int:
    """Return a move that is never a default: a coup below ten coins, or a bluff."""
    return next(place for place, word in enumerate(game.moves) if word.startswith(("coup", "tax", "steal", "!")))


def timeout_at(game: referee.GameRecord, used: str | None = None) -> referee.Fault:
    place = other_than_default(game)
    return referee.Fault(game.seating[game.move_seats[place]], "timeout", place, used=used or game.moves[place])


def other_run(folder: Path) -> None:
    other = played(replace(CONFIG, key=bytes(32)), folder.parent / "other")
    shutil.copy(record_file(other, 1), record_file(folder, 1))


def other_bots(folder: Path) -> None:
    """The same key and names, and another file of bot b."""
    changed = tuple(replace(bot, digest="e" * 64) if bot.name == "b" else bot for bot in CONFIG.bots)
    other = played(replace(CONFIG, bots=changed), folder.parent / "other")
    shutil.copy(record_file(other, 1), record_file(folder, 1))


CHANGES: dict[str, tuple[Change, str]] = {
    "a game removed": (games(lambda all: all[:-1]), "the record has 2 games, the plan 3"),
    "a game in the place of another": (games(lambda all: (all[0], all[0], all[2])), "is in the place of game 1"),
    "games reordered and renumbered": (
        games(lambda all: tuple(replace(game, game=place) for place, game in enumerate(swap_values(all)))),
        "in the plan",
    ),
    "a match removed": (
        lambda folder: record_file(folder, 1).unlink(),
        "3 matches were played, but 2 are in the folder",
    ),
    "a match doubled": (lambda folder: shutil.copy(record_file(folder, 1), record_file(folder, 3)), "no match of this"),
    "a match in the place of another": (
        lambda folder: shutil.copy(record_file(folder, 0), record_file(folder, 1)),
        "match is 0 in the record, but 1 in the plan",
    ),
    "a match in the place of another, renumbered": (
        lambda folder: (shutil.copy(record_file(folder, 0), record_file(folder, 1)), in_record(renumbered)(folder)),
        "key is",
    ),
    "a record with another name": (
        lambda folder: record_file(folder, 1).rename(folder / "records" / "1.jsonl"),
        "no match of this name",
    ),
    "seats exchanged": (
        games(lambda all: tuple(replace(game, seating=swap_values(game.seating)) for game in all)),
        "the seats are",
    ),
    "another starter": (games(lambda all: (replace(all[0], starter=1), *all[1:])), "seat 1 is not the last winner's"),
    "names exchanged": (header(bots=("b", "a", "c")), "bots is"),
    "names exchanged everywhere": (
        edit_everywhere(
            lambda record: replace(record, header=replace(record.header, bots=swap_values(record.header.bots)))
        ),
        "bots is",
    ),
    "handles exchanged": (
        in_record(
            lambda record: replace(record, header=replace(record.header, handles=swap_values(record.header.handles)))
        ),
        "handles is",
    ),
    "a fault invented at a chosen move": (
        with_faults(lambda game: (*game.faults, timeout_at(game))),
        "the fault timeout of bot",
    ),
    "a fault invented with another move": (
        with_faults(lambda game: (*game.faults, timeout_at(game, "income"))),
        "doesn't fit the moves",
    ),
    "a forfeit invented": (
        with_faults(lambda game: (*game.faults, referee.Fault(0, "exited", 0, used="#"))),
        "the fault exited of bot 0 at move 0 doesn't fit the moves",
    ),
    "a fault invented of another bot": (
        with_faults(lambda game: tuple(replace(fault, bot=(fault.bot + 1) % 3) for fault in game.faults)),
        "doesn't fit the moves",
    ),
    "a fault with a cost at no move": (
        with_faults(lambda game: (*game.faults, referee.Fault(0, "timeout"))),
        "the fault timeout of bot 0 doesn't fit",
    ),
    "a forfeit's fault removed": (without("exited"), "and no fault says why"),
    "the faults before a forfeit removed": (without("illegal_move"), "doesn't fit the moves and the faults before it"),
    "all faults removed": (with_faults(lambda game: ()), "and no fault says why"),
    "limits changed": (
        header(settings=replace(CONFIG.settings, limits=Limits(memory_mb=7))),
        "terms.limits.memory_mb is 7 in the record",
    ),
    "times of one bot": (header(timings=(CONFIG.settings.timing,) * 3), "timings is"),
    "limits changed in run.json": (in_run(lambda run: run["terms"]["limits"].update(cores=9)), "terms.limits.cores is"),
    "the records of another run": (other_run, "key is"),
    "the records of another run with this key": (other_bots, "digests is"),
    "a seed in run.json": (in_run(lambda run: run.update(seed=7)), "the key is not the one of seed 7"),
    "more games in run.json": (in_run(lambda run: run.update(match_games=6)), "the record has 3 games, the plan 6"),
    "another bot's digest in run.json": (in_run(lambda run: run["bots"][1].update(digest="e" * 64)), "digests is"),
    "bots exchanged in run.json": (in_run(lambda run: run["bots"].reverse()), "bots is"),
    "the last match removed, and fewer ended": (
        lambda folder: (record_file(folder, 2).unlink(), in_run(lambda run: run.update(ended=2))(folder)),
        "1 of 3 planned matches are missing, such as match 2; arena run --resume",
    ),
    "two matches removed, and one called abandoned": (
        lambda folder: (
            [record_file(folder, match).unlink() for match in (1, 2)],
            in_run(lambda run: run.update(ended=1, abandoned=[2]))(folder),
        ),
        "2 of 3 planned matches are missing, such as match 1",
    ),
    "the commitment of a final": (
        lambda folder: (folder / "published.txt").write_text("final last\n"),
        "is the commitment of a final, but final.json is missing",
    ),
}
OF_RESULTS: dict[str, Change] = {
    "deleted": lambda folder: (folder / "results.jsonl").unlink(),
    "cut": lambda folder: (folder / "results.jsonl").write_text(""),
    "longer": lambda folder: (folder / "results.jsonl").write_text((folder / "results.jsonl").read_text() + "{}\n"),
    "changed": lambda folder: (folder / "results.jsonl").write_bytes(
        (folder / "results.jsonl").read_bytes().replace(b'"turns":', b'"turns":1', 1)
    ),
}


@pytest.fixture
def copies(run: Path, tmp_path: Path) -> Iterator[Path]:
    """Give copies of the run, each as long as it is the first of the list."""
    numbers = count()
    return (Path(shutil.copytree(run, tmp_path / str(number) / "out")) for number in numbers)


def test_a_run_verifies_and_has_every_kind_of_fault(run: Path) -> None:
    output = verify_all(run)
    assert (output.records, output.games, output.planned, output.differences) == (3, 9, 3, ())
    faults = {
        fault.code for game in referee.read_record(record_file(run, 1).read_text()).games for fault in game.faults
    }
    assert {"illegal_move", "out_of_lives", "exited"} <= faults, faults
    assert output.faults > len(faults)


@each("change, words", CHANGES.values(), ids=CHANGES.keys())
def test_differences_from_the_key_and_the_plan_are_reported(copies: Iterator[Path], change: Change, words: str) -> None:
    """Each difference is a line, and their number is limited."""
    folder = next(copies)
    change(folder)
    listed(folder)
    output = verify_all(folder).differences
    assert words in "\n".join(output)
    assert len(output) <= 21
    assert all("\n" not in line and len(line) < 310 for line in output)


@each("change", [{"ended": math.inf}, {"seats": 0}, {"seed": []}])
def test_a_plan_with_impossible_values_is_refused(copies: Iterator[Path], change: dict[str, Any]) -> None:
    folder = next(copies)
    in_run(lambda run: run.update(change))(folder)
    with pytest.raises(RecordFileError, match="can't be verified"):
        verify_all(folder)


@each("field", ["games", "match_games"])
def test_a_plan_that_would_be_huge_is_refused(copies: Iterator[Path], field: str) -> None:
    """Files of a run are untrusted: no number in them may take all memory, or hours."""
    folder = next(copies)
    in_run(lambda run: run.update({field: 3 * 10**12}))(folder)
    with pytest.raises(
        RecordFileError, match=r"can't be verified: run.json was changed: .*3000000000000 games.*at most"
    ):
        verify_all(folder)


@each("kind", OF_RESULTS)
def test_results_that_differ_from_the_records_are_reported(copies: Iterator[Path], kind: str) -> None:
    folder = next(copies)
    OF_RESULTS[kind](folder)
    [output] = verify_all(folder).differences
    what = "is missing" if kind == "deleted" else "differs from the records"
    assert f"results.jsonl {what}; arena run --resume" in output


def test_a_run_that_was_interrupted_verifies_and_says_that_it_was_stopped(tmp_path: Path) -> None:
    """A killed run may not have written all its results yet."""
    folder = played(CONFIG, tmp_path / "out", 2)
    for text in ((folder / "results.jsonl").read_text(), (folder / "results.jsonl").read_text()[:-9]):
        (folder / "results.jsonl").write_text(text)
        output = verify_all(folder)
        assert (output.records, output.planned, output.differences) == (2, 3, ())
        assert output.stopped == "the run was stopped before its end: 2 of 3 planned matches are in the folder"


def test_an_ended_run_names_its_abandoned_matches(tmp_path: Path) -> None:
    folder = played(CONFIG, tmp_path / "out", 2)
    store = RunFolder(folder, record_results)
    store.restore()
    store.add_failed_attempt(referee.FailedMatch(1, "a full disk", is_last=False))
    store.add_failed_attempt(referee.FailedMatch(2, "a full disk", is_last=True))
    store.end()
    output = verify_all(folder)
    assert (output.differences, output.stopped) == (
        (), "matches were abandoned, such as match 2: 2 of 3 planned matches are in the folder"
    )  # fmt: skip


def test_a_run_whose_end_was_deleted_is_called_stopped(copies: Iterator[Path]) -> None:
    """All records are there; results.jsonl may then be shorter."""
    folder = next(copies)
    in_run(lambda run: run.pop("ended"))(folder)
    (folder / "results.jsonl").write_text("")
    output = verify_all(folder)
    assert (output.differences, output.stopped) == (
        (), "the run was stopped before its end: 3 of 3 planned matches are in the folder"
    )  # fmt: skip


def test_records_without_a_plan_are_replayed_alone(run: Path, tmp_path: Path) -> None:
    """Tried with a record, and with a folder of records whose plan is unreadable."""
    shutil.copytree(run / "records", tmp_path / "records")
    for path in (tmp_path, tmp_path / "records", record_file(tmp_path, 1)):
        output = verify_all(path)
        assert (output.planned, output.differences) == (None, ())
    for text in ("[]", "{", '{"run": 1}'):
        (tmp_path / "run.json").write_text(text)
        with pytest.raises(RecordFileError, match="can't be verified"):
            verify_all(tmp_path)
