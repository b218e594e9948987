"""An endpoint with the form of chat completions that answers by a policy."""

import json
import re
import threading
from collections.abc import Callable, Iterator
from contextlib import contextmanager, suppress
from dataclasses import dataclass, field
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from typing import Any

KEY = "sk-zq/secretzq"


@dataclass
class Question:
    """A request as the endpoint got it. number: from 0. moves: the texts of the legal moves."""

    number: int
    body: dict[str, Any]
    headers: dict[str, str]
    moves: list[str]

    @property
    def prompt(self) -> str:
        return str(self.body["messages"][-1]["content"])


@dataclass
class Reply:
    """What the endpoint sends: an answer's text, or another status, body, or a cut connection (status 0)."""

    text: str = ""
    status: int = 200
    headers: dict[str, str] = field(default_factory=dict)
    message: dict[str, Any] = field(default_factory=dict)
    finish: str = "stop"
    raw: bytes | None = None
    tokens: tuple[int, int] = (100, 10)


Policy = Callable[[Question], Reply]


def play(move: int = 1, **more: Any) -> Reply:
    return Reply(json.dumps({"reasoning": "I think.", "move": move, **more}))


def first_move(question: Question) -> Reply:
    return play()


@dataclass
class Endpoint:
    url: str
    questions: list[Question]
    policy: Policy
    answered: int = 0  # with status 200
    at_once: int = 0  # the most requests at the same time
    ended: threading.Event = field(default_factory=threading.Event)


def hang(endpoint: Endpoint, limit_s: float = 60) -> threading.Event:
    """Let the endpoint never answer any more; return an event that a request sets."""
    came = threading.Event()

    def wait(question: Question) -> Reply:
        came.set()
        endpoint.ended.wait(limit_s)
        return play()

    endpoint.policy = wait
    return came


@contextmanager
def serving(policy: Policy = first_move) -> Iterator[Endpoint]:
    lock, now = threading.Lock(), [0]

    class Handler(BaseHTTPRequestHandler):
        def do_POST(self) -> None:
            body = json.loads(self.rfile.read(int(self.headers["Content-Length"])))
            moves = re.findall(r"^\d+\. (.*)$", str(body["messages"][-1]["content"]), re.MULTILINE)
            with lock:
                question = Question(len(endpoint.questions), body, dict(self.headers), moves)
                endpoint.questions.append(question)
                now[0] += 1
                endpoint.at_once = max(endpoint.at_once, now[0])
            reply = endpoint.policy(question)
            with lock:
                now[0] -= 1
                endpoint.answered += reply.status == 200
            with suppress(OSError):  # the client is gone
                self.send(reply)

        def send(self, reply: Reply) -> None:
            if reply.status == 0:
                return
            message = reply.message or {"content": reply.text}
            prompt, output = reply.tokens
            usage = {"prompt_tokens": prompt, "completion_tokens": output}
            whole = {"choices": [{"message": message, "finish_reason": reply.finish}], "usage": usage}
            data = json.dumps(whole).encode() if reply.raw is None else reply.raw
            self.send_response(reply.status)
            for name, value in {"Content-Length": str(len(data)), **reply.headers}.items():
                self.send_header(name, value)
            self.end_headers()
            self.wfile.write(data)

        def log_message(self, *given: Any) -> None:
            """Log nothing."""

    class Server(ThreadingHTTPServer):
        request_queue_size = 256

        def handle_error(self, *given: Any) -> None:
            """Print nothing: a killed client sends half a request."""

    server = Server(("127.0.0.1", 0), Handler)
    server.daemon_threads = True
    endpoint = Endpoint(f"http://127.0.0.1:{server.server_port}/v1/chat/completions", [], policy)
    thread = threading.Thread(target=server.serve_forever, args=(0.02,), daemon=True)
    thread.start()
    try:
        yield endpoint
    finally:
        endpoint.ended.set()
        server.shutdown()
        server.server_close()


PROMPT = Path(__file__).parents[2] / "arena" / "models" / "starter" / "prompt.jinja"


def model_folder(folder: Path, url: str, *lines: str) -> Path:
    """Create the folder of a model player with further lines of [model]."""
    folder.mkdir(parents=True)
    text = f'[model]\nendpoint = "{url}"\nmodel = "fake"\n' + "".join(f"{line}\n" for line in lines)
    (folder / "bot.toml").write_text(text)
    (folder / "prompt.jinja").write_text(PROMPT.read_text())
    return folder
