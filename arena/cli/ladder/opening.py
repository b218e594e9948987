"""How all commands of a ladder begin: they open the ladder, and say in one or two lines what goes wrong."""

import getpass
from collections.abc import Callable, Iterator
from contextlib import closing, contextmanager
from pathlib import Path
from typing import Any

import click
from click.shell_completion import CompletionItem

from arena.bots import BotError
from arena.cli.lazy import needs_extras
from arena.cli.out import fail, reason, refuse
from arena.run import RulesetError
from arena.sandbox import SandboxError
from ladder.pool import ExecutorLostError
from ladder.service import Ladder, LadderError, open_ladder
from ladder.store.database import DatabaseError, all_bots

_COMPLETION_S = 0.5  # that a shell may wait for names


def _folders(_context: click.Context, _parameter: click.Parameter, typed: str) -> list[CompletionItem]:
    """Return the folders that hold a ladder, or may lead to one."""
    start = Path(typed)
    above, name = (start, "") if typed == "" or typed.endswith("/") else (start.parent, start.name)
    try:
        folders = sorted(each for each in above.iterdir() if each.name.startswith(name) and each.is_dir())
        ladders = [each for each in folders if (each / "ladder.toml").is_file()]
    except OSError:
        return []
    return [CompletionItem(str(each)) for each in ladders] or [
        CompletionItem(f"{each}/") for each in folders if not each.name.startswith(".")
    ]


def complete_bots(context: click.Context, _parameter: click.Parameter, typed: str) -> list[CompletionItem]:
    """Complete the names of a ladder's bots; nothing where it can't be opened at once."""
    folder = context.params.get("folder")
    if folder is None:
        return []
    try:
        with closing(open_ladder(Path(folder), patience_s=_COMPLETION_S)) as ladder, ladder.database.read() as reading:
            names = [bot.name for bot in all_bots(reading)]
    except Exception:
        return []
    return [CompletionItem(name) for name in names if name.startswith(typed) and name.isprintable()]


FOLDER = click.argument(
    "folder", metavar="LADDER", type=click.Path(path_type=Path, file_okay=False), shell_complete=_folders
)


BY = click.option(
    "--by",
    "who",
    metavar="NAME",
    default=lambda: _user(),
    callback=lambda *given: _person(*given),
    help="Who decides.  [your login]",
)


@contextmanager
def plain_errors() -> Iterator[None]:
    """Exit with 2 for what the user asked wrongly, and with 1 for what the machine lacks."""
    try:
        with needs_extras():
            yield
    except (BotError, LadderError, RulesetError) as problem:
        refuse(str(problem))
    except (DatabaseError, ExecutorLostError, SandboxError) as problem:
        fail(str(problem))
    except UnicodeEncodeError:
        refuse("the words of the command hold bytes that are no UTF-8, which can't be kept")
    except OSError as problem:
        fail(reason(problem))


@contextmanager
def ladder_at(
    folder: Path, patience_s: float = 10.0, hear: Callable[[str | None], None] = lambda why: None
) -> Iterator[Ladder]:
    """Give the ladder of a folder; see `plain_errors`. A database that is away is waited for as long as patience is."""
    with plain_errors(), closing(open_ladder(folder, patience_s, hear)) as ladder:
        yield ladder


def acting(function: Callable[..., Any]) -> Callable[..., Any]:
    """Add the options of a command that decides something: who does, and why."""
    why = click.option(
        "--why", metavar="TEXT", required=True, callback=_words, help="The reason; it is kept, and shown to the owner."
    )
    return why(BY(function))


def _words(_context: click.Context, parameter: click.Parameter, text: str) -> str:
    """Refuse a text that says nothing."""
    if not text.strip():
        raise click.BadParameter("it is empty", param=parameter)
    return text


def _person(context: click.Context, parameter: click.Parameter, who: str) -> str:
    """Refuse a name that the ladder's own decisions bear."""
    if _words(context, parameter, who) == "ladder":
        raise click.BadParameter('"ladder" is who decides where no person does: name yourself', param=parameter)
    return who


def _user() -> str:
    try:
        return getpass.getuser()
    except (KeyError, OSError):
        return "unknown"
