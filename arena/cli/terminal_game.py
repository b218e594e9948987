"""Run an interactive game in a terminal: print the events, prompt the player, and send the answers.

Printed lines are never redrawn, so any terminal works. Input is a sequence of tokens: a word of a line, "enter" for
an empty line, or "eof" for the end of input."""

import os
import sys
from collections import Counter, deque
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import click

from arena.cli.console import os_error_reason, print_note, terminal_columns, wrap_line
from arena.cli.replay import describe_records
from arena.escaping import escape_control
from arena.play import NUMBERS, MoveOption, PlayerView, TableRow, announce_game, format_hint, make_table_rows
from arena.referee import FAULTS, GameRecord
from arena.tables import live_match

MAX_COLUMNS = 80  # columns; longer lines are hard to read


class GameTerminal:
    """A player's terminal: prints text and reads words."""

    def __init__(self) -> None:
        self._words: deque[str] = deque()
        self._styled = sys.stdout.isatty() and "NO_COLOR" not in os.environ and os.environ.get("TERM") != "dumb"
        self._plain = not _encodes("·")
        self._typed = sys.stdin.isatty()  # a terminal echoes typed words and the end of their line
        self.closed = False  # standard output was closed: nothing more can be shown

    @property
    def columns(self) -> int:
        """Return the maximum width of printed lines, 20 to MAX_COLUMNS."""
        return max(20, min(terminal_columns(), MAX_COLUMNS))

    def say(self, text: str = "", *, bold: bool = False, dim: bool = False, indent: int = 0) -> None:
        """Print lines, wrapped at blanks, each indented by `indent` columns; control characters are escaped."""
        for line in text.split("\n"):
            line = " " * indent + escape_control(line)
            if self._plain:
                line = line.replace("·", "-").replace("…", "...")
            line = wrap_line(line, self.columns)
            self._print(click.style(line, bold=bold or None, dim=dim or None) if self._styled else line)

    def prompt(self, text: str) -> None:
        """Print a prompt, without a line break after it."""
        self._print(text, end="")

    def token(self) -> str:
        """Return the next word of a line, "enter" for an empty line, "eof" at the end of the input."""
        while not self._words:
            line = _read_line()
            if not line:
                return "eof"
            self._words += line.split() or ["enter"]
        return self._words.popleft()

    def line(self) -> str:
        """Return the unread words of the current line, else the next line, stripped; "" at the end of the input."""
        typed = " ".join(self._words) or _read_line().strip()
        self._words.clear()
        return typed

    def discard_line(self) -> None:
        """Discard the unread words of the current line."""
        self._words.clear()

    def echo(self, text: str) -> None:
        """Print the chosen option after the prompt. Empty text only ends the line, where no terminal has echoed it."""
        if text or not self._typed:
            self._print(text)

    def _print(self, text: str, end: str = "\n") -> None:
        try:
            sys.stdout.write(text + end)
            sys.stdout.flush()
        except OSError:  # the terminal was closed
            if not self.closed:
                self.closed = True
                os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())  # Python flushes once more at its end


def _read_line() -> str:
    """Return the next line of standard input, "" at its end."""
    try:
        return sys.stdin.readline()
    except OSError:  # the terminal was closed
        return ""


def _encodes(text: str) -> bool:
    try:
        text.encode(sys.stdout.encoding or "ascii")
    except (LookupError, UnicodeEncodeError):
        return False
    return True


HELP = """\
Choose a move or a player by its number or letter. Enter goes back from players to moves.
enter  pass, if possible
h      hint: how likely the others hold each role
l      log: all events of this game
?      this help
q      leave (or Ctrl-C, Ctrl-D)
/      say something with your move, if the rules allow talk
A move marked "bluff" claims a role that you don't hold. You have no time limit."""

_SAY = "hold ROLE, lack ROLE, attack NAME, spare NAME, doubt NAME ROLE"
_WAITING_NOTE_S = 1.0  # before the terminal shows which players the table waits for


class InteractiveGame:
    """A match in the terminal: prints the events, sends the person's answers, and stores each finished game.

    `problem`: the failure of this machine that ended the match, None without one.
    """

    def __init__(
        self, screen: GameTerminal, sitting: live_match.InteractiveMatch, folder: live_match.RecordFolder
    ) -> None:
        self._screen = screen
        self._sitting = sitting
        self._folder = folder
        self._view: PlayerView = PlayerView()
        self._handles = sitting.spec.handles
        self._left = False
        self._playing = False  # a game is being played
        self._ended: GameRecord | None = None  # a finished game whose summary isn't printed yet
        self._waiting: tuple[int, ...] = ()  # the bots that were asked last
        self._said_waiting = False
        self._said_help = False
        self._say: list[dict[str, Any]] = []  # statements for the next answer
        self._table: list[TableRow] = []  # as printed last
        self.problem: str | None = None

    def play(self) -> None:
        """Play to the end of the match, or until the person leaves."""
        while True:
            happened = self._sitting.next(_WAITING_NOTE_S if self._waiting and not self._said_waiting else None)
            if happened is None:
                self._print_waiting()
            elif isinstance(happened, live_match.MatchEnd):
                self.problem = happened.problem
                return
            else:
                self._handle_event(happened)

    def end(self) -> None:
        """Leave the match, and wait until the others have finished the game. An interrupt abandons the game."""
        try:
            self._leave()
            self.play()
        except KeyboardInterrupt:
            self._abandon_game()

    def _abandon_game(self) -> None:
        """End the match without its unfinished game; if that takes long, print which bots it waits for."""
        self._sitting.give_up()
        self._screen.say("The game isn't saved." if self._playing else "")
        happened = self._sitting.next(_WAITING_NOTE_S)
        while happened is not None and not isinstance(happened, live_match.MatchEnd):
            if isinstance(happened, live_match.WaitingFor):
                self._handle_event(happened)
            happened = self._sitting.next(_WAITING_NOTE_S)
        if happened is None:
            self._screen.say(f"… waiting for {self._describe_waiting()}; Ctrl-C again leaves immediately", dim=True)

    def _handle_event(self, happened: live_match.MatchEvent) -> None:
        """Update the state by an event of the referee's thread; called by the thread that owns the screen."""
        match happened:
            case live_match.WaitingFor(bots):
                self._waiting = tuple(bot for bot in bots if bot != self._sitting.person)
                self._said_waiting = False
            case live_match.LineReceived():
                self._handle_message(happened.message)
            case live_match.GameEnded(game):
                self._store_record()
                self._waiting = ()
                self._ended = game
                if self._left or not self._playing:
                    self._finish_game()

    def _handle_message(self, message: dict[str, Any]) -> None:
        """Answer a message to the person's seat: by the view alone where it can, else by asking the person."""
        answer = self._view.receive(message)
        if answer is not None:
            self._sitting.answer(answer)
        elif message["type"] == "game_start":
            self._playing = True
            self._screen.say()
            self._screen.say(announce_game(self._view, len(self._sitting.spec.seatings)), bold=True)
        elif message["type"] == "request" and not self._left:
            self._prompt_answer()
        elif message["type"] == "game_over":
            self._playing = False
            self._print_news()
            self._screen.say()
            self._screen.say(self._view.end(), bold=True)
            self._finish_game()

    def _store_record(self) -> None:
        """Store the games so far. After an error the next game's end, or the match's, tries again."""
        try:
            self._folder.save(self._sitting.record)
        except OSError as problem:
            print_note(f"the record can't be written now: {os_error_reason(problem)}")

    # --- output

    def _print_waiting(self) -> None:
        self._screen.say(f"… waiting for {self._describe_waiting()}", dim=True)
        self._said_waiting = True

    def _describe_waiting(self) -> str:
        handles = [self._handles[bot] for bot in self._waiting]
        if not handles:
            return "the bots to end"
        return handles[0] if len(handles) == 1 else f"the table: {', '.join(handles)} are asked"

    def _print_faults(self, game: GameRecord) -> None:
        """Print the faults of bots in a finished game. During the game they would reveal cards."""
        counts: Counter[tuple[int, str]] = Counter()
        for fault in game.faults:
            if fault.bot != self._sitting.person and not FAULTS[fault.code].is_consequence:
                counts[fault.bot, fault.code] += fault.count
        for (bot, code), count in counts.items():
            times = f" ({count} times)" if count > 1 else ""
            rule = FAULTS[code]
            self._screen.say(f"! {self._handles[bot]}: {code}{times}: {rule.message}; {rule.help}", dim=True)

    def _print_news(self) -> bool:
        """Print the new events; return whether there were any."""
        news = self._view.history.take_new_lines()
        if news:
            self._screen.say()
        for line in news:
            self._screen.say(line)
        return bool(news)

    def _print_request(self) -> list[MoveOption]:
        """Print the news, the table if it has changed, and the question; return the options in the printed order."""
        screen, view = self._screen, self._view
        news = self._print_news()
        table = make_table_rows(view, screen.columns)
        if news or table != self._table:
            screen.say()
            for line in table:
                screen.say(line.text, bold=line.own)
            self._table = table
        screen.say()
        screen.say(view.question(), bold=True)
        options = view.options()
        for option in options:
            bluff = "  (bluff)" if option.bluff else ""
            screen.say(f"{option.number:>2} {option.letter or ' '}  {option.text}{bluff}")
        return options

    # --- input

    def _prompt_answer(self) -> None:
        """Prompt until the person has chosen a move, which is sent to the referee, or has left."""
        options = self._print_request()
        if not self._said_help:
            self._said_help = True
            say = "" if self._view.talk == "off" else ", / say something"
            self._screen.say(f"h hint, l log{say}, ? help, q leave", dim=True)
        while True:
            option = self._prompt_option(options)
            if option is None:
                return
            choice = option.choices[0][0] if len(option.choices) == 1 else self._prompt_target(option)
            if choice is not None:
                self._sitting.answer(self._view.answer(choice, self._say))
                self._say = []
                return
            if self._left:
                return

    def _prompt_option(self, options: list[MoveOption]) -> MoveOption | None:
        """Prompt for an option, and return it; None if the person leaves."""
        while True:
            self._screen.prompt("> ")
            token = self._screen.token()
            for option in options:
                if token in (option.number, option.letter):
                    self._screen.echo(option.text)
                    return option
            if token == "enter" and "pass" in self._view.game.legal[0]:
                self._screen.echo(options[0].text)
                return options[0]
            self._screen.echo("")
            if not self._run_command(token, f"{_describe_numbers(options)}, or a letter"):
                return None

    def _prompt_target(self, option: MoveOption) -> int | None:
        """Prompt for a target, and return the index of the move; None if the person goes back or leaves."""
        names = self._view.names
        move_by_token: dict[str, int] = {}
        for number, (index, seat) in zip(NUMBERS, option.choices, strict=False):
            name = "yourself" if seat is None else names[seat]
            move_by_token[number] = index
            if len(name) == 1:
                move_by_token[name.lower()] = index
            self._screen.say(f"{number:>2} {name.lower() if len(name) == 1 else ' '}  {name}")
        while True:
            self._screen.prompt("player? > ")
            token = self._screen.token()
            if token.lower() in move_by_token:
                self._screen.echo(token.upper())
                return move_by_token[token.lower()]
            self._screen.echo("")
            if token in ("enter", "back"):
                return None
            if not self._run_command(token, f"{_describe_numbers(option.choices)}, or Enter to go back"):
                return None

    def _run_command(self, token: str, expected: str) -> bool:
        """Run a command that isn't a move, or print the `expected` input; return whether the person stays."""
        screen, view = self._screen, self._view
        match token:
            case "h":
                for line in format_hint(view.hint(), screen.columns):
                    screen.say(line)
            case "l":
                for line in view.history.lines:
                    screen.say(line)
            case "?":
                screen.say(HELP)
            case "/" if view.talk != "off":
                self._prompt_statement()
            case "q" if not self._confirm_leave():
                pass
            case "q" | "eof":
                self._leave()
                return False
            case _:
                screen.discard_line()
                screen.say(f"{token}? Type {expected}; ? for help.")
        return True

    def _prompt_statement(self) -> None:
        """Prompt for a statement that is sent with the next move, in place of an earlier one."""
        screen, view = self._screen, self._view
        screen.say(_SAY + (", or a text" if view.talk == "text" else ""), dim=True)
        screen.prompt("say > ")
        self._say = view.parse_statements(screen.line())
        screen.say("All players hear it with your move." if self._say else "You say nothing.")

    def _confirm_leave(self) -> bool:
        self._screen.prompt("Leave, and lose this game? y/n > ")
        token = self._screen.token()
        self._screen.echo(token if token in ("y", "n") else "")
        return token in ("y", "q", "eof")

    def _leave(self) -> None:
        self._sitting.leave()  # each time: an interrupt may have come before an earlier leave was complete
        if not self._left:
            self._left = True
            self._screen.say()
            self._screen.say("You leave. The other players finish the game." if self._playing else "You leave.")

    def _finish_game(self) -> None:
        """Print a finished game's faults and prompt for the next game, once its record has arrived."""
        if self._ended is not None:
            self._print_faults(self._ended)
            self._ended = None
            self._prompt_next_game()

    def _prompt_next_game(self) -> None:
        """Wait until the person continues with the next game or leaves."""
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
            self._run_command(token, "Enter or q")

    def print_summary(self, folder: Path) -> None:
        """Print the players' names, their wins, and where the records are."""
        sitting, screen = self._sitting, self._screen
        screen.say()
        if not sitting.spec.settings.open_names:
            others = sorted((handle, bot) for bot, handle in enumerate(self._handles) if bot != sitting.person)
            screen.say("; ".join(f"{handle} was {sitting.spec.bots[bot]}" for handle, bot in others))
        if not sitting.games:
            print_note("no game was completed: nothing was saved")
            return
        if len(sitting.games) > 1:
            winners = [None if game.winner is None else game.seating[game.winner] for game in sitting.games]
            won = [f"{name} won {winners.count(bot)}" for bot, name in enumerate(sitting.spec.bots)]
            screen.say(", ".join(won))
        screen.say(describe_records(folder, "all cards", sitting.games, sitting.person))


def _describe_numbers(lines: Sequence[object]) -> str:
    """Return the keys of a numbered list: "1 to 7", or "1 to 9, 0" for ten lines."""
    return f"1 to {len(lines)}" if len(lines) < 10 else "1 to 9, 0"
