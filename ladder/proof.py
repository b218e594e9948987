"""A final's proof: a file from which anyone can verify that its deals were fixed before it was played.

Before a final, the SHA-256 of its key is published; after it, the key. All that is left to chance comes from the key:
who sits at which table, in which seats, and every card. So whoever has the file can compute it all anew.

The file is JSONL: a header, and one line a match in the order of the plan, with its record while that is kept.
"""

import hashlib
import json
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from typing import Any

from arena.coup import derived
from arena.referee import RecordError, Terms, read, verify
from arena.run import keyed_shuffle
from ladder.schedule import plan, seatings

VERSION = 2  # 1 drew the seats of each block of games on its own


class ProofError(Exception):
    """Say in one line what doesn't fit in a proof."""


@dataclass(frozen=True, slots=True)
class Entrant:
    """A version in a final. `owner` is a number: versions with the same one never meet. `digest` is of its files."""

    label: str
    owner: int
    digest: str


@dataclass(frozen=True, slots=True)
class Proof:
    """What holds for a final as a whole. `games` of each version were asked for; `entrants` are in the plan's order."""

    name: str
    commitment: str
    key: bytes
    terms: Terms
    seats: int
    match_games: int
    games: int
    entrants: tuple[Entrant, ...]


@dataclass(frozen=True, slots=True)
class PlayedPlace:
    """A match at its place in the plan. No `record`: it was not played, or its record is no longer kept."""

    match: int
    bots: tuple[str, ...]
    cause: str | None
    record: str | None


@dataclass(frozen=True, slots=True)
class Verified:
    """What was verified: how many matches and games, and how many matches have no record."""

    name: str
    matches: int
    games: int
    without: int
    commitment: str
    published: str
    """What was published before the final, if nothing was changed since."""


# --- what the key decides ---------------------------------------------------------------------------------------------


def tables_of(key: bytes, owners: Sequence[int], seats: int, games: int, match_games: int) -> list[tuple[int, ...]]:
    """Return the tables of a final, of which each entrant plays at least so many games. Raises ValueError."""
    total = -(-games * len(owners) // seats)
    schedule = plan(len(owners), seats, total, match_games, keyed_shuffle(key, "schedule"), owners)
    return [table.bots for table in schedule.tables]


def place_key(key: bytes, place: int) -> bytes:
    """Return the key of the match at a place of a final's plan."""
    return derived(key, f"match|{place}")


def publication(proof: Proof) -> str:
    """Return what is published before a final: it fixes deals, tables, terms and versions."""
    owners = [each.owner for each in proof.entrants]
    matches = len(tables_of(proof.key, owners, proof.seats, proof.games, proof.match_games))
    terms = hashlib.sha256(json.dumps(proof.terms.to_json(), sort_keys=True).encode()).hexdigest()
    lines = [
        f"final {proof.name}",
        f"SHA-256 of the key: {proof.commitment}",
        f"SHA-256 of the terms: {terms}",
        f"{proof.terms.rules.name} at {proof.seats} seats: {matches} matches of {proof.match_games} games, "
        f"so that each version plays {proof.games} or more",
        "versions, the digests of their files, and numbers of which equal ones don't meet:",
        *(f"  {each.label}  {each.digest}  {each.owner}" for each in proof.entrants),
    ]
    return "\n".join(lines) + "\n"


# --- the file ---------------------------------------------------------------------------------------------------------


def proof_lines(proof: Proof, matches: Iterable[PlayedPlace]) -> Iterator[str]:
    """Yield the lines of a proof's file."""
    header = {
        "final": VERSION,
        "name": proof.name,
        "commitment": proof.commitment,
        "key": proof.key.hex(),
        "seats": proof.seats,
        "match_games": proof.match_games,
        "games": proof.games,
        "terms": proof.terms.to_json(),
        "entrants": [{"label": each.label, "owner": each.owner, "digest": each.digest} for each in proof.entrants],
    }
    yield _line(header)
    for place, match in enumerate(matches):
        yield _line(
            {
                "place": place,
                "match": match.match,
                "bots": match.bots,
                "cause": match.cause,
                "record": match.record,
            }
        )


def _line(values: dict[str, Any]) -> str:
    return json.dumps(values, separators=(",", ":")) + "\n"


def is_proof(first: str) -> bool:
    """Tell by a file's first line whether it is a proof's."""
    return first.startswith('{"final":')


def verify_proof(lines: Iterable[str]) -> Verified:
    """Compute anew all that the key decides, and replay each record. Raises ProofError for what doesn't fit."""
    rest = iter(lines)
    try:
        proof = _header(json.loads(next(rest, "")))
    except (KeyError, TypeError, ValueError, RecursionError) as problem:
        raise ProofError(f"this is no whole proof of this version: {problem!r}") from None
    if hashlib.sha256(proof.key).hexdigest() != proof.commitment:
        raise ProofError("the key isn't the one that was committed to: its SHA-256 is another")
    try:
        owners = [each.owner for each in proof.entrants]
        tables = tables_of(proof.key, owners, proof.seats, proof.games, proof.match_games)
    except ValueError as problem:
        raise ProofError(f"no plan has these entrants: {problem}") from None
    games = without = 0
    for place, table in enumerate(tables):
        bots = tuple(proof.entrants[bot].label for bot in table)
        match = _match(next(rest, ""), place)
        if match.bots != bots:
            raise ProofError(f"match {match.match} has {match.bots}, but the key seats {bots} at place {place}")
        if match.record is None:
            without += 1
        else:
            games += _verify_record(match.record, proof, place, bots)
    if next(rest, None) is not None:
        raise ProofError(f"it has more matches than the {len(tables)} of the plan")
    return Verified(proof.name, len(tables), games, without, proof.commitment, publication(proof))


def _header(values: Any) -> Proof:
    if values["final"] != VERSION:
        raise ValueError(f"version {values['final']}, this arena reads {VERSION}: use the arena that exported it")
    return Proof(
        name=str(values["name"]),
        commitment=str(values["commitment"]),
        key=bytes.fromhex(values["key"]),
        terms=Terms.from_json(values["terms"]),
        seats=int(values["seats"]),
        match_games=int(values["match_games"]),
        games=int(values["games"]),
        entrants=tuple(
            Entrant(str(each["label"]), int(each["owner"]), str(each["digest"])) for each in values["entrants"]
        ),
    )


def _match(line: str, place: int) -> PlayedPlace:
    if not line:
        raise ProofError(f"it ends before place {place} of the plan")
    try:
        values = json.loads(line)
        if values["place"] != place:
            raise ValueError(f"place {values['place']}")
        record = values["record"]
        return PlayedPlace(
            int(values["match"]), tuple(values["bots"]), values["cause"], None if record is None else str(record)
        )
    except (KeyError, TypeError, ValueError, RecursionError) as problem:
        raise ProofError(f"place {place} of the plan can't be read: {problem!r}") from None


def _verify_record(text: str, proof: Proof, place: int, bots: tuple[str, ...]) -> int:
    """Return how many games a record has, if all of them are dealt by the key and replay to the same results."""
    key = place_key(proof.key, place)
    try:
        record = read(text)
        header = record.header
        for what, actual, wanted in (
            ("key", header.key, key),
            ("bots", header.bots, bots),
            ("terms", header.terms, proof.terms),
            (
                "seats",
                tuple(game.seating for game in record.games),
                seatings(proof.seats, proof.match_games, keyed_shuffle(key, "seats")),
            ),
        ):
            if actual != wanted:
                older = "; an older arena seats otherwise" if what == "seats" else ""
                raise ProofError(f"the record at place {place} has other {what} than the final's key gives{older}")
        verify(record)
    except (RecordError, RecursionError) as problem:
        raise ProofError(f"the record at place {place}: {problem}") from None
    return len(record.games)
