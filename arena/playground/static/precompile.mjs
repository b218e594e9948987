// Compiles the modules that the playground imports to bytecode: Python starts in half the time.
// node precompile.mjs PYODIDE FOLDER IMPORTS: packs FOLDER's sources.zip as arena.zip, and python_stdlib.zip, with
// bytecode in place of these sources. The kit stays as it is, for bots that read it.

import { readFileSync, writeFileSync } from "node:fs";
import { pathToFileURL } from "node:url";

const [folder, out, imports] = process.argv.slice(2);
const { loadPyodide } = await import(pathToFileURL(`${folder}/pyodide.mjs`));
const read = (path) => new Uint8Array(readFileSync(path));
const python = await loadPyodide({ indexURL: folder, jsglobals: {} });
python.unpackArchive(read(`${out}/sources.zip`), "zip", { extractDir: "/lib/arena" });
python.FS.writeFile("/sources.zip", read(`${out}/sources.zip`));
python.FS.writeFile("/stdlib.zip", read(`${folder}/python_stdlib.zip`));
python.runPython(`
import sys
sys.path.insert(0, "/lib/arena")
import ${imports}
used = {getattr(module, "__file__", None) or "" for module in list(sys.modules.values())}

import importlib._bootstrap_external as loader, importlib.util, zipfile
def pack(zip, out, places):
    with zipfile.ZipFile(zip) as sources, zipfile.ZipFile(out, "w") as made:
        for name in sorted(sources.namelist()):
            data = sources.read(name)
            if name.endswith(".py") and "/kits/" not in name and any(f"{place}/{name}" in used for place in places):
                code = compile(data, f"{places[0]}/{name}", "exec", dont_inherit=True, optimize=0)
                data = loader._code_to_hash_pyc(code, importlib.util.source_hash(data), checked=False)
                name += "c"
            made.writestr(zipfile.ZipInfo(name, (2020, 1, 1, 0, 0, 0)), data, zipfile.ZIP_DEFLATED, 9)

pack("/stdlib.zip", "/python_stdlib.zip", [path for path in sys.path if path.endswith(".zip")])
pack("/sources.zip", "/arena.zip", ["/lib/arena"])
`);
for (const name of ["python_stdlib.zip", "arena.zip"]) writeFileSync(`${out}/${name}`, python.FS.readFile(`/${name}`));
