"""Show finals: their progress and, once revealed, their results and keys."""

from collections.abc import Sequence
from dataclasses import dataclass

from sqlalchemy import Connection

from ladder import store
from ladder.permissions import PUBLIC_VIEWER, Viewer
from ladder.standings.computation import Standings, StandingsRow
from ladder.view_context import ViewContext, paginate


@dataclass(frozen=True, slots=True)
class FinalState:
    """The progress of a final. matches, played, pending: counts. abandoned: (match id, reason) of each other match; for
    others than staff, its outcome is the reason. void: ids of the played matches that don't count. deadline_at: the
    deadline at which its versions count, as Unix time; None without one.

    commitment: the SHA-256 of its key, in hex. key: in hex, None until the final is revealed. versions: refs of the
    versions, which play games_per_version games or more each. champion: the ref of the version that won, without
    reference bots and suspended users; champion_owner, podium_owners: see `name_owner`. is_open: results are public
    while it is played. extra_rounds: the number of those that broke a tie, at most max_extra_rounds. featured_match:
    the newest that all may see. standings: if all may see them and if requested. podium (the best three),
    decisive_matches (between the best two): only after the reveal and if requested. state: "queued", "playing",
    "deciding a tie" by extra rounds, "complete" (all matches have ended, and staff may reveal the results) or
    "revealed". remaining_s: seconds until the queued matches have ended, at the pace of its last ones, else of the
    ladder's; None if unknown.
    """

    name: str
    commitment: str
    key: str | None
    versions: tuple[str, ...]
    games_per_version: int
    matches: int
    played: int
    pending: int
    abandoned: tuple[tuple[int, str], ...]
    is_open: bool = False
    extra_rounds: int = 0
    max_extra_rounds: int = 0
    featured_match: int | None = None
    champion: str | None = None
    champion_owner: str | None = None
    standings: Standings | None = None
    podium: tuple[StandingsRow, ...] = ()
    podium_owners: tuple[str, ...] = ()
    decisive_matches: tuple[int, ...] = ()
    isolated: bool | None = None
    revision: int | None = None
    state: str = "queued"
    remaining_s: float | None = None
    void: tuple[int, ...] = ()
    deadline_at: float | None = None

    @property
    def progress(self) -> str:
        """The state in words, with the round that decides a tie."""
        if self.state != DECIDING:
            return self.state
        number = self.extra_rounds + (not self.pending)  # the next round, if it isn't queued yet
        return f"{self.state} (round {number} of at most {self.max_extra_rounds})"


DECIDING = "deciding a tie"


@dataclass(frozen=True, slots=True)
class FinalList:
    """Finals, in order of creation. next_cursor: the value of `after` for the next page, None at the end."""

    items: tuple[FinalState, ...]
    next_cursor: str | None = None
    revision: int | None = None


def list_finals(context: ViewContext, after: str | None = None, limit: int | None = None) -> FinalList:
    """Return up to `limit` finals after the one named `after`."""
    finals, next_cursor = paginate(store.all_finals(context.connection), lambda final: final.name, after, limit)
    states = tuple(summarize_final(context.connection, final, context.viewer) for final in finals)
    return FinalList(states, next_cursor, context.revision)


def name_owner(version: store.Version, viewer: Viewer) -> str:
    """Return the name of a version's owner as podiums show it: the pseudonym, after the real name if agreed."""
    agreed = version.shows_name and viewer.can("agreed_name:view")
    return f"{version.owner_name} ({version.pseudonym})" if agreed else version.pseudonym


def list_suspended(connection: Connection) -> set[int]:
    """Return the ids of the users who can't be champions or on podiums."""
    return {user.id for user in store.all_users(connection) if user.suspended}


def summarize_final(connection: Connection, final: store.Final, viewer: Viewer = PUBLIC_VIEWER) -> FinalState:
    """Return the state of a final for any viewer: it contains no standings, and the key only after the reveal."""
    matches = store.list_final_matches(connection, final.id)
    played = [match for match in matches if match.status == store.ENDED and match.outcome == store.PLAYED]
    abandoned = [match for match in matches if match.status == store.ENDED and match.outcome != store.PLAYED]
    pending = len(matches) - len(played) - len(abandoned)
    versions = store.get_versions_by_id(connection, final.versions)
    champion = _find_champion(connection, final, versions)
    return FinalState(
        name=final.name,
        commitment=final.commitment,
        key=final.key.hex() if final.revealed else None,
        versions=tuple(version.version_ref for version in versions),
        games_per_version=final.games_per_version,
        matches=len(matches),
        played=len(played),
        pending=pending,
        state=_name_state(final, pending, len(matches)),
        remaining_s=_estimate_remaining_s(connection, final, pending),
        abandoned=tuple((match.id, _explain_abandoned(match, viewer)) for match in abandoned),
        is_open=final.is_open,
        deadline_at=final.deadline_at,
        void=tuple(match.id for match in played if not match.is_rated),
        extra_rounds=len(final.extra_rounds),
        max_extra_rounds=final.max_extra_rounds,
        featured_match=max((match.id for match in played), default=None) if final.shows_results else None,
        champion=None if champion is None else champion.version_ref,
        champion_owner=None if champion is None else name_owner(champion, viewer),
    )


def _explain_abandoned(match: store.FinalMatch, viewer: Viewer) -> str:
    """Return the reason why a match wasn't played or, if the viewer may not see it, the outcome."""
    if match.reason and viewer.can_view(store.MatchSummary, "reason"):  # it may be a message of a host
        return match.reason
    return str(match.outcome)


def _find_champion(
    connection: Connection, final: store.Final, versions: Sequence[store.Version]
) -> store.Version | None:
    """Return the version that won a final; None before the reveal, without one, or if its owner is suspended."""
    champion = next((version for version in versions if version.id == final.champion), None)
    return None if champion is None or champion.owner_id in list_suspended(connection) else champion


def _estimate_remaining_s(connection: Connection, final: store.Final, pending: int) -> float | None:
    """Return the seconds until `pending` matches of a final have ended; None if unknown, or if none are pending."""
    if not pending:
        return None
    interval_s = store.find_match_interval(connection, final.id) or store.find_match_interval(connection)
    return None if interval_s is None else interval_s * pending


def _name_state(final: store.Final, pending: int, matches: int) -> str:
    """Return the name of a final's state, as in `FinalState`. pending: how many of its `matches` haven't ended."""
    if pending and final.extra_rounds:
        return DECIDING
    if pending == matches:
        return "queued"
    if final.revealed:
        return "revealed"
    return "playing" if pending else "complete"
