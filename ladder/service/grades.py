"""Grades: what each owner's bot reached, for thresholds and not for its rank, with the reason in words.

They are of a final, of the versions that stand at a deadline, or of those that play now. Who owns several bots gets the
grade of the best. A version that came in a deadline's grace counts, and is told as late.
"""

from collections import defaultdict
from collections.abc import Mapping, Sequence

from sqlalchemy import Connection

from arena.bots import shown
from ladder.access import STAFF, Viewer
from ladder.service.baselines import failed, mark
from ladder.service.finals import reveal
from ladder.service.ladder import Ladder
from ladder.service.measured import Measured, measure
from ladder.service.settings import Baseline, LadderError
from ladder.service.snapshot import snapshot
from ladder.store.database import (
    Owner,
    Version,
    all_bots,
    all_owners,
    disabled_versions,
    find_version,
    unexamined,
    versions_of,
    why_out,
)
from ladder.views import Grade, Grades, Mark, OwnerLine, told_owner


def grades(
    ladder: Ladder, who: str, final: str | None = None, deadline: str | None = None, viewer: Viewer = STAFF
) -> Grades:
    """Return the grades of a final, of a deadline, or of now, that the viewer may see. Raises LadderError."""
    settings = ladder.settings
    baselines = settings.baselines
    if not baselines:
        raise LadderError(
            f"no baseline says what points are for.\nWrite [[baselines]] into {ladder.path / 'ladder.toml'}: see there."
        )
    due: float | None
    if final is not None:
        ended, measured = reveal(ladder, final, who, viewer)
        due, until, of = ended.due, ended.closes, f"final {final}"
        with ladder.database.read() as connection:
            chosen = [find_version(connection, version) for version in ended.versions]
    else:
        limit = None if deadline is None else settings.deadline(deadline)
        due = None if limit is None else limit.at.timestamp()
        until = ladder.clock() if limit is None else limit.closes
        of = "now" if limit is None else f"deadline {limit.name}"
        with ladder.database.read() as connection:
            chosen = snapshot(connection, limit)
            measured = measure(ladder, connection, chosen)
    with ladder.database.read() as connection:
        _demand_bots(connection, baselines)
        people = [
            owner
            for owner in all_owners(connection)
            if not owner.staff and not owner.gone and viewer.may("see grades", owner.login)
        ]
        suspended = {owner.id for owner in all_owners(connection) if owner.suspended}
        standing = defaultdict(list)
        for version in chosen:
            if not version.reference and version.owner not in suspended:
                standing[version.owner].append(version)
        waiting = tuple(version.label for version in unexamined(connection, until))
        found = tuple(
            _grade(told_owner(connection, owner, viewer), standing[owner.id], baselines, measured, _others(chosen), due)
            if standing[owner.id]
            else _nothing(told_owner(connection, owner, viewer), _why_nothing(connection, owner, until), baselines)
            for owner in people
        )
    possible = sum(baseline.points for baseline in baselines)
    names = tuple(each.name for each in baselines)
    return Grades(settings.grades.title, of, possible, names, found, waiting, ladder.play.sandbox.isolates)


def _demand_bots(connection: Connection, baselines: Sequence[Baseline]) -> None:
    bots = {bot.name: bot for bot in all_bots(connection)}
    for baseline in baselines:
        if baseline.beats is not None and baseline.beats not in bots:
            references = ", ".join(sorted(shown(bot.name) for bot in bots.values() if bot.reference))
            raise LadderError(
                f'the baseline "{baseline.name}" names a bot "{shown(baseline.beats)}", which there isn\'t.\n'
                f"The reference bots are {references}."
            )


def _others(chosen: Sequence[Version]) -> dict[str, Version]:
    return {version.name: version for version in chosen}


def _grade(
    owner: OwnerLine,
    versions: Sequence[Version],
    baselines: Sequence[Baseline],
    measured: Measured,
    others: Mapping[str, Version],
    due: float | None,
) -> Grade:
    """Return an owner's best grade."""

    def of(version: Version) -> Grade:
        marks = tuple(mark(each, version, measured, others.get(each.beats or "")) for each in baselines)
        row = measured.row(version.id)
        share = None if row is None else row.adjusted
        return Grade(
            owner=owner,
            version=version.label,
            submitted=version.received,
            late_hours=None if due is None else max(0.0, version.received - due) / 3600,
            points=sum(each.points for each in marks),
            share=None if share is None else share.value,
            share_low=None if share is None else share.low,
            share_high=None if share is None else share.high,
            games=0 if row is None else row.games,
            marks=marks,
            reason="; ".join(_told(each) for each in marks),
        )

    return max(map(of, versions), key=lambda grade: (grade.points, grade.share or 0.0))


def _told(each: Mark) -> str:
    outcome = "passed" if each.passed else "not passed"
    doubt = ", in doubt: the threshold lies in the interval" if each.doubtful else ""
    return f"{each.baseline}: {outcome}, {each.words}{doubt}"


def _nothing(owner: OwnerLine, reason: str, baselines: Sequence[Baseline]) -> Grade:
    """Return the grade of an owner for whom no version stands, with the reason."""
    marks = tuple(failed(each, "no version") for each in baselines)
    return Grade(owner, None, None, None, 0.0, None, None, None, 0, marks, reason)


def _why_nothing(connection: Connection, owner: Owner, until: float) -> str:
    bots = [bot for bot in all_bots(connection) if bot.owner == owner.id and not bot.reference]
    disabled = disabled_versions(connection)
    versions = [version for bot in bots for version in versions_of(connection, bot.id)]
    in_time = sorted(
        (version for version in versions if version.received <= until),
        key=lambda version: (version.received, version.id),
    )
    if not versions:
        return "nothing was submitted"
    if not in_time:
        return f"nothing was submitted in time: {shown(versions[0].label)} came after"
    last = in_time[-1]
    out = why_out(connection, owner)
    if out is not None:
        return shown(out)
    if last.id in disabled:
        return f"{shown(last.name)} is disabled: {shown(disabled[last.id])}"
    if last.reason is not None:
        return f"{shown(last.label)} didn't pass its examination: {shown(last.reason)}"
    return f"{shown(last.label)} doesn't play"
