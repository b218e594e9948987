"""`python -m arena.cli`: the command `arena` where its script isn't installed."""

from arena.cli.main import main

main()
