"""What a ladder's final was made of: final.json of its exported folder, and what was published beforehand."""

import hashlib
import json
from collections.abc import Sequence
from dataclasses import asdict, dataclass
from functools import lru_cache
from typing import Any, Self

from arena.coup import derived
from arena.referee import MatchSpec, Terms
from arena.run.config import keyed_shuffle
from ladder.schedule import Plan, plan, seatings
from ladder.store import FolderError


@dataclass(frozen=True, slots=True)
class FinalPlan:
    """A final: its key decides the tables, the seats and every card.

    versions: label, digest, and a number of which equal ones don't meet. games: of each version, at least. matches: the
    ladder's number of each match of the plan; empty before they are queued.
    """

    name: str
    key: bytes
    versions: tuple[tuple[str, str, int], ...]
    seats: int
    games: int
    match_games: int
    terms: Terms
    matches: tuple[int, ...] = ()

    def plan(self) -> Plan:
        """Return who plays whom. Raises ValueError for versions that can't play a final."""
        owners = tuple(owner for _, _, owner in self.versions)
        return final_plan(self.key, owners, self.seats, self.games, self.match_games)

    def spec(self, place: int, bots: Sequence[int]) -> MatchSpec:
        """Return the spec of the match at a place of the plan."""
        key = derived(self.key, f"match|{place}")
        labels = tuple(self.versions[bot][0] for bot in bots)
        rows = seatings(self.seats, self.match_games, keyed_shuffle(key, "seats"))
        return MatchSpec(self.matches[place], key, labels, rows, self.terms)

    def publication(self) -> str:
        """Return what is published before a final: it fixes deals, tables, terms and versions."""
        terms = hashlib.sha256(json.dumps(self.terms.to_json(), sort_keys=True).encode()).hexdigest()
        lines = [
            f"final {self.name}",
            f"SHA-256 of the key: {hashlib.sha256(self.key).hexdigest()}",
            f"SHA-256 of the terms: {terms}",
            f"{self.terms.rules.name} at {self.seats} seats: "
            f"{self.plan().matches} matches of {self.match_games} games, "
            f"so that each version plays {self.games} or more",
            "versions, the digests of their files, and numbers of which equal ones don't meet:",
            *(f"  {label}  {digest}  {owner}" for label, digest, owner in self.versions),
        ]
        return "\n".join(lines) + "\n"

    def to_json(self) -> dict[str, Any]:
        """Return what final.json holds."""
        return {**asdict(self), "key": self.key.hex(), "terms": self.terms.to_json()}

    @classmethod
    def from_json(cls, values: dict[str, Any]) -> Self:
        """Return the final that final.json holds. Raises FolderError for anything else."""
        try:
            known = {name: values[name] for name in cls.__dataclass_fields__}
            known |= {"key": bytes.fromhex(values["key"]), "terms": Terms.from_json(values["terms"])}
            known |= {"versions": tuple(map(tuple, values["versions"])), "matches": tuple(values["matches"])}
            final = cls(**known)
            if len(final.matches) != final.plan().matches:
                raise ValueError(f"{len(final.matches)} matches")
        except (AttributeError, KeyError, TypeError, ValueError) as problem:
            raise FolderError(f"final.json was changed: {problem!r}") from None
        return final


@lru_cache(maxsize=2)  # a long plan takes seconds, and is needed for its publication and for its matches
def final_plan(key: bytes, owners: tuple[int, ...], seats: int, games: int, match_games: int) -> Plan:
    """Return the tables of a final, at which each entrant plays at least `games` games. Raises ValueError."""
    total = -(-games * len(owners) // seats)
    return plan(len(owners), seats, total, match_games, keyed_shuffle(key, "schedule"), owners)
