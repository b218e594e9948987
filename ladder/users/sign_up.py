"""Sign new users up, and approve or refuse their accounts.

Users sign up with a link created by staff, which may require approval. Until approval the account has no permissions,
and no command accepts it. Its email is unverified, so rosters and identity providers never match it."""

import secrets
import unicodedata
from dataclasses import replace

from sqlalchemy import Connection

from arena.escaping import escape_control
from ladder import store
from ladder.ladder import Ladder, transaction
from ladder.settings import LadderError
from ladder.users.credentials import APPROVAL_SCOPE, IssuedSecret, hash_secret
from ladder.users.pseudonyms import draw_pseudonym
from ladder.users.roster import make_roster_entry

MAX_APPLICANTS = 200  # accounts that wait for approval


def find_join_link(ladder: Ladder, link: str) -> store.Credential | None:
    """Return the sign-up link with this secret, None if it is unknown, revoked or expired."""
    return ladder.database.read_with_retry(lambda connection: _find_join_credential(connection, link, ladder.clock()))


def create_account(ladder: Ladder, link: str, login: str, name: str, email: str) -> IssuedSecret:
    """Create an account by a sign-up link, and return a session. Staff sees the account's email.

    Raises LadderError if the link has expired, the login is invalid or used, or too many accounts wait.
    """
    login, name, email = (unicodedata.normalize("NFC", word.strip()) for word in (login, name, email))
    person = make_roster_entry(login, name, email or None, None, None)
    if "@" in login:
        raise LadderError("The login of an account that you create can't be an email address.\nChoose one without @.")
    return _sign_up(ladder, link, store.User(login, name, "", person.email), secrets.token_urlsafe(32))


@transaction
def _sign_up(connection: Connection, ladder: Ladder, link: str, person: store.User, secret: str) -> IssuedSecret:
    """Add the person as a user with a drawn pseudonym, and start the session with this secret, once."""
    now, login = ladder.clock(), person.login
    entry = _find_join_credential(connection, link, now)
    if entry is None:
        raise LadderError("This join link is unknown or has expired.\nAsk the staff for another one.")
    known = store.find_credential(connection, hash_secret(secret))
    ends = now + store.SESSION_IDLE_S
    if known is not None:  # a repeated call, after a commit's reply was lost
        return IssuedSecret(known.id, login, store.SESSION, known.scope, secret, ends)
    waits, others = entry.scope == APPROVAL_SCOPE, store.all_users(connection, merged=True)
    if login.casefold() in {other.login.casefold() for other in others}:
        raise LadderError(f'The login "{escape_control(login)}" is already used.\nChoose another login.')
    if waits and sum(other.waiting for other in others) >= MAX_APPLICANTS:
        raise LadderError("Too many accounts wait for approval.\nTry again in a day, or ask the staff.")
    pseudonym = draw_pseudonym(ladder.pseudonym_key(), login, {other.pseudonym.casefold() for other in others})
    email = person.email if waits else None
    store.save_users(connection, [replace(person, pseudonym=pseudonym, email=email, waiting=waits)], now)
    user, by = _get_applicant(connection, login), f"link {entry.id}"
    if not waits:
        reason = f"{login} signed up by {by}"
        store.log_action(connection, store.AuditEntry(store.LADDER_ACTOR, "import", reason, now, user_id=user.id))
    session = store.Credential(user.id, login, store.SESSION, hash_secret(secret), "submit", by, now, ends)
    return IssuedSecret(store.insert_credential(connection, session), login, store.SESSION, "submit", secret, ends)


@transaction
def approve_applicant(connection: Connection, ladder: Ladder, login: str, actor: str) -> bool:
    """Approve an account, and remove its unverified email; return False if the account is approved already.

    A roster or staff can set another email. Raises LadderError if the account doesn't exist."""
    user = _get_applicant(connection, login)
    if not user.waiting:
        return False
    store.set_user_approved(connection, user.id)
    reason = f"{login} signed up, and is approved"
    store.log_action(connection, store.AuditEntry(actor, "import", reason, ladder.clock(), user_id=user.id))
    return True


@transaction
def refuse_applicant(connection: Connection, ladder: Ladder, login: str, actor: str, reason: str) -> bool:
    """Remove an account without approval; return False if none has the login. Raises LadderError if it is approved."""
    user = store.find_user(connection, login)
    if user is None:
        return False
    if not user.waiting:
        raise LadderError(f"{escape_control(login)} doesn't wait for approval.\nTo remove access, suspend the user.")
    store.delete_applicant(connection, user.id)
    store.log_action(connection, store.AuditEntry(actor, "refuse", f"{login}: {reason}", ladder.clock()))
    return True


def _find_join_credential(connection: Connection, link: str, now: float) -> store.Credential | None:
    """Return the sign-up link with this secret, None if it is unknown, revoked or expired."""
    credential = store.find_credential(connection, hash_secret(link))
    return credential if credential is not None and credential.kind == store.JOIN and credential.is_valid(now) else None


def _get_applicant(connection: Connection, login: str) -> store.User:
    """Return a user, also one without approval. Raises LadderError for an unknown login."""
    user = store.find_user(connection, login)
    if user is None:
        raise LadderError(f'the ladder has no account "{escape_control(login)}".')
    return user
