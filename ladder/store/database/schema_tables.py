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

# What `init` was asked for, as JSON: the terms of play, the key, the ladder's name. A row is never changed.
settings = Table(
    "settings",
    METADATA,
    Column("name", String(40), primary_key=True),
    Column("value", Text, nullable=False),
)

owners = Table(
    "owners",
    METADATA,
    Column("id", Integer, primary_key=True),
    Column("login", String(100), nullable=False, unique=True),
    Column("name", Text, nullable=False),
    Column("email", Text),
    Column("number", String(100)),  # the school's: Canvas' SIS User ID, Moodle's ID number
    Column("section", Text),
    Column("pseudonym", String(100), nullable=False, unique=True),
    Column("staff", Boolean, nullable=False),
    Column("suspended", Boolean, nullable=False, server_default=false()),
    Column("at", Float, nullable=False),
    Column("canvas", String(100)),  # Canvas' ID of the person
    Column("moodle", String(100)),  # Moodle's Identifier in the last grading worksheet, as "Participant 123"
    Column("gone", Boolean, nullable=False, server_default=false()),  # the person left the course
    Column("waiting", Boolean, nullable=False, server_default=false()),  # signed up, and staff hasn't approved yet
    Column("merged", Integer),  # the owner that this one became; no foreign key, which rows of copies would break
)

# A person is in one team at a time: `until` is null in the row that holds.
teams = Table(
    "teams",
    METADATA,
    Column("id", Integer, primary_key=True),
    Column("name", String(100), nullable=False, unique=True),
    Column("at", Float, nullable=False),
)

team_members = Table(
    "team_members",
    METADATA,
    Column("id", Integer, primary_key=True),
    Column("team", ForeignKey("teams.id"), nullable=False, index=True),
    Column("owner", ForeignKey("owners.id"), nullable=False, index=True),
    Column("since", Float, nullable=False),
    Column("until", Float),
)

# What lets a person in without the ladder's file. Of the secret itself only the SHA-256 is known; of a password, which
# can be guessed, a hash that is slow to compute.
credentials = Table(
    "credentials",
    METADATA,
    Column("id", Integer, primary_key=True),
    Column("owner", ForeignKey("owners.id"), nullable=False, index=True),
    Column("kind", String(10), nullable=False),  # link, session, token, password, openid, join
    Column("digest", String(64), nullable=False, unique=True),
    Column("scope", String(10), nullable=False),  # read, submit; of a link to join: join, ask
    Column("by", Text, nullable=False),  # who made it
    Column("at", Float, nullable=False),
    Column("ends", Float, nullable=False),
    Column("revoked", Boolean, nullable=False),
    Column("session", Integer),  # that a link was changed into; no foreign key, which rows of copies would break
    Column("hash", Text),  # of a password, by Argon2, while it lets somebody in
)

bots = Table(
    "bots",
    METADATA,
    Column("id", Integer, primary_key=True),
    Column("owner", ForeignKey("owners.id"), nullable=False, index=True),
    Column("name", String(100), nullable=False, unique=True),
    Column("reference", Boolean, nullable=False),
    Column("active", Integer),  # the version that plays; no foreign key, which would close a circle
    Column("at", Float, nullable=False),
)

# Numbers of a bot's versions count from 1. `digest` is of what was submitted, `built` of what is played.
versions = Table(
    "versions",
    METADATA,
    Column("id", Integer, primary_key=True),
    Column("bot", ForeignKey("bots.id"), nullable=False),
    Column("number", Integer, nullable=False),
    Column("digest", String(64), nullable=False),
    Column("file", Text),  # of a bare file: its name
    Column("built", String(64)),
    Column("words", Text),  # the command that starts it, as JSON, from the examination
    Column("language", String(20)),  # in which it is written, from the examination
    Column("state", String(10), nullable=False, index=True),  # queued, examined (at the moment), fit, unfit
    Column("runner", String(40)),  # that examines it
    Column("attempts", Integer, nullable=False),  # at an examination that failed through the host
    Column("losses", Integer, nullable=False, server_default="0"),  # of runners and machines that examined it
    Column("failed_at", Float),  # the last attempt
    Column("reason", Text),  # why it is unfit
    Column("at", Float, nullable=False),
    Column("examined_at", Float),
    Column("act", Integer, nullable=False),  # the last act before it was submitted
    # When its owner handed it in, which deadlines ask for: `at`, unless staff said another time.
    Column("received", Float, nullable=False, server_default="0"),
    Column("by", Text),  # who submitted it; null: an arena that didn't write it down
    UniqueConstraint("bot", "number"),
)

# Compressed archives of bots, by the digest of what they hold and a bare file's name.
files = Table(
    "files",
    METADATA,
    Column("digest", String(64), primary_key=True),
    Column("file", String(255), primary_key=True),  # "" for a folder
    Column("data", LargeBinary, nullable=False),
)

steps = Table(
    "steps",
    METADATA,
    Column("version", ForeignKey("versions.id"), primary_key=True),
    Column("number", Integer, primary_key=True),
    Column("data", Text, nullable=False),  # a StepView as JSON
    Column("log", LargeBinary),  # all that a build printed
)

acts = Table(
    "acts",
    METADATA,
    Column("id", Integer, primary_key=True),
    Column("at", Float, nullable=False),
    Column("who", Text, nullable=False),
    Column("what", String(20), nullable=False),
    Column("bot", ForeignKey("bots.id"), index=True),
    Column("version", ForeignKey("versions.id")),
    Column("match", ForeignKey("matches.id")),
    Column("owner", ForeignKey("owners.id"), index=True),
    Column("why", Text, nullable=False),
    Index("ix_acts_what", "what", "id"),
)

# More time for one person before a deadline of ladder.toml. The newest row of a person and a deadline holds.
extensions = Table(
    "extensions",
    METADATA,
    Column("id", Integer, primary_key=True),
    Column("owner", ForeignKey("owners.id"), nullable=False, index=True),
    Column("deadline", String(40), nullable=False),
    Column("until", Float),  # null: the deadline itself
    Column("late_days", Integer, nullable=False),  # of the person's own that it took
    Column("why", Text, nullable=False),
)

# Grades that were handed out. A row is never changed.
releases = Table(
    "releases",
    METADATA,
    Column("id", Integer, primary_key=True),
    Column("name", String(40), nullable=False, unique=True),
    Column("of", Text, nullable=False),  # the final or the deadline, as JSON
    Column("at", Float, nullable=False),
    Column("who", Text, nullable=False),
    Column("data", LargeBinary, nullable=False),  # what it was made from and what came of it: JSON, compressed
)

# What happened, for whoever follows it, for a while. An id never comes twice, also where all rows were removed.
events = Table(
    "events",
    METADATA,
    Column("id", Integer, primary_key=True),
    Column("at", Float, nullable=False),
    Column("what", String(20), nullable=False),
    Column("version", ForeignKey("versions.id")),
    Column("match", ForeignKey("matches.id")),
    Column("act", ForeignKey("acts.id")),
    Column("evening", ForeignKey("evenings.id")),
    Column("said", Text),  # of a sign-in: whose, and by what
    sqlite_autoincrement=True,
)

# A process that plays. `beat` grows while it lives; others take its matches when it doesn't for a while.
runners = Table(
    "runners",
    METADATA,
    Column("id", String(40), primary_key=True),
    Column("host", Text, nullable=False),  # with the boot's id: process numbers mean nothing beyond it
    Column("pid", Integer, nullable=False),
    Column("started", Text, nullable=False),  # the process's start, as its kernel tells it
    Column("beat", Integer, nullable=False),
    Column("width", Integer, nullable=False),  # matches side by side
    Column("at", Float, nullable=False),
    Column("ended", Boolean, nullable=False),
    Column("port", Integer),  # of 127.0.0.1, where one that plays evenings listens; null: it plays matches
    Column("secret", Text),  # that web servers show there
)

finals = Table(
    "finals",
    METADATA,
    Column("id", Integer, primary_key=True),
    Column("name", String(100), nullable=False, unique=True),
    Column("key", String(64), nullable=False),  # to be shown once `revealed`
    Column("versions", Text, nullable=False),  # JSON: ids in the order of the plan
    Column("games", Integer, nullable=False),  # of each version, at least
    Column("due", Float),  # the deadline whose versions play; null: those that played when it was made
    Column("closes", Float, nullable=False),  # versions that were submitted later don't play
    Column("revealed", Boolean, nullable=False),
    Column("at", Float, nullable=False),
    Column(
        "owners", Text, nullable=False, server_default="[]"
    ),  # JSON: a number for each version; equal ones don't meet
)

# state: queued, leased, ended. cause, of one that ended: played, given_up, cancelled.
matches = Table(
    "matches",
    METADATA,
    Column("id", Integer, primary_key=True),
    Column("kind", String(10), nullable=False),  # rated, qualifying, challenge, final
    Column("round", Integer),
    Column("final", ForeignKey("finals.id")),
    Column("place", Integer),  # in the final's plan
    Column("by", ForeignKey("owners.id")),  # who asked for a challenge
    Column("state", String(10), nullable=False),
    Column("runner", String(40)),
    Column("attempts", Integer, nullable=False),
    Column("losses", Integer, nullable=False, server_default="0"),  # of runners and machines that played it
    Column("failed_at", Float),  # the last attempt
    Column("cause", String(10)),
    Column("reason", Text),
    Column("rates", Boolean, nullable=False),  # it was played, its kind rates, and nobody voided it
    Column("at", Float, nullable=False),
    Column("ended", Integer, unique=True),  # of those that were played: counts from 1 in the order of their ends
    Column("ended_at", Float),
    Index("ix_matches_todo", "state", "kind", "id"),
    Index("ix_matches_rates", "rates", "kind", "ended"),
    Index("ix_matches_final", "final", "place"),
    Index("ix_matches_round", "round"),
)

# One row for each seat of the table. `place` is the bot's among those of the match's spec.
match_bots = Table(
    "match_bots",
    METADATA,
    Column("match", ForeignKey("matches.id"), primary_key=True),
    Column("place", Integer, primary_key=True),
    Column("version", ForeignKey("versions.id"), nullable=False),
    Column("games", Integer, nullable=False),
    Column("wins", Float, nullable=False),  # a draw among j is 1/j
    Column("forfeits", Integer, nullable=False),
    Column("faults", Integer, nullable=False),
    Column("requests", Integer, nullable=False),
    Column("time_us", BigInteger, nullable=False),  # of its own, for all requests
    Column("slowest_us", BigInteger, nullable=False),
    Column("peak_bytes", BigInteger),
    Column("style", Text),  # what the bot did, as JSON, for as long as the match's record is kept
    Index("ix_match_bots_version", "version", "match"),
    sqlite_with_rowid=False,
)

# Seats as places of the match's table: "2031" says that place 2 had seat 0.
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

# The first few faulty exchanges of each kind of a version, as a store keeps them.
exchanges = Table(
    "exchanges",
    METADATA,
    Column("match", ForeignKey("matches.id"), primary_key=True),
    Column("number", Integer, primary_key=True),
    Column("version", ForeignKey("versions.id"), nullable=False),
    Column("code", String(40), nullable=False),
    Column("data", Text, nullable=False),  # a line of KeptExchange
    Index("ix_exchanges_version", "version", "code"),
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
    Column("place", Integer, primary_key=True),
    Column("number", Integer, primary_key=True),
    Column("data", LargeBinary, nullable=False),
)

# An attempt at a match that the host failed.
voids = Table(
    "voids",
    METADATA,
    Column("id", Integer, primary_key=True),
    Column("match", ForeignKey("matches.id"), nullable=False, index=True),
    Column("runner", String(40), nullable=False),
    Column("at", Float, nullable=False),
    Column("reason", Text, nullable=False),
    Column("given_up", Boolean, nullable=False),  # it was the last attempt
    Column("died", Boolean, nullable=False, server_default=false()),  # the worker did, in the middle of the match
)

# What the last fold of a day over the results said of each version that played: for trends, curves, and old tables.
series = Table(
    "series",
    METADATA,
    Column("day", String(10), primary_key=True),
    Column("version", ForeignKey("versions.id"), primary_key=True),
    Column("place", Integer, nullable=False),
    Column("best_rank", Integer, nullable=False),
    Column("worst_rank", Integer, nullable=False),
    Column("rating", Float, nullable=False),
    Column("rating_low", Float),
    Column("rating_high", Float),
    Column("share", Float),  # of the games that were played
    Column("adjusted", Float),  # as if all had met equally often
    Column("adjusted_low", Float),
    Column("adjusted_high", Float),
    Column("games", Integer, nullable=False),
    Column("matches", Integer, nullable=False),
    Column("forfeits", Integer, nullable=False),
    Column("faults", Integer, nullable=False),
    Index("ix_series_version", "version", "day"),
    sqlite_with_rowid=False,
)

# What the newest fold said, as JSON; of the days before, the last fold's without its rows, which `series` has.
boards = Table(
    "boards",
    METADATA,
    Column("day", String(10), primary_key=True),
    Column("number", Integer, nullable=False),  # counts from 1 in the order of writing: a day may come twice
    Column("ended", Integer, nullable=False),  # how many matches had ended
    Column("at", Float, nullable=False),
    Column("data", Text, nullable=False),
)

# A table that somebody opened for people and programs from home, with its matches, which rate nobody.
evenings = Table(
    "evenings",
    METADATA,
    Column("id", Integer, primary_key=True),
    Column("owner", ForeignKey("owners.id"), nullable=False, index=True),  # who opened it
    Column("at", Float, nullable=False),
    Column("rules", Text, nullable=False),  # a preset's name, or that of the ladder's own rules
    Column("games", Integer, nullable=False),  # of a match
    Column("clock_s", Integer),  # that people have for a move; null: no clock. Programs have limits of their own
    Column("watch", Boolean, nullable=False),  # who may read the ladder may look on
    Column("state", String(10), nullable=False, index=True),  # open, playing, ended
    Column("why", Text),  # it ended
    Column("runner", String(40)),  # that plays it
    Column("ended_at", Float),
)

evening_places = Table(
    "evening_places",
    METADATA,
    Column("evening", ForeignKey("evenings.id"), primary_key=True),
    Column("place", Integer, primary_key=True),
    Column("kind", String(10), nullable=False),  # bot, person, program
    Column("version", ForeignKey("versions.id")),  # of a bot
    Column("owner", ForeignKey("owners.id")),  # the participant who sits there, or whose program does
    Column("name", Text),  # of who sits there and is no bot; null: nobody does yet
    Column("digest", String(64), unique=True),  # of the secret of a link or a token, while it lets somebody sit down
    sqlite_with_rowid=False,
)

# One row a match that had a game to its end. A record that has grown replaces the one before.
evening_matches = Table(
    "evening_matches",
    METADATA,
    Column("evening", ForeignKey("evenings.id"), primary_key=True),
    Column("number", Integer, primary_key=True),
    Column("games", Integer, nullable=False),  # that the record has
    Column("ended", Boolean, nullable=False),  # until then the record is nobody's to read: it has all cards to come
    Column("at", Float, nullable=False),
    Column("data", LargeBinary),  # the record; null: its time was over
)
