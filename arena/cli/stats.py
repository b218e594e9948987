"""The command `arena stats`: what bots do, counted from records."""

import sys
from collections.abc import Sequence
from pathlib import Path

import click

from arena.cli import stats_tables
from arena.cli.answers import answers, print_json
from arena.cli.completion import complete_name
from arena.cli.out import counted, fail, note, progress, reason, refuse, show, write
from arena.count import Fold
from arena.referee import RecordError
from arena.run import KeptError, record_at, records_at
from arena.stats import Answer, Profile, answer, page, to_csv, with_comparison


@click.command()
@click.argument("paths", metavar="DIR|RECORD...", nargs=-1, type=click.Path(path_type=Path))
@click.option(
    "--bot", metavar="NAME", shell_complete=complete_name, help="Tell all about this bot.  [all bots in short]"
)
@click.option(
    "--with",
    "other",
    metavar="NAME",
    shell_complete=complete_name,
    help="The bot to compare with, of the same records.",
)
@answers(Answer)
@click.option("--csv", "as_csv", is_flag=True, help="Print all rates as CSV on stdout, one a line.")
@click.option(
    "--html", type=click.Path(path_type=Path, dir_okay=False), metavar="FILE", help="Write a page with plots."
)
def stats(
    paths: tuple[Path, ...],
    bot: str | None,
    other: str | None,
    as_json: bool,
    as_csv: bool,
    html: Path | None,
) -> None:
    """Tell what bots do: how often they win, bluff, challenge and block, whom they attack, how long they think.

    DIR is a run's folder. All cards are known here, so a bluff counts as one whether it was called or not.

    arena stats RUN --bot mybot --with mybot-2 tells what differs between two bots of one run.
    """
    if not paths:
        refuse("name a run's folder or a record, as arena run prints it at its end")
    if sum((as_json, as_csv, html is not None)) > 1:
        refuse("--json, --csv and --html are forms of one answer: give one of them")
    if other is not None and bot is None:
        refuse("--with names the bot to compare with: add --bot NAME, the bot that is compared")
    found, fold = _count(paths, None if bot is None or other is None else (bot, other))
    result = _answer(found, fold, bot, other)
    if html is not None:
        _write_page(html, result)
    elif as_json:
        print_json(result)
    elif as_csv:
        write(to_csv(result))
    else:
        show(*stats_tables.parts(result, full=bot is not None), widest=stats_tables.WIDEST)
    sys.exit(1 if found.records.left_out else 0)


def _count(paths: Sequence[Path], pair: tuple[str, str] | None) -> tuple[Answer, Fold]:
    """Return what the records hold, and of a pair of bots what ties them; say which can't be read.

    Exits with 2 where none can.
    """
    try:
        files = list({file.resolve(): file for path in paths for file in records_at(path)}.values())
    except KeptError as problem:
        refuse(str(problem))
    fold = Fold(pair)
    left_out: list[str] = []

    def line() -> str:
        return f"{fold.records + len(left_out)} of {counted(len(files), 'record')} read, {fold.games} games"

    with progress(line, line) as tell:
        for file in files:
            trouble = _add(fold, file)
            if trouble is not None:
                left_out.append(trouble)
            tell()
    if not fold.records:
        more = f"; and {counted(len(left_out) - 1, 'file')} more can't be read" if len(left_out) > 1 else ""
        refuse(f"{left_out[0]}{more}")
    for each in left_out:
        note(f"left out: {each}")
    return answer(fold, [str(path) for path in paths], left_out), fold


def _add(fold: Fold, file: Path) -> str | None:
    """Count the record in a file, or return why it can't be."""
    try:
        fold.add(record_at(file))
    except KeptError as problem:
        return str(problem)
    except RecordError as problem:
        return f"{file}: {problem}"
    return None


def _answer(found: Answer, fold: Fold, bot: str | None, other: str | None) -> Answer:
    """Return the answer with the bots that were asked for. Exits with 2 for one that isn't there."""
    if bot is None:
        return found
    if other is None:
        return found.model_copy(update={"bots": [_profile(found, bot)]})
    return with_comparison(found, fold, _profile(found, bot), _profile(found, other))


def _write_page(file: Path, answer: Answer) -> None:
    whose = answer.bots[0].bot if len(answer.bots) == 1 else "all bots"
    try:
        file.write_text(page(answer, f"{whose} in {_where(answer)}"), encoding="utf-8", errors="replace")
    except OSError as problem:
        fail(f"{reason(problem)}; name another file")
    note(f"{counted(len(answer.bots), 'bot')} in {file}: open it in a browser")


def _profile(answer: Answer, name: str) -> Profile:
    profiles = {each.bot: each for each in answer.bots}
    if name not in profiles:
        known = ", ".join(profiles)
        refuse(f'no bot called "{name}" plays in {_where(answer)}; there are {known}')
    return profiles[name]


def _where(answer: Answer) -> str:
    return ", ".join(answer.records.paths)
