"""What `arena run` is, without the command line: its config, its jobs, its session, the file of rules.

Must not know click, and prints nothing.
"""

from arena.run.building import Building
from arena.run.config import RunConfig, keyed_shuffle, seed_key
from arena.run.example import Example, example
from arena.run.executor import open_executor
from arena.run.final import FinalPlan, final_plan
from arena.run.job import Job, Played
from arena.run.kept import KeptError, logs_of, record_at, records_at, records_in
from arena.run.looking import Unfit, look_at_all
from arena.run.parcel import MissingError, Parcel, cache_folder, check_machine, play_parcel
from arena.run.progress import Progress
from arena.run.results import game_results, record_results
from arena.run.rules_file import FieldList, Rules, RulesetError, RulesList, field_list, load, load_limits, rules_of
from arena.run.session import HostError, Run, clean_up, local_workers
from arena.run.times import Times
from arena.run.verification import Replayed, replay_all
from arena.run.worker import NoRoomError, Worker, begin, play
