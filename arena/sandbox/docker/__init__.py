"""The Docker sandbox: a program in a hardened container."""

from arena.sandbox.docker import image
from arena.sandbox.docker.backend import BACKEND, sweep, why_not
from arena.sandbox.docker.box import DockerSandbox
from arena.sandbox.docker.client import Situation, no_address, unreachable
from arena.sandbox.docker.command import LANGUAGES, command_inside, language
from arena.sandbox.docker.engine import FOLDER, OWNER, Engine, engine
from arena.sandbox.docker.recipe import missing
