"""Rate a ladder's versions with TrueSkill, by `arena.rating`, and show its standings.

`computation` and `collusion` need no database."""

from ladder.standings.pages import (
    COLUMNS,
    SORTS,
    STANDINGS_COLUMNS,
    HeadToHeadMatrix,
    OpponentRecord,
    StandingsPage,
    compute_trends,
    list_opponents,
    make_standings_cells,
    standings_for_reader,
    view_head_to_head,
    view_standings,
    view_standings_page,
)
from ladder.standings.updates import (
    Evaluation,
    RebuiltStandings,
    StandingsUpdater,
    evaluate_versions,
    rebuild_standings,
)
