"""Review a person's games of the record on standard input. Usage: python -m arena.review PLAYER."""

from arena.review.person import main

main()
