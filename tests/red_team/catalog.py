"""The attack list: one row for each attack, and what is expected in each tier.

This module has data alone, and must not know how an attack is run. A row is one of

    Probes       checks of attacks/probes.py whose names begin with the row's number. In a box every check must fail
                 with one of the row's words, unless it is `tolerated` there. In tier process, which doesn't isolate,
                 the checks in `works` must succeed; otherwise a check that never succeeds would go unnoticed. The
                 checks in `on_ci` must succeed there on the kind of machine that .ci/run runs on.
                 Checks named *.control must succeed in every tier.
    Match        a bot of attacks/bot.py plays a real match against an honest one. `faults` are what it is charged
                 with (none: it is harmless), `saw` bounds what it reports. It must leave nothing behind.
    Together     a scene of several boxes that suite.py plays
    Channel      a way for two bots to talk, which channels.py tries
    CoveredBy    tests of this repository, by their names
    NotTestable  with the reason

Rows keep their numbers, and new ones come last.
"""

from dataclasses import dataclass, field

TIERS = ("process", "bubblewrap", "docker")

# Outcomes of an attempt that is refused, or that finds nothing to attack.
FILES = "ENOENT EACCES EROFS EPERM ENOTDIR ABSENT"
CALLS = "EPERM ENOSYS EACCES"
SOCKETS = "EAFNOSUPPORT EPERM EACCES"
UNREACHABLE = "EAFNOSUPPORT ECONNREFUSED ENETUNREACH EHOSTUNREACH ENOENT EACCES EPERM NO-ANSWER"
ELSEWHERE = "ENOENT ESRCH EPERM EACCES ABSENT ENOSYS"


@dataclass(frozen=True, slots=True)
class Probes:
    """Checks: `refused` are the words that count as blocked; `works` holds name patterns.

    `tolerated` maps "TIER PATTERN" (TIER may be *) to the reason why such checks may succeed.
    """

    group: str
    refused: str
    works: tuple[str, ...] = ()
    tolerated: dict[str, str] = field(default_factory=dict)
    no_control: str = ""  # why no check need succeed, even without a sandbox
    on_ci: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True)
class Match:
    """A hostile bot.

    `faults`: it is charged with at least one of these; empty if it is harmless; with a "" among them it may also be
    charged with nothing. `saw` maps each value that the bot reports to (lowest, highest), None for no bound. `contains`
    must be in the fault's detail or the bot's standard error. `hurts` names the tiers in which the opponent suffers.
    `bounded`: without a control group it may hurt the host. `another_user`: without isolation it reaches all processes
    of its user.
    """

    attack: str
    faults: tuple[str, ...] = ()
    saw: dict[str, tuple[float | None, float | None]] = field(default_factory=dict)
    contains: str = ""
    hurts: tuple[str, ...] = ()
    bounded: bool = False
    another_user: bool = False
    patient: bool = False  # the attack needs more CPU time than others


@dataclass(frozen=True, slots=True)
class Together:
    """A scene of several boxes: its function's name in suite.py, and the tiers in which the attack works."""

    scene: str
    works_in: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True)
class Channel:
    """The channels of channels.py that belong to the row."""

    names: tuple[str, ...]


@dataclass(frozen=True, slots=True)
class CoveredBy:
    """Tests, as "path::name"."""

    tests: tuple[str, ...]


@dataclass(frozen=True, slots=True)
class NotTestable:
    """Why no program can test it."""

    reason: str


Kind = Probes | Match | Together | Channel | CoveredBy | NotTestable


@dataclass(frozen=True, slots=True)
class Row:
    """One attack; a row may have several programs."""

    number: int
    title: str
    kinds: tuple[Kind, ...]


def _row(number: int, title: str, *kinds: Kind) -> Row:
    return Row(number, title, kinds)


def _by(*tests: str) -> CoveredBy:
    return CoveredBy(tests)


_BAD_BOTS = "tests/referee/test_bad_bots.py::test_a_bad_bot_is_charged_and_its_opponent_is_unharmed"
_CLOCK = "tests/referee/process/test_clock.py"
_CONTRACT = "tests/sandbox/test_contract.py"
_DAEMONS = f"{_CONTRACT}::test_daemons_that_ignore_all_signals_die_with_their_box"
_FROZEN = f"{_CONTRACT}::test_a_frozen_program_gets_no_cpu_and_can_be_closed"
_REFUSED_FORKS = "tests/sandbox/test_cause.py::test_refused_forks_are_counted_and_no_end"
_LITTER = "tests/sandbox/test_process.py::test_deep_and_forbidden_folders_are_removed"  # boxes keep theirs in memory
_BAD_LINES = "tests/protocol/test_framing.py::test_a_bad_line_is_a_named_fault"
_BAD_REPLIES = "tests/protocol/test_framing.py::test_a_bad_reply_is_a_bad_reply"
_NO_UPLOAD = NotTestable("nothing is uploaded: it concerns a web server that accepts archives")
_OUT_OF_TIME = ("timeout", "out_of_lives")
_OPEN = NotTestable("it is open, and stays so: the security model has its rate")
_MEMORY_REPORTED = NotTestable(
    "no program inside can see swap; the memory bomb of row 32 ends at the limit all the same"
)

_ROWS = (
    # --- processes and lifetime
    _row(1, "fork bomb", _by(f"{_CONTRACT}::test_the_limit_of_processes_is_the_programs_own", _REFUSED_FORKS)),
    _row(
        2,
        "daemon that forgets its environment",
        _by(_DAEMONS, "tests/sandbox/test_process.py::test_a_daemon_that_hides_dies_with_its_box"),
    ),
    _row(3, "ignores all signals and the end of input", _by(_DAEMONS)),
    _row(4, "stops itself, or sleeps", Match("stop", _OUT_OF_TIME), _by(_BAD_BOTS)),
    # A plain process's parent is the referee; only the same user's processes can kill the referee.
    _row(5, "stops or kills its supervisor", Match("kill_supervisor", another_user=True)),
    _row(6, "kill -1", Match("kill_all", hurts=("process",), another_user=True)),
    _row(7, "exit 0 during a match", _by(_BAD_BOTS)),
    _row(8, "exits at once", _by(_BAD_BOTS)),
    _row(9, "crash by a signal", _by(_BAD_BOTS, f"{_CONTRACT}::test_a_programs_own_end_is_not_a_limits")),
    _row(10, "dies while a grandchild holds its output", Match("heir", ("exited",), contains="exited with code 3")),
    _row(11, "closes its output and lives on", _by(_BAD_BOTS)),
    _row(12, "becomes another program", Match("another_program")),
    _row(13, "becomes a program that is no file", Match("from_memory")),
    _row(
        14,
        "leaves its control group",
        Probes("processes", FILES + " ENOSYS", no_control="only root may move processes between groups"),
    ),
    _row(15, "zombies", Match("zombies", saw={"processes": (10, 64)}, bounded=True)),
    _row(16, "threads by the hundred", _by(_REFUSED_FORKS)),
    _row(17, "slow death with much memory", Match("slow_death", _OUT_OF_TIME, bounded=True)),
    _row(18, "the referee is killed", _by(f"{_CONTRACT}::test_a_killed_referee_leaves_nothing")),
    # --- CPU and time
    _row(19, "thinks for ever", _by(f"{_CONTRACT}::test_a_program_that_exceeds_a_limit_ends_and_the_limit_is_named")),
    _row(
        20,
        "a thread thinks on the others' time",
        _by(_FROZEN, f"{_CLOCK}::test_a_bot_is_frozen_while_others_think_and_thawed_for_its_request"),
    ),
    _row(
        21,
        "a child thinks on the others' time",
        _by(_FROZEN, f"{_CONTRACT}::test_the_children_of_a_program_are_charged_to_it"),
    ),
    _row(
        22, "answers at the last moment, always", _by(f"{_CLOCK}::test_time_beyond_the_free_time_comes_from_the_bank")
    ),
    _row(23, "one byte at a time", _by(f"{_CLOCK}::test_the_deadline_is_absolute_whatever_is_printed_meanwhile")),
    _row(24, "bytes without a newline", _by(_BAD_BOTS)),
    _row(25, "raises its priority or limits", Probes("processes", CALLS, no_control="only root may raise them")),
    _row(26, "sets the clock", Probes("processes", CALLS, no_control="only root may set it")),
    _row(
        27,
        "the host's clock jumps",
        NotTestable(
            "it would set the clock of the host; the referee reads the monotonic clock alone (referee/process/match.py)"
        ),
    ),
    _row(28, "storm of writes to the disk", Probes("storage", FILES, works=("28.write-to-a-disk",))),
    _row(29, "slow first move of an honest bot", _by(f"{_CLOCK}::test_a_late_hello_fails_the_start")),
    _row(
        30,
        "talks by load, cache and timing",
        Channel(("page-cache", "page-cache-timing")),
        Channel(("sysinfo", "free-space", "process-numbers", "socket-numbers", "handle-numbers", "pipe-pages")),
        _by("tests/sandbox/test_proc_between_boxes.py::test_files_that_differ_between_boxes_or_change_have_a_reason"),
    ),
    _row(
        31,
        "learns that it is measured",
        _by("tests/referee/test_faults.py::test_opponents_are_handles_drawn_for_the_match"),
    ),
    # --- memory and storage
    _row(
        32,
        "memory bomb",
        _by(f"{_CONTRACT}::test_memory_beyond_the_limit_is_named_with_groups_and_refused_without"),
        # The kernel kills the largest process: a child, or with cgroups v2 the whole box.
        Match("memory_in_child", ("out_of_memory", ""), saw={"ended": (1, None)}, bounded=True, patient=True),
    ),
    _row(
        33,
        "64 GB of address space",
        Probes(
            "storage",
            "",
            works=("33.*",),
            tolerated={"* 33.*": "node and the JVM reserve address space that they never use"},
        ),
    ),
    _row(
        34,
        "memory by files elsewhere, and by pipes",
        Probes("storage", FILES + " BOUNDED ENOSPC", works=("34.other-places",)),
    ),
    _row(35, "swap", _MEMORY_REPORTED),
    _row(36, "fills /tmp", Probes("storage", "ENOSPC EDQUOT", works=("36.*",))),
    _row(
        37,
        "floods /tmp with files",
        Probes(
            "storage",
            "ENOSPC EDQUOT",
            works=("37.*",),
            tolerated={"bubblewrap 37.*": "bubblewrap's tmpfs doesn't limit inodes; they count as memory"},
        ),
    ),
    _row(38, "a file of 1 TB", Probes("storage", "EFBIG")),
    _row(39, "core dump", Probes("processes", "EPERM ABSENT", no_control="plain processes have this limit too")),
    _row(40, "writes to its own folder", Probes("storage", FILES, works=("40.*",))),
    _row(41, "leaves something for its next match", Together("persist", works_in=("process",))),
    _row(42, "trees that are hard to remove", _by(_LITTER)),
    _row(
        43,
        "links, pipes and devices for the referee to open",
        _by(_LITTER),
        Probes("storage", FILES, no_control="only root makes devices; a plain process has no folder of pipes"),
    ),
    _row(44, "locks memory", Probes("storage", "EPERM ENOMEM EAGAIN ENOSYS", no_control="every user has a limit")),
    _row(45, "the kernel's choice of a victim", Probes("processes", FILES, works=("45.raise-anothers-score",))),
    # --- isolation
    _row(46, "reads the referee", Probes("isolation", FILES, works=("46.victim-*",))),
    _row(47, "secrets in other processes' environment and arguments", Probes("isolation", FILES, works=("47.*",))),
    _row(
        48, "ptrace, memory, descriptors and signals of others", Probes("isolation", ELSEWHERE, works=("48.victim-*",))
    ),
    _row(49, "inherited descriptors", Probes("isolation", FILES, no_control="tests/red_team has a control")),
    _row(
        50,
        "shared memory and message queues between bots",
        Channel(("dev-shm-file", "tmp-file", "sysv-shm", "sysv-messages", "posix-queue")),
    ),
    _row(
        51,
        "abstract sockets between bots",
        Probes("isolation", UNREACHABLE, works=("51.*",)),
        Channel(("abstract-socket", "socket-file")),
    ),
    _row(
        52,
        "the host's network services",
        Probes("isolation", UNREACHABLE, works=("52.tcp-loopback", "52.udp-loopback", "52.socket-file")),
        Channel(("tcp-port", "udp-port")),
    ),
    _row(53, "name service", Probes("isolation", UNREACHABLE, no_control="works only on a host with a network")),
    _row(
        54,
        "other socket families, also with high bits set",
        Probes("isolation", SOCKETS, works=("54.inet", "54.inet-high-bit", "54.netlink", "54.netlink-high-bit")),
    ),
    _row(55, "locks, leases and watches on shared files", Channel(("flock", "record-lock", "lease", "watch"))),
    _row(56, "keyrings", Probes("isolation", CALLS, works=("56.*",)), Channel(("keyring",))),
    _row(
        57, "io_uring", Probes("isolation", CALLS, no_control="some hosts switch io_uring off", on_ci=("57.io-uring",))
    ),
    _row(
        58,
        "namespaces and mounts of its own",
        Probes(
            "isolation",
            "EPERM ENOSYS EACCES EINVAL ENOENT ABSENT",
            no_control="some hosts forbid them to users",
            on_ci=("58.unshare-user", "58.clone*", "58.mount-in-user-namespace"),
        ),
    ),
    _row(
        59, "gains privileges by exec", Probes("isolation", "ABSENT", no_control="the control has no privileges either")
    ),
    _row(60, "kernel interfaces for administrators", Probes("isolation", CALLS + " ENOENT", works=("60.fanotify",))),
    _row(
        61,
        "the system calls of other architectures",
        Probes("isolation", "SIGSYS SIGSEGV ENOSYS ABSENT", no_control="some kernels have none", on_ci=("61.i386",)),
    ),
    _row(
        62,
        "types into the terminal",
        Probes("isolation", "ENXIO ENOTSUP ENOENT EACCES ABSENT", no_control="no box has a terminal"),
    ),
    _row(63, "the kernel's settings", Probes("isolation", FILES, no_control="only root may write them")),
    _row(64, "control files of its group", Probes("isolation", FILES, no_control="only root may write them")),
    _row(
        65,
        "the daemon's socket, the disk, its own interpreter",
        Probes("isolation", FILES + " ENXIO ECONNREFUSED ETXTBSY ENODEV", no_control="only root may reach them"),
    ),
    _row(
        66,
        "unknown faults of the kernel",
        NotTestable("unknown; --docker-runtime runsc puts another kernel in between"),
    ),
    _row(67, "reads the referee's files", Probes("isolation", FILES, works=("67.referees-file", "67.referees-folder"))),
    _row(
        68,
        "learns which machine it is on",
        Probes("isolation", "DIFFERENT " + FILES, works=("68.host-name", "68.boot-id")),
    ),
    _row(
        69,
        "the build as an attack",
        _by(
            "tests/bots/test_build.py::test_a_hostile_build_costs_only_its_own_bot",
            "tests/bots/test_build.py::test_a_build_cannot_reach_what_a_bot_cannot",
            "tests/bots/test_build.py::test_a_fork_bomb_in_a_build_is_stopped",
        ),
    ),
    # --- protocol
    _row(70, "10 GB without a newline", _by(_BAD_BOTS)),
    _row(71, "millions of lines", _by(_BAD_BOTS)),
    _row(
        72,
        "flood on standard error",
        _by(_BAD_BOTS, "tests/referee/process/test_seat.py::test_memory_is_bounded_in_a_match_of_any_length"),
    ),
    _row(73, "never reads its input", _by(_BAD_BOTS)),
    _row(74, "deep nesting", _by(_BAD_LINES, "tests/protocol/test_framing.py::test_no_line_raises")),
    _row(75, "huge integers", _by(_BAD_LINES)),
    _row(76, "infinity and NaN", _by(_BAD_LINES)),
    _row(
        77, "repeated keys", _by("tests/protocol/test_framing.py::test_a_repeated_key_is_found_exactly_at_every_depth")
    ),
    _row(78, "invalid UTF-8 and half characters", _by(_BAD_LINES)),
    _row(79, "other encodings and byte order marks", _by(_BAD_LINES)),
    _row(
        80,
        "NUL and control characters",
        _by(_BAD_BOTS, "tests/protocol/test_framing.py::test_bytes_of_a_bot_are_shown_safely"),
    ),
    _row(81, "other line ends", _by("tests/protocol/test_framing.py::test_only_a_newline_ends_a_line")),
    _row(82, "bools, floats and strings for integers", _by(_BAD_REPLIES)),
    _row(
        83,
        "much JSON within the limit",
        _by("tests/referee/test_faults.py::test_a_line_of_exactly_64_kib_is_an_ordinary_reply"),
    ),
    _row(
        84,
        "answers before it is asked",
        _by("tests/referee/test_faults.py::test_every_line_without_an_open_request_is_stray"),
    ),
    _row(
        85,
        "stale and others' ids",
        _by(
            "tests/referee/test_faults.py::test_stray_lines_are_dropped_and_reported_once_a_request",
            "tests/referee/test_faults.py::test_a_reply_with_an_id_that_was_never_asked_is_answered_at_once",
        ),
    ),
    _row(86, "illegal moves", _by(_BAD_BOTS, "tests/referee/test_wire.py::test_a_replys_move_is_a_legal_one_or_none")),
    _row(87, "prints debug text", _by(_BAD_BOTS, "tests/protocol/test_framing.py::test_common_mistakes_are_named")),
    _row(
        88,
        "never flushes",
        _by(_BAD_BOTS, "tests/sandbox/test_process.py::test_a_python_bot_needs_no_flush_and_writes_no_bytecode"),
    ),
    _row(
        89,
        "terminal escapes in names and text",
        _by(
            "tests/bots/test_bot_loader.py::test_a_name_that_would_harm_a_terminal_or_a_table_is_refused",
            "tests/protocol/test_framing.py::test_shown_bytes_are_printable_and_short",
        ),
    ),
    _row(
        90,
        "format strings and formulas in exports",
        _by("tests/bots/test_bot_loader.py::test_a_name_that_would_harm_a_terminal_or_a_table_is_refused"),
    ),
    _row(
        91,
        "learns from error texts and timing",
        _by(
            "tests/referee/test_visibility.py::test_an_error_line_has_only_the_offenders_own_data",
            "tests/referee/test_visibility.py::test_lines_hide_whether_a_later_seat_wanted_to_challenge_or_block",
        ),
    ),
    _row(
        92,
        "says that it won",
        _by("tests/referee/test_faults.py::test_stray_lines_are_dropped_and_reported_once_a_request"),
    ),
    _row(93, "half a line, then exit", _by(_BAD_BOTS)),
    _row(
        94,
        "thinks about the timing of requests",
        _by("tests/referee/test_visibility.py::test_requests_and_events_are_independent_of_hidden_cards"),
    ),
    # --- submission
    _row(95, "paths that leave the archive", _NO_UPLOAD),
    _row(96, "links and devices in the archive", _NO_UPLOAD),
    _row(97, "archive bombs", _NO_UPLOAD),
    _row(98, "names that are twins on other systems", _NO_UPLOAD),
    _row(99, "setuid, writable and special files in the bot's folder", Probes("storage", FILES, works=("99.*",))),
    _row(
        100,
        "commands in the manifest",
        _by("tests/bots/test_bot_loader.py::test_a_wrong_bot_toml_is_refused_with_the_reason"),
    ),
    _row(
        101, "a huge manifest", _by("tests/bots/test_bot_loader.py::test_a_wrong_bot_toml_is_refused_with_the_reason")
    ),
    _row(
        102,
        "files that change after the check",
        Probes("storage", "UNCHANGED", works=("102.*",)),
        _by(
            "tests/run/test_session.py::test_a_bot_that_changes_while_games_are_played_stops_the_run_within_a_second_or_so"
        ),
    ),
    # --- operations
    _row(103, "one bot in two matches at once", Together("twins", works_in=("process",))),
    _row(
        104,
        "leaks over many matches",
        _by(
            "tests/sandbox/test_contract.py::test_many_boxes_leave_nothing",
            "tests/referee/test_leaks.py::test_processes_leave_no_processes_descriptors_or_folders",
        ),
    ),
    _row(
        105,
        "the Docker daemon hangs or restarts",
        _by("tests/sandbox/docker/test_box.py::test_a_daemon_that_dies_or_stops_voids_the_match_in_time"),
    ),
    _row(
        106,
        "the host is under load",
        _by(
            f"{_CLOCK}::test_time_without_a_core_is_not_charged",
            f"{_CLOCK}::test_a_host_that_stands_still_voids_the_match",
        ),
    ),
    _row(
        107,
        "the sandbox is missing",
        _by("tests/cli/test_boxes.py::test_a_sandbox_that_was_asked_for_is_never_replaced"),
    ),
    _row(108, "the referee is killed while bots are frozen", _by(f"{_CONTRACT}::test_a_killed_referee_leaves_nothing")),
    # --- found by an outside review
    _row(109, "futexes in a file that all boxes see", _OPEN),
    _row(110, "numbers of eventfds", _OPEN),
    _row(111, "leaves the core of its worker", Probes("isolation", CALLS, works=("111.*",))),
    _row(
        112,
        "a link to a file without end in the bot's folder",
        _by(
            "tests/bots/test_bot_loader.py::test_a_link_to_an_endless_file_costs_no_time",
            "tests/bots/test_bot_loader.py::test_a_file_with_more_bytes_than_its_size_is_refused",
        ),
    ),
    _row(
        113,
        "files that play and have no digest",
        _by("tests/sandbox/test_program_files.py::test_files_without_a_digest_are_not_copied"),
    ),
    _row(
        114,
        "sparse files, and files without number",
        _by(
            "tests/sandbox/test_program_files.py::test_a_sparse_file_counts_with_its_full_size",
            "tests/sandbox/test_program_files.py::test_every_entry_is_counted_up_to_the_exact_limit",
            "tests/bots/test_build.py::test_a_hostile_build_costs_only_its_own_bot",
        ),
    ),
    _row(115, "pseudo-terminals, which no limit counts", Probes("isolation", FILES, works=("115.*",))),
    _row(116, "pages that others have mapped", _OPEN),
    _row(117, "the free space of another box's /tmp, asked by number", Channel(("others-free-space",))),
    _row(118, "numbers of sessions", _OPEN),
    _row(
        119,
        "a file of /proc that reveals another box",
        _by("tests/sandbox/test_proc_between_boxes.py::test_files_that_differ_between_boxes_or_change_have_a_reason"),
    ),
    _row(
        120,
        "an unexpected system call",
        _by("tests/sandbox/linux/test_seccomp.py::test_each_allowed_call_has_a_reason"),
    ),
)
ROWS = {row.number: row for row in _ROWS}
assert len(ROWS) == len(_ROWS)
