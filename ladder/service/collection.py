"""What a learning platform hands out as "all submissions" -> each person's bot, taken in, with one report.

Canvas names a file `lovelaceada_LATE_77_901_bot-1.py`: the sortable name without blanks, its mark, its ID of the
person, that of the file, and the file's name, with a number where it was handed in again; of an anonymous assignment
`anon_k3J9x_901_bot.py`. Moodle names a folder `Ada Lovelace_123_assignsubmission_file`, or begins a file so: with the
number that the person has in this assignment, which its grading worksheet has as Identifier. Neither tells a time.
What somebody else hands out has the login as its file's or folder's name.
"""

import csv
import io
import os
import re
import shutil
import unicodedata
from collections import Counter
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass, field
from datetime import datetime
from functools import partial
from pathlib import Path, PurePath

from sqlalchemy import Connection

from arena.bots import BotError, Bundle, intake_each, shown, unzip_apart
from arena.sandbox import scratch_folder
from ladder.service.ladder import Ladder
from ladder.service.settings import LadderError, Settings
from ladder.service.submit import Submission, Taken, bot_name, demand_past, find_bot, put_submission, read_time
from ladder.store.database import Owner, all_bots, all_owners

_FILED = r"_(?:\d+_(?P<file>[^/]+)|(?:text|link)\.html)"
_CANVAS = re.compile(
    r"(?:(?!(?:LATE_)?anon_)(?P<name>\w+?)_)?(?P<late>LATE_)?(?:anon_(?P<anon>\w+?)|(?P<id>\d+))" + _FILED
)
_LATER_ID = re.compile(r"_(?P<id>\d+)" + _FILED)  # the name may end in what looks like an ID
_MOODLE = re.compile(
    r"(?P<name>[^/]+?)(?:_(?P<id>\d+))?_assignsubmission_(?P<kind>[a-z]+)(?:_?/|_)(?P<file>.+)", re.DOTALL
)
_NUMBERED = re.compile(r"(.+?)-\d{1,2}((?:\.[A-Za-z]\w*)*)")  # what Canvas calls a file that was there already
_JUNK = {"__MACOSX", ".DS_Store", "Thumbs.db", "desktop.ini", "__pycache__", ".git"}
_PAPERS = {".pdf", ".doc", ".docx", ".odt", ".rtf", ".html", ".htm", ".md", ".txt", ".png", ".jpg", ".jpeg"}
_PROGRAMS = (b"#!", b"\x7fELF")  # no platform tells modes
_WHOSE = {
    "login": "login", "username": "login", "identifier": "moodle", "email": "email", "email address": "email",
    "number": "number", "id number": "number",
}  # fmt: skip
_WHEN = ("received", "last modified (submission)")
_MOODLE_TIMES = ("%A, %d %B %Y, %I:%M %p", "%A, %B %d, %Y, %I:%M %p", "%A, %d %B %Y, %H:%M")  # in English
_LONGEST = 40  # characters of a bot's name

UNKNOWN = (
    "the ladder can't tell whose it is. Import the roster with the platform's numbers, or rename it to the login, "
    "or submit it by itself: arena ladder submit LADDER BOT --owner LOGIN --at TIME"
)
LATE = "Canvas marks it as late, and doesn't say when it came: give --at or --times"
DOUBTFUL = "a line of the times fits this person and another: give one with the login alone"
TIMELESS = "the files don't say when it came: give --times or --at, or of Canvas --deadline"
NOTHING = "nothing in it can be a bot"


@dataclass(frozen=True, slots=True)
class Handed:
    """What one person handed in, and what became of it: it was taken, or it was refused with the reason.

    said: whom the files name. files: those of the bot; passed: those that are none of it.
    """

    login: str | None
    said: str
    files: tuple[str, ...]
    passed: tuple[str, ...]
    received: float | None = None
    taken: Taken | None = None
    refused: str | None = None


@dataclass(frozen=True, slots=True)
class Collection:
    """What was taken in of all submissions. nobodys: files that name nobody; missing: logins that handed in nothing."""

    rows: tuple[Handed, ...]
    nobodys: tuple[str, ...]
    missing: tuple[str, ...]

    @property
    def refused(self) -> bool:
        """Tell whether something wasn't taken in."""
        return bool(self.nobodys) or any(row.refused for row in self.rows)


@dataclass(slots=True)
class _Pile:
    """One person's files by the names that he gave them. bot: where they are put together."""

    said: str
    name: str
    id: str | None
    platform: str
    late: bool = False
    files: dict[str, Path] = field(default_factory=dict)
    passed: list[str] = field(default_factory=list)
    owner: Owner | None = None
    received: float | None = None
    refused: str | None = None
    bot: Path | None = None
    bundle: Bundle | None = None


def submit_collection(
    ladder: Ladder,
    source: Path,
    by: str,
    received: float | None = None,
    deadline: str | None = None,
    times: bytes | None = None,
    dry_run: bool = False,
) -> Collection:
    """Take in what a platform hands out as all submissions: a zip, or the folder that it was unpacked to.

    received: of those of which `times`, a CSV with a column of people and one of times, says nothing. deadline: what
    Canvas doesn't mark as late came by then. Each person's is taken in or refused by itself; the same again is nothing
    new. dry_run: tell what would become of it. Raises LadderError, BotError for a zip that can't be read.
    """
    settings = ladder.settings
    demand_past(ladder, received)
    due = None if deadline is None else min(settings.deadline(deadline).at.timestamp(), ladder.clock())
    owners = ladder.database.look(all_owners)
    read = partial(read_time, ladder, deadline=deadline)
    told = {} if times is None else _read_times(times, owners, read)
    with scratch_folder() as scratch:
        folder = source
        if not source.is_dir():
            folder = scratch / "all"
            folder.mkdir()
            unzip_apart(source, folder)
        piles, nobodys = _piles(folder, owners)
        for number, pile in enumerate(piles):
            time = None if pile.owner is None else told.get(pile.owner.login, received)
            pile.received = due if time is None and pile.platform == "Canvas" and not pile.late else time
            if pile.owner is None:
                pile.refused = UNKNOWN
            elif not pile.files:
                pile.refused = NOTHING
            elif told.get(pile.owner.login, 0) is None:
                pile.refused = DOUBTFUL
            elif pile.received is None:
                pile.refused = LATE if pile.late else TIMELESS
            elif pile.received > ladder.clock():
                pile.refused = "the time at which it was handed in is still to come"
            else:
                pile.bot = _put_together(pile.files, scratch / str(number) / "bot")
        rows = tuple(_take_in(ladder, settings, piles, by, dry_run))
    there = {row.login for row in rows}
    missing = (each.login for each in owners if not (each.staff or each.gone or each.login in there))
    return Collection(rows, tuple(nobodys), tuple(missing))


def _take_in(ladder: Ladder, settings: Settings, piles: Sequence[_Pile], by: str, dry_run: bool) -> Iterator[Handed]:
    """Yield what becomes of each pile."""
    ready = [pile for pile in piles if pile.bot is not None]
    wanted = [(pile.bot, pile.bot.name) for pile in ready if pile.bot is not None]
    for pile, bundle in zip(ready, intake_each(wanted, settings.quotas.upload_mb << 20), strict=True):
        if isinstance(bundle, BotError):
            pile.refused = str(bundle)
        else:
            pile.bundle = bundle
    names = Counter(pile.bundle.name.casefold() for pile in ready if pile.bundle is not None)
    for pile in piles:
        taken = None
        if pile.bundle is not None:
            try:
                taken = _put(ladder, settings, pile, names, by, dry_run)
            except LadderError as problem:
                pile.refused = str(problem)
        login = None if pile.owner is None else pile.owner.login
        at = pile.received if taken is None else taken.received
        yield Handed(login, pile.said, tuple(pile.files), tuple(pile.passed), at, taken, pile.refused)


class _UndoneError(Exception):
    """Ends a transaction of which nothing is to stay."""


def _put(ladder: Ladder, settings: Settings, pile: _Pile, names: Counter[str], by: str, dry_run: bool) -> Taken:
    """Take one person's bundle in. Raises LadderError."""
    owner, bundle, now = pile.owner, pile.bundle, ladder.clock()
    assert owner is not None
    assert bundle is not None
    would: list[Taken] = []

    def act(connection: Connection) -> Taken:
        name = _name(connection, owner, bundle, names, settings.quotas.bots_per_owner)
        given = Submission(owner.login, name, bundle, by, pile.received)
        taken = put_submission(connection, settings, given, now)
        if dry_run:
            would.append(taken)
            raise _UndoneError
        return taken

    try:
        return ladder.database.write(act)
    except _UndoneError:
        return would[-1]


def _name(connection: Connection, owner: Owner, bundle: Bundle, names: Counter[str], most: int) -> str:
    """Return what a person's bot is called: as his only one, else as it says itself.

    A name that others have, or hand in too, is followed by the pseudonym, which stands beside the bot in any table.
    Raises LadderError.
    """
    own = [bot.name for bot in all_bots(connection) if bot.owner == owner.id and not bot.reference]
    name = bot_name(bundle.name)
    if len(own) == 1:
        return own[0]
    if name.casefold() in map(str.casefold, own):
        return name
    if len(own) >= most:
        raise LadderError(f"which of {', '.join(map(shown, own))} is it?\nSubmit it by itself, with --name.")
    if names[bundle.name.casefold()] == 1 and find_bot(connection, name) is None:
        return name
    of = "-of-" + "-".join(owner.pseudonym.casefold().split())[:24]
    return bot_name(name[: _LONGEST - len(of)].rstrip() + of)


# --- whose files ------------------------------------------------------------------------------------------------------


def _top(folder: Path, logins: Mapping[str, Owner]) -> Path:
    """Return the folder that holds the submissions: an only folder is looked into, unless it is one."""
    while True:
        held = [path for path in folder.iterdir() if not _is_junk(path.name)]
        if len(held) != 1 or held[0].is_symlink() or not held[0].is_dir() or _sender(f"{held[0].name}/x", logins):
            return folder
        folder = held[0]


def _is_junk(name: str) -> bool:
    return name in _JUNK or name.startswith("._")


def _piles(folder: Path, owners: Sequence[Owner]) -> tuple[list[_Pile], list[str]]:
    """Return the files person by person, in order of their names, and those that name nobody. No link is followed."""
    logins = {owner.login.casefold(): owner for owner in owners if not owner.staff}
    top = _top(folder, logins)
    piles: dict[tuple[str, ...], _Pile] = {}
    nobodys = []
    for where, folders, files in os.walk(top):
        folders[:] = sorted(each for each in folders if not _is_junk(each))
        for file in sorted(each for each in files if not _is_junk(each)):
            path = Path(where, file)
            name = unicodedata.normalize("NFC", path.relative_to(top).as_posix())
            if (result := _sender(name, logins, owners)) is None or path.is_symlink() or not path.is_file():
                nobodys.append(shown(name))
                continue
            fresh, inner = result
            pile = piles.setdefault((fresh.platform, fresh.id or "", "" if fresh.id else fresh.name), fresh)
            if inner is None:
                pile.passed.append(name)
            else:
                pile.files[inner] = path
    numbers = Counter(pile.name for pile in piles.values() if pile.id)
    for pile in piles.values():
        pile.owner = logins.get(pile.name.casefold()) if pile.platform == "" else _owner(pile, owners, numbers)
        _sort_out(pile)
    several = Counter(pile.owner.login for pile in piles.values() if pile.owner)
    for pile in piles.values():  # of two people of one name the roster may have one
        if pile.owner and several[pile.owner.login] > 1 and pile.platform and not _is_number_of(pile.owner, pile):
            pile.owner = None
    return list(piles.values()), nobodys


def _sender(path: str, logins: Mapping[str, Owner], owners: Sequence[Owner] = ()) -> tuple[_Pile, str | None] | None:
    """Return whose a file is, and what the person called it: None for a text that was written on the platform.

    Of a name in which two numbers can be Canvas' ID, that one is whose person is called so.
    """
    if match := _MOODLE.fullmatch(path):
        name, id = match["name"], match["id"]
        return _Pile(f"{name} {id or ''}".strip(), name, id, "Moodle"), match["file"] if match[
            "kind"
        ] == "file" else None
    if match := _CANVAS.fullmatch(path):
        if match["anon"]:
            return _Pile(f"anonymous {match['anon']}", match["anon"], None, "Canvas", bool(match["late"])), match[
                "file"
            ]
        name, late = match["name"] or "", bool(match["late"])
        made = [(_Pile(f"{name} {match['id']}".strip(), name, match["id"], "Canvas", late), match["file"])]
        while match := _LATER_ID.fullmatch(path, end := match.end("id")):
            name = path[:end]
            made.append((_Pile(f"{name} {match['id']}", name, match["id"], "Canvas", late), match["file"]))
        if len(made) == 1:
            return made[0]
        fits = [each for each in made if (owner := _owner(each[0], owners, Counter())) and _is_name_of(owner, each[0])]
        return fits[0] if len(fits) == 1 else (_Pile(path[:end], path[:end], None, "Canvas", late), made[-1][1])
    first, _, rest = path.partition("/")
    login = next((each for each in (first, *_stems(first)) if each.casefold() in logins), None)
    return None if login is None else (_Pile(login, login, None, ""), rest or first)


def _stems(name: str) -> Iterator[str]:
    while (stem := PurePath(name).stem) != name:
        yield stem
        name = stem


def _owner(pile: _Pile, owners: Sequence[Owner], numbers: Counter[str]) -> Owner | None:
    """Return whose a pile is, None where that isn't clear: by the platform's number, else by a name that one has.

    Moodle's group has a number, too, which may be a person's: there the name has to be his, or the one that stands for
    all whose names are hidden.
    """
    by_name = [owner for owner in owners if not owner.staff and _is_name_of(owner, pile)]
    if pile.platform == "Canvas":  # whose numbers are for ever: who has another is another
        by_name = [owner for owner in by_name if owner.canvas in (None, pile.id)]
    by_number = [owner for owner in owners if _is_number_of(owner, pile)]
    hidden = pile.name.casefold() == "participant" or numbers[pile.name] > 1
    if by_number and (pile.platform == "Canvas" or hidden or by_number[0] in by_name):
        return by_number[0]
    return by_name[0] if len(by_name) == 1 and (not by_number or by_number == by_name) else None


def _is_name_of(owner: Owner, pile: _Pile) -> bool:
    return _squeeze(pile.name) in _names(owner.name)


def _is_number_of(owner: Owner, pile: _Pile) -> bool:
    return pile.id is not None and _digits(owner.canvas if pile.platform == "Canvas" else owner.moodle) == pile.id


def _digits(number: str | None) -> str:
    """Return the number of "Participant 123", as a worksheet writes it; of one word, the word whatever its case."""
    return "" if number is None else number.strip().rpartition(" ")[2].casefold()


def _squeeze(name: str) -> str:
    return "".join(each for each in unicodedata.normalize("NFC", name).casefold() if each.isalnum())


def _names(name: str) -> set[str]:
    """Return how a person's name may be written: the first name first or the last name, without blanks."""
    words = re.split(r"[\s,]+", name)
    return {_squeeze("".join(words[at:] + words[:at])) for at in range(len(words))} - {""}


def _sort_out(pile: _Pile) -> None:
    """Give the files the names that the person gave them, and leave out what plainly isn't of a bot."""
    if pile.platform == "Canvas":
        plain = [match[1] + match[2] if (match := _NUMBERED.fullmatch(name)) else name for name in pile.files]
        if len(set(plain)) == len(plain):
            pile.files = dict(zip(plain, pile.files.values(), strict=True))
    if not any(PurePath(name).name == "bot.toml" for name in pile.files):
        papers = [name for name in pile.files if PurePath(name).suffix.casefold() in _PAPERS]
        pile.passed += papers
        for name in papers:
            del pile.files[name]


def _put_together(files: dict[str, Path], folder: Path) -> Path:
    """Copy a person's files into a new folder; return the only one, or the folder. Raises OSError."""
    for name, path in files.items():
        to = folder / name
        to.parent.mkdir(parents=True, exist_ok=True)
        shutil.copyfile(path, to)
        with to.open("rb") as file:
            to.chmod(0o755 if file.read(4).startswith(_PROGRAMS) else 0o644)
    return folder / next(iter(files)) if len(files) == 1 else folder


# --- when they came ---------------------------------------------------------------------------------------------------


def _read_times(data: bytes, owners: Sequence[Owner], read: Callable[[str], float]) -> dict[str, float | None]:
    """Return when people handed in, by login, from a CSV such as Moodle's grading worksheet.

    None: of whom there is but a line that fits others, too. Raises LadderError.
    """
    text = data.decode("utf-8-sig", errors="replace")
    first = text.partition("\n")[0]
    rows = csv.DictReader(io.StringIO(text, newline=""), delimiter=max(",;\t", key=first.count))
    heads = {head.strip().casefold(): head for head in rows.fieldnames or ()}
    whose = [(heads[each], kind) for each, kind in _WHOSE.items() if each in heads]
    when = next((heads[each] for each in _WHEN if each in heads), None)
    if not whose or when is None:
        raise LadderError(
            f"the times have no column of people or none of times: {shown(first)[:200]}.\n"
            "Give Moodle's grading worksheet, or a CSV with the columns login and received."
        )
    people = [each for each in owners if not each.staff]
    times: dict[str, float | None] = {}
    for row in rows:
        ids = {(kind, _digits(row[head])) for head, kind in whose if _digits(row[head])}
        of = [each.login for each in people if any(_digits(getattr(each, kind)) == what for kind, what in ids)]
        if of and (row[when] or "").strip(" -"):
            at = _moment(row[when], rows.line_num, read)
            times = times | {of[0]: at} if len(of) == 1 else dict.fromkeys(of) | times
    return times


def _moment(text: str, line: int, read: Callable[[str], float]) -> float:
    text = " ".join(unicodedata.normalize("NFKC", text).split())
    for form in _MOODLE_TIMES:
        with suppress(ValueError):
            text = datetime.strptime(text, form).isoformat()
    try:
        return read(text)
    except LadderError as problem:
        raise LadderError(f"line {line} of the times: {problem}") from None
