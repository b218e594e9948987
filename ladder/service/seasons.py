"""The next season: a new ladder with the terms of play, the people and the reference bots of another one."""

from contextlib import closing
from dataclasses import dataclass, replace
from pathlib import Path

from sqlalchemy import Connection

from ladder.service.ladder import Ladder, create
from ladder.service.settings import FILE, without_deadlines
from ladder.store.database import Act, copy_bots, copy_people, note_act


@dataclass(frozen=True, slots=True)
class Season:
    """A new season's ladder: its folder, and the SHA-256 of the key of its deals. left_out: logins of the suspended."""

    folder: str
    commitment: str
    people: int
    bots: int
    left_out: tuple[str, ...]


def next_season(old: Ladder, folder: Path, who: str, database: str | None = None, bring_bots: bool = False) -> Season:
    """Make a ladder in a new folder: with another one's terms of play, people, reference bots, and ladder.toml.

    People keep login, pseudonym, team and password; its key is a new one. The deadlines of ladder.toml become comments.
    bring_bots: what plays of people's bots is submitted, too. The other ladder stays as it is. Raises LadderError.
    """
    toml = without_deadlines((old.path / FILE).read_text(encoding="utf-8"))
    seasons: list[Season] = []
    with old.database.read() as source:

        def fill(target: Connection) -> None:
            now = old.clock()
            ids, left_out = copy_people(source, target, now)
            bots = copy_bots(source, target, ids, now, bring_bots)
            people = len(ids) - 1  # without the row of the reference bots
            note_act(target, Act(who, "import", f"the season after {old.name}: {people} added, 0 changed", now))
            seasons.append(Season(str(folder), "", people, bots, tuple(left_out)))

        with closing(create(folder, old.play, database, fill, toml)) as new:
            return replace(seasons[-1], commitment=new.commitment)
