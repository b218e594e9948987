"""What `arena run` is, without the command line: its config, its jobs, its session, the file of rules.

Must not know click, and prints nothing.
"""

from arena.run.building import Building
from arena.run.config import RunConfig, program, seed_key
from arena.run.greeting import NotStarted, greet_all
from arena.run.job import Job, Played
from arena.run.progress import Progress
from arena.run.results import game_results, record_results
from arena.run.rules_file import RulesetError, load, load_limits
from arena.run.session import HostError, Run, clean_up, local_workers
from arena.run.worker import NoRoomError, Worker, begin, play

__all__ = [
    "Building",
    "HostError",
    "Job",
    "NoRoomError",
    "NotStarted",
    "Played",
    "Progress",
    "RulesetError",
    "Run",
    "RunConfig",
    "Worker",
    "begin",
    "clean_up",
    "game_results",
    "greet_all",
    "load",
    "load_limits",
    "local_workers",
    "play",
    "program",
    "record_results",
    "seed_key",
]
