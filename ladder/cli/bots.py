"""Implement the `arena ladder` commands that submit, print, challenge and moderate bots, and list the queue.

Moderation (`activate`, `disable`, `freeze`, `suspend`, `void`) requires a reason. `submit` accepts one user's new
version, or those of many users. `similar` lists versions of different owners with similar sources; similarity is no
proof of misconduct."""

import sys
from dataclasses import replace
from pathlib import Path

import click

from arena.bots import find_sample
from arena.cli.console import ExistingPath, json_option, option, print_json, print_note, print_text, usage_error
from arena.cli.submit import print_submission
from arena.escaping import escape_control, quote_path
from ladder import activation, bot_pages, bots
from ladder.challenges import QueuedChallenge, queue_challenges
from ladder.cli.common import (
    ACTOR_OPTION,
    FOLDER_ARGUMENT,
    RowNumber,
    audited,
    complete_bots,
    open_ladder_or_exit,
    print_decision,
    print_result,
    print_view,
)
from ladder.cli.results import print_log
from ladder.clock import format_local_time, parse_time
from ladder.ladder import ActionResult, get_bot, set_frozen
from ladder.match_pages import QueuePage, set_void, view_queue
from ladder.permissions import STAFF_VIEWER, Viewer
from ladder.users import set_suspended


@click.command()
@FOLDER_ARGUMENT
@click.argument("bot", metavar="[BOT]", required=False, type=click.Path(path_type=Path))
@option("--owner", "login", metavar="LOGIN", help="Login of the bot's owner.")
@option("--name", metavar="NAME", help="The bot's name.  [the owner's only bot, else from bot.toml or the file]")
@option("--at", metavar="TIME", help="Time of submission, such as 2026-12-01T23:50+01:00.  [now]")
@option(
    "--from",
    "source",
    metavar="DIR",
    type=ExistingPath("Name a folder of bots' folders.", file_okay=False),
    help="Submit many users' bots: subfolders whose names are logins.",
)
@ACTOR_OPTION
@json_option(bots.AcceptedSubmission, bots.BulkSubmission)
def submit(
    *,
    folder: Path,
    bot: Path | None,
    login: str | None,
    name: str | None,
    at: str | None,
    source: Path | None,
    actor: str,
    as_json: bool,
) -> None:
    """Submit a version of a bot, or bots of many users.

    BOT is a file, a folder, a zip, a tar or sample:NAME. The ladder's runner checks the version; if it is accepted, it
    replaces the previous one. --at sets the time of submission, which the audit log records. No daily quota applies
    then.

    With --from, each subfolder is submitted for the owner whose login is its name. Exit code 1 if one is rejected.
    """
    if source is None and (bot is None or login is None):
        raise click.UsageError("Missing BOT or --owner. Give both, or --from FOLDER to submit bots of many users.")
    if source is not None and (bot or login or name):
        raise click.UsageError("--from can't be combined with BOT, --owner or --name. Leave them out.")
    with open_ladder_or_exit(folder) as ladder:
        received_at = None if at is None else parse_time(ladder.settings, at)
        if source is not None:
            result = bots.submit_folder(ladder, source, received_at, actor)
            _print_bulk_submission(result, as_json)
            sys.exit(bool(result.rejected))
        assert bot is not None
        assert login is not None
        path = find_sample(str(bot)) or bot
        accepted = bots.submit_bot(ladder, path, login, name=name, received_at=received_at, submitted_by=actor)
    if as_json:
        print_json(accepted)
        return
    print_submission(
        accepted.version_ref, accepted.duplicate, accepted.remaining, accepted.late_for, accepted.disabled_reason
    )
    if received_at is not None:
        print_note(f"time of submission: {format_local_time(accepted.received_at)}")
    print_note(f"see its check: arena ladder bot {quote_path(folder)} {quote_path(accepted.name)}")


def _print_bulk_submission(result: bots.BulkSubmission, as_json: bool) -> None:
    """Print a line for each user: accepted ones on stdout, rejected ones on stderr."""
    if as_json:
        print_json(result)
        return
    for login, accepted in result.accepted.items():
        text = f"{escape_control(login)}: {escape_control(accepted.version_ref)}"
        if accepted.duplicate:
            text += ", submitted before"
        if accepted.late_for is not None:
            text += f", late for {accepted.late_for}"
        print_text(text)
    for login, reason in result.rejected.items():
        print_note(f"{login}: rejected: {reason}")


@click.command()
@FOLDER_ARGUMENT
@click.argument("name", metavar="BOT", shell_complete=complete_bots)
@option("--version", "number", type=click.IntRange(1), metavar="N", help="Version to show.  [the newest]")
@option("--last", type=click.IntRange(0, 1000), metavar="N", default=10, help="Number of matches.")
@option("--build-log", is_flag=True, help="Print only the output of the version's build.")
@json_option(bot_pages.BotPage, bot_pages.BuildLog)
def bot(folder: Path, name: str, number: int | None, last: int, build_log: bool, as_json: bool) -> None:
    """Show a bot: versions, rank, faults, times and matches.

    The output is what the owner sees: also why a version doesn't play, and the version that counts at each deadline.
    """
    with open_ladder_or_exit(folder) as ladder, ladder.reading(STAFF_VIEWER) as context:
        owner_context = replace(context, viewer=Viewer(get_bot(context.connection, name).login))
        if build_log:
            view: bot_pages.BotPage | bot_pages.BuildLog | None = bot_pages.view_build_log(owner_context, name, number)
        else:
            deadlines = bots.deadlines_of_bot(ladder, owner_context, name)
            view = bot_pages.view_bot(owner_context, name, number, last, deadlines)
    if view is None:
        usage_error(f"the bot {name} has no version {number}.\nLeave out --version to list its versions.")
    if as_json:
        print_json(view)
    elif isinstance(view, bot_pages.BotPage):
        active = next((version for version in view.versions if version.is_active), None)
        state = bot_pages.inactive_reason(view) if active is None else f"version {active.number} plays"
        print_text(escape_control(f"{view.bot}: {state}"))
        print_view(view, as_json)
    elif view.text:
        print_log(view.text)
    else:
        print_note(
            f"version {view.version} has no build output: it needs no build, printed nothing, or isn't built yet"
        )


@click.command()
@FOLDER_ARGUMENT
@click.argument("bot", metavar="BOT", shell_complete=complete_bots)
@click.argument("opponents", metavar="OPPONENT...", nargs=-1, required=True, shell_complete=complete_bots)
@option("--owner", "login", metavar="LOGIN", required=True, help="Login of the owner of BOT, or of staff.")
@option("--matches", "count", type=click.IntRange(1, 1000), metavar="N", default=1, help="Number of matches.")
@json_option(QueuedChallenge)
def challenge(folder: Path, bot: str, opponents: tuple[str, ...], login: str, count: int, as_json: bool) -> None:
    """Queue unrated matches against chosen opponents.

    A name stands for the bot's active version; honest@3 is version 3. Reference bots fill the other seats. The ladder's
    runner plays these matches next, also while the ladder is frozen.
    """
    with open_ladder_or_exit(folder) as ladder:
        queued = queue_challenges(ladder, bot, opponents, login, count)
    first_id, last_id = queued.matches[0], queued.matches[-1]
    matches = f"match {first_id}" if first_id == last_id else f"matches {first_id} to {last_id}"
    quota = "" if queued.remaining is None else f"; challenges left today: {queued.remaining}"
    text = f"queued {matches} of {', '.join(queued.version_refs)}{quota}"
    print_result(queued, as_json, text, f"see the result: arena ladder match {quote_path(folder)} {first_id}")


@click.command()
@FOLDER_ARGUMENT
@click.argument("bot", metavar="BOT", shell_complete=complete_bots)
@click.argument("version", metavar="[VERSION]", type=RowNumber(1), required=False)
@audited("the owner and team")
@json_option(ActionResult)
def activate(folder: Path, bot: str, version: int | None, actor: str, reason: str, as_json: bool) -> None:
    """Activate another accepted version of a bot.

    It may be an earlier version, or one that was disabled: honest@3, or honest 3. Queued rated matches of the version
    that was active are cancelled.
    """
    name, separator, number = bot.rpartition("@")
    if version is None and separator:
        bot, version = name, RowNumber(1).convert(number, None, None)
    if version is None:
        raise click.UsageError(
            f"Missing the version of {escape_control(bot)} to activate. Name one, such as {escape_control(bot)}@1."
        )
    with open_ladder_or_exit(folder) as ladder:
        is_changed = activation.activate_version(ladder, bot, version, actor=actor, reason=reason)
    print_decision(is_changed, f"{bot}@{version} plays", as_json)


@click.command()
@FOLDER_ARGUMENT
@click.argument("bot", metavar="BOT", shell_complete=complete_bots)
@audited("the owner and team")
@json_option(ActionResult)
def disable(folder: Path, bot: str, actor: str, reason: str, as_json: bool) -> None:
    """Disable a bot.

    No version of it plays, not even a new one, until a version is activated. Its queued rated matches are cancelled.
    Its results stay.
    """
    with open_ladder_or_exit(folder) as ladder:
        is_changed = activation.disable_bot(ladder, bot, actor, reason)
    print_decision(is_changed, f"{bot} doesn't play", as_json)


@click.command()
@FOLDER_ARGUMENT
@option("--undo", is_flag=True, help="Start rated matches again.")
@audited("all users")
@json_option(ActionResult)
def freeze(folder: Path, undo: bool, actor: str, reason: str, as_json: bool) -> None:
    """Stop starting rated matches. Checks, challenges and finals continue; tables close. All users see the reason."""
    with open_ladder_or_exit(folder) as ladder:
        is_changed = set_frozen(ladder, not undo, actor, reason)
    print_decision(is_changed, "the ladder is not frozen" if undo else "the ladder is frozen", as_json)


@click.command()
@FOLDER_ARGUMENT
@click.argument("login", metavar="LOGIN")
@option("--undo", is_flag=True, help="Lift the suspension: versions that were active play again.")
@audited("the user")
@json_option(ActionResult)
def suspend(folder: Path, login: str, undo: bool, actor: str, reason: str, as_json: bool) -> None:
    """Suspend a user.

    Their bots don't play, they can't submit, and they get no grades. The user sees the reason. Queued matches with the
    user's bots are cancelled, except those of a final. Results stay.
    """
    with open_ladder_or_exit(folder) as ladder:
        is_changed = set_suspended(ladder, login, not undo, actor, reason)
    print_decision(is_changed, f"{login} is {'not ' if undo else ''}suspended", as_json)


@click.command()
@FOLDER_ARGUMENT
@click.argument("match", metavar="MATCH", type=RowNumber(1))
@option("--undo", is_flag=True, help="Include the match in the ratings again.")
@audited("all who see the match")
@json_option(ActionResult)
def void(folder: Path, match: int, undo: bool, actor: str, reason: str, as_json: bool) -> None:
    """Exclude a match from the ratings. Its results stay, marked as void."""
    with open_ladder_or_exit(folder) as ladder:
        is_changed = set_void(ladder, match, not undo, actor, reason)
    print_decision(is_changed, f"match {match} {'counts' if undo else 'is void'}", as_json)


@click.command()
@FOLDER_ARGUMENT
@json_option(bots.SimilarityReport)
def similar(folder: Path, as_json: bool) -> None:
    """List bots of different owners with similar source code.

    Each pair shows how much of one bot's source is in the other's. The active version of each bot is compared, else the
    newest accepted one. Names, strings, comments, layout, and the code of kits, samples and reference bots are ignored.
    Pairs from 50 % are listed. Similarity alone doesn't prove copying.
    """
    with open_ladder_or_exit(folder) as ladder:
        result = bots.find_similar_versions(ladder)
    print_view(result, as_json)


@click.command()
@FOLDER_ARGUMENT
@option("--last", type=click.IntRange(1, 100_000), metavar="N", default=20, help="Number of matches.")
@option("--after", type=RowNumber(1), metavar="MATCH", help="Only matches after this one in the list.")
@json_option(QueuePage)
def queue(folder: Path, last: int, after: int | None, as_json: bool) -> None:
    """List pending checks and matches."""
    with open_ladder_or_exit(folder) as ladder, ladder.reading(STAFF_VIEWER) as context:
        page = view_queue(context, after, last)
    if not (as_json or page.checks or page.matches):
        print_note("the queue is empty")
    else:
        print_view(page, as_json)
