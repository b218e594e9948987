"""The page of a table at which people play: what it shows comes over a WebSocket of the server that it came from."""

from collections.abc import Sequence
from typing import Any

from arena.page.frame import data, frame, script, style


def table_page(
    title: str, sheet: str, socket: str, card: Sequence[dict[str, Any]] = (), home: tuple[str, str] | None = None
) -> str:
    """Return the HTML of the page.

    `sheet` is the rules as plain text, `card` has a row for each action (`arena.coup.card`), `socket` is the path of
    the table's WebSocket; `home` is where its reader came from: an address and its name.
    """
    body = "".join(
        (
            '<div id="page"></div>\n<noscript><p>To play here, the browser must run JavaScript.</p></noscript>\n',
            data("sheet", sheet),
            data("card", list(card)),
            data("home", home),
            data("socket", socket),
        )
    )
    return frame(title, body, [style("look", "page", "play")], [script("play")], connects=True)
