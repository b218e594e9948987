"""People are taken in as owners, or brought up to date: a roster, or one of them."""

from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace

from sqlalchemy import Connection

from arena.bots import shown
from ladder.service.ladder import Ladder
from ladder.service.pseudonyms import draw_pseudonym
from ladder.service.roster import Person
from ladder.service.settings import LadderError
from ladder.store.database import Act, Owner, all_owners, find_owner, note_act, put_owners


@dataclass(frozen=True, slots=True)
class TakenIn:
    """How many people are new, how many changed, and how many owners the roster doesn't name; they stay."""

    added: int
    changed: int
    absent: int


Then = Callable[[Connection, TakenIn], object]


def take_in_people(
    ladder: Ladder, people: Sequence[Person], who: str, source: str, then: Then = lambda connection, taken: None
) -> TakenIn:
    """Take in people as owners; known ones are brought up to date, and keep what isn't told, and their pseudonyms.

    All or none, as one act, which says that they come from this source, and with what `then` writes. Raises LadderError
    where a login or a pseudonym is too like another's.
    """
    key = ladder.pseudonym_key()

    def act(connection: Connection) -> TakenIn:
        owners = all_owners(connection)
        known = {owner.login.casefold(): owner for owner in owners}
        names = {owner.pseudonym.casefold() for owner in owners}
        kept = names | {person.pseudonym.casefold() for person in people if person.pseudonym}  # no draw takes them
        wanted = []
        for person in people:
            before = known.get(person.login.casefold())
            if before is not None and before.login != person.login:
                raise LadderError(
                    f'line {person.line}: the login "{shown(person.login)}" is the owner '
                    f'"{shown(before.login)}" but for its case.\nWrite it the same; nobody was taken in.'
                )
            pseudonym = person.pseudonym if before is None else before.pseudonym
            if before is None and pseudonym is not None and pseudonym.casefold() in names:
                raise LadderError(
                    f'line {person.line}: the pseudonym "{shown(pseudonym)}" is another owner\'s.\n'
                    "Choose one, or leave it empty; nobody was taken in."
                )
            pseudonym = pseudonym or draw_pseudonym(key, person.login, kept)
            names.add(pseudonym.casefold())
            kept.add(pseudonym.casefold())
            wanted.append(_owner(person, before, pseudonym))
        added, changed = put_owners(connection, wanted, ladder.clock())
        if added or changed:
            about = find_owner(connection, people[0].login) if len(people) == 1 else None
            why = f"{source}: {added} added, {changed} changed"
            note_act(connection, Act(who, "import", why, ladder.clock(), owner=None if about is None else about.id))
        told = {person.login for person in people}
        taken = TakenIn(added, changed, sum(owner.login not in told and not owner.staff for owner in owners))
        then(connection, taken)
        return taken

    return ladder.database.write(act)


def _owner(person: Person, before: Owner | None, pseudonym: str) -> Owner:
    """Return the owner that a person is to be: what isn't told stays."""
    old = before or Owner(person.login, person.name or person.login, pseudonym)
    return replace(
        old,
        name=person.name or old.name,
        email=person.email or old.email,
        number=person.number or old.number,
        section=person.section or old.section,
        staff=old.staff if person.staff is None else person.staff,
    )
