"""The process that plays a ladder's tables for people, beside its web servers. Must not know who somebody is.

Web servers of this machine say which place a socket is for; who may sit there, they have found out.
"""

from ladder.dealer.dealer import RETRY_S, Dealer, deal_tables
from ladder.dealer.hosting import Bots, Boxes, UnplayableError
