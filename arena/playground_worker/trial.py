"""Try a program against sample bots in the browser's worker. Each call takes and returns JSON as text.

- `run_trial`: {"source", "opponents", "games", "seed", "previous"} -> nothing: each match's progress goes to `beat`.
- `find_endless_loop`: {..., "match"} as for `run_trial` -> {"problem"}; plays one match again and names the line.
- `show_game`: a lost game of a trial -> {"page"}, the replay as HTML.
- `pack_folder`: {"source", "name"} -> {"file", "zip"}: a folder as of `arena new`, packed in Base64.

The games are those of `arena.local.play` with the same seed and as many games a match as seats. A trial ends after a
match in which the program raised an exception: such a win rate is no evidence. A fault is {"line", "column",
"message", "traceback", "restart"}: `line` is None outside the program; `restart` asks for a new worker.
"""

import json
import linecache
import re
import sys
import time
import traceback
from base64 import b64encode
from collections.abc import Callable, Iterable, Iterator
from contextlib import AbstractContextManager, nullcontext
from dataclasses import replace
from io import BytesIO, TextIOBase
from itertools import islice
from pathlib import Path
from types import CodeType, FrameType, ModuleType
from typing import Any

from arena.compare import ABOUT_PAIRS, UNDECIDED_ADVICE, Evidence, PairedResult
from arena.coup import PRESETS, derive_key
from arena.local import Results, make_session_key, plan_session, play_table, sample
from arena.referee import GameResult, Record, Timing, game_marker, game_results, read_record, turn_marker, write_record
from arena.replay import describe_turn, make_replay_object, replay_page
from protocol.kits import coup_kit

BOT_NAME = "mybot"
BOT_FILE = "bot.py"
MAX_OUTPUT = 20_000  # characters that a trial keeps of what the program prints
MAX_LOST_GAMES = 40
GUARDED_S = 5.0  # for one answer, when a match is played again to find an endless loop
TOO_LONG = (
    f"no answer after {GUARDED_S:.0f} s: it takes too long, or never ends. A match allows "
    f"{Timing().limit_ms / 1000:g} s for an answer, and {Timing().bank_ms / 1000:g} s more in each game."
)
POINT = "A point is one win in 100 games"
_BEAT_S = 0.5
_MIN_EFFECT = 0.05

Message = dict[str, Any]
Beat = Callable[..., object]


def run_trial(text: str, beat: Beat) -> str:
    """Play all matches. `beat` is called with None, at most every half second, and with the progress after each match.

    Progress: {"played", "games", "win_rates", "fair_share", "faults", "output", "verdict", "difference",
    "worth", "lost", "done"}. `worth`: for each match the program's share of the win in each game, which a
    later trial takes as `previous` to compare itself.
    """
    beat(None)
    trial = _Trial(json.loads(text), beat)
    while True:
        beat(json.dumps(trial.play_next_match()))
        if trial.has_ended:
            return "null"


def find_endless_loop(text: str, beat: Beat = lambda line: None) -> str:
    """Play the match again with a guard; the problem is None if it ends without an error.

    `beat` is called with None, then with each line that an answer reaches.
    """
    arguments = json.loads(text)
    beat(None)
    try:
        trial = _Trial(arguments, lambda _: None, Guard(beat))
        if not trial.faults:
            trial.play_match(arguments["match"])
    except (TooLongError, Exception, SystemExit) as error:  # also of an opponent that is a program
        return json.dumps({"problem": describe_problem(error)})
    return json.dumps({"problem": next(iter(trial.faults.values()), None)})


def show_game(text: str) -> str:
    """Return the page of a lost game from the program's view, with what it printed."""
    lost = json.loads(text)
    shown = make_replay_object(read_record(lost["record"]), {BOT_NAME: [lost["log"].encode(errors="replace")]})
    place = f"#turn={lost['turn']}&seat={lost['seat']}"
    return json.dumps({"page": replay_page([shown], f"A game of {BOT_NAME}", front=BOT_NAME, place=place)})


def pack_folder(text: str) -> str:
    """Return the program as a folder with its kit, which `arena check` accepts."""
    from zipfile import ZIP_DEFLATED, ZipFile, ZipInfo  # takes long to import

    arguments = json.loads(text)
    kit, starter = Path(coup_kit.__file__), Path(coup_kit.__file__).parents[2] / "sample_bots/python"
    files = {path.name: path.read_text("utf-8") for path in (kit, starter / "bot.toml", starter / "README.md")}
    files["README.md"] = re.sub(r"python3 test_bot.py.*\n", "", files["README.md"])  # it tests the starter's choices
    data = BytesIO()
    with ZipFile(data, "w", ZIP_DEFLATED) as archive:
        for name, content in {BOT_FILE: arguments["source"], **files}.items():
            archive.writestr(ZipInfo(f"{arguments['name']}/{name}", (2020, 1, 1, 0, 0, 0)), content, ZIP_DEFLATED)
    return json.dumps({"file": f"{arguments['name']}.zip", "zip": b64encode(data.getvalue()).decode()})


class TooLongError(BaseException):
    """An answer takes too long. No `except Exception` of a program catches it."""


class _StartedError(BaseException):
    """The program called `run` with a bot, which ends the part of it that a trial executes."""

    def __init__(self, bot: coup_kit.Bot) -> None:
        super().__init__()
        self.bot = bot


class Program:
    """The source of a bot. Each bot that it starts is a new execution, as each match has a new process.

    file: the name in tracebacks.
    """

    def __init__(self, source: str, file: str = BOT_FILE) -> None:
        self.source, self.file = source, file
        self._code: CodeType | None = None
        linecache.cache[file] = (len(source), None, source.splitlines(keepends=True), file)

    def start_bot(self) -> coup_kit.Bot:
        """Execute the program up to its call of `run`; return the bot.

        Raises what the program raises, TypeError for a class in place of a bot, ValueError without a call of `run`.
        """

        def run(bot: coup_kit.Bot) -> None:
            if isinstance(bot, type):
                raise TypeError(f"run({bot.__name__}) got a class instead of a bot; write run({bot.__name__}())")
            raise _StartedError(bot)

        kit = sys.modules["coup_kit"] = ModuleType("coup_kit")
        vars(kit).update(vars(coup_kit), run=run)
        try:
            self._code = self._code or compile(self.source, self.file, "exec", dont_inherit=True)
            exec(self._code, {"__name__": "__main__", "__file__": self.file})
        except _StartedError as started:
            return started.bot
        raise ValueError("the program ends without run(MyBot()): add it as the last line")


class _Trial:
    """A plan of matches between the program and its opponents, and what is known of those that were played."""

    def __init__(self, arguments: Message, beat: Beat, guard: "Guard | None" = None) -> None:
        self.program = Program(arguments["source"])
        self.previous: list[list[float]] = arguments.get("previous") or []
        self.beat, self.next_beat_s = beat, 0.0
        self.guard: AbstractContextManager[None] = guard or nullcontext()
        self.bots: dict[str, Any] = {BOT_NAME: lambda: _ObservedBot(self)}
        for opponent in arguments["opponents"]:
            self._add_opponent(**opponent if isinstance(opponent, dict) else {"name": opponent})
        seats = len(self.bots)
        self.key = make_session_key(arguments["seed"])
        self.plan = plan_session(self.key, seats, seats, arguments["games"], match_games=seats)
        self.output = _Output()
        self.games: list[GameResult] = []
        self.lost: list[Message] = []  # as of `_list_lost_games`
        self.worth: list[list[float]] = []  # by match, then by game: the program's share of the win
        self.faults: dict[tuple[str, int | None], Message] = {}  # by the type of an exception, or a stage, and line
        self.evidence = Evidence(_MIN_EFFECT)
        try:
            with self.output, self.guard:
                coup_kit._report_misspelt(self.program.start_bot())
        except (Exception, SystemExit) as error:
            self.faults["start", None] = describe_problem(error)

    def _add_opponent(self, name: str, source: str | None = None) -> None:
        """Add a sample bot, or a program with this source. An equal name gets a number."""
        make_bot = sample(f"sample:{name}") if source is None else Program(source, f"{name}.py").start_bot
        number = sum(bot_name.partition(" (")[0] == name for bot_name in self.bots) + 1
        self.bots[name if number == 1 else f"{name} ({number})"] = lambda: _BeatingBot(self, make_bot())

    def keep_beating(self) -> None:
        """Report that Python is alive, at most every _BEAT_S."""
        now_s = time.monotonic()
        if now_s > self.next_beat_s:
            self.next_beat_s = now_s + _BEAT_S
            self.beat(None)

    @property
    def has_ended(self) -> bool:
        return bool(self.faults) or len(self.worth) == len(self.plan.tables)

    def play_next_match(self) -> Message:
        """Play a match unless the program can't play; return the progress."""
        if not self.faults:
            try:
                record = self.play_match(len(self.worth))
            except (Exception, SystemExit) as error:  # of a opponent that is a program, or a reply without the kit
                self.faults["match", None] = describe_problem(error)
            else:
                self._add_results(record)
        return self.progress()

    def _add_results(self, record: Record) -> None:
        """Add the games of the next match; with `previous` worths, compare it with the same match of then."""
        games = game_results(record)
        self.games += games
        lost_games = _list_lost_games(games, record, self.output.take_log())
        self.lost += islice(lost_games, MAX_LOST_GAMES - len(self.lost))
        self.worth.append([game.worth(game.seats.index(BOT_NAME)) for game in games])
        if len(self.worth) <= len(self.previous):
            self.evidence.add(list(zip(self.previous[len(self.worth) - 1], self.worth[-1], strict=True)))

    def play_match(self, match: int) -> Record:
        """Play a match of the plan; return its record, with moves. Raises like `play_table`."""
        key = derive_key(self.key, f"match|{match}")
        rules, seats = PRESETS["coup"], len(self.bots)
        return play_table(self.plan.tables[match], key, self.bots, rules, seats, jobs=1, seed=None, records=True)

    def progress(self) -> Message:
        """Return what the page shows of the trial so far; it may be called at any time, also after its end."""
        rates = Results(tuple(self.bots), tuple(self.games)).win_rates.items()
        comparison = self.evidence.result()
        return {
            "played": len(self.games),
            "games": self.plan.games,
            "win_rates": [{"name": name, "value": rate.value, "interval": rate.interval} for name, rate in rates],
            "fair_share": 1 / len(self.bots),
            "faults": sorted(self.faults.values(), key=lambda fault: -fault.get("count", 0)),
            "output": self.output.text,
            "verdict": comparison.verdict,
            "difference": describe_difference(comparison) if comparison.pairs else None,
            "worth": self.worth,
            "lost": self.lost,
            "done": self.has_ended,
        }

    def count_fault(self, error: BaseException, context: Message, method: object) -> None:
        """Add an exception in an answer to `faults`: by its type and line, else by the line of its method.

        context: the kind, game and turn of the message. method: of the bot, that handles it; None if it has none.
        """
        problem = describe_problem(error)
        code = getattr(method, "__code__", None)
        if problem["line"] is None and code is not None and code.co_filename == BOT_FILE:
            problem["line"] = code.co_firstlineno
        first_fault = {**problem, "at": {"match": len(self.worth), **context}, "count": 0}
        fault = self.faults.setdefault((type(error).__name__, problem["line"]), first_fault)
        fault["count"] += 1


def _list_lost_games(games: Iterable[GameResult], record: Record, log: str) -> Iterator[Message]:
    """Yield the games in which the program was eliminated, with the events that did it and what a replay needs."""
    losses = ((game, seat, turn) for game in games for seat, turn in game.eliminated if game.seats[seat] == BOT_NAME)
    for game, seat, turn in losses:
        yield {
            "match": game.match,
            "game": game.game,
            "turn": turn,
            "seat": seat,
            "winner": None if game.winner is None else game.seats[game.winner],
            "cause": describe_turn(record.header, record.games[game.game], turn, seat, game.seats),
            "record": write_record(replace(record, games=(record.games[game.game],))),
            "log": log,
        }


def describe_difference(comparison: PairedResult) -> str:
    """Return the verdict of `arena compare` on the new version."""
    if not comparison.discordant_pairs:
        return f"the same result in all {comparison.pairs} deals that both versions played"
    text = f"{comparison.verdict_text.removeprefix('NEW ').removeprefix('is ')}. {POINT}"
    return text if comparison.verdict else f"{text}. {ABOUT_PAIRS}. {UNDECIDED_ADVICE}"


class _BeatingBot:
    """An opponent whose decisions show that Python is alive."""

    def __init__(self, trial: _Trial, bot: coup_kit.Bot) -> None:
        self._trial, self._bot = trial, bot

    def reply(self, message: Message) -> Message | None:
        self._trial.keep_beating()
        return self._bot.reply(message)


class _ObservedBot:
    """The program's bot in one match: its output is kept, and its exceptions are counted as faults."""

    def __init__(self, trial: _Trial) -> None:
        self._trial = trial
        with trial.output, trial.guard:
            self._bot = trial.program.start_bot()
        if not self._bot.careful:
            vars(self._bot)["_failed"] = _raise_again  # the kit would print the whole request

    def reply(self, message: Message) -> Message | None:
        """Return the program's reply; if it raises, count the fault, and return the fallback reply."""
        trial, kind = self._trial, str(message["type"])
        context = {  # the program may change the message
            "kind": message.get("kind", kind),
            "game": message.get("game", 0),
            "turn": message.get("state", {}).get("turn"),
        }
        trial.keep_beating()
        if kind == "game_start":
            trial.output.mark(game_marker(message["game"]))
        elif kind == "request":
            trial.output.mark(turn_marker(message["state"]["turn"]))
        try:
            with trial.output, trial.guard:
                return self._bot.reply(message)
        except (Exception, SystemExit) as error:
            trial.count_fault(error, context, getattr(type(self._bot), str(context["kind"]), None))
            return _fallback_reply(kind, message)


def _fallback_reply(kind: str, message: Message) -> Message | None:
    """Return the reply in place of a program that raised: the first move; None if the message needs no reply."""
    if kind == "request":
        return {"id": message.get("id"), "choice": 0}
    return {"type": "hello"} if kind == "hello" else None


def _raise_again(*_: object) -> None:
    raise


class _Output(TextIOBase):
    """A context that keeps what is printed: `text`, up to MAX_OUTPUT characters, and a log with log markers."""

    def __init__(self) -> None:
        self.text = ""
        self._log = ""

    def write(self, text: str) -> int:
        """Keep as much of a text as still fits; return its whole length."""
        kept_text = text[: MAX_OUTPUT - len(self.text)]
        self.text += kept_text
        self._log += kept_text
        return len(text)

    def mark(self, marker: str) -> None:
        """Write a log marker, on a line of its own."""
        self._log += f"\n{marker}\n"

    def take_log(self) -> str:
        """Return the log, and begin another."""
        log, self._log = self._log, ""
        return log

    def __enter__(self) -> "_Output":
        self._outer_streams = sys.stdout, sys.stderr
        sys.stdout = sys.stderr = self
        return self

    def __exit__(self, *_: object) -> None:
        sys.stdout, sys.stderr = self._outer_streams


class Guard:
    """A context that raises TooLongError in the program's own code after GUARDED_S, and reports lines."""

    def __init__(self, report_line: Beat) -> None:
        self._report_line = report_line

    def __enter__(self) -> None:
        self._deadline_s = time.monotonic() + GUARDED_S
        self._reached_lines: set[int] = set()
        sys.settrace(self._trace)

    def __exit__(self, *_: object) -> None:
        sys.settrace(None)

    def _trace(self, frame: FrameType, *_: object) -> Any:
        """Report a line of the program that wasn't reached before; return the tracer of its frame, None for others.

        Raises TooLongError after the deadline.
        """
        if frame.f_code.co_filename != BOT_FILE:
            return None
        frame.f_trace_opcodes = sys.version_info < (3, 12)  # which has no line events in a loop on one line
        if time.monotonic() > self._deadline_s:
            raise TooLongError
        if frame.f_lineno not in self._reached_lines:
            self._reached_lines.add(frame.f_lineno)
            self._report_line(frame.f_lineno)
        return self._trace


def describe_problem(error: BaseException) -> Message:
    """Return the last line of the program in the traceback, the message, and the traceback of the program alone.

    The form is that of a fault, see the module.
    """
    text = traceback.format_exception_only(error)
    if isinstance(error, SyntaxError) and error.filename == BOT_FILE:
        line, column, message = error.lineno, error.offset, f"{type(error).__name__}: {error.msg}"
    else:
        frames = [frame for frame in traceback.extract_tb(error.__traceback__) if frame.filename == BOT_FILE]
        line, column = frames[-1].lineno if frames else None, None
        message = TOO_LONG if isinstance(error, TooLongError) else f"{type(error).__name__}: {error}"
        text = ["Traceback (most recent call last):\n", *traceback.format_list(frames), *text]
    return {
        "line": line,
        "column": column,
        "message": message,
        "traceback": "".join(text),
        "restart": isinstance(error, MemoryError),
    }
