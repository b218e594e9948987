"""Finals: frozen versions play a plan of matches whose deals come from a key that is published, hashed, beforehand.

    made        the versions are chosen, the key is drawn, its SHA-256 is published, all matches are queued
    played      by whoever runs the ladder, also while it is frozen
    revealed    once all matches have ended: the table is shown, and the key, so that anyone can verify the deals

The key decides who sits at which table, in which seats, and every card.
"""

import json
import os
import re
import shutil
from collections import Counter
from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path

from sqlalchemy import Connection

from arena.bots import shown
from arena.referee import read
from arena.run import FinalPlan, game_results
from ladder.access import STAFF, Viewer
from ladder.service.export import new_folder
from ladder.service.ladder import Ladder
from ladder.service.measurement import Measures, measure
from ladder.service.settings import LadderError
from ladder.service.snapshot import demand_examined, snapshot, who_has_time
from ladder.store import record_name
from ladder.store.database import (
    FINAL,
    Act,
    Final,
    Version,
    all_finals,
    find_final,
    find_version,
    get_record,
    matches_of_final,
    note_act,
    put_final,
    put_matches,
    replay_given_up,
    reveal_final,
)
from ladder.views import FinalState, Reader, state_of, table_for

NAME = re.compile("[A-Za-z0-9_-]{1,40}")
FINAL_GAMES = 240  # of a version, if nobody says: a share's interval is then about 6 points to each side


def hold_final(ladder: Ladder, name: str, deadline: str | None, games: int, who: str) -> FinalState:
    """Make a final of the versions that play now, or of a deadline's, and queue its matches.

    Each version plays at least `games` games. The key's SHA-256 is in the ladder's folder before a match is queued.
    Who has more time plays with what has come by now; the act says who it is. Raises LadderError.
    """
    if not NAME.fullmatch(name):
        raise LadderError(f'a final can\'t be called "{shown(name)}".\nTake letters, digits, "-" and "_".')
    settings = ladder.settings
    due = None if deadline is None else settings.deadline(deadline)
    now = ladder.clock()
    with ladder.database.read() as connection:
        _demand_new(connection, name, ladder.path)
        demand_examined(connection, settings, due, now, ladder.path)
        versions = snapshot(connection, settings, due)
        open_to = who_has_time(connection, settings, due, now)
    final = Final(
        name=name,
        key=os.urandom(32),
        versions=tuple(version.id for version in versions),
        games=games,
        due=None if due is None else due.at.timestamp(),
        closes=now if due is None else due.closes,
        revealed=False,
        at=now,
        owners=tuple(owners_of(versions)),
    )
    why = f"a final of {len(versions)} versions, {games} games each"
    return _queue(ladder, final, versions, who, f"{why}; more time has {open_to}" if open_to else why)


def see_final(ladder: Ladder, name: str, viewer: Viewer = STAFF) -> FinalState:
    """Return a final as a viewer may see it: with its table, once it is revealed. Raises LadderError for none."""
    with ladder.reading(viewer) as reader:
        _demand(reader.connection, name)
        state = read_final(ladder, reader, name)
    assert state is not None, "_demand found it"
    return state


def read_final(ladder: Ladder, reader: Reader, name: str) -> FinalState | None:
    """Return a final as `see_final` does, None if there is none."""
    final = find_final(reader.connection, name)
    if final is None:
        return None
    state = replace(state_of(reader.connection, final), isolated=reader.isolated, change=reader.change)
    if not final.revealed:
        return state
    measured = measure(ladder, reader.connection, _versions(reader.connection, final), final.id)
    return replace(state, table=table_for(reader, measured.table))


def replay(ladder: Ladder, name: str, who: str) -> FinalState:
    """Let the matches of a final be played again that were given up, with the same deals. Raises LadderError."""

    def act(connection: Connection) -> FinalState:
        final = _demand(connection, name)
        if final.revealed:
            raise LadderError(f"the key of the final {name} is public: its deals are known.\nHold another final.")
        if count := replay_given_up(connection, final.id):
            why = f"{name}: what was given up plays again, {count} of its matches"
            note_act(connection, Act(who, "final", why, ladder.clock()))
        return state_of(connection, final)

    return ladder.database.write(act)


def reveal(ladder: Ladder, name: str, who: str, viewer: Viewer = STAFF, as_is: bool = False) -> tuple[Final, Measures]:
    """Return a final that has ended, measured; its key is public from now on. Raises LadderError before.

    `as_is`: also where matches were given up.
    """

    def act(connection: Connection) -> Final:
        final = _demand_ended(connection, name, ladder.path)
        if not final.revealed:
            if not viewer.may("hold a final"):
                raise LadderError(f"the final {name} isn't revealed yet.")
            lost = state_of(connection, final).lost
            if lost and not as_is:
                raise LadderError(
                    f"{len(lost)} of the matches of the final {name} were given up, such as {lost[0][0]}.\n"
                    f"Play them again: arena ladder final {ladder.path} {name} --replay; or reveal it so: --as-is"
                )
            note_act(connection, Act(who, "reveal", f"the final {name} has ended", ladder.clock()))
            reveal_final(connection, final.id)
        return replace(final, revealed=True)

    final = ladder.database.write(act)
    with ladder.database.read() as connection:
        return final, measure(ladder, connection, _versions(connection, final), final.id)


def export_final(ladder: Ladder, name: str, folder: Path) -> int:
    """Write a revealed final into a new folder that `arena verify` reads; return the number of records.

    records/ has a record for each place of the plan that was played, published.txt what was published before the final,
    final.json its key and plan. Raises LadderError, OSError.
    """
    with ladder.database.read() as connection:
        final = _demand(connection, name)
        if not final.revealed:
            raise LadderError(f"the final {name} isn't revealed yet.")
        matches = matches_of_final(connection, final.id)
        planned = _plan_of(ladder, final, _versions(connection, final), [match.id for match in matches])
    new_folder(folder, "--export DIR")
    records = folder / "records"
    records.mkdir()
    count = 0
    with (
        ladder.database.read() as connection,
        (folder / "results.jsonl").open("x", encoding="utf-8") as results,
    ):
        for match in matches:
            text = get_record(connection, match.id)
            if text is not None:
                (records / record_name(match.place)).write_text(text, encoding="utf-8")
                results.writelines(result.to_line() for result in game_results(read(text)))
                count += 1
    (folder / "final.json").write_text(json.dumps(planned.to_json() | {"ended": count}, indent=2) + "\n", "utf-8")
    shutil.copyfile(commitment_file(ladder, name), folder / "published.txt")
    return count


def owners_of(versions: Sequence[Version]) -> list[int]:
    """Return a number for each version, the same for those that may not meet: of one owner, or of one team now.

    Reference bots may meet one another.
    """
    whose = [("bot", version.bot) if version.reference else ("owner", version.party) for version in versions]
    numbers = {who: number for number, who in enumerate(dict.fromkeys(whose))}
    return [numbers[who] for who in whose]


def commitment_file(ladder: Ladder, name: str) -> Path:
    """Return the file in which a final's commitment is published."""
    return ladder.path / f"final-{name}.txt"


# --- steps ------------------------------------------------------------------------------------------------------------


def _queue(ladder: Ladder, final: Final, versions: Sequence[Version], who: str, why: str) -> FinalState:
    planned = _plan_of(ladder, final, versions)
    try:
        tables = [table.bots for table in planned.plan().tables]
    except ValueError as problem:
        [(most, _)] = Counter(final.owners).most_common(1)
        theirs = ", ".join(
            version.label for version, owner in zip(versions, final.owners, strict=True) if owner == most
        )
        raise LadderError(
            f"these {len(versions)} versions can't play a final: {problem}.\n"
            f"See who plays: arena ladder standings. Of one owner or team are {shown(theirs)}."
        ) from None
    path = commitment_file(ladder, final.name)
    try:
        with path.open("x", encoding="utf-8") as file:
            file.write(planned.publication())
    except FileExistsError:
        with ladder.database.read() as connection:
            _demand_new(connection, final.name, ladder.path)
        raise LadderError(f"{path} is there, of a final that was not made.\nRemove it, or take another name.") from None
    except OSError as problem:
        raise LadderError(f"{path} can't be written: {problem.strerror}.") from None

    def act(connection: Connection) -> FinalState:
        made = find_final(connection, final.name)
        if made is not None and (made.key, made.at) != (final.key, final.at):  # not ours, whose answer was lost
            _demand_new(connection, final.name, ladder.path)
        if made is None:
            made = put_final(connection, final)
            queued = [[final.versions[bot] for bot in table] for table in tables]
            put_matches(connection, FINAL, queued, final.at, final=made.id)
            note_act(connection, Act(who, "final", f"{final.name}: {why}", final.at))
        return state_of(connection, made)

    return ladder.database.write(act)


def _plan_of(ladder: Ladder, final: Final, versions: Sequence[Version], matches: Sequence[int] = ()) -> FinalPlan:
    """Return what a final is made of; matches: the ladder's numbers of them, once they are queued."""
    play = ladder.play
    entrants = zip(versions, final.owners, strict=True)
    return FinalPlan(
        name=final.name,
        key=final.key,
        versions=tuple((version.label, version.digest, owner) for version, owner in entrants),
        seats=play.seats,
        games=final.games,
        match_games=play.match_games,
        terms=play.terms,
        matches=tuple(matches),
    )


def _demand(connection: Connection, name: str) -> Final:
    final = find_final(connection, name)
    if final is None:
        names = ", ".join(each.name for each in all_finals(connection)) or "none"
        raise LadderError(f'there is no final "{shown(name)}".\nThere are: {names}. Hold one: --games N')
    return final


def _demand_new(connection: Connection, name: str, folder: Path) -> None:
    if find_final(connection, name) is not None:
        raise LadderError(f'there is a final "{name}" already.\nSee it: arena ladder final {folder} {name}')


def _demand_ended(connection: Connection, name: str, folder: Path) -> Final:
    final = _demand(connection, name)
    state = state_of(connection, final)
    if state.missing:
        raise LadderError(
            f"{state.missing} of {state.matches} matches of the final {name} are missing.\n"
            f"Play them: arena ladder run {folder}"
        )
    return final


def _versions(connection: Connection, final: Final) -> list[Version]:
    return [find_version(connection, version) for version in final.versions]
