"""The command `arena ladder final`: frozen versions play for the last word, with deals that anyone can verify."""

import os
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
    final_proof,
    hold_again,
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
@click.option("--deadline", metavar="DEADLINE", help="Hold it with the versions that stand at a deadline.  [now]")
@click.option("--again", is_flag=True, help="Hold one that has ended anew, as NAME-2: with its key, so the same deals.")
@click.option("--replay", "replayed", is_flag=True, help="Play its matches again that were given up, the same deals.")
@click.option("--as-is", is_flag=True, help="Reveal it although matches were given up.")
@click.option("--export", type=click.Path(path_type=Path), help="Write a file for arena verify, with key and records.")
@click.option("--names", is_flag=True, help="Owners' logins in place of their pseudonyms: for the teacher.")
@BY
@answers(views.FinalState, views.FinalList)
def final(
    folder: Path,
    name: str | None,
    games: int | None,
    deadline: str | None,
    again: bool,
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
            if games is not None or deadline is not None or again or export is not None:
                refuse("a final needs a NAME: arena ladder final LADDER NAME --games N")
            _list(ladder, viewer, as_json)
        elif games is not None or deadline is not None or again:
            if export is not None:
                refuse("--export is for a final that has ended; leave it away")
            if again and (games is not None or deadline is not None):
                refuse("--again takes games and versions from the final; leave --games and --deadline away")
            _hold(ladder, name, deadline, games, again, who, as_json)
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


def _hold(
    ladder: Ladder, name: str, deadline: str | None, games: int | None, again: bool, who: str, as_json: bool
) -> None:
    state = hold_again(ladder, name, who) if again else hold_final(ladder, name, deadline, games or FINAL_GAMES, who)
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
        for other in state.repeats:
            same = "all" if not other.otherwise else f"{other.games - other.otherwise} of"
            show(f"The same deals as in {other.name}: {same} {other.games} games ended the same.")
        show(f"The key: {state.key}\nIts SHA-256, as published: {state.commitment}")
        if not state.isolated:
            show(TRUSTED)
        note(f"for whoever wants to verify: arena ladder final {ladder.path} {name} --export FILE; arena verify FILE")


def _export(ladder: Ladder, name: str, export: Path, who: str, as_is: bool) -> None:
    """Reveal the key, and write the proof: first beside its place, then renamed, so a file of that name is whole."""
    reveal(ladder, name, who, as_is=as_is)
    beside = export.with_name(f".{export.name}.{os.getpid()}")
    try:
        with beside.open("w", encoding="utf-8") as file:
            file.writelines(final_proof(ladder, name))
        beside.replace(export)
    except OSError as problem:
        refuse(f"{reason(problem)}; name another file")
    finally:
        beside.unlink(missing_ok=True)
    note(f"{export}: versions, key and records of the final {name}; verify: arena verify {export}")
