"""Attack this host's boxes on purpose, and report the results.

Uses the sandboxes and the referee from outside, as a hostile bot does. `catalog` has one row for each attack, with
the outcome expected in each tier; `suite` runs and judges rows; `channels` tries whether two colluding bots can
communicate. A box shows the programs in attacks/ as /bot.

`make attack` runs it on this host (__main__.py), and the tests in this folder run it row by row.
"""
