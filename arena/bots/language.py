"""Which language a bot is written in, for people: by its kit, the programs of its commands, its files' endings."""

import os
from collections.abc import Iterator

from arena.bots.bot import Bot
from arena.bots.manifest import KITS

# Name for people -> what shows it: its word in KITS, programs, and endings of files.
_SHOWN_BY = {
    "Python": ("python", "pypy", ".py"),
    "JavaScript": ("javascript", "node", "nodejs", "deno", "bun", ".js", ".mjs", ".ts"),
    "Java": ("java", "javac", ".java", ".jar"),
    "C++": ("cpp", "c++", "g++", "clang++", ".cpp", ".cc", ".cxx"),
    "C": ("c", "cc", "gcc", "clang", ".c"),
    "Rust": ("rust", "rustc", "cargo", ".rs"),
    "Go": ("go", ".go"),
    "Ruby": ("ruby", ".rb"),
    "Perl": ("perl", ".pl"),
    "Lua": ("lua", ".lua"),
    "Haskell": ("ghc", "cabal", "runghc", ".hs"),
    "C#": ("dotnet", "mono", ".cs"),
    "shell": ("sh", "bash", "dash", "zsh", ".sh"),
}


def language_of(bot: Bot) -> str | None:
    """Return the name of a bot's language, None if nothing shows it."""
    for mark in _marks(bot):
        for language, marks in _SHOWN_BY.items():
            if mark in marks:
                return language
    return None


def _marks(bot: Bot) -> Iterator[str]:
    """Yield what may show the language: the surest first."""
    names = sorted(os.listdir(bot.path)) if bot.path.is_dir() else [bot.path.name]
    if bot.kit is not None:
        yield bot.kit
    yield from (language for language, file in KITS.items() if file in names)
    for word in (*(bot.build or ()), *bot.argv):
        yield os.path.basename(word).rstrip("0123456789.")
    yield from (os.path.splitext(name)[1] for name in names)
