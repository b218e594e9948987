"""A table of the reasons for which each allowed system call reveals nothing to, or of, another box.

Must hold every call of x86_64 that `seccomp.RULES` doesn't refuse whatever its arguments. A reason that begins with
OPEN names the channels that such calls are part of, by the table of docs/explanation/security-model.md.

Below, the same for the files of /proc that differ between two boxes, or change while another box acts, and for options
of sockets, commands of fcntl and requests of ioctl.
"""

# (the reason, the calls)
LEFT_OPEN: tuple[tuple[str, str], ...] = (
    (
        "OPEN mapped-pages: its own memory, of which /proc shows what others have mapped, too; madvise and mmap "
        "without what touches others' (huge pages, the page cache)",
        "mmap mprotect munmap brk mremap msync madvise mlock munlock mlockall munlockall mlock2 remap_file_pages "
        "pkey_mprotect pkey_alloc pkey_free membarrier mseal map_shadow_stack arch_prctl set_thread_area "
        "get_thread_area rseq",
    ),
    (
        "descriptors that it opened itself, which no other box has",
        "close close_range dup dup2 dup3 lseek poll ppoll select pselect6 fcntl ioctl epoll_wait "
        "epoll_pwait epoll_pwait2 "
        "epoll_ctl epoll_ctl_old epoll_wait_old inotify_rm_watch write pwrite64 writev pwritev pwritev2 ftruncate "
        "fallocate",
    ),
    (
        "OPEN page-cache-once: a read of a file that all boxes see leaves it in memory, and is quick if it "
        "is there; no call "
        "says so (mincore, cachestat, RWF_NOWAIT) and none throws it out",
        "read pread64 readv preadv preadv2 sendfile splice tee copy_file_range readahead execve execveat uselib",
    ),
    (
        "OPEN look-ups: which names were looked up below /usr; files that all see are "
        "read-only, also in their times, locks and attributes; its own lie in its "
        "own /tmp, /dev/shm "
        "and /bot, which no other box has",
        "open openat openat2 creat stat lstat fstat newfstatat statx access faccessat faccessat2 readlink readlinkat "
        "getdents getdents64 getcwd chdir fchdir umask truncate rename renameat renameat2 mkdir mkdirat "
        "rmdir link linkat "
        "unlink unlinkat symlink symlinkat chmod fchmod fchmodat fchmodat2 utime utimes utimensat futimesat setxattr "
        "lsetxattr fsetxattr setxattrat getxattr lgetxattr fgetxattr getxattrat listxattr llistxattr flistxattr "
        "listxattrat removexattr lremovexattr fremovexattr removexattrat file_getattr file_setattr fsync fdatasync "
        "sync_file_range",
    ),
    (
        "the free space of file systems that it sees: its own are its own, and no box can write to the others "
        "(free-space); ustat, which asks by number, is refused",
        "statfs fstatfs",
    ),
    (
        "OPEN inode-numbers, memfd-numbers, eventfd-numbers, pipe-pages: the kernel numbers and counts these "
        "for the whole machine or user",
        "pipe pipe2 eventfd eventfd2 epoll_create epoll_create1 timerfd_create signalfd signalfd4 memfd_create socket "
        "socketpair accept accept4",
    ),
    (
        "sockets of its own network namespace, which has no interface but its own loopback, and of its own "
        "files; AF_UNIX "
        "alone, and abstract names belong to the namespace; without the options that number sockets and processes",
        "connect bind listen getsockname getpeername setsockopt getsockopt shutdown sendto recvfrom sendmsg recvmsg "
        "sendmmsg recvmmsg",
    ),
    (
        "its own processes: its pid namespace has no others, and numbers them itself (process-numbers); clone without "
        "namespaces",
        "clone fork vfork wait4 waitid kill tkill tgkill rt_sigqueueinfo rt_tgsigqueueinfo pidfd_send_signal "
        "process_mrelease getpid gettid getppid getpgrp getpgid setpgid getsid ioprio_get ioprio_set getpriority "
        "setpriority prlimit64 getrlimit setrlimit prctl seccomp get_robust_list",
    ),
    ("OPEN session-numbers: the scheduler numbers the groups of sessions for the whole machine", "setsid"),
    (
        "OPEN shared-futex, end-of-thread: waking a word of a file returns its waiters. A program waits at "
        "words that it can write, in its own memory and files, unless it means to be found at one that all see",
        "futex futex_wake futex_wait futex_requeue set_tid_address set_robust_list exit exit_group",
    ),
    (
        "signals and timers of its own",
        "rt_sigaction rt_sigprocmask rt_sigreturn rt_sigpending rt_sigtimedwait rt_sigsuspend sigaltstack pause alarm "
        "getitimer setitimer timer_create timer_settime timer_gettime timer_getoverrun timer_delete timerfd_settime "
        "timerfd_gettime restart_syscall",
    ),
    (
        "OPEN cpu-contention, memory-bandwidth, answer-time: clocks, by which it sees how slow others make it; "
        "none can be set",
        "nanosleep clock_nanosleep clock_gettime clock_getres gettimeofday time times getrusage sched_yield getcpu",
    ),
    (
        "the scheduling of its own threads; a higher priority needs a capability",
        "sched_setparam sched_getparam sched_setscheduler sched_getscheduler sched_setattr sched_getattr "
        "sched_get_priority_max sched_get_priority_min sched_rr_get_interval sched_getaffinity",
    ),
    (
        "System V's and POSIX's queues, semaphores and memory of its own ipc namespace",
        "shmget shmat shmctl shmdt semget semop semctl semtimedop msgget msgsnd msgrcv msgctl mq_open mq_unlink "
        "mq_timedsend mq_timedreceive mq_notify mq_getsetattr",
    ),
    (
        "need a capability, which no box has, or a user id that its user namespace hasn't",
        "chown fchown lchown fchownat mknod mknodat setuid setgid setreuid setregid setresuid setresgid "
        "setfsuid setfsgid "
        "setgroups capset sethostname setdomainname iopl ioperm vhangup",
    ),
    ("describe itself", "getuid getgid geteuid getegid getresuid getresgid getgroups capget uname sysfs"),
    ("random bytes, which never run out", "getrandom"),
    (
        "take rights away from itself, and read its own labels",
        "landlock_create_ruleset landlock_add_rule landlock_restrict_self lsm_get_self_attr lsm_set_self_attr "
        "lsm_list_modules",
    ),
    (
        "need a context or a descriptor that only a refused call makes (io_setup)",
        "io_destroy io_getevents io_submit io_cancel io_pgetevents",
    ),
    (
        "have no code in the kernel any more",
        "_sysctl create_module get_kernel_syms query_module nfsservctl getpmsg putpmsg afs_syscall tuxcall "
        "security vserver",
    ),
)

# Calls that are newer than many a header: <asm/unistd_64.h> of Linux 6.18
NEWER = {
    "cachestat": 451,
    "fchmodat2": 452,
    "map_shadow_stack": 453,
    "futex_wake": 454,
    "futex_wait": 455,
    "futex_requeue": 456,
    "statmount": 457,
    "listmount": 458,
    "lsm_get_self_attr": 459,
    "lsm_set_self_attr": 460,
    "lsm_list_modules": 461,
    "mseal": 462,
    "setxattrat": 463,
    "getxattrat": 464,
    "listxattrat": 465,
    "removexattrat": 466,
    "open_tree_attr": 467,
    "file_getattr": 468,
    "file_setattr": 469,
    "listns": 470,
}

# (the reason, patterns of files, in /proc/self unless they begin with /). All other files are the same in every box.
PROC: tuple[tuple[str, str], ...] = (
    (
        "OPEN mapped-pages: which of its pages others have mapped, too; else its own memory, at addresses of its own",
        "maps smaps smaps_rollup numa_maps pagemap map_files/* statm auxv syscall wchan",
    ),
    (
        "OPEN cpu-contention: how long its own tasks ran and waited",
        "sched schedstat stat status io arch_status timers ksm_stat oom_score net/softnet_stat",
    ),
    ("OPEN inode-numbers, eventfd-numbers: its own descriptors, with their numbers", "fd/* fdinfo/*"),
    ("OPEN session-numbers: the number of its session", "autogroup"),
    ("its control group: the number, start and namespace of the worker that started it, and random digits", "cgroup"),
    (
        "numbers of its own mounts and namespaces, which no program can make: they don't move while it lives",
        "mountinfo mounts mountstats ns/*",
    ),
    ("the last process of its own pid namespace", "/proc/sys/kernel/ns_last_pid"),
    ("the kernel's sockets of its own network namespace, by scrambled addresses", "net/netlink net/unix net/packet"),
    (
        "sockets, memory and routes of the network protocols on the whole machine, of which no bot gets a socket "
        "(seccomp)",
        "net/sockstat net/protocols net/stat/rt_cache net/rt_acct",
    ),
)

# (the reason, options of SOL_SOCKET). Sockets of AF_UNIX alone can be made, and they take no option of another level.
OPTIONS: tuple[tuple[str, str], ...] = (
    (
        "how its own socket behaves: what waits in it, how much and how long; or AF_UNIX takes no notice",
        "SO_DEBUG SO_REUSEADDR SO_REUSEPORT SO_TYPE SO_ERROR SO_DONTROUTE SO_BROADCAST SO_SNDBUF SO_RCVBUF "
        "SO_KEEPALIVE SO_OOBINLINE SO_NO_CHECK SO_PRIORITY SO_LINGER SO_BSDCOMPAT SO_RCVLOWAT SO_SNDLOWAT "
        "SO_RCVTIMEO_* SO_SNDTIMEO_* SO_ACCEPTCONN SO_PROTOCOL SO_DOMAIN SO_RXQ_OVFL SO_PEEK_OFF SO_NOFCS "
        "SO_SELECT_ERR_QUEUE SO_MAX_PACING_RATE SO_CNX_ADVICE SO_MEMINFO SO_ZEROCOPY SO_TXTIME SO_BUF_LOCK "
        "SO_RESERVE_MEM SO_TXREHASH SO_RCVMARK SO_RCVPRIORITY SO_INQ SO_LOCK_FILTER SO_DETACH_FILTER "
        "SO_DETACH_REUSEPORT_BPF SO_WIFI_STATUS",
    ),
    (
        "the peer, and what it sends in addition to bytes: itself, since sockets are of its own network "
        "namespace and files, in the numbers of its own pid namespace",
        "SO_PASSCRED SO_PEERCRED SO_PEERNAME SO_PEERSEC SO_PASSSEC SO_PEERGROUPS SO_PASSRIGHTS",
    ),
    (
        "when its own message came: sockets of AF_UNIX don't switch on the machine's time stamps",
        "SO_TIMESTAMP* SCM_TIMESTAMPING_*",
    ),
    (
        "interfaces, of which its network namespace has its own loopback alone, and their queues and memory",
        "SO_BINDTODEVICE SO_BINDTOIFINDEX SO_BUSY_POLL SO_PREFER_BUSY_POLL SO_BUSY_POLL_BUDGET SO_INCOMING_CPU "
        "SO_INCOMING_NAPI_ID SO_DEVMEM_*",
    ),
    ("need a capability, which no box has", "SO_SNDBUFFORCE SO_RCVBUFFORCE SO_MARK"),
    ("the same on each machine with this kernel", "SO_BPF_EXTENSIONS"),
    ("have no code in the kernel", "SO_SECURITY_* SCM_TS_OPT_ID"),
)

# (the reason, commands of fcntl)
COMMANDS: tuple[tuple[str, str], ...] = (
    ("its own descriptors", "F_DUPFD F_DUPFD_CLOEXEC F_DUPFD_QUERY F_GETFD F_SETFD F_GETFL F_SETFL F_CREATED_QUERY"),
    (
        "which of its own processes gets a signal for its own descriptor; files that all see send none",
        "F_SETOWN F_GETOWN F_SETOWN_EX F_GETOWN_EX F_SETSIG F_GETSIG F_GETOWNER_UIDS",
    ),
    ("OPEN pipe-pages: the size of its own pipes, which counts for its user", "F_SETPIPE_SZ F_GETPIPE_SZ"),
    ("its own files in memory", "F_ADD_SEALS F_GET_SEALS"),
    ("hints of its own open file alone, and no more since Linux 5.17", "F_GET_FILE_RW_HINT F_SET_FILE_RW_HINT"),
    ("are refused by the kernel of a machine of 64 bits, or by each", "F_GETLK64 F_SETLK64 F_SETLKW64 F_CANCELLK"),
)

# (the reason, requests of ioctl). All are of type 'T': the filter refuses the others.
REQUESTS: tuple[tuple[str, str], ...] = (
    (
        "how its own descriptor behaves, and how much waits in it: pipe, socket, terminal, or file",
        "FIONREAD TIOCOUTQ FIONBIO FIONCLEX FIOCLEX FIOASYNC FIOQSIZE",
    ),
    (
        "terminals: bubblewrap's boxes have none, Docker's those of their own devpts, with numbers of their own",
        "TCGETS* TCSETS* TCGETA TCSETA* TCGETX TCSETX* TCSBRK* TCXONC TCFLSH TIOCEXCL TIOCNXCL TIOCGEXCL TIOCSCTTY "
        "TIOCNOTTY TIOCGPGRP TIOCSPGRP TIOCGSID TIOCGWINSZ TIOCSWINSZ TIOCPKT TIOCGPKT TIOCGETD TIOCSBRK TIOCCBRK "
        "TIOCGPTN TIOCSPTLCK TIOCGPTLCK TIOCGPTPEER TIOCGDEV TIOCSIG TIOCGSOFTCAR TIOCSSOFTCAR TIOCGLCKTRMIOS",
    ),
    ("need a capability, which no box has", "TIOCVHANGUP TIOCCONS TIOCSLCKTRMIOS"),
    (
        "serial lines and their modems, of which a box has none",
        "TIOCM* TIOCGSERIAL TIOCSSERIAL TIOCSER* TIOCGICOUNT TIOC?RS485 TIOC?ISO7816",
    ),
    ("its own timer, where the kernel saves processes", "TFD_IOC_SET_TICKS"),
    ("network devices, whose file a box hasn't", "TUN*"),
)

# Those that are newer than many a header: <asm-generic/socket.h> and <linux/fcntl.h> of Linux 6.19
NEWER_OPTIONS = {
    "SO_PASSPIDFD": 76,
    "SO_PEERPIDFD": 77,
    "SO_DEVMEM_LINEAR": 78,
    "SO_DEVMEM_DMABUF": 79,
    "SO_DEVMEM_DONTNEED": 80,
    "SCM_TS_OPT_ID": 81,
    "SO_RCVPRIORITY": 82,
    "SO_PASSRIGHTS": 83,
    "SO_INQ": 84,
}
NEWER_COMMANDS = {"F_DUPFD_QUERY": 1027, "F_CREATED_QUERY": 1028, "F_GETDELEG": 1039, "F_SETDELEG": 1040}
