"""The command `arena ladder grades`: what each owner's bot reached."""

from pathlib import Path

import click

from arena.bots import shown
from arena.cli.answers import answers, print_json
from arena.cli.ladder.opened import BY, FOLDER, opened
from arena.cli.ladder.standings import TRUSTED
from arena.cli.out import Column, counted, note, refuse, show, table, write
from ladder import views
from ladder.service import GRADEBOOKS, gradebook, unfindable
from ladder.service import grades as all_grades
from ladder.views import Grade, Grades


@click.command()
@FOLDER
@click.option("--final", metavar="NAME", help="Of a final's versions and games.")
@click.option("--deadline", metavar="NAME", help="Of the versions that stand at a deadline, by all rated games.  [now]")
@click.option("--owner", "login", metavar="LOGIN", help="Show one owner's, baseline by baseline.")
@click.option("--format", "form", type=click.Choice(GRADEBOOKS), default="plain", help="For whom it is.  [plain]")
@BY
@answers(views.Grades, views.Grade)
def grades(
    folder: Path, final: str | None, deadline: str | None, login: str | None, form: str, who: str, as_json: bool
) -> None:
    """Print grades as CSV: points for the baselines in ladder.toml, with what was measured, lateness and reasons.

    canvas and moodle are what their gradebooks import; moodle-worksheet is an assignment's grading worksheet, and
    canvas-api the JSON that Canvas' API takes, with feedback. With --owner, one owner's is shown as a table: what is
    passed, what isn't yet.
    """
    with opened(folder) as ladder:
        if final is not None and deadline is not None:
            refuse("a final has its versions; leave --deadline away")
        found = all_grades(ladder, who, final, deadline)
    for label in found.waiting:
        note(f"{label} waits for its examination: arena ladder run {folder} --until examined")
    if login is not None:
        grade = next((grade for grade in found.grades if grade.owner.login == login), None)
        if grade is None:
            refuse(f'there is no owner "{login}"; see arena ladder owners list {folder}')
        if as_json:
            print_json(grade)
        else:
            _show(found, grade)
    elif as_json:
        print_json(found)
    else:
        if not found.isolated:
            note(TRUSTED)
        for sentence in unfindable(found, form):
            note(sentence)
        write(gradebook(found, form))


def _show(found: Grades, grade: Grade) -> None:
    show(f"{shown(grade.owner.login or '')}, {found.of}: {grade.points:g} of {found.possible:g} points")
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
    if not found.isolated:
        show(TRUSTED)
