"""The site: Sphinx reads the documents where they lie in the repository, with links that lead on in both.

`make site` builds it. docs/README.md is its menu: a heading there is a heading of the menu, a link is an entry.
"""

import re
from pathlib import Path
from posixpath import join, normpath

from sphinx.application import Sphinx

from arena import __version__

ROOT = Path(__file__).parents[1]
LINK = re.compile(r"\[([^\]]+)\]\(([^):#]+)\)")


def page(folder: str, target: str) -> str:
    """Return what a link leads to in a document of a folder: of a folder it is the README, as on a code forge."""
    return f"{target.rstrip('/')}/README.md" if (ROOT / folder / target / "README.md").is_file() else target


SECTIONS = [
    (
        section.partition("\n")[0],
        [(label, normpath(join("docs", page("docs", to)))) for label, to in LINK.findall(section)],
    )
    for section in (ROOT / "docs" / "README.md").read_text(encoding="utf-8").split("\n## ")[1:]
]

project = "Coup arena"
html_title = f"Coup arena {__version__}"
root_doc = "README"
include_patterns = ["README.md", "docs/README.md", *(path for _, entries in SECTIONS for _, path in entries)]
exclude_patterns = [".*", "arena", "build", "ladder", "tests"]  # where no document lies

extensions = ["myst_parser"]
myst_heading_anchors = 4  # as code forges make them: what a link names after # has to be there
nitpicky = True
highlight_language = "none"  # of blocks that name none

html_theme = "furo"  # asks nobody for fonts or scripts
html_static_path = html_css_files = ["site.css"]
html_copy_source = False
html_use_index = False


def as_page(app: Sphinx, name: str, source: list[str]) -> None:
    """Make of a document's text that of its page; the list holds it alone. The front has the menu."""
    folder = str(Path(name).parent)
    source[0] = LINK.sub(lambda link: f"[{link[1]}]({page(folder, link[2])})", source[0])
    if name == root_doc:
        for caption, entries in [("Contents", [("All documents", "docs/README.md")]), *SECTIONS]:
            lines = "\n".join(f"{label} </{path}>" for label, path in entries)
            source[0] += f"\n\n```{{toctree}}\n:hidden:\n:caption: {caption}\n\n{lines}\n```\n"


def setup(app: Sphinx) -> None:
    """Let Sphinx call what is ours."""
    app.connect("source-read", as_page)
