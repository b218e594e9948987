"""Many open pages, as web.js has them: each hears that the ladder has changed, and asks for itself again, not at once.

The server is a process of its own, and so is the runner that plays beside it.
"""

import asyncio
import os
import random
import re
import subprocess
import sys
import time
from collections.abc import Callable, Iterator
from contextlib import closing, contextmanager, suppress
from dataclasses import dataclass, field
from pathlib import Path
from urllib.parse import urlsplit

from ladder.service import Ladder, create, issue_each, sign_in, submit_reference
from tests.bench.ladder import PLAY, ROOT

LEAST_S, SPREAD_S = 30.0, (1.0, 5.0)  # as web.js says
_TICKS = os.sysconf("SC_CLK_TCK")


@dataclass
class Heard:
    """What pages heard and got: words of their feeds, and (seconds, status, bytes) of each answer."""

    words: int = 0
    answers: list[tuple[float, int, int]] = field(default_factory=list)

    def percentile(self, share: float) -> float:
        """Return within how many seconds this share of the answers came."""
        times = sorted(seconds for seconds, _, _ in self.answers)
        return times[min(len(times) - 1, int(share * len(times)))]


@contextmanager
def server(folder: Path, *words: str) -> Iterator[tuple[str, int]]:
    """Serve a ladder; give its address and its process's id."""
    command = [sys.executable, "-m", "arena.cli", "ladder", "serve", str(folder), "--port", "0", *words]
    process = subprocess.Popen(command, stderr=subprocess.PIPE, text=True, cwd=ROOT)
    assert process.stderr is not None
    found = re.search(r"http://\S+", process.stderr.readline())
    assert found is not None
    drain = subprocess.Popen(["cat"], stdin=process.stderr, stdout=subprocess.DEVNULL)
    try:
        yield found[0], process.pid
    finally:
        process.terminate()
        process.wait(120)
        drain.wait(20)


@contextmanager
def busy_ladder(folder: Path) -> Iterator[Ladder]:
    """Give a ladder of sample bots that wait for their examination, and play then."""
    with closing(create(folder, PLAY, None)) as made:
        for name in ("honest", "turtle", "counter", "opportunist", "bluffer", "challenger"):
            submit_reference(made, f"sample:{name}")
        yield made


def sessions(ladder: Ladder, logins: list[str]) -> list[str]:
    """Sign people in; return the secrets of their cookies."""
    return [sign_in(ladder, link.secret).secret for link in issue_each(ladder, logins, "link", "bench")]


def cpu_s(pid: int) -> float:
    """Return the CPU seconds that a process has used, without its children's."""
    fields = Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()
    return (int(fields[11]) + int(fields[12])) / _TICKS


def followed(
    url: str, pid: int, pages: list[tuple[str, str]], change: Callable[[], object], lasts_s: float
) -> tuple[float, Heard]:
    """Keep pages open, (path, session) each, with a change a second; return the share of a core, and what they got."""
    return asyncio.run(_followed(url, pid, pages, change, lasts_s))


async def _followed(
    url: str, pid: int, pages: list[tuple[str, str]], change: Callable[[], object], lasts_s: float
) -> tuple[float, Heard]:
    heard, draw = Heard(), random.Random(1)
    tasks = [asyncio.create_task(_page(url, path, session, heard, draw)) for path, session in pages]
    await asyncio.sleep(LEAST_S / 3)
    heard.answers.clear()
    heard.words = 0
    began, used, changes = time.monotonic(), cpu_s(pid), 0
    while time.monotonic() < began + lasts_s:
        await asyncio.to_thread(change)
        changes += 1
        await asyncio.sleep(max(0.0, began + changes - time.monotonic()))
    share = (cpu_s(pid) - used) / (time.monotonic() - began)
    for task in tasks:
        task.cancel()
    for ended in await asyncio.gather(*tasks, return_exceptions=True):
        assert isinstance(ended, asyncio.CancelledError), ended
    return share, heard


async def _page(url: str, path: str, session: str, heard: Heard, draw: random.Random) -> None:
    """Be one page: it was opened some time within the last half minute."""
    last = time.monotonic() - draw.random() * LEAST_S
    tag = ""
    waits: asyncio.Task[None] | None = None
    parts = urlsplit(url)
    reader, writer = await asyncio.open_connection(parts.hostname, parts.port)
    with closing(writer):
        writer.write(_request(parts.netloc, "/changes", session))

        async def ask() -> None:
            nonlocal last, tag
            await asyncio.sleep(max(0.0, last + LEAST_S - time.monotonic()) + draw.uniform(*SPREAD_S))
            last = time.monotonic()
            tag = await get(url, path, session, heard, tag)

        try:
            while line := await reader.readline():
                if line.startswith(b"data:"):
                    heard.words += 1
                    if waits is None or waits.done():
                        waits = asyncio.create_task(ask())
        finally:
            if waits is not None:
                waits.cancel()
                with suppress(asyncio.CancelledError):
                    await waits


def uploaded(url: str, pid: int, tokens: list[str], megabytes: int) -> tuple[float, float]:
    """Send a bot of this size with each token at once; return by how many MB the server grew, and the seconds."""
    before, began = peak_mb(pid), time.monotonic()
    statuses = asyncio.run(_uploaded(url, tokens, megabytes))
    assert set(statuses) == {201}, statuses
    return peak_mb(pid) - before, time.monotonic() - began


async def _uploaded(url: str, tokens: list[str], megabytes: int) -> list[int]:
    parts = urlsplit(url)

    async def one(number: int, token: str) -> int:
        head = f'--x\r\nContent-Disposition: form-data; name="name"\r\n\r\nbot{number}\r\n--x\r\nContent-Disposition: '
        head += f'form-data; name="f"; filename="bot.py"\r\n\r\nprint()\n# {number} '
        body = head.encode() + random.Random(number).randbytes(megabytes << 20) + b"\r\n--x--\r\n"
        reader, writer = await asyncio.open_connection(parts.hostname, parts.port)
        with closing(writer):
            words = (
                "POST /api/submissions HTTP/1.1", f"Host: {parts.netloc}", f"Authorization: Bearer {token}",
                "Content-Type: multipart/form-data; boundary=x", f"Content-Length: {len(body)}", "Connection: close",
            )  # fmt: skip
            writer.write("\r\n".join((*words, "", "")).encode())
            for at in range(0, len(body), 1 << 16):
                writer.write(body[at : at + (1 << 16)])
                await writer.drain()
            return int((await reader.read(64)).split()[1])

    return await asyncio.gather(*(one(number, token) for number, token in enumerate(tokens)))


def peak_mb(pid: int) -> float:
    """Return how much memory a process has had, most at a time."""
    found = re.search(r"VmHWM:\s+(\d+)", Path(f"/proc/{pid}/status").read_text())
    assert found is not None
    return int(found[1]) / 1024


async def get(url: str, path: str, session: str, heard: Heard, tag: str = "") -> str:
    """Ask for a page; return its ETag."""
    parts = urlsplit(url)
    began = time.monotonic()
    reader, writer = await asyncio.open_connection(parts.hostname, parts.port)
    with closing(writer):
        writer.write(_request(parts.netloc, path, session, f"If-None-Match: {tag}\r\nConnection: close\r\n"))
        got = await reader.read()
    data = got
    while got:
        got = await reader.read()
        data += got
    head, _, body = data.partition(b"\r\n\r\n")
    status = int(head.split()[1])
    heard.answers.append((time.monotonic() - began, status, len(body)))
    assert status in (200, 304), head
    found = re.search(rb"(?i)\r\netag: (\S+)", head)
    return "" if found is None else found[1].decode()


def _request(host: str, path: str, session: str, more: str = "") -> bytes:
    return f"GET {path} HTTP/1.1\r\nHost: {host}\r\nCookie: session={session}\r\n{more}\r\n".encode()
