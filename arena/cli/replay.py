"""Implement `arena replay`, which shows recorded games as text, as JSON or as a page.

As text, each turn is one line: the events with names, and marks for false claims where the cards are known. A seat's
view shows only that seat's cards, and the events as the seat received them. `--what-if` compares a changed bot's
choices with the recorded ones."""

import os
import shlex
import signal
import subprocess
import tempfile
import time
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager, suppress
from dataclasses import dataclass, replace
from functools import partial
from itertools import chain, groupby
from pathlib import Path
from typing import Any

import click
from rich.console import RenderableType
from rich.text import Text

from arena.bots import Bot, BotError, BuildError, build_all, copy_with_kit, load_bots
from arena.checks import BUILD_S
from arena.cli import console
from arena.cli.options import complete_name, parse_seat_number
from arena.coup import Forfeit, State
from arena.escaping import escape_control
from arena.formatting import format_count
from arena.referee import FAULTS, GameRecord, Record, RecordError, move_payload
from arena.replay import ReplayStep, list_steps, make_replay_object, replay_page
from arena.review import DecisionPair, replay_decisions
from arena.run import RecordFileError, read_logs, read_records
from protocol.event_text import describe_end, describe_event, describe_move, join_texts

HIDDEN = "??"
BLUFF = " (bluff)"
_NO_REACTION_TEXTS = {"challenge": "nobody challenges", "block": "nobody blocks"}  # by kind of step


@dataclass(frozen=True, slots=True)
class NarratedFault:
    """A fault of a seat, with the move that was played instead, in words."""

    seat: int
    text: str


@dataclass(frozen=True, slots=True)
class NarratedTurn:
    """A turn as text. actor: a seat. table_state: each player's coins and cards after it."""

    turn: int
    actor: int
    text: str
    faults: tuple[NarratedFault, ...]
    table_state: str


@dataclass(frozen=True, slots=True)
class NarratedGame:
    """A game as text. names: by seat. seat: the viewer, None for all cards. unattributed_faults: faults at no move."""

    match: int
    game: int
    names: tuple[str, ...]
    seat: int | None
    turns: tuple[NarratedTurn, ...]
    unattributed_faults: tuple[str, ...]
    result_text: str


@dataclass(frozen=True, slots=True)
class NarratedGames:
    """Games in words, in the order of their records."""

    items: tuple[NarratedGame, ...]


class GameNarrator:
    """A writer of one game of a record as text, with all cards, or with those that one seat knows."""

    def __init__(self, record: Record, game: GameRecord, seat: int | None = None) -> None:
        self.record = record
        self.game = game
        self.seat = seat
        self.names = [escape_control(record.header.bots[bot]) for bot in game.seating]

    @property
    def title(self) -> str:
        """Return the title: the game, and the seat whose knowledge is shown."""
        header = self.record.header
        whose = "all cards" if self.seat is None else f"as {self.names[self.seat]} saw it"
        seats = format_count(len(self.names), "seat")
        return f"match {header.match}, game {self.game.game}: {header.settings.rules.name}, {seats}, {whose}"

    @property
    def result_text(self) -> str:
        """Describe how the game ended."""
        game, names = self.game, self.names
        turns = f"after {format_count(game.turns, 'turn')}"
        if game.winner is not None:
            return f"{names[game.winner]} wins {turns}"
        return f"a draw of {', '.join(names[seat] for seat in game.survivors)} {turns}: {describe_end(game.reason)}"

    @property
    def unattributed_faults(self) -> Sequence[str]:
        """List the unsolicited lines by bot: faults that belong to no move."""
        return [
            f"{self.names[self.game.seating.index(fault.bot)]}: {fault.code}, {format_count(fault.count, 'time')}"
            for fault in self.game.faults
            if fault.step is None and self.seat in (None, self.game.seating.index(fault.bot))
        ]

    def narrate(self, start_turn: int = 1) -> NarratedGame:
        """Return the game in words from `start_turn`. Raises RecordError if the engine can't reproduce the record."""
        turns = tuple(turn for turn in self._narrate_turns() if turn.turn >= start_turn)
        header, faults = self.record.header, tuple(self.unattributed_faults)
        return NarratedGame(header.match, self.game.game, tuple(self.names), self.seat, turns, faults, self.result_text)

    def _narrate_turns(self) -> Iterator[NarratedTurn]:
        """Yield each turn. Raises RecordError if the engine can't reproduce the record."""
        texts: list[tuple[str, str]] = []
        faults: list[NarratedFault] = []
        for step in list_steps(self.record.header, self.game):
            texts += self._narrate_step(step)
            faults += self._narrate_faults(step)
            board = step.after.board
            if board.turn != step.turn or not board.phase.asked:
                table_state = self._describe_table(step.after)
                yield NarratedTurn(step.turn, step.before.board.actor, join_texts(texts), tuple(faults), table_state)
                texts, faults = [], []

    def _narrate_faults(self, step: ReplayStep) -> Iterator[NarratedFault]:
        for answer in step.answers:
            if answer.fault is not None and self.seat in (None, answer.seat):
                text = f"{answer.fault} ({FAULTS[answer.fault].message})"
                if not isinstance(answer.move, Forfeit):  # the turn shows the forfeit
                    text += f"; played instead: {describe_move(move_payload(answer.move), self.names)}"
                yield NarratedFault(answer.seat, text)

    def _narrate_step(self, step: ReplayStep) -> list[tuple[str, str]]:
        """Return (type of event, text) of a step's missing reactions, events and statements, without coins."""
        events = [event for event in step.payloads(self.seat) if event["event"] != "coins"]
        texts = [
            (event["event"], describe_event(event, self.names) + BLUFF * self._is_bluff(event, step))
            for event in events
        ]
        if step.kind in _NO_REACTION_TEXTS and not any(event["event"] in _NO_REACTION_TEXTS for event in events):
            return [("", _NO_REACTION_TEXTS[step.kind]), *texts]
        return texts

    def _is_bluff(self, event: dict[str, Any], step: ReplayStep) -> bool:
        claim = event["role"] if event["event"] == "block" else event.get("claim")
        if claim is None or self.seat not in (None, event["seat"]):
            return False
        hand = step.before.hands[event["seat"]]
        denied = claim.removeprefix("not_")
        return claim not in hand if claim == denied else denied in hand

    def _describe_table(self, state: State) -> str:
        seats = [f"{name} {self._describe_seat(state, seat)}" for seat, name in enumerate(self.names)]
        reserve = [f"reserve {state.board.reserve}"] if state.board.rules.reformation else []
        return " | ".join([*seats, *reserve])

    def _describe_seat(self, state: State, seat: int) -> str:
        """Return a seat's coins, cards (face-up ones in brackets) and side."""
        board = state.board
        cards = [role.value if self.seat in (None, seat) else HIDDEN for role in state.hands[seat]]
        revealed = [f"({role})" for role in board.revealed[seat]]
        side = [board.sides[seat].value] if board.sides else []
        return " ".join([str(board.coins[seat]), *cards, *revealed, *side])


_MAX_PROCESS_S = 600.0  # for a process with all its requests
_LOG_HINT = "The whole log"  # of a build that failed: the log is gone with the scratch folder


@dataclass(frozen=True, slots=True)
class WhatIfReport:
    """The requests at which a program chooses another move than the recorded bot, or none. requests: their total."""

    requests: int
    items: tuple[DecisionPair, ...]


@contextmanager
def open_asked_bot(argument: str) -> Iterator[tuple[str, Callable[[bytes], bytes]]]:
    """Yield the name of a bot, and a function that sends lines to a new process of it and returns the output.

    The bot runs as a plain process without a clock, and its standard error is shown. Exits with 2 for an unknown bot,
    or one that can't be built or started.
    """
    with tempfile.TemporaryDirectory() as scratch:
        try:
            bots, notes = load_bots([argument])
            for note in notes:
                console.print_note(note)
            bot = build_all(
                [copy_with_kit(bots[0], is_boxed=False, folder=Path(scratch, "bot"))], Path(scratch), BUILD_S
            )[0]
        except BuildError as problem:
            lines = str(problem).split("\n")
            console.usage_error("\n".join(line for line in lines if not line.startswith(_LOG_HINT)))
        except BotError as problem:
            console.usage_error(str(problem))
        yield bot.name, partial(_run_bot, bot)


def ask_bot_again(
    argument: str, recorded_name: str | None, games: Sequence[tuple[Record, GameRecord, Path]]
) -> WhatIfReport:
    """Replay the games to the bot `argument` in place of a recorded bot; report where it chooses another move.

    recorded_name: of the recorded bot, None for the bot's own name. Exits with 2 as `open_asked_bot` does, or if the
    recorded bot plays in none of the games. Raises RecordError if the engine can't reproduce a record.
    """
    with open_asked_bot(argument) as (own_name, ask):
        name = own_name if recorded_name is None else recorded_name
        games_of_bot = [(record, game.game, file) for record, game, file in games if name in record.header.bots]
        if not games_of_bot:
            console.usage_error(
                f"{escape_control(name)} plays in none of these games: choose the recorded bot with --seat BOT"
            )
        pairs: list[DecisionPair] = []
        for _, games_of_file in groupby(games_of_bot, key=lambda chosen_game: chosen_game[2]):
            records, game_numbers, _ = zip(*games_of_file, strict=True)
            bot = records[0].header.bots.index(name)
            pairs += (pair for pair in replay_decisions(records[0], bot, ask) if pair.game in game_numbers)
    differences = (pair for pair in pairs if pair.new_choice is None or pair.new_choice != pair.recorded_choice)
    return WhatIfReport(len(pairs), tuple(differences))


def print_what_if(report: WhatIfReport) -> None:
    """Print the requests at which a bot's choices differ."""
    without_reply = sum(pair.new_choice is None for pair in report.items)
    console.print_parts(
        Text(f"it chooses differently at {len(report.items)} of {format_count(report.requests, 'request')}"),
        *([Text(f"{without_reply} without a valid reply")] if without_reply else []),
        *([Text(), _make_table_of_pairs(report.items)] if report.items else []),
        widest=console.MAX_PROSE_COLUMNS,
    )


def _make_table_of_pairs(pairs: Sequence[DecisionPair]) -> RenderableType:
    """Return a row for each decision: the recorded move next to the one that the new version chose."""
    number_columns = (console.Column(name, number=True) for name in ("match", "game", "turn"))
    move_columns = (console.Column(name, min_width=12) for name in ("recorded", "new"))
    rows = [
        [
            str(pair.match),
            str(pair.game),
            str(pair.turn),
            pair.kind,
            escape_control(pair.recorded_choice or "a fault"),
            escape_control(pair.new_choice or "no valid reply"),
        ]
        for pair in pairs
    ]
    return console.make_table([*number_columns, "request", *move_columns], rows)


def _run_bot(bot: Bot, lines: bytes) -> bytes:
    """Send a new process of the bot all lines, return its output, and kill it. Exits with 2 if it can't start."""
    with tempfile.TemporaryFile() as output:
        try:
            process = subprocess.Popen(
                bot.argv, stdin=subprocess.PIPE, stdout=output, cwd=bot.cwd, start_new_session=True
            )
        except OSError as problem:
            console.usage_error(f"{escape_control(bot.name)} can't be started: {problem.strerror}")
        try:
            process.communicate(lines, _MAX_PROCESS_S)
            if process.returncode:
                console.print_note(f"{escape_control(bot.name)} ended with {process.returncode}")
        except subprocess.TimeoutExpired:
            console.print_note(f"{escape_control(bot.name)} was stopped after {_MAX_PROCESS_S:.0f} s")
        finally:
            with suppress(ProcessLookupError):
                os.killpg(process.pid, signal.SIGKILL)
            process.wait()
        output.seek(0)
        return output.read()


_MAX_TITLE_NAMES = 6  # in a page's title
MAX_GAMES = 240  # in a page: about 5 MB, which a browser still opens in seconds


@dataclass(frozen=True, slots=True)
class GameSelection:
    """The options that select games: those that fit all that are given. seat: a bot's name, or a number."""

    match: int | None
    game: int | None
    lost_by: str | None
    faults: bool
    seat: str | None

    def choose(self, path: Path) -> Iterator[tuple[Record, GameRecord, Path]]:
        """Yield (record, game, file) for each selected game, and note unreadable files.

        Exits with 2 if all files are unreadable, at the end also for unknown bots.
        """
        bots: set[str] = set()
        try:
            for record, file in read_records(path, lambda reason: console.print_note(f"skipped: {reason}")):
                bots.update(record.header.bots)
                if self.match in (None, record.header.match):
                    yield from ((record, game, file) for game in record.games if self._selects(record, game))
        except RecordFileError as problem:
            console.usage_error(str(problem))
        seat_name = None if self.seat is None or parse_seat_number(self.seat) is not None else self.seat
        for name in (self.lost_by, seat_name):
            if name is not None and name not in bots:
                console.usage_error(f'{path} has no bot "{name}"; its bots are {", ".join(sorted(bots))}')

    def _selects(self, record: Record, game: GameRecord) -> bool:
        """Return whether a game of a selected match fits the other options."""
        bots, seat = record.header.bots, self.seat
        if self.game not in (None, game.game):
            return False
        if self.lost_by is not None and (self.lost_by not in bots or not game.lost_by(bots.index(self.lost_by))):
            return False
        if self.faults and not any(_sees_fault_of(seat, record, game, fault.bot) for fault in game.faults):
            return False
        return seat is None or seat in [bots[bot] for bot in game.seating] or parse_seat_number(seat) is not None

    def require_games(self, path: Path) -> Iterator[tuple[Record, GameRecord, Path]]:
        """Return an iterator of the selected games, as `choose` yields them. Exits with 2 without games."""
        games = self.choose(path)
        leading_game = next(games, None)
        if leading_game is None:
            lost = f"was lost by {self.lost_by}" if self.lost_by else ""
            criteria = " and ".join(filter(None, (lost, "has a fault of a bot" if self.faults else "")))
            if criteria and self.match is None and self.game is None:
                console.usage_error(f"no game of {path} {criteria}")
            console.usage_error(
                f"{path} has no such game; arena stats {shlex.quote(str(path))} shows the number of games"
            )
        return chain((leading_game,), games)


@click.command()
@click.argument("path", metavar="RECORD|DIR", type=click.Path(path_type=Path))
@console.option("--match", type=click.IntRange(0), metavar="N", help="Only this match in the run's folder.")
@console.option("--game", type=click.IntRange(0), metavar="N", help="Only this game of each match.")
@console.option("--lost-by", metavar="BOT", shell_complete=complete_name, help="Only games that this bot lost.")
@console.option("--faults", is_flag=True, help="Only games with a fault.")
@console.option(
    "--seat",
    metavar="BOT|N",
    shell_complete=complete_name,
    help="Show only what this bot or seat could know.  [all cards]",
)
@console.option("--from", "since", type=click.IntRange(1), metavar="TURN", help="Start at this turn.  [1]")
@console.option(
    "--what-if",
    metavar="BOT",
    help="Show what this bot would choose instead of the recorded bot of its name or --seat.",
)
@console.option("--html", type=click.Path(path_type=Path, dir_okay=False), metavar="FILE", help="Write an HTML page.")
@console.json_option(NarratedGames, WhatIfReport)
def replay(
    path: Path, html: Path | None, since: int | None, what_if: str | None, as_json: bool, **criteria: Any
) -> None:
    """Show recorded games as text or as an HTML page.

    RECORD is a file in a run's folder records/, DIR the run's folder. --html writes one file that needs no network: the
    table, each seat's knowledge, odds, times and standard error. Open it in a browser. With --seat BOT the page
    contains only what BOT could know; with --lost-by BOT it contains all cards, and opens with BOT's view.

    --what-if starts an edited bot as a plain process, sends it the lines of the recorded bot, and prints different
    choices. The games continue as recorded. The bot's random numbers may differ, except those from game_seed.
    """
    if what_if is not None and (html is not None or since is not None):
        console.usage_error("--what-if can't be combined with --html or --from")
    if html is not None and since is not None:
        console.usage_error("--from can't be combined with --html: the page shows all turns")
    selection = GameSelection(**criteria)
    games, seat = selection.require_games(path), selection.seat
    try:
        if what_if is not None:
            what_if_report = ask_bot_again(what_if, seat, list(games))
            if as_json:
                console.print_json(what_if_report)
            else:
                print_what_if(what_if_report)
        elif html is not None:
            write_page(html, path, list(games), selection.lost_by, seat)
        else:
            narrators = (GameNarrator(record, game, select_seat(record, game, seat)) for record, game, _ in games)
            _print_games(narrators, since or 1, as_json)
    except RecordError as problem:
        console.fail(str(problem))


def _print_games(narrators: Iterator[GameNarrator], start_turn: int, as_json: bool) -> None:
    """Print games in words, each as it is read, or all of them as JSON. Raises RecordError like `narrate`."""
    if as_json:
        console.print_json(NarratedGames(tuple(narrator.narrate(start_turn) for narrator in narrators)))
        return
    for narrator in narrators:
        print_narration(narrator, start_turn)


def _sees_fault_of(seat: str | None, record: Record, game: GameRecord, bot: int) -> bool:
    """Return whether `seat`, as for `select_seat`, sees a bot's faults: a seat sees only its own, None sees all."""
    if seat is None or seat in record.header.bots:
        return seat in (None, record.header.bots[bot])
    return parse_seat_number(seat) == game.seating.index(bot)


def select_seat(record: Record, game: GameRecord, seat: str | None) -> int | None:
    """Return the number of a seat given by bot, else by number; None for None. Exits with 2 if it doesn't exist."""
    if seat is None:
        return None
    names = [record.header.bots[bot] for bot in game.seating]
    if seat in names:
        return names.index(seat)
    number = parse_seat_number(seat)
    if number is None or number >= len(names):
        console.usage_error(f"--seat {seat}: the seats are 0 to {len(names) - 1}, or a bot's name")
    return number


def print_narration(narrator: GameNarrator, start_turn: int = 1, pause_s: float = 0) -> None:
    """Print one game in words from `start_turn`, with a pause after each turn.

    Raises RecordError if the engine can't reproduce the record.
    """
    columns = console.terminal_columns()
    console.print_text(narrator.title)
    game = narrator.narrate(start_turn)
    for turn in game.turns:
        console.print_text(console.wrap_line(f"{turn.turn:>4}  {turn.text}", columns))
        for fault in turn.faults:
            console.print_text(console.wrap_line(f"      ! {game.names[fault.seat]}: {fault.text}", columns))
        table_state = console.wrap_line(f"      {turn.table_state}", columns)
        console.print_text(click.style(table_state, dim=_supports_styles() or None))
        time.sleep(pause_s)
    for fault_text in game.unattributed_faults:
        console.print_text(console.wrap_line(f"      ! {fault_text}", columns))
    console.print_text(f"{game.result_text}\n")


def _supports_styles() -> bool:
    """Return whether the terminal supports styles. If standard output isn't a terminal, click removes them."""
    return "NO_COLOR" not in os.environ and os.environ.get("TERM", "dumb") != "dumb"


def describe_records(folder: Path, replay: str, games: Sequence[GameRecord], person: int | None = None) -> str:
    """Return a line that says where the records are and, if a bot was at fault, where the bots' standard error is.

    `replay`: what `arena replay` shows. `person`: the number of the human player, whose faults don't count.
    """
    text = f"saved in {folder}; {replay}: arena replay {shlex.quote(str(folder))}"
    faulty = any(fault.bot != person for game in games for fault in game.faults)
    return f"{text}; what bots wrote to standard error: {folder / 'logs'}/" if faulty else text


def write_page(
    file: Path,
    source: Path,
    games: Sequence[tuple[Record, GameRecord, Path]],
    opening_bot: str | None,
    viewer: str | None,
    review: dict[str, Any] | None = None,
) -> None:
    """Write games as an HTML page, with all cards, or only with information that the bot `viewer` had.

    A page with all cards opens with the knowledge of `opening_bot`. source: the records' folder, for the title. review:
    as for `replay_page`. Exits with 2 if there are too many games, with 1 if the file can't be written.
    """
    _require_fitting_page(games, viewer)
    bots = dict.fromkeys(bot for record, _, _ in games for bot in record.header.bots)
    title = ", ".join(bots)
    if len(bots) > _MAX_TITLE_NAMES:
        title = f"{format_count(len(bots), 'bot')} of {os.path.basename(os.path.abspath(source))}"
    matches = [
        _make_page_match(path, list(games_of_file), viewer)
        for path, games_of_file in groupby(games, key=lambda chosen_game: chosen_game[2])
    ]
    shown_bot = opening_bot if viewer is None else None
    console.write_html(file, replay_page(matches, f"Coup: {title}", shown_bot, review))
    cards = "all cards" if viewer is None else f"only what {viewer} could know"
    opening = "" if shown_bot is None else f", and opens with what {shown_bot} knew"
    console.print_note(
        f"{format_count(len(games), 'game')} in {file}: open it in a browser. It contains {cards}{opening}"
    )


def _require_fitting_page(games: Sequence[tuple[Record, GameRecord, Path]], viewer: str | None) -> None:
    """Exit with 2 if there are too many games for a page, or a viewer is no bot of each of them."""
    if viewer is not None and any(viewer not in record.header.bots for record, _, _ in games):
        console.usage_error(f"--seat {viewer}: seats change from game to game; with --html name a bot")
    if len(games) > MAX_GAMES:
        console.usage_error(
            f"a page has space for {MAX_GAMES} games, not {len(games)}: choose with --match, --game or --lost-by"
        )


def _make_page_match(
    path: Path, games: Sequence[tuple[Record, GameRecord, Path]], viewer: str | None
) -> dict[str, Any]:
    """Return some games of a match as a page shows them. viewer: the bot whose information it shows, None for all."""
    record = replace(games[0][0], games=tuple(game for _, game, _ in games))
    viewers = None if viewer is None else (record.header.bots.index(viewer),)
    return make_replay_object(record, read_logs(path, record), viewers)
