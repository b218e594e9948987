"""Show recorded games: steps with the texts and cards of each viewer, and self-contained HTML pages.

`steps` reads a record for the terminal, for statistics and, as one JSON object, for pages; the object contains all
cards, or only the knowledge of some of the match's bots. `page` makes pages that work offline and load nothing; the
files in `static/` are plain ES modules and style sheets. This package must not know files or commands.
"""

from arena.replay.page import (
    escape_html,
    html_page,
    inline_module,
    json_element,
    pack_matches,
    replay_page,
    rules_page,
    style_sheets,
    table_page,
)
from arena.replay.steps import Logs, ReplayStep, SeatAnswer, describe_turn, list_steps, make_replay_object
