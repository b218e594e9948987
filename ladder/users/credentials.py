"""Issue, check, extend and revoke what signs users in without file access: links, sessions, tokens, provider accounts.

A user with access to the ladder's file is staff. A sign-in link works once and becomes a session. Its secret is a code
of 80 random bits, which can be typed; other secrets are 256 random bits. Only digests of secrets are stored."""

import hashlib
import secrets
from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace

from sqlalchemy import Connection

from arena.escaping import escape_control, quote_path
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

    scope: that of a sign-up link is JOIN unless it is APPROVAL_SCOPE. lasts_s: None for the default of the kind.
    check: raises an error for a user that gets no secret; then no user gets one. Raises LadderError for an unknown
    login."""
    granted_scope = store.JOIN if kind == store.JOIN and scope != APPROVAL_SCOPE else scope
    draw = _draw_code if kind == store.LINK else draw_secret
    secrets_by_login = {login: draw() for login in logins}
    default_s = store.SESSION_IDLE_S if kind == store.SESSION else CREDENTIAL_LIFETIMES_S[kind]
    created_at = ladder.clock()
    expires_at = created_at + (default_s if lasts_s is None else lasts_s)

    def insert_all(connection: Connection) -> list[IssuedSecret]:
        issued = []
        for login, secret in secrets_by_login.items():
            user = get_user(connection, login)
            check(connection, user)
            credential = store.Credential(
                user.id, user.login, kind, hash_secret(secret), granted_scope, actor, created_at, expires_at
            )
            id = _insert_and_log(connection, credential)
            issued.append(IssuedSecret(id, user.login, kind, granted_scope, secret, expires_at))
        return issued

    return ladder.database.write(insert_all)


def _insert_and_log(connection: Connection, credential: store.Credential) -> int:
    """Insert a credential, log it unless it is a session, and return its id.

    A repeated call, after a commit's reply was lost, finds it by its digest and changes nothing.
    """
    kind = credential.kind
    is_logged = kind != store.SESSION and store.find_credential(connection, credential.token_sha256) is None
    id = store.insert_credential(connection, credential)
    if is_logged:
        reason = f"{kind} {id}, to {credential.scope}" if kind == store.TOKEN else f"{kind} {id}"
        entry = store.AuditEntry(
            credential.created_by, "issue", reason, credential.created_at, user_id=credential.user_id
        )
        store.log_action(connection, entry)
    return id


def draw_secret() -> str:
    """Return a new secret of 256 random bits, in letters of URLs."""
    return secrets.token_urlsafe(32)


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
    return _exchange_link(ladder, _normalize_code(link), draw_secret())


@transaction
def _exchange_link(connection: Connection, ladder: Ladder, link: str, secret: str) -> IssuedSecret:
    """Start the session with this secret for a link's user, once: a repeated call with the secret returns it again.

    Raises AuthenticationError as `sign_in_by_link` does.
    """
    now, digest = ladder.clock(), hash_secret(secret)
    credential = store.find_credential(connection, hash_secret(link))
    old_session = store.find_credential(connection, digest)  # of an earlier call whose commit's reply was lost
    is_repeated = credential is not None and old_session is not None and credential.session_id == old_session.id
    if credential is None or credential.kind != store.LINK or not (credential.is_valid(now) or is_repeated):
        raise AuthenticationError("this link was used already or has expired: ask for another one")
    login, scope, expires_at = credential.login, credential.scope, now + store.SESSION_IDLE_S
    session = store.Credential(
        credential.user_id, login, store.SESSION, digest, scope, f"link {credential.id}", now, expires_at
    )
    session_id = store.insert_credential(connection, session)
    store.record_session(connection, credential.id, session_id)
    return IssuedSecret(session_id, login, store.SESSION, scope, secret, expires_at)


def sign_in_by_provider(ladder: Ladder, issuer: str, subject: str, email: str | None) -> IssuedSecret:
    """Start a session for the user with an account at an identity provider. email: verified by the provider, or None.

    The email identifies the user at the first sign-in. Later only the subject does, which a provider never reuses.
    A user has at most one account at a provider, and staff has none, so that a changed email gives no access.

    Raises AuthenticationError if no user, or more than one, has the email, if the user is staff or locked out, has
    another account at the provider, or staff revoked this one."""
    account = _get_or_link_account(ladder, hash_secret(f"{issuer} {subject}"), email)

    def require_may_sign_in(connection: Connection, user: store.User) -> None:
        _require_no_staff(user)
        require_not_locked_out(connection, user)

    actor = f"{store.OPENID} {account.id}"
    return issue_secret(ladder, account.login, store.SESSION, actor, check=require_may_sign_in)


@transaction
def _get_or_link_account(connection: Connection, ladder: Ladder, digest: str, email: str | None) -> store.Credential:
    """Return the provider account with this digest; link a new one to the user with the email.

    Raises AuthenticationError if it is revoked, or as `_get_user_by_email` does.
    """
    now = ladder.clock()
    account = store.find_credential(connection, digest)
    if account is None:
        user = _get_user_by_email(connection, email)
        expires_at = now + CREDENTIAL_LIFETIMES_S[store.OPENID]
        new_account = store.Credential(
            user.id, user.login, store.OPENID, digest, "submit", "OpenID Connect", now, expires_at
        )
        return replace(new_account, id=store.insert_credential(connection, new_account))
    if not account.is_valid(now):
        raise AuthenticationError("the staff revoked your account at the provider: ask them")
    return account


def _require_no_staff(user: store.User) -> None:
    if user.staff:
        raise AuthenticationError("staff signs in with a link or a password, not at the provider")


def _list_users_with_email(connection: Connection, email: str) -> list[store.User]:
    """Return the users with an email, or into whom a user with it was merged; the case of ASCII letters is ignored."""
    users = [user for user in store.all_users(connection, merged=True) if not user.waiting]
    folded_email = fold_ascii_case(email)
    ids = {user.merged_into or user.id for user in users if user.email and fold_ascii_case(user.email) == folded_email}
    return [user for user in users if user.id in ids]


def _get_user_by_email(connection: Connection, email: str | None) -> store.User:
    """Return the only user with this email, also if only a user that was merged into them has it.

    Raises AuthenticationError if there isn't exactly one, or if the user is staff or has a provider account.
    """
    if not email:
        raise AuthenticationError(
            "the provider sent no verified email for you: verify your email there, and sign in again"
        )
    matching = _list_users_with_email(connection, email)
    if len(matching) != 1:
        subject = "several users in the roster have" if matching else "no user in the roster has"
        raise AuthenticationError(f'{subject} the email "{escape_control(email)}": ask the staff')
    [user] = matching
    _require_no_staff(user)
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

    def find_viewer(connection: Connection) -> tuple[store.Credential, Viewer]:
        credential = _get_valid_credential(connection, secret, kind, ladder.clock())
        user = store.find_user(connection, credential.login)
        assert user is not None, "a credential has a user"
        require_not_locked_out(connection, user)
        return credential, make_viewer(connection, user)

    credential, viewer = ladder.database.read_with_retry(find_viewer)
    can_write = credential.scope == SUBMIT_SCOPE
    if kind == store.TOKEN:
        return replace(viewer, can_write=can_write, token=True, session=None)
    _extend_session(ladder, credential)
    return replace(viewer, can_write=can_write, token=False, session=credential.id)


def _get_valid_credential(connection: Connection, secret: str, kind: str, now: float) -> store.Credential:
    """Return the session or token with this secret. Raises AuthenticationError for any other kind or invalid secret."""
    credential = store.find_credential(connection, hash_secret(secret))
    is_accepted_kind = kind in (store.SESSION, store.TOKEN)
    if credential is not None and is_accepted_kind and credential.kind == kind and credential.is_valid(now):
        return credential
    if kind == store.SESSION:
        raise AuthenticationError("your session has ended")
    raise AuthenticationError(f"this {kind} is unknown, was revoked or has expired")


def _extend_session(ladder: Ladder, session: store.Credential) -> None:
    """Extend a session that is used, at most to the longest lifetime, and with at most one write per day."""
    max_expiry = session.created_at + CREDENTIAL_LIFETIMES_S[store.SESSION]
    expires_at = min(max_expiry, ladder.clock() + store.SESSION_IDLE_S)
    if expires_at >= session.expires_at + DAY_S:
        ladder.database.write(lambda connection: store.set_expiry(connection, session.id, expires_at))


def require_not_locked_out(connection: Connection, user: store.User) -> None:
    """Raise AuthenticationError, with the reason, if the user is suspended, withdrawn or not approved."""
    reason = store.lockout_reason(connection, user)
    if reason is not None:
        raise AuthenticationError(f"you are {reason}")


@transaction
def revoke_credential(
    connection: Connection, ladder: Ladder, id: int, actor: str, reason: str, login: str | None = None
) -> bool:
    """Revoke a credential and the sessions that it started by signing in; return False if it is revoked already.

    The sessions of users that signed up by a link stay.

    actor, reason: for the audit log. login: the user that revokes their own credential, None for staff. Raises
    LadderError if the credential doesn't exist, belongs to another user, or is the user's own password or provider
    account.
    """
    credentials = store.all_credentials(connection, login)
    revoked = next((credential for credential in credentials if credential.id == id), None)
    # A user can't revoke their password or provider account here: access to an unattended browser isn't enough.
    if revoked is None or (login is not None and revoked.kind in (store.PASSWORD, store.OPENID)):
        place = "your account" if login else f"arena ladder access list {quote_path(ladder.path)}"
        raise LadderError(f"the ladder has no credential {id}.\nSee {place}.")
    if revoked.revoked:
        return False
    name = f"{revoked.kind} {id}"
    for credential in credentials:
        if credential.id == id or (credential.kind == store.SESSION and credential.created_by == name):
            store.expire_credential(connection, credential.id)
    text = f"{name}: {reason}"
    store.log_action(connection, store.AuditEntry(actor, "revoke", text, ladder.clock(), user_id=revoked.user_id))
    return True


@transaction
def sign_out(connection: Connection, ladder: Ladder, session: str) -> None:
    """Revoke the session with this secret; do nothing if it is unknown."""
    credential = store.find_credential(connection, hash_secret(session))
    if credential is not None and credential.kind == store.SESSION:
        store.expire_credential(connection, credential.id)


def hash_secret(secret: str) -> str:
    """Return the SHA-256 of a secret as hex, which is stored instead of the secret."""
    return hashlib.sha256(secret.encode()).hexdigest()


@transaction
def set_shows_name(connection: Connection, ladder: Ladder, login: str, shows_name: bool) -> None:
    """Store whether a user agrees to have the name on podiums."""
    store.set_user_shows_name(connection, login, shows_name=shows_name, timestamp=ladder.clock())
