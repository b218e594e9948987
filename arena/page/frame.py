"""The frame of a page: one HTML file that holds its styles, scripts and data, and may load nothing else.

The browser runs the scripts and applies the styles that are named by their SHA-256 in the page's own
Content-Security-Policy, and nothing else: neither a script that a stranger's text smuggled in, nor anything of the
network. (So `style="..."` in a body has no effect; a class has.)

A page opened as a file can't import modules: browsers refuse that of `file:`. So `script` puts modules one behind the
other, each as a function of its own that returns what it exports, in the order in which they need each other. (An
import map of data URLs would do too, but the policy would have to allow all `data:` scripts, and none can be read.)
It asks of the modules that an import stands on a line of its own and renames nothing, and that what is exported is
declared in the same place.
"""

import hashlib
import html
import json
import re
from base64 import b64encode
from collections.abc import Iterator, Sequence
from importlib.resources import files
from typing import Any

from arena.bots import shown

_STATIC = files("arena.page") / "static"
_IMPORT = re.compile(r'^import (\{[^}]*\}) from "\./([a-z]+)\.js";$', re.MULTILINE)
_UNREAD = re.compile(r"^ *(?:(?://|/\*\*|\*[ /]).*\n)?", re.MULTILINE)  # indents and comments, a fifth of the text
_EXPORT = re.compile(r"^export (?=(?:function|class|const) (\w+))", re.MULTILINE)


def frame(title: str, body: str, styles: Sequence[str], scripts: Sequence[str], connects: bool = False) -> str:
    """Return a page as HTML.

    `title` is plain text, whatever it holds. `body` is HTML: the caller has escaped what strangers wrote. `styles` are
    the texts of style sheets (see `style`), `scripts` those of modules (see `script`); each runs once the page is read.
    `connects`: scripts may ask the server that the page came from, and no other.
    """
    connected = "connect-src 'self'; " if connects else ""
    policy = (
        f"default-src 'none'; script-src {_source_list(scripts)}; style-src {_source_list(styles)}; "
        f"{connected}img-src data:; base-uri 'none'; form-action 'none'"
    )
    return "".join(
        (
            '<!doctype html>\n<html lang="en">\n<head>\n<meta charset="utf-8">\n',
            f'<meta http-equiv="Content-Security-Policy" content="{policy}">\n',
            '<meta name="viewport" content="width=device-width, initial-scale=1">\n',
            '<meta name="referrer" content="no-referrer">\n<meta name="color-scheme" content="light dark">\n',
            f'<link rel="icon" href="data:,">\n<title>{html.escape(shown(title))}</title>\n',
            *(f"<style>{text}</style>\n" for text in styles),
            f"</head>\n<body>\n{body}\n",
            *(f'<script type="module">{text}</script>\n' for text in scripts),
            "</body>\n</html>\n",
        )
    )


def style(*names: str) -> str:
    """Return the style sheets of these names ("look" is the one that all pages share), as one text."""
    return "\n".join((_STATIC / f"{name}.css").read_text("utf-8") for name in names)


def script(name: str) -> str:
    """Return a module and all that it imports, as the text of one inline module."""
    return "\n".join(("const modules = {};", *dict(_modules(name, ())).values()))


def data(name: str, value: Any) -> str:
    """Return HTML that holds a value as JSON, which `read(name)` of dom.js gives to a script.

    Any text may be in it: nothing ends the element early, and half a surrogate pair stays an escape.
    """
    text = json.dumps(value, separators=(",", ":"))  # ASCII: so U+2028 and surrogates are escapes already
    for character in "<>&":
        text = text.replace(character, f"\\u{ord(character):04x}")
    return f'<script type="application/json" id="{name}">{text}</script>\n'


def _modules(name: str, above: tuple[str, ...]) -> Iterator[tuple[str, str]]:
    """Yield (name, text) of all that a module imports, and then its own."""
    if name in above:
        raise ValueError(f"modules import each other in a circle: {' -> '.join((*above, name))}")
    source = _UNREAD.sub("", (_STATIC / f"{name}.js").read_text("utf-8"))
    for _, needed in _IMPORT.findall(source):
        yield from _modules(needed, (*above, name))
    exported = ", ".join(_EXPORT.findall(source))
    inner = _EXPORT.sub("", _IMPORT.sub(r"const \1 = modules.\2;", source))
    yield name, f"modules.{name} = (() => {{\n{inner}\nreturn {{ {exported} }};\n}})();"


def _source_list(texts: Sequence[str]) -> str:
    """Return a source list of the policy that has these texts by their hashes."""
    hashes = (b64encode(hashlib.sha256(text.encode()).digest()).decode() for text in texts)
    return " ".join(f"'sha256-{value}'" for value in hashes) or "'none'"
