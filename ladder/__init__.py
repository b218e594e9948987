"""The ladder: who plays whom, what the results say about strength, and all that a class or a club needs around it.

`results`, `schedule`, `rating` and `board` are pure: no clock, no I/O, no randomness of their own. `store` is the only
SQL, `pool` the workers; both import nothing of `arena`. `service` is what the commands `arena ladder ...` do.
"""
