"""Define the tables of a ladder's database.

Results are facts: their rows are written once, when a match ends, and never changed. Decisions of people are facts,
too: rows of the audit log. A few columns repeat facts for speed: active bots, suspended and withdrawn users, the
states of versions, rated matches, and the totals of a match's bots. The transaction that writes the fact also writes
the column and an event, which signals a change and contains no fact of its own.

Times are seconds since 1970, UTC. They don't define an order, because clocks are set back. Ids only grow."""

from sqlalchemy import (
    BigInteger,
    Boolean,
    Column,
    Float,
    ForeignKey,
    Index,
    Integer,
    LargeBinary,
    MetaData,
    String,
    Table,
    Text,
    UniqueConstraint,
    false,
)

METADATA = MetaData(
    naming_convention={
        "ix": "ix_%(table_name)s_%(column_0_N_name)s",
        "uq": "uq_%(table_name)s_%(column_0_N_name)s",
        "fk": "fk_%(table_name)s_%(column_0_N_name)s",
        "pk": "pk_%(table_name)s",
    }
)

# The fixed settings of a ladder, as JSON: match settings, key, name. A row is never changed.
settings = Table(
    "settings", METADATA, Column("name", String(40), primary_key=True), Column("value", Text, nullable=False)
)

users = Table(
    "users",
    METADATA,
    Column("id", Integer, primary_key=True),
    Column("login", String(100), nullable=False, unique=True),
    Column("name", Text, nullable=False),
    Column("email", Text),
    Column("student_id", String(100)),  # the school's: Canvas' SIS User ID, Moodle's ID number
    Column("section", Text),
    Column("pseudonym", String(100), nullable=False, unique=True),
    Column("staff", Boolean, nullable=False),
    Column("suspended", Boolean, nullable=False, server_default=false()),
    Column("created_at", Float, nullable=False),
    Column("canvas_id", String(100)),  # Canvas' ID of the person
    Column("moodle_id", String(100)),  # Moodle's Identifier in the last grading worksheet, as "Participant 123"
    Column("withdrawn", Boolean, nullable=False, server_default=false()),  # the person left the course
    Column("waiting", Boolean, nullable=False, server_default=false()),  # signed up, and staff hasn't approved yet
    Column("merged_into", Integer),  # another user; no foreign key, which rows of copies would break
    Column("shows_name", Boolean, nullable=False, server_default=false()),  # agreed to have it on podiums
    Column("seen_at", Float),  # when the user last had a page open; written once a minute
)

# A user is in one team at a time: `left_at` is null in the row that holds.
teams = Table(
    "teams",
    METADATA,
    Column("id", Integer, primary_key=True),
    Column("name", String(100), nullable=False, unique=True),
    Column("created_at", Float, nullable=False),
)

team_members = Table(
    "team_members",
    METADATA,
    Column("id", Integer, primary_key=True),
    Column("team_id", ForeignKey("teams.id"), nullable=False, index=True),
    Column("user_id", ForeignKey("users.id"), nullable=False, index=True),
    Column("joined_at", Float, nullable=False),
    Column("left_at", Float),
)

# Credentials of users without access to the ladder's file. Only the SHA-256 of a secret is stored; for a password,
# which can be guessed, a hash that is slow to compute.
credentials = Table(
    "credentials",
    METADATA,
    Column("id", Integer, primary_key=True),
    Column("user_id", ForeignKey("users.id"), nullable=False, index=True),
    Column("kind", String(10), nullable=False),  # link, session, token, password, openid, join, team
    Column("token_sha256", String(64), nullable=False, unique=True),
    Column("scope", String(10), nullable=False),  # read, submit; of a link to join: join, ask
    Column("created_by", Text, nullable=False),  # its maker's login
    Column("created_at", Float, nullable=False),
    Column("expires_at", Float, nullable=False),
    Column("revoked", Boolean, nullable=False),
    Column("session_id", Integer),  # that a link was changed into; no foreign key, which rows of copies would break
    Column("password_hash", Text),  # of a password, by Argon2, while it is valid
)

bots = Table(
    "bots",
    METADATA,
    Column("id", Integer, primary_key=True),
    Column("owner_id", ForeignKey("users.id"), nullable=False, index=True),
    Column("name", String(100), nullable=False, unique=True),
    Column("is_reference", Boolean, nullable=False),
    Column("active_version_id", Integer),  # the version that plays; no foreign key, which would close a circle
    Column("created_at", Float, nullable=False),
)

# A bot's versions are numbered from 1. `digest` is of the submitted files, `built_digest` of the files that are played.
versions = Table(
    "versions",
    METADATA,
    Column("id", Integer, primary_key=True),
    Column("bot", ForeignKey("bots.id"), nullable=False),
    Column("number", Integer, nullable=False),
    Column("digest", String(64), nullable=False),
    Column("single_file_name", Text),  # of a bare file: its name
    Column("built_digest", String(64)),
    Column("command", Text),  # starts it; as JSON, from the check
    Column("language", String(20)),  # in which it is written, from the check
    Column("status", String(10), nullable=False, index=True),  # queued, checking, accepted, rejected
    Column("runner", String(40)),  # that checks it
    Column("attempts", Integer, nullable=False),  # at a check that failed through the host
    Column("lost_runners", Integer, nullable=False, server_default="0"),  # of runners and machines that checked it
    Column("last_failure_at", Float),  # the last attempt
    Column("rejection_reason", Text),
    Column("submitted_at", Float, nullable=False),
    Column("checked_at", Float),
    Column("last_audit_id", Integer, nullable=False),  # the last entry before it was submitted
    # The time that deadlines ask for: submitted_at, unless staff gave another one.
    Column("received_at", Float, nullable=False, server_default="0"),
    Column("submitted_by", Text),  # the login that submitted it; null: an arena that didn't store it
    UniqueConstraint("bot", "number"),
)

# Compressed archives of bots, by the digest of their files and a single-file bot's file name.
archives = Table(
    "archives",
    METADATA,
    Column("digest", String(64), primary_key=True),
    Column("single_file_name", String(255), primary_key=True),  # "" for a folder
    Column("data", LargeBinary, nullable=False),
)

check_steps = Table(
    "check_steps",
    METADATA,
    Column("version", ForeignKey("versions.id"), primary_key=True),
    Column("step", Integer, primary_key=True),
    Column("data", Text, nullable=False),  # a CheckStepView as JSON
    Column("build_log", LargeBinary),  # all that a build printed
)

audit_log = Table(
    "audit_log",
    METADATA,
    Column("id", Integer, primary_key=True),
    Column("created_at", Float, nullable=False),
    Column("actor", Text, nullable=False),
    Column("action", String(20), nullable=False),
    Column("bot", ForeignKey("bots.id"), index=True),
    Column("version", ForeignKey("versions.id")),
    Column("match", ForeignKey("matches.id")),
    Column("user_id", ForeignKey("users.id"), index=True),
    Column("reason", Text, nullable=False),
    Index("ix_audit_log_action", "action", "id"),
)

# Extensions of ladder.toml's deadlines for single users. The newest row of a user and a deadline applies.
deadline_extensions = Table(
    "deadline_extensions",
    METADATA,
    Column("id", Integer, primary_key=True),
    Column("user_id", ForeignKey("users.id"), nullable=False, index=True),
    Column("deadline", String(40), nullable=False),
    Column("extended_until", Float),  # null: the deadline itself
    Column("late_days", Integer, nullable=False),  # of the person's own that it took
    Column("reason", Text, nullable=False),
)

# Released grades. A row is never changed.
grade_releases = Table(
    "grade_releases",
    METADATA,
    Column("id", Integer, primary_key=True),
    Column("name", String(40), nullable=False, unique=True),
    Column("scope", Text, nullable=False),  # the final or the deadline, as JSON
    Column("created_at", Float, nullable=False),
    Column("created_by", Text, nullable=False),
    Column("data", LargeBinary, nullable=False),  # what it was made from and what came of it: JSON, compressed
)

# Recent events, for clients that follow them. An id is never reused, even if all rows are removed.
events = Table(
    "events",
    METADATA,
    Column("id", Integer, primary_key=True),
    Column("occurred_at", Float, nullable=False),
    Column("type", String(20), nullable=False),
    Column("version", ForeignKey("versions.id")),
    Column("match", ForeignKey("matches.id")),
    Column("audit_id", ForeignKey("audit_log.id")),
    Column("table_session_id", ForeignKey("table_sessions.id")),
    Column("details", Text),  # of a sign-in: the login, and the way
    sqlite_autoincrement=True,
)

# Runners and table servers. `heartbeat` grows while the process lives; else other runners release its matches.
runners = Table(
    "runners",
    METADATA,
    Column("id", String(40), primary_key=True),
    Column("host", Text, nullable=False),  # with the boot's id: process numbers mean nothing beyond it
    Column("pid", Integer, nullable=False),
    Column("process_start", Text, nullable=False),  # the process's start, as its kernel reports it
    Column("heartbeat", Integer, nullable=False),
    Column("capacity", Integer, nullable=False),  # matches side by side
    Column("started_at", Float, nullable=False),
    Column("ended", Boolean, nullable=False),
    Column("port", Integer),  # of 127.0.0.1, where a table server listens; null: it plays matches
    Column("secret", Text),  # that web servers show there
)

finals = Table(
    "finals",
    METADATA,
    Column("id", Integer, primary_key=True),
    Column("name", String(100), nullable=False, unique=True),
    Column("key", String(64), nullable=False),  # to be shown once `revealed`
    Column("versions", Text, nullable=False),  # JSON: ids in the order of the plan
    Column("games_per_version", Integer, nullable=False),  # of each version, at least
    Column("deadline_at", Float),  # the deadline whose versions play; null: those that played when it was made
    Column("versions_until", Float, nullable=False),  # versions that were submitted later don't play
    Column("is_open", Boolean, nullable=False),  # its results are public while it is played
    Column("max_extra_rounds", Integer, nullable=False),  # of matches that break a tie
    Column("extra_rounds", Text, nullable=False),  # JSON: of each, the indices in `versions` of those that play
    Column("revealed", Boolean, nullable=False),
    Column("champion", Integer),  # the version that won, without reference bots; null before the reveal
    Column("created_at", Float, nullable=False),
    Column(
        "owner_groups", Text, nullable=False, server_default="[]"
    ),  # JSON: a number for each version; equal ones don't meet
)

# status: queued, leased, ended. outcome, of one that ended: played, abandoned, cancelled.
matches = Table(
    "matches",
    METADATA,
    Column("id", Integer, primary_key=True),
    Column("kind", String(10), nullable=False),  # rated, qualifying, challenge, final
    Column("round", Integer),
    Column("final", ForeignKey("finals.id")),
    Column("plan_index", Integer),  # in the final's plan
    Column("requested_by", ForeignKey("users.id")),  # the user that requested a challenge
    Column("status", String(10), nullable=False),
    Column("runner", String(40)),
    Column("attempts", Integer, nullable=False),
    Column("lost_runners", Integer, nullable=False, server_default="0"),  # of runners and machines that played it
    Column("last_failure_at", Float),  # the last attempt
    Column("outcome", String(10)),
    Column("reason", Text),
    Column("is_rated", Boolean, nullable=False),  # it was played, its kind rates, and it isn't void
    Column("queued_at", Float, nullable=False),
    Column("end_sequence", Integer, unique=True),  # of those that were played: counts from 1 in the order of their ends
    Column("ended_at", Float),
    Index("ix_matches_pending", "status", "kind", "id"),
    Index("ix_matches_is_rated", "is_rated", "kind", "end_sequence"),
    Index("ix_matches_final", "final", "plan_index"),
    Index("ix_matches_round", "round"),
)

# One row for each bot of a match. `slot` is the index in the match's spec.
match_players = Table(
    "match_players",
    METADATA,
    Column("match", ForeignKey("matches.id"), primary_key=True),
    Column("slot", Integer, primary_key=True),
    Column("version", ForeignKey("versions.id"), nullable=False),
    Column("games", Integer, nullable=False),
    Column("wins", Float, nullable=False),  # a draw among j is 1/j
    Column("forfeits", Integer, nullable=False),
    Column("faults", Integer, nullable=False),
    Column("requests", Integer, nullable=False),
    Column("think_time_us", BigInteger, nullable=False),  # of its own, for all requests
    Column("max_time_us", BigInteger, nullable=False),
    Column("peak_bytes", BigInteger),
    Column("play_style", Text),  # what the bot did, as JSON, for as long as the match's record is kept
    Index("ix_match_players_version", "version", "match"),
    sqlite_with_rowid=False,
)

# `seats` contains the slot in each seat: "2031" means that slot 2 had seat 0.
games = Table(
    "games",
    METADATA,
    Column("match", ForeignKey("matches.id"), primary_key=True),
    Column("game", Integer, primary_key=True),
    Column("seats", String(10), nullable=False),
    Column("winner", Integer),
    Column("reason", String(20), nullable=False),
    Column("survivors", String(10), nullable=False),
    Column("eliminated", Text, nullable=False),  # "seat:turn seat:turn"
    Column("turns", Integer, nullable=False),
    Column("forfeits", String(10), nullable=False),
    sqlite_with_rowid=False,
)

faults = Table(
    "faults",
    METADATA,
    Column("match", ForeignKey("matches.id"), primary_key=True),
    Column("game", Integer, primary_key=True),
    Column("seat", Integer, primary_key=True),
    Column("number", Integer, primary_key=True),  # in the game's list
    Column("version", ForeignKey("versions.id"), nullable=False),
    Column("code", String(40), nullable=False),
    Column("count", Integer, nullable=False),
    Index("ix_faults_version", "version", "code"),
    sqlite_with_rowid=False,
)

# The first MAX_SAMPLES_PER_FAULT fault samples of each version and kind.
fault_samples = Table(
    "fault_samples",
    METADATA,
    Column("match", ForeignKey("matches.id"), primary_key=True),
    Column("sample", Integer, primary_key=True),
    Column("version", ForeignKey("versions.id"), nullable=False),
    Column("code", String(40), nullable=False),
    Column("data", Text, nullable=False),  # a line of StoredFaultSample
    Index("ix_fault_samples_version", "version", "code"),
)

# Reviews of a version's last lost game in a match. A row is inserted when the review starts, and gets its result once.
reviews = Table(
    "reviews",
    METADATA,
    Column("version", ForeignKey("versions.id"), primary_key=True),
    Column("match", ForeignKey("matches.id"), primary_key=True),
    Column("created_at", Float, nullable=False, index=True),
    Column("data", Text),  # the most costly decisions as JSON; null: it hasn't ended, or was interrupted
    sqlite_with_rowid=False,
)

records = Table(
    "records",
    METADATA,
    Column("match", ForeignKey("matches.id"), primary_key=True),
    Column("data", LargeBinary, nullable=False),
)

logs = Table(
    "logs",
    METADATA,
    Column("match", ForeignKey("matches.id"), primary_key=True),
    Column("slot", Integer, primary_key=True),
    Column("number", Integer, primary_key=True),
    Column("data", LargeBinary, nullable=False),
)

# Failed attempts at matches.
failed_attempts = Table(
    "failed_attempts",
    METADATA,
    Column("id", Integer, primary_key=True),
    Column("match", ForeignKey("matches.id"), nullable=False, index=True),
    Column("runner", String(40), nullable=False),
    Column("failed_at", Float, nullable=False),
    Column("reason", Text, nullable=False),
    Column("is_last", Boolean, nullable=False),
    Column("worker_died", Boolean, nullable=False, server_default=false()),  # in the middle of the match
)

# The last standings of each day, one row for each active version: for trends, curves, and old standings.
rating_history = Table(
    "rating_history",
    METADATA,
    Column("day", String(10), primary_key=True),
    Column("version", ForeignKey("versions.id"), primary_key=True),
    Column("position", Integer, nullable=False),
    Column("best_rank", Integer, nullable=False),
    Column("worst_rank", Integer, nullable=False),
    Column("rating", Float, nullable=False),
    Column("rating_low", Float),
    Column("rating_high", Float),
    Column("win_rate", Float),  # of the games that were played
    Column("win_rate_adjusted", Float),  # as if all had met equally often
    Column("win_rate_adjusted_low", Float),
    Column("win_rate_adjusted_high", Float),
    Column("games", Integer, nullable=False),
    Column("matches", Integer, nullable=False),
    Column("forfeits", Integer, nullable=False),
    Column("faults", Integer, nullable=False),
    Index("ix_rating_history_version", "version", "day"),
    sqlite_with_rowid=False,
)

# The newest standings as JSON; for each earlier day, the last ones without rows, which are in rating_history.
standings_snapshots = Table(
    "standings_snapshots",
    METADATA,
    Column("day", String(10), primary_key=True),
    Column("sequence", Integer, nullable=False),  # counts from 1 in the order of writing: a day may come twice
    Column("match_count", Integer, nullable=False),  # how many matches had ended
    Column("created_at", Float, nullable=False),
    Column("data", Text, nullable=False),
)

# A table that a user opened for people and remote bots, with its matches, which aren't rated.
table_sessions = Table(
    "table_sessions",
    METADATA,
    Column("id", Integer, primary_key=True),
    Column("opened_by", ForeignKey("users.id"), nullable=False, index=True),
    Column("opened_at", Float, nullable=False),
    Column("rules", Text, nullable=False),  # a preset's name, or that of the ladder's own rules
    Column("games", Integer, nullable=False),  # of a match
    Column("move_time_s", Integer),  # that people have for a move; null: no clock. Programs have limits of their own
    Column("allow_spectators", Boolean, nullable=False),  # whether readers of the ladder may watch
    Column("chat", String(10), nullable=False, server_default="off"),  # off, between (games), always
    Column("is_public", Boolean, nullable=False),  # whether a free seat needs no invitation link
    Column("starts_itself", Boolean, nullable=False),  # a match, once all places are taken; else the opener starts it
    Column("status", String(10), nullable=False, index=True),  # open, playing, ended
    Column("end_reason", Text),  # what ended it
    Column("table_server", String(40)),  # that plays it
    Column("ended_at", Float),
)

session_slots = Table(
    "session_slots",
    METADATA,
    Column("table_session_id", ForeignKey("table_sessions.id"), primary_key=True),
    Column("slot", Integer, primary_key=True),
    Column("kind", String(10), nullable=False),  # bot, person, program
    Column("version", ForeignKey("versions.id")),  # of a bot
    Column("user_id", ForeignKey("users.id")),  # the player, or the program's owner
    Column("name", Text),  # of the person or program; null: free
    Column("token_sha256", String(64), unique=True),  # of a guest's secret or a program's token, while it is valid
    sqlite_with_rowid=False,
)

# One row for each match with a completed game. A longer record replaces the earlier one.
session_matches = Table(
    "session_matches",
    METADATA,
    Column("table_session_id", ForeignKey("table_sessions.id"), primary_key=True),
    Column("number", Integer, primary_key=True),
    Column("games", Integer, nullable=False),  # that the record has
    Column("is_complete", Boolean, nullable=False),  # until then the record must not be read: it has all cards to come
    Column("updated_at", Float, nullable=False),
    Column("data", LargeBinary),  # the record; null: its time was over
)

# The players of a match of a table session: the slots may change between two matches. Written with the match's record.
session_players = Table(
    "session_players",
    METADATA,
    Column("table_session_id", ForeignKey("table_sessions.id"), primary_key=True),
    Column("match", Integer, primary_key=True),  # its number
    Column("player", Integer, primary_key=True),  # the index of the player in the record
    Column("kind", String(10), nullable=False),  # bot, person, program
    Column("user_id", ForeignKey("users.id"), index=True),  # the person, or the owner; null: a guest, or no account
    Column("games", Integer, nullable=False),  # that the record has
    Column("won", Float, nullable=False),  # games won; a game with several survivors is divided among them
    sqlite_with_rowid=False,
)

# What people write in the lobby and at tables. No bot hears it.
chat_messages = Table(
    "chat_messages",
    METADATA,
    Column("id", Integer, primary_key=True),
    Column("table_session_id", ForeignKey("table_sessions.id"), index=True),  # null: the lobby
    Column("user_id", ForeignKey("users.id"), index=True),  # null: a guest
    Column("name", Text, nullable=False),  # a guest's; a user's pseudonym at that time
    Column("text", Text, nullable=False),
    Column("created_at", Float, nullable=False, index=True),
    Column("deleted", Boolean, nullable=False, server_default=false()),  # by staff; the text is then empty
    Column("muted", Boolean, nullable=False, server_default=false()),  # by staff: the writer may not write
)
