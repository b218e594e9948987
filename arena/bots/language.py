"""Which language a bot is written in, for people: by its kit, the programs of its commands, its files' endings."""

import os
from collections.abc import Iterable, Sequence

from arena.bots.bot import Bot
from arena.bots.manifest import KITS

# Name for people -> what shows it: its word in KITS, programs, and endings of files.
_SHOWN_BY = {
    "Python": ("python", "pypy", ".py"),
    "JavaScript": ("javascript", "node", "nodejs", "deno", "bun", ".js", ".mjs", ".ts"),
    "Java": ("java", "javac", ".java", ".jar"),
    "C++": ("cpp", "c++", "g++", "clang++", ".cpp", ".cc", ".cxx"),
    "C": ("cc", "gcc", "clang", ".c"),
    "Rust": ("rust", "rustc", "cargo", ".rs"),
    "Go": ("go", ".go"),
    "Ruby": ("ruby", ".rb"),
    "Perl": ("perl", ".pl"),
    "Lua": ("lua", ".lua"),
    "Haskell": ("ghc", "cabal", "runghc", ".hs"),
    "C#": ("dotnet", ".cs"),
    "shell": ("sh", "bash", "dash", "zsh", ".sh"),
}


_LANGUAGES = {mark: language for language, marks in _SHOWN_BY.items() for mark in marks}
_VERSION = "-.0123456789"  # of a program, at the end of its name: python3.12, g++-13


def language_of(bot: Bot) -> str | None:
    """Return the name of a bot's language, None if nothing shows it.

    A shell may start any bot, and a shell or Python may build it: they count where nothing else shows a language.
    """
    names = sorted(os.listdir(bot.path)) if bot.path.is_dir() else [bot.path.name]
    started = _languages([*([] if bot.kit is None else [bot.kit]), *_kits(names), *_program(bot.argv)])
    built = _languages([*_program(bot.build or ()), *(os.path.splitext(name)[1] for name in names)])
    helpers = ("shell",) if bot.build is None else ("shell", "Python")
    sure = [language for language in started if language != "shell"]
    likely = [language for language in built if language not in helpers]
    return next(iter([*sure, *likely, *started, *built]), None)


def _languages(marks: Iterable[str]) -> list[str]:
    return [_LANGUAGES[mark] for mark in marks if mark in _LANGUAGES]


def _kits(names: Sequence[str]) -> list[str]:
    return [language for language, file in KITS.items() if file in names]


def _program(command: Sequence[str]) -> list[str]:
    """Return what the program of a command may show: its name, and its ending."""
    words = [os.path.basename(word) for word in command]
    if words[:1] == ["env"]:
        words = [word for word in words[1:] if not word.startswith("-") and "=" not in word]
    return [mark for word in words[:1] for mark in (word.rstrip(_VERSION), os.path.splitext(word)[1])]
