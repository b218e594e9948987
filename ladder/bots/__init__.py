"""Bots of a ladder: their submissions and versions, their pages, and the similarity of their sources."""

from ladder.bots.lost_games import LostGame, list_lost_games
from ladder.bots.pages import (
    BotList,
    BotLogs,
    BotPage,
    BotStyle,
    BotSummary,
    BuildLog,
    DailyRating,
    RemainingQuota,
    SimilarityPair,
    SimilarityReport,
    VersionCheckView,
    find_version_archive,
    inactive_reason,
    list_bots,
    list_check_steps,
    serialize_step,
    view_bot,
    view_build_log,
    view_logs,
)
from ladder.bots.similarity import align_sources, find_similar_versions
from ladder.bots.submissions import (
    AcceptedSubmission,
    BulkSubmission,
    deadlines_of_bot,
    describe_party,
    get_remaining_quota,
    read_reference,
    save_reference,
    submit_bot,
    submit_folder,
    submit_reference,
)
