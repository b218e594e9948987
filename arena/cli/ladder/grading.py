"""Implement the `arena ladder` commands for finals, grades and deadline extensions.

A final plays frozen versions with deals that anyone can verify. Grades are computed, released, and compared with
earlier releases."""

import sys
from collections.abc import Callable
from pathlib import Path

import click

from arena.bots import escape_control
from arena.cli.console import (
    Column,
    format_count,
    make_table,
    option,
    os_error_reason,
    print_note,
    print_parts,
    print_text,
    usage_error,
)
from arena.cli.json_output import json_option, print_json
from arena.cli.ladder.bots import print_decision
from arena.cli.ladder.common import ACTOR_OPTION, FOLDER_ARGUMENT, audited, open_ladder_or_exit
from arena.cli.ladder.results import TRUSTED, standings_table
from ladder import views
from ladder.formatting import NO_INTERVALS, have_no_intervals
from ladder.permissions import PUBLIC_VIEWER, STAFF_VIEWER, Viewer
from ladder.service import (
    FINAL_GAMES,
    GRADEBOOK_FORMATS,
    ActionResult,
    Ladder,
    ReproducedRelease,
    create_final,
    describe_missing_ids,
    export_final,
    format_gradebook,
    get_commitment_file,
    get_final_state,
    get_published_grades,
    release_grades,
    reproduce_release,
    retry_final,
    reveal_final_results,
    withdraw_extension,
)
from ladder.service import extend_deadline as give
from ladder.service import get_grades as all_grades
from ladder.views import Grade, GradeChanges, Grades, list_finals


@click.command()
@FOLDER_ARGUMENT
@click.argument("name", required=False)
@option("--games", type=click.IntRange(1), metavar="N", help=f"Hold it, with N games or more each.  [{FINAL_GAMES}]")
@option("--deadline", metavar="DEADLINE", help="Hold it with the versions that count at a deadline.  [now]")
@option("--replay", "replayed", is_flag=True, help="Play its matches again that were abandoned, the same deals.")
@option("--incomplete", is_flag=True, help="Reveal it although matches were abandoned.")
@option("--export", type=click.Path(path_type=Path), help="Write key and records into a folder, for arena verify.")
@option("--show-logins", is_flag=True, help="Owners' logins in place of their pseudonyms: for the teacher.")
@ACTOR_OPTION
@json_option(views.FinalState, views.FinalList)
def final(
    folder: Path,
    name: str | None,
    games: int | None,
    deadline: str | None,
    replayed: bool,
    incomplete: bool,
    export: Path | None,
    show_logins: bool,
    actor: str,
    as_json: bool,
) -> None:
    """Hold a final, or see one; without a NAME, list all.

    With --games or --deadline, a new one: its versions are frozen, the SHA-256 of its key is published, and its matches
    are queued, also while the ladder is frozen. The ladder's runner plays them. When all have ended, the table is shown
    and the key is revealed: then anyone can verify the deals.
    """
    with open_ladder_or_exit(folder) as ladder:
        viewer = STAFF_VIEWER if show_logins else PUBLIC_VIEWER
        if name is None:
            if games is not None or deadline is not None or export is not None:
                usage_error("a final needs a NAME: arena ladder final LADDER NAME --games N")
            _list(ladder, viewer, as_json)
        elif games is not None or deadline is not None:
            if export is not None:
                usage_error("--export is for a final that has ended; leave it away")
            _hold(ladder, name, deadline, games, actor, as_json)
        elif export is not None:
            _export(ladder, name, export, actor, incomplete)
        else:
            if replayed:
                retry_final(ladder, name, actor)
            _see(ladder, name, actor, viewer, as_json, incomplete)


def _list(ladder: Ladder, viewer: Viewer, as_json: bool) -> None:
    with ladder.reading(viewer) as reader:
        finals = list_finals(reader)
    if as_json:
        print_json(finals)
        return
    rows = [
        (final.name, str(len(final.versions)), f"{final.played} of {final.matches}", final.commitment)
        for final in finals.rows
    ]
    print_parts(make_table(["final", "versions", "matches played", "SHA-256 of the key"], rows))


def _hold(ladder: Ladder, name: str, deadline: str | None, games: int | None, actor: str, as_json: bool) -> None:
    state = create_final(ladder, name, deadline, games or FINAL_GAMES, actor)
    if as_json:
        print_json(state)
        return
    held = state.name
    versions, matches = format_count(len(state.versions), "version"), format_count(state.matches, "match", "es")
    print_note(f"the final {held}: {versions}, {matches} are queued")
    print_note(f"its key has the SHA-256 {state.commitment}")
    print_note(f"publish that before it is played: {get_commitment_file(ladder, held)} has it, with versions and terms")
    print_note("a runner that serves now begins at once")
    print_note(f"play: arena ladder run {ladder.path}; then: arena ladder final {ladder.path} {held}")


def _see(ladder: Ladder, name: str, actor: str, viewer: Viewer, as_json: bool, incomplete: bool) -> None:
    state = get_final_state(ladder, name, viewer)
    if not state.missing and state.key is None:
        reveal_final_results(ladder, name, actor, incomplete=incomplete)
        state = get_final_state(ladder, name, viewer)
    table = state.table
    if as_json:
        print_json(state)
    elif table is None:
        planned = format_count(state.matches, "match", "es")
        print_note(f"the final {name}: {state.played} of {planned} are played, {state.missing} are missing")
        print_note(f"play them: arena ladder run {ladder.path}")
    else:
        print_parts(standings_table(table))
        games = f"{table.games} games in {format_count(table.matches, 'match', 'es')}"
        print_parts(f"\n{games}; shares in %, fair: {100 * table.fair:.0f}")
        if have_no_intervals(row.adjusted for row in table.rows):
            print_parts(NO_INTERVALS)
        for match, why in state.lost:
            print_parts(f"Match {match} wasn't played: {escape_control(why)}")
        print_parts(f"The key: {state.key}\nIts SHA-256, as published: {state.commitment}")
        if not state.isolated:
            print_parts(TRUSTED)
        print_note(f"to verify it: arena ladder final {ladder.path} {name} --export DIR; arena verify DIR")


def _export(ladder: Ladder, name: str, export: Path, actor: str, incomplete: bool) -> None:
    reveal_final_results(ladder, name, actor, incomplete=incomplete)
    try:
        records = export_final(ladder, name, export)
    except OSError as problem:
        usage_error(f"{os_error_reason(problem)}; name another folder")
    print_note(
        f"{export}: the key and {format_count(records, 'record')} of the final {name}; verify: arena verify {export}"
    )


@click.command()
@FOLDER_ARGUMENT
@option("--final", metavar="NAME", help="Of a final's versions and games.")
@option("--deadline", metavar="NAME", help="Of the versions that count at a deadline, by all rated games.  [now]")
@option("--owner", "login", metavar="LOGIN", help="Show one owner's, baseline by baseline.")
@option("--format", "form", type=click.Choice(GRADEBOOK_FORMATS), default="plain", help="For whom it is.")
@option("--release", "name", metavar="NAME", help="Hand them out under a name, or print what was handed out.")
@option("--reason", metavar="TEXT", help="Why they are handed out again.")
@option("--again", is_flag=True, help="Make what was handed out again, and compare; 1 if it differs.")
@option("--changes", metavar="RELEASE", is_flag=False, flag_value="", help="What changed since.  [the release before]")
@ACTOR_OPTION
@json_option(views.Grades, views.Grade, GradeChanges, ReproducedRelease)
def grades(
    folder: Path,
    final: str | None,
    deadline: str | None,
    login: str | None,
    form: str,
    name: str | None,
    reason: str | None,
    again: bool,
    changes: str | None,
    actor: str,
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
        usage_error("a final has its versions; leave --deadline away")
    if name is None and (again or changes is not None or reason is not None):
        usage_error("--again, --changes and --reason are of what is handed out: name it with --release")
    if again + makes + (changes is not None) > 1 or (reason is not None and not makes):
        usage_error(
            "a release is made with --deadline or --final and --reason, or compared with one of --again and --changes"
        )
    with open_ladder_or_exit(folder) as ladder:
        if again:
            _compare(reproduce_release(ladder, name or ""), as_json)
            return
        if name is None:
            current = all_grades(ladder, actor, final, deadline)
        else:
            result = (
                release_grades(ladder, name, actor, reason, final, deadline)
                if makes
                else _release(ladder, name, changes)
            )
            current = result.told
            if changes is not None:
                _show_changes(result.changes, as_json, print_parts)
                return
            if makes:
                print_note(f'"{name}" is kept; it is the same each time: arena ladder grades {folder} --release {name}')
                if result.changes is not None:
                    _show_changes(result.changes)
    for label in current.waiting:
        print_note(f"{label} waits for its examination: arena ladder run {folder} --until idle")
    if login is not None:
        grade = next((grade for grade in current.grades if grade.owner.login == login), None)
        if grade is None:
            usage_error(f'there is no owner "{login}"; see arena ladder users list {folder}')
        if as_json:
            print_json(grade)
        else:
            _show(current, grade)
    elif as_json:
        print_json(current)
    else:
        if not current.isolated:
            print_note(TRUSTED)
        for sentence in describe_missing_ids(current, form):
            print_note(sentence)
        print_text(format_gradebook(current, form))


def _release(ladder: Ladder, name: str, since: str | None) -> views.PublishedGrades:
    with ladder.database.read() as connection:
        return get_published_grades(connection, name, since=since or None)


def _compare(remade: ReproducedRelease, as_json: bool) -> None:
    """Print whether a reproduced release is the same, and exit."""
    if as_json:
        print_json(remade)
    else:
        print_note(f'"{remade.name}", made again: {"the same to the digit" if remade.same else "it differs"}')
        for line in remade.differences:
            print_note(escape_control(line))
    sys.exit(0 if remade.same else 1)


def _show_changes(changes: GradeChanges | None, as_json: bool = False, say: Callable[[str], None] = print_note) -> None:
    """Print what changed: where grades are printed, too, as notes."""
    if changes is None:
        usage_error("nothing was released before it; name a release: --changes RELEASE")
    if as_json:
        print_json(changes)
        return
    say(f'since "{changes.before}": {"; ".join(changes.words) or "nothing for all"}')
    for row in changes.rows:
        points = f"{_points(row.before)} -> {_points(row.after)} points"
        say(f"{escape_control(row.owner.login or '')}: {points}: {escape_control('; '.join(row.words))}")
    if not changes.rows:
        say("each grade is the same")


def _points(points: float | None) -> str:
    return "no" if points is None else f"{points:g}"


def _show(result: Grades, grade: Grade) -> None:
    print_parts(
        f"{escape_control(grade.owner.login or '')}, {result.of}: {grade.points:g} of {result.possible:g} points"
    )
    if grade.version is None:
        print_parts(grade.reason)
        return
    late = f", {grade.late}" if grade.late else ""
    print_parts(f"{escape_control(grade.version)}{late}, {format_count(grade.games, 'game')}\n")
    columns = [Column("baseline", least=12), Column("points", number=True), Column(""), Column("measured", least=20)]
    rows = [
        (
            escape_control(mark.baseline),
            f"{mark.points:g}/{mark.possible:g}",
            "passed" if mark.passed else "not yet",
            escape_control(mark.words) + (" - in doubt" if mark.doubtful else ""),
        )
        for mark in grade.marks
    ]
    print_parts(make_table(columns, rows))
    print_parts("\nIn parentheses: what holds the truth in 95 % of cases.")
    if not result.isolated:
        print_parts(TRUSTED)


@click.command()
@FOLDER_ARGUMENT
@click.argument("login", metavar="LOGIN")
@click.argument("deadline", metavar="DEADLINE")
@option("--until", metavar="TIME", help="Its end, as 2026-12-03T12:00, in the deadline's zone if it has none.")
@option("--days", type=click.IntRange(1, 366), metavar="N", help="Its end, N days after the deadline.")
@option("--late-days", type=click.IntRange(0, 366), metavar="N", default=0, help="Take them from the person's own.")
@option("--undo", is_flag=True, help="Take it back: the deadline is the class's again.")
@audited
@json_option(ActionResult)
def extend(
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
    """Give a person more time before a deadline. The person sees until when, and why; the grade shows it, too.

    Given again, it replaces what was given before.
    """
    if undo and (until is not None or days is not None or late_days):
        usage_error("--undo takes all of it back; leave --until, --days and --late-days away")
    with open_ladder_or_exit(folder) as ladder:
        if undo:
            new = withdraw_extension(ladder, login, deadline, actor, reason)
        else:
            new = give(ladder, login, deadline, until, days, late_days, actor, reason)
    print_decision(new, f"{login} has {'no more time' if undo else 'more time'} for {deadline}", as_json)
