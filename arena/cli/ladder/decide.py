"""The commands by which people decide, with a reason: `arena ladder activate`, `disable`, `freeze`, `suspend`
and `void`."""

from pathlib import Path

import click

from arena.bots import shown
from arena.cli.answers import answers, print_json
from arena.cli.ladder.opening import FOLDER, acting, complete_bots, ladder_at
from arena.cli.out import note
from ladder.service import Decided, activate_version, disable_bot, set_frozen, set_suspended, set_void


@click.command()
@FOLDER
@click.argument("bot", metavar="BOT", shell_complete=complete_bots)
@click.argument("version", metavar="[VERSION]", type=click.IntRange(1, 2**31 - 1), required=False)
@acting
@answers(Decided)
def activate(folder: Path, bot: str, version: int | None, who: str, why: str, as_json: bool) -> None:
    """Let another fit version of a bot play: an earlier one, or one that was disabled or benched.

    It is named honest@3, or honest 3. Rated matches of the version that played, which haven't begun, are cancelled.
    """
    name, _, number = bot.rpartition("@")
    if version is None and number.isascii() and number.isdecimal():
        bot, version = name, int(number)
    if version is None:
        raise click.UsageError(f"which version of {shown(bot)} is to play? Name it as {shown(bot)}@1.")
    with ladder_at(folder) as ladder:
        new = activate_version(ladder, bot, version, who, why)
    print_decision(new, f"{bot}@{version} plays", as_json)


@click.command()
@FOLDER
@click.argument("bot", metavar="BOT", shell_complete=complete_bots)
@acting
@answers(Decided)
def disable(folder: Path, bot: str, who: str, why: str, as_json: bool) -> None:
    """Let no version of a bot play, nor what its owner submits, until one is activated.

    Its rated matches that haven't begun are cancelled. What was played stays.
    """
    with ladder_at(folder) as ladder:
        new = disable_bot(ladder, bot, who, why)
    print_decision(new, f"{bot} doesn't play", as_json)


@click.command()
@FOLDER
@click.option("--undo", is_flag=True, help="Let rated matches begin again.")
@acting
@answers(Decided)
def freeze(folder: Path, undo: bool, who: str, why: str, as_json: bool) -> None:
    """Let no rated match begin. Examinations, challenges and finals go on."""
    with ladder_at(folder) as ladder:
        new = set_frozen(ladder, not undo, who, why)
    print_decision(new, "the ladder is not frozen" if undo else "the ladder is frozen", as_json)


@click.command()
@FOLDER
@click.argument("login", metavar="LOGIN")
@click.option("--undo", is_flag=True, help="Lift it: what played before plays again.")
@acting
@answers(Decided)
def suspend(folder: Path, login: str, undo: bool, who: str, why: str, as_json: bool) -> None:
    """Let nothing of a person play, be submitted or count. The person is told why.

    Matches with the person's bots that haven't begun are cancelled, but for those of a final. What was played stays.
    """
    with ladder_at(folder) as ladder:
        new = set_suspended(ladder, login, not undo, who, why)
    print_decision(new, f"{login} is {'not ' if undo else ''}suspended", as_json)


@click.command()
@FOLDER
@click.argument("match", metavar="MATCH", type=click.IntRange(1))
@click.option("--undo", is_flag=True, help="Let the match rate again.")
@acting
@answers(Decided)
def void(folder: Path, match: int, undo: bool, who: str, why: str, as_json: bool) -> None:
    """Take a match out of the ratings. Its results are kept, and shown as void."""
    with ladder_at(folder) as ladder:
        new = set_void(ladder, match, not undo, who, why)
    print_decision(new, f"match {match} {'rates' if undo else 'is void'}", as_json)


def print_decision(new: bool, now: str, as_json: bool) -> None:
    """Say what is so now, and whether it was so before."""
    if as_json:
        print_json(Decided(new))
    else:
        note(now if new else f"{now} already: nothing was decided")
