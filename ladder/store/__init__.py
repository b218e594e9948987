"""Where the results of a run or a ladder are kept."""

from ladder.store.folder import FolderError, RunFolder

__all__ = [
    "FolderError",
    "RunFolder",
]
