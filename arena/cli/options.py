"""Define options that several commands share, and complete their arguments in a shell.

The options choose and announce a sandbox, the rules, limits and clocks. Completed are bots, samples, rules and the
bots of a run. bash splits words at ":" and "=", so a command receives `sample:ho` as three words; `Bash` joins them."""

import os
import re
from collections.abc import Callable, Iterable, Sequence
from pathlib import Path
from typing import Any

import click
from click.shell_completion import BashComplete, CompletionItem, add_completion_class

from arena.cli.console import option, print_note, usage_error
from arena.coup import PRESETS
from arena.limits import LIMITS, Limits
from arena.referee import SETTABLE_LIMITS, TIME_LIMITS, Timing
from arena.run import RunConfig, RunFolder, load_ruleset_limits, record_results
from arena.samples import sample_names
from arena.sandbox import (
    SANDBOX_NAMES,
    HostProblem,
    HostProblemError,
    Sandbox,
    SandboxChoice,
    find_strongest,
    sandboxes_with_option,
    unavailable_reason,
)


def complete_bot(_context: click.Context, _parameter: click.Parameter, typed: str) -> list[CompletionItem]:
    """Complete an argument of `arena run`: a file, a folder or `sample:NAME`, each also after `name=`."""
    name, sign, path = typed.rpartition("=")
    return _list_completions(sample_names(), path, "*", name + sign)


def complete_rules(_context: click.Context, _parameter: click.Parameter, typed: str) -> list[CompletionItem]:
    """Complete a preset, or a ruleset's file."""
    return _list_completions(PRESETS, typed, "*.toml")


def complete_name(context: click.Context, _parameter: click.Parameter, typed: str) -> list[CompletionItem]:
    """Complete the name of a bot of the run whose folder the command has."""
    path = context.params.get("path") or next(iter(context.params.get("paths") or ()), ".")
    try:
        config = RunConfig.from_json(RunFolder(Path(path), record_results).config())
    except Exception:  # a shell shows no errors while it completes
        return []
    return [CompletionItem(bot.name) for bot in config.bots if bot.name.startswith(typed)]


def parse_seat_number(seat: str) -> int | None:
    """Return the number of a seat that is given by one or two digits, None for any other text."""
    return int(seat) if re.fullmatch("[0-9]{1,2}", seat) else None


def _list_completions(names: Iterable[str], typed: str, pattern: str, prefix: str = "") -> list[CompletionItem]:
    """Return the names that begin with `typed`, and files of the pattern, all after `prefix`.

    Hidden files need a typed dot. Without such a name the shell itself completes files.
    """
    name_items = [CompletionItem(prefix + name) for name in names if name.startswith(typed)]
    if not name_items:
        return [CompletionItem(typed, type="file")]
    files = sorted(path for path in Path().glob(pattern) if path.name.startswith(typed or path.name.lstrip(".")))
    return [*name_items, *(CompletionItem(f"{prefix}{path}{'/' if path.is_dir() else ''}") for path in files)]


_SEPARATORS = (":", "=")  # at which bash splits words


@add_completion_class
class Bash(BashComplete):
    """Join the words before they are completed, and return the missing part of the last word."""

    _prefix = ""  # the part of the last word that bash has already

    def get_completion_args(self) -> tuple[list[str], str]:
        """Return the complete words, and the one that is being typed, whose beginning `format_completion` omits."""
        bash_args, bash_typed = super().get_completion_args()
        joined: list[str] = []
        for word in (*bash_args, bash_typed):
            if joined and (word[:1] in _SEPARATORS or joined[-1][-1:] in _SEPARATORS):
                joined[-1] += word
            else:
                joined.append(word)
        *args, typed = joined
        self._prefix = typed[: 1 + max(typed.rfind(sign) for sign in _SEPARATORS)]
        return args, typed

    def format_completion(self, item: CompletionItem) -> str:
        """Return an item as bash reads it."""
        return f"{item.type},{item.value.removeprefix(self._prefix)}"


RULES_OPTION = option(
    "--rules",
    metavar="NAME|FILE",
    shell_complete=complete_rules,
    help="Preset, or a ruleset in TOML; see arena rules.  [coup]",
)
BUDGET_OPTION = option(
    "--budget",
    metavar="FILE",
    type=click.Path(path_type=Path),
    help="Budget, prices and limits of language models, in TOML.  [1000 calls]",
)
_GROUPS = {
    "Games": "games seats match_games rules seed strict show_names skip_failing jobs resume",
    "Output": "out as_json json_schema as_csv",
    "Options": "",  # all others
    "Resources of bots": " ".join(
        ["sandbox", "docker_runtime", "docker_image", "pass_env", *LIMITS, "clock", "ponder", *TIME_LIMITS]
    ),
}


class GroupedCommand(click.Command):
    """A command whose help lists its options in groups."""

    def format_options(self, ctx: click.Context, formatter: click.HelpFormatter) -> None:
        """Write the options by group, in the order of the group."""
        options = [option for option in self.get_params(ctx) if isinstance(option, click.Option)]
        rows_left = {option.name: row for option in options if (row := option.get_help_record(ctx))}
        rows_by_group = {
            title: [rows_left.pop(name) for name in names.split() if name in rows_left]
            for title, names in _GROUPS.items()
        }
        rows_by_group["Options"] = list(rows_left.values())
        for title, rows in rows_by_group.items():
            if rows:
                with formatter.section(title):
                    formatter.write_dl(rows)


def combine_options(*adders: Callable[[Any], Any]) -> Callable[[Any], Any]:
    """Return a decorator that adds options to a command, in this order."""

    def add(function: Any) -> Any:
        for adder in reversed(adders):
            function = adder(function)
        return function

    return add


def limit_options(function: Callable[..., Any]) -> Callable[..., Any]:
    """Add an option for each setting of time and each limit to a command."""
    for row in reversed(SETTABLE_LIMITS.values()):
        kind: Any = click.FloatRange if isinstance(row.default, float) else click.IntRange
        function = option(
            row.flag, type=kind(row.minimum, row.maximum), metavar="N", help=f"{row.description}  [{row.default:g}]"
        )(function)
    return function


def combine_limits(flags: dict[str, float | None], rules: str) -> tuple[Timing, Limits]:
    """Return a run's times and limits: the flags, where they aren't None, else the ruleset's, else the defaults.

    Raises RulesetError if the ruleset is unknown or invalid.
    """
    given = {name: value for name, value in flags.items() if value is not None}
    settings: dict[str, Any] = {**load_ruleset_limits(rules), **given}
    timing = Timing(**{name: value for name, value in settings.items() if name in TIME_LIMITS})
    return timing, Limits(**{name: value for name, value in settings.items() if name in LIMITS})


def choose_sandbox(
    sandbox: str | None, runtime: str | None, image: str | None, pass_env: Sequence[str] = ()
) -> tuple[SandboxChoice, dict[str, HostProblem]]:
    """Return the requested sandbox, and the problems of stronger ones; `auto` and None: the strongest that works here.

    Exits with 2 if no sandbox works here or the requested one doesn't, or it lacks one of the other options.
    """
    for field, flag, value in (
        ("runtime", "--docker-runtime", runtime),
        ("image", "--docker-image", image),
        ("pass_env", "--pass-env", pass_env),
    ):
        sandboxes = sandboxes_with_option(field)
        if value and sandbox not in sandboxes:
            usage_error(f"{flag} is for --sandbox {', '.join(sandboxes)}; add that, or omit {flag}")
    if sandbox is not None and sandbox != "auto":
        choice = SandboxChoice(sandbox, runtime, image, tuple(pass_env))
        require_sandbox(choice)
        return choice, {}
    try:
        name, reasons = find_strongest()
    except HostProblemError as problem:
        usage_error(f"{problem}\nReport it. To play without isolation, add --sandbox process.")
    return SandboxChoice(name), reasons


def require_sandbox(choice: SandboxChoice) -> None:
    """Exit with 2 and instructions if a sandbox doesn't work here."""
    reason = unavailable_reason(choice.name, choice)
    if reason is not None:
        usage_error(
            f"the sandbox {choice.name} doesn't work here: {reason}\nRun arena doctor, or choose another --sandbox."
        )


def announce_sandbox(choice: SandboxChoice, reasons: dict[str, HostProblem], sandbox: Sandbox, suffix: str) -> None:
    """Print the sandbox and what it blocks, then one line for each stronger sandbox that doesn't work here.

    suffix: how the sandbox was chosen, such as " (auto)".
    """
    print_note(f"sandbox{suffix}: {sandbox.note}")
    for name, reason in reasons.items():
        print_note(f"  {name} doesn't work: {reason}")
    if reasons and not choice.isolates:
        print_note("  WARNING: bots can access your files, each other and the network. Run arena doctor for a fix.")


def announce_clock(timing: Timing, sandbox: Sandbox) -> None:
    """Print which time the bots are charged, and whether they can compute while others think."""
    if timing.own:
        charged_time = "own time of bots (without delays of the host)"
    elif sandbox.reports_wait_time:
        charged_time = "wall time"
    else:
        charged_time = "wall time: the kernel doesn't report waits for a core"
    if timing.ponder:
        pondering = "can compute"
    elif sandbox.can_freeze:
        pondering = "are frozen"
    else:
        pondering = "can't be frozen"
    print_note(f"clock: {charged_time}; bots {pondering} in others' turns")


def require_enforced_limits(flags: dict[str, float | None], sandbox: Sandbox) -> None:
    """Exit with 2 if a limit was given by its flag that the sandbox doesn't enforce here."""
    for field, value in flags.items():
        if value is not None and field in sandbox.unenforced_limits:
            flag = LIMITS[field].flag
            usage_error(f"the sandbox {sandbox.name} can't enforce {flag} here: omit it; see arena doctor")


def require_own_clock(timing: Timing, sandbox: Sandbox) -> None:
    """Exit with 2 if own time is to be charged and the sandbox can't measure it."""
    if timing.own and not sandbox.reports_wait_time:
        usage_error(
            f"the sandbox {sandbox.name} can't measure a bot's own time here; see arena doctor, or use --clock wall"
        )


def require_set_variables(names: Sequence[str]) -> None:
    """Exit with 2 if an environment variable to pass to the bots isn't set."""
    for name in names:
        if name not in os.environ:
            usage_error(f"--pass-env {name}: the variable isn't set")


def _set_here(context: click.Context, option: click.Parameter, names: tuple[str, ...]) -> tuple[str, ...]:
    require_set_variables(names)
    return names


class _Duration(click.ParamType[float]):
    name = "duration"

    def convert(self, value: Any, param: click.Parameter | None, ctx: click.Context | None) -> float:
        """Return seconds: 90, 90s, 2m."""
        match = re.fullmatch("([0-9]{1,6})(s|m|)", str(value))
        seconds = float(match[1]) * (60 if match[2] == "m" else 1) if match else 0.0
        return seconds or self.fail(f"{value!r} isn't a time such as 60s or 2m", param, ctx)


def time_option(help: str, default: str | None = None) -> Callable[[Any], Any]:
    """Return a decorator that adds --time (the parameter `seconds`) to a command."""
    return option("--time", "seconds", type=_Duration(), default=default, metavar="T", help=help)


PASS_ENV_OPTION = option(
    "--pass-env",
    multiple=True,
    metavar="NAME",
    callback=_set_here,
    help="Pass this environment variable to bots; needs --sandbox process. Its value isn't stored.",
)


sandbox_options = combine_options(
    option(
        "--sandbox",
        type=click.Choice(("auto", *SANDBOX_NAMES)),
        help="Isolation of bots; auto: the strongest sandbox that works.  [auto]",
    ),
    option("--docker-runtime", metavar="NAME", help="Docker runtime, such as runsc.  [the engine's default]"),
    option("--docker-image", metavar="NAME", help="Docker image of the bots; see arena sandbox image."),
)
