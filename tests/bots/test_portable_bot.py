"""Portable bots: their command without paths, their files by digest."""

import io
import os
import pickle
import subprocess
import sys
import tarfile
import time
from dataclasses import replace
from pathlib import Path

import pytest

from arena.bots import (
    ArchiveError,
    Bot,
    BotCache,
    MissingProgramError,
    PortableBot,
    check_out_revision,
    digest_of,
    is_changed,
    load_bots,
    make_portable,
    pack,
)
from arena.sandbox import Programs

TEXT = f"#!{sys.executable}\nprint()\n"


def file_bot(folder: Path, text: str = TEXT, name: str = "bot.py") -> Bot:
    folder.mkdir(parents=True, exist_ok=True)
    (folder / name).write_text(text)
    return load_bots([str(folder / name)])[0][0]


def folder_bot(folder: Path, run: str = '["./start.sh", "./start.sh", "a{0}\\u0001", "--fast"]') -> Bot:
    folder.mkdir(parents=True)
    (folder / "bot.toml").write_text(f"run = {run}\n")
    (folder / "start.sh").write_text("#!/bin/sh\n")
    (folder / "start.sh").chmod(0o755)
    (folder / "data").mkdir()
    (folder / "data" / "weights").write_bytes(b"1 2 3")
    (folder / "latest").symlink_to("data/weights")
    return load_bots([str(folder)])[0][0]


def archive_of(bot: Bot) -> io.BytesIO:
    archive = io.BytesIO()
    pack(bot.path, archive)
    archive.seek(0)
    return archive


def cache_in(folder: Path) -> BotCache:
    folder.mkdir()
    return BotCache(folder)


@pytest.mark.parametrize("make", [file_bot, folder_bot], ids=["file", "folder"])
def test_a_bot_is_unchanged_on_its_own_machine(tmp_path: Path, make: type) -> None:
    bot = make(tmp_path / "bot")
    assert make_portable(bot, Programs()).resolve_on(bot.path, Programs()) == bot


def test_a_portable_bot_has_no_path_of_its_machine(tmp_path: Path) -> None:
    (tmp_path / "plain").mkdir()
    (tmp_path / "plain" / "plain.py").write_text("print()\n")
    (tmp_path / "plain" / "shell.sh").write_text("exit\n")
    bots = [
        *load_bots([str(tmp_path / "plain" / "plain.py"), str(tmp_path / "plain" / "shell.sh")])[0],
        folder_bot(tmp_path / "folder"),
        folder_bot(tmp_path / "python", '["python3", "bot.py"]'),
    ]
    for bot in bots:
        data = pickle.dumps(make_portable(bot, Programs()))
        for path in (str(tmp_path), sys.prefix, "/bin/"):
            assert path.encode() not in data, bot.argv


def test_programs_are_found_where_the_worker_has_them(tmp_path: Path) -> None:
    (tmp_path / "bin").mkdir()
    (tmp_path / "bin" / "sh").write_text("#!/bin/sh\n")
    (tmp_path / "bin" / "sh").chmod(0o755)
    there = Programs("/opt/python", path=str(tmp_path / "bin"))
    (tmp_path / "a.py").write_text("print()\n")
    (tmp_path / "b.sh").write_text("exit\n")
    python, shell = (
        make_portable(bot, Programs()) for bot in load_bots([str(tmp_path / "a.py"), str(tmp_path / "b.sh")])[0]
    )
    assert python.resolve_on(Path("/x/a.py"), there).argv == ("/opt/python", "/x/a.py")
    assert shell.resolve_on(Path("/x/b.sh"), there).argv == (str(tmp_path / "bin" / "sh"), "/x/b.sh")
    with pytest.raises(MissingProgramError, match='lacks the program "sh", which runs the bot "b"'):
        shell.resolve_on(Path("/x/b.sh"), Programs(path=str(tmp_path / "nowhere")))


def test_a_path_that_its_author_wrote_stays(tmp_path: Path) -> None:
    (tmp_path / "sh").write_text("#!/bin/sh\n")
    (tmp_path / "sh").chmod(0o755)
    bot = file_bot(tmp_path / "bot", f"#!{tmp_path}/sh -x\n")
    found = make_portable(bot, Programs()).resolve_on(Path("/there/bot.py"), Programs())
    assert found.argv == (f"{tmp_path}/sh", "-x", "/there/bot.py")
    assert found.cwd == Path("/there")


def test_a_path_that_only_begins_like_the_bots_is_not_the_bots(tmp_path: Path) -> None:
    bot = folder_bot(tmp_path / "on", f'["./start.sh", "{tmp_path}/one", "{tmp_path}/on/data", "{tmp_path}/on"]')
    there = make_portable(bot, Programs()).resolve_on(Path("/there"), Programs())
    assert there.argv[1:] == (f"{tmp_path}/one", "/there/data", "/there")


# --- the cache --------------------------------------------------------------------------------------------------------


def test_a_linked_bot_plays_from_its_own_folder(tmp_path: Path) -> None:
    one, two = file_bot(tmp_path / "one"), replace(file_bot(tmp_path / "two"), name="bot-2")
    assert one.digest == two.digest
    cache = cache_in(tmp_path / "cache")
    for bot in (one, two):
        cache.link(bot)
    for bot in (one, two):
        assert cache.locate(make_portable(bot, Programs())) == bot.path


def long_file_bot(folder: Path) -> Bot:
    return file_bot(folder, name="bot." + "x" * 250)


@pytest.mark.parametrize("make", [file_bot, long_file_bot, folder_bot], ids=["file", "file's long name", "folder"])
def test_a_bot_is_unpacked_from_an_archive(tmp_path: Path, make: type) -> None:
    bot = make(tmp_path / "original")
    archive = archive_of(bot)
    bot.path.parent.rename(tmp_path / "gone") if bot.path.is_file() else bot.path.rename(tmp_path / "gone")
    cache = cache_in(tmp_path / "cache")
    for name in ("bot", "another name"):
        there = replace(make_portable(bot, Programs()), name=name)
        archive.seek(0)
        cache.add(there, archive)
        place = cache.locate(there)
        assert place.is_relative_to(tmp_path / "cache")
        found = there.resolve_on(place, Programs())
        assert not is_changed(found)
        assert found.argv[0] == bot.argv[0] or os.access(found.argv[0], os.X_OK)
    assert len(list((tmp_path / "cache").iterdir())) == 1, "nothing half-done is left"


def test_an_archive_made_by_an_older_list_of_files_is_accepted(tmp_path: Path) -> None:
    """A folder `arena-runs` was once part of the digest; bots of that time play on."""
    bot = folder_bot(tmp_path / "original")
    (bot.path / "arena-runs").mkdir()
    (bot.path / "arena-runs" / "notes.txt").write_text("of a run")
    then = replace(make_portable(bot, Programs()), digest=digest_of(bot.path, frozenset()))
    assert then.digest != digest_of(bot.path)
    archive = io.BytesIO()
    with tarfile.open(fileobj=archive, mode="w", format=tarfile.GNU_FORMAT) as entries:
        entries.add(bot.path, "")
    archive.seek(0)
    cache = cache_in(tmp_path / "cache")
    cache.add(then, archive)
    assert (cache.locate(then) / "arena-runs" / "notes.txt").exists()


def test_a_bot_that_is_not_in_the_cache_is_named(tmp_path: Path) -> None:
    bot = make_portable(file_bot(tmp_path / "bot"), Programs())
    with pytest.raises(MissingProgramError, match=f"\"bot\" isn't in this machine's cache: {bot.digest}"):
        cache_in(tmp_path / "cache").locate(bot)


@pytest.mark.parametrize("make", [file_bot, folder_bot], ids=["file", "folder"])
def test_files_that_do_not_fit_their_digest_are_refused(tmp_path: Path, make: type) -> None:
    bot = make(tmp_path / "bot")
    asked = replace(make_portable(bot, Programs()), digest="0" * 64)
    cache = cache_in(tmp_path / "cache")
    with pytest.raises(MissingProgramError, match=f"contains {bot.digest}, not {'0' * 64}"):
        cache.add(asked, archive_of(bot))
    with pytest.raises(MissingProgramError, match="isn't in this machine's cache"):
        cache.locate(asked)
    assert list((tmp_path / "cache").iterdir()) == []


def test_an_archive_of_a_folder_is_no_bare_file(tmp_path: Path) -> None:
    bot = folder_bot(tmp_path / "bot")
    with pytest.raises(MissingProgramError, match="contains no file bot, not"):
        cache_in(tmp_path / "cache").add(PortableBot("bot", bot.digest, ("\0place",), "bot"), archive_of(bot))


def test_a_file_that_is_not_an_archive_is_refused(tmp_path: Path) -> None:
    bot = make_portable(file_bot(tmp_path / "bot"), Programs())
    with pytest.raises(ArchiveError):
        cache_in(tmp_path / "cache").add(bot, io.BytesIO(b"nonsense" * 200))
    assert list((tmp_path / "cache").iterdir()) == []


def test_two_bare_files_with_the_same_bytes_are_two_bots(tmp_path: Path) -> None:
    """A bare file's digest covers only its bytes, neither its name nor the x bit."""
    cache = cache_in(tmp_path / "cache")
    for name, mode in (("a.py", 0o644), ("b.sh", 0o755)):
        path = tmp_path / name
        path.write_text("#!/bin/sh\n")
        path.chmod(mode)
        (bot,), _ = load_bots([str(path)])
        there = make_portable(bot, Programs())
        cache.add(there, archive_of(bot))
        found = cache.locate(there)
        assert (found.name, os.access(found, os.X_OK)) == (name, True)


def test_a_program_that_only_another_machine_has_is_named(tmp_path: Path) -> None:
    """The worker that lacks it can't play the bot, which isn't the bot's fault."""
    bot = make_portable(file_bot(tmp_path / "bot"), Programs())
    alien = replace(bot, argv=("/no/such/program", *bot.argv[1:]))
    with pytest.raises(MissingProgramError, match='lacks the program "/no/such/program"'):
        alien.resolve_on(tmp_path / "bot", Programs())


@pytest.mark.parametrize(
    "change", [{"name": "../bot"}, {"file": "a/b"}, {"file": ".."}, {"file": ""}, {"digest": "../" + "0" * 61}]
)
def test_a_name_or_digest_with_a_path_is_refused(tmp_path: Path, change: dict[str, str]) -> None:
    """Names and digests become file names in the cache."""
    with pytest.raises(ValueError, match="don't identify a bot"):
        replace(make_portable(file_bot(tmp_path / "bot"), Programs()), **change)


# --- a cache that has a bound -----------------------------------------------------------------------------------------


def fill_cache(tmp_path: Path, cache: BotCache, *names: str) -> list[PortableBot]:
    made = []
    for number, name in enumerate(names):
        (tmp_path / name).mkdir()
        bot = folder_bot(tmp_path / name / "bot")
        (bot.path / "data" / "weights").write_bytes(bytes([number]) * 1_000)
        bot = load_bots([str(bot.path)])[0][0]
        made.append(make_portable(bot, Programs()))
        cache.add(made[-1], archive_of(bot))
    return made


def has(cache: BotCache, bot: PortableBot) -> bool:
    try:
        cache.locate(bot)
    except MissingProgramError:
        return False
    return True


def test_a_cache_keeps_the_bots_used_last(tmp_path: Path) -> None:
    cache = cache_in(tmp_path / "cache")
    one, two, three = fill_cache(tmp_path, cache, "one", "two", "three")
    with cache.hold(one):
        pass
    cache.trim(2_500)
    assert [has(cache, bot) for bot in (one, two, three)] == [True, False, True]
    cache.trim(0)
    assert list((tmp_path / "cache").iterdir()) == []


def test_a_cache_keeps_bots_that_are_playing(tmp_path: Path) -> None:
    cache = cache_in(tmp_path / "cache")
    one, two = fill_cache(tmp_path, cache, "one", "two")
    with cache.hold(one):
        BotCache(tmp_path / "cache").trim(0)
        assert [has(cache, bot) for bot in (one, two)] == [True, False]
        assert (cache.locate(one) / "data" / "weights").stat().st_size == 1_000
    with pytest.raises(MissingProgramError, match=two.digest), cache.hold(two):
        pass


def test_a_cache_removes_remains_of_a_killed_process(tmp_path: Path) -> None:
    cache = cache_in(tmp_path / "cache")
    bot = file_bot(tmp_path / "linked")
    cache.link(bot)
    for name, age_s in (("new-a", 7_200), ("gone-b", 7_200), ("new-c", 0)):
        (tmp_path / "cache" / name).mkdir()
        then = time.time() - age_s
        os.utime(tmp_path / "cache" / name, (then, then))
    cache.trim(0)
    assert {path.name for path in (tmp_path / "cache").iterdir()} == {"new-c", f"{bot.digest}.{bot.name}"}


def test_an_error_of_the_caller_is_not_changed_by_the_cache(tmp_path: Path) -> None:
    cache = cache_in(tmp_path / "cache")
    (one,) = fill_cache(tmp_path, cache, "one")
    with pytest.raises(OSError, match="full"), cache.hold(one):
        raise OSError("full")


# --- revisions --------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("folder", [b"caf\xe9", b"ends with a blank "], ids=["not UTF-8", "a blank"])
def test_a_revision_is_copied_from_a_folder_with_any_name(tmp_path: Path, folder: bytes) -> None:
    name = os.fsdecode(folder)
    bot = file_bot(tmp_path / name / name).path
    for words in (["init"], ["add", "."], ["-c", "user.name=A", "-c", "user.email=a@b", "commit", "-m", "Add a bot"]):
        subprocess.run(["git", "-C", str(tmp_path / name), *words], check=True, capture_output=True)
    copy, _ = check_out_revision(bot, "HEAD", tmp_path / "copies")
    assert copy.read_text() == TEXT
