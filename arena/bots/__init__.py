"""Resolve, build, hash, archive and scaffold bots.

A resolved bot has a command (argv) and a working folder. This package must not know the protocol, matches, or
sandboxes' isolation.
"""

from arena.bots.archive import PROGRAM_STARTS, ArchiveError, pack, unpack
from arena.bots.bot import Bot, BotError, relocate_bot
from arena.bots.bot_loader import (
    copy_with_kit,
    find_sample,
    foreign_imports,
    is_missing_kit,
    is_older,
    load_bots,
    missing_bot_error,
    normal_name,
    parse_statements,
    require_unchanged_commands,
)
from arena.bots.build import (
    BuildError,
    BuildLogExcerpt,
    BytecodeCache,
    build_all,
    build_in_box,
    build_log_path,
    excerpt_warnings,
    parse_bytecode,
)
from arena.bots.cache import BotCache, check_out_revision, copy_name, extract_bot
from arena.bots.digest import MAX_BYTES, MAX_FILES, digest_of, files_of, is_changed, require_unchanged, size_of
from arena.bots.languages import BY_MARK, KITS, LANGUAGES, describe_idioms
from arena.bots.manifest import IN_BOXES, MANIFEST, language_of, read_toml
from arena.bots.portable_bot import MissingProgramError, PortableBot, make_portable
from arena.bots.scaffold import MODEL, NewBot, new_bot, shipped_files
from arena.bots.submission_conversion import (
    MAX_UNPACKED_BYTES,
    MAX_UPLOAD_BYTES,
    BotArchive,
    read_submission,
    read_submission_in_process,
)
from arena.escaping import escape_control, escape_csv_cell
from arena.samples import sample_folder
