"""Build the playground: a folder of static files that any web server can serve.

`python -m arena.playground.build OUT` needs node and npm. npm fetches the packages of PACKAGES, which nothing else
does, and their hashes are checked. Two builds of one tree have the same bytes. The names of all files but index.html
and service-worker.js contain a hash of the content, so browsers may keep them forever. FILE.br is FILE packed by
brotli, for a server that sends it."""

import ast
import hashlib
import html
import io
import json
import re
import shutil
import subprocess
import sys
import tarfile
import zipfile
from base64 import b64encode
from collections.abc import Iterable
from importlib.metadata import distribution
from pathlib import Path
from typing import Any

from arena.coup import PRESETS, make_rules_object, seat_counts
from arena.lessons import learn_page, puzzles_page, ways_html, welcome_html
from arena.playground_worker.person_table import GRADED
from arena.replay import html_page, inline_module, json_element, style_sheets, table_page

ROOT = Path(__file__).parents[2]
STATIC = Path(__file__).parent / "static"
CACHE = ROOT / "build" / "npm"
PYODIDE, ACE = "pyodide-314.0.7", "ace-builds-1.45.2"
PACKAGES = {  # name-version -> SHA-512 of npm's archive
    PYODIDE: "0YvXxEhfEdpLfb/XkM2BFAeMROq0iMUX2bzzH9pOttyMcWkwq+HbE5uyuGD82LN7y2q+SNvi/6V5JEsOlD2R1A==",
    ACE: "a0IADaETGBnBW5CIkniUJn7F+NyTuHWKqlv1A8FXaMmFflJsMGnU3TzkiyslInqIZ3odfcVKOdXBGIKBefzFDA==",
}
ENTRIES = (
    "arena.playground_worker.person_table, arena.playground_worker.trial"  # the modules whose functions the page calls
)
WORKER_FILES = ("pyodide.mjs", "pyodide.asm.mjs", "pyodide.asm.wasm", "python_stdlib.zip", "arena.zip", "worker.js")
_STAMP = (2020, 1, 1, 0, 0, 0)
BuiltFile = dict[str, str | int]  # {"url", "bytes"}


class BuildError(Exception):
    """The playground can't be built; the text says what is missing."""


def build_playground(out: Path) -> None:
    """Write all files into the folder `out`, whose old content is deleted.

    Raises BuildError if a program is missing or fails, OSError if a file can't be written.
    """
    missing_programs = [program for program in ("node", "npm") if shutil.which(program) is None]
    if missing_programs:
        raise BuildError(f"The playground needs {' and '.join(missing_programs)} to be built: install Node.js.")
    pyodide, ace = _fetch(PYODIDE), _fetch(ACE)
    shutil.rmtree(out, ignore_errors=True)
    out.mkdir(parents=True)
    files = _Folder(out)
    worker_files = _add_worker_files(files, pyodide)
    _add_editor(files, ace)
    files.add("licences.html", _render_licences(pyodide, ace))
    sheets = [style_sheets("ways"), *((STATIC / f"{name}.css").read_text() for name in ("playground", "write_tab"))]
    files.add("playground.css", "\n".join(sheets).encode())
    for name in ("icon.svg", "dom.js", "memory.js"):
        files.add(name, (ROOT / "arena/replay/static" / name).read_bytes())
    for name in ("elements.js", "python.js", "play_tab.js", "editor.js", "write_tab.js", "main.js"):
        files.add(name, (STATIC / name).read_bytes())
    home = ("./index.html", "Coup")
    files.add("puzzles.html", puzzles_page(home).encode())
    files.add("learn.html", learn_page(home, "./index.html#play-now", "./puzzles.html").encode())
    rules = {name: make_rules_object(preset) for name, preset in PRESETS.items()}
    _write_index(files, worker_files, files.add("table.html", table_page("Table", rules, None).encode()))


def _add_worker_files(files: "_Folder", pyodide: Path) -> dict[str, BuiltFile]:
    """Compile our modules and add the files that the worker loads, by name. pyodide: the folder of its package."""
    (CACHE / "sources.zip").write_bytes(pack_modules(list_modules()))
    _run("node", STATIC / "precompile.mjs", pyodide, CACHE, ENTRIES)
    folders = {"pyodide": pyodide, "worker": STATIC}  # by the beginning of a file's name; else CACHE
    paths = {name: folders.get(name.partition(".")[0], CACHE) / name for name in WORKER_FILES}
    return {name: files.add(name, path.read_bytes()) for name, path in paths.items()}


def _add_editor(files: "_Folder", ace: Path) -> None:
    """Add the editor as one script and one sheet, without images. ace: the folder of its package."""
    scripts = ((ace / "src-min-noconflict" / name).read_text() for name in _ACE_SCRIPTS)
    styles = ((ace / "css" / name).read_text() for name in _ACE_STYLES)
    files.add("ace.js", "\n".join(scripts).encode())
    files.add("ace.css", re.sub(r"url\([^)]*\)", "none", "\n".join(styles)).encode())


_ACE_SCRIPTS = ("ace.js", "mode-python.js", "theme-github.js", "theme-github_dark.js", "ext-searchbox.js")
_ACE_STYLES = ("ace.css", "theme/github.css", "theme/github_dark.css")


class _Folder:
    """The files of a build: `./name` in a text becomes the hashed name of a file that was added before."""

    def __init__(self, folder: Path) -> None:
        self.folder = folder
        self.names: dict[str, str] = {}  # name -> hashed name

    def add(self, name: str, data: bytes, *, hashed: bool = True) -> BuiltFile:
        """Write a file, and FILE.br if that is smaller by a tenth; return its address and its size in bytes.

        hashed: whether its name gets a hash of its content. Raises BuildError if node fails.
        """
        content = self._replace_names(data) if name.endswith((".js", ".html", ".css")) else data
        digest = hashlib.sha256(content).hexdigest()
        stem, _, ending = name.rpartition(".")
        self.names[name] = f"{stem}.{digest[:12]}.{ending}" if hashed else name
        path = self.folder / self.names[name]
        path.write_bytes(content)
        if ending != "zip":  # an archive is packed already
            packed = CACHE / f"{digest}.br"
            if not packed.exists():
                part = packed.with_suffix(".part")  # no build takes half a file, also of a cache that is copied
                _run("node", "-e", _BROTLI, path, part)
                part.replace(packed)
            if packed.stat().st_size < 0.9 * len(content):
                shutil.copyfile(packed, path.with_name(f"{path.name}.br"))
        return {"url": f"./{path.name}", "bytes": len(content)}

    def _replace_names(self, data: bytes) -> bytes:
        """Return a text with the hashed names of the files that were added before."""
        pattern = r"(?<=[\"'])\./([\w.-]+)"
        return re.sub(pattern, lambda match: f"./{self.names.get(match[1], match[1])}", data.decode()).encode()


_BROTLI = (
    'const [, from, to] = process.argv, fs = require("fs"), { brotliCompressSync, constants } = require("zlib");'
    "const data = fs.readFileSync(from);"
    "fs.writeFileSync(to, brotliCompressSync(data, { params: { [constants.BROTLI_PARAM_SIZE_HINT]: data.length,"
    " [constants.BROTLI_PARAM_LGWIN]: 24 } }));"
)


def _run(*command: str | Path, cwd: Path | None = None) -> None:
    """Run a command. Raises BuildError, with the end of its output, if it fails."""
    process = subprocess.run(list(map(str, command)), cwd=cwd, capture_output=True, text=True)
    if process.returncode:
        raise BuildError(f"{command[0]} failed:\n{process.stderr[-2000:].strip()}")


def _fetch(package: str) -> Path:
    """Return the folder of an unpacked package of npm. The archive is fetched only if the cache lacks it.

    package: of PACKAGES. Raises BuildError if npm fails or the archive has another hash.
    """
    archive = CACHE / f"{package}.tgz"
    if not archive.exists():
        CACHE.mkdir(parents=True, exist_ok=True)
        name, _, version = package.rpartition("-")
        _run("npm", "pack", "--silent", f"{name}@{version}", cwd=CACHE)
    if b64encode(hashlib.sha512(archive.read_bytes()).digest()).decode() != PACKAGES[package]:
        raise BuildError(f"{archive} isn't the pinned package: delete it, and build again.")
    folder = CACHE / package
    if not folder.exists():
        with tarfile.open(archive) as entries:
            entries.extractall(folder, filter="data")
    return folder / "package"


# --- Python


def list_modules() -> list[Path]:
    """Return the source files of all our modules that ENTRIES import, in a fresh interpreter."""
    program = f"import sys, {ENTRIES}\n" + _PRINT_FILES
    process = subprocess.run([sys.executable, "-c", program], cwd=ROOT, capture_output=True, text=True, check=True)
    paths = map(Path, process.stdout.splitlines())
    return [path.with_name(path.name.split(".")[0] + ".py") for path in paths]  # the sources of compiled modules


_PRINT_FILES = """for name, module in sorted(sys.modules.items()):
    if name.split(".")[0] in ("arena", "ladder", "protocol") and module.__file__:
        print(module.__file__)"""


def pack_modules(modules: Iterable[Path]) -> bytes:
    """Return arena.zip: the modules, the files that they read, and the sample bots."""
    paths = [*modules, *(ROOT / "arena/replay/static").iterdir()]
    paths += (path for pattern in _DATA_FILES for path in ROOT.glob(pattern))
    data = io.BytesIO()
    with zipfile.ZipFile(data, "w") as archive:
        for path in sorted(set(paths)):
            entry = zipfile.ZipInfo(path.relative_to(ROOT).as_posix(), _STAMP)
            archive.writestr(entry, path.read_bytes(), zipfile.ZIP_DEFLATED, 9)
    return data.getvalue()


_DATA_FILES = (
    "protocol/*.json",
    "protocol/kits/coup_kit.js",
    "sample_bots/*.py",
    "sample_bots/learner/*.*",
    "sample_bots/python/[bR]*",
)


# --- pages


def _hash_source(text: str) -> str:
    return f"'sha256-{b64encode(hashlib.sha256(text.encode()).digest()).decode()}'"


def _presets() -> list[dict[str, Any]]:
    """Return what a visitor chooses the rules of a table by."""
    return [
        {"name": name, "about": make_rules_object(rules)["about"], "counts": list(seat_counts(rules))}
        for name, rules in PRESETS.items()
    ]


def _describe_samples() -> list[dict[str, str]]:
    """Return name, description and measured level of the graded opponents and of sample bots, each the best first."""
    measurement = json.loads((STATIC.parent / "levels.json").read_text("utf-8"))
    levels = sorted(measurement["levels"].items(), key=lambda row: (row[0] not in GRADED, -sum(row[1].values())))
    conditions = f"two at a table ({measurement['games']} games, {measurement['date']})"
    samples = []
    for name, rates in levels:
        wins = [f"{round(100 * rate)} % against {opponent}" for opponent, rate in rates.items() if opponent != name]
        level = f"Wins {' and '.join(wins)}, {conditions}."
        samples.append({"name": name, "about": _describe_sample(name), "level": level})
    return samples


def _describe_sample(name: str) -> str:
    """Return what a graded opponent does, or the first line of a sample bot's docstring."""
    if name in GRADED:
        return f"Plays {100 * GRADED[name]:.0f} % of its moves as learner, and otherwise takes income or passes."
    path = ROOT / "sample_bots" / ("learner/bot.py" if name == "learner" else f"{name}.py")
    return (ast.get_docstring(ast.parse(path.read_text())) or "").partition("\n")[0]


def _render_licences(pyodide: Path, ace: Path) -> bytes:
    """Return the page with the licences of all that the build contains."""
    homes = [json.loads((folder / "package.json").read_text())["homepage"] for folder in (pyodide, ace)]
    python = distribution("typing_extensions").read_text("licenses/LICENSE")  # the licence of Python itself
    licences = [
        ("Coup Arena", "MIT", "", (ROOT / "LICENSE").read_text()),
        ("Pyodide", "MPL-2.0", f"Unchanged. Source: {homes[0]}, tag {PYODIDE.rpartition('-')[2]}.", _LINKED),
        ("Python", "PSF-2.0", "Modules of the standard library were compiled to bytecode.", python or ""),
        ("Ace", "BSD-3-Clause", f"Images were removed. Source: {homes[1]}.", (ace / "LICENSE").read_text()),
    ]
    sections = "".join(
        f"<h2>{name}: {licence}</h2>\n<p>{note}</p>\n<pre>{html.escape(text)}</pre>\n"
        for name, licence, note, text in licences
    )
    link = '<p><a href="./index.html">Back to the playground</a></p>'
    body = f'<main class="licences">{link}\n<h1>Licences</h1>\n{sections}</main>'
    style = style_sheets() + ".licences{max-width:48rem;margin:2rem auto;padding:0 1rem}"
    return html_page("Licences", body, [style], []).encode()


_LINKED = (
    "This Source Code Form is subject to the terms of the Mozilla Public License, v. 2.0.\n"
    "Its text stands at https://mozilla.org/MPL/2.0/.\n"
    "The WebAssembly file also contains parts of Emscripten, musl, zlib, libffi, SQLite, bzip2, xz and OpenSSL,\n"
    "under their own permissive licences. The source of Pyodide names the version and origin of each."
)


def _describe_kit() -> dict[str, list[tuple[str, str]]]:
    """Return the words of a bot: the actions and roles of the rules, then what the kit's source documents, by class.

    By title, a list of (word, description).
    """
    rules = make_rules_object(PRESETS["coup"])
    action_prefixes = {"effect": "", "cost": "costs ", "claim": "claims ", "blockers": "blocked by "}
    role_prefixes = {"allows": "allows ", "blocks": "blocks "}
    return {
        "Actions": [(row["action"], _describe(row, action_prefixes)) for row in rules["actions"]],
        "Roles": [(row["role"], _describe(row, role_prefixes)) for row in rules["roles"]],
        **{title: _describe_class(title) for title in ("Game", "Player", "History", "Bot")},
    }


def _describe_class(title: str) -> list[tuple[str, str]]:
    """Return (field or method with its parameters, description) of what the kit documents of a class."""
    [body] = re.findall(rf"^class {title}\b.*?:\n(.*?)(?=^\S)", _KIT, re.DOTALL | re.MULTILINE)
    entries = []
    for field, comment, method, parameters, docstring in re.findall(_DOCUMENTED, body, re.DOTALL | re.MULTILINE):
        names = re.sub(r": [^,=]*?(?= =|,|$)", "", parameters)  # without types
        word = field or f"{method}({names})".replace("()", "")
        entries.append((word, " ".join((comment or docstring).split())))
    return entries


def _describe(row: dict[str, Any], prefixes: dict[str, str]) -> str:
    """Return the values of a row that aren't empty as text, each with the prefix for its name."""
    texts = {name: ", ".join(row[name]) if isinstance(row[name], list) else row[name] for name in prefixes}
    return "; ".join(f"{prefixes[name]}{text}" for name, text in texts.items() if text)


_KIT = (ROOT / "protocol/kits/coup_kit.py").read_text("utf-8")
_DOCUMENTED = (  # a field with its comment, or a method or property with its docstring
    r"^    (?:    self\.)?([a-z]\w*)(?:: [^\n=]*)? = [^\n]*?  # ([^\n]*)$"
    r'|^    def ([a-z]\w*)\(self(?:, )?([^\n]*?)\)(?: ->[^\n]*)?:\n        """(.*?)"""'
)


def _find_first_bot() -> str:
    """Return the complete bot of the tutorial, with which the editor begins."""
    tutorial = (ROOT / "docs/tutorials/first-bot.md").read_text("utf-8")
    blocks: list[str] = re.findall(r"```python\n(.*?)```", tutorial, re.DOTALL)
    return next(block for block in blocks if "\nrun(" in block)


_WAYS = ways_html(
    'a href="./learn.html"',
    'button id="play-now"',
    'button id="invite"',
    "At a table with bots, in this browser.",
    "Copy the address of this page for a friend. At a ladder's tables people play together.",
)


def _write_index(files: _Folder, worker_files: dict[str, BuiltFile], table: BuiltFile) -> None:
    """Write the page and its service worker. worker_files, table: the files that the page loads.

    The policy lists the hashes of the page's own scripts, so this runs after all other files have their names.
    """
    box_script = (STATIC / "box.js").read_text()
    box_page = (STATIC / "box.html").read_text().replace("@HASH@", _hash_source(box_script))
    data: dict[str, Any] = {
        "files": worker_files,
        "box-page": box_page.replace("@SCRIPT@", box_script),
        "table-url": table["url"],
        "presets": _presets(),
        "samples": _describe_samples(),
        "first-bot": _find_first_bot(),
        "kit": _describe_kit(),
    }
    values = {
        "@POLICY@": _make_policy(box_script),
        "@WELCOME@": welcome_html(_WAYS),
        "@DATA@": "".join(json_element(name, value) for name, value in data.items()),
    }
    index = (STATIC / "index.html").read_text()
    for placeholder, value in values.items():
        index = index.replace(placeholder, value)
    files.add("index.html", index.encode(), hashed=False)
    names = sorted(set(files.names.values()) - {"index.html"})
    worker = (STATIC / "service-worker.js").read_text().replace("@FILES@", json.dumps([*names, "./"]))
    files.add("service-worker.js", worker.encode(), hashed=False)


def _make_policy(box_script: str) -> str:
    """Return the content security policy of the page, which allows the scripts of the page and of its frames."""
    frames = " ".join(map(_hash_source, (box_script, inline_module("app"))))
    return (
        f"default-src 'none'; script-src 'self' {frames} blob: 'wasm-unsafe-eval'; worker-src 'self' blob:; "
        f"style-src 'self' {_hash_source(style_sheets('page'))}; img-src 'self' data:; connect-src 'self'; "
        "frame-src 'self'; base-uri 'none'; form-action 'none'"
    )


if __name__ == "__main__":
    try:
        build_playground(Path(sys.argv[1]))
    except BuildError as error:
        sys.exit(str(error))
