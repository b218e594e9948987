"""Show the audit log, newest entry first, and describe the decisions of users and of the ladder itself."""

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass

from ladder.permissions import hide_fields
from ladder.store import LADDER_ACTOR, AuditEntry, AuditEntrySummary, find_user, list_audit_summaries
from ladder.users import UserSummary
from ladder.view_context import ViewContext


@dataclass(frozen=True, slots=True)
class AuditLog:
    """Decisions, newest first. next_cursor: the value of `after` for the next page, None at the end."""

    items: tuple[AuditEntrySummary, ...]
    next_cursor: int | None = None
    revision: int | None = None


def list_audit_log(
    context: ViewContext,
    after: int | None = None,
    limit: int = 50,
    login: str | None = None,
    excluded_actions: Sequence[str] = (),
    action: str | None = None,
) -> AuditLog:
    """Return up to `limit` decisions, newest first: those older than decision `after`, None for the newest ones.

    login: only decisions about this user or their bots, or by this user. action: only decisions with this action.
    excluded_actions: the actions to leave out.
    """
    entries = list_audit_summaries(context.connection, after, limit + 1, login, excluded_actions, action)
    next_cursor = entries[limit - 1].id if len(entries) > limit else None
    rows = tuple(hide_fields(entry, context.viewer) for entry in entries[:limit])
    return hide_fields(AuditLog(rows, next_cursor, context.revision), context.viewer)


@dataclass(frozen=True, slots=True)
class DecisionSummary:
    """One decision. version: its number, None without one. actor: a login, a pseudonym, or "ladder"."""

    created_at: float
    action: str
    version: int | None
    actor: str | None
    reason: str


_PAST_TENSE = {
    "activate": "activated {version}",
    "auto_disable": "auto-disabled {version}",
    "configure": "changed the settings",
    "delete_line": "deleted a line of chat",
    "disable": "disabled the bot",
    "erase": "erased the data of a user",
    "extend": "changed the extension of the user",
    "create": "created a final",
    "final": "queued more matches of a final",
    "freeze": "froze the ladder",
    "import": "imported users",
    "issue": "created a {kind}",
    "leave": "withdrew the user",
    "merge": "merged two users",
    "mute": "muted a user or guest in the chat",
    "receive": "set the time of submission of {version}",
    "refuse": "rejected an account",
    "renew": "replaced an invitation link",
    "release": "released grades",
    "return": "readmitted the user",
    "reveal": "revealed a final",
    "revoke": "revoked a {kind}",
    "team": "changed the user's team",
    "suspend": "suspended the user",
    "unfreeze": "unfroze the ladder",
    "unmute": "unmuted a user or guest in the chat",
    "unsuspend": "lifted the suspension",
    "unvoid": "counted the match again",
    "void": "voided the match",
}
_KINDS = {
    "erased": "sign-in",
    "link": "sign-in link",
    "join": "sign-up link",
    "team": "team invitation",
    "openid": "provider account",
}

ACTION_LABELS = {
    action: words.format(version="a version", kind="link, session or token") for action, words in _PAST_TENSE.items()
}


def describe_decision(decision: DecisionSummary | AuditEntrySummary) -> str:
    """Return a decision in words, such as "the ladder activated version 3". An actor of None is "staff"."""
    version = "a version" if decision.version is None else f"version {decision.version}"
    subject = "the ladder" if decision.actor == LADDER_ACTOR else decision.actor or "staff"
    kind = decision.reason.split(" ", 1)[0]  # of a credential: its reasons begin with it
    is_new_final = decision.action == "final" and ": a final of " in decision.reason  # as 1.0 stored it
    action = "create" if is_new_final else decision.action
    predicate = _PAST_TENSE.get(action, f"decided: {action}")
    return f"{subject} {predicate.format(version=version, kind=_KINDS.get(kind, kind))}"


def summarize_decisions(
    context: ViewContext, entries: Iterable[AuditEntry], numbers: Mapping[int, int], owner: str | None = None
) -> tuple[DecisionSummary, ...]:
    """Return audit entries as the viewer may see them, in the same order.

    numbers: versions' numbers by id. owner: the login of the user, or of the bot's owner, that the entries are about.
    """
    summaries = []
    for entry in entries:
        number, actor = numbers.get(entry.version or 0), display_actor(context, entry.actor)
        summary = DecisionSummary(entry.created_at, entry.action, number, actor, entry.reason)
        summaries.append(hide_fields(summary, context.viewer, owner))
    return tuple(summaries)


def display_actor(context: ViewContext, actor: str) -> str:
    """Return an actor's login, or the pseudonym if the viewer may not see a user's login."""
    if context.viewer.can_view(UserSummary, "login", actor):
        return actor
    person = find_user(context.connection, actor)
    return actor if person is None or person.staff else person.pseudonym
