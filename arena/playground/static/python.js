// Calls functions of arena.playground_worker in the worker, and loads Python for it.

import { read } from "./dom.js";

const box = document.getElementById("box");
const calls = new Map(); // id -> {resolve, reject, beat}
const listeners = new Set();
let last = 0;

/** What is known of Python: {text, ready, loaded}, loaded from 0 to 1. `listen(f)` calls f with it now and at each change. */
const state = { text: "Python is loading.", ready: false, loaded: 0 };
let markReady;
let ready = new Promise((resolve) => (markReady = resolve));

/** Return a promise that is kept once Python runs. */
export const whenReady = () => ready;

export function listen(act) {
  listeners.add(act);
  act(state);
}

/** Call `module.function` with values, and return a promise of its result. It is rejected with an Error if Python raises,
 * or if the worker is ended before. beat: called with what the function reports while it runs. */
export async function call(name, values = [], beat = null) {
  const id = ++last;
  const promise = new Promise((resolve, reject) => calls.set(id, { resolve, reject, beat }));
  await ready;
  if (calls.has(id)) send({ id, call: name, arguments: values });
  return promise;
}

/** End the worker, whatever it does, and start a new one. */
export function restart() {
  for (const each of calls.values()) each.reject(new Error("Python was stopped."));
  calls.clear();
  if (state.ready) ready = new Promise((resolve) => (markReady = resolve));
  publish("Python starts again.", false);
  send({ restart: true });
}

function publish(text, ready, loaded = 1) {
  Object.assign(state, { text, ready, loaded });
  for (const each of listeners) each(state);
}

function send(message) {
  box.contentWindow.postMessage(message, "*");
}

addEventListener("message", async ({ data, source }) => {
  if (source !== box.contentWindow) return;
  if (data.box) return boxIsReady();
  if (data.failed) globalThis.caches?.delete("snapshot").catch(() => null);
  if (data.failed) return publish(`Python can't start: ${data.failed}. Reload the page.`, false);
  if (data.ready) {
    publish(`Python ${data.ready}`, true);
    markReady();
    return gotSnapshot(data.snapshot);
  }
  const asked = calls.get(data.id);
  if (!asked) return;
  if (data.beat !== undefined) return asked.beat?.(data.beat);
  calls.delete(data.id);
  if (data.problem !== undefined) asked.reject(new Error(data.problem));
  else asked.resolve(data.result);
});

const LISTED = read("files"); // name -> {url, bytes}
const SNAPSHOT = `./snapshot?${navigator.userAgent}${Object.values(LISTED).map(({ url }) => url)}`;
const files = {}; // name -> Blob
let gotSnapshot; // takes effect once: only the first start comes before all programs
new Promise((resolve) => (gotSnapshot = resolve)).then(keep).catch(() => null); // no storage: the next visit is slower

/** Keep the loaded files and Python's memory for the next visit; the service worker adds the other files. */
async function keep(snapshot) {
  if (!navigator.serviceWorker) return;
  if (!navigator.serviceWorker.controller) {
    const cache = await caches.open("playground");
    await Promise.all(Object.entries(files).map(([name, blob]) => cache.put(LISTED[name].url, new Response(blob))));
    await navigator.serviceWorker.register("service-worker.js");
  }
  if (!snapshot) return;
  await caches.delete("snapshot");
  await (await caches.open("snapshot")).put(SNAPSHOT, new Response(snapshot));
}

/** Load all files, and give them to the box. */
async function load() {
  let got = 0;
  const total = Object.values(LISTED).reduce((sum, { bytes }) => sum + bytes, 0);
  await Promise.all(
    Object.entries(LISTED).map(async ([name, { url }]) => {
      const answer = await fetch(url);
      if (!answer.ok) throw new Error(`${url}: ${answer.status}`);
      const parts = [];
      for (const reader = answer.body.getReader(); ; ) {
        const { done, value } = await reader.read();
        if (done) break;
        parts.push(value);
        got += value.length;
        publish(`Python is loading, once: ${Math.floor((100 * got) / total)} %.`, false, got / total);
      }
      files[name] = new Blob(parts);
    }),
  );
  const snapshot = await (await globalThis.caches?.match(SNAPSHOT).catch(() => null))?.blob();
  await boxed;
  publish("Python starts.", false);
  send({ files, snapshot });
}

let boxIsReady;
const boxed = new Promise((resolve) => (boxIsReady = resolve));
box.srcdoc = read("box-page");
load().catch((error) => publish(`Python can't be loaded: ${error.message}. Reload the page.`, false));
