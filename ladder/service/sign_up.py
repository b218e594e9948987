"""People sign up by a link of the staff's, and staff approves those who came by one that asks for it.

An account that waits for approval does nothing and has nothing done to it: `known_owner` and `viewer_of` refuse it. Its
email, which nobody has verified, leads no roster and no provider to it.
"""

import secrets
import unicodedata

from sqlalchemy import Connection

from arena.bots import shown
from ladder.service.accounts import ASK, IDLE_S, Issued, digest_of
from ladder.service.ladder import Ladder
from ladder.service.pseudonyms import draw_pseudonym
from ladder.service.roster import one_person
from ladder.service.settings import LadderError
from ladder.store.database import (
    JOIN,
    LADDER,
    SESSION,
    Act,
    Credential,
    Owner,
    all_owners,
    find_credential,
    find_owner,
    note_act,
    put_credential,
    put_owners,
    remove_waiting,
    set_approved,
)

MOST_WAITING = 200  # accounts at a time


def join_link(ladder: Ladder, link: str) -> Credential | None:
    """Return the link by which people sign up, None for one that isn't known, was revoked, or is over."""
    return ladder.database.look(lambda connection: _find(connection, link, ladder.clock()))


def sign_up(ladder: Ladder, link: str, login: str, name: str, email: str) -> Issued:
    """Make an account, and return a session of it. Staff who approves it reads the email. Raises LadderError."""
    login, name, email = (unicodedata.normalize("NFC", word.strip()) for word in (login, name, email))
    person = one_person(login, name, email or None, None, None)
    if "@" in login:
        raise LadderError("A login has no @ here.\nChoose another one.")
    secret, now, key = secrets.token_urlsafe(32), ladder.clock(), ladder.pseudonym_key()

    def act(connection: Connection) -> Issued:
        entry = _find(connection, link, now)
        if entry is None:
            raise LadderError("This link to join isn't known, or its time is over.\nAsk the staff for another one.")
        known, waits, ends = find_credential(connection, digest_of(secret)), entry.scope == ASK, now + IDLE_S
        if known is not None:  # the second call of a function whose commit had no answer
            return Issued(known.id, login, SESSION, known.scope, secret, ends)
        others = all_owners(connection, merged=True)
        if login.casefold() in {other.login.casefold() for other in others}:
            raise LadderError(f'The login "{shown(login)}" is taken.\nChoose another one.')
        if waits and sum(other.waiting for other in others) >= MOST_WAITING:
            raise LadderError("Too many accounts wait for approval.\nTry again in a day, or ask the staff.")
        pseudonym = draw_pseudonym(key, login, {other.pseudonym.casefold() for other in others})
        new = Owner(login, name, pseudonym, person.email if waits else None, waiting=waits)
        put_owners(connection, [new], now)
        owner = find_owner(connection, login)
        assert owner is not None, "it was written"
        by = f"link {entry.id}"
        if not waits:
            note_act(connection, Act(LADDER, "import", f"{login} signed up by {by}", now, owner=owner.id))
        session = Credential(owner.id, login, SESSION, digest_of(secret), "submit", by, now, ends)
        return Issued(put_credential(connection, session), login, SESSION, "submit", secret, ends)

    return ladder.database.write(act)


def approve(ladder: Ladder, login: str, who: str) -> bool:
    """Let an account that waits take part; return False if it does already. Raises LadderError.

    Its email goes: it told staff who that may be, and no one verified it. A roster, or staff, gives the account one.
    """

    def act(connection: Connection) -> bool:
        owner = _demand(connection, login)
        if not owner.waiting:
            return False
        set_approved(connection, owner.id)
        why = f"{login} signed up, and is approved"
        note_act(connection, Act(who, "import", why, ladder.clock(), owner=owner.id))
        return True

    return ladder.database.write(act)


def refuse(ladder: Ladder, login: str, who: str, why: str) -> bool:
    """Remove an account that waits, so that its login is free; return False if it is gone. Raises LadderError."""

    def act(connection: Connection) -> bool:
        owner = find_owner(connection, login)
        if owner is None:
            return False
        if not owner.waiting:
            raise LadderError(f"{shown(login)} doesn't wait for approval.\nSuspend the person: arena ladder suspend")
        remove_waiting(connection, owner.id)
        note_act(connection, Act(who, "refuse", f"{login}: {why}", ladder.clock()))
        return True

    return ladder.database.write(act)


def _find(connection: Connection, link: str, now: float) -> Credential | None:
    credential = find_credential(connection, digest_of(link))
    return credential if credential is not None and credential.kind == JOIN and credential.holds(now) else None


def _demand(connection: Connection, login: str) -> Owner:
    owner = find_owner(connection, login)
    if owner is None:
        raise LadderError(f'there is no account "{shown(login)}".\nSee arena ladder owners list.')
    return owner
