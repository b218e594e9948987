"""Keep the history of a game as lines of text, one for each turn, in the second person for the player's own moves."""

import re
from collections.abc import Sequence
from typing import Any

from protocol.event_text import describe_event, join_texts, to_second_person


class GameHistory:
    """The history of one game. `lines`: a line for each turn, in order; the last turn may still continue."""

    def __init__(self) -> None:
        self.lines: list[str] = []
        self._turn_events: list[dict[str, Any]] = []  # of the last line
        self._next_line = 0  # index of the first line that wasn't completely returned
        self._next_line_start = ""  # what was returned of this line

    def add(self, events: Sequence[dict[str, Any]], names: Sequence[str]) -> None:
        """Add events, in order; the line of a continued turn is written again as a whole. names: by seat."""
        for event in events:
            if event["event"] == "allegiances":  # the table shows them
                continue
            if self._starts_line(event):
                self.lines.append("")
                self._turn_events = []
            self._turn_events.append(event)
            shown_events = [turn_event for turn_event in self._turn_events if turn_event["event"] != "coins"]
            self.lines[-1] = join_texts(
                (shown_event["event"], to_second_person(describe_event(shown_event, names)))
                for shown_event in shown_events
            )

    def _starts_line(self, event: dict[str, Any]) -> bool:
        """Return whether an event begins a line: the first one, an action, or talk before an action."""
        kinds = [turn_event["event"] for turn_event in self._turn_events]
        if not self.lines or (event["event"] == "say" and kinds[-1] == "resolved"):
            return True
        return bool(event["event"] == "action" and set(kinds) != {"say"})

    def take_new_lines(self) -> list[str]:
        """Return the lines since the last call, beginning with the new part of the last line returned then."""
        lines = self.lines[self._next_line :]
        if lines and self._next_line_start and lines[0].startswith(self._next_line_start):
            lines[0] = lines[0].removeprefix(self._next_line_start).strip(" ·:")
        self._next_line = max(0, len(self.lines) - 1)
        self._next_line_start = self.lines[-1] if self.lines else ""
        return [begin_with_capital(line) for line in lines if line]


def begin_with_capital(text: str) -> str:
    """Capitalise "you" or "your" at the beginning of a text."""
    return text[0].upper() + text[1:] if re.match(r"your?(?![^\s,:])", text) else text
