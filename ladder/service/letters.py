"""Letters: what each participant is told of his bots, as files that a mail program opens or sends.

A letter is made of what its receiver may see, and of nothing else. The ladder sends none itself.
"""

import re
import tempfile
import textwrap
from collections.abc import Container, Iterable, Iterator, Sequence
from dataclasses import dataclass, replace
from datetime import datetime
from email.errors import HeaderParseError
from email.headerregistry import Address
from email.message import EmailMessage
from itertools import chain, count
from pathlib import Path
from urllib.parse import quote

from arena.bots import shown
from ladder.access import STAFF
from ladder.cells import ends_of, percent, rating_text, span
from ladder.service.known import known_owner, viewer_for
from ladder.service.ladder import Ladder
from ladder.service.settings import LadderError
from ladder.service.snapshot import snapshot
from ladder.service.submit import allowance
from ladder.store.database import Owner, Version, all_owners
from ladder.views import Allowance, Bot, BotVersion, Reader, account, bot, why_none

_COLUMNS = 72
_FAULTS = 3  # kinds of a version's faults that are told with advice, the most frequent first


@dataclass(frozen=True, slots=True)
class Letter:
    """A letter that was written: for whom, and its file's name. email: None where it has no To."""

    login: str
    email: str | None
    file: str


@dataclass(frozen=True, slots=True)
class Letters:
    """The letters that were written, in order of login."""

    rows: tuple[Letter, ...]


def write_letters(
    ladder: Ladder, folder: Path, deadline: str | None, login: str | None, sender: str | None, subject: str | None
) -> Letters:
    """Write a letter for each participant, or for one, into a new or empty folder: all or none.

    deadline: the only one that they tell, with what stands for it. Raises LadderError, OSError.
    """
    settings = ladder.settings
    limit = None if deadline is None else settings.deadline(deadline)
    subject = subject or f"Your bot on the ladder {shown(ladder.name)}"
    letters: dict[str, tuple[Letter, EmailMessage]] = {}
    with ladder.reading(STAFF) as reader:
        standing = None if limit is None else snapshot(reader.connection, settings, limit)
        for owner in _receivers(reader, login):
            person = replace(reader, viewer=viewer_for(reader.connection, owner))
            may = allowance(ladder, person)
            due = tuple(each for each in may.due if (each.name == deadline if deadline else each.closes > reader.now))
            text = _text(ladder, person, replace(may, due=due), standing)
            to, file = _address(owner), _file(owner.login, letters)
            letter = Letter(owner.login, None if to is None else to.addr_spec, file)
            letters[file.casefold()] = letter, _message(text, to, sender, subject)
    folder = folder.resolve()
    folder.parent.mkdir(parents=True, exist_ok=True)
    if folder.is_dir() and any(folder.iterdir()):
        raise LadderError(f"{shown(folder)} isn't empty.\nName a new folder: --out DIR")
    with tempfile.TemporaryDirectory(prefix=f".{folder.name}.", dir=folder.parent) as beside:
        made = Path(beside, "letters")
        made.mkdir(mode=0o700)
        for letter, message in letters.values():
            (made / letter.file).write_bytes(message.as_bytes())
        made.replace(folder)
    return Letters(tuple(letter for letter, _ in letters.values()))


def _receivers(reader: Reader, login: str | None) -> list[Owner]:
    """Return who gets a letter. Raises LadderError if the one who is named doesn't."""
    if login is None:
        return [each for each in all_owners(reader.connection) if not (each.staff or each.gone)]
    owner = known_owner(reader.connection, login)
    if owner.staff or owner.gone:
        raise LadderError(f"{shown(login)} is staff, or has left: nobody gets a letter.\nName a participant.")
    return [owner]


# --- the message ------------------------------------------------------------------------------------------------------


def _message(text: str, to: Address | None, sender: str | None, subject: str) -> EmailMessage:
    """Return a letter as mail programs read it. Raises LadderError."""
    message = EmailMessage()
    try:
        message["Subject"] = subject
        if sender is not None:
            message["From"] = sender
            if not message["From"].addresses[0].domain or message["From"].defects:
                raise ValueError("no address")
    except (ValueError, IndexError, HeaderParseError):
        raise LadderError("--from is an address, such as staff@example.org, and --subject a line.") from None
    if to is not None:
        message["To"] = to
    message["X-Unsent"] = "1"  # Outlook opens it as a draft
    message.set_content(text)
    return message


def _address(owner: Owner) -> Address | None:
    """Return a person's address, None if the ladder knows none that a header takes as one."""
    if not owner.email or not (owner.email.isascii() and owner.email.isprintable()):
        return None
    try:
        return Address(shown(owner.name), addr_spec=owner.email)
    except (ValueError, IndexError, HeaderParseError):
        return None


def _file(login: str, taken: Container[str]) -> str:
    """Return the name of a login's file: plain, and another than those taken, also where case doesn't count."""
    plain = re.sub(r"[^A-Za-z0-9@_.-]|^[.-]", "_", login)
    names = (f"{plain}{end}.eml" for end in chain([""], map("-{}".format, count(2))))
    return next(name for name in names if name.casefold() not in taken)


# --- the text ---------------------------------------------------------------------------------------------------------


def _text(ladder: Ladder, person: Reader, may: Allowance, standing: Sequence[Version] | None) -> str:
    """Return what somebody is told of all that is his; standing: everybody's versions that stand for the deadline."""
    url = ladder.last_settings.pages.url
    view = account(person)
    assert view is not None, "who gets a letter is an owner"
    hello = (
        f"Hello {view.person.name},",
        "",
        f"this is how you stand on the ladder {ladder.name}, {_when(person.now)}.",
    )
    if view.person.suspended is not None:
        why = f"You are suspended: {view.person.suspended}"
        return _fold([hello, [why, "Nothing of yours plays, is submitted or counts. Ask the staff, who can lift it."]])
    parts: list[Iterable[str]] = [hello]
    bots = {each.bot: bot(person, each.bot, last=0) for each in view.bots}
    parts += [_of_bot(each, url) for each in bots.values() if each is not None]
    if not bots:
        where = f"{url}/submit" if url else "the staff"
        parts.append([
            "You have submitted nothing yet.",
            f"Next: arena new mybot makes a bot that plays, arena check mybot examines it, and it goes to {where}.",
        ])  # fmt: skip
    for due in may.due:
        late = f"; late until {_when(due.closes)}" if due.closes > due.at else ""
        late += f"; you have more time: {due.extended}" if due.extended else ""
        own = ", ".join(each.label for each in standing or () if each.name in bots) or "nothing of yours"
        stands = "" if standing is None else f"; {own} stands for it"
        parts.append([f"Deadline {due.name}: {_when(due.at)}{late}{stands}."])
    parts.append([f"You may submit {may.left} more of {may.most} times until {_when(may.renewed)}."])
    return _fold(parts)


def _of_bot(view: Bot, url: str | None) -> Iterator[str]:
    """Yield how a bot stands, what is wrong with it, and what to do next."""
    row, newest = view.row, view.versions[-1]
    playing = next((version for version in view.versions if version.active), None)
    yield f"{view.bot}: {why_none(view) if playing is None else f'version {playing.number} plays'}."
    if playing is not None and row is None:
        yield "It isn't in the table yet: it comes with its first rated match."
    if row is not None:
        share, fair = None if row.adjusted is None else row.adjusted.value, percent(view.fair, 0)
        yield f"Rank {span(row.ranks)} of {view.of}, rating {rating_text(row.rating)}, {row.games} games."
        yield f"Share of wins {percent(share)} ({ends_of(row.adjusted)}), fair is {fair}."
    faults = {} if playing is None else playing.faults or {}
    often = sorted(faults, key=lambda code: -faults[code])
    if playing is not None and often:
        yield f"Faults of version {playing.number}: {', '.join(f'{code} {faults[code]}' for code in often)}"
    first = {each.code: each for each in reversed(view.examples or ())}
    for seen in [first[code] for code in often if code in first][:_FAULTS]:
        yield from _advice(f"{seen.code}, in match {seen.match}: {seen.what}", seen.do)
    for step in view.examination.steps if view.examination is not None and newest.state == "unfit" else ():
        if step.level == "fail":
            yield from _advice(f"version {newest.number}, {step.what}: {step.text}", step.do)
    yield f"Next: {_next(newest, playing, often)}"
    if url:
        yield f"{url}/bots/{quote(view.bot)}"


def _advice(what: str, do: str) -> Iterator[str]:
    yield f"- {what}"
    yield from (f"  -> {line}" for line in do.split("\n") if line.strip())


def _next(newest: BotVersion, playing: BotVersion | None, often: Sequence[str]) -> str:
    """Return what to do with a bot."""
    if newest.state == "unfit":
        return f"mend what keeps version {newest.number} from playing, look with arena check, and submit it again."
    if newest.state != "fit":
        return f"version {newest.number} waits for its examination; look again later."
    if playing is None:
        return "ask the staff, who can let it play again."
    if often:
        return f"mend {often[0]} first: it comes most often."
    return "it plays without a fault. Ask for a challenge, or try a change: arena compare OLD NEW --against BOT."


def _when(at: float) -> str:
    return datetime.fromtimestamp(at).astimezone().strftime("%Y-%m-%d %H:%M %Z")


def _fold(parts: Iterable[Iterable[str]]) -> str:
    """Return paragraphs in lines that mail programs keep; what can't be printed as escapes, words uncut."""
    return "\n".join("\n".join(map(_fill, part)) + "\n" for part in parts)


def _fill(line: str) -> str:
    further = " " * (len(line) - len(line.lstrip()) + 2)
    return textwrap.fill(
        shown(line), _COLUMNS, subsequent_indent=further, break_long_words=False, break_on_hyphens=False
    )
