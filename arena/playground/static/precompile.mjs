// Compiles the modules of the standard library that the playground imports to bytecode: Python starts in half the time.
// node precompile.mjs PYODIDE ARENA_ZIP OUT IMPORTS: OUT is python_stdlib.zip with bytecode in place of these sources.

import { readFileSync, writeFileSync } from "node:fs";
import { pathToFileURL } from "node:url";

const [folder, arena, out, imports] = process.argv.slice(2);
const { loadPyodide } = await import(pathToFileURL(`${folder}/pyodide.mjs`));
const read = (path) => new Uint8Array(readFileSync(path));
const python = await loadPyodide({ indexURL: folder, jsglobals: {} });
python.unpackArchive(read(arena), "zip", { extractDir: "/lib/arena" });
python.FS.writeFile("/stdlib.zip", read(`${folder}/python_stdlib.zip`));
python.runPython(`
import sys
sys.path.insert(0, "/lib/arena")
import ${imports}
used = {getattr(module, "__file__", None) or "" for module in list(sys.modules.values())}

import importlib._bootstrap_external as loader, importlib.util, zipfile
with zipfile.ZipFile("/stdlib.zip") as sources, zipfile.ZipFile("/out.zip", "w") as made:
    for name in sorted(sources.namelist()):
        data = sources.read(name)
        if name.endswith(".py") and any(path.endswith(f"python_stdlib.zip/{name}") or path.endswith(f"python314.zip/{name}") for path in used):
            code = compile(data, f"/lib/python314.zip/{name}", "exec", dont_inherit=True, optimize=0)
            data = loader._code_to_hash_pyc(code, importlib.util.source_hash(data), checked=False)
            name += "c"
        made.writestr(zipfile.ZipInfo(name, (2020, 1, 1, 0, 0, 0)), data, zipfile.ZIP_DEFLATED, 9)
`);
writeFileSync(out, python.FS.readFile("/out.zip"));
