"""Bots of a ladder: their submissions, and the similarity of their sources."""

from ladder.bots.similarity import (
    SimilarityPair,
    SimilarityReport,
    align_sources,
    count_compared_versions,
    find_similar_versions,
)
from ladder.bots.submissions import (
    AcceptedSubmission,
    BulkSubmission,
    RemainingQuota,
    deadlines_of_bot,
    describe_party,
    get_remaining_quota,
    read_reference,
    save_reference,
    submit_bot,
    submit_folder,
    submit_reference,
)
