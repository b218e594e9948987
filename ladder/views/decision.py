"""What was decided, as it is told: by people, and by the ladder itself."""

from collections.abc import Iterable, Mapping
from dataclasses import dataclass

from ladder.access import visible
from ladder.store.database import LADDER, Act, find_owner
from ladder.views.act import ActLine
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


_DID = {
    "activate": "let {version} play",
    "bench": "benched {version}",
    "disable": "let no version play",
    "extend": "gave the owner another deadline",
    "final": "decided on a final",
    "freeze": "froze the ladder",
    "import": "took people in",
    "issue": "let somebody in",
    "leave": "let the owner leave the course",
    "merge": "merged two owners",
    "receive": "noted of {version}",
    "refuse": "refused an account",
    "release": "handed out grades",
    "return": "let the owner come back",
    "reveal": "revealed a final",
    "revoke": "took back what lets in",
    "team": "changed the owner's team",
    "suspend": "suspended the owner",
    "unfreeze": "lifted the freeze",
    "unsuspend": "lifted the suspension",
    "unvoid": "let the match rate again",
    "void": "took the match out of the ratings",
}


def did(act: Decision | ActLine) -> str:
    """Return in words who decided what: "the ladder let version 3 play". Why is the act's own."""
    version = "it" if act.version is None else f"version {act.version}"
    who = {None: "staff", LADDER: "the ladder"}.get(act.by, act.by)
    return f"{who} {_DID.get(act.what, f'decided: {act.what}').format(version=version)}"


def decisions(
    reader: Reader, acts: Iterable[Act], number: Mapping[int, int], owner: str | None = None
) -> tuple[Decision, ...]:
    """Return acts as they are told; `number` are those of versions by their ids, `owner` whose thing was decided on."""
    return tuple(
        visible(
            Decision(act.at, act.what, number.get(act.version or 0), decider_name(reader, act.who), act.why),
            reader.viewer,
            owner,
        )
        for act in acts
    )


def decider_name(reader: Reader, who: str) -> str:
    """Return who decided: another participant by the pseudonym; others, such as staff and the ladder, as they stand."""
    person = find_owner(reader.connection, who)
    if person is None or person.staff or reader.viewer.sees(OwnerLine, "login", who):
        return who
    return person.pseudonym
