"""The Docker sandbox: a program in a hardened container."""

from arena.sandbox.docker import image
from arena.sandbox.docker.abilities import Abilities, limits_told, runtimes, unenforced, why_not
from arena.sandbox.docker.backend import BACKEND, box_finding, engine_findings, sweep
from arena.sandbox.docker.box import DockerSandbox
from arena.sandbox.docker.command import LANGUAGES, command_inside, language
from arena.sandbox.docker.engine import FOLDER, OWNER, Engine, engine
from arena.sandbox.docker.recipe import missing
from arena.sandbox.docker.situation import Situation, no_address, unreachable

__all__ = [
    "BACKEND",
    "FOLDER",
    "LANGUAGES",
    "OWNER",
    "Abilities",
    "DockerSandbox",
    "Engine",
    "Situation",
    "box_finding",
    "command_inside",
    "engine",
    "engine_findings",
    "image",
    "language",
    "limits_told",
    "missing",
    "no_address",
    "runtimes",
    "sweep",
    "unenforced",
    "unreachable",
    "why_not",
]
