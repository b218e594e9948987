"""Complete arguments in a shell: bots, samples, rules and the bots of a run.

bash splits words at ":" and "=", so a command receives `sample:ho` as three words; this module joins them."""

from collections.abc import Iterable
from pathlib import Path

import click
from click.shell_completion import BashComplete, CompletionItem, add_completion_class

from arena.bots import sample_names
from arena.coup import PRESETS
from arena.run import RunConfig, record_results
from ladder.store import RunFolder


def complete_bot(_context: click.Context, _parameter: click.Parameter, typed: str) -> list[CompletionItem]:
    """Complete what `arena run` takes: a file, a folder, `sample:NAME`, each also behind `name=`."""
    name, sign, path = typed.rpartition("=")
    return _completions(sample_names(), path, "*", name + sign)


def complete_rules(_context: click.Context, _parameter: click.Parameter, typed: str) -> list[CompletionItem]:
    """Complete a preset, or a ruleset's file."""
    return _completions(PRESETS, typed, "*.toml")


def complete_name(context: click.Context, _parameter: click.Parameter, typed: str) -> list[CompletionItem]:
    """Complete the name of a bot of the run whose folder the command has."""
    path = context.params.get("path") or next(iter(context.params.get("paths") or ()), ".")
    try:
        config = RunConfig.from_json(RunFolder(Path(path), record_results).config())
    except Exception:  # a shell that completes shows no error
        return []
    return [CompletionItem(bot.name) for bot in config.bots if bot.name.startswith(typed)]


def _completions(names: Iterable[str], typed: str, pattern: str, before: str = "") -> list[CompletionItem]:
    """Return the names that begin so, and files; without such a name the shell completes files itself."""
    named = [CompletionItem(before + name) for name in names if name.startswith(typed)]
    if not named:
        return [CompletionItem(typed, type="file")]
    files = sorted(path for path in Path().glob(pattern) if path.name.startswith(typed or path.name.lstrip(".")))
    return [*named, *(CompletionItem(f"{before}{path}{'/' * path.is_dir()}") for path in files)]


_BREAKS = (":", "=")


@add_completion_class
class Bash(BashComplete):
    """Joins the words before they are completed, and gives bash what it lacks of the last piece."""

    _before = ""  # the pieces of the last word that bash has already

    def get_completion_args(self) -> tuple[list[str], str]:
        """Return the complete words, and the one that is being typed."""
        args, typed = super().get_completion_args()
        words: list[str] = []
        for word in (*args, typed):
            if words and (word[:1] in _BREAKS or words[-1][-1:] in _BREAKS):
                words[-1] += word
            else:
                words.append(word)
        *args, typed = words
        self._before = typed[: 1 + max(typed.rfind(sign) for sign in _BREAKS)]
        return args, typed

    def format_completion(self, item: CompletionItem) -> str:
        """Return an item as bash reads it."""
        return f"{item.type},{item.value.removeprefix(self._before)}"
