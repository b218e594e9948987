"""The ladder: schedule matches, rate bots with TrueSkill, and manage users, submissions, finals and grades.

`rounds` plans which matches come next, `standings` rates with TrueSkill by `arena.rating`, `store` contains all SQL,
and `service` implements `arena ladder`. The ladder uses the arena, never the reverse.
"""
