"""People at a table: who sits where, its matches, and the sockets that carry what they see and do.

A table's state is held by one event loop; its referee plays in a thread of its own. Must not know the ladder's
database, nor who somebody is: a place's secret gives the place.
"""

from ladder.tables.local import serve_local
from ladder.tables.place import PROGRAM, Carrier, Closed, Guest, Lines, Offer, Place, Taken
from ladder.tables.relay import AWAY, Hello, StreamChannel, carry, listen
from ladder.tables.socket import (
    FLOOD,
    LOST,
    MOST_BYTES,
    OVER,
    PING_S,
    TAKEN,
    UNKNOWN,
    VOID,
    Channel,
    Gone,
    WebChannel,
    attach,
    sit,
)
from ladder.tables.table import Deal, Logs, State, Table
