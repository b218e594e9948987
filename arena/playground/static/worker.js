// Runs Python in a worker that can't use the network: all files come as blobs.
// A start without a snapshot of Python's memory makes one, before any program runs: Python with our modules.
//
// {id, call: "module.function", arguments: [value, ...]} calls a function of arena.playground_worker. It gets each argument as
// JSON text and returns JSON text. The worker posts {id, result}, or {id, problem} with a text. A function with a
// parameter `beat` may call it with a number, None or JSON text; the worker then posts {id, beat}.

let python = null;
let callJson = null;

const MAX_MEMORY = 512 << 20; // bytes: a program that takes more gets a MemoryError
const { grow } = WebAssembly.Memory.prototype;
WebAssembly.Memory.prototype.grow = function (pages) {
  if (this.buffer.byteLength + pages * 65536 > MAX_MEMORY) throw new RangeError("The cap on memory is reached.");
  return grow.call(this, pages);
};

const CALL = `
import importlib, random
random.seed()  # a snapshot has the seed of another visit

def call_json(name, texts, beat):
    module, _, name = name.partition(".")
    function = getattr(importlib.import_module(f"arena.playground_worker.{module}"), name)
    return function(*texts, **({"beat": beat} if "beat" in function.__code__.co_varnames else {}))

call_json`;

async function start({ files, urls, snapshot }) {
  self.fetch = async (url) => {
    const name = String(url).split("/").pop();
    if (!files[name]) throw new TypeError("The playground doesn't use the network.");
    return new Response(files[name], { headers: { "content-type": name.endsWith(".wasm") ? "application/wasm" : "application/octet-stream" } });
  };
  const [{ loadPyodide }, { default: createPyodideModule }] = await Promise.all([import(urls["pyodide.mjs"]), import(urls["pyodide.asm.mjs"])]);
  python = await loadPyodide({
    indexURL: "https://files.invalid/",
    packageBaseUrl: "https://files.invalid/",
    createPyodideModule,
    lockFileContents: '{"info":{"abi_version":"2026_0","arch":"wasm32","platform":"emscripten_5_0_3","python":"3.14.2"},"packages":{}}',
    stdout: () => null,
    stderr: () => null,
    jsglobals: {},
    ...(snapshot ? { _loadSnapshot: snapshot.arrayBuffer() } : { _makeSnapshot: true }),
  });
  python.unpackArchive(await files["arena.zip"].arrayBuffer(), "zip", { extractDir: "/lib/arena" });
  let made = null;
  if (!snapshot) {
    python.runPython('import sys; sys.path.insert(0, "/lib/arena"); import arena.playground_worker.person_table, arena.playground_worker.trial');
    made = new Blob([python.makeMemorySnapshot()]);
  }
  callJson = python.runPython(CALL);
  postMessage({ ready: python.runPython("sys.version.split()[0]"), snapshot: made });
}

self.onmessage = async ({ data }) => {
  if (data.files) return start(data).catch((error) => postMessage({ failed: String(error.message ?? error) }));
  const { id } = data;
  try {
    const texts = python.toPy(data.arguments.map((value) => JSON.stringify(value)));
    const beat = (value) => postMessage({ id, beat: typeof value === "string" ? JSON.parse(value) : (value ?? null) });
    postMessage({ id, result: JSON.parse(callJson(data.call, texts, beat)) });
  } catch (error) {
    postMessage({ id, problem: String(error.message ?? error) });
  }
};
