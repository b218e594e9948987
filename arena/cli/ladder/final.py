"""The command `arena ladder final`: frozen versions play for the last word, with deals that anyone can verify."""

from pathlib import Path

import click

from arena.bots import shown
from arena.cli.answers import answers, print_json
from arena.cli.ladder.opening import BY, FOLDER, ladder_at
from arena.cli.ladder.standings import TRUSTED, standings_table
from arena.cli.out import counted, note, reason, refuse, show, table
from ladder import views
from ladder.access import PUBLIC, STAFF, Viewer
from ladder.cells import NO_INTERVALS, unsure
from ladder.service import (
    FINAL_GAMES,
    Ladder,
    commitment_file,
    export_final,
    hold_final,
    replay,
    reveal,
    see_final,
)
from ladder.views import final_list


@click.command()
@FOLDER
@click.argument("name", required=False)
@click.option(
    "--games", type=click.IntRange(1), metavar="N", help=f"Hold it, with N games or more each.  [{FINAL_GAMES}]"
)
@click.option("--deadline", metavar="DEADLINE", help="Hold it with the versions that count at a deadline.  [now]")
@click.option("--replay", "replayed", is_flag=True, help="Play its matches again that were given up, the same deals.")
@click.option("--as-is", is_flag=True, help="Reveal it although matches were given up.")
@click.option(
    "--export", type=click.Path(path_type=Path), help="Write key and records into a folder, for arena verify."
)
@click.option("--names", is_flag=True, help="Owners' logins in place of their pseudonyms: for the teacher.")
@BY
@answers(views.FinalState, views.FinalList)
def final(
    folder: Path,
    name: str | None,
    games: int | None,
    deadline: str | None,
    replayed: bool,
    as_is: bool,
    export: Path | None,
    names: bool,
    who: str,
    as_json: bool,
) -> None:
    """Hold a final, or see one; without a NAME, list all.

    With --games or --deadline, a new one: its versions are frozen, the SHA-256 of its key is published, and its matches
    are queued, also while the ladder is frozen. The ladder's runner plays them. When all have ended, the table is shown
    and the key is revealed: then anyone can verify the deals.
    """
    with ladder_at(folder) as ladder:
        viewer = STAFF if names else PUBLIC
        if name is None:
            if games is not None or deadline is not None or export is not None:
                refuse("a final needs a NAME: arena ladder final LADDER NAME --games N")
            _list(ladder, viewer, as_json)
        elif games is not None or deadline is not None:
            if export is not None:
                refuse("--export is for a final that has ended; leave it away")
            _hold(ladder, name, deadline, games, who, as_json)
        elif export is not None:
            _export(ladder, name, export, who, as_is)
        else:
            if replayed:
                replay(ladder, name, who)
            _see(ladder, name, who, viewer, as_json, as_is)


def _list(ladder: Ladder, viewer: Viewer, as_json: bool) -> None:
    with ladder.reading(viewer) as reader:
        finals = final_list(reader)
    if as_json:
        print_json(finals)
        return
    rows = [
        (final.name, str(len(final.versions)), f"{final.played} of {final.matches}", final.commitment)
        for final in finals.rows
    ]
    show(table(["final", "versions", "matches played", "SHA-256 of the key"], rows))


def _hold(ladder: Ladder, name: str, deadline: str | None, games: int | None, who: str, as_json: bool) -> None:
    state = hold_final(ladder, name, deadline, games or FINAL_GAMES, who)
    if as_json:
        print_json(state)
        return
    held = state.name
    versions, matches = counted(len(state.versions), "version"), counted(state.matches, "match", "es")
    note(f"the final {held}: {versions}, {matches} are queued")
    note(f"its key has the SHA-256 {state.commitment}")
    note(f"publish that before it is played: {commitment_file(ladder, held)} has it, with versions and terms")
    note("a runner that serves now begins at once")
    note(f"play: arena ladder run {ladder.path}; then: arena ladder final {ladder.path} {held}")


def _see(ladder: Ladder, name: str, who: str, viewer: Viewer, as_json: bool, as_is: bool) -> None:
    state = see_final(ladder, name, viewer)
    if not state.missing and state.key is None:
        reveal(ladder, name, who, as_is=as_is)
        state = see_final(ladder, name, viewer)
    table = state.table
    if as_json:
        print_json(state)
    elif table is None:
        planned = counted(state.matches, "match", "es")
        note(f"the final {name}: {state.played} of {planned} are played, {state.missing} are missing")
        note(f"play them: arena ladder run {ladder.path}")
    else:
        show(standings_table(table))
        games = f"{table.games} games in {counted(table.matches, 'match', 'es')}"
        show(f"\n{games}; shares in %, fair: {100 * table.fair:.0f}")
        if unsure(row.adjusted for row in table.rows):
            show(NO_INTERVALS)
        for match, why in state.lost:
            show(f"Match {match} wasn't played: {shown(why)}")
        show(f"The key: {state.key}\nIts SHA-256, as published: {state.commitment}")
        if not state.isolated:
            show(TRUSTED)
        note(f"to verify it: arena ladder final {ladder.path} {name} --export DIR; arena verify DIR")


def _export(ladder: Ladder, name: str, export: Path, who: str, as_is: bool) -> None:
    reveal(ladder, name, who, as_is=as_is)
    try:
        records = export_final(ladder, name, export)
    except OSError as problem:
        refuse(f"{reason(problem)}; name another folder")
    note(f"{export}: the key and {counted(records, 'record')} of the final {name}; verify: arena verify {export}")
