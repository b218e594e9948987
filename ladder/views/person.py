"""People as staff keeps them: all of them, and one with bots, with what lets him in, and with what was decided."""

from collections import defaultdict
from dataclasses import dataclass

from ladder.access import visible
from ladder.store.database import Membership, all_bots, all_owners, find_owner
from ladder.views.act import ActLine, act_list
from ladder.views.allowance import Allowance
from ladder.views.bot import BotLine, bot_list
from ladder.views.credential import CredentialLine, credential_list
from ladder.views.cursor import cut
from ladder.views.owner import OwnerLine, owner_line
from ladder.views.reader import Reader
from ladder.views.team import team_list


@dataclass(frozen=True, slots=True)
class PersonLine:
    """A person, with the team and with the names of the bots that are his."""

    owner: OwnerLine
    team: str | None
    bots: tuple[str, ...]


@dataclass(frozen=True, slots=True)
class People:
    """People, in order of login. of: how many were found. sections: of all people, in order."""

    rows: tuple[PersonLine, ...]
    of: int
    sections: tuple[str, ...]
    next: str | None = None
    change: int | None = None


@dataclass(frozen=True, slots=True)
class PersonPage:
    """All that staff knows of a person. teams: those that he is and was in, the newest last; team_names: of all.

    credentials: those that let him in now, the newest first. allowance: what he may submit now.
    """

    owner: OwnerLine
    bots: tuple[BotLine, ...]
    teams: tuple[Membership, ...]
    team_names: tuple[str, ...]
    credentials: tuple[CredentialLine, ...]
    acts: tuple[ActLine, ...]
    allowance: Allowance | None
    change: int | None = None


def people(reader: Reader, search: str = "", after: str | None = None, limit: int = 50) -> People:
    """Return people in whom these words are found, so many after the one whose pseudonym is `after`."""
    names = defaultdict(list)
    for bot in all_bots(reader.connection):
        names[bot.owner].append(bot.name)
    owners, teams = all_owners(reader.connection), _teams(reader)
    words = search.casefold().split()
    matching = [
        owner
        for owner in owners
        if all(
            word in " ".join(filter(None, (owner.login, owner.name, owner.pseudonym, owner.section, owner.email,
                                           owner.number, teams.get(owner.login), *names[owner.id]))).casefold()
            for word in words
        )
    ]  # fmt: skip
    part, more = cut(matching, lambda owner: owner.pseudonym, after, limit)
    rows = tuple(
        visible(
            PersonLine(owner_line(reader.connection, owner, reader.viewer), team, tuple(names[owner.id])), reader.viewer
        )
        for owner in part
        for team in [teams.get(owner.login)]
    )
    sections = tuple(sorted({owner.section for owner in owners if owner.section}))
    return visible(People(rows, len(matching), sections, more, reader.change), reader.viewer)


def _teams(reader: Reader) -> dict[str, str]:
    return {each.login: each.team for each in team_list(reader).rows if each.until is None}


def person(reader: Reader, login: str, allowance: Allowance | None = None) -> PersonPage | None:
    """Return a person with what he may submit, None if nobody has the login."""
    owner = find_owner(reader.connection, login)
    if owner is None:
        return None
    listed = team_list(reader).rows
    mine = sorted((each for each in listed if each.login == owner.login), key=lambda each: each.until is None)
    whole = PersonPage(
        owner_line(reader.connection, owner, reader.viewer),
        tuple(line for line in bot_list(reader, limit=None).rows if line.owner == owner.login),
        tuple(mine),
        tuple(dict.fromkeys(each.team for each in listed)),
        tuple(line for line in reversed(credential_list(reader, owner.login).rows) if line.holds),
        act_list(reader, login=owner.login).rows,
        allowance,
        reader.change,
    )
    return visible(whole, reader.viewer)
