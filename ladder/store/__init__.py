"""Where the results of a run or a ladder are kept. A store is a file here, and what `Store` says."""

from ladder.store.exchange import FEW, KeptExchange, first_few
from ladder.store.folder import FolderError, RunFolder, new_folder, record_name
from ladder.store.logs import Logs
from ladder.store.store import PlayedMatch, Spent, Store, VoidMatch
from ladder.store.write import write
