"""The ladder: schedule matches, rate bots with TrueSkill, and manage users, submissions, finals and grades.

`rounds` plans which matches come next, `standings` rates with TrueSkill by `arena.rating`, `store` contains SQL. A
noun, such as `matches`, has one module with what a viewer reads and what a user may do; `cli` and `web` are thin. The
ladder uses the arena, never the reverse. Everywhere, `actor` (a login, or "ladder") and `reason` are what the audit log
stores of a decision, and times are Unix times, in seconds.
"""
