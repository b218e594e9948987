# Where the type checker finds the kit that the sample bots import.
from protocol.kits.coup_kit import *  # noqa: F403  # all of it
