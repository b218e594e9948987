"""Train a policy for the base rules by self-play: see docs/explanation/training.md.

Not in the wheel. It uses `arena.env.batch`, and no other part of the project uses it, except its test.
"""
