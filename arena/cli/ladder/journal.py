"""What `arena ladder run` says: sentences on a terminal, and lines with time, level and ids where a journal reads them.

2026-11-22T12:30:05Z info runner=5f3a91c2 match=4711 played
2026-11-22T12:30:06Z warning runner=5f3a91c2 version=ada@3 benched: it forfeited games in its last 5 matches
"""

import time

from arena.cli.out import note


class Journal:
    """Says things. `plain`: there is a terminal, which gets the sentence alone."""

    def __init__(self, plain: bool) -> None:
        self.runner = ""
        self._plain = plain

    def info(self, text: str, **ids: object) -> None:
        """Say what happened."""
        self._say("info", text, ids)

    def warn(self, text: str, **ids: object) -> None:
        """Say what somebody may have to look into."""
        self._say("warning", text, ids)

    def error(self, text: str, **ids: object) -> None:
        """Say why the runner ends."""
        self._say("error", text, ids)

    def _say(self, level: str, text: str, ids: dict[str, object]) -> None:
        about = " ".join(f"{name} {value}" for name, value in ids.items())
        if self._plain:
            note(f"{about}: {text}" if about else text)
            return
        words = [time.strftime("%Y-%m-%dT%H:%M:%SZ", time.gmtime()), level]
        words += [f"runner={self.runner}"] if self.runner else []
        words += [f"{name}={value}" for name, value in ids.items()]
        note(" ".join([*words, " ".join(text.splitlines())]))
