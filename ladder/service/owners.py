"""People are taken in as owners, or brought up to date: a roster, or one of them."""

from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace

from sqlalchemy import Connection

from arena.bots import shown
from ladder.service.directory import Directory
from ladder.service.ladder import Ladder
from ladder.service.pseudonyms import draw_pseudonym
from ladder.service.roster import Person, Remark, Roster
from ladder.service.settings import LadderError
from ladder.store.database import Act, Owner, all_owners, find_owner, note_act, put_owners

TOLD = 20  # lines that can't be taken in, and are told; the others are counted


@dataclass(frozen=True, slots=True)
class TakenIn:
    """How many people are new, how many changed, and how many owners the roster doesn't name; they stay.

    left_out: the lines that weren't taken in, with the reason. remarks: what else somebody should know of a line.
    """

    added: int
    changed: int
    absent: int
    left_out: tuple[Remark, ...] = ()
    remarks: tuple[Remark, ...] = ()


Then = Callable[[Connection, TakenIn], object]


def take_in_people(
    ladder: Ladder,
    people: Roster | Sequence[Person],
    who: str,
    source: str,
    then: Then = lambda connection, taken: None,
    partial: bool = False,
) -> TakenIn:
    """Take in people as owners; known ones are brought up to date, and keep what isn't told, login and pseudonym.

    As one act, which says that they come from this source, and with what `then` writes; with `partial` without those
    who can't be taken in. Of an owner who was merged with another a roster fills in what isn't known of the other.
    Raises LadderError with all who can't be taken in: their line can't be read, it is unclear who they are, a
    pseudonym is another's, or a known owner would become staff, or no longer be. One who comes without a roster has to
    be named by his own login.
    """
    roster = people if isinstance(people, Roster) else None
    persons = people.people if isinstance(people, Roster) else tuple(people)
    key = ladder.pseudonym_key()

    def act(connection: Connection) -> TakenIn:
        intake = _Intake(all_owners(connection, merged=True), persons, key, by_login=roster is None)
        wrong = list(roster.wrong) if roster else []
        for person in sorted(persons, key=intake.directory.was_merged):
            try:
                intake.take(person)
            except ValueError as problem:
                wrong.append(Remark(person.line, str(problem)))
        left_out = tuple(sorted(wrong, key=_line))
        if left_out and not partial:
            raise _refusal(left_out, source if roster else None)
        added, changed = put_owners(connection, intake.wanted.values(), ladder.clock())
        if added or changed:
            one = next(iter(intake.wanted.values())).login if len(persons) == 1 else None
            about = None if one is None else find_owner(connection, one)
            out = f", {len(left_out)} left out" if left_out else ""
            why = f"{source}: {added} added, {changed} changed{out}"
            note_act(connection, Act(who, "import", why, ladder.clock(), owner=None if about is None else about.id))
        remarks = tuple(sorted([*(roster.remarks if roster else ()), *intake.remarks], key=_line))
        taken = TakenIn(added, changed, intake.absent(), left_out, remarks)
        then(connection, taken)
        return taken

    return ladder.database.write(act)


class _Intake:
    """Takes in one person after the other: which owners are to be written, and what is to be known of their lines."""

    def __init__(self, owners: Sequence[Owner], people: Sequence[Person], key: bytes, by_login: bool) -> None:
        self.directory = Directory(owners)
        self.wanted: dict[int, Owner] = {}
        self.remarks: list[Remark] = []
        self._here = {
            owner.id for owner in owners if owner.merged is None and not (owner.gone or owner.waiting or owner.staff)
        }
        self._lines: dict[int, int] = {}
        self._pseudonyms = {owner.pseudonym.casefold() for owner in owners}
        self._kept = self._pseudonyms | {each.pseudonym.casefold() for each in people if each.pseudonym}  # by no draw
        self._key = key
        self._by_login = by_login

    def take(self, person: Person) -> None:
        """Take in a person. Raises ValueError for one who can't be."""
        merged = self.directory.was_merged(person)
        owner = self.directory.who(person) or self._new(person)
        name, line = shown(owner.login), self._lines.get(owner.id)
        if self._by_login and not self.directory.is_called(owner, person.login):
            raise ValueError(f"the email \"{shown(person.email or '')}\" is somebody's who is here, {name}'s")
        if owner.id > 0 and person.staff not in (None, owner.staff):
            raise ValueError(f"{name} is {'' if owner.staff else 'not '}staff: an account stays what it was made as")
        if line is not None and not merged:
            raise ValueError(f"it is the person of line {line}")
        if line is not None:
            self.remarks.append(Remark(person.line, f"passed over: merged with {name}, of line {line}"))
            return
        if owner.gone:
            self.remarks.append(Remark(person.line, f"{name} left the course, and isn't brought back"))
        self.wanted[owner.id] = _fill_in(owner, person) if merged else _update(owner, person)
        self._lines[owner.id] = person.line
        self.directory.add(self.wanted[owner.id])

    def absent(self) -> int:
        """Count the owners of the course who weren't named."""
        return len(self._here - set(self._lines))

    def _new(self, person: Person) -> Owner:
        """Return a new owner, whose id is below 0 until the store gives one. Raises ValueError."""
        same = self.directory.namesakes(person)
        if person.login is None:
            like = f"; {shown(same[0])} has the name, which is not enough" if same else ""
            raise ValueError(f"nobody has this identifier, and it has no login, no email and no number{like}")
        if person.pseudonym is not None and person.pseudonym.casefold() in self._pseudonyms:
            raise ValueError(f'the pseudonym "{shown(person.pseudonym)}" is another owner\'s')
        if same:
            text = f"{shown(person.login)} is new; {shown(same[0])} has the same name: merge them if it is one"
            self.remarks.append(Remark(person.line, text))
        pseudonym = person.pseudonym or draw_pseudonym(self._key, person.login, self._kept)
        self._pseudonyms.add(pseudonym.casefold())
        self._kept.add(pseudonym.casefold())
        owner = Owner(person.login, person.name or person.login, pseudonym, id=-person.line)
        self.directory.add(owner)
        return owner


def _line(remark: Remark) -> int:
    return remark.line


def _update(owner: Owner, person: Person) -> Owner:
    """Return an owner with what is told of the person: what isn't told stays."""
    fields = ("name", "email", "number", "section", "canvas", "moodle")
    values = {field: getattr(person, field) or getattr(owner, field) for field in fields}
    return replace(owner, **values, staff=owner.staff if person.staff is None else person.staff)


def _fill_in(owner: Owner, person: Person) -> Owner:
    """Return an owner with what a roster tells of one that was merged with him, where nothing was told of himself."""
    fields = ("email", "number", "section", "canvas")
    values = {field: getattr(owner, field) or getattr(person, field) for field in fields}
    return replace(owner, **values, moodle=person.moodle or owner.moodle)


def _refusal(wrong: Sequence[Remark], source: str | None) -> LadderError:
    if source is None:
        return LadderError(f"{wrong[0].text}.\nNothing was changed.")
    lines = [f"line {each.line}: {each.text}" for each in wrong[:TOLD]]
    if len(wrong) == 1:
        lines = [f"{source}, {lines[0]}."]
    else:
        more = [f"and {len(wrong) - TOLD} more lines"] if len(wrong) > TOLD else []
        lines = [f"{source}: {len(wrong)} lines can't be taken in.", *lines, *more]
    remedy = "Nobody was taken in: mend it, or take in the others alone: --partial, or the box on the page."
    return LadderError("\n".join([*lines, remedy]))
