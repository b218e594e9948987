"""Take matches out of the ratings, and put them back."""

from sqlalchemy import Connection

from arena.escaping import escape_control
from ladder.service.ladder import Ladder
from ladder.service.settings import LadderError
from ladder.store import PLAYED, RATED, AuditEntry, log_action, set_match_rated
from ladder.views import find_match_summary


def set_void(ladder: Ladder, match: int, void: bool, who: str, why: str) -> bool:
    """Take a match out of the ratings, or put it back; return False if this applies already. Its results stay.

    Raises LadderError for a match that isn't rated.
    """

    def act(connection: Connection) -> bool:
        line = find_match_summary(connection, match)
        if line is None:
            raise LadderError(
                f"the ladder has no match {match}.\n"
                f"List its matches: arena ladder matches {escape_control(ladder.path)}"
            )
        if line.outcome != PLAYED:
            raise LadderError(f"match {match} wasn't played, so it doesn't rate.")
        if line.kind not in (RATED, "final"):
            raise LadderError(f"match {match} is a {line.kind} match: it doesn't rate.")
        if line.voided == void:
            return False
        log_action(connection, AuditEntry(who, "void" if void else "unvoid", why, ladder.clock(), match=match))
        set_match_rated(connection, match, not void)
        return True

    return ladder.database.write(act)
