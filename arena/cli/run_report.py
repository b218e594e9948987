"""Format the progress and the results of a run as tables. This module returns them and doesn't print.

All text of a bot (names, lines, standard error) is wrapped so that it can't act as markup or a terminal escape."""

import math
import shlex
from collections.abc import Iterator, Mapping, Sequence
from typing import Any

from rich.cells import cell_len, set_cell_size
from rich.console import Console, ConsoleOptions, Group, RenderableType, RenderResult
from rich.padding import Padding
from rich.table import Table
from rich.text import Text

from arena.bots import Bot
from arena.checks import FaultReport, make_fault_report
from arena.cli.console import Column, format_duration, make_table, reorder_request
from arena.escaping import escape_control
from arena.formatting import format_count, format_interval, format_percent, format_range, format_rating
from arena.rating import Z_95, min_matches_for_intervals
from arena.referee import FAULTS, StoredFaultSample, list_own_lines
from arena.run import (
    MIN_MATCHES,
    FolderError,
    Progress,
    RecordFileError,
    Run,
    RunFolder,
    RunStanding,
    RunStandings,
    read_record_file,
)
from protocol import escape_bytes

_STDERR_LINES = 6  # of a faulty bot's standard error, in an example
_MAX_STDERR_CHARS = 160  # of each line
_MAX_MESSAGE_CHARS = 400  # of a request or a reply
_CHANCE_GAMES = 30  # minimum for a meaningful margin of chance
_MAX_MATRIX_BOTS = 12  # maximum for head-to-head results in the terminal
_NOTICED_MS = 1  # mean time of a decision from which on the slowest bot is named
_NAME_WIDTH = 10  # columns of a name in a narrow terminal; longer names wrap


class LiveStandings:
    """The live table of a run: the rows of the standings that fit the terminal, and the run's progress.

    It is redrawn four times a second, so it is a plain text: for 60 bots a rich table takes 33 ms, this takes 2 ms.
    """

    def __init__(self, progress: Progress) -> None:
        self._progress = progress

    def __rich_console__(self, console: Console, options: ConsoleOptions) -> RenderResult:
        """Yield the lines for the terminal's present size; bots for which there is no line are counted."""
        all_rows = self._progress.win_rates()
        status = progress_line(self._progress)
        height = max(1, console.height - 3 - len(status) // options.max_width)  # but for head, note and cursor's line
        rows = all_rows[:height]
        max_width = max(_NAME_WIDTH, options.max_width - 19)  # but for the other columns
        width = min(max(3, *(cell_len(bot) for bot, _, _ in rows)), max_width)
        yield Text(f"{'bot':<{width}}  {'games':>6}  win rate", style="bold", no_wrap=True, overflow="crop")
        lines = [f"{_fit_name(bot, width)}  {games:>6}  {rate:>8.1%}" for bot, games, rate in rows]
        yield Text("\n".join(lines), no_wrap=True, overflow="crop")
        if len(all_rows) > height:
            yield Text(f"and {len(all_rows) - height} more", style="dim")
        yield status


def _fit_name(name: str, width: int) -> str:
    """Return a name with exactly `width` columns: padded, or cut."""
    return set_cell_size(name, width) if cell_len(name) <= width else f"{set_cell_size(name, width - 1)}…"


def progress_line(progress: Progress) -> str:
    """Return a run's progress and remaining time in one line."""
    played = progress.done - progress.resumed
    text = f"{progress.done} of {format_count(progress.plan.matches, 'match', 'es')}"
    if played and progress.seconds > 0:
        left_s = (progress.plan.matches - progress.done) * progress.seconds / played
        text += f", {progress.fresh_games / progress.seconds:.0f} games/s, {format_duration(left_s)} left"
    if progress.failed_attempts:
        text += f", {format_count(progress.failed_attempts, 'failed attempt')}"
    slow = [_describe_delay(*row) for row in progress.held_up()[:3]]  # bots that are named while they delay a run
    return f"{text}; slowed down by {'; '.join(slow)}" if slow else text


def _describe_delay(bot: str, timeouts: int, seconds: float) -> str:
    """Return how a bot delays the run: "wrongid: 3 timeouts, 15 s each"."""
    delay_s = seconds / timeouts
    return f"{bot}: {format_count(timeouts, 'timeout')}, {delay_s:.{0 if delay_s >= 10 else 1}f} s each"


def report_parts(run: Run, folder: RunFolder, standings: RunStandings) -> Iterator[RenderableType]:
    """Yield the parts of a run's report, from the headline to the hint on its files."""
    yield headline(run, standings)
    if standings.games:
        yield ""
        yield standings_table(run, standings)
        yield from (Text(note, style="dim") for note in standings_notes(run, standings))
        yield from decision_time_tables(run.progress, standings)
        if len(standings.rows) <= _MAX_MATRIX_BOTS:
            yield from head_to_head_tables(run, standings)
    for text in fault_parts(run, folder, standings):
        yield ""
        yield text
    yield ""
    yield Text(files_hint(folder), no_wrap=True, overflow="ignore")


def model_parts(models: Sequence[Any]) -> Iterator[RenderableType]:
    """Yield a table of the calls of language models (`ModelCalls`), and a line for each kind of failure."""
    if not models:
        return
    yield ""
    names = ("calls", "tokens", "cost", "asked\nagain", "default\nmoves")
    columns: list[str | Column] = ["model", *(Column(name, number=True) for name in names)]
    rows = [
        [
            model.player,
            str(model.calls),
            str(model.tokens),
            "-" if model.dollars is None else f"${model.dollars:.4f}",
            str(model.asked_again),
            str(sum(model.default_moves.values())),
        ]
        for model in models
    ]
    yield make_table(columns, rows)
    for model in models:
        for kind, reasons in (("default move", model.default_moves), ("provider, no move", model.provider_failures)):
            yield from (Text(f"{model.player}: {count} x {kind}: {reason}") for reason, count in reasons.items())


def headline(run: Run, standings: RunStandings) -> str:
    """Return the headline of a report: the games that were played, and their speed."""
    config, progress = run.config, run.progress
    drawn = f", {standings.draws} drawn" if standings.draws else ""
    matches = format_count(standings.matches, "match", "es")
    games = format_count(standings.games, "game")
    text = f"{games} of {config.settings.rules.name} at {config.seats} seats in {matches}{drawn}"
    if progress.seconds > 0 and progress.fresh_games:
        text += f"; {progress.fresh_games / progress.seconds:.0f} games/s"
    return text


def standings_table(run: Run, standings: RunStandings) -> Table:
    """Return the table of standings, a row for each bot; the last column, of decision times, only if any is known."""
    names = ["rank", "bot", "rating\n± 95 %", "adjusted\nwin rate", "95 %", "win\nrate", "games/\nmatches", "faults"]
    rows = [_make_standings_cells(row) for row in standings.rows]
    if _has_decision_times(run, standings):
        names.append(f"{_clock(run)}\nms")
        for row, cells in zip(standings.rows, rows, strict=True):
            median_ms = run.progress.times[row.bot].quantile_ms(0.5)
            cells.append("-" if median_ms is None else f"{median_ms:.1f}")
    return _number_table(names, 1, rows)


def _make_standings_cells(row: RunStanding) -> list[str | Text]:
    """Return the cells of a bot in the table of standings, without its decision time."""
    adjusted = row.win_rate_adjusted
    return [
        format_range(row.rank_range),
        row.bot,
        format_rating(row.rating),
        format_percent(adjusted.value if adjusted and adjusted.low is not None else None),
        format_interval(adjusted),
        format_percent(row.win_rate),
        f"{row.games}/{row.matches}",
        Text(str(row.faults), style="red" if row.faults else ""),
    ]


def _has_decision_times(run: Run, standings: RunStandings) -> bool:
    return any(run.progress.times[row.bot].quantile_ms(0.5) is not None for row in standings.rows)


def _clock(run: Run) -> str:
    return "own" if run.config.settings.timing.own else "wall"


def _number_table(names: Sequence[str], bot_column: int, rows: Sequence[Sequence[str | Text]]) -> Table:
    """Return a table with numbers after the column `bot_column`, from 0, which holds names that wrap if need be."""
    columns = [
        Column(name, min_width=_NAME_WIDTH) if index == bot_column else Column(name, number=index > bot_column)
        for index, name in enumerate(names)
    ]
    return make_table(columns, rows)


def standings_notes(run: Run, standings: RunStandings) -> list[str]:
    """Return notes on how to read the columns of the standings, a line each."""
    has_intervals = any(row.rating.low is not None for row in standings.rows)  # a bot without a game has no interval
    fair = f"fair win rate {100 / run.config.seats:.3g} %"
    notes = [fair]
    if has_intervals:
        notes = [f"{fair}; adjusted win rate: as if each bot met all others equally often"]
        notes.append("rank, ± 95 % and 95 %: intervals that contain the true value in at least 95 of 100 runs")
    notes.append("rating: TrueSkill's model, fitted to all games at once; a match counts as one observation")
    if _has_decision_times(run, standings):
        session = " in this session" if run.progress.resumed else ""
        notes.append(f"{_clock(run)} ms: the median of a bot's {_clock(run)} time for a decision{session}")
        notes += slowest_bot_notes(run)
    notes.append(seats_note(standings))
    if not has_intervals:
        games = min_matches_for_intervals(len(standings.rows), run.config.seats) * run.config.match_games
        notes.append(f"too few matches for the adjusted win rate and intervals; use about --games {games}")
    if len(standings.rows) > _MAX_MATRIX_BOTS:
        notes.append("head-to-head: --csv or --json with --resume")
    return notes


def slowest_bot_notes(run: Run) -> list[str]:
    """Return a note on the bot that takes most of the bots' time, in a list; none if it takes less than half."""
    spent_ms = {bot: times.total_ms for bot, times in run.progress.times.items()}
    slowest, total_ms = max(spent_ms, key=lambda bot: spent_ms[bot]), sum(spent_ms.values())
    mean_ms = spent_ms[slowest] / max(1, run.progress.times[slowest].count)
    if mean_ms < _NOTICED_MS or spent_ms[slowest] < total_ms / 2:
        return []
    return [f"{slowest} took {spent_ms[slowest] / total_ms:.0%} of all bots' time: {mean_ms:.1f} ms a decision"]


def seats_note(standings: RunStandings) -> str:
    """Return each seat's win rate in one line, from _CHANCE_GAMES games on with the margin due to chance."""
    shares = [wins / standings.games for wins in standings.seats]
    note = f"seats, first to last: {', '.join(f'{share:.1%}' for share in shares)} of games won"
    if standings.games < _CHANCE_GAMES:
        return note
    margin = Z_95 * math.sqrt((1 - 1 / len(shares)) / len(shares) / standings.games)
    return f"{note}; chance: ± {margin:.1%}"


def decision_time_tables(progress: Progress, standings: RunStandings) -> Iterator[RenderableType]:
    """Yield a table of the slowest decisions, with the memory use where it is known; nothing if none was measured."""
    names, rows = ["bot", "99 % of decisions within"], []
    for row in standings.rows:
        p99_ms = progress.times[row.bot].quantile_ms(0.99)
        if p99_ms is not None:
            rows.append([row.bot, f"{p99_ms:.1f} ms"])
    if progress.peaks:
        names.append("memory")
        for cells in rows:
            peak = progress.peaks.get(cells[0])
            cells.append("-" if peak is None else f"{math.ceil(peak / 2**20)} MB")
    if rows:
        yield ""
        yield _number_table(names, 0, rows)


def head_to_head_tables(run: Run, standings: RunStandings) -> Iterator[RenderableType]:
    """Yield the table of the bots' shares of the games that one of a pair won; a note if no pair has enough matches."""
    rows = []
    has_pair = False
    for row in standings.rows:
        results = [standings.head_to_head[row.bot].get(opponent.bot) for opponent in standings.rows]
        rates = [None if result is None else result.win_rate for result in results]
        matches = [result.matches for result in results if result and result.win_rate is not None]
        has_pair |= bool(matches)
        rows.append([str(row.position), row.bot, format_range(matches), *(format_percent(rate, 0) for rate in rates)])
    yield ""
    if not has_pair:
        pairs = math.comb(len(standings.rows), 2) / math.comb(run.config.seats, 2)
        games = math.ceil((MIN_MATCHES + 1) * pairs) * run.config.match_games  # one more: some pairs meet less often
        yield Text(f"head-to-head: no pair has met in {MIN_MATCHES} matches; use about --games {games}", "dim")
        return
    yield _number_table(["#", "wins against", "matches", *(str(row.position) for row in standings.rows)], 1, rows)
    yield Text(f"of the games that either of the two won; - below {MIN_MATCHES} matches of the pair", "dim")


def fault_parts(run: Run, folder: RunFolder, standings: RunStandings) -> Iterator[RenderableType]:
    """Yield each faulty bot's faults with an example of each kind, then the abandoned matches with their reasons."""
    bots = {bot.name: bot for bot in run.config.bots}
    for row in standings.rows:
        if row.faults_by_code:
            yield Group(*_bot_fault_parts(folder, row, bots[row.bot], run.config.sandbox.name))
    for attempt in run.progress.abandoned:
        yield Text(f"match {attempt.match} failed repeatedly and isn't counted: {escape_control(attempt.reason)}")


def _bot_fault_parts(folder: RunFolder, row: RunStanding, bot: Bot, sandbox: str) -> Iterator[RenderableType]:
    """Yield a bot's faults in one line, the first example of each kind, in order of time, and the file of all.

    If a file of the run can't be read, the reason follows the first line instead.
    """
    yield Text(_count_faults(row))
    try:
        fault_samples = folder.fault_samples(row.bot)
        reports = [_load_fault_report(folder, sample, bot, sandbox) for sample in earliest_samples(fault_samples)]
    except (FolderError, RecordFileError, OSError) as problem:
        yield Text(f"  {escape_control(str(problem))}")
        return
    for report in reports:
        yield from example_parts(report)
    if fault_samples:
        file = folder.fault_sample_file(row.bot)
        yield Text(f"  all: {file} ({len(fault_samples)} kept of {row.faults})", no_wrap=True, overflow="ignore")


def _count_faults(row: RunStanding) -> str:
    """Return a bot's faults and forfeits in one line, with the numbers of each kind."""
    causes = {code: count for code, count in row.faults_by_code.items() if not FAULTS[code].is_consequence}
    consequences = {code: count for code, count in row.faults_by_code.items() if FAULTS[code].is_consequence}
    text = f"{row.bot}: {format_count(row.faults, 'fault')} ({_join_counts(causes)})"
    if row.forfeits:
        text += f", {format_count(row.forfeits, 'game')} forfeited"
        text += f" ({_join_counts(consequences)})" if consequences else ""
    return text


def _join_counts(faults: Mapping[str, int]) -> str:
    return ", ".join(f"{code} {count}" for code, count in faults.items())


def earliest_samples(fault_samples: Sequence[StoredFaultSample]) -> list[StoredFaultSample]:
    """Return the first fault sample of each kind, in order of time."""
    by_code = {sample.code: sample for sample in reversed(fault_samples)}
    return sorted(by_code.values(), key=lambda sample: (sample.match, sample.game or 0, sample.step or 0))


def _load_fault_report(folder: RunFolder, sample: StoredFaultSample, bot: Bot, sandbox: str) -> FaultReport:
    """Return the report of a stored fault sample.

    Raises FolderError if the record doesn't contain it, RecordFileError if that can't be read, OSError if a log can't.
    """
    record = read_record_file(folder.record(sample.match))
    logs = [(str(path), path.read_bytes()) for path in folder.log_files(sample.match, sample.bot)]
    try:
        return make_fault_report(sample, record, logs, sandbox, bot.argv, bot.path.is_file())
    except ValueError as problem:
        file = folder.fault_sample_file(sample.bot)
        raise FolderError(f"{file} was changed: {problem}; remove the file, and resume") from None


def example_parts(example: FaultReport) -> Iterator[RenderableType]:
    """Yield an example's fault, then a table of its request, reply, played move, advice and standard error."""
    game = "" if example.game is None else f", game {example.game}"
    yield Text(f"  match {example.match}{game}, {example.code}: {example.message}")
    grid = Table.grid(padding=(0, 2, 0, 0))
    grid.add_column(no_wrap=True)
    grid.add_column(overflow="fold")
    for label, text in _list_example_rows(example):
        grid.add_row(label, Text(text))
    yield Padding(grid, (0, 0, 0, 4))


def _list_example_rows(example: FaultReport) -> Iterator[tuple[str, str]]:
    """Yield (label, text) for what is known of an example; the label is "" in further lines of standard error."""
    if example.sent:
        yield "request", escape_bytes(reorder_request(example.sent), _MAX_MESSAGE_CHARS)
    if example.received is not None:
        yield "answer", escape_bytes(example.received, _MAX_MESSAGE_CHARS)
    if example.used:
        yield "played", escape_control(example.used)
    yield "help", example.advice
    stderr_lines = list_own_lines(example.stderr)[-_STDERR_LINES:]
    if stderr_lines:
        yield "stderr", example.log or ""
    for line in stderr_lines:
        yield "", f"| {escape_bytes(line, _MAX_STDERR_CHARS)}"


def files_hint(folder: RunFolder) -> str:
    verify = f"arena verify {shlex.quote(str(folder.path))}"
    return f"records {folder.records}/, standard error {folder.logs}/; {verify}"
