"""Whether two colluding bots can communicate from box to box, by a channel that a box closes.

Two boxes of a tier run attacks/channel.py at the same time. For each bit of a random message the sender is asked to
set the bit and the receiver to read a number. Four simple readers turn the numbers into bits (above or below the
median; the same for differences; and both the other way round), and the best reader counts.

"Carries nothing" proves little where plain processes carry nothing either: `sure` and `on_ci` say where they must.

`CHANNELS` names the channels that are closed. docs/explanation/security-model.md has the open ones, with rates.
"""

import itertools
import json
import os
import random
import secrets
import statistics
from collections.abc import Generator, Sequence
from dataclasses import dataclass
from typing import Any

from arena.sandbox import SandboxError
from tests.red_team.stage import Stage, Talk

BITS = 64
MORE_BITS = 256  # where the first message leaves doubt
SURE = 0.2  # share of errors; by luck 64 bits have fewer once in a million
UNCLEAR = 0.38  # share of errors; by luck 256 bits have fewer once in a million
STEP_S = 60.0


@dataclass(frozen=True, slots=True)
class Known:
    """What is known of a channel.

    `sure`: plain processes have it on every machine; `on_ci`: as root on the kind of machine that .ci/run runs on.
    """

    sure: bool = True
    on_ci: bool = False
    as_user: str = ""  # why bubblewrap's boxes of an ordinary user have it


CHANNELS: dict[str, Known] = {
    "tmp-file": Known(sure=False, on_ci=True),  # an ordinary user's plain processes have private temporary folders
    "dev-shm-file": Known(),
    "sysv-shm": Known(),
    "sysv-messages": Known(),
    "posix-queue": Known(),
    "keyring": Known(),
    "abstract-socket": Known(),
    "socket-file": Known(sure=False, on_ci=True),
    "tcp-port": Known(),
    "udp-port": Known(),
    "flock": Known(),
    "record-lock": Known(),
    "lease": Known(),
    "watch": Known(),
    "process-numbers": Known(),
    "sysinfo": Known(sure=False),  # other memory use of the machine hides this one
    "free-space": Known(),
    "socket-numbers": Known(),
    "pipe-pages": Known(as_user="the kernel counts them for each user"),  # as root each box is a user of its own
    "page-cache": Known(sure=False, on_ci=True),  # some file systems throw nothing out of memory
    "page-cache-timing": Known(sure=False, on_ci=True),
    "handle-numbers": Known(sure=False, on_ci=True),  # since Linux 6.9
    "others-free-space": Known(sure=False),  # x86 alone has the call
}


@dataclass(frozen=True, slots=True)
class ChannelResult:
    """The result for a channel. `refused` is the errno that refused a side, "" if none did."""

    channel: str
    tier: str
    carries: bool
    errors: float  # the share of wrong bits
    refused: str = ""

    @property
    def tolerated(self) -> str:
        """The reason for which the channel may carry here, "" if it may not."""
        return CHANNELS[self.channel].as_user if self.tier == "bubblewrap" and os.getuid() != 0 else ""

    def problem(self, tier: str, on_ci: bool = False) -> str | None:
        """Return what isn't as expected, or None; with `on_ci` more must carry where nothing isolates."""
        if tier == "process":
            known = CHANNELS[self.channel]
            if (known.sure or (on_ci and known.on_ci)) and not self.carries:
                return f"{self.channel} carries nothing, though nothing isolates: {self.refused or self.errors}"
            return None
        if self.carries and not self.tolerated:
            return f"{self.channel} carries, with {self.errors:.0%} errors"
        return None

    def describe(self) -> str:
        if self.carries:
            return f"carries, {self.errors:.0%} errors"
        return f"none ({self.refused})" if self.refused else "none"


def try_channels(stage: Stage, names: Sequence[str] = tuple(CHANNELS)) -> Generator[ChannelResult, None, None]:
    """Try channels between two boxes of a stage. Raises SandboxError if a box fails or falls silent."""
    token = secrets.token_hex(8)
    with Talk(stage.start("channel.py", token)) as sender, Talk(stage.start("channel.py", token)) as receiver:
        for name in names:
            known = CHANNELS[name]
            answers = [_ask(side, {"do": "open", "channel": name}) for side in (sender, receiver)]
            refused = next((str(answer["error"]) for answer in answers if "error" in answer), "")
            carries, errors = False, 0.5
            if not refused:
                sure = known.sure or known.on_ci or stage.tier != "process"
                carries, errors, refused = _carries(sender, receiver, patient=sure)
            for side in (sender, receiver):
                _ask(side, {"do": "shut"})
            yield ChannelResult(name, stage.tier, carries, errors, refused)


def _carries(sender: Talk, receiver: Talk, patient: bool) -> tuple[bool, float, str]:
    """Send a message, and a longer one in doubt; return whether it arrived, share of errors, errno of a refusal."""
    errors = 0.5
    for bits, enough in ((BITS, SURE), (MORE_BITS, UNCLEAR)):
        message = [0, 1] * (bits // 2)
        random.Random(secrets.randbits(64)).shuffle(message)
        values: list[float] = []
        for bit in message:
            answer = _ask(sender, {"do": "set", "bit": bit})
            seen = {} if "error" in answer else _ask(receiver, {"do": "read"})
            for said in (answer, seen):
                if "error" in said:
                    return False, 0.5, str(said["error"])
            values.append(seen["value"])
        errors = share_of_errors(message, values)
        if errors <= enough:
            return True, errors, ""
        if errors > UNCLEAR or not patient:
            break
    return False, errors, ""


def share_of_errors(message: Sequence[int], values: Sequence[float]) -> float:
    """Return the share of wrong bits of the best of four readers."""
    steps = [0.0, *(after - before for before, after in itertools.pairwise(values))]
    shares = []
    for seen in (values, steps):
        middle = statistics.median(seen)
        wrong = sum((value > middle) != bool(bit) for value, bit in zip(seen, message, strict=True)) / len(message)
        shares += [wrong, _at_least(values, seen, message)]
        shares.append(1 - wrong)
    return min(shares)


def _at_least(values: Sequence[float], seen: Sequence[float], message: Sequence[int]) -> float:
    """Return the share of errors with ties above the median: of two different numbers one is the median."""
    middle = statistics.median(seen)
    return sum((value >= middle) != bool(bit) for value, bit in zip(seen, message, strict=True)) / len(values)


def _ask(side: Talk, command: dict[str, object]) -> dict[str, Any]:
    side.send(json.dumps(command))
    answer = json.loads(side.line(STEP_S))
    if not isinstance(answer, dict):
        raise SandboxError("a channel program answered with something other than an object")
    return answer
