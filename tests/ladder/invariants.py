"""Invariants of every ladder, whatever was killed: each match ended once, and the counts agree with the records."""

from collections import Counter
from collections.abc import Iterator

from sqlalchemy import Connection, func, select

from arena.referee import MAX_SAMPLES_PER_FAULT, game_results, read_record
from ladder import store
from ladder.ladder import Ladder
from ladder.standings import StandingsUpdater
from ladder.standings.computation import Standings, StandingsRow

ALIKE = 1e-9  # as `arena ladder rerate` allows between updated and new standings

matches, match_players, games = (store.METADATA.tables[name] for name in ("matches", "match_players", "games"))
versions, bots, check_steps, audit_log = (
    store.METADATA.tables[name] for name in ("versions", "bots", "check_steps", "audit_log")
)
failed_attempts, runners, records, fault_samples = (
    store.METADATA.tables[name] for name in ("failed_attempts", "runners", "records", "fault_samples")
)


def require_sound(ladder: Ladder, quiet: bool = True) -> None:
    """Assert all invariants. `quiet`: the last runner stopped gracefully, left no lease, and updated the standings."""
    with ladder.database.read() as connection:
        found = [*problems(connection), *(left_open(connection) if quiet else ())]
        board = store.find_latest_snapshot(connection)
    assert found == [], found
    if not quiet:
        return
    updater = StandingsUpdater(ladder)
    updater.update()
    if board is None:
        assert updater.standings.games == 0
        return
    output = Standings.from_json(board)
    assert (output.games, output.matches) == (updater.standings.games, updater.standings.matches)
    stored_rows, new_rows = (sorted(each.items, key=lambda row: row.version) for each in (output, updater.standings))
    assert [counts(row) for row in stored_rows] == [counts(row) for row in new_rows]
    for row, new in zip(stored_rows, new_rows, strict=True):
        for one, other in zip(estimates(row), estimates(new), strict=True):
            assert abs(one - other) < ALIKE, f"a rebuild says other ratings: {one}, {other}"


def counts(row: StandingsRow) -> tuple[object, ...]:
    return row.version, row.rank_range, row.games, row.matches, row.forfeits, row.faults


def estimates(row: StandingsRow) -> list[float]:
    """Return the estimates of a row, -1 for missing ones."""
    found = [each for each in (row.rating, row.win_rate_adjusted) if each is not None]
    return [-1.0 if value is None else value for each in found for value in (each.value, each.low, each.high)]


def problems(connection: Connection) -> Iterator[str]:
    """Yield the violations that don't depend on whether a runner is at work."""
    yield from _ends(connection)
    yield from _counts(connection)
    yield from _checks(connection)
    kept = select(fault_samples.c.version, fault_samples.c.code).group_by(fault_samples.c.version, fault_samples.c.code)
    for row in connection.execute(kept.having(func.count() > MAX_SAMPLES_PER_FAULT)):
        yield f"too many exchanges are kept: {row}"


def _ends(connection: Connection) -> Iterator[str]:
    failed = Counter(connection.scalars(select(failed_attempts.c.match)))
    last = Counter(connection.scalars(select(failed_attempts.c.match).where(failed_attempts.c.is_last)))
    voided: dict[int, str] = {}
    for what, match in connection.execute(
        select(audit_log.c.action, audit_log.c.match)
        .where(audit_log.c.action.in_(("void", "unvoid")))
        .order_by(audit_log.c.id)
    ):
        voided[match] = what
    ends = []
    for row in connection.execute(select(matches).order_by(matches.c.id)):
        played, abandoned = row.outcome == "played", row.outcome == "abandoned"
        rates = played and row.kind in ("rated", "final") and voided.get(row.id) != "void"
        checks = {
            "its state and its cause disagree": (row.status == "ended") == (row.outcome is not None),
            "it has no known cause": row.outcome in (None, "played", "abandoned", "cancelled"),
            "it has a runner, or lacks one": (row.status == "leased") == (row.runner is not None),
            "it has a number among the played": played == (row.end_sequence is not None),
            "it has too many attempts": row.attempts <= store.MAX_ATTEMPTS
            and row.lost_runners <= store.MAX_LOST_RUNNERS,
            "its attempts aren't its voids": failed[row.id]
            >= row.attempts,  # a final's abandoned match that plays again starts at 0
            "it was abandoned for nothing": abandoned
            == (row.attempts == store.MAX_ATTEMPTS or row.lost_runners == store.MAX_LOST_RUNNERS)
            == bool(last[row.id]),
            "it rates wrongly": row.is_rated == rates,
        }
        yield from (f"match {row.id}: {what}" for what, holds in checks.items() if not holds)
        if played:
            ends.append(row.end_sequence)
    if sorted(ends) != list(range(1, len(ends) + 1)):
        yield f"the ends aren't numbered from 1 to {len(ends)}"


def _counts(connection: Connection) -> Iterator[str]:
    played = set(connection.scalars(select(matches.c.id).where(matches.c.outcome == "played")))
    for what, table in (("games", games), ("records", records)):
        extra = set(connection.scalars(select(table.c.match).distinct())) - played
        if extra:
            yield f"there are {what} of matches that weren't played: {sorted(extra)}"
    seats: dict[int, list[tuple[int, float, int]]] = {}
    for row in connection.execute(select(match_players).order_by(match_players.c.match, match_players.c.slot)):
        seats.setdefault(row.match, []).append((row.games, row.wins, row.forfeits))
        if row.match not in played and (row.games, row.wins, row.forfeits, row.faults, row.requests) != (0, 0, 0, 0, 0):
            yield f"match {row.match} wasn't played, and has sums"
    for match in sorted(played):
        record = store.find_record(connection, match)
        if record is None:
            yield f"match {match} has no record"
            continue
        results = store.match_results(connection, match)
        if results != game_results(read_record(record)):
            yield f"the results of match {match} aren't those of its record"
        of_seats = seats[match]
        if sum(each for each, _, _ in of_seats) != sum(len(result.seats) for result in results):
            yield f"the seats of match {match} have other games"
        if abs(sum(won for _, won, _ in of_seats) - sum(bool(result.survivors) for result in results)) > 1e-9:
            yield f"the wins of match {match} aren't its games"
        if sum(each for _, _, each in of_seats) != sum(len(result.forfeits) for result in results):
            yield f"the seats of match {match} have other forfeits"


def _checks(connection: Connection) -> Iterator[str]:
    output = Counter(connection.scalars(select(check_steps.c.version)))
    running = set(
        connection.scalars(select(check_steps.c.version).where(check_steps.c.data.contains('"severity":"now"')))
    )
    newest_steps = select(check_steps.c.version, func.max(check_steps.c.step)).group_by(check_steps.c.version)
    last = dict(connection.execute(newest_steps).all())
    ladder = audit_log.c.actor == "ladder", audit_log.c.action == "activate"
    begun = Counter(connection.scalars(select(audit_log.c.version).where(*ladder)))
    first = match_players.join(matches, matches.c.id == match_players.c.match)
    qualifying = matches.c.kind == "qualifying", match_players.c.slot == 0
    query = select(match_players.c.version).select_from(first).where(*qualifying)
    qualified = Counter(connection.scalars(query.where(matches.c.outcome == "played")))
    waiting = Counter(connection.scalars(query.where(matches.c.status != "ended")))
    newest: dict[int, int] = {}
    highest = select(versions.c.bot, func.max(versions.c.number)).where(versions.c.status == "accepted")
    for bot, number in connection.execute(highest.group_by(versions.c.bot)):
        newest[bot] = number
    for row in connection.execute(select(versions)):
        ended = row.status in ("accepted", "rejected")
        fit = row.status == "accepted"
        allowed = {int(fit), int(fit and row.number == newest[row.bot])}  # an older one may be checked after a newer
        checks = {
            "it has steps, and waits for its check": row.status != "queued" or not output[row.id],
            "a step of its check lacks": output[row.id] == last.get(row.id, 0),
            "a step is still running": not ended or row.id not in running,
            "it has no steps": row.status != "accepted" or output[row.id] > 0,
            "its reason and its state disagree": (row.status == "rejected") == (row.rejection_reason is not None),
            "it began to play other than once": begun[row.id] in allowed,
            "it played more than one qualifying match": qualified[row.id] <= 1,
            "its qualifying match hasn't ended": not ended or not waiting[row.id],
            "it waits for more than one qualifying match": waiting[row.id] <= 1,
            "its runner is wrong": (row.status == "checking") == (row.runner is not None),
        }
        yield from (f"version {row.id}: {what}" for what, holds in checks.items() if not holds)
    active = select(bots.c.id, bots.c.active_version_id).where(bots.c.active_version_id.is_not(None))
    if dict(connection.execute(active).all()) != _said_to_play(connection):
        yield "what plays isn't what the acts say"


def _said_to_play(connection: Connection) -> dict[int, int]:
    """Return which version of each bot plays, by bot, according to the audit log."""
    playing: dict[int, int] = {}
    query = select(audit_log.c.action, audit_log.c.bot, audit_log.c.version).where(
        audit_log.c.action.in_(("activate", "disable", "auto_disable"))
    )
    for what, bot, version in connection.execute(query.order_by(audit_log.c.id)):
        if what == "activate":
            playing[bot] = version
        else:
            playing.pop(bot, None)
    return playing


def left_open(connection: Connection) -> Iterator[str]:
    """Yield the leases and the living runners that remain although no runner is at work."""
    for what, query in {
        "matches are leased": select(matches.c.id).where(matches.c.status == "leased"),
        "versions are being checked": select(versions.c.id).where(versions.c.status == "checking"),
        "runners haven't ended": select(runners.c.id).where(runners.c.ended.is_(False)),
    }.items():
        found = connection.scalars(query).all()
        if found:
            yield f"{what}: {found}"
