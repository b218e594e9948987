"""Store the results of a run in a folder (`run_folder`), or a ladder in a database (`database`)."""

from ladder.store.run_folder import (
    MAX_SAMPLES_PER_FAULT,
    FailedMatch,
    FolderError,
    LogFolder,
    PlayedMatch,
    ResultSource,
    RunFolder,
    SlotUsage,
    Store,
    StoredFaultSample,
    new_run_folder_name,
    record_file_name,
    replace_file,
    select_samples,
)
