"""Run the command `arena` as `python -m arena.cli`, where its script isn't installed."""

from arena.cli.main import main

main()
