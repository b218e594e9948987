"""Issue, check, extend and revoke what signs users in without file access: links, sessions, tokens, provider accounts.

A user with access to the ladder's file is staff. A sign-in link works once and becomes a session. Its secret is a code
of 80 random bits, which can be typed; other secrets are 256 random bits. Only digests of secrets are stored."""

import hashlib
import secrets
from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from functools import partial

from sqlalchemy import Connection

from arena.escaping import escape_control
from ladder import store
from ladder.clock import DAY_S
from ladder.ladder import Ladder, get_user, make_viewer, transaction
from ladder.permissions import READ_SCOPE, SUBMIT_SCOPE, Viewer
from ladder.settings import LadderError
from ladder.users.roster import fold_ascii_case

# Of a session: its longest; it ends earlier when unused for SESSION_IDLE_S.
CREDENTIAL_LIFETIMES_S = {"link": DAY_S, "session": 30 * DAY_S, "token": 180 * DAY_S}
CREDENTIAL_LIFETIMES_S |= dict.fromkeys(("join", "team"), 14 * DAY_S)
CREDENTIAL_LIFETIMES_S |= dict.fromkeys(("password", "openid"), 3650 * DAY_S)
TOKEN_SCOPES = (READ_SCOPE, SUBMIT_SCOPE)
APPROVAL_SCOPE = "ask"  # the scope of a sign-up link whose accounts need staff's approval


@dataclass(frozen=True, slots=True)
class IssuedSecret:
    """A user's new secret, shown once and not stored. id, kind, scope: the credential's. expires_at: Unix time."""

    id: int
    login: str
    kind: str
    scope: str
    secret: str
    expires_at: float


class AuthenticationError(Exception):
    """A secret was rejected. The message is one line and reveals nothing about other users."""


def issue_secret(
    ladder: Ladder,
    login: str,
    kind: str,
    actor: str,
    scope: str = "submit",
    *,
    lasts_s: float | None = None,
    check: Callable[[Connection, store.User], None] = lambda connection, user: None,
) -> IssuedSecret:
    """Create a link, session or token for a user, with the arguments and errors of `issue_secrets`."""
    [issued] = issue_secrets(ladder, [login], kind, actor, scope, lasts_s=lasts_s, check=check)
    return issued


def issue_secrets(
    ladder: Ladder,
    logins: Sequence[str],
    kind: str,
    actor: str,
    scope: str = "submit",
    *,
    lasts_s: float | None = None,
    check: Callable[[Connection, store.User], None] = lambda connection, user: None,
) -> list[IssuedSecret]:
    """Create a link, session or token for each of these users, in one transaction. Sessions aren't in the audit log.

    lasts_s: None for the default of the kind. check: raises an error for a user that gets no secret.
    Raises LadderError for an unknown login."""
    scope = scope if kind != store.JOIN or scope == APPROVAL_SCOPE else store.JOIN
    draw = _draw_code if kind == store.LINK else partial(secrets.token_urlsafe, 32)
    drawn, now = {login: draw() for login in logins}, ladder.clock()
    ends = now + (lasts_s or (store.SESSION_IDLE_S if kind == store.SESSION else CREDENTIAL_LIFETIMES_S[kind]))

    def act(connection: Connection) -> list[IssuedSecret]:
        """Insert the credentials. A repeated call, after a commit's reply was lost, finds them by their digests."""
        made = []
        for login, secret in drawn.items():
            user = get_user(connection, login)
            check(connection, user)
            credential = store.Credential(user.id, user.login, kind, hash_secret(secret), scope, actor, now, ends)
            is_new = kind != store.SESSION and store.find_credential(connection, credential.token_sha256) is None
            id = store.insert_credential(connection, credential)
            if is_new:
                reason = f"{kind} {id}, to {scope}" if kind == store.TOKEN else f"{kind} {id}"
                store.log_action(connection, store.AuditEntry(actor, "issue", reason, now, user_id=user.id))
            made.append(IssuedSecret(id, user.login, kind, scope, secret, ends))
        return made

    return ladder.database.write(act)


# A code can be typed: no letter looks like a digit (Crockford's Base32).
_CODE_ALPHABET, _CODE_GROUPS = "0123456789ABCDEFGHJKMNPQRSTVWXYZ", 4
_MISREAD = str.maketrans("OIL", "011", "- \t")


def _draw_code() -> str:
    """Return a random code such as "7Q2F-K0MX-9DTA-R4PB", of 80 bits."""
    return "-".join("".join(secrets.choice(_CODE_ALPHABET) for _ in range(4)) for _ in range(_CODE_GROUPS))


def _normalize_code(text: str) -> str:
    """Return a typed code as it was drawn: in upper case and in groups, with the digits that look like O, I and L."""
    code = text.upper().translate(_MISREAD)
    return "-".join(code[start : start + 4] for start in range(0, len(code), 4))


def sign_in_by_link(ladder: Ladder, link: str) -> IssuedSecret:
    """Exchange a link's code for a session. Raises AuthenticationError if it is unknown, used, revoked or expired."""
    return _exchange_link(ladder, _normalize_code(link), secrets.token_urlsafe(32))


@transaction
def _exchange_link(connection: Connection, ladder: Ladder, link: str, secret: str) -> IssuedSecret:
    """Start the session with this secret for a link's user, once: a repeated call with the secret returns it again."""
    now = ladder.clock()
    entry = store.find_credential(connection, hash_secret(link))
    known = store.find_credential(connection, hash_secret(secret))  # of an earlier call whose commit's reply was lost
    repeated = entry is not None and known is not None and entry.session_id == known.id
    if entry is None or entry.kind != store.LINK or not (entry.is_valid(now) or repeated):
        raise AuthenticationError("this link was used already or has expired: ask for another one")
    ends = now + store.SESSION_IDLE_S
    by = f"link {entry.id}"
    new = store.Credential(entry.user_id, entry.login, store.SESSION, hash_secret(secret), entry.scope, by, now, ends)
    session = store.insert_credential(connection, new)
    store.record_session(connection, entry.id, session)
    return IssuedSecret(session, entry.login, store.SESSION, entry.scope, secret, ends)


def sign_in_by_provider(ladder: Ladder, issuer: str, subject: str, email: str | None) -> IssuedSecret:
    """Start a session for the user with an account at an identity provider. email: verified by the provider, or None.

    The email identifies the user at the first sign-in. Later only the subject does, which a provider never reuses.
    A user has at most one account at a provider, and staff has none, so that a changed email gives no access.

    Raises AuthenticationError if no user, or more than one, has the email, or if the user is staff or locked out."""
    now, digest = ladder.clock(), hash_secret(f"{issuer} {subject}")

    def act(connection: Connection) -> store.Credential:
        known = store.find_credential(connection, digest)
        if known is None:
            user = _get_user_by_email(connection, email)
            ends = now + CREDENTIAL_LIFETIMES_S[store.OPENID]
            known = store.Credential(user.id, user.login, store.OPENID, digest, "submit", "OpenID Connect", now, ends)
            known = replace(known, id=store.insert_credential(connection, known))
        if not known.is_valid(now):
            raise AuthenticationError("the staff revoked your account at the provider: ask them")
        return known

    def check(connection: Connection, user: store.User) -> None:
        if user.staff:
            raise AuthenticationError("staff signs in with a link or a password, not at the provider")
        require_not_locked_out(connection, user)

    known = ladder.database.write(act)
    return issue_secret(ladder, known.login, store.SESSION, f"{store.OPENID} {known.id}", check=check)


def _get_user_by_email(connection: Connection, email: str | None) -> store.User:
    """Return the only user with this email. Raises AuthenticationError, also if they have a provider account."""
    if not email:
        raise AuthenticationError(
            "the provider sent no verified email for you: verify your email there, and sign in again"
        )
    users = [user for user in store.all_users(connection, merged=True) if not user.waiting]
    with_email = [user for user in users if user.email and fold_ascii_case(user.email) == fold_ascii_case(email)]
    ids = {user.merged_into or user.id for user in with_email}
    matching = [user for user in users if user.id in ids]
    if len(matching) != 1:
        owner = "several users in the roster have" if matching else "no user in the roster has"
        raise AuthenticationError(f'{owner} the email "{escape_control(email)}": ask the staff')
    [user] = matching
    if user.staff:
        raise AuthenticationError("staff signs in with a link or a password, not at the provider")
    credentials = store.all_credentials(connection, user.login)
    if any(credential.kind == store.OPENID and not credential.revoked for credential in credentials):
        raise AuthenticationError(
            "another account at the provider is linked to you: sign in with that account, or ask the staff"
        )
    return user


@transaction
def log_failed_sign_in(connection: Connection, ladder: Ladder, reason: str, login: str | None) -> None:
    """Record a failed sign-in as an event, with the login only if it exists: other text may be a password."""
    user = store.find_user(connection, login) if login else None
    details = reason if user is None else f"{user.login}: {reason}"
    store.record_event(connection, store.SIGN_IN_FAILED, ladder.clock(), details=details)


def authenticate_secret(ladder: Ladder, secret: str, kind: str) -> Viewer:
    """Return the viewer of a session or token, and extend the session. kind: SESSION or TOKEN.

    Raises AuthenticationError if the secret isn't valid, or the user is suspended, withdrawn or not approved.
    """

    def read(connection: Connection) -> tuple[store.Credential | None, Viewer | None, str | None]:
        entry = store.find_credential(connection, hash_secret(secret))
        user = None if entry is None else store.find_user(connection, entry.login)
        if user is None:
            return entry, None, None
        return entry, make_viewer(connection, user), store.lockout_reason(connection, user)

    entry, viewer, reason = ladder.database.read_with_retry(read)
    if (
        entry is None
        or viewer is None
        or entry.kind != kind
        or kind == store.LINK
        or not entry.is_valid(ladder.clock())
    ):
        ended = (
            "your session has ended" if kind == store.SESSION else f"this {kind} is unknown, was revoked or has expired"
        )
        raise AuthenticationError(ended)
    if reason is not None:
        raise AuthenticationError(f"you are {reason}")
    session = entry.id if kind == store.SESSION else None
    later = min(entry.created_at + CREDENTIAL_LIFETIMES_S[store.SESSION], ladder.clock() + store.SESSION_IDLE_S)
    if session and later >= entry.expires_at + DAY_S:  # at most one write per day
        ladder.database.write(lambda connection: store.set_expiry(connection, entry.id, later))
    return replace(viewer, can_write=entry.scope == SUBMIT_SCOPE, token=session is None, session=session)


def require_not_locked_out(connection: Connection, user: store.User) -> None:
    """Raise AuthenticationError, with the reason, if the user is suspended, withdrawn or not approved."""
    reason = store.lockout_reason(connection, user)
    if reason is not None:
        raise AuthenticationError(f"you are {reason}")


@transaction
def revoke_credential(
    connection: Connection, ladder: Ladder, id: int, actor: str, reason: str, login: str | None = None
) -> bool:
    """Revoke a credential and the sessions that it started; return False if it is revoked already.

    actor, reason: for the audit log. login: the user that revokes their own credential, None for staff. Raises
    LadderError if the credential doesn't exist, belongs to another user, or is the user's own password or provider
    account.
    """
    credentials = store.all_credentials(connection, login)
    entry = next((credential for credential in credentials if credential.id == id), None)
    # A user can't revoke their password or provider account here: access to an unattended browser isn't enough.
    if entry is None or (login is not None and entry.kind in (store.PASSWORD, store.OPENID)):
        place = "your account" if login else f"arena ladder access list {ladder.path}"
        raise LadderError(f"the ladder has no credential {id}.\nSee {place}.")
    if entry.revoked:
        return False
    name = f"{entry.kind} {id}"
    for credential in credentials:
        if credential.id == id or (credential.kind == store.SESSION and credential.created_by == name):
            store.expire_credential(connection, credential.id)
    text = f"{name}: {reason}"
    store.log_action(connection, store.AuditEntry(actor, "revoke", text, ladder.clock(), user_id=entry.user_id))
    return True


@transaction
def sign_out(connection: Connection, ladder: Ladder, session: str) -> None:
    """Revoke the session with this secret; do nothing if it is unknown."""
    entry = store.find_credential(connection, hash_secret(session))
    if entry is not None and entry.kind == store.SESSION:
        store.expire_credential(connection, entry.id)


def hash_secret(secret: str) -> str:
    """Return the SHA-256 of a secret as hex, which is stored instead of the secret."""
    return hashlib.sha256(secret.encode()).hexdigest()


def set_shows_name(ladder: Ladder, login: str, shows_name: bool) -> None:
    """Store whether a user agrees to have the name on podiums."""
    ladder.database.write(
        lambda connection: store.set_user_shows_name(connection, login, shows_name=shows_name, timestamp=ladder.clock())
    )
