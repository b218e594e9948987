"""Play matches with people at a table: its slots, its matches, and the sockets of browsers and programs.

A table's state is held by one event loop; its referee plays in a thread of its own. This package must not know the
ladder's database, nor any user: a slot's secret gives the slot.
"""

from arena.tables.chat import (
    MAX_CHAT_CHARACTERS,
    MAX_CHAT_LINES_PER_MINUTE,
    MAX_SHOWN_LINES,
    TableChat,
    require_line_length,
)
from arena.tables.live_match import MatchSetup, ProcessLogs
from arena.tables.local_server import LocalServer
from arena.tables.slots import OutboundBuffer, Slot, SlotChange, Superseded, TableClient, TableClosed, TableSettings
from arena.tables.table import LiveTable, TableCallbacks
from arena.tables.websocket import (
    FLOOD,
    MAX_FRAME_BYTES,
    OVER,
    PING_S,
    SUPERSEDED,
    UNKNOWN,
    UNREACHABLE,
    Channel,
    ChannelClosed,
    RelayHello,
    StreamChannel,
    WebChannel,
    listen_for_relays,
    relay_frames,
    serve_client,
    serve_program,
)
