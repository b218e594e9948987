"""The server: uvicorn, on this machine alone unless what comes is encrypted, or somebody insists."""

from collections.abc import Callable
from dataclasses import dataclass
from ipaddress import ip_address
from pathlib import Path

import uvicorn

from ladder.service import Ladder, LadderError
from ladder.web.app import make_app


@dataclass(frozen=True, slots=True)
class Address:
    """Where a server listens. certificate, key: PEM files. behind: where people find it, of a proxy."""

    host: str
    port: int
    certificate: Path | None = None
    key: Path | None = None
    behind: str | None = None

    @property
    def url(self) -> str:
        """Return where people find it."""
        host = f"[{self.host}]" if ":" in self.host else self.host
        return self.behind or f"{'https' if self.certificate else 'http'}://{host}:{self.port}"

    def check(self, insecure: bool) -> None:
        """Raise LadderError for one where others could read what comes and goes, unless `insecure`."""
        if not (insecure or self.certificate or _this_machine(self.host)):
            raise LadderError(
                f"{self.host} is seen from elsewhere, and nothing there is encrypted.\n"
                "Give --tls-cert and --tls-key, stay on 127.0.0.1 behind a proxy with TLS, or insist: --insecure"
            )


def serve_pages(ladder: Ladder, address: Address, begun: Callable[[], object]) -> None:
    """Serve until SIGINT or SIGTERM; call `begun` once connections are taken. Raises OSError, LadderError."""
    server = _Server(
        uvicorn.Config(
            make_app(ladder, address.url),
            host=address.host,
            port=address.port,
            ssl_certfile=address.certificate,
            ssl_keyfile=address.key,
            log_config=None,  # an address may hold a link's secret
            access_log=False,
            server_header=False,
            timeout_graceful_shutdown=3,
            h11_max_incomplete_event_size=32 << 10,
        )
    )
    server.begun = begun
    server.run()


class _Server(uvicorn.Server):
    begun: Callable[[], object]

    async def startup(self, sockets: list[object] | None = None) -> None:  # type: ignore[override]
        await super().startup(sockets)  # type: ignore[arg-type]
        if self.started:
            self.begun()


def _this_machine(host: str) -> bool:
    try:
        return ip_address(host).is_loopback
    except ValueError:
        return host == "localhost"
