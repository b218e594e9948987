"""The texts below the standings, and empty cells. Source: the docstrings of arena/cli/run_report.py."""

import re
from collections.abc import Sequence
from dataclasses import replace
from io import StringIO
from pathlib import Path

import pytest
from rich.console import Console, RenderableType

from arena.bots import Bot
from arena.cli import run_report
from arena.referee import GameResult, PlayedMatch
from arena.run import MatchOutput, Run, RunConfig, RunFolder, RunStandings
from tests.ladder.store.matches import match_of, results_of, sample_of
from tests.ladder.store.memory import MemoryStore
from tests.run_standings import compute_run_standings

ENOUGH = 33  # matches of two or three bots at two seats, so that they have intervals
HOLDS = "rank, ± 95 % and 95 %: intervals that contain the true value in at least 95 of 100 runs"


def game(match: int) -> GameResult:
    """Return a game of a and b; each wins every second one, from the same seat."""
    seats = ("a", "b") if match % 2 else ("b", "a")
    return GameResult(match, 0, seats, 0, "last_standing", (0,), ((1, 3),), 3, (), ())


def make_run(bots: Sequence[str], matches: int) -> tuple[Run, RunStandings]:
    here = Path("/bots")
    entries = tuple(Bot(name, here / name, ("x",), here, None, "0" * 64) for name in bots)
    run = Run(RunConfig(entries, seats=2, games=2 * ENOUGH, match_games=2, key=bytes(32)), MemoryStore())
    return run, compute_run_standings(bots, map(game, range(matches)))


def print_lines(*parts: RenderableType, width: int = 120) -> list[str]:
    out = StringIO()
    Console(file=out, width=width, color_system=None).print(*parts, sep="\n")
    return [line.rstrip() for line in out.getvalue().splitlines()]


def find_row(run: Run, found: RunStandings, bot: str) -> list[str]:
    lines = print_lines(run_report.standings_table(run, found))
    (cells,) = [line.split() for line in lines if line.split()[1:2] == [bot]]
    return cells


def test_the_standings_fit_a_terminal_of_eighty_columns() -> None:
    names = ["bluffer", "challenger", "counter", "honest", "opportunist", "random_bot", "strategist", "turtle"]
    run, found = make_run(names, 0)
    games = [
        replace(game(match), seats=(names[match % 8], names[(match + 1 + match // 8) % 8])) for match in range(400)
    ]
    found = compute_run_standings(names, [each for each in games if len(set(each.seats)) == 2])
    for name in names:
        run.progress.times[name].add([1000])
    lines = print_lines(run_report.standings_table(run, found), width=80)
    assert len([line for line in lines if re.match(r"[1-8-]+ +[a-z_]+ +\d+\.\d ± ", line)]) == 8
    assert max(map(len, lines)) <= 80


def test_head_to_head_is_printed_for_up_to_twelve_bots() -> None:
    lines = print_lines(*run_report.head_to_head_tables(*make_run("ab", ENOUGH)))
    assert [line.split() for line in lines[1:4]] == [
        ["#", "wins", "against", "matches", "1", "2"],
        ["1", lines[2].split()[1], "33", "-", "52%"],
        ["2", lines[3].split()[1], "33", "48%", "-"],
    ]
    twelve, thirteen = (make_run([f"b{number}" for number in range(count)], 0) for count in (12, 13))
    # 11 matches for each of 66 pairs, 2 games a match
    assert "no pair has met in 10 matches; use about --games 1452" in "".join(
        print_lines(*run_report.head_to_head_tables(*twelve))
    )
    text = "head-to-head: --csv or --json with --resume"
    assert (text in run_report.standings_notes(*twelve), text in run_report.standings_notes(*thirteen)) == (False, True)


def test_the_bot_that_delays_a_run_is_named_meanwhile() -> None:
    progress = make_run("ab", 0)[0].progress
    assert "held up" not in run_report.progress_line(progress)
    progress.count(MatchOutput(PlayedMatch(0, "record", ()), 7, 0.5, (("a", 2, 3.0),)))
    assert run_report.progress_line(progress).endswith("; slowed down by a: 2 timeouts, 1.5 s each")


def test_intervals_are_explained_only_where_there_are_some() -> None:
    few, many = (run_report.standings_notes(*make_run("ab", matches)) for matches in (1, ENOUGH))
    assert HOLDS not in few
    assert few[0] == "fair win rate 50 %"
    assert few[-1] == "too few matches for the adjusted win rate and intervals; use about --games 20"
    assert HOLDS in many
    assert many[0] == "fair win rate 50 %; adjusted win rate: as if each bot met all others equally often"
    assert not any("too few" in line for line in many)


def test_a_bot_without_a_game_does_not_change_the_others() -> None:
    """A run may be interrupted before the first match of a bot."""
    run, found = make_run("abc", ENOUGH)
    notes = run_report.standings_notes(run, found)
    assert HOLDS in notes
    assert not any("too few" in line for line in notes)
    assert find_row(run, found, "c") == ["1-3", "c", "25.0", "-", "-", "-", "0/0", "0"]
    assert find_row(run, found, "a")[5].endswith("%"), "the adjusted win rate"


def test_an_adjusted_win_rate_without_an_interval_is_not_shown() -> None:
    """After one game of two bots it is only the prior."""
    run, found = make_run("ab", 1)
    assert find_row(run, found, "b")[2:] == [find_row(run, found, "b")[2], "-", "-", "100.0%", "1/1", "0"]


@pytest.mark.parametrize("resumed", [False, True])
def test_times_are_labelled_as_this_sessions_after_a_resume(resumed: bool) -> None:
    run, found = make_run("ab", 2)
    if resumed:
        run.store.save(PlayedMatch(0, "record", (game(0),)))
        run = Run(run.config, run.store)
    run.progress.times["a"].add([1000])
    (line,) = [line for line in run_report.standings_notes(run, found) if line.startswith("wall ms: ")]
    assert line == "wall ms: the median of a bot's wall time for a decision" + (" in this session" if resumed else "")


def test_the_bot_that_takes_most_of_the_time_is_named() -> None:
    run, found = make_run("abc", 2)
    run.progress.times["a"].add([9_800, 9_800])
    run.progress.times["b"].add([30_000])
    assert not any("a took" in line for line in run_report.standings_notes(run, found))
    run.progress.times["a"].add([9_800] * 2)
    assert "a took 57% of all bots' time: 9.9 ms a decision" in run_report.standings_notes(run, found)


def test_the_range_of_chance_is_printed_from_thirty_games_on() -> None:
    """With 2 games it would be ± 69.3 %."""
    assert run_report.seats_note(make_run("ab", 29)[1]) == "seats, first to last: 100.0%, 0.0% of games won"
    assert run_report.seats_note(make_run("ab", 30)[1]).endswith(" of games won; chance: ± 17.9%")


def test_a_fault_whose_record_cant_be_read_is_counted_without_an_example(tmp_path: Path) -> None:
    """Another program may have changed the record since."""
    folder = RunFolder(tmp_path / "run", results_of)
    folder.create({})
    folder.save(match_of(0, fault_samples=(sample_of(0),)))
    run, _ = make_run(["a@1", "b@1"], 0)
    faulty_game = replace(game(0), seats=("a@1", "b@1"), faults=((0, "bad_json", 1),))
    standings = compute_run_standings(["a@1", "b@1"], [faulty_game])
    count, problem = print_lines(*run_report.fault_parts(run, folder, standings), width=300)
    assert count == "a@1: 1 fault (bad_json 1)"
    assert problem.startswith(f"  {folder.record(0)}: ")
