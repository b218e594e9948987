"""A ladder in one look, for whoever looks after it: what is frozen, who is suspended, what waits, who serves."""

from collections import Counter
from dataclasses import dataclass

from arena.examine import Finding
from ladder.access import visible
from ladder.store.database import all_bots, all_owners, count_all, holding_act
from ladder.views.act import ActLine, act_list
from ladder.views.decision import Decision, decisions
from ladder.views.owner import OwnerLine, owner_line
from ladder.views.queue import RunnerLine, runner_lines
from ladder.views.reader import Reader

LAST = 10  # decisions that are told
_ROUTINE = ("issue",)  # one for each person of a section: they would bury the decisions


@dataclass(frozen=True, slots=True)
class Quotas:
    """How much a person may ask for, by ladder.toml."""

    bots_per_owner: int
    submissions_per_day: int
    challenges_per_day: int
    upload_mb: int


@dataclass(frozen=True, slots=True)
class Overview:
    """A ladder in one look. frozen: the decision that holds, None where none does.

    people: who take part. waiting: accounts to be approved. bots, playing: of theirs and the references. versions: how
    many by state; matches: by what became of them. findings: of a checkup, None where there was none.
    """

    frozen: Decision | None
    suspended: tuple[OwnerLine, ...]
    waiting: tuple[OwnerLine, ...]
    people: int
    bots: int
    playing: int
    versions: dict[str, int]
    matches: dict[str, int]
    runners: tuple[RunnerLine, ...] | None
    acts: tuple[ActLine, ...]
    quotas: Quotas | None
    findings: tuple[Finding, ...] | None
    change: int | None = None


def overview(reader: Reader, quotas: Quotas, findings: tuple[Finding, ...] | None = None) -> Overview:
    """Return a ladder in one look, with its quotas, and with what a checkup found."""
    connection = reader.connection
    counts = count_all(connection)
    became: Counter[str] = Counter()
    for (_, end), count in counts.matches.items():
        became[end] += count
    owners, bots = all_owners(connection), all_bots(connection)
    act = holding_act(connection)
    whole = Overview(
        decisions(reader, [act], {})[0] if act else None,
        tuple(owner_line(connection, owner, reader.viewer) for owner in owners if owner.suspended),
        tuple(owner_line(connection, owner, reader.viewer) for owner in owners if owner.waiting),
        sum(not (owner.staff or owner.gone or owner.waiting) for owner in owners),
        len(bots),
        sum(bot.active is not None for bot in bots),
        counts.versions,
        dict(became),
        runner_lines(reader),
        act_list(reader, limit=LAST, without=_ROUTINE).rows,
        visible(quotas, reader.viewer),
        None if findings is None else tuple(visible(finding, reader.viewer) for finding in findings),
        reader.change,
    )
    return visible(whole, reader.viewer)
