"""How much two colluding bots can tell each other from box to box, in bits per second.

Two boxes of a tier run attacks/channel.py at the same time. For each bit of a random message the sender is told to set
the bit and the receiver to read a number. Four simple readers turn the numbers into bits (above or below the median;
the same for differences; and both the other way round), and the best reader counts. The rate is that of a binary
symmetric channel with the errors found, 1 - H(e) bits a step. Two bots alone would reach less, because the suite tells
both when to act.

In a match bots run at the same time only if pondering is allowed. So a channel that carries is measured again with one
box frozen while the other runs, where the sandbox can freeze.

The time that a bot takes to answer is a channel that needs nobody to tell the bots when to act: the referee's requests
come in turns. The sender answers after one of several delays; the receiver takes the time from its own answer to its
next request. Different numbers of delays and steps between them are tried, and the best rate counts.

"Carries nothing" proves little where plain processes carry nothing either: `sure` and `on_ci` say where they must.

`CHANNELS` names the channels known to be open in a box, with the reason. Any other channel that carries is a fault.
"""

import contextlib
import itertools
import json
import math
import os
import random
import secrets
import statistics
import time
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
WIDE_STEPS = 32  # of a channel that carries many bits a step
DELAY = "answer-time"
DELAYS = (2, 4, 8, 16, 32)  # numbers of delays to choose from
DELAY_STEPS_US = (100, 200, 400, 800, 3200, 12800)  # between two delays; the long steps are for a machine under load
DELAY_ERRORS = 0.1  # simple codes don't correct a larger share of wrong symbols
DELAY_SYMBOLS = 96  # of a trial; MORE_BITS measure the best again


@dataclass(frozen=True, slots=True)
class Known:
    """What is known of a channel. `open` maps a tier to the reason to tolerate it.

    `sure`: plain processes have it on every machine; `on_ci`: as root on the kind of machine that .ci/run runs on.
    """

    open: dict[str, str]
    lessens: str = ""
    sure: bool = True
    as_user: str = ""  # why bubblewrap's boxes of an ordinary user have it
    width: int = 1  # bits that its program sends at once
    on_ci: bool = False
    one_core: bool = False  # the kernel gives each core a share of the numbers, and a match's bots may use the same
    outlives: bool = False  # a box that starts after the sender's has ended can still read it


def _closed(sure: bool = True, on_ci: bool = False) -> Known:
    return Known({}, "", sure, on_ci=on_ci)


_BOXES = ("bubblewrap", "docker")


def _everywhere(
    why: str, lessens: str, sure: bool = False, width: int = 1, one_core: bool = False, outlives: bool = False
) -> Known:
    return Known(dict.fromkeys(_BOXES, why), lessens, sure, width=width, one_core=one_core, outlives=outlives)


_TIMING = "a program that computes slows others down"
CHANNELS: dict[str, Known] = {
    "tmp-file": _closed(sure=False, on_ci=True),  # an ordinary user's plain processes have private temporary folders
    "dev-shm-file": _closed(),
    "sysv-shm": _closed(),
    "sysv-messages": _closed(),
    "posix-queue": _closed(),
    "keyring": _closed(),
    "abstract-socket": _closed(),
    "socket-file": _closed(sure=False, on_ci=True),
    "tcp-port": _closed(),
    "udp-port": _closed(),
    "flock": _closed(),
    "record-lock": _closed(),
    "lease": _closed(),
    "watch": _closed(),
    "proc-locks": _closed(),
    "load-average": _closed(),
    "proc-stat": _closed(),
    "process-numbers": _closed(),
    "meminfo": _closed(sure=False),  # other memory use of the machine hides this one, vmstat and sysinfo
    "vmstat": _closed(sure=False),
    "sysinfo": _closed(sure=False),
    "free-space": _closed(),
    "open-files": _closed(),
    "dentries": _closed(),
    "look-ups": _everywhere(
        "the kernel keeps which names were looked up below /usr, for all who see the same file system",
        "in bubblewrap a copy of /usr in memory (docs/box.md): tmpfs keeps none",
        width=200,
        outlives=True,
    ),
    "inode-numbers": _everywhere(
        "the kernel numbers all pipes of the machine", "the limit of CPU time", sure=True, width=4, one_core=True
    ),
    "memfd-numbers": _everywhere(
        "the kernel numbers all files in memory of the machine", "as for pipes", width=4, one_core=True
    ),
    "socket-numbers": _closed(),
    "pipe-pages": Known({}, "as root each box is a user of its own", as_user="the kernel counts them for each user"),
    "page-cache": _closed(sure=False, on_ci=True),  # some file systems throw nothing out of memory
    "page-cache-timing": _closed(sure=False, on_ci=True),
    "page-cache-once": _everywhere(
        "a file that somebody has read is read faster",
        "a box can't throw a file out of memory, so each file tells one bit until the machine needs the memory",
        outlives=True,
    ),
    "handle-numbers": _closed(sure=False, on_ci=True),  # since Linux 6.9
    "shared-futex": _everywhere(
        "locks and pools of a bot's own processes live by them; the kernel knows one in a file by the file",
        "the limit of processes; who is frozen doesn't wait",
        sure=True,
        width=40,
    ),
    "end-of-thread": _everywhere(
        "the kernel wakes who waits for a shared futex when a thread ends; pthread_join lives by it",
        "the limit of processes; who is frozen doesn't wait",
        sure=True,
        width=40,
    ),
    "eventfd-numbers": _everywhere(
        "the kernel numbers all eventfds of the machine", "the limit of open files", sure=True, width=200
    ),
    "mapped-pages": _everywhere(
        "the kernel tells a process which of its pages others have mapped", "nothing", width=200
    ),
    "others-free-space": _closed(sure=False),  # x86 alone has the call
    "session-numbers": _everywhere("the kernel numbers all sessions of the machine", "the limit of CPU time", width=3),
    "uptime": _closed(sure=False),  # needs a machine that is idle at times
    "pressure": _closed(sure=False),  # needs sender and receiver on one core
    "cpu-contention": _everywhere(_TIMING, "bots are frozen while they aren't asked"),
    "memory-bandwidth": _everywhere(_TIMING, "bots are frozen while they aren't asked"),
    DELAY: _everywhere("the bot that is asked next sees how long the others took", "nothing; load blurs it", sure=True),
}


@dataclass(frozen=True, slots=True)
class Measured:
    """What a channel carries. `rate` in bits/s, 0.0 if none; `errors` is the share of wrong bits or symbols.

    `frozen` is the rate with the boxes frozen in turns, None if not measured; `refused` is the errno that refused a
    side, "" if none did. `a_request`: bits that one answer carries at the best rate (frozen, if measured), None for
    channels that don't go by answers.
    """

    channel: str
    tier: str
    rate: float
    errors: float
    frozen: float | None = None
    refused: str = ""
    a_request: float | None = None

    @property
    def tolerated(self) -> str:
        """Why the channel may carry here, "" if not."""
        known = CHANNELS[self.channel]
        as_user = known.as_user if self.tier == "bubblewrap" and os.getuid() != 0 else ""
        return known.open.get(self.tier, as_user)

    def problem(self, tier: str, on_ci: bool = False) -> str | None:
        """Return what isn't as expected, or None; with `on_ci` more must carry where nothing isolates."""
        if tier == "process":
            known = CHANNELS[self.channel]
            if (known.sure or (on_ci and known.on_ci)) and not self.rate:
                return f"{self.channel} carries nothing, though nothing isolates: {self.refused or self.errors}"
            return None
        if self.rate and not self.tolerated:
            return f"{self.channel} carries {self.rate:.0f} bits/s with {self.errors:.0%} errors"
        return None

    def told(self) -> str:
        """Return a summary."""
        if not self.rate:
            return f"none ({self.refused})" if self.refused else "none"
        frozen = "" if self.frozen is None else f", frozen {self.frozen:.0f}" if self.frozen else ", frozen none"
        each = "" if self.a_request is None else f" ({self.a_request:.1f} each)"
        return f"{self.rate:.0f} bits/s{each}{frozen}"


def measure(stage: Stage, names: Sequence[str] = tuple(CHANNELS)) -> Generator[Measured, None, None]:
    """Measure channels in two boxes of a stage. Raises SandboxError if a box fails or falls silent."""
    token = secrets.token_hex(8)
    with Talk(stage.start("channel.py", token)) as sender, Talk(stage.start("channel.py", token)) as receiver:
        pair = _Pair(sender, receiver)
        for name in names:
            yield _measured(pair, name, stage)


def _measured(pair: "_Pair", name: str, stage: Stage) -> Measured:
    refused = pair.open(name)
    if refused:
        pair.shut()
        return Measured(name, stage.tier, 0.0, 0.5, refused=refused)
    try:
        freezes = stage.sandbox.freezes and stage.tier != "process"
        if name == DELAY:
            return _delayed(pair, stage.tier, freezes)
        known = CHANNELS[name]
        if known.one_core:
            pair.stay_on({min(os.sched_getaffinity(0))})
        sure = known.sure or known.on_ci or stage.tier != "process"
        rate, errors, refused = _sent(pair, known, frozen=False, patient=sure)
        frozen = None
        if rate and freezes:
            frozen = _sent(pair, known, frozen=True)[0]
        return Measured(name, stage.tier, rate, errors, frozen, refused)
    finally:
        pair.stay_on(os.sched_getaffinity(0))
        pair.shut()


def lasting() -> list[str]:
    """Return the open channels that might outlive a box: what is sent is a set of places, or of files."""
    return [name for name, known in CHANNELS.items() if known.open and (known.width >= 40 or known.outlives)]


def remembered(stage: Stage, name: str, symbols: int = 4) -> tuple[float, int]:
    """Let a box send, and another read that starts after the first has ended; return the share of wrong bits, and
    the number of bits. Raises SandboxError.

    `symbols`: how many numbers are sent, of a channel that carries many bits at once; else 64 bits are.
    """
    width, token = CHANNELS[name].width, secrets.token_hex(8)
    message = [secrets.randbits(width) for _ in range(symbols)] if width > 1 else _bits(BITS)
    with Talk(stage.start("channel.py", token)) as sender:
        for path in _ask(sender, {"do": "open", "channel": name}).get("files", []):
            _evict(str(path))
        for symbol in [0, *message] if width > 1 else message:  # what the other sees before the first
            _ask(sender, {"do": "set", "bit": symbol})
    with Talk(stage.start("channel.py", token)) as receiver:
        _ask(receiver, {"do": "open", "channel": name})
        if width > 1:
            _ask(receiver, {"do": "read"})
        values = [_ask(receiver, {"do": "read"}).get("value", 0) for _ in message]
    wrong = share_of_errors(message, values) if width == 1 else share_of_wrong_bits(message, values, width)
    return wrong, width * len(message)


def _delayed(pair: "_Pair", tier: str, freezes: bool) -> Measured:
    """Find the best rate of late answers."""
    rate, errors, each = _best_delays(pair, frozen=False)
    if not freezes:
        return Measured(DELAY, tier, rate, errors, a_request=each)
    frozen, _, each = _best_delays(pair, frozen=True)
    return Measured(DELAY, tier, rate, errors, frozen, a_request=each)


def _best_delays(pair: "_Pair", frozen: bool) -> tuple[float, float, float]:
    """Try numbers and steps of delays; return bits/s, share of wrong symbols and bits an answer."""
    tried: list[tuple[float, int, int]] = []
    for levels, step_us in itertools.product(DELAYS, DELAY_STEPS_US):
        most = math.log2(levels) / ((levels - 1) / 2 * step_us / 1e6)  # if delays took all the time
        if tried and most < max(tried)[0]:
            continue
        rate, errors, _ = _by_delays(pair, levels, step_us, DELAY_SYMBOLS, frozen)
        if errors <= DELAY_ERRORS:
            tried.append((rate, levels, step_us))
    if not tried:
        return 0.0, 0.5, 0.0
    again = sorted(tried, reverse=True)[:3]  # the best of many short trials may be luck
    return max(_by_delays(pair, levels, step_us, MORE_BITS, frozen) for _, levels, step_us in again)


def _by_delays(pair: "_Pair", levels: int, step_us: int, count: int, frozen: bool) -> tuple[float, float, float]:
    """Send `count` symbols; return bits/s, share of wrong symbols, bits a symbol."""
    message = [number % levels for number in range(count)]
    random.Random(secrets.randbits(64)).shuffle(message)
    began = time.monotonic()
    values, refused = pair.send([symbol * step_us for symbol in message], frozen)
    if refused:
        raise SandboxError(f"waiting was refused: {refused}")
    seconds = time.monotonic() - began
    errors = share_of_wrong_delays(message, [value * 1e6 / step_us for value in values], levels)
    each = capacity(errors, levels)
    return each * count / seconds, errors, each


def share_of_wrong_delays(message: Sequence[int], values: Sequence[float], levels: int) -> float:
    """Return a reader's share of wrong symbols, who knows the time of an undelayed answer.

    `values` are times in steps.
    """
    least = statistics.median(value - symbol for value, symbol in zip(values, message, strict=True))
    read = [min(levels - 1, max(0, round(value - least))) for value in values]
    return sum(symbol != sent for symbol, sent in zip(read, message, strict=True)) / len(message)


def _sent(pair: "_Pair", known: Known, frozen: bool, patient: bool = True) -> tuple[float, float, str]:
    """Send a message as the channel's program does; return bits/s, share of errors, errno of a refusal."""
    if known.width > 1:
        return _carried_at_once(pair, known.width, frozen)
    return _carried(pair, frozen, patient)


def _carried_at_once(pair: "_Pair", width: int, frozen: bool) -> tuple[float, float, str]:
    """Send numbers of `width` bits."""
    message = [secrets.randbits(width) for _ in range(WIDE_STEPS)]
    pair.send([0], frozen)  # what it sees before the first
    began = time.monotonic()
    values, refused = pair.send(message, frozen)
    if refused:
        return 0.0, 0.5, refused
    seconds = time.monotonic() - began
    errors = share_of_wrong_bits(message, values, width)
    if errors > (UNCLEAR if width * WIDE_STEPS > MORE_BITS else SURE):
        return 0.0, errors, ""
    return capacity(errors) * width * WIDE_STEPS / seconds, errors, ""


def share_of_wrong_bits(message: Sequence[int], values: Sequence[float], width: int) -> float:
    """Return the share of bits in which numbers differ from those that were sent."""
    wrong = sum((sent ^ int(value)).bit_count() for sent, value in zip(message, values, strict=True))
    return wrong / (width * len(message))


def _carried(pair: "_Pair", frozen: bool, patient: bool = True) -> tuple[float, float, str]:
    """Send a message, and a longer one in doubt; return bits/s, share of errors, errno of a refusal."""
    errors = 0.5
    for bits, enough in ((BITS, SURE), (MORE_BITS, UNCLEAR)):
        message = _bits(bits)
        began = time.monotonic()
        values, refused = pair.send(message, frozen)
        if refused:
            return 0.0, 0.5, refused
        seconds = time.monotonic() - began
        errors = share_of_errors(message, values)
        if errors <= enough:
            return capacity(errors) * bits / seconds, errors, ""
        if errors > UNCLEAR or not patient:
            break
    return 0.0, errors, ""


def _bits(count: int) -> list[int]:
    """Return a random message with as many ones as zeros."""
    message = [0, 1] * (count // 2)
    random.Random(secrets.randbits(64)).shuffle(message)
    return message


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


def capacity(errors: float, levels: int = 2) -> float:
    """Return the bits a symbol carries in a symmetric channel with these levels and share of errors."""
    bits = math.log2(levels)
    if errors > 0.0:
        bits += errors * math.log2(errors / (levels - 1))
    if errors < 1.0:
        bits += (1 - errors) * math.log2(1 - errors)
    return bits


class _Pair:
    """The two boxes. Each step is a command to one box and its answer."""

    def __init__(self, sender: Talk, receiver: Talk) -> None:
        self.sender, self.receiver = sender, receiver

    def open(self, name: str) -> str:
        """Begin; return the errno that refuses a side, "" if none does."""
        answers = [_ask(side, {"do": "open", "channel": name}) for side in (self.sender, self.receiver)]
        for path in answers[0].get("files", []):
            _evict(str(path))
        return next((str(answer["error"]) for answer in answers if "error" in answer), "")

    def shut(self) -> None:
        """End."""
        for side in (self.sender, self.receiver):
            _ask(side, {"do": "shut"})

    def stay_on(self, cores: set[int]) -> None:
        """Let both run on these cores alone."""
        for side in (self.sender, self.receiver):
            for task in side.box.spent() or ():
                with contextlib.suppress(ProcessLookupError):
                    os.sched_setaffinity(task, cores)

    def send(self, message: Sequence[int], frozen: bool) -> tuple[list[float], str]:
        """Send bits, or delays in us; return the receiver's numbers, and the errno of a refusal."""
        values: list[float] = []
        try:
            if frozen:
                self.receiver.box.freeze()
            for bit in message:
                answer = self._step(self.sender, {"do": "set", "bit": bit}, frozen)
                seen = {} if "error" in answer else self._step(self.receiver, {"do": "read"}, frozen)
                for said in (answer, seen):
                    if "error" in said:
                        return values, str(said["error"])
                values.append(seen["value"])
        finally:
            self.sender.box.thaw()
            self.receiver.box.thaw()
        return values, ""

    def _step(self, side: Talk, command: dict[str, object], frozen: bool) -> dict[str, Any]:
        if not frozen:
            return _ask(side, command)
        side.box.thaw()
        answer = _ask(side, command)
        side.box.freeze()
        return answer


def _evict(path: str) -> None:
    """Throw a file out of memory, as after the machine's start; a file that only the box has stays."""
    with contextlib.suppress(OSError):
        descriptor = os.open(path, os.O_RDONLY | os.O_NOFOLLOW)
        try:
            os.posix_fadvise(descriptor, 0, 0, os.POSIX_FADV_DONTNEED)
        finally:
            os.close(descriptor)


def _ask(side: Talk, command: dict[str, object]) -> dict[str, Any]:
    side.send(json.dumps(command))
    answer = json.loads(side.line(STEP_S))
    if not isinstance(answer, dict):
        raise SandboxError("a channel program answered with something other than an object")
    return answer
