"""The ladder: schedules matches, rates bots from their results, and does all that a class or a club needs around it.

`results`, `schedule`, `rating` and `board` are pure: no clock, no I/O, no randomness of their own. `store` is the only
SQL, `pool` the workers; both import nothing of `arena`. `service` is what the commands `arena ladder ...` do.
"""
