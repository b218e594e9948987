"""The kits, starters and probes pass the usual linters of their languages with every warning an error.

The probes in Java and C++ are built with every warning of the compiler as an error.
"""

import shutil
import subprocess
from pathlib import Path

import pytest

from tests.kits.table import KITS

KIT = {kit.language: kit for kit in KITS}
LIMIT_S = 240

# The rules of eslint's own package (`js.configs.recommended`), without installing that package.
ESLINT_CONFIG = """
const rules = require("node:module").createRequire("BIN")("eslint/use-at-your-own-risk").builtinRules;
const recommended = [...rules].filter(([, rule]) => rule.meta.docs.recommended).map(([name]) => [name, "error"]);
if (recommended.length < 40) throw new Error("eslint recommends hardly anything");
const globals = Object.fromEntries(Object.getOwnPropertyNames(globalThis).map((name) => [name, "readonly"]));
const languageOptions = { sourceType: "commonjs", globals };
const linterOptions = { reportUnusedDisableDirectives: "error" };
module.exports = [{ languageOptions, linterOptions, rules: Object.fromEntries(recommended) }];
"""


def needs(program: str) -> pytest.MarkDecorator:
    return pytest.mark.needs(program, None if shutil.which(program) else f"{program} isn't installed")


def copy_folders(language: str, folder: Path) -> list[Path]:
    """Copy the starter's and the probe's folder, each with the kit, and return the copies."""
    kit = KIT[language]
    copies = [folder / "starter", folder / "probe"]
    for source, copy in zip((kit.starter, kit.probe), copies, strict=True):
        shutil.copytree(source, copy, ignore=shutil.ignore_patterns("build"))
        shutil.copy(kit.file, copy)
    return copies


def run_linter(folder: Path, *command: str | Path) -> str:
    ran = subprocess.run(command, cwd=folder, capture_output=True, text=True, timeout=LIMIT_S, check=False)
    assert ran.returncode == 0, ran.stdout + ran.stderr
    return ran.stdout


@needs("eslint")
def test_javascript_passes_eslint(tmp_path: Path) -> None:
    eslint = shutil.which("eslint")
    assert eslint is not None
    (tmp_path / "eslint.config.cjs").write_text(ESLINT_CONFIG.replace("BIN", str(Path(eslint).resolve())))
    copy_folders("javascript", tmp_path)
    samples = KIT["javascript"].starter.parent
    shutil.copy(samples / "honest.js", tmp_path)
    run_linter(tmp_path, eslint, "--max-warnings", "0", ".")
    (tmp_path / "unused.js").write_text("const unused = 1;\n")
    with pytest.raises(AssertionError, match="no-unused-vars"):
        run_linter(tmp_path, eslint, "--max-warnings", "0", ".")


@needs("cargo-clippy")
def test_rust_passes_clippy_by_the_starters_manifest(tmp_path: Path) -> None:
    starter, probe = copy_folders("rust", tmp_path)
    manifest = (starter / "Cargo.toml").read_text()
    (probe / "Cargo.toml").write_text(manifest.replace("bot.rs", "probe.rs"))
    for folder in (starter, probe):
        run_linter(
            folder, "cargo", "clippy", "--offline", "--all-targets", "--target-dir", "build", "--", "-D", "warnings"
        )
        assert not (folder / "target").exists()
