"""Tables of a served ladder: how soon a move shows at the other seats, and what a table and a socket take.

People are scripted, over real WebSockets through the web server; each thinks for a random time. What counts is a turn:
one is asked, so its window closes with his answer. The time goes from before the answer is sent until the move is in a
frame that another person at the table has received: both ways through web server and process for tables, and the
scripts' own work on the same cores, are in it.
"""

import asyncio
import os
import random
import statistics
import time
from collections.abc import Sequence
from contextlib import AsyncExitStack, closing
from dataclasses import dataclass, field
from pathlib import Path

from ladder.service import issue, open_ladder
from tests.ladder.service.ladders import cache, owners
from tests.ladder.web.players import Player, at_once, club
from tests.place import Place

BOTS = ("honest", "opportunist")
PEOPLE = 2
THINKS_S = (1.0, 4.0)
WARM_S = 10.0


@dataclass
class Move:
    """A turn that a person has taken, and who hasn't been shown it yet."""

    at: float
    awaited: set["Person"]


@dataclass
class Figures:
    """What was measured. Of the processes: kB of memory for a table and a socket, and seconds of CPU a second.

    late_ms: by how much this process itself woke up too late meanwhile, which is the machine's and the scripts' part.
    """

    tables: int
    delays_ms: list[float] = field(default_factory=list)
    late_ms: list[float] = field(default_factory=list)
    table_kb: float = 0.0
    bots_kb: float = 0.0
    socket_kb: float = 0.0
    web_cpu: float = 0.0
    tables_cpu: float = 0.0


def below_ms(delays_ms: Sequence[float], share: float) -> float:
    """Return the delay below which such a share of them lies."""
    return statistics.quantiles(delays_ms, n=100, method="inclusive")[round(100 * share) - 1]


class Person(Player):
    """A person of a table of several; all of it share `moves`, which has the last turn that one of them took."""

    moves: list[Move]
    others: list["Person"]
    figures: Figures
    since: float  # moves before it don't count: all bots start at once
    thinks_s: tuple[float, float]  # the least and the most

    async def spend(self, seed: int, until: float) -> None:
        """Play match after match until a time; think in between."""
        rng, answered, asked_of = random.Random(seed), None, 0
        while time.monotonic() < until:
            ask = (self.frame["game"] or {}).get("ask") if self.frame else None
            if self.frame and self.state in ("over", "void"):
                await self.send({"rematch": True})
            elif self.frame and self.state == "between":
                await self.send({"go_on": True})
            elif ask is not None and (asked_of, ask["id"]) != answered:
                answered = (asked_of, ask["id"])
                await asyncio.sleep(rng.uniform(*self.thinks_s))
                if ask["kind"] == "turn":
                    self.moves[:] = [Move(time.monotonic(), set(self.others))]
                choice = rng.choice(rng.choice(ask["options"])["choices"])[0]
                await self.send({"answer": {"id": ask["id"], "choice": choice}})
            before = self.story()
            try:
                async with asyncio.timeout(max(0.01, until - time.monotonic())):
                    if not await self.news():
                        raise RuntimeError(f"closed: {self.closed}")
            except TimeoutError:
                return
            if self.state in ("over", "void"):
                asked_of += 1
            if self.story() != before and self.moves and self in self.moves[0].awaited:
                self.moves[0].awaited.discard(self)
                if self.moves[0].at > self.since:
                    self.figures.delays_ms.append(1000 * (time.monotonic() - self.moves[0].at))

    def story(self) -> object:
        """Return what was told of the game so far."""
        game = self.frame.get("game") if self.frame else None
        return None if game is None else (game["turn"], game["told"])


def measure(
    place: Place, tables: int, seconds: float, warm_s: float = WARM_S, thinks_s: tuple[float, float] = THINKS_S
) -> Figures:
    """Have so many tables be played at for some seconds after the warm ones, two people and two bots each."""
    folder = place.folder / "spring"
    ran = [
        place.run("ladder", "init", folder, "--rules", "coup"),
        place.run("ladder", "run", folder, "--until", "examined", **cache(place)),
    ]
    assert [one.code for one in ran] == [0, 0], ran
    at_once(folder)
    logins = [f"p{number}" for number in range(tables * PEOPLE)]
    with closing(open_ladder(folder)) as ladder:
        owners(ladder, *logins)
        sessions = {login: issue(ladder, login, "session", "bench").secret for login in logins}
    with club(place, folder) as house:
        house.sessions |= sessions
        figures = Figures(tables)
        people: list[list[Person]] = []
        web, dealer = house.served.process.pid, house.dealer.pid

        async def play() -> None:
            async with AsyncExitStack() as stack:
                before = {pid: memory_kb(pid) for pid in (web, dealer)}
                for table in people:
                    for person in table:
                        await stack.enter_async_context(person.there())
                for person in (person for table in people for person in table):
                    await person.until(lambda frame: frame["table"]["state"] == "playing")
                cpu = {pid: cpu_s(pid) for pid in (web, dealer)}
                began = time.monotonic()
                everybody = [person for table in people for person in table]
                for person in everybody:
                    person.since = began + warm_s
                late = asyncio.create_task(wake(figures, warm_s))
                await asyncio.gather(
                    *(person.spend(number, began + warm_s + seconds) for number, person in enumerate(everybody))
                )
                late.cancel()
                took = time.monotonic() - began
                figures.web_cpu = (cpu_s(web) - cpu[web]) / took
                figures.tables_cpu = (cpu_s(dealer) - cpu[dealer]) / took
                figures.socket_kb = (memory_kb(web) - before[web]) / len(everybody)
                figures.table_kb = (memory_kb(dealer) - before[dealer]) / tables
                figures.bots_kb = sum(map(memory_kb, below(dealer))) / tables

        for number in range(tables):
            mine = logins[number * PEOPLE : (number + 1) * PEOPLE]
            opened = house.open(mine[0], bots=list(BOTS), me=True, people=PEOPLE - 1)
            for login, way in zip(mine[1:], opened["places"][len(BOTS) + 1 :], strict=True):
                house.sit(login, way["link"])
            table = [Person(house.url, opened["id"], {"Cookie": f"session={house.session(login)}"}) for login in mine]
            moves: list[Move] = []
            for person in table:
                person.moves, person.figures, person.thinks_s = moves, figures, thinks_s
                person.others = [other for other in table if other is not person]
            people.append(table)
        asyncio.run(play())
        house.dealer.terminate()
        house.dealer.communicate(timeout=60)
    return figures


async def wake(figures: Figures, warm_s: float) -> None:
    """Wake up again and again after the warm seconds, and note how late that is."""
    await asyncio.sleep(warm_s)
    while True:
        due = time.monotonic() + 0.05
        await asyncio.sleep(0.05)
        figures.late_ms.append(1000 * (time.monotonic() - due))


def memory_kb(process: int) -> int:
    """Return the memory that is a process's own, in kB."""
    try:
        lines = Path(f"/proc/{process}/smaps_rollup").read_text().splitlines()
    except OSError:  # it has just ended
        return 0
    return sum(int(line.split()[1]) for line in lines if line.startswith(("Private_Clean", "Private_Dirty")))


def cpu_s(process: int) -> float:
    """Return the seconds of CPU that a process has taken, without its children."""
    told = Path(f"/proc/{process}/stat").read_text().rpartition(")")[2].split()
    return (int(told[11]) + int(told[12])) / os.sysconf("SC_CLK_TCK")


def below(process: int) -> list[int]:
    """Return all processes that one has started, and theirs."""
    try:
        children = [
            int(child)
            for task in Path(f"/proc/{process}/task").iterdir()
            for child in (task / "children").read_text().split()
        ]
    except OSError:
        return []
    return [pid for child in children for pid in (child, *below(child))]
