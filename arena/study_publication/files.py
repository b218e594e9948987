"""Write the report of a study as files that can be published.

report.html            plots, tables and methods on one page
figures/               each plot as an SVG file
tables/                measures, differences, decisions, claims, challenges, statements and calls: CSV, JSON Lines
bluffs.jsonl           each bluff with hand, reasoning, statements, odds, reactions and outcome
replays/deal-0000.html all games of a deal, with the reasoning of each decision and all cards"""

import csv
import json
from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import asdict, fields
from itertools import groupby
from pathlib import Path
from typing import Any

from arena.escaping import escape_csv_cell
from arena.formatting import format_range
from arena.referee import game_marker, turn_marker
from arena.replay import make_replay_object, replay_page
from arena.run import read_logs
from arena.stats.plots import Scale, svg_file
from arena.study_measures import MEASURES, Difference, GameTables, Measured, tables
from arena.study_publication.page import Plots, list_plots, render_report
from arena.study_report import Study, StudyReport

TABLES: dict[str, type[Any]] = {
    "measures": Measured,
    "differences": Difference,
    "decisions": tables.Decision,
    "claims": tables.Claim,
    "challenges": tables.Challenge,
    "statements": tables.Statement,
    "calls": tables.CallRow,
}
_REPLAY_BYTES = 100_000  # of reasoning a game
_MAX_NAME = 60  # letters of a figure's name, each of up to four bytes: a file system allows 255


def write_report(study: Study, report: StudyReport, out: Path, on_deal: Callable[[], object] = lambda: None) -> None:
    """Write all files into the folder `out`, in place of those of an earlier report.

    on_deal: called after each replay. Raises OSError if a file can't be written, RecordFileError if a record can't be
    read.
    """
    for name in ("tables", "figures", "replays"):
        (out / name).mkdir(parents=True, exist_ok=True)
    plots_by_measure = list(list_plots(report.measures))
    (out / "report.html").write_text(render_report(report, plots_by_measure), encoding="utf-8")
    _write_figures(out / "figures", plots_by_measure)
    for table, row_type in TABLES.items():
        _write_table(out / "tables" / table, row_type, _list_rows(study, report, table))
    with (out / "bluffs.jsonl").open("w", encoding="utf-8") as file:
        for bluff in list_bluffs(study.games):
            file.write(json.dumps(bluff) + "\n")
    for deal, games in groupby(study.games, lambda game: game.deal):
        page = _render_deal(study, deal, list(games))
        (out / "replays" / f"deal-{deal:04d}.html").write_text(page, encoding="utf-8")
        on_deal()


def _write_figures(folder: Path, plots_by_measure: Sequence[tuple[str, Plots]]) -> None:
    """Write each plot as an SVG file, those of a measure with one scale. Long names are cut, equal ones extended."""
    used_names = set[str]()
    for measure, plots in plots_by_measure:
        scale = Scale.of(rows for _, rows in plots)
        for caption, rows in plots:
            name = "".join(c if c.isalnum() else "-" for c in f"{measure}-{caption}"[:_MAX_NAME])
            while name.casefold() in used_names:
                name += "-2"
            used_names.add(name.casefold())
            text = svg_file(MEASURES[measure].title, caption, rows, scale)
            (folder / f"{name}.svg").write_text(text, encoding="utf-8")


def _render_deal(study: Study, deal: int, games: Sequence[GameTables]) -> str:
    """Return the page with the replays of a deal's games in all conditions.

    Raises RecordFileError if a record can't be read.
    """
    replays: list[dict[str, Any]] = []
    matches_by_condition: dict[str, list[int]] = {}
    for game in games:
        matches_by_condition.setdefault(game.condition, []).append(game.match)
        record = study.record(game.match)
        logs = read_logs(study.path / "records" / f"{game.match:06d}.jsonl", record)
        replays.append(make_replay_object(record, {**logs, **_make_reasoning_logs(game)}))
    conditions = ", ".join(f"{name} {format_range(matches)}" for name, matches in matches_by_condition.items())
    return replay_page(replays, f"{study.path.name}: deal {deal} ({conditions})", log_bytes=_REPLAY_BYTES)


def _list_rows(study: Study, report: StudyReport, table: str) -> Iterable[Any]:
    """Return the rows of one of TABLES: of the report, the journal, or each game in order."""
    if table in ("measures", "differences"):
        rows: Iterable[Any] = getattr(report, table)
        return rows
    return study.call_rows() if table == "calls" else (row for game in study.games for row in getattr(game, table))


def _write_table(path: Path, row_type: type[Any], rows: Iterable[Any]) -> None:
    """Write a table of dataclasses as CSV and as JSON Lines. In CSV, lists are JSON. path: without its suffix."""
    names = [column.name for column in fields(row_type)]
    with path.with_suffix(".csv").open("w", encoding="utf-8") as table, path.with_suffix(".jsonl").open("w") as lines:
        writer = csv.DictWriter(table, names, lineterminator="\n")
        writer.writeheader()
        for row in rows:
            values = asdict(row)
            lines.write(json.dumps(values) + "\n")
            writer.writerow({name: _csv_cell(value) for name, value in values.items()})


def _csv_cell(value: Any) -> Any:
    if isinstance(value, bool | list):
        return json.dumps(value)
    return escape_csv_cell(value) if isinstance(value, str) else value


def list_bluffs(games: Iterable[GameTables]) -> Iterator[dict[str, Any]]:
    """Yield each bluff as JSON: the claim's row with reasoning, statements made with it, and the game's result.

    Without a call of a model, `call`, `reasoning` and `thinking` are None.
    """
    for game in games:
        for claim in game.claims:
            if claim.true:
                continue
            call = game.calls[claim.move][-1] if claim.move in game.calls else {}
            yield {
                **asdict(claim),
                "call": call.get("call"),
                "reasoning": call.get("reasoning"),
                "thinking": call.get("thinking"),
                "statements": [asdict(statement) for statement in game.statements if statement.move == claim.move],
                "won": game.worth[claim.player],
            }


def _make_reasoning_logs(game: GameTables) -> dict[str, list[bytes]]:
    """Return the reasoning of each model in a game, by bot, in the form of a bot's standard error."""
    log_lines: dict[str, list[str]] = {}
    for decision in game.decisions:
        for call in game.calls.get(decision.move, ()):
            lines = log_lines.setdefault(call["player"], [game_marker(0)])
            lines += [turn_marker(decision.turn), f"{decision.kind}: {call['done']}"]
            lines += [text for text in (call.get("thinking"), call.get("reasoning")) if text]
    return {bot: ["\n".join(lines).encode(errors="backslashreplace")] for bot, lines in log_lines.items()}
