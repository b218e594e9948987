"""Start and isolate programs with what Linux offers: launch, control groups, /proc, seccomp filters, user ids.

This package must not know which sandbox uses it.
"""

from arena.sandbox.linux import cgroup, launch, processes, seccomp, user_ids
from arena.sandbox.linux.cgroup import Cgroup, Hierarchy, Layout, hierarchy
from arena.sandbox.linux.launch import PreexecCall
from arena.sandbox.linux.processes import ProcessMonitor, global_identity, is_alive, list_children, local_identity
from arena.sandbox.linux.seccomp import ALLOW, ARCHES, ERRNO, KILL, RULES, Rule, docker_profile
