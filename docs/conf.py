"""The site: `make site` builds it with Sphinx from the documents in the repository.

docs/index.md is the menu: each of its headings is a heading of the menu, and each link an entry. front.html is the
site's first page; it shows the replay of docs/front.record.jsonl. If the playground was built, the site has a copy.
"""

import re
import shutil
from base64 import b64encode
from hashlib import sha256
from pathlib import Path
from posixpath import join, normpath

from docutils import nodes
from sphinx.application import Sphinx

from arena import __version__
from arena.lessons import learn_page, puzzles_page
from arena.playground import find_build, make_program_fragment
from arena.referee import read_record
from arena.replay import make_replay_object, replay_page

ROOT = Path(__file__).parents[1]
LINK = re.compile(r"\[([^\]]+)\]\(([^):#]+)\)")


def page(folder: str, target: str) -> str:
    """Return the document that a link in a folder leads to: a folder's README, as on a code forge."""
    return f"{target.rstrip('/')}/README.md" if (ROOT / folder / target / "README.md").is_file() else target


SECTIONS = [
    (
        section.partition("\n")[0],
        [(label, normpath(join("docs", page("docs", to)))) for label, to in LINK.findall(section)],
    )
    for section in (ROOT / "docs/index.md").read_text(encoding="utf-8").split("\n## ")[1:]
]

project = "Coup Arena"
html_title = f"Coup Arena {__version__}"
root_doc = "docs/index"
include_patterns = ["docs/index.md", *(path for _, entries in SECTIONS for _, path in entries)]
exclude_patterns = [".*", "arena", "build", "ladder", "tests"]  # folders without documents

extensions = ["myst_parser"]
myst_heading_anchors = 4  # the same anchors as on code forges
nitpicky = True
highlight_language = "none"  # of blocks that name none

html_theme = "furo"  # loads no fonts or scripts from other sites
templates_path = ["templates"]
html_additional_pages = {"index": "front.html"}
html_context = {"playground": find_build() is not None}
html_static_path = ["site.css", *(f"../arena/replay/static/{name}" for name in ("tokens.css", "cards.svg"))]
html_css_files = ["tokens.css", "site.css"]
html_favicon = "../arena/replay/static/icon.svg"
html_copy_source = False
html_use_index = False
html_show_copyright = False


def prepare_source(app: Sphinx, name: str, source: list[str]) -> None:
    """Make the text of a page from that of its document; the root document gets the menu."""
    folder = str(Path(name).parent)
    source[0] = LINK.sub(lambda link: f"[{link[1]}]({page(folder, link[2])})", source[0])
    if name == root_doc:
        for caption, entries in SECTIONS:
            lines = "\n".join(f"{label} </{path}>" for label, path in entries)
            source[0] += f"\n\n```{{toctree}}\n:hidden:\n:caption: {caption}\n\n{lines}\n```\n"


def link_programs(app: Sphinx, doctree: nodes.document, name: str) -> None:
    """Link each complete bot in Python to the playground, if it was built."""
    for block in doctree.findall(nodes.literal_block) if find_build() else ():
        if block.get("language") == "python" and "\nrun(" in block.astext():
            address = f"{'../' * name.count('/')}playground/index.html{make_program_fragment(block.astext())}"
            link = nodes.reference("", "Open in the playground", refuri=address, internal=False)
            block.parent.insert(block.parent.index(block) + 1, nodes.paragraph("", "", link))


def write_replay(app: Sphinx, error: Exception | None) -> None:
    """Write the replay of the first page: whole, and for its frame with front-replay.css."""
    if error is None:
        record = read_record((ROOT / "docs/front.record.jsonl").read_text(encoding="utf-8"))
        text = replay_page([make_replay_object(record)], "A game")
        (Path(app.outdir) / "replay.html").write_text(text, "utf-8")
        style = (ROOT / "docs/front-replay.css").read_text(encoding="utf-8")
        digest = b64encode(sha256(style.encode()).digest()).decode()
        text = text.replace("style-src ", f"style-src 'sha256-{digest}' ", 1)
        text = text.replace("</head>", f"<style>{style}</style>\n</head>", 1)
        (Path(app.outdir) / "front-replay.html").write_text(text, "utf-8")
        learn = learn_page(("index.html", "Coup Arena"), puzzles="puzzles.html")
        (Path(app.outdir) / "learn.html").write_text(learn, "utf-8")
        (Path(app.outdir) / "puzzles.html").write_text(puzzles_page(("learn.html", "Lessons")), "utf-8")
        if playground := find_build():
            shutil.copytree(playground, Path(app.outdir) / "playground", dirs_exist_ok=True)


def setup(app: Sphinx) -> None:
    """Connect the functions above."""
    app.connect("source-read", prepare_source)
    app.connect("doctree-resolved", link_programs)
    app.connect("build-finished", write_replay)
