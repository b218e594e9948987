"""Language models as players: settings, prompts, calls with limits and budgets, a journal, and matches with them.

The arena's own code plays them, in boxes of this process, so that one client holds their keys. This package prints
nothing.
"""

from arena.models.client import Answer, Call, CallsStoppedError, ModelClient
from arena.models.journal import Journal, Line, Usage, read_calls
from arena.models.matches import (
    DEFAULT_MATCHES,
    ModelTable,
    count_cut_off,
    keep_budget,
    load_players,
    play_with_models,
    report_calls,
)
from arena.models.model_check import check_model
from arena.models.settings import Budget, ModelPlayer, ModelSettings, load_player, read_budget, read_settings
