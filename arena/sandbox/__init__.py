"""Starting a stranger's program and talking to it over three pipes.

Knows bytes, limits and processes; must not know that there is a game, a protocol or a referee, and imports nothing
else of ours. A backend stands behind `Sandbox`.
"""

from arena.sandbox.backend import Backend
from arena.sandbox.backends import (
    backend,
    make,
    programs_of,
    strongest,
    sweep,
    sweep_all,
    takers,
    why_no_strangers,
    why_not,
)
from arena.sandbox.box import CLOSE_MS, Box, Counted, Exit, Program, ProgramError, Sandbox, SandboxError, Spent
from arena.sandbox.bundle import NOT_GIVEN, copy_files
from arena.sandbox.cause import caused
from arena.sandbox.choice import ISOLATING, NAMES, Choice
from arena.sandbox.inside import InsideBox, InsideSandbox, Peer, Script, replies
from arena.sandbox.limits import LIMITS, LimitRule, Limits
from arena.sandbox.linux.launch import PR_SET_CHILD_SUBREAPER, become_subreaper
from arena.sandbox.process import ProcessSandbox
from arena.sandbox.programs import Programs, forbids_programs, is_executable
from arena.sandbox.spawning import spawn
from arena.sandbox.trees import (
    FULL,
    full,
    locked,
    no_room,
    remove_dead_scratch,
    remove_tree,
    scratch_folder,
    sync_tree,
)
from arena.sandbox.trouble import Remedy, Trouble, TroubleError, trouble_of
from arena.sandbox.wait import readable
