"""Replay a fault: send another process of the bot the lines that were sent, to find which of them matter."""

from collections.abc import Callable, Sequence
from contextlib import AbstractContextManager

from arena.checks.bot_connection import BotConnection, ConnectionBrokenError
from arena.checks.check_settings import CheckSettings
from arena.checks.check_step import StepFailedError
from arena.checks.fault_context import FaultContext, parse_object
from arena.checks.fault_signs import IDLE, cpu_share
from arena.checks.scripted_table import ReplyCounts, ScriptedTable
from arena.coup import Ruleset

_END_S = 0.6  # for a process to end after it has read a line
_EXTRA_S = 2  # to answer, beyond the free time of a request
_RECENT_REQUESTS = 30  # by which a bot is slow

OpenTable = Callable[[Ruleset, int | None], AbstractContextManager[ScriptedTable]]


class FaultReplay:
    """Replays of one bot's faults. `open_table`: opens a table, with this number of seats, for a new process.

    It may raise StepFailedError if the process can't be started, and ConnectionBrokenError for a fault.
    """

    def __init__(self, settings: CheckSettings, open_table: OpenTable) -> None:
        self._settings = settings
        self._open_table = open_table

    def play_unaltered(self, counts: ReplyCounts) -> bool:
        """Start another process, and return whether it plays more games and requests than `counts`, unaltered."""
        try:
            with self._open_table(self._settings.rules[0], None) as table:
                table.greet(self._settings.hello_s)
                while table.counts.games <= counts.games or len(table.counts.choices) <= len(counts.choices):
                    table.play()
        except (StepFailedError, ConnectionBrokenError):
            return False
        return True

    def replay_last_games(self, table: ScriptedTable, fault: FaultContext) -> str:
        """Send the lines of the last games to other processes; return a newline and the advice that follows, or "".

        A program with random numbers may play differently, and a slow one be late again, so these aren't started again.
        """
        is_slow = sum(table.connection.waits[-_RECENT_REQUESTS:]) > self._settings.enough_s
        hangs = fault.facts.reads and cpu_share(fault) <= IDLE
        may_be_late_again = is_slow or (fault.code == "timeout" and not hangs)
        if may_be_late_again or b"rand" in fault.source.lower():
            return ""
        lines = _list_lines_until(table.connection.sent_lines, fault.sent + b"\n")
        kinds = [str(parse_object(line).get("type")) for line in lines]
        starts = [index for index, kind in enumerate(kinds) if kind == "game_start"]
        advice = self._advise_on_end(table, lines, kinds) if starts and fault.has_ended else ""
        if advice:
            return advice
        is_first_game = len(starts) <= 1
        if is_first_game or self._find_fatal_line(table, lines[starts[-1] :], 0) is not None:
            return ""
        return (
            "\nanother process, which is sent the lines of this game alone, answers the request: look for what "
            "the bot keeps from earlier games, in its memory or in files"
        )

    def _advise_on_end(self, table: ScriptedTable, lines: Sequence[bytes], kinds: Sequence[str]) -> str:
        """Return advice if the process ends at a line that isn't a request, between the last two requests; else "".

        kinds: the type of each line. The last line is the request without an answer.
        """
        requests = [index for index, kind in enumerate(kinds[:-1]) if kind == "request"]
        if not requests or requests[-1] == len(lines) - 2:
            return ""
        start = max(index for index, kind in enumerate(kinds[: requests[-1]]) if kind == "game_start")
        offset = self._find_fatal_line(table, lines[start:], len(lines) - 2 - requests[-1])
        if offset is None or kinds[start + offset] == "request":
            return ""
        kind, line = kinds[start + offset], lines[start + offset]
        draw = ", whose winner is null, as after each draw" if b'"winner":null' in line else ""
        return (
            f"\nit ended at the line before the request, of the type {kind}, {len(line):,} bytes{draw}: "
            "play on after such lines"
        )

    def _find_fatal_line(self, table: ScriptedTable, lines: Sequence[bytes], slow_lines: int) -> int | None:
        """Send lines to another process; return the index of the line at which it fails, None if it answers all.

        slow_lines: how many lines before the last one are sent one by one, with a pause for the process to end.
        """
        index = 0
        try:
            with self._open_table(table.spec.settings.rules, len(table.spec.handles)) as replay:
                replay.greet(self._settings.hello_s)
                for index, line in enumerate(lines):
                    if not self._survives(replay.connection, line, is_slow=index >= len(lines) - 1 - slow_lines):
                        return index
        except (StepFailedError, ConnectionBrokenError):
            return index
        return None

    def _survives(self, connection: BotConnection, line: bytes, *, is_slow: bool) -> bool:
        """Send a line; return whether the process answers it legally, if it is a request, or is alive after it.

        is_slow: wait for the end of the process after another line; else true is returned at once. Raises
        ConnectionBrokenError at a fault.
        """
        message = parse_object(line)
        if message["type"] != "request":
            connection.send(line)
            if not is_slow:
                return True
            connection.leave_alone(_END_S)
            return connection.box.exit() is None
        answer = connection.request(message["id"], line, self._settings.timeouts.free_s + _EXTRA_S)
        legal = message["legal"]
        return answer.choice in range(len(legal)) if answer.move is None else answer.move in legal


def _list_lines_until(lines: Sequence[bytes], end: bytes) -> Sequence[bytes]:
    """Return the lines up to the last one that equals `end`, inclusive; all lines if none does."""
    return lines[: len(lines) - lines[::-1].index(end)] if end in lines else lines
