"""The container image and the compose file, as far as they can be checked without an engine."""

import re
import shlex
from pathlib import Path
from typing import Any

import click
import yaml

from arena.cli import cli

ROOT = Path(__file__).parents[1]
COMPOSE = yaml.safe_load((ROOT / "docs/compose.yaml").read_text("utf-8"))
SERVICES: dict[str, dict[str, Any]] = COMPOSE["services"]
DOCKERFILE = (ROOT / "docs/Dockerfile").read_text("utf-8").replace("\\\n", " ")
SCRIPT = (ROOT / "docs/container.sh").read_text("utf-8")
# Keys of the Compose Specification that the file uses; another is a mistake, or belongs here.
KEYS = {
    "build", "cap_add", "command", "depends_on", "deploy", "environment", "healthcheck", "image", "network_mode",
    "networks", "ports", "restart", "secrets", "security_opt", "stop_grace_period", "volumes",
}  # fmt: skip
# Programs of the shell and of Debian's essential packages, which each image has.
ESSENTIAL = {
    "[", "apt-get", "awk", "cat", "chown", "echo", "exec", "export", "grep", "id", "mkdir", "mount", "rm", "set", "sh",
    "useradd",
}  # fmt: skip
INSTALLED = {"python3", "bubblewrap", "setpriv", "container.sh", "arena", "dask", "pg_isready"}


def require_command(words: list[str]) -> None:
    """Require that the words are a command of this project, or of the image."""
    if words[0] != "arena":
        assert words[0] in ESSENTIAL | INSTALLED, words
        return
    command: click.Command = cli
    arguments = words[1:]
    while isinstance(command, click.Group):
        command = command.commands[arguments.pop(0)]
        command = command.load() if hasattr(command, "load") else command
    flags = {flag for option in command.params for flag in (*option.opts, *option.secondary_opts)}
    assert {word for word in arguments if word.startswith("--")} <= flags, words


def test_services_use_known_keys_and_what_the_file_defines() -> None:
    assert set(COMPOSE) == {"name", "x-image", "x-ladder", "x-boxes", "services", "networks", "volumes", "secrets"}
    for name, service in SERVICES.items():
        assert set(service) <= KEYS, name
        assert {*service.get("networks", ())} <= {*COMPOSE["networks"]}
        assert {*service.get("secrets", ())} <= {*COMPOSE["secrets"]}
        assert {volume.split(":")[0] for volume in service.get("volumes", ())} <= {*COMPOSE["volumes"]}
        waits = service.get("depends_on", {})
        assert {*waits, service.get("network_mode", "service:init").partition(":")[2]} <= {*SERVICES}
        for other, how in waits.items() if isinstance(waits, dict) else ():
            assert how["condition"] != "service_healthy" or "healthcheck" in SERVICES[other], (name, other)
            ends = SERVICES[other]["restart"] == "no"  # a failure would repeat itself
            assert ends == (how["condition"] == "service_completed_successfully"), (name, other)
    build = SERVICES["pages"]["build"]
    assert (ROOT / "docs" / build["context"] / build["dockerfile"]).is_file()
    assert [arg for arg in build["args"] if f"ARG {arg}" not in DOCKERFILE] == []


def test_only_services_with_boxes_have_rights_and_the_pages_reach_no_cluster() -> None:
    boxes = {name for name, service in SERVICES.items() if {"cap_add", "security_opt"} & set(service)}
    assert boxes == {"init", "tables", "worker"}
    members = {name: {*service.get("networks", ())} for name, service in SERVICES.items()}
    assert {name for name, joined in members.items() if "cluster" in joined} == {"scheduler", "worker", "runner"}
    assert {name for name, joined in members.items() if "database" in joined} == {"database", "init", "pages", "runner"}
    assert all(COMPOSE["networks"][name]["internal"] for name in ("cluster", "database"))
    assert {name for name, service in SERVICES.items() if service.get("ports")} == {"pages"}
    secrets = {name for name, service in SERVICES.items() if "secrets" in service}
    assert secrets == {"database", "init", "pages", "tables", "runner"}
    assert "trust" not in str(SERVICES["database"])


def test_each_service_that_stays_has_a_health_check() -> None:
    """The tables' is the pages', whose /readyz asks for them."""
    lasting = {name for name, service in SERVICES.items() if service["restart"] == "unless-stopped"}
    assert lasting - {name for name, service in SERVICES.items() if "healthcheck" in service} == {"tables"}
    assert "/readyz" in str(SERVICES["pages"]["healthcheck"])
    for service in SERVICES.values():
        for word, *rest in [service["healthcheck"]["test"]] if "healthcheck" in service else ():
            assert word == "CMD"
            require_command(rest)


def test_commands_of_the_image_and_of_its_services_exist() -> None:
    for name, service in SERVICES.items():
        command = service.get("command", [])
        for words in (
            [shlex.split(command[2].partition("exec ")[2])] if command[:1] == ["sh"] else [command] * bool(command)
        ):
            require_command(words)
            assert name == "database" or words[0] in ("arena", "dask")
    for line in re.findall(r"(?:exec|\|\|) (arena [^\n]+)", SCRIPT):
        require_command([word for word in shlex.split(line) if not word.startswith("$")])
    # Each program that the script starts is in the image.
    lines = re.sub(r"#.*|'[^']*'|\"[^\"]*\"|\\\n", "", SCRIPT)
    programs = set(
        re.findall(r"(?:^|[;(]|&&|\|\||\bdo|\bthen|\bif|\$\()\s*([a-z][a-z.-]+|\[)(?= |$)", lines, re.MULTILINE)
    )
    shell = {"if", "then", "fi", "for", "do", "done", "continue"}
    assert programs - shell - ESSENTIAL <= INSTALLED | {"top", "setpriv"}
    assert "util-linux" in DOCKERFILE, "has setpriv and mount"


def test_files_that_the_image_copies_exist() -> None:
    copied = [words.split() for words in re.findall(r"^COPY (?!--from)(.+)$", DOCKERFILE, re.MULTILINE)]
    assert [word for words in copied for word in words[:-1] if not (ROOT / word).exists()] == []
    assert ["docs/container.sh", "/usr/local/bin/"] in copied
    assert 'ENTRYPOINT ["container.sh"]' in DOCKERFILE
    assert (ROOT / "docs/container.sh").stat().st_mode & 0o111
