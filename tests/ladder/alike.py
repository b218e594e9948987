"""Sample programs for tests of similarity: one, the same in disguise, and different ones."""

import shutil
from contextlib import closing
from pathlib import Path

import pytest

from ladder.bots import submit_bot
from ladder.ladder import Ladder, open_ladder
from tests.ladder.classes import configure
from tests.ladder.ladders import pass_all
from tests.ladder.term import Term, begin_ladder, write
from tests.shared_setup import made_once

BOT = '''"""Weighs each move."""

from coup_kit import Answer, Bot, Game, run

WORTH = {"captain": 7.5, "duke": 3.25, "assassin": 9.0, "ambassador": 1.5, "contessa": 4.75}


def danger_of(game: Game, seat: int) -> float:
    """How much there is to fear."""
    opponent = game.players[seat]
    total = opponent.coins * 0.75 + opponent.influence * 3.5
    for role in opponent.revealed:
        total -= WORTH.get(role, 1.0) / 2
        if role == "duke":
            total -= 0.25
    return max(total, 0.0)


def spread(values: list[float]) -> float:
    # between the least and the most
    if not values:
        return 0.0
    middle = sum(values) / len(values)
    return sum((value - middle) ** 2 for value in values) ** 0.5


class Weigher(Bot):
    name = "weigher"

    def turn(self, game: Game) -> Answer:
        best, best_score = None, -1.0
        for move in game.legal:
            score = WORTH.get(move.get("action", ""), 0.5)
            if "target" in move:
                score += danger_of(game, move["target"]) * 1.25
            while score > 40.0:
                score /= 3.0
            if score > best_score:
                best, best_score = move, score
        return best

    def lose(self, game: Game) -> Answer:
        order = sorted(game.legal, key=lambda move: WORTH.get(move["lose"], 0.0) + spread([1.0, 2.0]))
        return order[0] if len(order) < 3 else order[-2]


if __name__ == "__main__":
    run(Weigher())
'''
KIT_ONLY = """from coup_kit import Bot, run


class {name}(Bot):
    name = "{name}"

    def turn(self, game):
        return game.find("{action}")


run({name}())
"""
IN_C = """#include <stdio.h>
double danger(int coins, int influence, const int *shown, int n) {
    double total = coins * 0.75 + influence * 3.5;
    for (int i = 0; i < n; i++) { total -= shown[i] / 2.0; if (shown[i] == 3) total -= 0.25; }
    return total > 0 ? total : 0.0;
}
int main(void) { char line[4096]; while (fgets(line, sizeof line, stdin)) puts("{}"); return 0; }
"""


def disguise_bot(text: str = BOT) -> str:
    """Return a bot with other names, text, comments and blanks, and its functions in another order."""
    head, danger, spread, rest = text.split("\n\n\n", 3)
    pairs = {"danger_of": "threat", "opponent": "foe", "total": "acc", "role": "card", "spread": "sigma", "value": "x"}
    pairs |= {"middle": "mu", "best": "top", "score": "pts", "order": "ranked", "Weigher": "MyBot", "WORTH": "PRICE"}
    pairs |= {
        "Weighs each move.": "All my own work.",
        "# between the least and the most": "# statistics",
        "weigher": "z",
    }
    found = "\n\n".join([head, spread, danger.replace("    ", "\t"), rest])
    for old, new in pairs.items():
        found = found.replace(old, new)
    return found


def submit_files(ladder: Ladder, path: Path, login: str, files: dict[str, str | bytes]) -> None:
    """Submit a folder with these files as a bot of an owner, named like the folder, and accept it."""
    for name, text in files.items():
        (path / name).parent.mkdir(exist_ok=True, parents=True)
        (path / name).write_bytes(text.encode("utf-8", "surrogateescape") if isinstance(text, str) else text)
    write(path / "bot.toml", 'run = "python3 bot.py"\n')
    submit_bot(ladder, path, login, name=path.name)
    pass_all(ladder)


def alike_ladder(factory: pytest.TempPathFactory, path: Path) -> Term:
    """Return a ladder in which bob's bot is ada's in disguise, and eve's and kim's have the kit in common."""
    made = made_once(factory, "alike", _make)
    return Term(Path(shutil.copytree(made / "spring", path / "spring")))


def _make(path: Path) -> None:
    made = begin_ladder(path, ("ada", "bob", "eve", "kim"))
    configure(made, max_bots_per_user=5)
    with closing(open_ladder(made.path)) as ladder:
        submit_files(ladder, path / "weigher", "ada", {"bot.py": BOT, "data.json": "{}"})
        submit_files(ladder, path / "mine", "bob", {"bot.py": disguise_bot()})
        submit_files(ladder, path / "tiny", "eve", {"bot.py": KIT_ONLY.format(name="A", action="tax")})
        submit_files(ladder, path / "small", "kim", {"bot.py": KIT_ONLY.format(name="Bee", action="steal")})
