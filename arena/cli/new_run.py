"""A new run: what was asked for becomes a config, its bots are built and greeted, its folder is made."""

from collections.abc import Callable, Iterator, Mapping
from contextlib import closing, contextmanager
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any, TypeVar

from arena.bots import Bot, BotError, lacks_kit, load, shown
from arena.cli import options
from arena.cli.out import counted, fail, note, reason, refuse, stop
from arena.coup import Ruleset
from arena.referee import Terms, Timing
from arena.run import Building, RulesetError, RunConfig, Unfit, clean_up, look_at_all, record_results, seed_key
from arena.run import load as load_rules
from arena.sandbox import (
    FULL,
    NOT_GIVEN,
    Choice,
    Sandbox,
    SandboxError,
    full,
    make,
    no_room,
    programs_of,
    scratch_folder,
)
from ladder.store import FolderError, RunFolder, new_folder
from protocol import show

Config = TypeVar("Config", bound=RunConfig)

_GAMES = 480
_SEATS = 4
_MATCH_GAMES = 12  # measured: the smallest error for the same CPU time, of 4 to 48 games a match
_MATCH_GAMES_IN = {"docker": 24}  # where a start costs as much as 40 games, not 12 or 17


@dataclass(frozen=True, slots=True)
class Asked:
    """The options of a new run as they were given; None for those that weren't. `limits`, times too, are by field."""

    bots: tuple[str, ...]
    seats: int | None
    rules: str | None
    seed: int | None
    sandbox: str | None
    docker_runtime: str | None
    docker_image: str | None
    pass_env: tuple[str, ...]
    out: Path | None
    clock: str | None
    limits: dict[str, float | None]
    # Not every command has these.
    games: int | None = None
    match_games: int | None = None
    ponder: bool = False
    strict: bool = False
    open_names: bool = False
    leave_out: bool | None = None  # None: the command has no such option

    @classmethod
    def of(cls, bots: tuple[str, ...], given: Mapping[str, Any]) -> "Asked":
        """Take the values of all options: those that have a field by it, all others as limits."""
        named = {name: value for name, value in given.items() if name in cls.__dataclass_fields__}
        limits = {name: value for name, value in given.items() if name not in named}
        return cls(bots=bots, limits=limits, **named)


@contextmanager
def refusals() -> Iterator[None]:
    """Turn why something can't be played into a message and an exit code: 2 for the input, 1 for this machine."""
    try:
        yield
    except (BotError, FolderError, RulesetError) as problem:
        refuse(str(problem))
    except SandboxError as problem:
        fail(f"this machine can't start the bots: {problem}")
    except OSError as problem:
        stop(problem)


OfBots = Callable[[Asked, tuple[Bot, ...], Terms, Choice], Config]
"""Makes the config of what these bots play, and says what that is. Exits with 2 if it can't be planned."""


def begin(asked: Asked, of_bots: OfBots[Config], parent: str) -> tuple[Config, RunFolder]:
    """Prepare a run, and return its config and its folder, locked. Exits with 2 if it can't be played as asked.

    parent: of the folder if none was named.
    """
    folder = RunFolder(asked.out or new_folder(parent), record_results)
    folder.refuse_existing()  # now, not after minutes of building
    if asked.seed is not None:
        note(f"seed {asked.seed}: a bot that knows or guesses it can compute all cards; a guess takes 288 MB and 1 s")
        note("  likely seeds can be worked out in advance: against bots that you don't trust, 20 random digits or none")
    choice, reasons = options.chosen(asked.sandbox, asked.docker_runtime, asked.docker_image, asked.pass_env)
    config = _config(asked, choice, of_bots)
    refuse_inside(folder.path, config.bots)
    clean_up(choice)
    building = Building(folder.path)
    building.remove_dead()
    with scratch_folder() as scratch, closing(make(choice, scratch)) as box:
        options.announce(choice, reasons, box, " (auto)" if asked.sandbox in (None, "auto") else "")
        config = replace(config, terms=replace(config.terms, timing=timing_of(asked, config.terms.timing, box)))
        options.demand_limits(asked.limits, box)
        config = built(config, box, building)
        try:
            config = fit(asked, config, box, scratch, of_bots)
            config = building.settle(config, folder)
        except BaseException:
            building.discard()
            raise
    folder.lock()
    return config, folder


def refuse_inside(folder: Path, bots: tuple[Bot, ...]) -> None:
    """Exit with 2 if what is written to a folder would change a bot, which must stay as it is."""
    place = folder.resolve()
    for bot in bots:
        own = bot.path.resolve()
        if own.is_dir() and place.is_relative_to(own) and not NOT_GIVEN.intersection(place.relative_to(own).parts):
            refuse(f"{shown(folder)} lies in the folder of {shown(bot.name)}; name an --out beside it")


def _config(asked: Asked, choice: Choice, of_bots: OfBots[Config]) -> Config:
    """Return the config but for its clocks, which depend on the sandbox, and say what will be played."""
    ruleset = load_rules(asked.rules or "coup")
    bots, remarks = load(asked.bots, programs_of(choice.name))
    for remark in remarks:
        note(remark)
    if len(bots) < 2:
        refuse(f"a game needs at least 2 bots, {len(bots)} given: arena run mybot.py sample_bots/*.py")
    return of_bots(asked, tuple(bots), terms_of(asked, ruleset), choice)


def run_of(asked: Asked, bots: tuple[Bot, ...], terms: Terms, choice: Choice) -> RunConfig:
    """Return the config of a run of these bots, and say what will be played. Exits with 2 if there is no such plan."""
    seats = seats_of(asked, len(bots), terms.rules)
    config = RunConfig(
        bots=bots,
        seats=seats,
        games=asked.games or _GAMES,
        match_games=asked.match_games or match_games_of(choice.name, seats),
        key=seed_key(asked.seed),
        seed=asked.seed,
        terms=terms,
        sandbox=choice,
    )
    _announce_plan(config)
    return config


def match_games_of(sandbox: str, seats: int) -> int:
    """Return how many games a match has by default."""
    match_games = _MATCH_GAMES_IN.get(sandbox, _MATCH_GAMES)
    return -(-match_games // seats) * seats


def terms_of(asked: Asked, ruleset: Ruleset) -> Terms:
    """Return the terms, but for what the clock charges. --strict is one life: the first fault forfeits."""
    timing, limits = options.limits_of(asked.limits, asked.rules or "coup")
    terms = Terms(rules=ruleset, timing=timing, limits=limits, open_names=asked.open_names)
    return replace(terms, lives=1) if asked.strict else terms


def seats_of(asked: Asked, bots: int, ruleset: Ruleset) -> int:
    """Return the seats of a table. Exits with 2 for a number that the rules don't allow."""
    seats = asked.seats or min(_SEATS, bots, ruleset.max_seats)
    problem = ruleset.problem(seats)
    if problem:
        refuse(problem)
    return seats


def _announce_plan(config: RunConfig) -> None:
    """Say how many games will be played, and how. Exits with 2 if there is no such plan."""
    try:
        plan = config.plan()
    except ValueError as problem:
        refuse(str(problem))
    rounds = f"{counted(plan.rounds, 'round')} of {counted(plan.matches_per_round, 'match', 'es')}"
    games = f"{counted(plan.games, 'game')} of {config.terms.rules.name}"
    note(f"{games}: {rounds}, {plan.match_games} games each, at {config.seats} seats")


def timing_of(asked: Asked, times: Timing, box: Sandbox) -> Timing:
    """Return the clocks, and say what they charge. Exits with 2 if own time is asked for and can't be told."""
    timing = replace(
        times,
        own=box.tells_waits if asked.clock in (None, "auto") else asked.clock == "own",
        ponder=asked.ponder,
    )
    options.demand_clock(timing, box)
    options.announce_clock(timing, box)
    return timing


def built(config: Config, box: Sandbox, building: Building) -> Config:
    """Build what has to be built, and say where. Exits with 1 if a disk is full."""
    names = [bot.name for bot in config.bots if bot.build is not None]
    if not names and not any(lacks_kit(bot, config.sandbox.isolates) for bot in config.bots):
        return config
    if names and config.sandbox.isolates:
        note(f"building {', '.join(names)} in the sandbox")
    elif names:
        note("bots are built in their own folders, as you: the process sandbox keeps nothing from a build")
    try:
        return building.build(config, box)
    except OSError as problem:
        if problem.errno not in FULL:
            raise
        fail(f"bots can't be built: {reason(problem)}")


def fit(asked: Asked, config: Config, box: Sandbox, scratch: Path, of_bots: OfBots[Config]) -> Config:
    """Look at every bot before anything is played.

    Returns the config of those that can play. Exits with 2 if one can't; with --leave-out, if fewer than two can.
    """

    def mute(bot: Bot) -> None:
        note(f"{bot.name} has said nothing for 2 s after its hello; it is waited for")

    try:
        unfit = look_at_all(config, box, scratch, mute)
    except SandboxError as problem:
        if full(problem, scratch):
            fail(f"{no_room(scratch.parent)}\nNothing was played yet.")
        fail(f"this machine can't start the bots: {problem}")
    if not unfit:
        return config
    why = "\n".join(line for each in unfit for line in _why_unfit(each))
    if not asked.leave_out:
        more = "" if asked.leave_out is None else "; --leave-out plays without them"
        refuse(f"{why}\nNothing was played. arena check BOT tells more{more}.")
    bots = tuple(bot for bot in config.bots if bot not in [each.bot for each in unfit])
    if len(bots) < 2:
        refuse(f"{why}\nA game needs at least 2 bots, and {len(bots)} can play: nothing was played.")
    left_out = tuple((each.bot.name, _reason(each)) for each in unfit)
    note(f"{why}\nleft out: {', '.join(name for name, _ in left_out)}")
    return replace(of_bots(asked, bots, config.terms, config.sandbox), left_out=left_out)


def _reason(unfit: Unfit) -> str:
    """Return in one line why a bot can't play."""
    return shown(unfit.step.text)


def _why_unfit(unfit: Unfit) -> Iterator[str]:
    """Yield why a bot can't play: the exchange, the end of its standard error, and what to do."""
    step = unfit.step
    yield f"{unfit.bot.name} can't play: {_reason(unfit)}"
    if step.got is not None:
        yield f"  got: {show(step.got, 200)}"
    yield from (f"  | {show(line, 200)}" for line in step.stderr)
    yield from (f"  {shown(line)}" for line in step.do.split("\n") if line)
