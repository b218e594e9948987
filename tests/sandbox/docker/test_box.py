"""Tests of the Docker box with a real engine: a program's view, its end, whose fault a failure is, and leftovers.

"Attack list" is tests/red_team/catalog.py. The tests need the images of `arena sandbox image
build`; .ci/docker-engine starts an engine that has them.
"""

import contextlib
import io
import json
import os
import re
import select
import shutil
import signal
import subprocess
import sys
import time
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest

from arena.limits import Limits
from arena.sandbox import Exit, Program, ProgramError, SandboxChoice, SandboxError, docker, unavailable_reason
from arena.sandbox.docker import FOLDER_LABEL, OWNER_LABEL, DockerSandbox, Engine, command_inside, get_engine, language
from arena.sandbox.linux import global_identity, is_alive
from tests.sandbox.talk import (
    WAIT_S,
    descriptors,
    exit_of,
    kill,
    python,
    read_line,
    read_some,
    read_to_end,
    running,
    stand_still,
    until,
)
from tests.timing import within

ROOT = Path(__file__).parents[3]
VOID_S = 30.0  # how soon a daemon's failure must be known
SOCKETS = 25  # idle ones, which docker-py keeps at most: one for each address that it asked


Needs = Callable[[str, str | None], None]

pytestmark = pytest.mark.boxes


CLEAN_UP = "from arena.sandbox import docker; docker.cleanup_stale(); print(1)"
PRINT_REASON = "from arena.sandbox import docker; print(docker.unavailable_reason())"


@pytest.fixture(scope="module", autouse=True)
def _docker(needs: Needs) -> None:
    needs("docker", docker.unavailable_reason())


@pytest.fixture(scope="module")
def sandbox(tmp_path_factory: pytest.TempPathFactory) -> Iterator[DockerSandbox]:
    sandbox = DockerSandbox(tmp_path_factory.mktemp("scratch"))
    yield sandbox
    sandbox.close()


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    bot = tmp_path / "bot"
    bot.mkdir()
    return bot


def outcome(sandbox: DockerSandbox, code: str, folder: Path, limits: Limits | None = None) -> tuple[Exit, bytes]:
    """Run a program to its end, and return its exit and its output."""
    with running(sandbox, python(code, folder), limits) as box:
        output = read_to_end(box.stdout)
        return exit_of(box), output


# --- what a program sees ----------------------------------------------------------------------------------------------

SPY = """
import json, os, resource

def tried(what, *arguments):
    try:
        what(*arguments)
        return "ok"
    except OSError as problem:
        return problem.strerror

status = dict(line.split(":", 1) for line in open("/proc/self/status"))
print(json.dumps({
    "status": {name: value.split() for name, value in status.items()},
    "env": dict(os.environ), "cwd": os.getcwd(), "own": sorted(os.listdir("/bot")),
    "list_io": tried(os.listdir, "/io"),
    "limits": {name: resource.getrlimit(getattr(resource, "RLIMIT_" + name.upper()))[0]
               for name in ("core", "nofile", "fsize", "cpu", "memlock", "msgqueue")},
    "unshare": tried(os.unshare, 0x10000000) if hasattr(os, "unshare") else "Operation not permitted",
    "setuid": tried(os.setuid, 0),
    "mounts": {line.split()[1]: line.split()[3].split(",") for line in open("/proc/mounts")},
    "resolv": open("/etc/resolv.conf").read() if os.path.exists("/etc/resolv.conf") else "",
}))
"""


@pytest.fixture(scope="module")
def seen(sandbox: DockerSandbox, tmp_path_factory: pytest.TempPathFactory) -> dict[str, Any]:
    """Return the report of a spy that starts from a bare file."""
    bot = tmp_path_factory.mktemp("spy")
    (bot / "spy.py").write_text(SPY)
    (bot / "neighbour.py").write_text("secret")
    program = Program((sys.executable, "spy.py"), bot, files=bot / "spy.py")
    with running(sandbox, program) as box:
        output = read_to_end(box.stdout)
        assert output, read_to_end(box.stderr)
        report: dict[str, Any] = json.loads(output)
        return report


def test_a_program_has_no_privilege_and_can_get_none(seen: dict[str, Any]) -> None:
    """It isn't root, and has no capabilities, no-new-privileges, and our seccomp filter."""
    status = seen["status"]
    assert "0" not in status["Uid"] + status["Gid"]
    assert {status[name][0] for name in ("CapInh", "CapPrm", "CapEff", "CapBnd", "CapAmb")} == {"0" * 16}
    assert (status["NoNewPrivs"], status["Seccomp"]) == (["1"], ["2"])
    assert seen["setuid"] == seen["unshare"] == "Operation not permitted"


def test_a_program_sees_its_own_files(seen: dict[str, Any]) -> None:
    """A bare file's neighbours aren't copied. The attack list has what a program doesn't see of the host."""
    assert seen["own"] == ["spy.py"]
    assert "nameserver" not in seen["resolv"]
    assert seen["cwd"] == "/bot"
    assert seen["list_io"] == "Permission denied"


def test_a_programs_environment_is_the_same_in_every_box(seen: dict[str, Any]) -> None:
    """Source: the contract of isolating boxes: PATH, a UTF-8 locale, HOME = TMPDIR = /tmp, two Python switches."""
    assert seen["env"] == {
        "PATH": "/usr/local/bin:/usr/bin:/bin",
        "HOME": "/tmp",
        "TMPDIR": "/tmp",
        "LANG": "C.UTF-8",
        "LC_ALL": "C.UTF-8",
        "PYTHONUNBUFFERED": "1",
        "PYTHONDONTWRITEBYTECODE": "1",
    }


def test_a_program_runs_under_the_limits(seen: dict[str, Any]) -> None:
    limits = Limits()
    assert seen["limits"]["core"] == 0
    assert seen["limits"]["nofile"] == limits.open_files
    assert seen["limits"]["fsize"] == limits.file_size_mb * 1024 * 1024
    assert seen["limits"]["cpu"] == limits.cpu_s
    for place in ("/tmp", "/dev/shm"):
        assert {"nosuid", "nodev"} <= set(seen["mounts"][place])
    assert "size=16384k" in seen["mounts"]["/tmp"]
    for place in ("/", "/bot", "/io"):
        assert "ro" in seen["mounts"][place]


def test_the_engine_has_all_settings_of_a_container(sandbox: DockerSandbox, folder: Path) -> None:
    before = set(ours())
    with running(sandbox, Program(("sleep", "60"), folder)) as box:
        (container,) = set(ours()) - before
        found = get_engine().api.inspect_container(container)
        host = found["HostConfig"]
        assert host["NetworkMode"] == "none"
        assert host["ReadonlyRootfs"] is True
        assert host["CapDrop"] == ["ALL"]
        assert not host["CapAdd"]
        assert not host["Privileged"]
        assert host["Memory"] == host["MemorySwap"] == 256 * 1024 * 1024
        assert host["PidsLimit"] == 65
        assert host["NanoCpus"] == 1_000_000_000
        assert host["LogConfig"]["Type"] == "none"
        assert host["IpcMode"] == "private"
        assert "no-new-privileges" in host["SecurityOpt"]
        assert any(option.startswith("seccomp={") for option in host["SecurityOpt"])
        assert {mount["Destination"] for mount in found["Mounts"] if mount["RW"]} == set()
        assert is_alive(found["Config"]["Labels"][OWNER_LABEL])
        assert box.exit() is None


def test_a_program_runs_on_the_cores_that_its_referee_is_bound_to(
    sandbox: DockerSandbox, folder: Path, needs: Needs
) -> None:
    """In other boxes programs inherit them: a run's workers are bound to their share of the cores."""
    cores = os.sched_getaffinity(0)
    needs("two cores", "there is but one" if len(cores) < 2 else None)
    os.sched_setaffinity(0, {max(cores)})
    try:
        _, output = outcome(sandbox, "import os; print(os.sched_getaffinity(0))", folder)
    finally:
        os.sched_setaffinity(0, cores)
    assert output.decode().strip() == str({max(cores)})


def ours() -> list[str]:
    filters = {"label": [f"{OWNER_LABEL}={global_identity()}"]}
    return [found["Id"] for found in get_engine().api.containers(all=True, filters=filters)]


# --- pipes and ends ---------------------------------------------------------------------------------------------------


def test_a_missing_program_or_interpreter_is_the_programs_fault(sandbox: DockerSandbox, folder: Path) -> None:
    """Source: box.py: the type of the error states whose fault a failed start is."""
    with pytest.raises(ProgramError, match="no such program in the image coup-arena/native"):
        sandbox.start(Program(("no-such-thing",), folder), Limits())
    with pytest.raises(ProgramError, match="empty"):
        sandbox.start(Program((), folder), Limits())


def test_an_unknown_image_is_an_error_with_the_remedy(tmp_path: Path, folder: Path) -> None:
    assert "docker pull no-such-image" in str(
        unavailable_reason("docker", SandboxChoice("docker", image="no-such-image"))
    )
    sandbox = DockerSandbox(tmp_path / "scratch", image="no-such-image")
    with pytest.raises(SandboxError, match=r"the image no-such-image doesn't exist: .*docker pull no-such-image"):
        sandbox.start(Program(("true",), folder), Limits())
    sandbox.close()


NETWORK_LACKS = ("Failed to fetch", "Temporary failure", "Could not resolve", "pull access denied", "no such host")
NUMPY = """
import coup_env
policy = coup_env.Policy([([[1.0] * 100] * 200, [0.5] * 200)])
print(policy._np and policy._np.__name__, policy.scores([2] * 100)[0])
"""


@pytest.fixture
def with_numpy(needs: Needs, monkeypatch: pytest.MonkeyPatch) -> Iterator[str]:
    """Give the name of an image made as in the document, but on the tests' own base where it exists."""
    document = (ROOT / "docs/howto/operate/sandbox-packages.md").read_text(encoding="utf-8")
    (dockerfile,) = re.findall(r"^```dockerfile\n(.*?)^```", document, re.MULTILINE | re.DOTALL)
    api = get_engine().api
    if api.images("coup-arena/base"):
        dockerfile = dockerfile.replace("FROM debian:bookworm-slim", "FROM coup-arena/base")
    base, made = "tests-python-numpy", "tests-coup-arena/python"
    parts = [*api.build(fileobj=io.BytesIO(dockerfile.encode()), tag=base, network_mode="host", rm=True, decode=True)]
    log = "".join(str(part.get("stream", part.get("error", ""))) for part in parts)
    if "error" in parts[-1]:
        assert any(text in log for text in NETWORK_LACKS), log
        needs("debian", f"its packages can't be fetched: {parts[-1]['error']}")
    monkeypatch.setattr(docker.image, "image_tag", lambda language: f"tests-coup-arena/{language}")
    docker.image.build_image("python", base)
    yield made
    for name in (made, base):
        api.remove_image(name, force=True)  # a container of it may still be going


def test_the_organiser_adds_numpy_for_all(
    sandbox: DockerSandbox, with_numpy: str, tmp_path: Path, folder: Path
) -> None:
    """A trained policy with many weights uses it, and plays the same in the image without it."""
    shutil.copy(ROOT / "protocol" / "kits" / "coup_env.py", folder)
    (folder / "bot.py").write_text(NUMPY)
    program = Program(("python3", "bot.py"), folder)
    organisers = DockerSandbox(tmp_path / "scratch", image=with_numpy)
    try:
        for box, said in ((sandbox, b"None 200.5\n"), (organisers, b"numpy 200.5\n")):
            with running(box, program) as started:
                assert read_to_end(started.stdout) == said, read_to_end(started.stderr).decode()
    finally:
        organisers.close()


def test_an_unknown_runtime_is_an_error_with_the_known_ones(tmp_path: Path) -> None:
    reason = str(docker.unavailable_reason("no-such-runtime"))
    assert "the Docker engine has no runtime no-such-runtime (only " in reason
    with pytest.raises(SandboxError, match="runc"):
        DockerSandbox(tmp_path / "scratch", runtime="no-such-runtime")


def test_a_runtime_is_passed_through(tmp_path: Path, folder: Path) -> None:
    sandbox = DockerSandbox(tmp_path / "scratch", runtime="runc")
    before = set(ours())
    try:
        with running(sandbox, Program(("true",), folder)) as box:
            (container,) = set(ours()) - before
            assert get_engine().api.inspect_container(container)["HostConfig"]["Runtime"] == "runc"
            assert exit_of(box) == Exit(0, None)
    finally:
        sandbox.close()


@pytest.mark.parametrize(
    ("argv", "inside", "image"),
    [
        (("/opt/venv/bin/python3.11", "bot.py"), ("python3", "bot.py"), "python"),
        (("python", "bot.py"), ("python3", "bot.py"), "python"),
        (("/usr/bin/env", "python3", "bot.py"), ("env", "python3", "bot.py"), "python"),
        (("/usr/bin/env", "-S", "node --max-old-space-size=64", "bot.js"), None, "node"),
        (("/usr/bin/nodejs", "bot.js"), ("node", "bot.js"), "node"),
        (("java", "-jar", "bot.jar"), ("java", "-jar", "bot.jar"), "java"),
        (("/usr/bin/javac", "Bot.java"), ("javac", "Bot.java"), "java"),
        (("/usr/bin/rustc", "bot.rs"), ("rustc", "bot.rs"), "rust"),
        (("/usr/bin/env", "CGO_ENABLED=0", "go", "build"), ("env", "CGO_ENABLED=0", "go", "build"), "go"),
        (("/usr/bin/g++-12", "bot.cpp"), ("g++-12", "bot.cpp"), "native"),
        (("./bot",), ("./bot",), "native"),
        (("/bin/sh", "bot.sh"), ("sh", "bot.sh"), "native"),
        (("./script",), ("python3", "-SI", "./script"), "python"),
    ],
)
def test_an_interpreter_of_this_machine_is_looked_up_in_the_image(
    folder: Path, argv: tuple[str, ...], inside: tuple[str, ...] | None, image: str
) -> None:
    """Source: a path of the host means nothing in a container; a #! line is spelled out."""
    (folder / "script").write_text("#!/opt/venv/bin/python -SI\n")
    words = command_inside(Program(argv, folder))
    assert inside is None or words == inside
    assert language(words) == image


@pytest.mark.parametrize(
    ("wraps", "image"), [((), "native"), (("/usr/bin/javac", "Bot.java"), "java"), (("./script",), "python")]
)
def test_a_build_gets_the_image_of_its_own_command_though_a_shell_starts_it(
    sandbox: DockerSandbox, folder: Path, wraps: tuple[str, ...], image: str
) -> None:
    """Source: docs/reference/bot-toml.md: the first word of `build` determines the compiler."""
    (folder / "script").write_text("#!/usr/bin/env python3\n")
    before = set(ours())
    with running(sandbox, Program(("sh", "-c", "echo; cat"), folder, wrapped_command=wraps)) as box:
        assert read_line(box.stdout) == b"\n"
        (container,) = set(ours()) - before
        assert get_engine().api.inspect_container(container)["Config"]["Image"] == f"coup-arena/{image}"


def test_a_script_runs_by_its_own_first_line_whatever_this_machine_calls_the_interpreter(
    sandbox: DockerSandbox, folder: Path
) -> None:
    """Source: as above, end to end; its own files and a working folder below them."""
    (folder / "in").mkdir()
    script = folder / "in" / "bot.py"
    script.write_text(f"#!{sys.executable} -SI\nimport os; print(os.getcwd())\n")
    script.chmod(0o755)
    program = Program((str(script),), folder / "in", files=folder)
    with running(sandbox, program) as box:
        assert read_line(box.stdout) == b"/bot/in\n"


# --- limits -----------------------------------------------------------------------------------------------------------


def test_tmp_has_a_limited_number_of_files(sandbox: DockerSandbox, folder: Path) -> None:
    fill = """
import errno, os
n = 0
try:
    while True:
        open(f"/tmp/{n}", "w").close()
        n += 1
except OSError as problem:
    assert problem.errno == errno.ENOSPC
print(n, os.statvfs("/tmp").f_blocks * os.statvfs("/tmp").f_frsize)
"""
    files, size = outcome(sandbox, fill, folder, Limits(tmp_mb=4))[1].split()
    assert int(files) <= 256
    assert int(size) == 4 << 20


# --- what is left -----------------------------------------------------------------------------------------------------


def sockets() -> int:
    return len(os.listdir("/proc/self/fd")) - descriptors()


def test_a_sweep_spares_what_belongs_to_the_living(sandbox: DockerSandbox, folder: Path) -> None:
    with running(sandbox, Program(("cat",), folder)) as box:
        docker.cleanup_stale()
        os.write(box.stdin, b"x\n")
        assert read_line(box.stdout) == b"x\n"


def test_a_sweep_removes_no_folder_but_a_containers(tmp_path: Path) -> None:
    """Source: a label is text: the folder in it is removed only if it looks like one of ours."""
    precious = tmp_path / "precious"
    precious.mkdir()
    where, _, _ = global_identity().rpartition("/")
    labels = {OWNER_LABEL: f"{where}/1.9.{os.stat('/proc/self/ns/pid').st_ino}", FOLDER_LABEL: str(precious)}
    body = {"Image": "coup-arena/python", "Cmd": ["true"], "Labels": labels}
    container = get_engine().api.create_container_from_config(body)["Id"]
    docker.cleanup_stale()
    until(lambda: container not in {found["Id"] for found in get_engine().api.containers(all=True)}, "it wasn't swept")
    assert precious.is_dir()


# --- broken from outside ----------------------------------------------------------------------------------------------


@pytest.mark.parametrize("how", ["kill", "remove"])
def test_a_container_killed_from_outside_is_not_the_programs_fault(
    sandbox: DockerSandbox, folder: Path, how: str
) -> None:
    """Only events that the table's bots can't cause void a match, such as the engine's own."""
    before = set(ours())
    with running(sandbox, Program(("cat",), folder)) as box:
        (container,) = set(ours()) - before
        if how == "kill":
            get_engine().api.kill(container)
        else:
            get_engine().api.remove_container(container, force=True)
        assert read_some(box.stdout) == b""
        with pytest.raises(SandboxError, match="another client of the Docker engine ended a container"):
            until(box.exit)


def test_a_program_that_lies_about_its_end_harms_only_itself(sandbox: DockerSandbox, folder: Path) -> None:
    lie = """
import os, time
pipe = os.open("/proc/1/fd/3", os.O_WRONLY)
os.write(pipe, b"{}\\n")
time.sleep(60)
"""
    for said, expected in ((b"0", Exit(0, None)), (b"nonsense", Exit(None, None))):
        with running(sandbox, python(lie.format(said.decode()), folder)) as box:
            assert exit_of(box) == expected


SPIN = """
import os, platform
jump = {"x86_64": b"\\xeb\\xfe", "aarch64": b"\\0\\0\\0\\x14"}[platform.machine()]  # to itself
here = int(open("/proc/1/syscall").read().split()[-1], 16)
memory = os.open("/proc/1/mem", os.O_RDWR)
os.write(1, b"open\\n")
input()
os.pwrite(memory, jump, here)
"""


def test_code_that_a_program_puts_into_process_1_is_charged_and_frozen_too(
    sandbox: DockerSandbox, folder: Path, needs: Needs
) -> None:
    """Source: container.py, "What the program can do to this": it has the same user ID."""
    with running(sandbox, python(SPIN, folder)) as box:
        opened = read_some(box.stdout) == b"open\n"
        needs("memory of other processes", None if opened else "this machine's Yama keeps programs from it")
        os.write(box.stdin, b"\n")
        assert read_to_end(box.stdout) == b""

        def used() -> int:
            found = box.cpu_ns()
            assert found is not None
            return found

        before = used()
        until(lambda: used() > before + 100_000_000)
        assert box.exit() is None
        box.freeze()
        stand_still(box.cpu_ns)
        kill(box)


def test_process_1_gives_a_program_no_way_to_the_daemon(sandbox: DockerSandbox, folder: Path) -> None:
    """Source: a program could flood the engine through /proc/1/fd until its responses are late, which voids matches."""
    code = "import os\nfor n in range(4): print(os.readlink(f'/proc/1/fd/{n}'))"
    assert outcome(sandbox, code, folder)[1].split() == [b"/dev/null", b"/dev/null", b"/dev/null", b"/io/status"]


def test_forged_ends_do_not_block_the_referee(sandbox: DockerSandbox, folder: Path) -> None:
    """Source: box.py: nothing of a box blocks; seat_poller.py: a referee suspended for 5 s voids the match."""
    lie = "import os, time; os.write(os.open('/proc/1/fd/3', os.O_WRONLY), {}); print(1); time.sleep(60)"
    for said in ("b'x' + b'\\\\n'", "bytes(60000)"):

        def ends(said: str = said) -> float:
            with running(sandbox, python(lie.format(said.replace("\\\\", "\\")), folder)) as box:
                read_line(box.stdout)
                begin = time.monotonic()
                assert exit_of(box) == Exit(None, None)
                return time.monotonic() - begin

        within(2.0, ends)  # far from the referee's 5 s, and no wait but the engine's own


def test_a_link_of_a_program_reveals_no_file_of_this_machine(tmp_path: Path, folder: Path) -> None:
    """Outside of /bot a link leads to the box's own file, or nowhere; no pipe is read."""
    outside = tmp_path / "outside"
    outside.mkdir()
    (outside / "script").write_text("#!/usr/bin/python3 secret\n")
    os.mkfifo(outside / "pipe")
    (folder / "link").symlink_to("../outside")
    pipe = os.open(outside / "pipe", os.O_RDWR | os.O_NONBLOCK)
    try:
        os.write(pipe, b"#!x\n")
        for word in ("link/script", "link/pipe", f"{folder}/../outside/script"):
            assert command_inside(Program((word,), folder))[-1].endswith(word.split("/")[-1])
            assert len(command_inside(Program((word,), folder))) == 1
        assert os.read(pipe, 10) == b"#!x\n"
    finally:
        os.close(pipe)


@contextlib.contextmanager
def referee(code: str, *arguments: object, **environment: str) -> Iterator["subprocess.Popen[bytes]"]:
    process = subprocess.Popen(
        [sys.executable, "-c", code, *map(str, arguments)],
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
        env={**os.environ, "PYTHONPATH": str(ROOT), **environment},
    )
    try:
        yield process
    finally:
        process.kill()
        process.communicate(timeout=WAIT_S)


def line_of(process: "subprocess.Popen[bytes]", seconds: float = WAIT_S) -> bytes:
    assert process.stdout is not None
    line = b""
    poll = select.poll()
    poll.register(process.stdout, select.POLLIN)
    while not line.endswith(b"\n"):
        assert poll.poll(seconds * 1000), "the process kept silent"
        piece = os.read(process.stdout.fileno(), 4096)
        assert piece, "the process has ended"
        line += piece
    return line


class Daemon:
    """A Docker engine that belongs to the test, with one small image."""

    def __init__(self, folder: Path) -> None:
        self.folder = folder
        self.host = f"unix://{folder}/sock"
        self.process: subprocess.Popen[bytes] | None = None

    def start(self) -> None:
        roots = [f"--{what}={self.folder}/{what}" for what in ("data-root", "exec-root", "pidfile")]
        for left in ("pidfile", "exec-root/containerd/containerd.pid"):  # of one that was killed; a zombie looks alive
            (self.folder / left).unlink(missing_ok=True)
        with (self.folder / "log").open("ab") as log:
            self.process = subprocess.Popen(
                ["dockerd", *roots, "--host", self.host, "--bridge=none", "--iptables=false"],
                stdout=log,
                stderr=log,
                start_new_session=True,
            )
        until(self.answers)

    def answers(self) -> bool:
        ran = subprocess.run(["docker", "--host", self.host, "version"], capture_output=True, timeout=30)
        return ran.returncode == 0

    def send(self, number: int) -> None:
        assert self.process is not None
        self.process.send_signal(number)

    def stop(self) -> None:
        """Stop it gracefully: with its containers and its child process, containerd."""
        assert self.process is not None
        if self.process.poll() is None:
            self.process.send_signal(signal.SIGCONT)
            self.process.terminate()
        self.process.wait(60)

    def clean(self) -> None:
        lines = Path("/proc/self/mountinfo").read_text().splitlines()
        left = [place for place in (line.split()[4] for line in lines) if Path(place).is_relative_to(self.folder)]
        for place in sorted(left, reverse=True):
            subprocess.run(["umount", "--lazy", place], check=True, timeout=30)


def small_root(folder: Path) -> None:
    """Make a root with a shell, cat, test and the libraries they need: a tenth of a second to import."""
    for program in ("sh", "cat", "test", "sleep"):
        path = Path(os.path.realpath(shutil.which(program) or program))
        needed = subprocess.run(["ldd", path], capture_output=True, text=True, check=True).stdout.split()
        for file in [path, *(Path(word) for word in needed if word.startswith("/"))]:
            copy = folder / str(file).lstrip("/")
            copy.parent.mkdir(parents=True, exist_ok=True)
            shutil.copy(file, copy)
        (folder / "bin").mkdir(exist_ok=True)
        shutil.copy(path, folder / "bin" / program)


@pytest.fixture(scope="module")
def daemon(tmp_path_factory: pytest.TempPathFactory, needs: Needs) -> Iterator[Daemon]:
    """Give a second engine, which may be stopped and killed; afterwards nothing of it is left."""
    able = os.geteuid() == 0 and shutil.which("dockerd") and shutil.which("docker") and shutil.which("ldd")
    needs("docker", None if able else "a second engine needs root and dockerd")
    folder = tmp_path_factory.mktemp("engine")
    root = tmp_path_factory.mktemp("root")
    small_root(root)
    daemon = Daemon(folder)
    daemon.start()
    try:
        tar = subprocess.Popen(["tar", "-C", root, "-c", "."], stdout=subprocess.PIPE)
        subprocess.run(
            ["docker", "--host", daemon.host, "import", "-", "coup-arena/native"],
            stdin=tar.stdout,
            check=True,
            capture_output=True,
            timeout=60,
        )
        tar.communicate(timeout=60)
        yield daemon
    finally:
        if not daemon.answers():
            daemon.stop()
            daemon.start()
        with referee(CLEAN_UP, DOCKER_HOST=daemon.host) as last:
            line_of(last)
        daemon.stop()
        daemon.clean()


MATCH = """
import os, select, sys, time
from pathlib import Path
from arena.limits import Limits
from arena.sandbox import Program, SandboxError
from arena.sandbox.docker import DockerSandbox

sandbox = DockerSandbox(Path(sys.argv[1]))
box = sandbox.start(Program(("cat",), Path(sys.argv[2])), Limits())
poll = select.poll()
poll.register(box.stdout, select.POLLIN)

def exchange():
    os.write(box.stdin, b"x\\n")
    assert poll.poll(60_000), "silence"
    assert os.read(box.stdout, 100) == b"x\\n"

exchange()
print("ready", flush=True)
end = time.monotonic() + float(sys.argv[3])
try:
    while time.monotonic() < end:
        box.thaw()
        exchange()
        box.freeze()
        assert box.exit() is None
        time.sleep(0.01)
    print("no error")
except SandboxError as void:
    print("void:", void)
except (AssertionError, OSError) as problem:
    try:
        while (ended := box.exit()) is None and time.monotonic() < end:
            time.sleep(0.01)
        print("the program's fault:", repr(problem), ended)
    except SandboxError as void:
        print("void:", void)
box.close()
"""


@pytest.mark.parametrize("number", [signal.SIGKILL, signal.SIGTERM])
def test_a_daemon_that_dies_or_stops_voids_the_match_in_time(
    daemon: Daemon, tmp_path: Path, folder: Path, number: int
) -> None:
    """The limit is 30 s. The next match, with the daemon back, is played."""
    if not daemon.answers():
        daemon.stop()
        daemon.start()

    def dies() -> float:
        with referee(MATCH, tmp_path / "scratch", folder, 60, DOCKER_HOST=daemon.host) as process:
            assert line_of(process) == b"ready\n"
            begin = time.monotonic()
            daemon.send(number)
            said = line_of(process, 70)
            took = time.monotonic() - begin
        assert said.startswith(b"void: "), said
        daemon.stop()
        daemon.start()
        return took

    within(VOID_S, dies)


START = """
import os, sys
from pathlib import Path
from arena.limits import Limits
from arena.sandbox import Program, SandboxError
from arena.sandbox.docker import DockerSandbox

sandbox = DockerSandbox(Path(sys.argv[1]))
print("ready", flush=True)
os.read(0, 1)
try:
    sandbox.start(Program(("cat",), Path(sys.argv[2])), Limits())
    print("started", flush=True)
except SandboxError as void:
    print("void:", void, flush=True)
os._exit(0)
"""


def test_a_daemon_that_hangs_when_a_bot_is_started_is_an_error_in_time(
    daemon: Daemon, tmp_path: Path, folder: Path
) -> None:
    def starts() -> float:
        with referee(START, tmp_path / "scratch", folder, DOCKER_HOST=daemon.host) as process:
            assert line_of(process) == b"ready\n"
            daemon.send(signal.SIGSTOP)
            begin = time.monotonic()
            assert process.stdin is not None
            process.stdin.write(b"x")
            process.stdin.flush()
            said = line_of(process, 70)
            took = time.monotonic() - begin
            daemon.send(signal.SIGCONT)
        assert said.startswith(b"void: "), said
        return took

    within(VOID_S, starts)


def test_a_daemon_that_hangs_disturbs_no_match(daemon: Daemon, tmp_path: Path, folder: Path) -> None:
    """It forwards no byte, and can't end a container while it hangs."""
    with referee(MATCH, tmp_path / "scratch", folder, 2, DOCKER_HOST=daemon.host) as process:
        assert line_of(process) == b"ready\n"
        daemon.send(signal.SIGSTOP)
        said = line_of(process, 70)
        daemon.send(signal.SIGCONT)
    assert said == b"no error\n"


def test_a_wrong_docker_host_is_reported_as_such() -> None:
    """The message explains the setting; the service isn't the cause."""
    for host in ("garbage", "http://x:y:z", "tcp://"):
        with referee(PRINT_REASON, DOCKER_HOST=host) as process:
            said = line_of(process).decode()
        assert said.startswith(f"DOCKER_HOST={host} isn't a Docker engine's address")
        assert "unset DOCKER_HOST" in said
        assert "systemctl" not in said


def test_an_engine_is_asked_by_one_connection_a_process() -> None:
    """Descriptors are limited: docker-py would keep an idle socket for each address that it ever used."""
    here: Engine = get_engine()
    assert here is get_engine()
    before = sockets()
    for number in range(3 * SOCKETS):
        with contextlib.suppress(SandboxError):
            here.call(here.api.inspect_container, f"no-such-container-{number}")
    assert sockets() <= before + SOCKETS
