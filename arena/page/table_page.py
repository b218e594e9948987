"""The page of a table at which people play: what it shows comes over a WebSocket of the server that it came from."""

from arena.page.frame import data, frame, script, style


def table_page(title: str, sheet: str, socket: str) -> str:
    """Return the HTML of the page: `sheet` is the rules as plain text, `socket` the path of the table's WebSocket."""
    body = "".join(
        (
            '<div id="page"></div>\n<noscript><p>To play here, the browser must run JavaScript.</p></noscript>\n',
            data("sheet", sheet),
            data("socket", socket),
        )
    )
    return frame(title, body, [style("look", "page", "play")], [script("play")], connects=True)
