"""Derive all randomness of a game from labelled streams of a secret 256-bit key.

Every draw is HMAC-SHA256(key, purpose | deal | event), so one draw never shifts another. A hidden choice, such as the
cards kept in an exchange, can't change a later public draw, and a record replays from its key. The key stays inside
the referee while a match is played."""

import hmac
from collections.abc import Sequence
from typing import TypeVar

T = TypeVar("T")

_MAX_ITEMS = 40  # 40! < 2^160, so with the 256 bits of a digest the bias of an order is below 2^-96


class KeyedRng:
    """The random draws of one deal (game) under one key."""

    __slots__ = ("_deal", "_key")

    def __init__(self, key: bytes, deal: int) -> None:
        self._key = key
        self._deal = deal

    def number(self, purpose: str, event: int, below: int) -> int:
        """Return a number in 0..below-1, the same one for the same key, deal, purpose and event.

        purpose: a word. event: the number of the game's events so far. The bias of the modulus is under below/2^256.
        """
        return draw_number(self._key, f"{purpose}|{self._deal}|{event}") % below

    def shuffled(self, items: Sequence[T], purpose: str, event: int) -> list[T]:
        """Return the items in random order; the same key, deal, purpose and event give the same order."""
        return permute(items, draw_number(self._key, f"{purpose}|{self._deal}|{event}"))


def draw_number(key: bytes, label: str) -> int:
    """Return the 256-bit number that belongs to a label under a key: HMAC-SHA256."""
    return int.from_bytes(hmac.digest(key, label.encode(), "sha256"))


def derive_key(key: bytes, label: str) -> bytes:
    """Return the 32-byte key that belongs to a label, such as a match's key from the run's key."""
    return hmac.digest(key, label.encode(), "sha256")


def permute(items: Sequence[T], number: int) -> list[T]:
    """Return the permutation of items with this number, modulo n!, by Fisher-Yates. Raises ValueError over 40 items."""
    order = list(items)
    if len(order) > _MAX_ITEMS:
        raise ValueError(f"{len(order)} items are too many for one draw; at most {_MAX_ITEMS}")
    for i in range(len(order) - 1, 0, -1):
        number, j = divmod(number, i + 1)
        order[i], order[j] = order[j], order[i]
    return order
