"""Set, check and remove passwords.

They can be guessed, so they are stored as Argon2 hashes. Verification takes equally long for a login without a password
and for an unknown login. argon2 comes with the extra `web` and is imported at its first use."""

import threading
import unicodedata
from collections.abc import Collection
from functools import cache
from typing import TYPE_CHECKING

from sqlalchemy import Connection

from ladder import store
from ladder.ladder import Ladder, get_acting_user, transaction
from ladder.permissions import Viewer
from ladder.settings import LadderError
from ladder.users import credentials

if TYPE_CHECKING:
    from argon2 import PasswordHasher

MIN_PASSWORD_CHARS, MAX_PASSWORD_CHARS, MIN_DISTINCT_CHARS = 12, 200, 5
# Most common passwords of 12 characters or more consist of these parts. Longer parts come first.
_COMMON_PARTS = """
1234567890 qwertyuiop asdfghjkl 0987654321 123456789 987654321 p@ssw0rd passw0rd passwort password motdepasse contrasena
administrator superman football baseball basketball princess sunshine iloveyou changeme trustno1 starwars whatever
computer internet zxcvbnm 12345678 1234567 1q2w3e4r qwerty qwertz azerty asdfgh 123456 654321 123123 abc123 abcdef
letmein welcome monkey dragon master shadow secret login admin hello coup 12345 54321 1234 4321 1q2w 2025 2026 2027 abcd
qwer asdf
"""
_WRONG = "the login or the password is wrong"
_HASH_SLOTS = threading.BoundedSemaphore(4)  # limits memory: a hash takes 19 MiB


def set_password(ladder: Ladder, viewer: Viewer, new: str, current: str = "", tokens: bool = False) -> None:
    """Set or change the viewer's password, and revoke all their other sessions, their links and, if `tokens`, tokens.

    Raises LadderError if the new password is too weak, or `current` isn't the current password."""
    _require_strong_password(new, str(viewer.login))
    _replace_password(ladder, viewer, current, _hash(new), tokens)


def remove_password(ladder: Ladder, viewer: Viewer, current: str) -> None:
    """Remove the viewer's password, and revoke other sessions and links. Raises LadderError for a wrong `current`."""
    _replace_password(ladder, viewer, current, None)


def find_login(ladder: Ladder, typed: str) -> str:
    """Return the login that a user typed in any case; the text itself unless exactly one login differs by its case."""
    with ladder.database.read() as connection:
        matching = [user.login for user in store.all_users(connection) if user.login.casefold() == typed.casefold()]
    return matching[0] if len(matching) == 1 else typed


def sign_in_by_password(ladder: Ladder, login: str, password: str) -> credentials.IssuedSecret:
    """Start a session; return its secret.

    Raises AuthenticationError for an unknown login or a wrong password, without saying which; with the right password,
    the message says why the user is locked out.
    """
    credential = ladder.database.read_with_retry(lambda connection: _find_password(connection, login, ladder.clock()))
    if not _verify_password(credential, password) or credential is None:
        raise credentials.AuthenticationError(_WRONG)

    def require_may_sign_in(connection: Connection, user: store.User) -> None:
        credentials.require_not_locked_out(connection, user)
        if _find_password(connection, login, ladder.clock()) != credential:
            raise credentials.AuthenticationError(_WRONG)

    actor = f"password {credential.id}"
    return credentials.issue_secret(ladder, credential.login, store.SESSION, actor, check=require_may_sign_in)


def _replace_password(ladder: Ladder, viewer: Viewer, current: str, hash: str | None, tokens: bool = False) -> None:
    """Set a password's hash, or none, and revoke the other credentials, as `set_password` does.

    The slow verification runs before the transaction, which requires that the password is still the same. Raises
    LadderError for a wrong current password, one that was changed in the meantime, or a user that is locked out.
    """
    login = str(viewer.login)
    verified = ladder.database.read_with_retry(lambda connection: _find_password(connection, login, ladder.clock()))
    if verified is not None and not _verify_password(verified, current):
        raise LadderError("That isn't your current password.\nIf you forgot it, ask the staff to remove it.")
    revoked_kinds = {store.PASSWORD, store.SESSION, store.LINK, *([store.TOKEN] if tokens else [])}
    digest = credentials.hash_secret(credentials.draw_secret())
    _replace_verified(ladder, viewer, verified, revoked_kinds, digest, hash)


@transaction
def _replace_verified(
    connection: Connection,
    ladder: Ladder,
    viewer: Viewer,
    verified: store.Credential | None,
    revoked_kinds: Collection[str],
    digest: str,
    hash: str | None,
) -> None:
    """Replace the password `verified`, None without one, by one with this hash, or by none.

    digest: of the new password's row. Raises LadderError if another one was set since the verification.
    """
    if store.find_credential(connection, digest) is not None:
        return  # a repeated call, after a commit's reply was lost
    login, now = str(viewer.login), ladder.clock()
    if _find_password(connection, login, now) not in (verified, None):
        raise LadderError("Your password was changed elsewhere in the meantime.\nTry again.")
    user = get_acting_user(connection, login)
    for credential in store.all_credentials(connection, login):
        if credential.kind in revoked_kinds and credential.id != viewer.session:
            store.expire_credential(connection, credential.id)
    if hash is not None:
        expires_at = now + credentials.CREDENTIAL_LIFETIMES_S[store.PASSWORD]
        password = store.Credential(
            user.id, login, store.PASSWORD, digest, "submit", login, now, expires_at, password_hash=hash
        )
        store.insert_credential(connection, password)


def _find_password(connection: Connection, login: str, now: float) -> store.Credential | None:
    """Return the valid password of a login, None without one."""
    passwords = (
        credential
        for credential in store.all_credentials(connection, login)
        if credential.kind == store.PASSWORD and credential.is_valid(now)
    )
    return next(passwords, None)


def _require_strong_password(password: str, login: str) -> None:
    """Raise LadderError for a password that is too short, too long, or mostly the login or common parts."""
    counted = _normalize(password).casefold().replace(login.casefold(), "")
    for common_part in _COMMON_PARTS.split():
        counted = counted.replace(common_part, common_part[0])
    is_weak = len(counted) < MIN_PASSWORD_CHARS or len(set(counted)) < MIN_DISTINCT_CHARS
    if is_weak or len(password) > MAX_PASSWORD_CHARS:
        raise LadderError(
            f"The password needs {MIN_PASSWORD_CHARS} to {MAX_PASSWORD_CHARS} characters, {MIN_DISTINCT_CHARS} of them "
            'different. Your login doesn\'t count; "password", "1234" and other common parts count as one character.\n'
            "Use several random words."
        )


def _normalize(password: str) -> str:
    """Return the NFKC form, which is hashed, since keyboards encode some letters in different ways."""
    return unicodedata.normalize("NFKC", password)


@cache
def _hasher() -> "tuple[PasswordHasher, str]":
    """Return the hasher and the hash of a random password, which is verified for logins without a password."""
    from argon2 import PasswordHasher

    hasher = PasswordHasher(time_cost=2, memory_cost=19 << 10, parallelism=1)
    return hasher, hasher.hash(credentials.draw_secret())


def _hash(password: str) -> str:
    with _HASH_SLOTS:
        return _hasher()[0].hash(_normalize(password))


def _verify_password(credential: store.Credential | None, password: str) -> bool:
    """Return whether this is the credential's password; without a credential return False after the same time.

    A password that is too long is wrong; in its place the empty text is hashed.
    """
    from argon2.exceptions import VerifyMismatchError

    hasher, random_hash = _hasher()
    stored_hash = None if credential is None else credential.password_hash
    text = _normalize(password) if len(password) <= MAX_PASSWORD_CHARS else ""
    try:
        with _HASH_SLOTS:
            return hasher.verify(stored_hash or random_hash, text)
    except VerifyMismatchError:
        return False
