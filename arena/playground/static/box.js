// Runs in a frame with an origin of its own: starts and ends the worker, and passes messages on.

let worker = null;
let kept = null; // the files and the snapshot as blobs, for the next worker

function begin() {
  worker?.terminate();
  worker = new Worker(kept.urls["worker.js"]);
  worker.onmessage = ({ data }) => {
    kept.snapshot ??= data.snapshot; // the first, from before any program
    parent.postMessage(data, "*");
  };
  worker.onerror = (event) => parent.postMessage({ failed: event.message }, "*");
  worker.postMessage(kept);
}

onmessage = ({ data, source }) => {
  if (source !== parent) return;
  if (data.files) {
    const blob = (name) => URL.createObjectURL(new Blob([data.files[name]], { type: "text/javascript" }));
    const urls = Object.fromEntries(["worker.js", "pyodide.mjs", "pyodide.asm.mjs"].map((name) => [name, blob(name)]));
    const files = Object.fromEntries(Object.entries(data.files).filter(([name]) => !urls[name]));
    kept = { files, urls, snapshot: data.snapshot };
    begin();
  } else if (data.restart) begin();
  else worker.postMessage(data);
};
parent.postMessage({ box: true }, "*");
