"""The process that plays a ladder's tables for people, beside its web servers. Must not know who somebody is.

Web servers of this machine check who may sit where, and say which place a socket is for.
"""

from ladder.dealer.dealer import RETRY_S, Dealer, deal_tables
from ladder.dealer.hosting import Bots, Boxes, UnplayableError
