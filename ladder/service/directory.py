"""Which of a ladder's owners a person of a roster is, however many rosters have named that person. Pure."""

from collections import defaultdict
from collections.abc import Iterable

from arena.bots import shown
from ladder.service.roster import CALLS, Person, same_letters
from ladder.store.database import Owner


class Directory:
    """Owners by number, email, login, and the platforms' ids: without ASCII letters' case. A merged owner leads to the
    other. The email of an account that waits for approval is nobody's.

    An email and a login are one kind: what is a login to one platform is an email to another.
    """

    def __init__(self, owners: Iterable[Owner]) -> None:
        """Take in owners, the merged ones among them."""
        self._owners: dict[int, Owner] = {}
        self._called: defaultdict[tuple[str, str], set[int]] = defaultdict(set)
        self._now: set[tuple[str, str]] = set()  # the keys of owners that weren't merged
        for owner in owners:
            self.add(owner)

    def add(self, owner: Owner) -> None:
        """Take in one more, with an id of its own."""
        id = owner.id if owner.merged is None else owner.merged
        if owner.merged is None:
            self._owners[id] = owner
        for field in ("login",) if owner.waiting else CALLS:
            if value := getattr(owner, field):
                self._called[_kind(field), same_letters(value)].add(id)
                if owner.merged is None:
                    self._now.add((_kind(field), same_letters(value)))

    def who(self, person: Person) -> Owner | None:
        """Return the owner that a person of a roster is, None for a new one. Raises ValueError if it is unclear."""
        identities = {key: (words, self._called[key]) for key, words in self._known(person)}
        owner_ids = set().union(*(ids for _, ids in identities.values()))
        if len(owner_ids) > 1:
            whose = ", ".join(f"{what} is {self._logins(ids)}'s" for what, ids in identities.values())
            raise ValueError(f"{whose}: mend the line, or merge them (arena ladder owners merge)")
        if not owner_ids:
            return None
        [owner] = (self._owners[id] for id in owner_ids)
        if owner.waiting:
            raise ValueError(f"{shown(owner.login)} waits for approval: approve or refuse the account first")
        if not any(kind == "number" for kind, _ in identities) and _contradicts(person, owner):
            what, _ = next(iter(identities.values()))
            whose = f"{what} is {shown(owner.login)}'s, whose number is {shown(owner.number or '')}"
            raise ValueError(f"{whose}: mend the line, or give a new number by a roster of login,number")
        return owner

    def was_merged(self, person: Person) -> bool:
        """Tell whether a person of a roster is known by nothing but what a merged owner was called."""
        known = self._known(person)
        return bool(known) and not any(key in self._now for key, _ in known)

    def is_called(self, owner: Owner, login: str | None) -> bool:
        """Tell whether a login is an owner's, or leads there."""
        return owner.id in self._called[_kind("login"), same_letters(login or "")]

    def namesakes(self, person: Person) -> list[str]:
        """Return the logins of those who have a person's name."""
        name = (person.name or "").casefold()
        return [owner.login for owner in self._owners.values() if name and owner.name.casefold() == name]

    def _known(self, person: Person) -> list[tuple[tuple[str, str], str]]:
        """Return what is told of a person and is an owner's, each with its words; the same is told once."""
        known: dict[tuple[str, str], str] = {}
        for field in CALLS:
            value = getattr(person, field) or ""
            key = (_kind(field), same_letters(value))
            if value and key in self._called:
                known.setdefault(key, f'the {field} "{shown(value)}"')
        return list(known.items())

    def _logins(self, ids: Iterable[int]) -> str:
        return " and ".join(shown(self._owners[id].login) for id in sorted(ids))


def _kind(field: str) -> str:
    return "login" if field == "email" else field


def _contradicts(person: Person, owner: Owner) -> bool:
    """Tell whether a person's number differs from the owner's, unless the roster gives the owner's login."""
    if not person.number or not owner.number or person.number.casefold() == owner.number.casefold():
        return False
    by_login = person.login not in (None, person.email) and str(person.login).casefold() == owner.login.casefold()
    return not by_login
