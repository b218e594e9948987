"""Run the rows of the catalog in the boxes of a tier, and judge the outcomes.

`attack` yields a `Result` for each program of each row as soon as it is known; `table` prints them. All probes of a
tier share one box, since they don't harm it; each hostile bot plays a match of its own.

A blocked attack proves little unless the same program worked somewhere on this host: in the process tier, which is
therefore attacked first, or as a check of the same row that must work in every box. Otherwise the table says
"no control".

A row that a tier can't run (a bomb without a control group to hold it, an attack that would reach all that the user
runs) is reported as not run, with the reason. A program that refuses to run because it has privileges is a failure.
"""

import contextlib
import json
import re
import secrets
from collections.abc import Callable, Collection, Generator, Iterable, Iterator, Sequence
from dataclasses import dataclass, replace
from fnmatch import fnmatchcase
from pathlib import Path

from arena.referee import ArenaError, MatchSettings, MatchSpec, Timing
from arena.referee.process import play_match
from arena.sandbox import Box, SandboxError
from tests.red_team import channels
from tests.red_team.catalog import ROWS, TIERS, Channel, CoveredBy, Match, NotTestable, Probes, Row, Together
from tests.red_team.stage import Stage, Talk, bounded, left_behind, missing, traces

HONEST = Row(0, "an honest match", ())
PROBES_S = 300.0  # all probes of a tier; they take 2 to 6 s
OPEN = "OPEN"
NO_CONTROL = "no control"
PATIENT_MS = 2000
LIMIT_MS = BANK_MS = 100  # so an attack that runs out of time takes 1 s at most


@dataclass(frozen=True, slots=True)
class Result:
    """What came of one program of a row in one tier. `ran` is false if it was left out; `seen` says why.

    `works` are the checks and channels that worked, `unproven` those that were blocked, but never worked on this host.
    """

    row: int
    title: str
    tier: str
    expected: str
    seen: str
    ok: bool
    detail: str = ""
    ran: bool = True
    works: tuple[str, ...] = ()
    unproven: tuple[str, ...] = ()


def attack(tiers: Sequence[str], scratch: Path, rows: Iterable[int] = ROWS) -> Generator[Result, None, None]:
    """Attack the boxes of these tiers; `scratch` is a folder for their files. Yields results as they come.

    The process tier comes first, because it is the control of the others. A tier that doesn't work yields one result
    that says why. Closing the iterator removes all it made.
    """
    chosen = [ROWS[number] for number in rows]
    proven: set[str] = set()
    for tier in sorted(tiers, key=TIERS.index):
        assert tier in TIERS
        why = missing(tier)
        if why is not None:
            yield Result(0, "the sandbox", tier, "it works", f"not run: {why}", True, ran=False)
            continue
        try:
            with Stage(tier, scratch) as stage:
                for result in _attack(stage, chosen, proven):
                    if tier == "process":
                        proven.update(result.works)
                    yield result
        except SandboxError as problem:
            yield Result(0, "the sandbox", tier, "it works", "broken", False, str(problem))


def _attack(stage: Stage, rows: Sequence[Row], proven: Collection[str]) -> Iterator[Result]:
    yield play(HONEST, Match("honest"), stage)  # makes what any first match makes, so that no attack is blamed for it
    wanted = [(row, kind) for row in rows for kind in row.kinds]
    if any(isinstance(kind, Probes) for _, kind in wanted):
        outcomes = probe(stage)
        for row, kind in wanted:
            if isinstance(kind, Probes):
                yield judge_probes(row, kind, stage.tier, outcomes, proven)
    row_of = {name: row for row, kind in wanted if isinstance(kind, Channel) for name in kind.names}
    if row_of:
        with contextlib.closing(channels.try_channels(stage, tuple(row_of))) as tried:
            for found in tried:
                yield judge_channel(row_of[found.channel], stage.tier, found, proven)
    for row, kind in wanted:
        if isinstance(kind, Match):
            yield play(row, kind, stage)
        elif isinstance(kind, Together):
            yield scene(row, kind, stage)


def failures(results: Iterable[Result]) -> int:
    """Return how many results aren't as expected: 0 is success."""
    return sum(not result.ok for result in results)


# --- probes -----------------------------------------------------------------------------------------------------------


def probe(stage: Stage, groups: Sequence[str] = ("processes", "isolation", "storage")) -> dict[str, str]:
    """Run all checks in one box; return check -> outcome. Raises SandboxError if the program ended early."""
    outcomes: dict[str, str] = {}
    with Talk(stage.start("probes.py", *groups)) as talk:
        stage.change_file()
        talk.send(json.dumps(stage.targets))
        for line in talk.lines(PROBES_S):
            said = json.loads(line)
            if said["check"] == "done":
                return outcomes
            outcomes[said["check"]] = said["outcome"]
        last = next(reversed(outcomes), "none")
        words = talk.stderr.decode(errors="replace").strip().splitlines()
        raise SandboxError(f"the probes ended early, after {last}: {words[-1] if words else talk.box.exit()}")


def judge_probes(
    row: Row, kind: Probes, tier: str, outcomes: dict[str, str], proven: Collection[str] = (), on_ci: bool = False
) -> Result:
    """Compare the outcomes of a row's checks with those expected in a tier.

    `proven` are the checks that worked in this host's process tier; with `on_ci` more must work there.
    """
    mine = {name: word for name, word in outcomes.items() if name.split(".")[0] == str(row.number)}
    controls = {name: word for name, word in mine.items() if name.endswith(".control")}
    attempts = {name: word for name, word in mine.items() if name not in controls}
    wrong = [f"{name}: {word}, though it must work" for name, word in controls.items() if not _worked(word)]
    if not attempts:
        wrong.append("no check ran")
    if tier == "process":
        patterns = (*kind.works, *(kind.on_ci if on_ci else ()))
        must = [name for name in attempts if any(fnmatchcase(name, pattern) for pattern in patterns)]
        wrong += [f"{name}: {attempts[name]}, though nothing isolates" for name in must if not _worked(attempts[name])]
        wrong += ["no check is a control"] if patterns and not must else []
        expected = OPEN if patterns else "any"
        works = tuple(name for name, word in attempts.items() if _worked(word))
        seen = _summary(attempts)
        return Result(row.number, row.title, tier, expected, seen, not wrong, "; ".join(wrong), works=works)
    tolerated = [key.split()[1] for key in kind.tolerated if key.split()[0] in ("*", tier)]
    refused = set(kind.refused.split())
    for name, word in attempts.items():
        if any(fnmatchcase(name, pattern) for pattern in tolerated):
            continue
        if not set(word.split()) <= refused:
            wrong.append(f"{name}: {word}")
    expected = "blocked" + (", or tolerated: " + ", ".join(tolerated) if tolerated else "")
    blocked = [name for name, word in attempts.items() if not _worked(word)]
    shown = any(_worked(word) for word in controls.values())
    unproven = () if shown else tuple(name for name in blocked if name not in proven)
    seen = _summary(attempts)
    if unproven and len(unproven) == len(attempts):
        seen = f"{NO_CONTROL} ({seen})"
    return Result(row.number, row.title, tier, expected, seen, not wrong, "; ".join(wrong), unproven=unproven)


def _worked(word: str) -> bool:
    return word.split(" ")[0] == OPEN


def _summary(attempts: dict[str, str]) -> str:
    opened = [name.partition(".")[2] for name, word in attempts.items() if _worked(word)]
    words = sorted({part for word in attempts.values() if not _worked(word) for part in word.split()})
    if not opened:
        return f"blocked: {' '.join(words)}"
    whole = len(opened) == len(attempts)
    return OPEN if whole else f"{OPEN} {len(opened)} of {len(attempts)}: {', '.join(opened)}"


# --- matches ----------------------------------------------------------------------------------------------------------


def not_run(kind: Match, stage: Stage) -> str | None:
    """Return the reason not to run a hostile bot in this tier, or None."""
    if kind.bounded and stage.tier == "process" and not bounded():
        return "no control group would hold it"
    if kind.another_user and not stage.other_user:
        return "it would reach all that this user runs"
    return None


def play(row: Row, kind: Match, stage: Stage) -> Result:
    """Play a match of a hostile bot against an honest one, and judge it."""
    title = f"{row.title} ({kind.attack})"
    expected = f"forfeit: {' or '.join(kind.faults)}" if any(kind.faults) else "harmless"
    why = not_run(kind, stage)
    if why is not None:
        return Result(row.number, title, stage.tier, expected, f"not run: {why}", True, ran=False)
    if kind.bounded and not bounded():  # then limits are enforced late, if at all
        kind = replace(kind, faults=(*kind.faults, "too_many_processes", "out_of_memory", ""), saw={}, contains="")
    token = secrets.token_hex(8)
    programs = (stage.program("bot.py", kind.attack, token), stage.program("player.py"))
    before = traces(stage)
    limit_ms = PATIENT_MS if kind.patient else LIMIT_MS
    timing = Timing(limit_ms, BANK_MS, own=stage.sandbox.reports_wait_time)
    settings = MatchSettings(timing=timing, limits=stage.limits, lives=1)
    spec = MatchSpec(0, b"r" * 32, ("attacker", "honest"), ((0, 1),), settings)

    def launch(bot: int) -> Box:
        return stage.sandbox.start(programs[bot], stage.limits)

    try:
        result = play_match(spec, launch)
    except ArenaError as problem:
        left = left_behind(stage, before, token)
        return Result(row.number, title, stage.tier, expected, "the match is void", False, f"{problem} {left}".strip())
    faults = result.record.games[0].faults
    theirs = [fault for fault in faults if fault.bot == 0]
    stderr = b"".join(text for bot, _, text in result.logs if bot == 0).decode(errors="replace")
    hurt = any(fault.bot == 1 for fault in faults)
    wrong = _wrong_faults(kind, {fault.code for fault in theirs})
    if hurt != (stage.tier in kind.hurts):
        wrong.append("the opponent suffered" if hurt else "the opponent didn't suffer, though nothing isolates")
    output = " ".join(fault.detail or "" for fault in theirs)
    if kind.contains not in output + stderr:
        wrong.append(f"nothing says {kind.contains!r}: {output or stderr[-300:]!r}")
    seen = dict(re.findall(r"^saw (\S+) (\S+)$", stderr, re.MULTILINE))
    wrong += _out_of_bounds(kind, seen)
    wrong += [left] if (left := left_behind(stage, before, token)) else []
    words = [fault.code for fault in theirs] or ["harmless"]
    words += [f"{name} {value}" for name, value in seen.items() if name in kind.saw]
    words += ["opponent hurt"] if hurt else []
    return Result(row.number, title, stage.tier, expected, ", ".join(words), not wrong, "; ".join(wrong))


def _wrong_faults(kind: Match, codes: set[str]) -> list[str]:
    charged = ", ".join(sorted(codes)) or "nothing"
    if not codes:
        return [] if not kind.faults or "" in kind.faults else ["charged with nothing"]
    known = codes <= {*kind.faults, "out_of_lives"} and codes & set(kind.faults)

    return [] if known else [f"charged with {charged}"]


def _out_of_bounds(kind: Match, seen: dict[str, str]) -> list[str]:
    wrong = []
    for name, (low, high) in kind.saw.items():
        value = float(seen[name]) if name in seen else None
        if value is None or (low is not None and value < low) or (high is not None and value > high):
            wrong.append(f"{name} is {seen.get(name, 'not reported')}, not {low} to {high}")
    return wrong


# --- scenes of several boxes ------------------------------------------------------------------------------------------


def scene(row: Row, kind: Together, stage: Stage) -> Result:
    expected = OPEN if stage.tier in kind.works_in else "blocked"
    before = traces(stage)

    token = secrets.token_hex(8)
    found = SCENES[kind.scene](stage, token)
    wrong = []
    if bool(found) != (stage.tier in kind.works_in):
        wrong.append(", ".join(found) or "nothing was found, though nothing isolates")
    if left := left_behind(stage, before, token):
        wrong.append(left)
    seen = f"{OPEN}: {', '.join(found)}" if found else "blocked"
    return Result(row.number, row.title, stage.tier, expected, seen, not wrong, "; ".join(wrong))


def _persist(stage: Stage, token: str) -> list[str]:
    """Let a box leave marks everywhere, and a later one look for them."""
    with Talk(stage.start("persist.py", token)) as talk:
        _marks(talk, "leave")
    with Talk(stage.start("persist.py", token)) as talk:
        found = _marks(talk, "find")
        _marks(talk, "clear")
    return found


def _twins(stage: Stage, token: str) -> list[str]:
    """Run two boxes of one program at once, and let a third look for the first's marks."""
    marks = (f"{token}-1", f"{token}-2")
    with Talk(stage.start("persist.py", marks[0])) as one, Talk(stage.start("persist.py", marks[1])) as two:
        _marks(one, "leave")
        _marks(two, "leave")
        own = _marks(one, "find")
        with Talk(stage.start("persist.py", marks[0])) as third:
            found = _marks(third, "find")
        _marks(one, "clear")
        _marks(two, "clear")
        return found if own else ["its own marks are gone"]


def _marks(talk: Talk, command: str) -> list[str]:
    talk.send(command)
    return [str(mark) for mark in json.loads(talk.line())["marks"]]


SCENES: dict[str, Callable[[Stage, str], list[str]]] = {"persist": _persist, "twins": _twins}


# --- channels ---------------------------------------------------------------------------------------------------------


def judge_channel(row: Row, tier: str, found: "channels.ChannelResult", proven: Collection[str] = ()) -> Result:
    """Judge whether a channel may carry in a tier; `proven` as in `judge_probes`."""
    title = f"{row.title}: {found.channel}"
    expected = "any" if tier == "process" else "none" if not found.tolerated else f"tolerated: {found.tolerated}"
    wrong = found.problem(tier)
    works = (found.channel,) if found.carries else ()
    unproven = () if found.carries or found.channel in proven or tier == "process" else (found.channel,)
    seen = f"{NO_CONTROL} ({found.describe()})" if unproven else found.describe()
    return Result(row.number, title, tier, expected, seen, wrong is None, wrong or "", works=works, unproven=unproven)


# --- the table --------------------------------------------------------------------------------------------------------


def table(results: Sequence[Result]) -> str:
    """Return rows x tiers as text: what was seen, with ! where it is unexpected, and then the reasons."""
    tiers = [tier for tier in TIERS if any(result.tier == tier for result in results)]
    cells: dict[tuple[int, str], dict[str, str]] = {}
    for result in results:
        mark = "" if result.ok else "! "
        cells.setdefault((result.row, result.title), {})[result.tier] = f"{mark}{result.seen}"
    width = 34
    lines = [f"{'':>4} {'attack':44} " + " ".join(f"{tier:{width}}" for tier in tiers).rstrip()]
    for (number, title), seen in sorted(cells.items(), key=lambda cell: cell[0][0]):
        shown = " ".join(f"{_cut(seen.get(tier, '-'), width):{width}}" for tier in tiers)
        lines.append(f"{number or '':>4} {_cut(title, 44):44} {shown}".rstrip())
    elsewhere = {row.number: kind for row in ROWS.values() for kind in row.kinds if isinstance(kind, NotTestable)}
    tested = [row.number for row in ROWS.values() if all(isinstance(kind, CoveredBy) for kind in row.kinds)]
    lines += ["", f"{len(tested)} rows are tested by the test suite alone: {_ranges(tested)}"]
    lines += [f"row {number} isn't tried: {kind.reason}" for number, kind in elsewhere.items()]
    unproven = list(dict.fromkeys(name for result in results for name in result.unproven))
    if unproven:
        first = "" if "process" in tiers else " (attack the process box too: it is the control)"
        lines.append(f"{NO_CONTROL}: nothing on this host shows that these can work{first}: {', '.join(unproven)}")
    wrong = [result for result in results if not result.ok]
    lines += [f"! row {r.row}, {r.tier}: {r.title}: {r.detail or r.seen} (expected: {r.expected})" for r in wrong]
    ran = sum(result.ran for result in results)
    lines.append(f"{ran} attacks, {len(wrong)} not as expected")
    return "\n".join(lines)


def _cut(text: str, width: int) -> str:
    return text if len(text) <= width else text[: width - 3] + "..."


def _ranges(numbers: Sequence[int]) -> str:
    words: list[list[int]] = []
    for number in numbers:
        if words and words[-1][-1] == number - 1:
            words[-1] = [words[-1][0], number]
        else:
            words.append([number])
    return ", ".join("-".join(map(str, word)) for word in words)
