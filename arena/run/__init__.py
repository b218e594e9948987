"""Play runs: config, preflight, workers, session, report, rules files and verification.

The implementation of `arena run` without the command line. This package must not know click, and prints nothing.
"""

from arena.run.config import RunConfig, seed_key
from arena.run.preflight import RejectedBot, RunBuilds, preflight_all
from arena.run.record_reading import (
    RecordFileError,
    find_record_files,
    read_logs,
    read_record_file,
    read_records,
    record_results,
)
from arena.run.rules_file import (
    FieldList,
    RulesetError,
    RulesetList,
    RulesetSummary,
    list_ruleset_fields,
    load_ruleset,
    load_ruleset_limits,
    summarize_ruleset,
)
from arena.run.run_folder import (
    FolderError,
    LogFolder,
    ResultSource,
    RunFolder,
    Store,
    new_run_folder_name,
    record_file_name,
    replace_file,
)
from arena.run.session import (
    FinalPlan,
    HostError,
    PausedError,
    PoolEvent,
    Progress,
    Run,
    final_plan,
    local_workers,
    open_executor,
    remove_leftovers,
)
from arena.run.standings import (
    MIN_MATCHES,
    WIN_PARTS,
    HeadToHead,
    RunStanding,
    RunStandings,
    Standing,
    StandingsCounter,
)
from arena.run.verification import VerificationReport, verify_all
from arena.run.worker import (
    Job,
    MatchOutput,
    MissingBotsError,
    OutOfSpaceError,
    Worker,
    WorkItem,
    cache_folder,
    play_job,
    play_work_item,
    require_suitable_machine,
    start_worker,
)
