"""What Linux offers to start programs and keep them apart: launch, control groups, /proc, seccomp filters, user ids.

Must not know which sandbox uses it.
"""

from arena.sandbox.linux import cgroup, launch, proc, seccomp, tasks, uids
from arena.sandbox.linux.cgroup import Hierarchy, Layout, hierarchy
from arena.sandbox.linux.group import Cgroup
from arena.sandbox.linux.launch import Call
from arena.sandbox.linux.owner import alive, owner_anywhere, owner_here
from arena.sandbox.linux.proc import Watch, children
from arena.sandbox.linux.seccomp import ALLOW, ARCHES, ERRNO, KILL, RULES, Rule, docker_profile
