"""Tests of downloads for authors: the documents as pages, the arena as a wheel, and a starter bot."""

import base64
import hashlib
import html
import io
import re
import subprocess
import sys
import zipfile
from pathlib import Path
from urllib.parse import unquote, urljoin

import pytest
from starlette.testclient import TestClient

import arena
from arena.bots import KITS, new_bot, read_submission
from ladder.web import list_document_files, make_app
from tests.cases import each
from tests.ladder.term import Term
from tests.ladder.web.visitors import URL, Pages, public

ROOT = Path(__file__).parents[3]
WHEEL = f"/downloads/coup_arena-{arena.__version__}-py3-none-any.whl"


def links(text: str) -> list[str]:
    return [html.unescape(link) for link in re.findall(r' (?:href|src)="([^"]*)"', text)]


def test_every_link_of_the_documents_leads_to_a_page_or_a_file_and_its_section(web: Pages) -> None:
    """No sign-in is needed; files that a ladder doesn't have, such as its sources, are no links."""
    visitor = web.visitor("anonymous")
    waiting, texts, led = ["/docs"], {}, set()
    while waiting:
        address = waiting.pop()
        answered = visitor.get(address)
        assert answered.status_code == 200, address
        page = answered.headers["content-type"].startswith("text/html")
        texts[address] = article = answered.text.partition("<article>")[2] if page else ""
        for link in links(article):
            path, _, section = urljoin(address, link).partition("#")
            if path.startswith("/docs"):
                led.add((address, path, unquote(section)))
                waiting += [path] if path not in texts and path not in waiting else []
    assert len(texts) > 50
    assert [each for each in led if each[2] and f'id="{each[2]}"' not in texts[each[1]]] == []
    for path in ("docs/reference/rules.md", "docs/reference/protocol/messages.md", "docs/reference/records.md"):
        for mark in ("<h2 id=", "<table", "<td>", "<pre><code" if path != "docs/reference/rules.md" else "<code>"):
            assert mark in texts[f"/docs/{path}"], path
    assert " style=" not in "".join(texts.values()), "the policy of the pages would refuse it"


@each("path", ["../pyproject.toml", "docs/../../pyproject.toml", "docs", "arena/__init__.py", "%2fetc%2fpasswd"])
def test_other_files_are_not_found(web: Pages, path: str) -> None:
    assert web.visitor("anonymous").get(f"/docs/{path}").status_code == 404


def test_commands_on_pages_have_the_configured_address_of_the_ladder(web: Pages, own: Term) -> None:
    shown = web.visitor("ada").get("/start", headers={"Host": "evil.example"}).text
    assert f"pip install {URL}{WHEEL}\n" in shown
    with public(own):
        shown = TestClient(make_app(web.ladder, "http://0.0.0.0:8000")).get("/start").text
    assert f'href="{WHEEL}"' in shown
    assert f"pip install ./{Path(WHEEL).name}\n" in shown


def test_the_wheel_is_complete_and_imports(web: Pages, tmp_path: Path) -> None:
    """It has the project's files, each with its digest; `arena` can be imported from the file itself."""
    answered = web.visitor("anonymous").get(WHEEL)
    archive = zipfile.ZipFile(io.BytesIO(answered.content))
    names = set(archive.namelist())
    record = next(name for name in names if name.endswith(".dist-info/RECORD"))
    rows = dict(line.split(",", 1) for line in archive.read(record).decode().splitlines())
    assert set(rows) == names
    for name in names - {record}:
        digest = base64.urlsafe_b64encode(hashlib.sha256(archive.read(name)).digest()).rstrip(b"=").decode()
        assert rows[name] == f"sha256={digest},{archive.getinfo(name).file_size}"
    assert {"arena/documents/docs/reference/rules.md", "arena/sample_bots/honest.py", "protocol/SPEC.md"} < names
    assert f"Version: {arena.__version__}\n" in archive.read(record.replace("RECORD", "METADATA")).decode()
    (tmp_path / "arena.whl").write_bytes(answered.content)
    code = "import sys; sys.path.insert(0, 'arena.whl'); import arena.coup, ladder; print(arena.coup.__file__)"
    ran = subprocess.run([sys.executable, "-c", code], cwd=tmp_path, capture_output=True, text=True, check=True)
    assert ran.stdout.startswith("arena.whl/")


@pytest.mark.long
def test_an_installed_wheel_serves_the_same_wheel(web: Pages, tmp_path: Path) -> None:
    wheel = tmp_path / Path(WHEEL).name
    wheel.write_bytes(web.visitor("anonymous").get(WHEEL).content)
    pip = [sys.executable, "-m", "pip", "install", "--no-deps", "--no-index", "--no-compile", "--quiet", "--target"]
    subprocess.run([*pip, tmp_path / "there", wheel], check=True, timeout=120)
    code = (
        "import sys; sys.path.insert(0, 'there'); from ladder.web import downloads, documents;"
        "assert downloads.__file__.startswith(sys.argv[1]);"
        "assert 'Rules' in documents.render_document('docs/reference/rules.md').title;"
        "sys.stdout.buffer.write(downloads.build_wheel())"
    )
    words = [sys.executable, "-c", code, str(tmp_path)]
    ran = subprocess.run(words, cwd=tmp_path, capture_output=True, check=True, timeout=120)
    assert ran.stdout == wheel.read_bytes()


@each("language", list(KITS))
def test_a_starter_equals_arena_new_and_is_accepted_by_a_ladder(web: Pages, tmp_path: Path, language: str) -> None:
    file = tmp_path / "bot.zip"
    file.write_bytes(web.visitor("anonymous").get(f"/downloads/mybot-{language}.zip").content)
    new_bot(tmp_path / language / "mybot", language)
    taken, made = read_submission(file), read_submission(tmp_path / language / "mybot")
    assert (taken.name, taken.digest) == (made.name, made.digest)


def test_other_downloads_are_not_there(web: Pages) -> None:
    for name in ("mybot-perl.zip", "python", "mybot-.zip", "coup_arena-9.9.9-py3-none-any.whl"):
        assert web.visitor("anonymous").get(f"/downloads/{name}").status_code == 404, name


def test_files_outside_the_project_are_not_served() -> None:
    """In a checkout these are untracked files, such as an author's bot; anywhere links and hidden files."""
    names = (".stray.md", "stray-link.md", "stray.md")[: 2 + (ROOT / ".git").exists()]
    stray = [ROOT / "docs" / name for name in names]
    try:
        for path in stray:
            path.symlink_to("/etc/hostname") if "link" in path.name else path.touch()
        assert {f"docs/{path.name}" for path in stray} & list_document_files.__wrapped__().keys() == set()
    finally:
        for path in stray:
            path.unlink(missing_ok=True)
