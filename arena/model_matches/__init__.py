"""Play the matches of a run with language models, and check that a model can play."""

from arena.model_matches.matches import DEFAULT_MATCHES, keep_budget, play_with_models
from arena.model_matches.model_check import check_model
