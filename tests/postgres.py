"""A PostgreSQL server for the tests: Debian's package, in a folder of its own, on a socket of its own."""

import os
import shutil
import subprocess
import tempfile
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

USER = "postgres"  # of the package; the server refuses to be root's


def postgres_problem() -> str | None:
    """Return why no server can be started here, None if one can."""
    if _programs() is None:
        return "PostgreSQL isn't installed"
    if os.geteuid() == 0 and shutil.which("setpriv") is None:
        return "setpriv isn't installed, and PostgreSQL doesn't start as root"
    return None


def _programs() -> Path | None:
    found = shutil.which("pg_ctl")
    places = [*([Path(found).resolve().parent] if found else []), *sorted(Path("/usr/lib/postgresql").glob("*/bin"))]
    return next((place for place in reversed(places) if (place / "initdb").exists()), None)


class Postgres:
    """A server in a folder. `url` names a database of it."""

    def __init__(self, folder: Path) -> None:
        self.folder = folder
        self._programs = _programs()

    def url(self, name: str = "postgres") -> str:
        return f"postgresql+psycopg://{USER}@/{name}?host={self.folder}"

    def start(self) -> None:
        self._run("pg_ctl", "-D", str(self.folder / "data"), "-w", "-l", str(self.folder / "log"), "start")

    def stop(self, mode: str = "immediate") -> None:
        """Stop the server: immediately, as a crash would."""
        self._run("pg_ctl", "-D", str(self.folder / "data"), "-w", "-m", mode, "stop")

    def processes(self) -> list[int]:
        """Return the ids of the server's processes."""
        main = (self.folder / "data" / "postmaster.pid").read_text().splitlines()[0]
        children = Path(f"/proc/{main}/task/{main}/children").read_text().split()
        return [int(main), *map(int, children)]

    def create(self, name: str) -> str:
        import psycopg  # here: not every environment has it

        with psycopg.connect(dbname="postgres", user=USER, host=str(self.folder), autocommit=True) as connection:
            connection.execute(f'CREATE DATABASE "{name}"')  # type: ignore[arg-type]
        return self.url(name)

    def init(self) -> None:
        self._run("initdb", "-D", str(self.folder / "data"), "-U", USER, "--auth=trust", "--no-sync", "-E", "UTF8")
        with (self.folder / "data" / "postgresql.conf").open("a") as settings:
            settings.write(f"listen_addresses = ''\nunix_socket_directories = '{self.folder}'\nfsync = off\n")

    def _run(self, program: str, *arguments: str) -> None:
        assert self._programs is not None
        as_user = ["setpriv", "--reuid", USER, "--regid", USER, "--init-groups"] if os.geteuid() == 0 else []
        done = subprocess.run(
            [*as_user, str(self._programs / program), *arguments],
            cwd=self.folder,
            stdin=subprocess.DEVNULL,
            stdout=subprocess.PIPE if program not in ("pg_ctl",) else subprocess.DEVNULL,
            stderr=subprocess.PIPE if program not in ("pg_ctl",) else subprocess.DEVNULL,
            timeout=60,
        )
        assert done.returncode == 0, (program, done.stdout, done.stderr)


@contextmanager
def postgres() -> Iterator[Postgres]:
    folder = Path(tempfile.mkdtemp(prefix="pg-", dir="/tmp"))  # a socket's path is at most 107 bytes
    try:
        if os.geteuid() == 0:
            shutil.chown(folder, USER, USER)
        server = Postgres(folder)
        server.init()
        server.start()
        try:
            yield server
        finally:
            server.stop()
    finally:
        shutil.rmtree(folder, ignore_errors=True)
