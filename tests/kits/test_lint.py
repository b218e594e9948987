"""The kits, starters and probes pass the usual linters of their languages with every warning an error."""

import shutil
import subprocess
from pathlib import Path

import pytest

from tests.kits.table import KITS

KIT = {kit.language: kit for kit in KITS}
LIMIT_S = 240
STRICT = ("-Wall", "-Wextra", "-Wpedantic", "-Wshadow", "-Werror")
C = (*STRICT, "-std=c11")
CPP = (*STRICT, "-std=c++17")
TWO_MATCHES = """
#define COUP_KIT_IMPLEMENTATION
#include "coup_kit.h"

static int turn(coup_game *game) {
    coup_match **inner = game->memory;
    if (inner) coup_reply(*inner, "{'type':'request','id':9,'legal':[{}],'kind':'turn','game':5}");
    COUP_CHECK(!inner || game->number == 7); /* the outer match goes on after it */
    return game->number == 7;
}

int main(void) {
    coup_match *one, *two;
    coup_bot plain = {.name = "plain", .turn = turn, .careful = true};
    coup_bot outer = {.name = "outer", .turn = turn, .memory = &one};
    one = coup_begin(&plain);
    two = coup_begin(&outer);
    puts(coup_reply(one, "{'type':'hello','bot_seed':'a'}"));
    puts(coup_reply(two, "{'type':'hello','bot_seed':'b'}"));
    puts(coup_reply(two, "{'type':'request','id':2,'legal':[{},{}],'kind':'turn','game':7}"));
    puts(coup_reply(one, "{'type':'request','id':3,'legal':[{},{}],'kind':'turn','game':6}"));
    coup_end(one);
    coup_end(two);
    return 0;
}
""".replace("'", '\\"')

# What eslint's own package recommends (`js.configs.recommended`), without installing that package.
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
    """Skip where a program isn't installed."""
    return pytest.mark.needs(program, None if shutil.which(program) else f"{program} isn't installed")


def copied(language: str, folder: Path) -> list[Path]:
    """Copy the starter's and the probe's folder, each with the kit, and return the copies."""
    kit = KIT[language]
    copies = [folder / "starter", folder / "probe"]
    for source, copy in zip((kit.starter, kit.probe), copies, strict=True):
        shutil.copytree(source, copy, ignore=shutil.ignore_patterns("build"))
        shutil.copy(kit.file, copy)
    return copies


def passes(folder: Path, *command: str | Path) -> str:
    """Run a command, demand that it passes, and return what it printed."""
    ran = subprocess.run(command, cwd=folder, capture_output=True, text=True, timeout=LIMIT_S, check=False)
    assert ran.returncode == 0, ran.stdout + ran.stderr
    return ran.stdout


@pytest.mark.parametrize(
    ("compiler", "language", "flags"),
    [
        pytest.param(compiler, language, flags, id=compiler, marks=needs(compiler))
        for compiler, language, flags in (
            ("gcc", "c", C),
            ("clang", "c", C),
            ("g++", "cpp", CPP),
            ("clang++", "cpp", CPP),
        )
    ],
)
def test_c_and_cpp_compile_without_a_warning(
    compiler: str, language: str, flags: tuple[str, ...], tmp_path: Path
) -> None:
    """By both compilers, where they are installed."""
    for folder in copied(language, tmp_path):
        for source in sorted(folder.glob(f"*.{language}")):
            passes(folder, compiler, *flags, "-fsyntax-only", source)


@needs("eslint")
def test_javascript_passes_eslint(tmp_path: Path) -> None:
    """The kit, starters and the probe; a name that nobody uses is an error."""
    eslint = shutil.which("eslint")
    assert eslint is not None
    (tmp_path / "eslint.config.cjs").write_text(ESLINT_CONFIG.replace("BIN", str(Path(eslint).resolve())))
    copied("javascript", tmp_path)
    samples = KIT["javascript"].starter.parent
    shutil.copy(samples / "honest.js", tmp_path)
    passes(tmp_path, eslint, "--max-warnings", "0", ".")
    (tmp_path / "unused.js").write_text("const nobody = 1;\n")
    with pytest.raises(AssertionError, match="no-unused-vars"):
        passes(tmp_path, eslint, "--max-warnings", "0", ".")


@needs("javac")
def test_java_compiles_without_a_warning(tmp_path: Path) -> None:
    """With all lints."""
    for folder in copied("java", tmp_path):
        passes(folder, "javac", "-Xlint:all", "-Werror", "-d", "build", *sorted(folder.glob("*.java")))


@needs("mcs")
def test_csharp_compiles_without_a_warning(tmp_path: Path) -> None:
    """At the highest level; nothing that names C# 8 or a package."""
    for folder in copied("csharp", tmp_path):
        main = f"-main:{'TestMyBot' if folder.name == 'starter' else 'Probe'}"
        sources = sorted(folder.glob("*.cs"))
        passes(folder, "mcs", "-langversion:7", "-warn:4", "-warnaserror", main, "-out:a.exe", *sources)


@needs("cargo-clippy")
def test_rust_passes_clippy_by_the_starters_manifest(tmp_path: Path) -> None:
    """Offline, its tests too; the probe by the same manifest."""
    starter, probe = copied("rust", tmp_path)
    manifest = (starter / "Cargo.toml").read_text()
    (probe / "Cargo.toml").write_text(manifest.replace("bot.rs", "probe.rs"))
    for folder in (starter, probe):
        passes(folder, "cargo", "clippy", "--offline", "--all-targets", "--target-dir", "build", "--", "-D", "warnings")
        assert not (folder / "target").exists()


@needs("cc")
def test_two_matches_in_c_share_nothing(tmp_path: Path) -> None:
    """Not even where a bot's function plays the other one."""
    shutil.copy(KIT["c"].file, tmp_path)
    (tmp_path / "two.c").write_text(TWO_MATCHES)
    passes(tmp_path, "cc", *C, "-g", "-fsanitize=address,undefined", "-o", "two", "two.c")
    hellos = [f'{{"type":"hello","name":"{name}"}}' for name in ("plain", "outer")]
    assert passes(tmp_path, tmp_path / "two").splitlines() == [*hellos, '{"id":2,"choice":1}', '{"id":3,"choice":0}']
