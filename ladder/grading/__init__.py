"""Finals, grades and their releases."""

from ladder.grading.baselines import BaselineResult
from ladder.grading.final_states import FinalList, FinalState, list_finals, summarize_final
from ladder.grading.finals import (
    EXTRA_ROUNDS,
    FINAL_GAMES,
    create_final,
    export_final,
    extend_finals,
    find_final_state,
    get_commitment_file,
    get_final_state,
    list_final_states,
    number_owners,
    preview_final,
    retry_final,
    reveal_final_results,
)
from ladder.grading.gradebook import (
    GRADEBOOK_FORMATS,
    Grade,
    GradeChanges,
    Grades,
    GradesPage,
    PublishedGrades,
    describe_missing_ids,
    describe_open_grades,
    format_gradebook,
)
from ladder.grading.grades import get_grades
from ladder.grading.releases import (
    ReproducedRelease,
    find_newest_release,
    get_published_grades,
    list_release_summaries,
    preview_release,
    release_grades,
    reproduce_release,
)
