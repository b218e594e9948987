"""Where attacks take place: a tier's sandbox, the targets around it, and the check that nothing is left behind.

This module must not know what an attack is nor what is expected of it.

The targets: the referee, which is this process, with a secret in its environment; a victim, a process of the user for
plain processes; listening sockets; a file that everybody on the host may read.

Tier process is the control that shows that the attacks work. As root it runs programs as another, unprivileged user,
without capabilities, in a mount namespace in which they can write to two small tmpfs only: `nsenter` and `setpriv`
stand before their command. As an ordinary user it runs them as that user, and only the harmless ones.
"""

import contextlib
import hashlib
import os
import platform
import pwd
import secrets
import select
import shutil
import socket
import stat
import subprocess
import sys
import tempfile
import time
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from arena import sandbox
from arena.limits import Limits

ATTACKS = Path(__file__).parent / "attacks"
SECRET = "RED_TEAM_SECRET"
USER = 61999  # the control's: below 65534, above every distribution's users and the boxes' IDs
PYTHON = "/usr/bin/python3"  # of the control and the victim; only root may reach the arena's own
CONTROL_BOT, CONTROL_TMP = "/srv/bot", "/srv/tmp"  # in the control's mount namespace
PUBLIC = Path("/var/tmp")  # other users' programs can't look into the scratch folder
REACHABLE = "red-team-"  # prefix of our folders in PUBLIC, and of no others
NEXT_S = 1.0  # after this the next start removes what is left
SETTLED_S = 60.0  # for all removals; the Docker engine removes in the background

_HOLDER = f"""
mount -t tmpfs -o size=64m,nr_inodes=16384,mode=0755 red-team /srv &&
mount -t tmpfs -o size=8m,mode=1777 red-team /dev/shm &&
mkdir {CONTROL_BOT} {CONTROL_TMP} && chown {USER}:{USER} {CONTROL_TMP} &&
mount --bind "$0" {CONTROL_BOT} && echo ready && exec cat
"""
_VICTIM = "import sys; print('ready', flush=True); sys.stdin.read()"  # its input ends when we end


def missing(tier: str) -> str | None:
    """Return in one line why a tier can't be attacked here, or None."""
    if sys.platform != "linux":
        return "the attacks are written for Linux"
    problem = sandbox.unavailable_reason(tier)
    reason = None if problem is None else str(problem)
    if reason is None and not os.path.exists(PYTHON):
        return f"the attacks need {PYTHON}: install python3"
    if reason is None and tier == "process" and os.getuid() == 0:
        tools = [tool for tool in ("unshare", "nsenter", "setpriv", "env") if shutil.which(tool) is None]
        return f"the control needs {', '.join(tools)}: apt install util-linux coreutils" if tools else None
    return None if reason is None else str(reason)


def bounded() -> bool:
    from arena.sandbox.linux import cgroup

    return cgroup.hierarchy() is not None


class Stage:
    """A tier ready to be attacked. A context manager; raises SandboxError if the tier doesn't work."""

    def __init__(self, tier: str, scratch: Path) -> None:
        self.tier = tier
        self.limits = Limits()
        self.other_user = tier != "process" or os.getuid() == 0
        self._closing = contextlib.ExitStack()
        try:
            self._open(scratch)
            self.targets = self._targets()

        except BaseException:
            self._closing.close()
            raise

    def _open(self, scratch: Path) -> None:
        scratch.mkdir(parents=True, exist_ok=True)
        self.scratch = Path(tempfile.mkdtemp(prefix=f"red-team-{self.tier}-", dir=scratch))
        self._closing.callback(sandbox.remove_tree, self.scratch)
        self.folder = self.scratch / "bot"
        _copy_attacks(self.folder)
        self.boxes = self.scratch / "boxes"
        self.boxes.mkdir()
        self.sandbox: sandbox.Sandbox = sandbox.make_sandbox(sandbox.SandboxChoice(self.tier), self.boxes)
        self._closing.callback(self.sandbox.close)
        self.prefix = self._control() if self.tier == "process" and os.getuid() == 0 else ()

    def __enter__(self) -> "Stage":
        return self

    def __exit__(self, *_: object) -> None:
        self.close()

    def close(self) -> None:
        """End the sandbox and the targets; remove their files."""
        self._closing.close()

    # -- programs

    def program(self, name: str, *arguments: str) -> sandbox.Program:
        """Return the command that runs a file of attacks/ in a box of this tier."""
        if self.prefix:
            return sandbox.Program((*self.prefix, PYTHON, f"{CONTROL_BOT}/{name}", *arguments), Path("/"))
        python = "python3" if sandbox.programs_of(self.tier).image else PYTHON  # an image may have python3 elsewhere
        return sandbox.Program((python, str(self.folder / name), *arguments), self.folder, files=self.folder)

    def start(self, name: str, *arguments: str) -> sandbox.Box:
        return self.sandbox.start(self.program(name, *arguments), self.limits)

    def change_file(self) -> None:
        """Change a file of the bot's folder, as an author might after the check."""
        (self.folder / "changed.txt").write_text(self.targets["changed"]["text"], encoding="utf-8")

    # -- targets

    def _control(self) -> tuple[str, ...]:
        for path in (self.folder, *self.folder.rglob("*")):
            mode = stat.S_IMODE(path.stat().st_mode)
            os.chown(path, USER, USER)  # plain programs own their files
            os.chmod(path, mode)  # a change of owner takes the setuid bit away
        holder = self._started(
            ["unshare", "--mount", "--propagation", "private", "--", "sh", "-c", _HOLDER, str(self.folder)]
        )
        return (
            *("nsenter", f"--mount=/proc/{holder.pid}/ns/mnt", "--"),
            *_as_other_user(),
            *("env", f"--chdir={CONTROL_TMP}", f"TMPDIR={CONTROL_TMP}", f"HOME={CONTROL_TMP}"),
        )

    def _started(self, argv: list[str], **env: str) -> subprocess.Popen[bytes]:
        """Start a helper that prints a line when ready, and ends with its input."""
        environment = {"PATH": os.environ.get("PATH", os.defpath), **env}
        helper = subprocess.Popen(
            argv,
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            env=environment,
            cwd="/",
            start_new_session=True,  # Ctrl-C must not reach it: this process ends it
        )
        self._closing.callback(_end, helper)
        assert helper.stdout is not None
        if not select.select([helper.stdout], [], [], 60.0)[0] or not helper.stdout.readline():
            raise sandbox.SandboxError(f"the control can't be set up: {argv[0]} failed")
        return helper

    def _targets(self) -> dict[str, Any]:
        remove_dead_folders()
        reachable = self._closing.enter_context(_reachable_folder())
        secret = reachable / "seeds"
        secret.write_text("secret\n", encoding="ascii")
        secret.chmod(0o644)
        os.environ[SECRET] = secrets.token_hex(8)
        self._closing.callback(os.environ.pop, SECRET, None)
        drop = _as_other_user() if os.getuid() == 0 else ()
        victim = self._started([*drop, PYTHON, "-c", _VICTIM, str(self.scratch)], **{SECRET: "x"})
        abstract = f"red-team-{secrets.token_hex(8)}"
        tcp = self._listener(socket.AF_INET, ("127.0.0.1", 0))
        udp = self._closing.enter_context(socket.socket(socket.AF_INET, socket.SOCK_DGRAM))
        udp.bind(("127.0.0.1", 0))
        self._listener(socket.AF_UNIX, "\0" + abstract)
        self._listener(socket.AF_UNIX, str(reachable / "socket"))
        (reachable / "socket").chmod(0o777)
        return {
            "referee": _pid_and_start(os.getpid()),
            "victim": _pid_and_start(victim.pid),
            "scratch": str(self.scratch),
            "abstract": abstract,
            "tcp": tcp.getsockname()[1],
            "udp": udp.getsockname()[1],
            "path": str(reachable / "socket"),
            "secret_file": str(secret),
            "interpreters": [sys.prefix, sys.base_prefix],
            "docker": [os.environ.get("DOCKER_HOST", "").removeprefix("unix://") or "/run/docker.sock"],
            "changed": {"name": "changed.txt", "text": "changed\n"},
            "host_name": _digest(platform.node()),
            "user_name": _digest(_user_name()),
            "machine_id": _digest(_first_line("/etc/machine-id") or secrets.token_hex(8)),
            "boot_id": _digest(_first_line("/proc/sys/kernel/random/boot_id")),
        }

    def _listener(self, family: int, address: Any) -> socket.socket:
        listener = self._closing.enter_context(socket.socket(family, socket.SOCK_STREAM))
        listener.bind(address)
        listener.listen(64)  # never accepted: a queued connection is proof enough
        return listener


@contextlib.contextmanager
def _reachable_folder() -> Iterator[Path]:
    """Make a folder that everybody may read, locked while in use, and remove it afterwards."""
    while True:
        path = PUBLIC / f"{REACHABLE}{os.getpid()}-{secrets.token_hex(8)}"
        path.mkdir(mode=0o700)
        lock = sandbox.lock_folder(path)
        if lock is not None:
            break  # else another arena removed it before it was locked
    try:
        path.chmod(0o755)  # whatever the umask is
        yield path
    finally:
        _remove(path)
        os.close(lock)


def remove_dead_folders() -> None:
    """Remove the folders of killed arenas: those of our user that are not locked."""
    for path in PUBLIC.glob(f"{REACHABLE}*"):
        lock = sandbox.lock_folder(path)
        if lock is not None:
            _remove(path)
            os.close(lock)


def _remove(folder: Path) -> None:
    """Remove a folder of plain files as far as possible."""
    with contextlib.suppress(OSError):
        for path in folder.iterdir():
            path.unlink()
        folder.rmdir()


def _as_other_user() -> tuple[str, ...]:
    ids = (f"--reuid={USER}", f"--regid={USER}", "--clear-groups")
    return ("setpriv", *ids, "--bounding-set=-all", "--no-new-privs", "--inh-caps=-all", "--pdeathsig=KILL", "--")


def _copy_attacks(folder: Path) -> None:
    """Copy attacks/, and add odd files: a submission may hold them, a box may not."""
    shutil.copytree(ATTACKS, folder, ignore=shutil.ignore_patterns("__pycache__"))
    (folder / "changed.txt").write_text("as it was checked\n", encoding="ascii")
    for name, mode in (("odd-setuid", 0o4755), ("odd-writable", 0o666)):
        (folder / name).write_text("no program\n", encoding="ascii")
        (folder / name).chmod(mode)
    os.mkfifo(folder / "odd-pipe")


def _end(helper: subprocess.Popen[bytes]) -> None:
    helper.kill()
    helper.wait()
    for pipe in (helper.stdin, helper.stdout):
        if pipe is not None:
            pipe.close()


def _pid_and_start(pid: int) -> dict[str, int]:
    return {"pid": pid, "started": int(Path(f"/proc/{pid}/stat").read_bytes().rpartition(b")")[2].split()[19])}


def _digest(text: str) -> str:
    return hashlib.sha256(text.encode()).hexdigest()


def _first_line(path: str) -> str:
    try:
        return Path(path).read_text(encoding="utf-8", errors="replace").partition("\n")[0].strip()
    except OSError:
        return ""


def _user_name() -> str:
    try:
        return pwd.getpwuid(os.getuid()).pw_name
    except KeyError:
        return ""


# --- talking to a box -------------------------------------------------------------------------------------------------


class Talk:
    """A conversation with a box by lines; a context manager that closes it. Every wait is bounded."""

    def __init__(self, box: sandbox.Box) -> None:
        self.box = box
        self.stderr = b""
        self._rest = b""
        self._poll = select.poll()
        for end in (box.stdout, box.stderr):
            self._poll.register(end, select.POLLIN)

    def __enter__(self) -> "Talk":
        return self

    def __exit__(self, *_: object) -> None:
        self.box.close()

    def send(self, line: str) -> None:
        """Send a line. A box that is gone doesn't answer; see `line`."""
        with contextlib.suppress(OSError):
            os.write(self.box.stdin, line.encode() + b"\n")

    def lines(self, seconds: float) -> Iterator[str]:
        """Yield lines of standard output until it ends or time is up."""
        deadline = time.monotonic() + seconds
        open_ends = {self.box.stdout, self.box.stderr}
        while True:
            while b"\n" in self._rest:
                line, self._rest = self._rest.split(b"\n", 1)
                yield line.decode(errors="replace")
            left = deadline - time.monotonic()
            if left <= 0 or self.box.stdout not in open_ends:
                return
            for end, _ in self._poll.poll(left * 1000):
                with contextlib.suppress(BlockingIOError):
                    data = os.read(end, 65536)
                    if not data:
                        open_ends.discard(end)
                        self._poll.unregister(end)
                    elif end == self.box.stdout:
                        self._rest += data
                    else:
                        self.stderr = (self.stderr + data)[-65536:]

    def line(self, seconds: float = 60.0) -> str:
        """Return the next line. Raises SandboxError if none comes."""
        for line in self.lines(seconds):
            return line
        said = self.stderr.decode(errors="replace").strip().splitlines()
        raise sandbox.SandboxError(f"an attack program fell silent: {said[-1] if said else 'no word'}")


# --- what is left behind ----------------------------------------------------------------------------------------------


@dataclass(frozen=True, slots=True)
class Traces:
    """What this process and its boxes hold on this host."""

    descriptors: int
    mounts: int
    groups: tuple[str, ...]
    folders: tuple[str, ...]
    containers: tuple[str, ...]


def traces(stage: Stage) -> Traces:
    # Only mounts below the scratch folder: other programs mount and unmount too.
    mounts = Path("/proc/self/mountinfo").read_bytes().count(stage.scratch.name.encode())
    folders = tuple(sorted(entry.name for entry in stage.boxes.iterdir()))
    return Traces(_descriptors(), mounts, tuple(_groups()), folders, _containers(stage))


def _descriptors() -> int:
    """Count open descriptors without sockets, since the Docker client's pool of connections varies."""
    count = 0
    for name in os.listdir("/proc/self/fd"):
        with contextlib.suppress(OSError):  # the listing's own descriptor
            count += not os.readlink(f"/proc/self/fd/{name}").startswith("socket:")
    return count


def left_behind(stage: Stage, before: Traces, token: str) -> str:
    """Wait until nothing is left of an attack; return what is left at last, "" for nothing."""
    began = time.monotonic()
    while left := _difference(before, traces(stage)) + survivors(token):
        waited = time.monotonic() - began
        if waited > SETTLED_S:
            return "left behind: " + "; ".join(left)
        if waited > NEXT_S:
            _next_start(stage)
        time.sleep(0.02 if waited < NEXT_S else NEXT_S)
    return ""


def _next_start(stage: Stage) -> None:
    """Start another box: groups of processes that were slow to die are removed then."""
    with Talk(stage.start("persist.py", "none")) as talk:
        talk.send("find")
        talk.line()


def _difference(before: Traces, now: Traces) -> list[str]:
    found = []
    if now.descriptors > before.descriptors:
        found.append(f"{now.descriptors - before.descriptors} descriptors")
    if now.mounts > before.mounts:
        found.append(f"{now.mounts - before.mounts} mounts")
    for what in ("groups", "folders", "containers"):
        new = sorted(set(getattr(now, what)) - set(getattr(before, what)))
        found += [f"{what} {', '.join(new)}"] if new else []
    return found


def survivors(token: str) -> list[str]:
    found = []
    for pid in filter(str.isdigit, os.listdir("/proc")):
        with contextlib.suppress(OSError):
            if token.encode() in Path(f"/proc/{pid}/cmdline").read_bytes() and int(pid) != os.getpid():
                found.append(f"process {pid}")
    return found


def _groups() -> list[str]:
    """Return the names of the control groups that this process made."""
    mine = f"arena.{os.getpid()}."
    found = []
    for _, below, _ in os.walk("/sys/fs/cgroup"):
        found += [name for name in below if name.startswith(mine)]
        below[:] = [name for name in below if not name.startswith(("arena.", "docker"))]
    return sorted(set(found))


def _containers(stage: Stage) -> tuple[str, ...]:
    """Return the containers of this process that still exist, in whatever state."""
    if stage.tier != "docker":
        return ()
    from arena.sandbox.docker import OWNER_LABEL, get_engine
    from arena.sandbox.linux import global_identity

    connection = get_engine()
    found = connection.call(
        connection.api.containers, all=True, filters={"label": [f"{OWNER_LABEL}={global_identity()}"]}
    )
    return tuple(sorted(str(container["Id"])[:12] for container in found))
