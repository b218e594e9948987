"""Games on a terminal, moment by moment: stepped through by keys, or unfolding by themselves.

The keys are those of the page: space plays and pauses, arrows step, j and k change the game. Whatever ends it, the
terminal is as it was before.
"""

import os
import sys
from collections.abc import Sequence
from functools import lru_cache

from rich.text import Text

from arena.cli.keys import Keys, keys
from arena.cli.out import console, fold_line
from arena.cli.unfold import Moment, Telling

FASTEST_S, SLOWEST_S = 0.05, 30.0
_LEAST_TOLD = 6  # rows for what is told, and for the line of keys; else the table above gets a line a seat
USUAL_S = 1.2  # a turn with a challenge takes about as long to read

HELP = (
    ("space", "play or pause"),
    ("right, enter", "next step"),
    ("left", "step back"),
    ("down, up", "next turn, turn back"),
    ("j, k", "next game, game before"),
    ("home, end", "begin or end of the game"),
    ("+, -", "faster, slower"),
    ("s", "another seat's knowledge, or all cards"),
    ("q", "leave"),
    (">", "whose turn it is"),
    ("(duke)", "a card that was lost: it lies face up"),
)


def can_step() -> bool:
    """Tell whether there is a terminal that can be drawn on and keys can be read from."""
    return sys.stdin.isatty() and sys.stdout.isatty() and os.environ.get("TERM", "dumb") not in ("dumb", "unknown")


def step_through(games: Sequence[Telling], since: int = 1, seconds: float | None = None) -> None:
    """Show games until the user leaves. `seconds` a step; None: paused at first. Raises RecordError."""
    with keys() as read, console().screen(hide_cursor=True) as screen:
        assert read is not None
        shown = _Screen(games, since, seconds)
        while not shown.left:
            screen.console.size  # noqa: B018  # rich asks the terminal anew
            columns, rows = screen.console.size
            screen.update(Text("\n").join(shown.lines(columns, rows)))
            shown.take(read)


class _Screen:
    """What is on the screen, and what keys do to it."""

    def __init__(self, games: Sequence[Telling], since: int, seconds: float | None) -> None:
        self._games = games
        self._game = 0
        self._moments = lru_cache(maxsize=4)(lambda game, seat: self._of(game, seat))
        self._seat = games[0].seat
        self._picked = False  # a seat by a key, whose bot is followed from game to game; else each game has its own
        self._place = 0
        self._pace = seconds or USUAL_S
        self._plays = seconds is not None
        self._help = False
        self.left = False
        self._to_turn(since)

    def _of(self, game: int, seat: int | None) -> tuple[Telling, list[Moment]]:
        pair = self._games[game]
        telling = Telling(pair.record, pair.game, seat)
        return telling, list(telling.moments())

    @property
    def _now(self) -> tuple[Telling, list[Moment]]:
        now: tuple[Telling, list[Moment]] = self._moments(self._game, self._seat)
        return now

    # --- keys

    def take(self, read: Keys) -> None:
        """Wait for a key, or for the next step of what plays, and act."""
        _, moments = self._now
        last = self._place >= len(moments) - 1
        key = read(self._pace if self._plays and not (last and self._game == len(self._games) - 1) else None)
        if key is None:
            if last:
                self._to_game(1)
            else:
                self._place += 1
            return
        if self._help:
            self._help = key == "resize"
            return
        act = {
            "space": self._toggle,
            "right": lambda: self._step(1),
            "enter": lambda: self._step(1),
            "l": lambda: self._step(1),
            "left": lambda: self._step(-1),
            "h": lambda: self._step(-1),
            "down": lambda: self._to_turn(moments[self._place].turn + 1),
            "up": lambda: self._to_turn(moments[self._place].turn - 1),
            "home": lambda: self._step(-len(moments)),
            "end": lambda: self._step(len(moments)),
            "j": lambda: self._to_game(1),
            "k": lambda: self._to_game(-1),
            "+": lambda: self._faster(0.7),
            "=": lambda: self._faster(0.7),
            "-": lambda: self._faster(1 / 0.7),
            "s": self._next_seat,
            "?": self._ask,
            "q": self._leave,
            "escape": self._leave,
            "eof": self._leave,
        }.get(key)
        if act is not None:
            act()

    def _toggle(self) -> None:
        self._plays = not self._plays

    def _ask(self) -> None:
        self._help = True

    def _leave(self) -> None:
        self.left = True

    def _step(self, by: int) -> None:
        self._place = max(0, min(len(self._now[1]) - 1, self._place + by))

    def _to_turn(self, turn: int) -> None:
        """Go to the end of a turn, or of the last one."""
        moments = self._now[1]
        self._place = next(
            (place for place, each in enumerate(moments) if each.turn >= max(turn, 1) and each.ends), len(moments) - 1
        )

    def _to_game(self, by: int) -> None:
        game = max(0, min(len(self._games) - 1, self._game + by))
        if game != self._game:
            before, now = self._games[self._game].names, self._games[game]
            bot = None if self._seat is None else before[self._seat]
            self._game, self._place = game, 0
            self._seat = now.seat if not self._picked else now.names.index(bot) if bot in now.names else None

    def _faster(self, factor: float) -> None:
        self._pace = max(FASTEST_S, min(SLOWEST_S, self._pace * factor))

    def _next_seat(self) -> None:
        self._picked = True
        seats = len(self._games[self._game].names)
        self._seat = 0 if self._seat is None else None if self._seat >= seats - 1 else self._seat + 1
        self._step(0)

    # --- drawing

    def lines(self, columns: int, rows: int) -> list[Text]:
        """Return what fits on so many rows: title, table, the latest turns, a line of keys."""
        if self._help:
            wide = max(len(key) for key, _ in HELP)
            return [line for key, what in HELP for line in _lines(f"  {key.ljust(wide)}  {what}", columns)][:rows]
        telling, moments = self._now
        now = moments[self._place]
        top = [(telling.title, "bold"), *self._table(telling, now)]
        head = [line for text, style in top for line in _lines(text, columns, style)]
        if len(head) > rows - _LEAST_TOLD:
            head = [Text(text, style=style) for text, style in top]
        ended = self._place == len(moments) - 1
        foot = Text(self._foot(telling, now, ended, columns), style="dim")
        room = rows - len(head) - 3
        texts = self._told(telling, moments, columns)[-room:] if room > 0 else []
        ending = _lines(f"      {telling.ending}", columns, "bold") if ended else []
        if room > len(ending):
            texts = [*texts[-(room - len(ending)) :], *ending]
        lines = [*head, Text(), *texts]
        lines += [Text()] * (rows - len(lines) - 1) + [foot]
        for line in lines:
            line.truncate(columns, overflow="ellipsis")
        return lines[-rows:] if rows < len(lines) else lines

    def _table(self, telling: Telling, now: Moment) -> list[tuple[str, str]]:
        """Return a line for each seat, and its style."""
        wide = max(map(len, telling.names))
        rows = []
        for seat, name in enumerate(telling.names):
            out = not now.state.hands[seat] and bool(now.state.board.revealed[seat])
            mark = ">" if seat == now.actor else " "
            style = "dim" if out else "bold" if seat == now.actor else ""
            rows.append((f"{mark} {name.ljust(wide)}  {telling.has(now.state, seat)}", style))
        if now.state.board.rules.reformation:
            rows.append((f"  {'reserve'.ljust(wide)}  {now.state.board.reserve}", ""))
        return rows

    def _told(self, telling: Telling, moments: list[Moment], columns: int) -> list[Text]:
        """Return the turns up to now in lines."""
        lines: list[Text] = []
        for place, each in enumerate(moments[: self._place + 1]):
            if each.ends or place == self._place:
                lines += _lines(f"{each.turn:>4}  {each.words}", columns, "" if place == self._place else "dim")
                for fault in each.faults:
                    text = f"      ! {telling.names[fault.seat]}: {fault.words}"
                    lines += _lines(text, columns, "red")
        return lines

    def _foot(self, telling: Telling, now: Moment, ended: bool, columns: int) -> str:
        """Return where this is, and as much of how it goes on as fits."""
        where = f"game {self._game + 1} of {len(self._games)}, turn {now.turn} of {telling.game.turns}"
        plays = f"plays, {self._pace:.2g} s a step" if self._plays and not ended else "paused"
        whole = f"{where} · {plays} · space, arrows, j/k, s, ?, q"
        return next((text for text in (whole, f"{where} · {plays} · ?", f"{where} · ?") if len(text) <= columns), where)


def _lines(text: str, columns: int, style: str = "") -> list[Text]:
    """Return a text as lines that are folded at blanks."""
    return [Text(line, style=style) for line in fold_line(text, columns).split("\n")]
