"""The Docker sandbox: a program in a hardened container."""

from arena.sandbox.docker import container, image
from arena.sandbox.docker.box import BACKEND, DockerSandbox, cleanup_stale, unavailable_reason
from arena.sandbox.docker.command import LANGUAGES, command_inside, language
from arena.sandbox.docker.container import missing_image_problem
from arena.sandbox.docker.engine import (
    FOLDER_LABEL,
    OWNER_LABEL,
    DockerSituation,
    Engine,
    get_engine,
    no_address_problem,
    unreachable_problem,
)
