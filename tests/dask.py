"""A Dask cluster of real processes: `dask scheduler` and `dask worker`, as cluster.md starts them."""

import os
import re
import socket
import subprocess
import sys
import time
from pathlib import Path

from tests.ports import free_port

ROOT = Path(__file__).parents[1]
LIMIT_S = 120


def find_block(language: str, word: str) -> str:
    text = (ROOT / "docs/howto/operate/cluster.md").read_text(encoding="utf-8")
    (found,) = [each for each in re.findall(rf"^```{language}\n(.*?)^```", text, re.M | re.S) if word in each]
    return str(found)


class Cluster:
    """A scheduler and workers, with their files below a folder, configured as in docs/howto/operate/cluster.md."""

    def __init__(self, folder: Path) -> None:
        self.folder = folder
        self.folder.mkdir(exist_ok=True)
        (self.folder / "tmp").mkdir()
        (self.folder / "dask.yaml").write_text(find_block("yaml", "distributed:"))
        self._port = free_port()
        self._tls = False
        self._started: list[subprocess.Popen[bytes]] = []

    @property
    def address(self) -> str:
        return f"{'tls' if self._tls else 'tcp'}://127.0.0.1:{self._port}"

    def start_scheduler(self, tls: bool = False, allowed_failures: int | None = None) -> "subprocess.Popen[bytes]":
        """Start the scheduler, always at the same address, and wait until it listens."""
        self._tls = tls
        name = "DASK_DISTRIBUTED__SCHEDULER__ALLOWED_FAILURES"
        failures = {} if allowed_failures is None else {name: str(allowed_failures)}
        protocol = ("--protocol", "tls") if tls else ()
        words = ("--host", "127.0.0.1", "--port", str(self._port), *protocol)
        process = self._start("scheduler", *words, environment=failures)
        deadline = time.monotonic() + LIMIT_S
        while True:
            assert process.poll() is None, self.log()
            assert time.monotonic() < deadline, self.log()
            with socket.socket() as trial:
                if trial.connect_ex(("127.0.0.1", self._port)) == 0:
                    return process
            time.sleep(0.02)

    def kill_scheduler(self) -> None:
        """Kill the current scheduler; the workers end with it."""
        scheduler = next(each for each in reversed(self._started) if "distributed.cli.dask_scheduler" in each.args)
        scheduler.kill()
        scheduler.wait(LIMIT_S)

    def start_worker(
        self, *words: str, cwd: Path | None = None, root: Path = ROOT, **environment: str
    ) -> "subprocess.Popen[bytes]":
        """Start a worker with one thread and without a nanny, and don't wait for it. `root`: the arena's folder."""
        local = ("--local-directory", str(self.folder / "tmp"))
        words = (self.address, "--nthreads", "1", "--memory-limit", "0", "--no-nanny", *local, *words)
        return self._start("worker", *words, cwd=cwd, environment={"PYTHONPATH": str(root), **environment})

    def make_certificates(self) -> tuple[Path, Path, Path]:
        """Run the commands of the document; return the files of the authority, the certificate, and its key."""
        subprocess.run(
            ["sh", "-ec", find_block("sh", "openssl")],
            cwd=self.folder,
            check=True,
            capture_output=True,
            timeout=LIMIT_S,
        )
        return self.folder / "ca.pem", self.folder / "cert.pem", self.folder / "key.pem"

    def log(self) -> str:
        return "\n".join(path.read_text() for path in sorted(self.folder.glob("*.log")))

    def close(self) -> None:
        for process in self._started:
            process.kill()
        for process in self._started:
            process.wait(LIMIT_S)

    def _start(
        self, what: str, *words: str, environment: dict[str, str], cwd: Path | None = None
    ) -> "subprocess.Popen[bytes]":
        names = ("ca-file", "ca.pem"), ("cert", "cert.pem"), ("key", "key.pem")
        tls = [f"--tls-{name}={self.folder / file}" for name, file in names] if self._tls else []
        shared = {"TMPDIR": str(self.folder / "tmp"), "DASK_CONFIG": str(self.folder / "dask.yaml")}
        with (self.folder / f"{len(self._started)}-{what}.log").open("wb") as log:
            process = subprocess.Popen(
                [sys.executable, "-P", "-m", f"distributed.cli.dask_{what}", *words, "--no-dashboard", *tls],
                cwd=cwd or self.folder,
                env={**os.environ, **shared, **environment},
                stdin=subprocess.DEVNULL,
                stdout=log,
                stderr=subprocess.STDOUT,
            )
        self._started.append(process)
        return process
