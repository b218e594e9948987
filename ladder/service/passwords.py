"""Passwords: people set, change and remove their own, and sign in by it.

A password can be guessed, so what is kept of it is an Argon2 hash, which takes a while to compute; as long for a login
that has none, or that nobody has. argon2 comes with the extra `web`: it is imported where a password is looked at.
"""

import secrets
import threading
import unicodedata
from functools import cache
from typing import TYPE_CHECKING

from sqlalchemy import Connection

from ladder.access import Viewer
from ladder.service.accounts import LASTS_S, Issued, NotLetInError, digest_of, issue, refuse_out
from ladder.service.known import acting_owner
from ladder.service.ladder import Ladder
from ladder.service.settings import LadderError
from ladder.store.database import (
    LINK,
    PASSWORD,
    SESSION,
    TOKEN,
    Credential,
    Owner,
    credentials_of,
    find_credential,
    put_credential,
    revoke,
)

if TYPE_CHECKING:
    from argon2 import PasswordHasher

LEAST, MOST, LEAST_DIFFERENT = 12, 200, 5  # characters
# Most common passwords of 12 characters or more are made of these. Longer ones come first.
_COMMON = """
1234567890 qwertyuiop asdfghjkl 0987654321 123456789 987654321 p@ssw0rd passw0rd passwort password motdepasse contrasena
administrator superman football baseball basketball princess sunshine iloveyou changeme trustno1 starwars whatever
computer internet zxcvbnm 12345678 1234567 1q2w3e4r qwerty qwertz azerty asdfgh 123456 654321 123123 abc123 abcdef
letmein welcome monkey dragon master shadow secret login admin hello coup 12345 54321 1234 4321 1q2w 2025 2026 2027 abcd
qwer asdf
"""
_WRONG = "the login or the password is wrong"
_AT_A_TIME = threading.BoundedSemaphore(4)  # a hash takes 19 MiB


def set_password(ladder: Ladder, viewer: Viewer, new: str, current: str = "", tokens: bool = False) -> None:
    """Set a person's password, or change it for who knows the current one. Raises LadderError.

    All other sessions of the person end, and links that weren't used; with `tokens` the tokens too.
    """
    _check(new, str(viewer.login))
    _put(ladder, viewer, current, _hash(new), tokens)


def remove_password(ladder: Ladder, viewer: Viewer, current: str) -> None:
    """Remove a person's password for who knows it; their other sessions and their links end. Raises LadderError."""
    _put(ladder, viewer, current, None)


def sign_in_by_password(ladder: Ladder, login: str, password: str) -> Issued:
    """Begin a session. Raises NotLetInError, with a reason for who knows the password alone."""
    credential = ladder.database.look(lambda connection: _credential(connection, login, ladder.clock()))
    if not _fits(credential, password) or credential is None:
        raise NotLetInError(_WRONG)

    def check(connection: Connection, owner: Owner) -> None:
        refuse_out(connection, owner)
        if _credential(connection, login, ladder.clock()) != credential:
            raise NotLetInError(_WRONG)

    return issue(ladder, credential.login, SESSION, f"password {credential.id}", check=check)


def _put(ladder: Ladder, viewer: Viewer, current: str, hash: str | None, tokens: bool = False) -> None:
    login, now, digest = str(viewer.login), ladder.clock(), digest_of(secrets.token_urlsafe(32))
    ends = {PASSWORD, SESSION, LINK, *([TOKEN] if tokens else [])}
    credential = ladder.database.look(lambda connection: _credential(connection, login, now))
    if credential is not None and not _fits(credential, current):
        raise LadderError("That isn't your current password.\nWho forgot it asks the staff, who can remove it.")

    def act(connection: Connection) -> None:
        if find_credential(connection, digest) is not None:
            return  # the second call of a function whose commit had no answer
        if _credential(connection, login, now) not in (credential, None):
            raise LadderError("Your password was changed meanwhile.\nTry again.")
        owner = acting_owner(connection, login)
        for each in credentials_of(connection, login):
            if each.kind in ends and each.id != viewer.session:
                revoke(connection, each.id)
        if hash is not None:
            until = now + LASTS_S[PASSWORD]
            made = Credential(owner.id, login, PASSWORD, digest, "submit", login, now, until, hash=hash)
            put_credential(connection, made)

    ladder.database.write(act)


def _credential(connection: Connection, login: str, now: float) -> Credential | None:
    credential = (each for each in credentials_of(connection, login) if each.kind == PASSWORD and each.holds(now))
    return next(credential, None)


def _check(password: str, login: str) -> None:
    """Raise LadderError for a password that is too short, too long, or little but the login and what many choose."""
    plain = _plain(password).casefold().replace(login.casefold(), "")
    for word in _COMMON.split():
        plain = plain.replace(word, word[0])
    if len(password) > MOST or len(plain) < LEAST or len(set(plain)) < LEAST_DIFFERENT:
        raise LadderError(
            f"A password has {LEAST} to {MOST} characters, {LEAST_DIFFERENT} of them different. Your login counts"
            ' for none, "password", "1234" and their like for one.\nA few words in a row are good.'
        )


def _plain(password: str) -> str:
    """Return the form that is hashed: keyboards write one letter in several ways."""
    return unicodedata.normalize("NFKC", password)


@cache
def _hasher() -> "tuple[PasswordHasher, str]":
    """Return what hashes, and the hash of nobody's password."""
    from argon2 import PasswordHasher

    hasher = PasswordHasher(time_cost=2, memory_cost=19 << 10, parallelism=1)
    return hasher, hasher.hash(secrets.token_urlsafe(32))


def _hash(password: str) -> str:
    with _AT_A_TIME:
        return _hasher()[0].hash(_plain(password))


def _fits(credential: Credential | None, password: str) -> bool:
    """Tell whether this is the password; it takes as long where there is none."""
    from argon2.exceptions import VerifyMismatchError

    hasher, nobodys = _hasher()
    known = None if credential is None else credential.hash
    try:
        with _AT_A_TIME:
            plain = _plain(password) if len(password) <= MOST else ""
            return hasher.verify(known or nobodys, plain) and known is not None
    except VerifyMismatchError:
        return False
