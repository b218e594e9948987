"""People who ask to join: by a link of the staff's they send login, name and email, and staff takes them in or refuses.

An applicant gets a secret that leads back to the request. Once the request is granted, it is a link for one sign-in.
Nothing about others is told: whether a login is taken is for staff to see.
"""

import secrets
import unicodedata

from sqlalchemy import Connection

from arena.bots import shown
from ladder.service.accounts import DAY_S, digest_of
from ladder.service.ladder import Ladder
from ladder.service.owners import TakenIn, take_in_people
from ladder.service.roster import one_person
from ladder.service.settings import LadderError
from ladder.store.database import (
    ASKS,
    JOIN,
    LINK,
    REFUSED,
    TAKEN,
    Act,
    Applicant,
    Credential,
    all_applicants,
    all_owners,
    decide_applicant,
    find_credential,
    find_owner,
    note_act,
    put_applicant,
    put_credential,
)

MOST_ASKING = 200  # at a time
LASTS_S = 14 * DAY_S  # from the decision on: so long the applicant's secret signs in, once


def may_join(ladder: Ladder, link: str) -> bool:
    """Tell whether a link leads to the form by which people ask to join."""
    credential = ladder.database.look(lambda connection: find_credential(connection, digest_of(link)))
    return credential is not None and credential.kind == JOIN and credential.holds(ladder.clock())


def ask_to_join(ladder: Ladder, login: str, name: str, email: str) -> str:
    """Keep a request to join until staff decides; return the secret that leads back to it. Raises LadderError."""
    login, name, email = (unicodedata.normalize("NFC", word.strip()) for word in (login, name, email))
    one_person(login, name, email or None, None, None)
    secret, now = secrets.token_urlsafe(32), ladder.clock()

    def act(connection: Connection) -> None:
        known = all_applicants(connection)
        if digest_of(secret) in (each.digest for each in known):
            return  # the second call of a function whose commit had no answer
        if sum(each.state == ASKS for each in known) >= MOST_ASKING:
            raise LadderError("So many people wait that no more can ask now.\nTry again in a day, or ask the staff.")
        put_applicant(connection, login, name, email or None, digest_of(secret), now)

    ladder.database.write(act)
    return secret


def request_of(ladder: Ladder, secret: str) -> tuple[Applicant | None, bool]:
    """Return the request that a secret leads back to, if there is one, and whether the secret signs in now."""
    digest = digest_of(secret)
    with ladder.database.read() as connection:
        link = find_credential(connection, digest)
        applicant = (each for each in all_applicants(connection) if each.digest == digest)
        return next(applicant, None), link is not None and link.holds(ladder.clock())


def approve(ladder: Ladder, id: int, who: str, login: str | None = None) -> bool:
    """Take an applicant in as a new owner, under another login if one is named; return False if that was done already.

    Raises LadderError where the login or the email is somebody's: an applicant never becomes who is there already.
    """
    asking = ladder.database.look(lambda connection: _demand(connection, id, TAKEN))
    if asking.state == TAKEN:
        return False
    called, now = (login or asking.login).strip(), ladder.clock()
    person = one_person(called, asking.name, asking.email, None, None)
    mail = (asking.email or "").casefold()

    def then(connection: Connection, taken: TakenIn) -> None:
        if _demand(connection, id, ASKS if taken.added else TAKEN).state == TAKEN and not taken.changed:
            return  # the second call of a function whose commit had no answer
        owner = find_owner(connection, called)
        same = [each for each in all_owners(connection) if mail and (each.email or "").casefold() == mail]
        if owner is None or not taken.added or len(same) > 1:
            raise LadderError(
                f'the login "{shown(called)}" or the email is somebody\'s who is here already.\n'
                "Take the applicant in under another login (--login), or refuse."
            )
        decide_applicant(connection, id, TAKEN)
        ends = now + LASTS_S
        put_credential(connection, Credential(owner.id, owner.login, LINK, asking.digest, "submit", who, now, ends))

    return take_in_people(ladder, [person], who, f"applicant {id}", then).added == 1


def refuse(ladder: Ladder, id: int, who: str, why: str) -> bool:
    """Refuse an applicant, who is told why; return False if that was done already. Raises LadderError."""

    def act(connection: Connection) -> bool:
        asking = _demand(connection, id, REFUSED)
        if asking.state == REFUSED:
            return False
        decide_applicant(connection, id, REFUSED, why)
        note_act(connection, Act(who, "refuse", f"applicant {id}, {asking.login}: {why}", ladder.clock()))
        return True

    return ladder.database.write(act)


def _demand(connection: Connection, id: int, to_be: str) -> Applicant:
    """Return an applicant who waits, or who has the wanted state already. Raises LadderError."""
    applicant = next((each for each in all_applicants(connection) if each.id == id), None)
    if applicant is None:
        raise LadderError(f"there is no applicant {id}.\nSee arena ladder applicants list.")
    if applicant.state not in (ASKS, to_be):
        raise LadderError(f"applicant {id} was {applicant.state} already.\nOne who was refused can ask again.")
    return applicant
