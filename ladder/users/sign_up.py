"""Sign new users up, and approve or refuse their accounts.

Users sign up with a link created by staff, which may require approval. Until approval the account has no permissions,
and no command accepts it. Its email is unverified, so rosters and identity providers never match it."""

import unicodedata
from dataclasses import replace

from sqlalchemy import Connection

from arena.escaping import escape_control
from ladder import store
from ladder.ladder import Ladder, transaction
from ladder.settings import LadderError
from ladder.users.credentials import APPROVAL_SCOPE, IssuedSecret, draw_secret, hash_secret
from ladder.users.pseudonyms import draw_pseudonym, fold_name
from ladder.users.roster import make_roster_entry

MAX_APPLICANTS = 200  # accounts that wait for approval


def find_join_link(ladder: Ladder, link: str) -> store.Credential | None:
    """Return the sign-up link with this secret, None if it is unknown, revoked or expired."""
    return ladder.database.read_with_retry(lambda connection: _find_join_credential(connection, link, ladder.clock()))


def create_account(ladder: Ladder, link: str, login: str, name: str, email: str) -> IssuedSecret:
    """Create an account by a sign-up link, and return a session. Staff sees the account's email.

    Raises LadderError if the link has expired, the login is invalid or used, or too many accounts wait.
    """
    login, name, email = (unicodedata.normalize("NFC", text.strip()) for text in (login, name, email))
    person = make_roster_entry(login, name, email or None, None, None)
    if "@" in login:
        raise LadderError("The login of an account that you create can't be an email address.\nChoose one without @.")
    return _sign_up(ladder, link, store.User(login, name, "", person.email), draw_secret())


@transaction
def _sign_up(connection: Connection, ladder: Ladder, link: str, person: store.User, secret: str) -> IssuedSecret:
    """Add the person as a user with a drawn pseudonym, and start the session with this secret.

    A repeated call, after a commit's reply was lost, returns the same session, also if the link has expired. Raises
    LadderError as `create_account` does.
    """
    now, login, digest = ladder.clock(), person.login, hash_secret(secret)
    old_session = store.find_credential(connection, digest)
    if old_session is not None:
        return IssuedSecret(old_session.id, login, store.SESSION, old_session.scope, secret, old_session.expires_at)
    join_link = _find_join_credential(connection, link, now)
    if join_link is None:
        raise LadderError("This join link is unknown or has expired.\nAsk the staff for another one.")
    needs_approval = join_link.scope == APPROVAL_SCOPE
    user = _insert_user(connection, ladder, person, needs_approval=needs_approval, now=now)
    created_by = f"link {join_link.id}"
    if not needs_approval:
        reason = f"{login} signed up by {created_by}"
        store.log_action(connection, store.AuditEntry(store.LADDER_ACTOR, "import", reason, now, user_id=user.id))
    expires_at = now + store.SESSION_IDLE_S
    session = store.Credential(user.id, login, store.SESSION, digest, "submit", created_by, now, expires_at)
    id = store.insert_credential(connection, session)
    return IssuedSecret(id, login, store.SESSION, "submit", secret, expires_at)


def _insert_user(
    connection: Connection, ladder: Ladder, person: store.User, *, needs_approval: bool, now: float
) -> store.User:
    """Insert a person with a drawn pseudonym, and return the user. The email is stored only if staff has to approve it.

    Raises LadderError if the login is used, or too many accounts wait.
    """
    users = store.all_users(connection, merged=True)
    if person.login.casefold() in {user.login.casefold() for user in users}:
        raise LadderError(f'The login "{escape_control(person.login)}" is already used.\nChoose another login.')
    if needs_approval and sum(user.waiting for user in users) >= MAX_APPLICANTS:
        raise LadderError("Too many accounts wait for approval.\nTry again in a day, or ask the staff.")
    used_pseudonyms = {fold_name(user.pseudonym) for user in users}
    pseudonym = draw_pseudonym(ladder.pseudonym_key(), person.login, used_pseudonyms)
    email = person.email if needs_approval else None
    store.save_users(connection, [replace(person, pseudonym=pseudonym, email=email, waiting=needs_approval)], now)
    return _get_applicant(connection, person.login)


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
    if credential is None or credential.kind != store.JOIN or not credential.is_valid(now):
        return None
    return credential


def _get_applicant(connection: Connection, login: str) -> store.User:
    """Return a user, also one without approval. Raises LadderError for an unknown login."""
    user = store.find_user(connection, login)
    if user is None:
        raise LadderError(f'the ladder has no account "{escape_control(login)}".')
    return user
