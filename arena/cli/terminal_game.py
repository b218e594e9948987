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

    def say(self, text: str = "", *, bold: bool = False, dim: bool = False) -> None:
        """Print lines, wrapped at blanks; control characters are escaped."""
        for paragraph in text.split("\n"):
            characters = escape_control(paragraph)
            if self._plain:
                characters = characters.replace("·", "-").replace("…", "...")
            lines = wrap_line(characters, self.columns)
            self._print(click.style(lines, bold=bold or None, dim=dim or None) if self._styled else lines)

    def prompt(self, text: str) -> None:
        """Print a prompt, without a line break after it."""
        self._print(text, end="")

    def read_token(self) -> str:
        """Return the next word of a line, "enter" for an empty line, "eof" at the end of the input."""
        while not self._words:
            line = _read_line()
            if not line:
                return "eof"
            self._words += line.split() or ["enter"]
        return self._words.popleft()

    def read_line(self) -> str:
        """Return the unread words of the current line, else the next line, stripped; "" at the end of the input."""
        text = " ".join(self._words) or _read_line().strip()
        self._words.clear()
        return text

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
        self, screen: GameTerminal, match: live_match.InteractiveMatch, folder: live_match.RecordFolder
    ) -> None:
        self._screen = screen
        self._match = match
        self._folder = folder
        self._view: PlayerView = PlayerView()
        self._handles = match.spec.handles
        self._has_left = False  # the person
        self._is_playing = False  # a game is being played
        self._finished_game: GameRecord | None = None  # one whose faults aren't printed yet
        self._awaited_bots: tuple[int, ...] = ()  # those that were asked last
        self._waiting_is_printed = False
        self._help_is_printed = False
        self._statements: list[dict[str, Any]] = []  # for the next answer
        self._table: list[TableRow] = []  # as printed last
        self.problem: str | None = None

    def play(self) -> None:
        """Play to the end of the match, or until the person leaves."""
        while True:
            must_note_waiting = self._awaited_bots and not self._waiting_is_printed
            event = self._match.next(_WAITING_NOTE_S if must_note_waiting else None)
            if event is None:
                self._print_waiting()
            elif isinstance(event, live_match.MatchEnd):
                self.problem = event.problem
                return
            else:
                self._handle_event(event)

    def end(self) -> None:
        """Leave the match, and wait until the others have finished the game. An interrupt abandons the game."""
        try:
            self._leave()
            self.play()
        except KeyboardInterrupt:
            self._abandon_game()

    def _abandon_game(self) -> None:
        """End the match without its unfinished game; if that takes long, print which bots it waits for."""
        self._match.give_up()
        self._screen.say("The game isn't saved." if self._is_playing else "")
        event = self._match.next(_WAITING_NOTE_S)
        while event is not None and not isinstance(event, live_match.MatchEnd):
            if isinstance(event, live_match.WaitingFor):
                self._handle_event(event)
            event = self._match.next(_WAITING_NOTE_S)
        if event is None:
            self._screen.say(f"… waiting for {self._describe_waiting()}; Ctrl-C again leaves immediately", dim=True)

    def _handle_event(self, event: live_match.MatchEvent) -> None:
        """Update the state by an event of the referee's thread; called by the thread that owns the screen."""
        match event:
            case live_match.WaitingFor(bots):
                self._awaited_bots = tuple(bot for bot in bots if bot != self._match.person)
                self._waiting_is_printed = False
            case live_match.LineReceived():
                self._handle_message(event.message)
            case live_match.GameEnded(game):
                self._store_record()
                self._awaited_bots = ()
                self._finished_game = game
                if self._has_left or not self._is_playing:
                    self._finish_game()

    def _handle_message(self, message: dict[str, Any]) -> None:
        """Answer a message to the person's seat: by the view alone where it can, else by asking the person."""
        answer = self._view.receive(message)
        if answer is not None:
            self._match.answer_request(answer)
        elif message["type"] == "game_start":
            self._is_playing = True
            self._screen.say()
            self._screen.say(announce_game(self._view, len(self._match.spec.seatings)), bold=True)
        elif message["type"] == "request" and not self._has_left:
            self._prompt_answer()
        elif message["type"] == "game_over":
            self._is_playing = False
            self._print_news()
            self._screen.say()
            self._screen.say(self._view.end(), bold=True)
            self._finish_game()

    def _store_record(self) -> None:
        """Store the games so far. After an error the next game's end, or the match's, tries again."""
        try:
            self._folder.save(self._match.record)
        except OSError as problem:
            print_note(f"the record can't be written now: {os_error_reason(problem)}")

    # --- output

    def _print_waiting(self) -> None:
        self._screen.say(f"… waiting for {self._describe_waiting()}", dim=True)
        self._waiting_is_printed = True

    def _describe_waiting(self) -> str:
        handles = [self._handles[bot] for bot in self._awaited_bots]
        if not handles:
            return "the bots to end"
        return handles[0] if len(handles) == 1 else f"the table: {', '.join(handles)} are asked"

    def _print_faults(self, game: GameRecord) -> None:
        """Print the faults of bots in a finished game. During the game they would reveal cards."""
        counts: Counter[tuple[int, str]] = Counter()
        for fault in game.faults:
            if fault.bot != self._match.person and not FAULTS[fault.code].is_consequence:
                counts[fault.bot, fault.code] += fault.count
        for (bot, code), count in counts.items():
            times = f" ({count} times)" if count > 1 else ""
            rule = FAULTS[code]
            self._screen.say(f"! {self._handles[bot]}: {code}{times}: {rule.message}; {rule.help}", dim=True)

    def _print_news(self) -> bool:
        """Print the new events; return whether there were any."""
        event_lines = self._view.history.take_new_lines()
        if event_lines:
            self._screen.say()
        for line in event_lines:
            self._screen.say(line)
        return bool(event_lines)

    def _print_request(self) -> list[MoveOption]:
        """Print the news, the table if it has changed, and the question; return the options in the printed order."""
        screen, view = self._screen, self._view
        has_news = self._print_news()
        table = make_table_rows(view, screen.columns)
        if has_news or table != self._table:
            screen.say()
            for row in table:
                screen.say(row.text, bold=row.own)
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
        if not self._help_is_printed:
            self._help_is_printed = True
            talk_help = "" if self._view.talk == "off" else ", / say something"
            self._screen.say(f"h hint, l log{talk_help}, ? help, q leave", dim=True)
        while not self._has_left:
            option = self._prompt_option(options)
            if option is None:
                return
            move_index = option.choices[0][0] if len(option.choices) == 1 else self._prompt_target(option)
            if move_index is not None:
                self._match.answer_request(self._view.answer(move_index, self._statements))
                self._statements = []
                return

    def _prompt_option(self, options: list[MoveOption]) -> MoveOption | None:
        """Prompt for an option, and return it; None if the person leaves."""
        while True:
            self._screen.prompt("> ")
            token = self._screen.read_token()
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
        moves = self._print_targets(option)
        while True:
            self._screen.prompt("player? > ")
            token = self._screen.read_token()
            if token.lower() in moves:
                self._screen.echo(token.upper())
                return moves[token.lower()]
            self._screen.echo("")
            if token in ("enter", "back"):
                return None
            if not self._run_command(token, f"{_describe_numbers(option.choices)}, or Enter to go back"):
                return None

    def _print_targets(self, option: MoveOption) -> dict[str, int]:
        """Print the targets of a move; return the index of the move by token: a number, or a name of one letter."""
        moves: dict[str, int] = {}
        for number, (move_index, seat) in zip(NUMBERS, option.choices, strict=False):
            name = "yourself" if seat is None else self._view.names[seat]
            letter = name.lower() if len(name) == 1 else " "
            moves |= {number: move_index} if letter == " " else {number: move_index, letter: move_index}
            self._screen.say(f"{number:>2} {letter}  {name}")
        return moves

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
            case "q" | "eof":
                if token == "eof" or self._confirm_leave():
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
        self._statements = view.parse_statements(screen.read_line())
        screen.say("All players hear it with your move." if self._statements else "You say nothing.")

    def _confirm_leave(self) -> bool:
        """Ask whether to leave, and return whether the person does."""
        self._screen.prompt("Leave, and lose this game? y/n > ")
        token = self._screen.read_token()
        self._screen.echo(token if token in ("y", "n") else "")
        return token in ("y", "q", "eof")

    def _leave(self) -> None:
        # Each time: an interrupt may have come before an earlier leave was complete.
        self._match.leave(self._match.person)
        if not self._has_left:
            self._has_left = True
            self._screen.say()
            self._screen.say("You leave. The other players finish the game." if self._is_playing else "You leave.")

    def _finish_game(self) -> None:
        """Print a finished game's faults and prompt for the next game, once its record has arrived."""
        if self._finished_game is not None:
            self._print_faults(self._finished_game)
            self._finished_game = None
            self._prompt_next_game()

    def _prompt_next_game(self) -> None:
        """Wait until the person continues with the next game or leaves; do nothing after the last game or a leave."""
        if self._has_left or len(self._match.games) == len(self._match.spec.seatings):
            return
        while True:
            self._screen.prompt("Enter: the next game; q: leave > ")
            token = self._screen.read_token()
            self._screen.echo("")
            if token in ("enter", "n"):
                self._match.resume()
                return
            if token in ("q", "eof"):
                self._leave()
                return
            self._run_command(token, "Enter or q")

    def print_summary(self, folder: Path) -> None:
        """Print the players' names, their wins, and where the records are."""
        match, screen = self._match, self._screen
        screen.say()
        if not match.spec.settings.open_names:
            opponents = sorted((handle, bot) for bot, handle in enumerate(self._handles) if bot != match.person)
            screen.say("; ".join(f"{handle} was {match.spec.bots[bot]}" for handle, bot in opponents))
        if not match.games:
            print_note("no game was completed: nothing was saved")
            return
        if len(match.games) > 1:
            winners = [None if game.winner is None else game.seating[game.winner] for game in match.games]
            screen.say(", ".join(f"{name} won {winners.count(bot)}" for bot, name in enumerate(match.spec.bots)))
        screen.say(describe_records(folder, "all cards", match.games, match.person))


def _describe_numbers(lines: Sequence[object]) -> str:
    """Return the keys of a numbered list: "1 to 7", or "1 to 9, 0" for ten lines."""
    return f"1 to {len(lines)}" if len(lines) < 10 else "1 to 9, 0"
