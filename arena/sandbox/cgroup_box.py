"""Implement boxes whose processes run in a control group, or are monitored on hosts without control groups.

This module must not know how a program is isolated, started or ended."""

from arena.limits import Limits
from arena.sandbox.box import Box, CpuUsage
from arena.sandbox.linux import Cgroup, ProcessMonitor, processes


class CgroupBox(Box):
    """A box that measures, freezes and thaws the processes of a program; see `Box`."""

    def __init__(self, limits: Limits, group: Cgroup | None, monitor: ProcessMonitor | None = None) -> None:
        self._limits = limits
        self._group = group
        self._counter = group or monitor
        self._excess: str | None = None  # the field of the limit that this box killed the program for
        self._closed = False

    def cpu_ns(self) -> int | None:
        """Return the CPU time of the program and all descendants, in ns; without control groups, of observed ones."""
        return None if self._closed or self._counter is None else self._counter.cpu_ns()

    def peak_bytes(self) -> int | None:
        """Return the peak of memory of the control group, in bytes; None without a group."""
        return None if self._closed or self._group is None else self._group.peak_bytes()

    def cpu_usage(self) -> dict[int, CpuUsage] | None:
        """Return the usage of each living task, by task id; None if it isn't known. See `Box.cpu_usage`."""
        return None if self._closed or self._counter is None else processes.read_cpu_usage(self._counter.tasks())

    def freeze(self) -> None:
        """Freeze the program, if it has a control group; see `Box.freeze`."""
        if self._group is not None and not self._closed:
            self._group.freeze()

    def thaw(self) -> None:
        """Thaw a frozen program."""
        if self._group is not None and not self._closed:
            self._group.thaw()

    def _end_excess(self) -> None:
        """Kill a program whose processes have together used up the CPU time; needs a control group."""
        if self._group is not None and self._is_cpu_used_up():
            self._excess = "cpu_s"
            self._kill_all()

    def _is_cpu_used_up(self, margin_s: float = 0.0) -> bool:
        """Return whether the CPU time is used up except for a margin, since SIGXCPU uses another clock."""
        used_ns = self.cpu_ns()
        return used_ns is not None and used_ns >= (self._limits.cpu_s - margin_s) * 1e9

    def _kill_all(self) -> None:
        """Send SIGKILL to all processes of the box, without waiting."""
        raise NotImplementedError
