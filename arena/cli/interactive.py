"""Run an interactive game in a terminal: print the events, prompt the player, and send the answers."""

from collections import Counter
from collections.abc import Sequence
from pathlib import Path
from typing import Any

from arena.cli.console import os_error_reason, print_note
from arena.cli.table_setup import describe_records
from arena.cli.terminal import GameTerminal
from arena.play import (
    NUMBERS,
    GameEnded,
    InteractiveMatch,
    LineReceived,
    MatchEnd,
    MatchEvent,
    MoveOption,
    PlayerView,
    RecordFolder,
    TableRow,
    WaitingFor,
)
from arena.referee import FAULTS, GameRecord

HELP = """\
Choose by the number or the letter before a move; where it asks for a player, likewise, or Enter for another move.
enter  pass, where you may
h      hint: how likely the others hold each role
l      log: all that happened in this game
?      this help
q      leave; also Ctrl-C and Ctrl-D
/      say something with your move, where the rules have talk
A move marked "bluff" claims a role that you don't hold. There is no clock for you."""

_SAY = "hold ROLE, lack ROLE, attack NAME, spare NAME, doubt NAME ROLE"
_PATIENCE_S = 1.0  # before the screen says whom the table waits for


class InteractiveGame:
    """A game in the terminal: prints what happens, passes on the person's answers, stores each game as it ends."""

    def __init__(self, screen: GameTerminal, sitting: InteractiveMatch, kept: RecordFolder) -> None:
        self._screen = screen
        self._sitting = sitting
        self._kept = kept
        self._sight: PlayerView = PlayerView()
        self._handles = sitting.spec.handles
        self._left = False
        self._playing = False  # a game is being played
        self._ended: GameRecord | None = None  # a game that is over, until it is looked back on
        self._waiting: tuple[int, ...] = ()  # the bots that were asked last
        self._said_waiting = False
        self._said_help = False
        self._say: list[dict[str, Any]] = []  # with the next answer
        self._table: list[TableRow] = []  # as it was last shown
        self.problem: str | None = None

    def play(self) -> None:
        """Play to the end of the match, or until the person leaves."""
        while True:
            happened = self._sitting.next(_PATIENCE_S if self._waiting and not self._said_waiting else None)
            if happened is None:
                self._say_waiting()
            elif isinstance(happened, MatchEnd):
                self.problem = happened.problem
                return
            else:
                self._take(happened)

    def end(self) -> None:
        """Leave at once: let the others play the game to its end, unless that is interrupted too."""
        try:
            self._leave()
            self.play()
        except KeyboardInterrupt:
            self._give_up()

    def _give_up(self) -> None:
        """End without the game that is being played; if that takes long, say for whom and what ends it at once."""
        self._sitting.give_up()
        self._screen.say("The game isn't kept." if self._playing else "")
        happened = self._sitting.next(_PATIENCE_S)
        while happened is not None and not isinstance(happened, MatchEnd):
            if isinstance(happened, WaitingFor):
                self._take(happened)
            happened = self._sitting.next(_PATIENCE_S)
        if happened is None:
            self._screen.say(f"… waiting for {self._asked()}; Ctrl-C again leaves at once", dim=True)

    def _take(self, happened: MatchEvent) -> None:
        """Act on what happened."""
        match happened:
            case WaitingFor(bots):
                self._waiting = tuple(bot for bot in bots if bot != self._sitting.person)
                self._said_waiting = False
            case LineReceived():
                self._take_line(happened.message)
            case GameEnded(game):
                self._keep()
                self._waiting = ()
                self._ended = game
                if self._left or not self._playing:
                    self._look_back()

    def _take_line(self, message: dict[str, Any]) -> None:
        answer = self._sight.take(message)
        if answer is not None:
            self._sitting.answer(answer)
        elif message["type"] == "game_start":
            self._playing = True
            self._screen.say()
            self._screen.say(self._sight.start(len(self._sitting.spec.seatings)), bold=True)
        elif message["type"] == "request" and not self._left:
            self._ask()
        elif message["type"] == "game_over":
            self._playing = False
            self._say_news()
            self._screen.say()
            self._screen.say(self._sight.end(), bold=True)
            self._look_back()

    def _keep(self) -> None:
        """Keep the games so far; what can't be written now is tried again after the next game, and at the end."""
        try:
            self._kept.keep(self._sitting.record)
        except OSError as problem:
            print_note(f"the record can't be written now: {os_error_reason(problem)}")

    # --- what is said

    def _say_waiting(self) -> None:
        """Print once which players the table waits for. Of several bots it isn't known which have answered."""
        self._screen.say(f"… waiting for {self._asked()}", dim=True)
        self._said_waiting = True

    def _asked(self) -> str:
        handles = [self._handles[bot] for bot in self._waiting]
        if not handles:
            return "the bots to end"
        return handles[0] if len(handles) == 1 else f"the table: {', '.join(handles)} are asked"

    def _say_faults(self, game: GameRecord) -> None:
        """Print the faults of bots in a finished game. During the game they would reveal cards."""
        counts: Counter[tuple[int, str]] = Counter()
        for fault in game.faults:
            if fault.bot != self._sitting.person and not FAULTS[fault.code].is_consequence:
                counts[fault.bot, fault.code] += fault.count
        for (bot, code), count in counts.items():
            times = f" ({count} times)" if count > 1 else ""
            rule = FAULTS[code]
            self._screen.say(f"! {self._handles[bot]}: {code}{times}: {rule.message}; {rule.help}", dim=True)

    def _say_news(self) -> bool:
        """Print what happened since; return whether anything did."""
        news = self._sight.new_lines()
        if news:
            self._screen.say()
        for line in news:
            self._screen.say(line)
        return bool(news)

    def _say_request(self) -> list[MoveOption]:
        screen, sight = self._screen, self._sight
        news = self._say_news()
        table = sight.table(screen.columns)
        if news or table != self._table:
            screen.say()
            for line in table:
                screen.say(line.text, bold=line.own)
            self._table = table
        screen.say()
        screen.say(sight.question(), bold=True)
        options = sight.options()
        for option in options:
            bluff = "  (bluff)" if option.bluff else ""
            screen.say(f"{option.number:>2} {option.letter or ' '}  {option.text}{bluff}")
        return options

    # --- what is asked

    def _ask(self) -> None:
        """Ask the person for the answer to the open request."""
        options = self._say_request()
        if not self._said_help:
            self._said_help = True
            say = "" if self._sight.talk == "off" else ", / say something"
            self._screen.say(f"h hint, l log{say}, ? help, q leave", dim=True)
        while True:
            option = self._chosen(options)
            if option is None:
                return
            choice = option.choices[0][0] if len(option.choices) == 1 else self._targeted(option)
            if choice is not None:
                self._sitting.answer(self._sight.answer(choice, self._say))
                self._say = []
                return
            if self._left:
                return

    def _chosen(self, options: list[MoveOption]) -> MoveOption | None:
        """Return what the person chooses; None if it leaves."""
        while True:
            self._screen.prompt("> ")
            token = self._screen.token()
            for option in options:
                if token in (option.number, option.letter):
                    self._screen.echo(option.text)
                    return option
            if token == "enter" and "pass" in self._sight.game.legal[0]:
                self._screen.echo(options[0].text)
                return options[0]
            self._screen.echo("")
            if not self._asked_else(token, f"{_numbers(options)}, or a letter"):
                return None

    def _targeted(self, option: MoveOption) -> int | None:
        """Return the move at the player whom the person chooses; None if it takes the move back, or leaves."""
        names = self._sight.names
        known: dict[str, int] = {}
        for number, (index, seat) in zip(NUMBERS, option.choices, strict=False):
            name = "yourself" if seat is None else names[seat]
            known[number] = index
            if len(name) == 1:
                known[name.lower()] = index
            self._screen.say(f"{number:>2} {name.lower() if len(name) == 1 else ' '}  {name}")
        while True:
            self._screen.prompt("whom? > ")
            token = self._screen.token()
            if token.lower() in known:
                self._screen.echo(token.upper())
                return known[token.lower()]
            self._screen.echo("")
            if token in ("enter", "back"):
                return None
            if not self._asked_else(token, f"{_numbers(option.choices)}, or Enter for another move"):
                return None

    def _asked_else(self, token: str, expected: str) -> bool:
        """Run a command that isn't a move; return whether the person stays."""
        screen, sight = self._screen, self._sight
        match token:
            case "h":
                for line in sight.hint(screen.columns):
                    screen.say(line)
            case "l":
                for line in sight.history:
                    screen.say(line)
            case "?":
                screen.say(HELP)
            case "/" if sight.talk != "off":
                self._compose()
            case "q" if not self._is_sure():
                pass
            case "q" | "eof":
                self._leave()
                return False
            case _:
                screen.discard_line()
                screen.say(f"{token}? Type {expected}; ? for help.")
        return True

    def _compose(self) -> None:
        """Ask for a statement with the person's next move; the last one counts."""
        screen, sight = self._screen, self._sight
        screen.say(_SAY + (", or a text" if sight.talk == "text" else ""), dim=True)
        screen.prompt("say > ")
        self._say = sight.statements(screen.line())
        screen.say("All hear it when your move is made." if self._say else "You say nothing.")

    def _is_sure(self) -> bool:
        """Return whether the person wants to leave an unfinished game."""
        self._screen.prompt("Leave, and lose this game? y/n > ")
        token = self._screen.token()
        self._screen.echo(token if token in ("y", "n") else "")
        return token in ("y", "q", "eof")

    def _leave(self) -> None:
        self._sitting.leave()  # each time: an interrupt may have come before an earlier leave was complete
        if not self._left:
            self._left = True
            self._screen.say()
            self._screen.say("You leave. The others play the game to its end." if self._playing else "You leave.")

    def _look_back(self) -> None:
        """Print the summary of a game, once it is over for the referee and for the person."""
        if self._ended is not None:
            self._say_faults(self._ended)
            self._ended = None
            self._between()

    def _between(self) -> None:
        """After a game, wait until the person wants the next one."""
        if self._left or len(self._sitting.games) == len(self._sitting.spec.seatings):
            return
        while True:
            self._screen.prompt("Enter: the next game; q: leave > ")
            token = self._screen.token()
            self._screen.echo("")
            if token in ("enter", "n"):
                self._sitting.resume()
                return
            if token in ("q", "eof"):
                self._leave()
                return
            self._asked_else(token, "Enter or q")

    def print_summary(self, folder: Path) -> None:
        """Print the players' names, their wins, and where the records are."""
        sitting, screen = self._sitting, self._screen
        screen.say()
        if not sitting.spec.terms.open_names:
            others = sorted((handle, bot) for bot, handle in enumerate(self._handles) if bot != sitting.person)
            screen.say("; ".join(f"{handle} was {sitting.spec.bots[bot]}" for handle, bot in others))
        if not sitting.games:
            print_note("no game was played to its end: nothing is kept")
            return
        if len(sitting.games) > 1:
            winners = [None if game.winner is None else game.seating[game.winner] for game in sitting.games]
            won = [f"{name} won {winners.count(bot)}" for bot, name in enumerate(sitting.spec.bots)]
            screen.say(", ".join(won))
        screen.say(describe_records(folder, "all cards", sitting.games, sitting.person))


def _numbers(lines: Sequence[object]) -> str:
    """Return the numbers of a list's lines: "1 to 7", or "1 to 9, 0" of ten."""
    return f"1 to {len(lines)}" if len(lines) < 10 else "1 to 9, 0"
