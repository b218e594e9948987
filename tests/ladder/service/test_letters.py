"""`arena ladder mail`: what each participant is told, as files that a mail program opens. It sends nothing."""

from collections.abc import Sequence
from contextlib import closing
from email import message_from_bytes, policy
from email.message import EmailMessage
from pathlib import Path

import pytest
from sqlalchemy import update

from ladder.service import Ladder, LadderError, disable_bot, open_ladder, set_suspended, write_letters
from ladder.store.database import TABLES, Owner, put_owners
from tests.ladder.service.classes import deadline, hand_in, school, settle
from tests.ladder.service.term import Term
from tests.place import Place

EVIL = "x\r\nBcc: all@example.org"


def letters(folder: Path) -> dict[str, EmailMessage]:
    """Return the letters of a folder by their files' stems."""
    found = {}
    for path in folder.iterdir():
        message = message_from_bytes(path.read_bytes(), policy=policy.default)
        assert isinstance(message, EmailMessage)
        found[path.stem] = message
    return found


def of_term(own: Term, *words: object) -> dict[str, str]:
    """Return the texts that the command writes."""
    own.arena("mail", "--out", own.path.parent / "out", *words)
    return {name: message.get_content() for name, message in letters(own.path.parent / "out").items()}


def written(ladder: Ladder, people: Sequence[Owner] = (), login: str | None = None) -> dict[str, EmailMessage]:
    """Add people, and return the letters."""
    ladder.database.write(lambda connection: put_owners(connection, people, 1.0))
    out = ladder.path.parent / "out"
    write_letters(ladder, out, None, login, None, None)
    return letters(out)


def test_a_letter_tells_where_a_bot_stands_what_to_mend_and_what_is_next(own: Term) -> None:
    """Of a bot with faults, of one that can't play, and of nobody's."""
    told = of_term(own)
    assert set(told) == {"ada", "bob", "eve"}
    late, broken, nothing = told["ada"], told["bob"], told["eve"]
    assert "late: version 1 plays." in late
    assert "\nRank " in late
    assert "Faults of version 1: bad_json " in late
    assert "\n- bad_json, in match " in late
    assert "\n  -> print nothing but replies to standard output" in late
    assert "no json \\x1b[31m" in late, "what a bot wrote can't act on a terminal"
    assert "Next: mend bad_json first" in late
    assert "broken: no version plays, since version 1 is unfit" in broken
    assert "\n- version 1, hello: " in broken
    assert "\n  -> " in broken
    assert "Next: mend what keeps version 1 from playing" in broken
    assert "You have submitted nothing yet." in nothing
    assert "You may submit 10 more of 10 times" in nothing
    assert max(len(line) for text in told.values() for line in text.splitlines()) <= 78
    assert not [word for word in ("bob", "broken", "eve", "Bob", "Eve") if word in late]


def test_a_letter_knows_the_pages(own: Term) -> None:
    """Where ladder.toml says where people find them."""
    toml = own.path / "ladder.toml"
    toml.write_text(toml.read_text().replace("# url = ", "url = "))
    told = of_term(own)
    assert "\nhttps://coup.example.org/bots/late\n" in told["ada"]
    assert "https://coup.example.org/submit" in told["eve"]


def test_a_letter_about_a_deadline_says_what_stands_for_it(own: Term) -> None:
    """Without, all deadlines to come are told; what is over isn't."""
    settle_at = (("past", 2.0), ("first", 3e9), ("second", 4e9))
    toml = own.path / "ladder.toml"
    toml.write_text(toml.read_text() + "".join(deadline(name, at) for name, at in settle_at))
    told = of_term(own, "--deadline", "first")
    assert "late@1 stands for it." in " ".join(told["ada"].split())
    assert "nothing of yours stands for it." in " ".join(told["bob"].split())
    assert "second" not in told["ada"]
    (own.path.parent / "out").rename(own.path.parent / "before")
    told = of_term(own)
    assert "Deadline first: " in told["ada"]
    assert "Deadline second: " in told["ada"]
    assert "past" not in told["ada"]
    assert (
        own.arena("mail", "--out", own.path.parent / "new", "--deadline", "third", code=2).told[-1].startswith("There")
    )


def test_staff_and_who_left_get_none_and_who_is_suspended_is_told_why(own: Term) -> None:
    """Who asks for such a letter is told so."""
    with closing(open_ladder(own.path)) as ladder:
        owners = TABLES.tables["owners"]
        gone = update(owners).where(owners.c.login == "eve").values(gone=True)
        ladder.database.write(lambda connection: connection.execute(gone))
        set_suspended(ladder, "ada", True, "teacher", "copied \x1b[31m from a friend")
        disable_bot(ladder, "broken", "teacher", "it harms")
        for login in ("staff", "eve"):
            with pytest.raises(LadderError, match="nobody gets a letter"):
                write_letters(ladder, own.path.parent / "none", None, login, None, None)
    told = of_term(own)
    assert set(told) == {"ada", "bob"}
    assert "You are suspended: copied \\x1b[31m from a friend" in told["ada"]
    assert "Next:" not in told["ada"]
    assert "broken: it is disabled: it harms." in told["bob"]


def test_the_command_tells_who_has_no_email(own: Term) -> None:
    """That letter has no To; the report is JSON for programs."""
    with closing(open_ladder(own.path)) as ladder:
        person = Owner("ada", 'Ada "the" Größe, PhD', "", email="ada@example.org")
        ladder.database.write(lambda connection: put_owners(connection, [person], 1.0))
    ran = own.arena("mail", "--out", own.path.parent / "out", "--from", "Staff <t@example.org>", "--subject", "Größe")
    assert "no To: bob.eml, eve.eml" in ran.err
    assert "wrote 3 letters" in ran.err
    found = letters(own.path.parent / "out")
    assert (found["ada"]["From"], found["ada"]["Subject"]) == ("Staff <t@example.org>", "Größe")
    [to] = found["ada"]["To"].addresses
    assert (to.display_name, to.addr_spec) == ('Ada "the" Größe, PhD', "ada@example.org")
    assert found["bob"]["To"] is None
    told = own.json("mail", "--out", own.path.parent / "one", "--owner", "ada")
    assert told == {"rows": [{"login": "ada", "email": "ada@example.org", "file": "ada.eml"}]}


@pytest.mark.parametrize("email", ["a@example.org", EVIL, "a@b\nBcc: all@b", "a@b, all@b", "ü@b", "a", "@", '"@b', ""])
def test_no_name_and_no_email_adds_a_header(tmp_path: Path, email: str) -> None:
    """Whatever the database holds: a roster refuses most of these."""
    with closing(school(tmp_path / "spring", owners="ada")) as ladder:
        message = written(ladder, [Owner("ada", EVIL, "", email=email)])["ada"]
    assert set(message.keys()) <= {
        "To",
        "Subject",
        "X-Unsent",
        "Content-Type",
        "Content-Transfer-Encoding",
        "MIME-Version",
    }
    assert ("To" in message) == (email == "a@example.org")
    assert "Hello x\\r\\nBcc: all@example.org," in message.get_content()


@pytest.mark.parametrize("words", [("--from", EVIL), ("--from", "hello"), ("--from", ""), ("--subject", EVIL)])
def test_no_option_adds_a_header(own: Term, words: tuple[str, str]) -> None:
    """Refused, and no folder is made."""
    assert own.arena("mail", "--out", own.path.parent / "out", *words, code=2).told[0].startswith("arena: --from is")
    assert [path.name for path in own.path.parent.iterdir()] == ["spring"]


def test_each_login_has_a_file_of_its_own_in_the_folder(tmp_path: Path) -> None:
    """Also where case doesn't count, and where a login is a path."""
    logins = ["Ada", "ada", "../up", ".up", "a/b", "a\\b", "-x", "größe"]
    with closing(school(tmp_path / "spring", owners="eve")) as ladder:
        found = written(ladder, [Owner(login, login, f"P {login}") for login in logins])
        assert len({name.casefold() for name in found}) == len(logins) + 1
        hello = {message.get_content().partition(",")[0] for message in found.values()}
        assert hello == {f"Hello {login}" for login in [*logins, "eve"]}
        assert {path.name for path in tmp_path.iterdir()} == {"spring", "out"}
        assert (tmp_path / "out").stat().st_mode & 0o777 == 0o700


def test_letters_are_there_whole_or_not_at_all(place: Place) -> None:
    """A full disk leaves nothing; nothing is overwritten; an empty folder is taken."""
    with closing(school(place.folder / "spring")) as ladder:
        hand_in(ladder, "ada", "a")
        settle(ladder, deadline("first", 3e9))
    before = {path.name for path in place.folder.iterdir()}
    assert place.run("ladder", "mail", "spring", "--out", "out", file_bytes=200).code == 1
    assert {path.name for path in place.folder.iterdir()} == before
    (place.folder / "out").mkdir()
    assert place.call("ladder", "mail", "spring", "--out", "out").code == 0
    first = {path.name: path.read_bytes() for path in (place.folder / "out").iterdir()}
    assert set(first) == {"ada.eml", "bob.eml"}
    refused = place.call("ladder", "mail", "spring", "--out", "out")
    assert (refused.code, refused.told[1]) == (2, "Name a new folder: --out DIR")
    assert {path.name: path.read_bytes() for path in (place.folder / "out").iterdir()} == first
