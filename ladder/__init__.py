"""The ladder: schedule matches, rate bots from their results, and manage users, submissions, finals and grades.

`results`, `schedule`, `rating` and `run_standings` are pure: no clock, no I/O, no randomness of their own. `store`
contains all SQL and `pool` runs workers; both import nothing from `arena`. `service` implements `arena ladder`.
"""
