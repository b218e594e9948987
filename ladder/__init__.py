"""The ladder: which bots meet in which seats, and what their results say about their strength.

What is here so far is pure: no clock, no I/O, no randomness of its own. It knows bots as indices 0..n-1 and games as
who won, and must not know the rules of Coup, the protocol or how a match is played.
"""

__all__ = ["rating", "schedule"]
