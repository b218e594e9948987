"""How people without the ladder's file sign in, and as whom: by a link, a session, a token, or a password.

Whoever has the file is staff.

A link is for one sign-in: it is changed into a session, once. Secrets are 256 random bits.
"""

import hashlib
import secrets
from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace

from sqlalchemy import Connection

from arena.bots import shown
from ladder.access import READ, SUBMIT, Viewer
from ladder.service.known import known_owner, viewer_for
from ladder.service.ladder import Ladder
from ladder.service.roster import same_letters
from ladder.service.settings import LadderError
from ladder.store.database import (
    JOIN,
    LINK,
    NOT_SIGNED_IN,
    OPENID,
    PASSWORD,
    SESSION,
    Act,
    Credential,
    Owner,
    all_owners,
    credentials_of,
    find_credential,
    find_owner,
    note_act,
    note_event,
    put_credential,
    revoke,
    set_ends,
    set_session,
    why_out,
)

DAY_S = 86_400.0
LASTS_S = {"link": DAY_S, "session": 30 * DAY_S, "token": 180 * DAY_S, "join": 14 * DAY_S}
LASTS_S |= dict.fromkeys(("password", "openid"), 3650 * DAY_S)
SCOPES = (READ, SUBMIT)
IDLE_S = 7 * DAY_S  # after its last use a session ends, to a day
ASK = "ask"  # the scope of a link to join whose accounts staff approves


@dataclass(frozen=True, slots=True)
class Issued:
    """A secret that lets a person in: it is shown this once, and isn't kept. ends: in seconds since 1970."""

    id: int
    login: str
    kind: str
    scope: str
    secret: str
    ends: float


class NotLetInError(Exception):
    """Say in one line why a secret lets nobody in. The reason tells nothing about other people."""


def issue(
    ladder: Ladder,
    login: str,
    kind: str,
    who: str,
    scope: str = "submit",
    lasts_s: float | None = None,
    check: Callable[[Connection, Owner], None] = lambda connection, owner: None,
) -> Issued:
    """Make a link, a session or a token for a person, unless `check` raises.

    Raises LadderError for an unknown login.
    """
    [issued] = issue_each(ladder, [login], kind, who, scope, lasts_s, check)
    return issued


def issue_each(
    ladder: Ladder,
    logins: Sequence[str],
    kind: str,
    who: str,
    scope: str = "submit",
    lasts_s: float | None = None,
    check: Callable[[Connection, Owner], None] = lambda connection, owner: None,
) -> list[Issued]:
    """Make what `issue` makes for each of these people: for all or none. But for sessions they are noted as acts."""
    scope = scope if kind != JOIN or scope == ASK else JOIN
    drawn, now = {login: secrets.token_urlsafe(32) for login in logins}, ladder.clock()
    ends = now + (lasts_s or (IDLE_S if kind == SESSION else LASTS_S[kind]))

    def act(connection: Connection) -> list[Issued]:
        made = []
        for login, secret in drawn.items():
            owner = known_owner(connection, login)
            check(connection, owner)
            one = Credential(owner.id, owner.login, kind, digest_of(secret), scope, who, now, ends)
            new = kind != SESSION and find_credential(connection, one.digest) is None
            id = put_credential(connection, one)
            if new:
                note_act(connection, Act(who, "issue", f"{kind} {id}, to {scope}", now, owner=owner.id))
            made.append(Issued(id, owner.login, kind, scope, secret, ends))
        return made

    return ladder.database.write(act)


def sign_in(ladder: Ladder, link: str) -> Issued:
    """Change a link into a session. Raises NotLetInError for one that was changed, revoked, or whose time is over."""
    secret, now = secrets.token_urlsafe(32), ladder.clock()

    def act(connection: Connection) -> Issued:
        entry = find_credential(connection, digest_of(link))
        known = find_credential(connection, digest_of(secret))  # of an earlier call, whose commit had no answer
        if entry is None or entry.kind != LINK or not (entry.holds(now) or (known and entry.session == known.id)):
            raise NotLetInError("this link is used up or too old: ask for another one")
        ends = now + IDLE_S
        by = f"link {entry.id}"
        new = Credential(entry.owner, entry.login, SESSION, digest_of(secret), entry.scope, by, now, ends)
        session = put_credential(connection, new)
        set_session(connection, entry.id, session)
        return Issued(session, entry.login, SESSION, entry.scope, secret, ends)

    return ladder.database.write(act)


def sign_in_as(ladder: Ladder, issuer: str, subject: str, email: str | None) -> Issued:
    """Begin a session for the participant whose account at a provider this is; email: one that the provider verified.

    The email tells who that is the first time. From then on the subject alone does, which a provider never gives to
    another account. Staff doesn't sign in so, and a person has one account there: rights follow no email.

    Raises NotLetInError for a person who isn't in the roster, or waits for approval: a provider's word adds nobody.
    """
    now, digest = ladder.clock(), digest_of(f"{issuer} {subject}")

    def act(connection: Connection) -> Credential:
        known = find_credential(connection, digest)
        if known is None:
            owner = _by_email(connection, email)
            ends = now + LASTS_S[OPENID]
            known = Credential(owner.id, owner.login, OPENID, digest, "submit", "OpenID Connect", now, ends)
            known = replace(known, id=put_credential(connection, known))
        if not known.holds(now):
            raise NotLetInError("your account at the provider was revoked here: ask the staff")
        return known

    def check(connection: Connection, owner: Owner) -> None:
        if owner.staff:
            raise NotLetInError("staff signs in by a link or a password, not at the provider")
        refuse_out(connection, owner)

    known = ladder.database.write(act)
    return issue(ladder, known.login, SESSION, f"{OPENID} {known.id}", check=check)


def _by_email(connection: Connection, email: str | None) -> Owner:
    """Return the participant of a verified email who has no account at a provider yet. Raises NotLetInError."""
    if not email:
        raise NotLetInError("the provider tells no verified email of yours: verify it there, and come again")
    owners = [owner for owner in all_owners(connection, merged=True) if not owner.waiting]
    ids = {
        owner.merged or owner.id for owner in owners if owner.email and same_letters(owner.email) == same_letters(email)
    }
    found = [owner for owner in owners if owner.id in ids]
    if len(found) != 1:
        many = "several people of the roster have" if found else "nobody in the roster has"
        raise NotLetInError(f'{many} the email "{shown(email)}": ask the staff')
    [owner] = found
    if owner.staff:
        raise NotLetInError("staff signs in by a link or a password, not at the provider")
    if any(each.kind == OPENID and not each.revoked for each in credentials_of(connection, owner.login)):
        raise NotLetInError(
            "another account at the provider is yours here: sign in there by that one, or ask the staff"
        )
    return owner


def note_failed(ladder: Ladder, why: str, login: str | None) -> None:
    """Note that a sign-in failed, and at whose login, if there is one: what else was typed may be a password."""

    def act(connection: Connection) -> None:
        owner = find_owner(connection, login) if login else None
        said = why if owner is None else f"{owner.login}: {why}"
        note_event(connection, NOT_SIGNED_IN, ladder.clock(), said=said)

    ladder.database.write(act)


def viewer_of(ladder: Ladder, secret: str, kind: str) -> Viewer:
    """Return as whom a session or a token lets somebody look, and act. Raises NotLetInError, also for who is out."""

    def look(connection: Connection) -> tuple[Credential | None, Viewer | None, str | None]:
        entry = find_credential(connection, digest_of(secret))
        owner = None if entry is None else find_owner(connection, entry.login)
        if owner is None:
            return entry, None, None
        return entry, viewer_for(connection, owner), why_out(connection, owner)

    entry, viewer, out = ladder.database.look(look)
    if entry is None or viewer is None or entry.kind != kind or kind == LINK or not entry.holds(ladder.clock()):
        raise NotLetInError(f"this {kind} is not known, was revoked, or its time is over")
    if out is not None:
        raise NotLetInError(f"you are {out}")
    session = entry.id if kind == SESSION else None
    later = min(entry.at + LASTS_S[SESSION], ladder.clock() + IDLE_S)
    if session and later >= entry.ends + DAY_S:  # a write a day
        ladder.database.write(lambda connection: set_ends(connection, entry.id, later))
    return replace(viewer, changes=entry.scope == SUBMIT, token=session is None, session=session)


def refuse_out(connection: Connection, owner: Owner) -> None:
    """Raise NotLetInError for a person who is suspended or left the course, with the reason."""
    out = why_out(connection, owner)
    if out is not None:
        raise NotLetInError(f"you are {out}")


def revoke_credential(ladder: Ladder, id: int, who: str, why: str, login: str | None = None) -> bool:
    """End a credential, and the sessions that began by it; return False if it has ended already.

    Raises LadderError if there is none, or it isn't this person's.
    """
    now = ladder.clock()

    def act(connection: Connection) -> bool:
        known = credentials_of(connection, login)
        entry = next((each for each in known if each.id == id), None)
        if entry is None or (
            login is not None and entry.kind in (PASSWORD, OPENID)
        ):  # a browser left open ends neither
            see = "your account" if login else f"arena ladder access list {ladder.path}"
            raise LadderError(f"there is no credential {id}.\nSee {see}.")
        if entry.revoked:
            return False
        for each in known:
            if each.id == id or (each.kind == SESSION and each.by == f"{entry.kind} {id}"):
                revoke(connection, each.id)
        note_act(connection, Act(who, "revoke", f"{entry.kind} {id}: {why}", now, owner=entry.owner))
        return True

    return ladder.database.write(act)


def sign_out(ladder: Ladder, session: str) -> None:
    """End a session; an unknown one is ignored."""

    def act(connection: Connection) -> None:
        entry = find_credential(connection, digest_of(session))
        if entry is not None and entry.kind == SESSION:
            revoke(connection, entry.id)

    ladder.database.write(act)


def digest_of(secret: str) -> str:
    """Return what is kept of a secret."""
    return hashlib.sha256(secret.encode()).hexdigest()
