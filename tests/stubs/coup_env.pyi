# Where the type checker finds the encoding that a sample bot imports.
from protocol.kits.coup_env import *  # noqa: F403  # all of it
