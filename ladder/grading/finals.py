"""Hold finals with verifiable deals.

    made        versions are chosen, the key is drawn, its SHA-256 is published, all matches are queued
    played      by the ladder's runners, also while it is frozen
    revealed    once all matches have ended: the standings are shown, and the key, so that anyone can verify the deals

The key decides tables, seats and every card, also of the extra matches that break a tie.
"""

import json
import os
import re
import shutil
from collections import Counter
from collections.abc import Collection, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from itertools import accumulate
from pathlib import Path
from statistics import mode

from sqlalchemy import Connection

from arena.escaping import escape_control, quote_path
from arena.formatting import format_count
from arena.referee import game_results, read_record
from arena.run import FinalPlan, record_file_name
from ladder import deadlines, store
from ladder.exports import make_empty_folder
from ladder.grading.final_states import (
    DECIDING,
    FinalList,
    FinalState,
    list_finals,
    list_suspended,
    name_owner,
    summarize_final,
)
from ladder.ladder import Ladder, transaction
from ladder.permissions import STAFF_VIEWER, Viewer
from ladder.settings import Deadline, LadderError, LadderSettings
from ladder.standings import Evaluation, evaluate_versions, standings_for_reader
from ladder.standings.computation import Standings, StandingsRow
from ladder.view_context import ViewContext

FINAL_GAMES = 240  # of a version by default: a share's interval is then about 6 points to each side
EXTRA_ROUNDS = 3  # by default; each plays as many games of a version as the final
PODIUM_PLACES = 3


def create_final(
    ladder: Ladder,
    name: str,
    deadline: str | None,
    *,
    games: int,
    actor: str,
    is_open: bool = False,
    extra_rounds: int = 0,
) -> FinalState:
    """Create a final of the active versions, or of those that count at a deadline, and queue its matches.

    games: the minimum number of games of each version. actor: the login for the audit log. is_open: results are public
    while it is played. extra_rounds: the maximum number of rounds that `extend_finals` adds. Users whose deadline is
    still open, and versions that `_leave_out_surplus` leaves out, are listed in the audit log. Raises LadderError if
    the name is taken or invalid, the deadline doesn't exist or isn't over, checks aren't finished, the versions fill no
    table, or the commitment can't be written.
    """
    require_valid_name(name, "final")
    settings = ladder.settings
    due = None if deadline is None else settings.deadline(deadline)
    now = ladder.clock()
    with ladder.database.read() as connection:
        _require_new_final(connection, name)
        deadlines.require_checks_finished(connection, settings, due, now, ladder.path)
        entitled = deadlines.deadline_versions(connection, settings, due)
        extended_users = deadlines.describe_extended_users(connection, settings, due, now)
    versions, left_out = _leave_out_surplus(ladder, entitled, games, due, now)
    final = replace(_draft_final(name, versions, games, due, now), is_open=is_open, max_extra_rounds=extra_rounds)
    reasons = [f"a final of {format_count(len(versions), 'version')}, {format_count(games, 'game')} each"]
    if left_out:
        reasons.append(_describe_left_out(left_out))
    if extended_users:
        reasons.append(f"extended for {extended_users}")
    return _queue_final(ladder, final, versions, actor, "; ".join(reasons))


def require_valid_name(name: str, noun: str) -> None:
    """Raise LadderError unless a final or a release may have a name. noun: which of both, for the message."""
    if not re.fullmatch("[A-Za-z0-9_-]{1,40}", name):
        raise LadderError(
            f'"{escape_control(name)}" isn\'t a valid name for a {noun}.\nUse 1 to 40 letters, digits, "-" and "_".'
        )


_EXTENDED = "Create it after that time; or grade these users at the deadline, and the others in the final."


@dataclass(frozen=True, slots=True)
class FinalPreview:
    """A final as it would be created now. deadline: its name, "" for the active versions. versions: their refs.

    matches: their number. duration_s: at the pace of the last matches, None before any. problem: why the final can't
    be created yet, None if it can. warnings: sentences.
    """

    deadline: str
    games: int
    versions: tuple[str, ...]
    matches: int
    duration_s: float | None
    problem: str | None
    warnings: tuple[str, ...]


def preview_final(ladder: Ladder, deadline: str | None, games: int) -> FinalPreview:
    """Return what `create_final` would do now. Raises LadderError if the deadline doesn't exist.

    deadline: its name, "" for the active versions; None for the last one that is over and has no final, else the next.
    """
    settings, now = ladder.settings, ladder.clock()
    with ladder.database.read() as connection:
        name = _propose_deadline(connection, settings, now) if deadline is None else deadline
        due = settings.deadline(name) if name else None
        entitled = deadlines.deadline_versions(connection, settings, due)
        extended_users = deadlines.describe_extended_users(connection, settings, due, now)
        check_problem = deadlines.find_check_problem(connection, settings, due, now, ladder.path)
        interval_s = store.find_match_interval(connection)
    versions, left_out = _leave_out_surplus(ladder, entitled, games, due, now)
    matches, table_problem = _count_matches(ladder, _draft_final("preview", versions, games, due, now), versions)
    warnings = [f"The final doesn't wait for extensions: {extended_users}. {_EXTENDED}"] if extended_users else []
    warnings += _warn_of_late_submissions(settings, due, now)
    if left_out:
        warnings.append(f"Bots of one owner or team never meet: {_describe_left_out(left_out)}.")
    warnings += _warn_of_baselines(settings, {version.name for version in versions}, games)
    return FinalPreview(
        deadline=name,
        games=games,
        versions=tuple(version.version_ref for version in versions),
        matches=matches,
        duration_s=None if interval_s is None else interval_s * matches,
        problem=check_problem or table_problem,
        warnings=tuple(warnings),
    )


def _count_matches(ladder: Ladder, final: store.Final, versions: Sequence[store.Version]) -> tuple[int, str | None]:
    """Return the number of matches that a final would have, and None; or 0, and why its versions can't play."""
    try:
        return len(_plan_tables(ladder, final, versions)[1]), None
    except LadderError as error:
        return 0, str(error)


def _propose_deadline(connection: Connection, settings: LadderSettings, now: float) -> str:
    """Return the name of the last deadline that is over and has no final, else of the next one; "" without one."""
    used_times = {final.deadline_at for final in store.all_finals(connection)}
    unused = [deadline for deadline in settings.deadlines if deadline.at.timestamp() not in used_times]
    nearest = min(unused, key=lambda deadline: (deadline.closes >= now, abs(deadline.closes - now)), default=None)
    return "" if nearest is None else nearest.name


def _warn_of_late_submissions(settings: LadderSettings, due: Deadline | None, now: float) -> list[str]:
    """Return a warning while late versions of a deadline, which is over, may still come."""
    if due is None:
        return []
    late_end = deadlines.effective_deadline(settings, due).last
    if not due.closes <= now < late_end:
        return []
    end = deadlines.format_end(late_end)
    return [f"The final doesn't wait for late submissions, which users without a version may make {end}."]


def _warn_of_baselines(settings: LadderSettings, bots: Collection[str], games: int) -> list[str]:
    """Return a warning for each baseline that the final of these bots, with `games` of each, can't or may not meet."""
    warnings = []
    for baseline in settings.baselines:
        if baseline.beats is not None and baseline.beats not in bots:
            warnings.append(
                f"The baseline \"{baseline.name}\" can't be met: {baseline.beats} doesn't play in this final."
            )
        if baseline.min_games is not None and baseline.min_games > games:
            needed = format_count(baseline.min_games, "game")
            warnings.append(f'The baseline "{baseline.name}" may not be met: it needs {needed}.')
    return warnings


def get_final_state(ladder: Ladder, name: str, viewer: Viewer = STAFF_VIEWER) -> FinalState:
    """Return a final for a viewer, with its standings once it is revealed. Raises LadderError for an unknown name."""
    with ladder.reading(viewer) as context:
        return _view_final(ladder, context, _get_final(context.connection, name))


def find_final_state(ladder: Ladder, context: ViewContext, name: str) -> FinalState | None:
    """Return a final for a viewer, None if it doesn't exist; with standings if all viewers may see them."""
    final = store.find_final(context.connection, name)
    return None if final is None else _view_final(ladder, context, final)


def _view_final(ladder: Ladder, context: ViewContext, final: store.Final) -> FinalState:
    """Return a final for a viewer: with standings if all viewers may see them, with the podium if it is revealed."""
    progress = _add_due_round(ladder, context.connection, summarize_final(context.connection, final, context.viewer))
    state = replace(progress, isolated=context.isolated, revision=context.revision)
    if not final.shows_results:
        return state
    evaluation = _evaluate_final(ladder, context.connection, final)
    standings = standings_for_reader(context, _rank_participants(evaluation.standings))
    ranked_state = replace(state, standings=standings)
    return _add_podium(context, final, ranked_state, standings) if final.revealed else ranked_state


def _add_podium(context: ViewContext, final: store.Final, state: FinalState, standings: Standings) -> FinalState:
    """Return a revealed final's state with its podium, and the matches that decided between the best two."""
    podium = _list_podium(context.connection, standings)
    ids = [row.version for row, _ in podium]
    decisive_matches = store.list_decisive_matches(context.connection, final.id, *ids[:2]) if len(ids) > 1 else ()
    return replace(
        state,
        podium=tuple(row for row, _ in podium),
        podium_owners=tuple(name_owner(version, context.viewer) for _, version in podium),
        decisive_matches=tuple(decisive_matches),
    )


def list_final_states(
    ladder: Ladder, context: ViewContext, after: str | None = None, limit: int | None = None
) -> FinalList:
    """Return up to `limit` finals after the one named `after`, without their standings."""
    page = list_finals(context, after, limit)
    return replace(page, items=tuple(_add_due_round(ladder, context.connection, state) for state in page.items))


def _add_due_round(ladder: Ladder, connection: Connection, state: FinalState) -> FinalState:
    """Return the state of a final, which isn't complete while a round that decides a tie is due but not queued."""
    final = store.find_final(connection, state.name) if state.state == "complete" else None
    is_due = final is not None and _plan_extra_round(ladder, connection, final)[1]
    return replace(state, state=DECIDING) if is_due else state


def _evaluate_final(ladder: Ladder, connection: Connection, final: store.Final) -> Evaluation:
    """Return a final's results, from the ladder's cache while it is valid, since pages ask often.

    After the last match it is valid for the same rated matches, before that until a hundredth more of them are rated.
    """
    matches = store.list_final_matches(connection, final.id)
    rated_ids = [match.id for match in matches if match.is_rated]
    has_ended = all(match.outcome is not None for match in matches)
    basis: object = rated_ids if has_ended else len(rated_ids) // max(1, len(matches) // 100)
    return ladder.results.get_or_compute(
        ("final", final.id),
        basis,
        lambda: evaluate_versions(ladder, connection, _list_versions(connection, final), final.id),
    )


def _rank_participants(standings: Standings) -> Standings:
    """Return a final's standings in order: rating, adjusted win rate, time of submission; reference bots last."""

    def order(row: StandingsRow) -> tuple[object, ...]:
        adjusted = round(row.win_rate_adjusted.value, 6) if row.win_rate_adjusted else 0.0
        return row.is_reference, not row.games, -round(row.rating.value, 6), -adjusted, row.submitted_at

    rows = sorted(standings.items, key=order)
    return replace(standings, items=tuple(replace(row, position=number) for number, row in enumerate(rows, 1)))


def _list_podium(connection: Connection, standings: Standings) -> list[tuple[StandingsRow, store.Version]]:
    """Return the best three participants of a final's standings, the best first, without bots of suspended users."""
    suspended = list_suspended(connection)
    podium: list[tuple[StandingsRow, store.Version]] = []
    participants = (row for row in _rank_participants(standings).items if row.games and not row.is_reference)
    for row in participants:
        version = store.get_version_by_id(connection, row.version)
        if version.owner_id not in suspended:
            podium.append((row, version))
        if len(podium) == PODIUM_PLACES:
            break
    return podium


@transaction
def extend_finals(connection: Connection, ladder: Ladder) -> None:
    """Queue and log a round of extra matches for each final that has ended in a tie: several rank ranges begin at 1.

    The tied versions play, with the next ones of the standings if they don't fill tables of different owners. A final
    with abandoned matches isn't extended.
    """
    for final in store.all_finals(connection):
        extended, tables = _plan_extra_round(ladder, connection, final)
        if tables:
            store.save_extra_rounds(connection, extended)
            store.queue_matches(connection, store.FINAL, tables, ladder.clock(), final=final.id)
            matches, versions = format_count(len(tables), "extra match", "es"), len(extended.extra_rounds[-1])
            reason = f"{final.name}: {matches} of {versions} versions, to break a tie"
            store.log_action(connection, store.AuditEntry(store.LADDER_ACTOR, "final", reason, ladder.clock()))


def _plan_extra_round(
    ladder: Ladder, connection: Connection, final: store.Final
) -> tuple[store.Final, list[list[int]]]:
    """Return the final with the extra round that is due, and the ids of the versions at each table of the round.

    If none is due, or the versions can't fill a table, return the final as it is, and no tables.
    """
    matches = store.list_final_matches(connection, final.id)
    can_extend = not final.revealed and len(final.extra_rounds) < final.max_extra_rounds
    if can_extend and all(match.outcome == store.PLAYED for match in matches):
        versions = _list_versions(connection, final)
        for extended in _list_extensions(final, _evaluate_final(ladder, connection, final).standings):
            tables = _find_tables(ladder, extended, versions)
            if tables is not None:
                return extended, [[final.versions[index] for index in table] for table in tables[len(matches) :]]
    return final, []


def _list_extensions(final: store.Final, standings: Standings) -> Iterator[store.Final]:
    """Yield the final with each possible extra round, if participants are tied for rank 1.

    The tied versions play, at first alone, then with the next one of the standings, then with two, and so on.
    """
    rows = _rank_participants(standings).items
    tied = [row.version for row in rows if row.rank_range[0] == 1 and not row.is_reference]
    if len(tied) < 2:
        return
    others = ([row.version] for row in rows if row.version not in tied)
    for players in accumulate(others, initial=tied):
        indices = tuple(sorted(map(final.versions.index, players)))
        yield replace(final, extra_rounds=(*final.extra_rounds, indices))


@transaction
def retry_final(connection: Connection, ladder: Ladder, name: str, actor: str) -> FinalState:
    """Queue the abandoned matches of a final again, with the same deals.

    Raises LadderError if the final doesn't exist or is revealed.
    """
    final = _get_final(connection, name)
    if final.revealed:
        raise LadderError(f"the key of the final {name} is public, so its deals are known.\nCreate another final.")
    if count := store.requeue_abandoned(connection, final.id):
        reason = f"{name}: queued {format_count(count, 'abandoned match', 'es')} again"
        store.log_action(connection, store.AuditEntry(actor, "final", reason, ladder.clock()))
    return summarize_final(connection, final)


def reveal_final_results(
    ladder: Ladder, name: str, actor: str, viewer: Viewer = STAFF_VIEWER, incomplete: bool = False
) -> tuple[store.Final, Evaluation]:
    """Reveal a final and its key; return the final and its results. First, extra rounds that break ties are queued.

    incomplete: abandoned matches are left out. Raises LadderError before all matches have ended, also extra ones, or if
    the viewer isn't staff and the final isn't revealed.
    """
    extend_finals(ladder)
    with ladder.database.read() as connection:
        final = _get_ended_final(connection, name, ladder.path)
        evaluation = evaluate_versions(ladder, connection, _list_versions(connection, final), final.id)
        podium = _list_podium(connection, evaluation.standings)
    if not (final.revealed or viewer.can("final:create")):
        raise LadderError(f"the final {name} isn't revealed yet.\nAsk the staff.")
    champion = podium[0][0].version if podium else None
    return _reveal(ladder, name, champion, actor, incomplete), evaluation


@transaction
def _reveal(
    connection: Connection, ladder: Ladder, name: str, champion: int | None, actor: str, incomplete: bool
) -> store.Final:
    """Reveal a final, unless it is revealed, and return it. champion: the id of the version that won, None without one.

    Raises LadderError if matches haven't ended or, unless `incomplete`, were abandoned.
    """
    final = _get_ended_final(connection, name, ladder.path)
    if final.revealed:
        return final
    abandoned = summarize_final(connection, final).abandoned
    if abandoned and not incomplete:
        matches = format_count(len(abandoned), "match", "es")
        raise LadderError(
            f"abandoned in the final {name}: {matches}, such as {abandoned[0][0]}.\n"
            f"Play them again: arena ladder final retry {quote_path(ladder.path)} {name}\n"
            f"Or leave them out: arena ladder final reveal {quote_path(ladder.path)} {name} --incomplete"
        )
    store.log_action(connection, store.AuditEntry(actor, "reveal", f"the final {name} has ended", ladder.clock()))
    store.reveal_final(connection, final.id, champion)
    return _get_final(connection, name)


def export_final(ladder: Ladder, name: str, folder: Path) -> int:
    """Write a revealed final into a new folder that `arena verify` reads; return the number of records.

        records/         one record for each played match of the plan
        published.txt    the commitment that was published before the final
        final.json       its key, its plan, and the indices of matches that were abandoned or whose record has expired

    Raises LadderError if the final isn't revealed or the folder isn't empty, OSError if a file can't be written.
    """
    with ladder.database.read() as connection:
        final = _get_final(connection, name)
        if not final.revealed:
            raise LadderError(
                f"the final {name} isn't revealed yet.\n"
                f"Reveal it: arena ladder final reveal {quote_path(ladder.path)} {name}"
            )
        matches = store.list_final_matches(connection, final.id)
        planned = _make_plan(ladder, final, _list_versions(connection, final), [match.id for match in matches])
    make_empty_folder(folder, "--out DIR")
    missing = _write_records(ladder, {match.id: match.plan_index for match in matches}, folder)
    records = len(matches) - len(missing)
    content = planned.to_json() | {"ended": records, "abandoned": missing}
    (folder / "final.json").write_text(json.dumps(content, indent=2) + "\n", "utf-8")
    shutil.copyfile(get_commitment_file(ladder, name), folder / "published.txt")
    return records


def _write_records(ladder: Ladder, plan_indices: Mapping[int, int], folder: Path) -> list[int]:
    """Write the records of a final, and results.jsonl, into a folder; return the plan indices of missing records.

    plan_indices: by match id, in the order of the plan. Raises OSError if a file can't be written.
    """
    records = folder / "records"
    records.mkdir()
    missing = []
    with ladder.database.read() as connection, (folder / "results.jsonl").open("x", encoding="utf-8") as results:
        for match, plan_index in plan_indices.items():
            text = store.find_record(connection, match)
            if text is None:
                missing.append(plan_index)
                continue
            (records / record_file_name(plan_index)).write_text(text, encoding="utf-8")
            results.writelines(result.to_line() for result in game_results(read_record(text)))
    return missing


def number_owners(versions: Sequence[store.Version]) -> list[int]:
    """Return a number for each version; versions of one user or team have the same number and never meet.

    Reference bots have different numbers.
    """
    parties = [("bot", version.bot) if version.is_reference else ("owner", version.party) for version in versions]
    numbers = {party: number for number, party in enumerate(dict.fromkeys(parties))}
    return [numbers[party] for party in parties]


def get_commitment_file(ladder: Ladder, name: str) -> Path:
    """Return the file in which a final's commitment is published."""
    return ladder.path / f"final-{name}.txt"


# --- steps ------------------------------------------------------------------------------------------------------------


def _draft_final(
    name: str, versions: Sequence[store.Version], games: int, due: Deadline | None, now: float
) -> store.Final:
    """Return a new final, which isn't stored. Versions received until the deadline closes, else until now, count."""
    return store.Final(
        name=name,
        key=os.urandom(32),
        versions=tuple(version.id for version in versions),
        games_per_version=games,
        deadline_at=None if due is None else due.at.timestamp(),
        versions_until=now if due is None else due.closes,
        revealed=False,
        created_at=now,
        owner_groups=tuple(number_owners(versions)),
    )


def _leave_out_surplus(
    ladder: Ladder, versions: Sequence[store.Version], games: int, due: Deadline | None, now: float
) -> tuple[list[store.Version], list[store.Version]]:
    """Return the versions that can play a final, and those that are left out, so that no team can prevent it.

    While tables can't be filled with bots of different owners, the owner or team with most bots loses its newest one.
    If that doesn't help, return all versions: `_plan_tables` raises the reason why they can't play.
    """
    playing, left_out = list(versions), list[store.Version]()
    while _find_tables(ladder, _draft_final("draft", playing, games, due, now), playing) is None:
        surplus_index = _find_surplus(playing)
        if surplus_index is None:
            return list(versions), []
        left_out.append(playing.pop(surplus_index))
    return playing, left_out


def _find_tables(ladder: Ladder, final: store.Final, versions: Sequence[store.Version]) -> list[Sequence[int]] | None:
    """Return the indices of the versions at each table of a final; None if too few owners can't fill a table."""
    try:
        return [table.bots for table in _make_plan(ladder, final, versions).plan().tables]
    except ValueError:
        return None


def _find_surplus(versions: Sequence[store.Version]) -> int | None:
    """Return the index of the newest bot of the owner or team with most bots; None if each has at most one."""
    owners = number_owners(versions)
    counts = Counter(owners)
    surplus = (index for index, owner in enumerate(owners) if counts[owner] > 1)
    return max(surplus, key=lambda i: (counts[owners[i]], -owners[i], versions[i].bot), default=None)


def _describe_left_out(versions: Sequence[store.Version]) -> str:
    return f"left out: {', '.join(escape_control(version.version_ref) for version in versions)}"


def _plan_tables(
    ladder: Ladder, final: store.Final, versions: Sequence[store.Version]
) -> tuple[FinalPlan, list[Sequence[int]]]:
    """Return the plan of a final and, for each table, the indices of its versions.

    Raises LadderError without versions, or if no table can be filled without two bots of one owner or team.
    """
    if not versions:
        raise LadderError("no version counts for this final.\nWait for bots, or activate some.")
    planned = _make_plan(ladder, final, versions)
    try:
        return planned, [table.bots for table in planned.plan().tables]
    except ValueError as error:
        largest = mode(final.owner_groups)
        owned = zip(versions, final.owner_groups, strict=True)
        refs = ", ".join(version.version_ref for version, group in owned if group == largest)
        raise LadderError(
            f"{format_count(len(versions), 'version')} can't play a final: {error}.\n"
            f"Bots of one owner or team never meet: {escape_control(refs)}. Disable one, or wait for other bots."
        ) from None


def _queue_final(
    ladder: Ladder, final: store.Final, versions: Sequence[store.Version], actor: str, reason: str
) -> FinalState:
    """Publish a final's commitment as a file, then queue its matches; return its state.

    The file comes first: staff can't have drawn several keys once matches are queued. Raises LadderError if the
    versions fill no table, the name is used, or the file can't be written.
    """
    planned, tables = _plan_tables(ladder, final, versions)
    _publish_commitment(ladder, final.name, planned.publication())
    return ladder.database.write(lambda connection: _store_final(connection, final, tables, actor, reason))


def _publish_commitment(ladder: Ladder, name: str, text: str) -> None:
    """Write a final's commitment into a new file of the ladder's folder. Raises LadderError if that isn't possible."""
    path = get_commitment_file(ladder, name)
    try:
        with path.open("x", encoding="utf-8") as file:
            file.write(text)
    except FileExistsError:
        with ladder.database.read() as connection:
            _require_new_final(connection, name)
        raise LadderError(
            f"{path} exists, but the final wasn't created.\nRemove the file, or use another name."
        ) from None
    except OSError as error:
        raise LadderError(f"{path} can't be written: {error.strerror}.\nMake its folder writable.") from None


def _store_final(
    connection: Connection, final: store.Final, tables: Sequence[Sequence[int]], actor: str, reason: str
) -> FinalState:
    """Store a final and queue its matches, unless an earlier call did whose answer was lost; return its state.

    tables: for each match, indices into the final's versions. Raises LadderError if another final has the name.
    """
    stored = store.find_final(connection, final.name)
    if stored is not None and (stored.key, stored.created_at) == (final.key, final.created_at):
        return summarize_final(connection, stored)
    _require_new_final(connection, final.name)
    inserted = store.insert_final(connection, final)
    queued = [[final.versions[bot] for bot in table] for table in tables]
    store.queue_matches(connection, store.FINAL, queued, final.created_at, final=inserted.id)
    store.log_action(connection, store.AuditEntry(actor, "final", f"{final.name}: {reason}", final.created_at))
    return summarize_final(connection, inserted)


def _make_plan(
    ladder: Ladder, final: store.Final, versions: Sequence[store.Version], matches: Sequence[int] = ()
) -> FinalPlan:
    """Return the plan of a final. versions: in the final's order. matches: their ids, once they are queued."""
    match_format = ladder.play
    owned = zip(versions, final.owner_groups, strict=True)
    return FinalPlan(
        name=final.name,
        key=final.key,
        versions=tuple((version.version_ref, version.digest, owner) for version, owner in owned),
        seats=match_format.seats,
        games=final.games_per_version,
        match_games=match_format.match_games,
        settings=match_format.settings,
        matches=tuple(matches),
        max_extra_rounds=final.max_extra_rounds,
        extra_rounds=final.extra_rounds,
    )


def _get_final(connection: Connection, name: str) -> store.Final:
    """Return a final. Raises LadderError with the names of all finals if it doesn't exist."""
    final = store.find_final(connection, name)
    if final is None:
        names = ", ".join(other.name for other in store.all_finals(connection)) or "none"
        raise LadderError(f'the ladder has no final "{escape_control(name)}".\nIts finals: {names}')
    return final


def _require_new_final(connection: Connection, name: str) -> None:
    if store.find_final(connection, name) is not None:
        raise LadderError(f'the final "{name}" exists already.\nUse another name.')


def _get_ended_final(connection: Connection, name: str, folder: Path) -> store.Final:
    """Return a final whose matches have ended. Raises LadderError before. folder: the ladder's, for the remedy."""
    final = _get_final(connection, name)
    state = summarize_final(connection, final)
    if state.pending:
        raise LadderError(
            f"the final {name} has {format_count(state.pending, 'unfinished match', 'es')} of {state.matches}.\n"
            f"Play them: arena ladder run {quote_path(folder)}"
        )
    return final


def _list_versions(connection: Connection, final: store.Final) -> list[store.Version]:
    return [store.get_version_by_id(connection, version) for version in final.versions]
