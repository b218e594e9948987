"""The command `arena ladder grades`: what each owner's bot reached, and what of it was handed out."""

import sys
from collections.abc import Callable
from pathlib import Path

import click

from arena.bots import shown
from arena.cli.answers import answers, print_json
from arena.cli.ladder.opening import BY, FOLDER, ladder_at
from arena.cli.ladder.standings import TRUSTED
from arena.cli.out import Column, counted, note, refuse, show, table, write
from ladder import views
from ladder.service import GRADEBOOKS, Ladder, Remade, gradebook, handed_out, release, remake, unfindable
from ladder.service import grades as all_grades
from ladder.views import Grade, GradeChanges, Grades


@click.command()
@FOLDER
@click.option("--final", metavar="NAME", help="Of a final's versions and games.")
@click.option("--deadline", metavar="NAME", help="Of the versions that count at a deadline, by all rated games.  [now]")
@click.option("--owner", "login", metavar="LOGIN", help="Show one owner's, baseline by baseline.")
@click.option("--format", "form", type=click.Choice(GRADEBOOKS), default="plain", help="For whom it is.  [plain]")
@click.option("--release", "name", metavar="NAME", help="Hand them out under a name, or print what was handed out.")
@click.option("--why", metavar="TEXT", help="Why they are handed out again.")
@click.option("--again", is_flag=True, help="Make what was handed out again, and compare; 1 if it differs.")
@click.option(
    "--changes", metavar="RELEASE", is_flag=False, flag_value="", help="What changed since.  [the release before]"
)
@BY
@answers(views.Grades, views.Grade, GradeChanges, Remade)
def grades(
    folder: Path,
    final: str | None,
    deadline: str | None,
    login: str | None,
    form: str,
    name: str | None,
    why: str | None,
    again: bool,
    changes: str | None,
    who: str,
    as_json: bool,
) -> None:
    """Print grades as CSV: points for the baselines in ladder.toml, with what was measured, lateness and reasons.

    canvas and moodle are what their gradebooks import; moodle-worksheet is an assignment's grading worksheet, and
    canvas-api the JSON that Canvas' API takes, with feedback. With --owner, one owner's is shown as a table: what is
    passed, what isn't yet. With --release and one of --deadline and --final, they are kept as they
    are now, with all that they were made from; with --release alone, what was kept is printed, the same each time.
    """
    makes = final is not None or deadline is not None
    if final is not None and deadline is not None:
        refuse("a final has its versions; leave --deadline away")
    if name is None and (again or changes is not None or why is not None):
        refuse("--again, --changes and --why are of what is handed out: name it with --release")
    if again + makes + (changes is not None) > 1 or (why is not None and not makes):
        refuse("a release is made with --deadline or --final and --why, or compared with one of --again and --changes")
    with ladder_at(folder) as ladder:
        if again:
            _compare(remake(ladder, name or ""), as_json)
            return
        if name is None:
            current = all_grades(ladder, who, final, deadline)
        else:
            result = release(ladder, name, who, why, final, deadline) if makes else _release(ladder, name, changes)
            current = result.told
            if changes is not None:
                _show_changes(result.changes, as_json, show)
                return
            if makes:
                note(f'"{name}" is kept; it is the same each time: arena ladder grades {folder} --release {name}')
                if result.changes is not None:
                    _show_changes(result.changes)
    for label in current.waiting:
        note(f"{label} waits for its examination: arena ladder run {folder} --until examined")
    if login is not None:
        grade = next((grade for grade in current.grades if grade.owner.login == login), None)
        if grade is None:
            refuse(f'there is no owner "{login}"; see arena ladder owners list {folder}')
        if as_json:
            print_json(grade)
        else:
            _show(current, grade)
    elif as_json:
        print_json(current)
    else:
        if not current.isolated:
            note(TRUSTED)
        for sentence in unfindable(current, form):
            note(sentence)
        write(gradebook(current, form))


def _release(ladder: Ladder, name: str, since: str | None) -> views.HandedOut:
    with ladder.database.read() as connection:
        return handed_out(connection, name, since=since or None)


def _compare(remade: Remade, as_json: bool) -> None:
    """Say whether a release that was made again is the same, and exit."""
    if as_json:
        print_json(remade)
    else:
        note(f'"{remade.name}", made again: {"the same to the digit" if remade.same else "it differs"}')
        for line in remade.differences:
            note(shown(line))
    sys.exit(0 if remade.same else 1)


def _show_changes(changes: GradeChanges | None, as_json: bool = False, say: Callable[[str], None] = note) -> None:
    """Print what changed: where grades are printed, too, as notes."""
    if changes is None:
        refuse("nothing was handed out before it; name a release: --changes RELEASE")
    if as_json:
        print_json(changes)
        return
    say(f'since "{changes.before}": {"; ".join(changes.words) or "nothing for all"}')
    for row in changes.rows:
        points = f"{_points(row.before)} -> {_points(row.after)} points"
        say(f"{shown(row.owner.login or '')}: {points}: {shown('; '.join(row.words))}")
    if not changes.rows:
        say("each grade is the same")


def _points(points: float | None) -> str:
    return "no" if points is None else f"{points:g}"


def _show(result: Grades, grade: Grade) -> None:
    show(f"{shown(grade.owner.login or '')}, {result.of}: {grade.points:g} of {result.possible:g} points")
    if grade.version is None:
        show(grade.reason)
        return
    late = f", {grade.late}" if grade.late else ""
    show(f"{shown(grade.version)}{late}, {counted(grade.games, 'game')}\n")
    columns = [Column("baseline", least=12), Column("points", number=True), Column(""), Column("measured", least=20)]
    rows = [
        (
            shown(mark.baseline),
            f"{mark.points:g}/{mark.possible:g}",
            "passed" if mark.passed else "not yet",
            shown(mark.words) + (" - in doubt" if mark.doubtful else ""),
        )
        for mark in grade.marks
    ]
    show(table(columns, rows))
    show("\nIn parentheses: what holds the truth in 95 % of cases.")
    if not result.isolated:
        show(TRUSTED)
