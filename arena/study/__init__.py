"""Plan, play and report studies of language models: conditions, measures by deal, and differences of players.

`arena.study.design_file`, `arena.study.forecast` and `arena.study.report` need pydantic or the extra `models`. This
package must not know click, and prints nothing.
"""

from arena.study.config import Condition, Place, StudyConfig, bot_arguments, make_study_config
from arena.study.measures import MEASURES, Cases, Key, Measure, Measured, compare_all, correct_by_holm, measure_all
from arena.study.tables import Reaction, Row
