"""Load the language models of a run or a table, whose package is an extra, and check their budget."""

from collections.abc import Iterable, Sequence
from pathlib import Path
from types import ModuleType
from typing import TYPE_CHECKING

from arena import with_extra
from arena.bots import Bot
from arena.cli import console
from arena.run import RunConfig
from arena.sandbox import SandboxChoice

if TYPE_CHECKING:
    from arena.models import Budget, ModelPlayer

CALLS_A_GAME = 30  # of a model, which has 10 to 40 decisions with a choice


def announce_models(config: RunConfig, budget_file: Path | None) -> None:
    """Check the models of a run and print what they will use; without models do nothing. Raises like `check_models`."""
    budget = check_models(config, budget_file)
    if budget is None:
        return
    models = [bot for bot in config.bots if bot.is_model]
    games = config.plan().games * config.seats * len(models) // len(config.bots)
    console.print_note(
        f"models: about {games * CALLS_A_GAME} calls, {CALLS_A_GAME} for each game of a model; the budget allows "
        f"{budget.calls}{'' if budget_file else ', and --budget FILE changes it'}"
    )


def check_models(config: RunConfig, budget_file: Path | None) -> "Budget | None":
    """Return the budget of a run's models, None without models.

    Raises BotError if a model's settings or the budget aren't valid. Exits with 2 if a budget is given without models.
    """
    refuse_budget(config.bots, budget_file)
    if not any(bot.is_model for bot in config.bots):
        return None
    return load_models(config.bots, budget_file, config.sandbox)[0]


def refuse_budget(bots: Iterable[Bot], budget_file: Path | None) -> None:
    """Exit with 2 if there is a budget, but no language model among the bots."""
    if budget_file is not None and not any(bot.is_model for bot in bots):
        console.usage_error("--budget is for language models: omit it")


def load_models(
    bots: Sequence[Bot], budget_file: Path | None, choice: SandboxChoice
) -> "tuple[Budget, list[ModelPlayer]]":
    """Return the budget and the model players of a table.

    Raises BotError if a model's settings or the budget aren't valid. Exits with 2 if a bot would get a key.
    """
    models = import_models()
    budget = models.Budget() if budget_file is None else models.read_budget(budget_file)
    players = models.load_players(bots, budget)
    for player in players:
        if player.settings.key_env in choice.pass_env:
            console.usage_error(f"--pass-env {player.settings.key_env}: {player.name}'s key is for no bot; omit it")
    return budget, players


def import_models() -> ModuleType:
    """Return `arena.models`. Exits with 2 if its extra isn't installed."""
    try:
        from arena import models
    except ModuleNotFoundError as missing:
        console.usage_error(f"a language model needs {missing.name}: {with_extra('models')}")
    return models
