"""What a user calls a bot: its name, its manifest, its digest, its build, and its way to another machine.

Hands out argv and a working folder; must not know the protocol, matches, or how a sandbox isolates.
"""

from arena.bots.archive import ArchiveError, pack, unpack
from arena.bots.bot import Bot, relocated
from arena.bots.build import BuildError, Telling, build_all, build_in_box, log_of, warnings_in
from arena.bots.bytecode import Bytecode, bytecode_of
from arena.bots.cache import BotCache
from arena.bots.digest import MAX_BYTES, MAX_FILES, check_unchanged, differs, digest_of, files_of, size_of
from arena.bots.errors import BotError, cell, shown
from arena.bots.imports import foreign_imports
from arena.bots.intake import MOST_UNPACKED, MOST_UPLOAD, Bundle, intake
from arena.bots.intake_process import intake_apart
from arena.bots.kit import completed, is_older, kit_of_file, lacks_kit
from arena.bots.language import language_of
from arena.bots.load import check_commands, load, sample_file, sample_folder, sample_names
from arena.bots.manifest import IN_BOXES
from arena.bots.names import normal_name
from arena.bots.portable import NotHereError, PortableBot, portable
from arena.bots.revision import check_out, copy_of
from arena.bots.starter import LANGUAGES, NewBot, new_bot, shipped_files
from arena.bots.toml_file import read_toml
