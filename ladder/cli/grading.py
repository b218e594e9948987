"""Implement `arena ladder final`, `grades` and `extend`: play finals, release grades, and extend deadlines."""

import sys
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path

import click

from arena.cli.console import (
    Column,
    json_option,
    make_table,
    option,
    os_error_reason,
    print_json,
    print_note,
    print_parts,
    print_text,
    usage_error,
)
from arena.escaping import escape_control, quote_path
from arena.formatting import NO_INTERVALS, format_count, have_no_intervals
from ladder import grading
from ladder.cli.common import ACTOR_OPTION, FOLDER_ARGUMENT, audited, open_ladder_or_exit, print_decision, print_result
from ladder.cli.results import TRUSTED, standings_table
from ladder.deadlines import extend_deadline, withdraw_extension
from ladder.exports import ExportedFiles
from ladder.ladder import ActionResult, Ladder
from ladder.permissions import PUBLIC_VIEWER, STAFF_VIEWER
from ladder.standings.computation import Standings

NAME_ARGUMENT = click.argument("name", metavar="NAME")
LOGINS_OPTION = option("--show-logins", is_flag=True, help="Show owners' logins instead of pseudonyms.")
DEADLINE_OPTION = option("--deadline", metavar="NAME", help="Use the versions that count at this deadline.  [now]")
FINAL_OPTION = option("--final", metavar="NAME", help="Use the versions and games of this final, and reveal its key.")
FORMAT_OPTION = option(
    "--format", "form", type=click.Choice(grading.GRADEBOOK_FORMATS), default="plain", help="File format."
)


@click.group()
def final() -> None:
    """Create finals, show and reveal their standings, and export their records.

    A final plays frozen versions, and a key determines its deals. The SHA-256 of the key is published before the first
    match, and the key after the last match. Then anyone can verify the deals.
    """


@final.command("create")
@FOLDER_ARGUMENT
@NAME_ARGUMENT
@option(
    "--games", type=click.IntRange(1), metavar="N", default=grading.FINAL_GAMES, help="Minimum games for each version."
)
@DEADLINE_OPTION
@option("--open", "is_open", is_flag=True, help="Show results to all viewers while the final is played.")
@option(
    "--extra-rounds",
    "rounds",
    type=click.IntRange(0),
    metavar="N",
    default=grading.EXTRA_ROUNDS,
    help="Maximum at a tie.",
)
@ACTOR_OPTION
@json_option(grading.FinalState)
def create(
    *, folder: Path, name: str, games: int, deadline: str | None, is_open: bool, rounds: int, actor: str, as_json: bool
) -> None:
    """Create a final and queue its matches.

    Its versions are frozen, and the SHA-256 of its key is published. The ladder's runner plays the matches, also while
    the ladder is frozen.
    """
    with open_ladder_or_exit(folder) as ladder:
        state = grading.create_final(
            ladder, name, deadline, games=games, actor=actor, is_open=is_open, extra_rounds=rounds
        )
        file = grading.get_commitment_file(ladder, name)
    versions, matches = format_count(len(state.versions), "version"), format_count(state.matches, "match", "es")
    print_result(
        state,
        as_json,
        f"created the final {name}: {versions}, {matches} queued",
        f"SHA-256 of its key: {state.commitment}",
        f"publish {file} now: a runner starts the matches immediately",
        f"next: arena ladder run {quote_path(folder)}; arena ladder final reveal {quote_path(folder)} {name}",
    )


@final.command("list")
@FOLDER_ARGUMENT
@json_option(grading.FinalList)
def list_all(folder: Path, as_json: bool) -> None:
    """List all finals."""
    with open_ladder_or_exit(folder) as ladder, ladder.reading(PUBLIC_VIEWER) as context:
        finals = grading.list_final_states(ladder, context)
    if as_json:
        print_json(finals)
        return
    rows = [
        (final.name, str(len(final.versions)), f"{final.played} of {final.matches}", final.commitment)
        for final in finals.items
    ]
    print_parts(make_table(["final", "versions", "matches played", "SHA-256 of the key"], rows))


@final.command("show")
@FOLDER_ARGUMENT
@NAME_ARGUMENT
@LOGINS_OPTION
@json_option(grading.FinalState)
def show_final(folder: Path, name: str, show_logins: bool, as_json: bool) -> None:
    """Show the progress of a final or, once it is revealed, its standings and key."""
    with open_ladder_or_exit(folder) as ladder:
        _print_final(ladder, name, as_json=as_json, show_logins=show_logins)


@final.command("retry")
@FOLDER_ARGUMENT
@NAME_ARGUMENT
@ACTOR_OPTION
@json_option(grading.FinalState)
def retry(folder: Path, name: str, actor: str, as_json: bool) -> None:
    """Queue abandoned matches again, with the same deals."""
    with open_ladder_or_exit(folder) as ladder:
        grading.retry_final(ladder, name, actor)
        _print_final(ladder, name, as_json=as_json)


@final.command("reveal")
@FOLDER_ARGUMENT
@NAME_ARGUMENT
@option("--incomplete", is_flag=True, help="Reveal the final even if matches were abandoned.")
@LOGINS_OPTION
@ACTOR_OPTION
@json_option(grading.FinalState)
def reveal(folder: Path, name: str, incomplete: bool, show_logins: bool, actor: str, as_json: bool) -> None:
    """Publish the standings and key of a final. All its matches must have ended."""
    with open_ladder_or_exit(folder) as ladder:
        grading.reveal_final_results(ladder, name, actor, incomplete=incomplete)
        _print_final(ladder, name, as_json=as_json, show_logins=show_logins)


@final.command("export")
@FOLDER_ARGUMENT
@NAME_ARGUMENT
@option("--out", metavar="DIR", type=click.Path(path_type=Path), required=True, help="A new folder.")
@json_option(ExportedFiles)
def export(folder: Path, name: str, out: Path, as_json: bool) -> None:
    """Export the key and records of a revealed final. `arena verify` checks the folder."""
    with open_ladder_or_exit(folder) as ladder:
        try:
            records = grading.export_final(ladder, name, out)
        except OSError as problem:
            usage_error(f"{os_error_reason(problem)}.\nName another folder: --out DIR")
    text = f"wrote the key and {format_count(records, 'record')} of the final to {out}; verify it: "
    files = ExportedFiles(tuple(sorted(map(str, out.iterdir()))))
    print_result(files, as_json, f"{text}arena verify {quote_path(out)}")


def _print_final(ladder: Ladder, name: str, *, as_json: bool, show_logins: bool = False) -> None:
    """Print a final's progress and the next command or, once it is revealed, its results and how to verify them."""
    state = grading.get_final_state(ladder, name, STAFF_VIEWER if show_logins else PUBLIC_VIEWER)
    if as_json:
        print_json(state)
    elif state.standings is None:
        print_note(
            f"the final {name}: {state.played} of {format_count(state.matches, 'match', 'es')} played, {state.progress}"
        )
        path = quote_path(ladder.path)
        command = f"run {path}" if state.state != "complete" else f"final reveal {path} {name}"
        print_note(f"next: arena ladder {command}")
    else:
        _print_results(state, state.standings)
        print_note(f"verify it: arena ladder final export {quote_path(ladder.path)} {name} --out DIR; arena verify DIR")


def _print_results(state: grading.FinalState, standings: Standings) -> None:
    """Print a final's standings, the matches that weren't played, and its key."""
    print_parts(standings_table(standings))
    games = f"{format_count(standings.games, 'game')} in {format_count(standings.matches, 'match', 'es')}"
    print_parts(f"\n{games}; win rates in %, fair: {100 * standings.fair_win_rate:.0f}")
    if have_no_intervals(row.win_rate_adjusted for row in standings.items):
        print_parts(NO_INTERVALS)
    for match, reason in state.abandoned:
        print_parts(f"Match {match} wasn't played: {escape_control(reason)}")
    print_parts(f"Key: {state.key}\nIts published SHA-256: {state.commitment}")
    if not state.isolated:
        print_parts(TRUSTED)


@click.group()
def grades() -> None:
    """Print, release and compare grades: points for the baselines in ladder.toml.

    The --format canvas is for Canvas' gradebook, canvas-api for its API with feedback, moodle for Moodle's gradebook,
    and moodle-worksheet for the grading worksheet of an assignment.
    """


@grades.command("show")
@FOLDER_ARGUMENT
@FINAL_OPTION
@DEADLINE_OPTION
@option("--release", metavar="NAME", help="Print this stored release.")
@option("--owner", "login", metavar="LOGIN", help="Show the grade of one user, baseline by baseline.")
@FORMAT_OPTION
@ACTOR_OPTION
@json_option(grading.Grades, grading.Grade)
def show(
    *,
    folder: Path,
    final: str | None,
    deadline: str | None,
    release: str | None,
    login: str | None,
    form: str,
    actor: str,
    as_json: bool,
) -> None:
    """Print grades as CSV, with the measured values, lateness and reasons."""
    if sum(name is not None for name in (final, deadline, release)) > 1:
        usage_error("--final, --deadline and --release can't be combined.\nGive one of them.")
    with open_ladder_or_exit(folder) as ladder:
        if release is None:
            page = grading.get_grades(ladder, actor, final, deadline)
        else:
            with ladder.database.read() as connection:
                page = grading.get_published_grades(connection, release).grades
    if login is None:
        _print_grades(folder, page, form, as_json)
    else:
        _print_grade_of_user(folder, page, login, is_released=release is not None, as_json=as_json)


def _print_grade_of_user(folder: Path, page: grading.Grades, login: str, *, is_released: bool, as_json: bool) -> None:
    """Print a user's grade, and until when it is open; of a release, an open grade is blank.

    Exits with 2 for a user without a grade.
    """
    grade = next((grade for grade in page.grades if grade.user.login == login), None)
    if grade is None:
        advice = f"List its users: arena ladder users list {quote_path(folder)}"
        usage_error(f'the ladder has no user "{login}" with a grade.\n{advice}')
    is_open = grade.open_until is not None
    if is_open:
        print_note(grading.describe_open_grades(replace(page, grades=(grade,))))
    if as_json:
        print_json(grade)
    elif not (is_released and is_open):
        _print_grade(page, grade)


@grades.command("release")
@FOLDER_ARGUMENT
@NAME_ARGUMENT
@FINAL_OPTION
@option("--deadline", metavar="NAME", help="Use the versions that count at this deadline.")
@option("--reason", metavar="TEXT", help="Reason for a regrade. All users see it.")
@option("--incomplete", is_flag=True, help="Release without grades for users who may still submit.")
@option("--dry-run", is_flag=True, help="Release nothing: print what would be released, and which grades change.")
@FORMAT_OPTION
@ACTOR_OPTION
@json_option(grading.Grades)
def release(
    *,
    folder: Path,
    name: str,
    final: str | None,
    deadline: str | None,
    reason: str | None,
    incomplete: bool,
    dry_run: bool,
    form: str,
    actor: str,
    as_json: bool,
) -> None:
    """Release grades to the users, and print a summary, or the file of another --format than plain.

    The grades are those of a --final or a --deadline. A release is stored together with its inputs, and never changes.
    While users may still submit, by an extension or late days, --incomplete is needed; their grades are blank then.
    """
    with open_ladder_or_exit(folder) as ladder:
        if dry_run:
            result, _ = grading.preview_release(ladder, name, actor, reason, final, deadline)
            print_note("nothing is released")
        else:
            result = grading.release_grades(
                ladder, name, actor, reason, final=final, deadline=deadline, incomplete=incomplete
            )
            command = f"arena ladder grades show {quote_path(folder)} --release {name}"
            print_note(f'released "{name}"; print it again: {command}')
    if result.changes is not None:
        _print_changes(result.changes)
    if as_json or form != "plain":
        _print_grades(folder, result.grades, form, as_json)
    else:
        _print_grade_summary(result.grades)


def _print_grade_summary(result: grading.Grades) -> None:
    """Print the number, mean and median of released grades, and which may still change."""
    statistics = result.statistics
    count = format_count(statistics.total if statistics else 0, "grade")
    print_parts(f"{count}, at most {result.max_points:g} points each")
    if statistics:
        zeros = sum(grade.graded_points == 0 for grade in result.grades)
        print_parts(f"mean {statistics.mean:.1f}, median {statistics.median:g}, {zeros} without points")
    open_grades = grading.describe_open_grades(result)
    if open_grades:
        print_parts(open_grades)


@grades.command("diff")
@FOLDER_ARGUMENT
@NAME_ARGUMENT
@click.argument("since", metavar="[BEFORE]", required=False)
@json_option(grading.GradeChanges)
def diff(folder: Path, name: str, since: str | None, as_json: bool) -> None:
    """Print the changes since an earlier release, by default the previous one."""
    with open_ladder_or_exit(folder) as ladder, ladder.database.read() as connection:
        changes = grading.get_published_grades(connection, name, since=since).changes
    if changes is None:
        usage_error(
            f'"{name}" is the first release.\n'
            f"Name another one to compare with: arena ladder grades diff {quote_path(folder)} {name} BEFORE"
        )
    if as_json:
        print_json(changes)
    else:
        _print_changes(changes, print_parts)


@grades.command("verify")
@FOLDER_ARGUMENT
@NAME_ARGUMENT
@json_option(grading.ReproducedRelease)
def verify(folder: Path, name: str, as_json: bool) -> None:
    """Recompute a release from its stored inputs. Exit code 1 if the grades differ."""
    with open_ladder_or_exit(folder) as ladder:
        result = grading.reproduce_release(ladder, name)
    text = f'recomputed "{name}": the grades {"are identical" if result.same else "differ"}'
    print_result(result, as_json, text, *map(escape_control, result.differences))
    sys.exit(0 if result.same else 1)


def _print_grades(folder: Path, current: grading.Grades, form: str, as_json: bool) -> None:
    """Print all users' grades in a format of `gradebook`, after notes about what may still change."""
    for version_ref in current.unchecked:
        print_note(f"{version_ref} isn't checked yet; check it: arena ladder run {quote_path(folder)} --until idle")
    if as_json:
        print_json(current)
        return
    if not current.isolated:
        print_note(TRUSTED)
    for sentence in (grading.describe_open_grades(current), *grading.describe_missing_ids(current, form)):
        if sentence:
            print_note(sentence)
    print_text(grading.format_gradebook(current, form))


def _print_changes(changes: grading.GradeChanges, say: Callable[[str], None] = print_note) -> None:
    """Print why and how grades have changed, with a line for each user, by calls of `say`."""
    say(f'since "{changes.before}": {"; ".join(changes.reasons) or "no change that affects all users"}')
    for row in changes.items:
        points = f"{_format_points(row.before)} -> {_format_points(row.after)} points"
        say(f"{escape_control(row.user.login or '')}: {points}: {escape_control('; '.join(row.reasons))}")
    if not changes.items:
        say("no grade changed")


def _format_points(points: float | None) -> str:
    return "no" if points is None else f"{points:g}"


def _print_grade(result: grading.Grades, grade: grading.Grade) -> None:
    """Print one user's grade with a row for each baseline."""
    print_parts(
        f"{escape_control(grade.user.login or '')}, {result.scope}: {grade.points:g} of {result.max_points:g} points"
    )
    if grade.version is None:
        print_parts(grade.reason)
        return
    lateness = f", {grade.late}" if grade.late else ""
    print_parts(f"{escape_control(grade.version)}{lateness}, {format_count(grade.games, 'game')}\n")
    baseline, measured = Column("baseline", min_width=12), Column("measured", min_width=20)
    columns = [baseline, Column("points", number=True), Column(""), measured]
    rows = [
        (
            escape_control(requirement.baseline),
            f"{requirement.points:g}/{requirement.max_points:g}",
            "passed" if requirement.passed else "not passed",
            escape_control(requirement.explanation) + (" - inconclusive" if requirement.inconclusive else ""),
        )
        for requirement in grade.baselines
    ]
    print_parts(make_table(columns, rows))
    print_parts("\nParentheses contain 95 % intervals.")
    if not result.isolated:
        print_parts(TRUSTED)


@click.command()
@FOLDER_ARGUMENT
@click.argument("login", metavar="LOGIN")
@click.argument("deadline", metavar="DEADLINE")
@option("--until", metavar="TIME", help="New end, such as 2026-12-03T12:00, by default in the deadline's time zone.")
@option("--days", type=click.IntRange(1, 366), metavar="N", help="New end: N days after the deadline.")
@option("--late-days", type=click.IntRange(0, 366), metavar="N", default=0, help="Spend N of the user's late days.")
@option("--undo", is_flag=True, help="Withdraw the extension.")
@audited("the user")
@json_option(ActionResult)
def extend(
    *,
    folder: Path,
    login: str,
    deadline: str,
    until: str | None,
    days: int | None,
    late_days: int,
    undo: bool,
    actor: str,
    reason: str,
    as_json: bool,
) -> None:
    """Extend a deadline for one user.

    The user sees the new end and the reason, also with the grade. A second extension replaces the first.
    """
    if undo and (until is not None or days is not None or late_days):
        usage_error("--undo withdraws the whole extension.\nLeave out --until, --days and --late-days.")
    with open_ladder_or_exit(folder) as ladder:
        if undo:
            is_changed = withdraw_extension(ladder, login, deadline, actor, reason)
        else:
            is_changed = extend_deadline(
                ladder, login, name=deadline, until=until, days=days, late_days=late_days, actor=actor, reason=reason
            )
    print_decision(is_changed, f"{login} has {'no' if undo else 'an'} extension for {deadline}", as_json)
