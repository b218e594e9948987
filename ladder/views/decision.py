"""What was decided, as it is told: by people, and by the ladder itself."""

from collections.abc import Iterable, Mapping
from dataclasses import dataclass

from ladder.access import visible
from ladder.store.database import Act, find_owner
from ladder.views.owner import OwnerLine
from ladder.views.reader import Reader


@dataclass(frozen=True, slots=True)
class Decision:
    """One decision. version: its number, where it is about one. by: who decided; "ladder", where no person did."""

    at: float
    what: str
    version: int | None
    by: str | None
    why: str


def decisions(
    reader: Reader, acts: Iterable[Act], number: Mapping[int, int], owner: str | None = None
) -> tuple[Decision, ...]:
    """Return acts as they are told; `number` are those of versions by their ids, `owner` whose thing was decided on."""
    return tuple(
        visible(
            Decision(act.at, act.what, number.get(act.version or 0), _called(reader, act.who), act.why),
            reader.viewer,
            owner,
        )
        for act in acts
    )


def _called(reader: Reader, who: str) -> str:
    """Return who decided: another participant by the pseudonym; others, such as staff and the ladder, as they stand."""
    person = find_owner(reader.connection, who)
    if person is None or person.staff or reader.viewer.sees(OwnerLine, "login", who):
        return who
    return person.pseudonym
