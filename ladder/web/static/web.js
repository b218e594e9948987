// A page asks for itself again when the ladder has changed: at most every 30 s, not all at once, and not unseen.
const LEAST_MS = 30_000;
let last = performance.now();
let waits = false;

function localTimes(root) {
  for (const time of root.querySelectorAll("time[datetime]")) {
    const at = new Date(time.dateTime);
    time.title = time.textContent;
    time.textContent = at.toLocaleString(undefined, { dateStyle: "medium", timeStyle: "short" });
  }
}

function busy(main) {
  const active = document.activeElement;
  const typing = active && main.contains(active) && active.matches("input, select, textarea");
  const filled = [...main.querySelectorAll("form[method=post] input:not([type=hidden]), textarea")].some((field) => field.value);
  return typing || filled || main.querySelector("[data-still]") !== null;
}

function ask() {
  waits = false;
  const main = document.getElementById("main");
  if (document.hidden || busy(main)) return later();
  last = performance.now();
  window.htmx.trigger(main, "changed");
}

function later() {
  if (waits) return;
  waits = true;
  const spread = 1_000 + Math.random() * 4_000;
  setTimeout(ask, Math.max(0, last + LEAST_MS - performance.now()) + spread);
}

localTimes(document);
document.body.addEventListener("htmx:afterSwap", () => localTimes(document.getElementById("main")));
document.addEventListener("visibilitychange", () => document.hidden || waits || later());
if (document.querySelector(".top")) new EventSource("/changes").onmessage = later;
