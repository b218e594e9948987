"""The command `arena ladder submit`: a bot's new version is taken in, or all that a learning platform collected."""

import sys
from pathlib import Path

import click

from arena.bots import sample_file, shown
from arena.cli.answers import answers, print_json
from arena.cli.ladder.opening import BY, FOLDER, ladder_at
from arena.cli.out import Column, counted, note, show, table
from arena.cli.submit import print_submission
from ladder.service import Collection, Taken, local_time, read_time, submit_collection
from ladder.service import submit as take_in


@click.command()
@FOLDER
@click.argument("bot", metavar="[BOT]", required=False, type=click.Path(path_type=Path))
@click.option("--owner", "login", metavar="LOGIN", help="Whose bot it is.")
@click.option("--name", metavar="NAME", help="The bot's name.  [what its bot.toml or its file says]")
@click.option("--at", metavar="TIME", help="When it was handed in, such as 2026-12-01T23:50+01:00.  [now]")
@click.option(
    "--from",
    "source",
    metavar="FOLDER|ZIP",
    type=click.Path(path_type=Path, exists=True),
    help="All submissions, as Canvas or Moodle hands them out.",
)
@click.option("--deadline", metavar="NAME", help="With --from: what Canvas doesn't mark as late came by then.")
@click.option(
    "--times",
    metavar="CSV",
    type=click.Path(path_type=Path, exists=True, dir_okay=False),
    help="With --from: when each person handed in, such as Moodle's grading worksheet.",
)
@click.option("--dry-run", is_flag=True, help="With --from: tell what would be taken in, and take nothing in.")
@BY
@answers(Taken, Collection)
def submit(
    folder: Path,
    bot: Path | None,
    login: str | None,
    name: str | None,
    at: str | None,
    source: Path | None,
    deadline: str | None,
    times: Path | None,
    dry_run: bool,
    who: str,
    as_json: bool,
) -> None:
    """Submit a version of a bot: a file, a folder, a zip or a tar; or sample:NAME.

    The ladder's runner examines it; if it is fit, it plays in place of the version before. With --at it is received at
    that time, as you say, which is written down; no quota of a day holds then.

    With --from, all that a learning platform collected is taken in, with one report. Exit code 1 if some of it wasn't.
    """
    if source is None and (bot is None or login is None):
        raise click.UsageError("name a BOT and its --owner; or all submissions: --from FOLDER|ZIP")
    if source is None and (deadline or times or dry_run):
        raise click.UsageError("--deadline, --times and --dry-run go with --from")
    if source is not None and (bot or login or name):
        raise click.UsageError("--from takes each person's bot: it goes with no BOT, --owner or --name")
    with ladder_at(folder) as ladder:
        received = None if at is None else read_time(ladder, at, deadline)
        if source is not None:
            text = None if times is None else times.read_bytes()
            _report(submit_collection(ladder, source, who, received, deadline, text, dry_run), dry_run, as_json)
            return
        assert bot is not None
        assert login is not None
        taken = take_in(ladder, sample_file(str(bot)) or bot, login, name, received, who)
    if as_json:
        print_json(taken)
        return
    print_submission(taken.label, taken.again, taken.left, taken.late, taken.disabled)
    if received is not None:
        note(f"it was received {local_time(taken.received)}")
    note(f"see what comes of it: arena ladder bot {folder} {taken.name}")


def _report(batch: Collection, dry_run: bool, as_json: bool) -> None:
    """Print what became of all submissions, and exit."""
    if as_json:
        print_json(batch)
        sys.exit(batch.refused)
    rows = []
    for row in batch.rows:
        files = ", ".join(map(shown, row.files)) + (
            f"; without {', '.join(map(shown, row.passed))}" if row.passed else ""
        )
        became = (
            f"refused: {shown(row.refused or '')}"
            if row.taken is None
            else f"{shown(row.taken.label)}, {_how(row.taken)}"
        )
        rows.append((shown(row.login or f"? {row.said}"), files, local_time(row.received), became))
    show(table(["who", Column("files", least=20), "received", Column("what became of it", least=30)], rows))
    for file in batch.nobodys:
        note(f"nobody's: {file}")
    if batch.missing:
        note(f"{counted(len(batch.missing), 'person', 's')} handed in nothing: {', '.join(map(shown, batch.missing))}")
    new = sum(row.taken is not None and not row.taken.again for row in batch.rows)
    again = sum(row.taken is not None and row.taken.again for row in batch.rows)
    out = sum(row.taken is None for row in batch.rows)
    note(f"{new} {'would be taken in' if dry_run else 'taken in'}, {again} there already, {out} refused")
    sys.exit(batch.refused)


def _how(taken: Taken) -> str:
    """Return in a few words how a submission was taken in."""
    late = "" if taken.late is None else f", late for {taken.late}"
    disabled = "" if taken.disabled is None else f", disabled: {shown(taken.disabled)}"
    return f"{'there already' if taken.again else 'taken in'}{late}{disabled}"
