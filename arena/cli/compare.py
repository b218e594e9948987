"""The command `arena compare`: is NEW better than OLD?"""

import os
import shlex
import sys
from contextlib import closing, nullcontext
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

from arena.bots import Bot, BotError, check_out, shown
from arena.cli import options, report
from arena.cli.answers import answers, print_json
from arena.cli.completion import complete_bot
from arena.cli.ending import end_like_ctrl_c
from arena.cli.new_run import Asked, begin, match_games_of, refusals, seats_of
from arena.cli.out import Column, counted, note, progress, refuse, show, table
from arena.cli.session import again, cores, play, refusal_in_json, resume_run
from arena.compare import DOUBT, NAMES, NEW, OLD, CompareConfig, Comparison, Version
from arena.compare.answer import Answer, Refused, answer, hint, pays, remarks, signed, words
from arena.compare.page import page
from arena.referee import Record, Terms
from arena.run import Run, cache_folder, record_at, seed_key
from arena.sandbox import Choice
from ladder.pool import Voided
from ladder.store import RunFolder

if TYPE_CHECKING:
    from rich.console import RenderableType

_PAGE = "compare.html"
_SHOWN = 8  # rows of differences in the terminal; the page has all


class _Command(options.GroupedCommand):
    """Every word after --against, up to the next option, is an opponent."""

    def parse_args(self, ctx: click.Context, args: list[str]) -> list[str]:
        """Give each opponent an option of its own."""
        words: list[str] = []
        opponents = False
        for word in args:
            if word.startswith("-") and word != "-":
                opponents = word == "--against"
                words += [] if opponents else [word]
            else:
                words += ["--against", word] if opponents else [word]
        return super().parse_args(ctx, words)


@click.command(cls=_Command)
@click.argument("bots", nargs=-1, metavar="OLD NEW --against BOT...", shell_complete=complete_bot)
@click.option(
    "--against", multiple=True, metavar="BOT", shell_complete=complete_bot, help="Whom both meet; any number."
)
@click.option(
    "--points",
    type=click.FloatRange(0.1, 100),
    default=5.0,
    metavar="P",
    help="The difference of win share, in percent, that counts as better.  [5]",
)
@click.option(
    "--cap", type=click.IntRange(1), default=1500, metavar="N", help="Stop after so many pairs of games.  [1500]"
)
@click.option(
    "--ladder",
    metavar="LADDER",
    type=click.Path(path_type=Path, file_okay=False),
    help="Where name@3 is a version of a bot.  [@ means a revision of git]",
)
@click.option(
    "--seats", type=click.IntRange(2, 10), metavar="N", help="Bots at a table.  [4, or fewer if there are fewer bots]"
)
@options.RULES
@click.option("--seed", type=int, metavar="N", help="Make the comparison repeatable; for bots that you trust.")
@click.option("--jobs", type=click.IntRange(1), metavar="N", help="Matches to play side by side.  [number of cores]")
@options.sandbox_options
@options.PASS_ENV
@options.limit_options
@click.option(
    "--out", metavar="DIR", type=click.Path(path_type=Path), help="New folder for the results.  [arena-compare/<time>]"
)
@click.option(
    "--clock",
    type=click.Choice(["auto", "own", "wall"]),
    help="The time that is charged; auto: a bot's own time where the kernel tells it.  [auto]",
)
@click.option("--resume", metavar="DIR", type=click.Path(path_type=Path), help="Go on with the comparison in DIR.")
@answers(Answer, Refused)
def compare(
    bots: tuple[str, ...],
    against: tuple[str, ...],
    points: float,
    cap: int,
    ladder: Path | None,
    resume: Path | None,
    jobs: int | None,
    as_json: bool,
    **given: Any,
) -> None:
    """Tell whether NEW is better than OLD, both against the same bots.

    OLD and NEW play the same deals in the same seats against opponents with the same dice, in fresh processes, until it
    is clear: "better", or "not better by 5". The answer holds however often one looks, and stops by itself.

    OLD and NEW are files or folders, as for arena run, sample:NAME, mybot@HEAD~1 (as it was at a revision of git), or
    with --ladder name@3. Every BOT after --against is an opponent; a block of games meets some of them.
    """
    end_like_ctrl_c()
    try:
        with refusal_in_json(Refused) if as_json else nullcontext(), refusals():
            if resume is not None:
                config, folder = resume_run(CompareConfig, resume)
            else:
                versions, arguments = _versions(bots, against, ladder)
                asked = Asked.of(arguments, given)
                of_bots = partial(_comparison_of, versions, points, cap)
                config, folder = begin(asked, of_bots, "arena-compare")
            this = Run(config, folder)
            comparison = Comparison(config, folder)
    except KeyboardInterrupt:
        note("interrupted before the first game")
        sys.exit(130)
    status, problem = play(this, folder, partial(_show_play, this, comparison, jobs or cores()))
    _report(this, comparison, folder, as_json, problem)
    if status == 130:
        note(f"interrupted; go on with: {again(config, folder)}")
    sys.exit(status)


def _versions(
    bots: tuple[str, ...], against: tuple[str, ...], ladder: Path | None
) -> tuple[tuple[Version, ...], tuple[str, ...]]:
    """Return what OLD and NEW mean, and the arguments of all bots. Exits with 2 where one is missing."""
    if len(bots) != 2 or not against:
        refuse(
            "name both versions and whom they meet: arena compare OLD NEW --against sample:honest sample:opportunist"
        )
    versions, arguments = [], []
    for name, given in zip(NAMES, bots, strict=True):
        path, meant = _place(given, ladder)
        versions.append(Version(given, meant))
        arguments.append(f"{name}={path}")
    for given in against:
        path, _ = _place(given, ladder)
        arguments.append(given if path == given else f"{given.replace('/', ' ').strip()[-40:]}={path}")
    return tuple(versions), tuple(arguments)


def _place(given: str, ladder: Path | None) -> tuple[str, str]:
    """Return where a version stands, and what its name means."""
    path, at, revision = given.rpartition("@")
    if not at or not path or os.path.lexists(given):
        return given, given if given.startswith("sample:") else os.path.abspath(os.path.expanduser(given))
    if ladder is not None:
        from arena.cli.ladder.copies import version_copy  # a ladder's packages are an extra

        return version_copy(ladder, given)
    try:
        copy, commit = check_out(Path(os.path.expanduser(path)), revision, cache_folder())
    except BotError as problem:
        if revision.isdecimal():
            raise BotError(f"{problem}\nIf it is a version of a ladder's bot, add --ladder LADDER.") from None
        raise
    return str(copy), f"{os.path.abspath(path)} at {commit}"


def _comparison_of(
    versions: tuple[Version, ...],
    points: float,
    cap: int,
    asked: Asked,
    bots: tuple[Bot, ...],
    terms: Terms,
    choice: Choice,
) -> CompareConfig:
    """Return the config of a comparison, and say what will be played. Exits with 2 if it can't be planned."""
    if bots[OLD].digest == bots[NEW].digest:
        refuse(
            f"OLD and NEW have the same contents (SHA-256 {bots[NEW].digest[:12]}): there is nothing to compare.\n"
            "Save your change, or name another version. If they differ in files next to them, name their folders."
        )
    seats = seats_of(asked, len(bots) - 1, terms.rules)
    match_games = match_games_of(choice.name, seats)
    config = CompareConfig(
        bots=bots,
        seats=seats,
        games=2 * cap,
        match_games=match_games,
        key=seed_key(asked.seed),
        seed=asked.seed,
        terms=terms,
        sandbox=choice,
        points=points / 100,
        versions=versions,
    )
    try:
        plan = config.plan()
    except ValueError as problem:
        refuse(str(problem))
    for name, version in zip(NAMES, versions, strict=True):
        meant = "" if version.meant == version.given else f" ({shown(version.meant)})"
        note(f"{name} is {shown(version.given)}{meant}")
    blocks = f"at most {counted(plan.rounds, 'block')} of {match_games} pairs"
    note(f"{blocks} of {terms.rules.name} at {seats} seats, against {', '.join(shown(bot.name) for bot in bots[2:])}")
    return config


def _show_play(this: Run, comparison: Comparison, jobs: int) -> None:
    """Play until there is a verdict; show how it stands, and say which matches are void."""
    from rich.text import Text

    if comparison.ended:
        return
    line = _line(comparison)
    with progress(lambda: Text(line), lambda: line) as tell, closing(this.play(jobs)) as events:
        for event in events:
            blocks = comparison.evidence.blocks
            comparison.take_in()
            if comparison.evidence.blocks > blocks:
                line = _line(comparison)
            tell()
            if isinstance(event, Voided):
                note(f"match {event.job.spec.match} is void: {event.reason}")
            if comparison.ended or (isinstance(event, Voided) and event.given_up):
                return  # no block counts before one that this machine couldn't play


def _line(comparison: Comparison) -> str:
    """Return in one line how it stands."""
    evidence = comparison.evidence
    if not evidence.blocks:
        return "the first block is being played"
    seen = evidence.seen()
    return (
        f"{counted(evidence.blocks, 'block')}, {len(comparison.pairs)} pairs: NEW {signed(seen.mean)} points "
        f"({signed(seen.low)} to {signed(seen.high)}); evidence for better {seen.better:.2g}, "
        f"for not better {seen.not_better:.2g} ({DOUBT:g} decide); {words(comparison)}"
    )


def _report(this: Run, comparison: Comparison, folder: RunFolder, as_json: bool, problem: str | None) -> None:
    """Print the answer, and write its page."""

    def record_of(match: int) -> Record:
        return record_at(folder.record(match))

    board = this.progress.board()
    result = answer(comparison, board, str(folder.path), record_of, problem)
    file = folder.path / _PAGE
    try:
        file.write_text(page(result), encoding="utf-8")
    except OSError as trouble:
        note(f"the page can't be written: {trouble.strerror}")
    if as_json:
        print_json(result, folder.path)
        return
    faults = (part for text in report.trouble(this, folder, board) for part in ("", text))
    show(*_parts(result, file), *faults, kept=folder.path)


def _parts(result: Answer, file: Path) -> "list[RenderableType]":
    """Return what is printed at the end."""
    parts: list[RenderableType] = [result.words if result.verdict == "not known" else f"NEW is {result.words}"]
    if result.pairs:
        parts.append(
            f"{counted(result.pairs, 'pair')} in {counted(result.blocks, 'block')}, {result.discordant} with another "
            f"result: OLD won {result.old.won:.1%}, NEW {result.new.won:.1%}, {signed(result.difference)} points "
            f"({signed(result.low)} to {signed(result.high)}; each end holds with 95 %, however often one looks)"
        )
        parts.append(
            f"evidence for better {result.better:.3g}, for not better by {100 * result.points:.3g} "
            f"{result.not_better:.3g}; {DOUBT:g} decide; {hint(result)}"
        )
    parts += remarks(result)
    if result.differs:
        rows = [
            [
                row.asked,
                row.old,
                row.new,
                signed(row.points),
                pays(row),
                str(row.pairs),
                *map(_won, (row.old_won, row.new_won)),
            ]
            for row in result.differs[:_SHOWN]
        ]
        columns = [
            *(Column(name, least=16) for name in ("asked", "OLD chose", "NEW chose")),
            *(Column(name, number=True) for name in ("adds\npoints", "pays\n(95 %)", "pairs", "OLD\nwon", "NEW\nwon")),
        ]
        parts += ["", "where they differ first, in the same position", table(columns, rows)]
        if len(result.differs) > _SHOWN:
            parts.append(f"and {len(result.differs) - _SHOWN} more on the page")
    elif result.pairs and not result.by_opponents:
        parts.append("they never chose otherwise")
    parts += ["", f"page {file}; games: arena replay {shlex.quote(result.run)} --match M --game G, OLD's M is even"]
    return parts


def _won(share: float) -> str:
    return f"{share:.0%}"
