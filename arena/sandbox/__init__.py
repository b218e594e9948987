"""Start an untrusted program in a box and exchange bytes with it over three pipes.

One backend per kind of isolation implements `Sandbox`. The package knows bytes, limits and processes; it must not know
games, the protocol or the referee, and imports no other package of this project.
"""

from arena.limits import LIMITS, LimitRule, Limits
from arena.sandbox.backends import (
    ISOLATING_SANDBOXES,
    SANDBOX_NAMES,
    SandboxChoice,
    cleanup_all_stale,
    cleanup_stale,
    find_strongest,
    get_backend,
    make_sandbox,
    programs_of,
    sandboxes_with_option,
    unavailable_reason,
    untrusted_problem,
)
from arena.sandbox.box import (
    CLOSE_MS,
    Box,
    Counted,
    CpuUsage,
    Exit,
    Program,
    ProgramError,
    Sandbox,
    SandboxError,
    with_cause,
)
from arena.sandbox.child_process import spawn, wait_readable
from arena.sandbox.host_problems import HostProblem, HostProblemError, Remedy, for_this_command, host_problem_of
from arena.sandbox.in_process import InProcessBox, InProcessSandbox, Script, ScriptPeer, make_reply_script
from arena.sandbox.linux.launch import PR_SET_CHILD_SUBREAPER, become_subreaper
from arena.sandbox.process import ProcessSandbox
from arena.sandbox.program_files import EXCLUDED_NAMES, Programs, copy_files, is_executable, is_noexec
from arena.sandbox.scratch import (
    DISK_FULL_ERRNOS,
    is_disk_full,
    lock_folder,
    no_space_message,
    remove_dead_scratch,
    remove_tree,
    scratch_folder,
    sync_tree,
)
