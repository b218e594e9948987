"""Language models as players: settings, prompts, calls with limits and budgets, and a journal of the calls.

The arena's own code plays them, in boxes of this process, so that one client holds their keys. This package prints
nothing.
"""

from arena.models.client import Answer, Call, CallsStoppedError, ModelClient
from arena.models.journal import FOLDER, Journal, Line, Usage, count_cut_off, read_calls, report_calls
from arena.models.player import ModelSeat, ModelTable
from arena.models.settings import (
    Budget,
    ModelPlayer,
    ModelSettings,
    load_player,
    load_players,
    read_budget,
    read_settings,
)
