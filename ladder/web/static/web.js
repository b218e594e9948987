// A page asks for itself again when the ladder has changed: at most every 30 s, not all at once, and not unseen.
// A page with data-soon is one that people wait before.
const MIN_MS = 30_000;
const ONCE_MS = 10_000;
const soon = () => document.querySelector("[data-soon]") !== null;
let last = performance.now();
let waits = false;

const UNITS = [["day", 86_400], ["hour", 3_600], ["minute", 60]];
const FAR_S = 30 * 86_400; // beyond, a date says more than a number of days

// Without Intl: its data would take longer than the rest of this script, before the first paint.
function localTime(at) {
  const minutes = -at.getTimezoneOffset();
  const [hours, rest] = [Math.trunc(Math.abs(minutes) / 60), Math.abs(minutes) % 60];
  const zone = `UTC${minutes ? `${minutes > 0 ? "+" : "-"}${hours}${rest ? `:${rest}` : ""}` : ""}`;
  return `${new Date(at.getTime() + minutes * 60_000).toISOString().slice(0, 16).replace("T", " ")} ${zone}`;
}

function relativeTime(at) {
  const seconds = (at - Date.now()) / 1_000;
  if (Math.abs(seconds) > FAR_S) return localTime(at).slice(0, 10);
  const [unit, size] = UNITS.find(([, size]) => Math.abs(seconds) >= 2 * size) ?? ["minute", 60];
  const count = Math.round(Math.abs(seconds) / size);
  const words = `${count} ${unit}${count === 1 ? "" : "s"}`;
  return !count ? "now" : seconds < 0 ? `${words} ago` : `in ${words}`;
}

function localTimes(root) {
  for (const time of root.querySelectorAll("time[datetime]")) {
    const at = new Date(time.dateTime);
    time.title = localTime(at);
    const relative = relativeTime(at);
    const both = time.title.startsWith(relative) ? time.title : `${time.title}, ${relative}`;
    time.textContent = { exact: time.title, both }[time.dataset.show] ?? relative;
  }
}

function busy(main) {
  const active = document.activeElement;
  const typing = active && main.contains(active) && active.matches("input, select, textarea");
  const filled = [...main.querySelectorAll("form[method=post] input:not([type=hidden]), textarea")].some((field) => field.value !== field.defaultValue);
  return typing || filled || main.querySelector("[data-still], details[open] form[method=post]") !== null;
}

function ask() {
  waits = false;
  const main = document.getElementById("main");
  if (document.hidden || busy(main)) return later();
  last = performance.now();
  window.htmx?.trigger(main, "changed");
}

function later() {
  if (waits) return;
  waits = true;
  const spread = soon() ? 0 : 1_000 + Math.random() * 4_000;
  setTimeout(ask, Math.max(0, last + (soon() ? 1_000 : MIN_MS) - performance.now()) + spread);
}

// The address of a match leads to a moment of its games: /matches/812#game=7&turn=14
function follow() {
  const frame = document.querySelector("iframe[data-follow]");
  if (frame && location.hash.startsWith("#game=")) frame.contentWindow.location.replace(new URL(location.hash, frame.src));
}

// An address leads to what is folded, too.
function unfold() {
  const place = location.hash && document.getElementById(location.hash.slice(1)); // :target isn't set yet
  if (place?.matches?.("details")) place.open = true;
}

localTimes(document);
unfold();
for (const page of document.querySelectorAll(":is(.top nav, .tabs) [aria-current]")) page.parentElement.scrollLeft = page.offsetLeft - page.parentElement.offsetLeft - 32; // where the pages take more than a row
// Nothing needs htmx before the first paint; the pages of an exported site never do.
if (document.querySelector("[hx-get]")) addEventListener("load", () => requestAnimationFrame(() => setTimeout(() => document.head.append(Object.assign(document.createElement("script"), { src: new URL("htmx.min.js", import.meta.url) })))));
addEventListener("hashchange", unfold);
setInterval(() => localTimes(document), 60_000);
follow();
addEventListener("hashchange", () => {
  follow();
  document.querySelector("iframe[data-follow]")?.scrollIntoView();
});
// A form may have been opened since the page was asked for.
document.body.addEventListener("htmx:beforeSwap", ({ detail }) => {
  if (detail.elt.id !== "main" || !busy(detail.elt)) return;
  detail.shouldSwap = false;
  later();
});
document.body.addEventListener("htmx:afterSwap", () => localTimes(document.getElementById("main")));
document.addEventListener("visibilitychange", () => document.hidden || waits || later());
if (document.querySelector("[data-feed]")) {
  const feed = new EventSource(soon() ? "/changes?soon=true" : "/changes");
  feed.onmessage = later;
  feed.addEventListener("chat", readChat);
  document.addEventListener("visibilitychange", readChat);
  setInterval(() => soon() && later(), 10_000); // some of its numbers change without an event
  setInterval(later, 60_000); // and deadlines pass
}

function readChat() {
  const lines = document.getElementById("chat-lines");
  if (lines && !document.hidden && !busy(lines)) window.htmx?.trigger(lines, "chat");
}

// A form that htmx sends shows why it was refused.
document.body.addEventListener("htmx:responseError", ({ detail }) => {
  const page = new DOMParser().parseFromString(detail.xhr.responseText, "text/html");
  if (detail.elt.matches("form")) say(detail.elt, page.querySelector("#main .panel p")?.textContent ?? "");
});

// A bot is sent with the paths of its files, and its form stays filled in when the server rejects it.
async function filesOf(entry, above = "") {
  const path = above + entry.name;
  if (entry.isFile) return [[path, await new Promise((give, fail) => entry.file(give, fail))]];
  const reader = entry.createReader();
  const found = [];
  for (;;) {
    const some = await new Promise((give, fail) => reader.readEntries(give, fail)); // a hundred at a time
    if (!some.length) break;
    for (const inner of some)
      if (!inner.name.startsWith(".") && inner.name !== "__pycache__") found.push(...(await filesOf(inner, `${path}/`)));
  }
  return found;
}

function say(form, what) {
  const alert = form.querySelector("[role=alert]");
  alert.textContent = what.replace(/^[a-z](?=[a-z']* )/, (letter) => letter.toUpperCase());  // not of a file's name
  alert.hidden = !what;
}

function tooLarge(form, files) {
  const most = Number(form.dataset.most);
  const all = files.reduce((sum, file) => sum + file.size, 0) / 2 ** 20;
  say(form, all > most ? `The upload has ${all.toFixed(1)} MB; at most ${most} MB are allowed.` : "");
  return all > most;
}

async function send(form, found) {
  const button = form.querySelector("button");
  button.disabled = true;
  try {
    const files = await found;
    if (tooLarge(form, files.map(([, file]) => file))) return;
    const body = new FormData();
    for (const word of ["name", "owner", "at"]) if (form.elements[word]) body.append(word, form.elements[word].value);
    for (const [path, file] of files) body.append("files", file, path);
    const answered = await fetch("/api/submissions", { method: "POST", body });
    const result = await answered.json();
    if (result.duplicate) say(form, `These files are identical to version ${result.number} of ${result.name}. No version was added.`);
    else if (answered.ok) location.assign(`/bots/${encodeURIComponent(result.name)}/${result.number}#checks`);
    else say(form, answered.status === 401 ? "Your session has ended. Sign in in another tab, then submit again." : result.error);
  } catch (problem) {
    say(form, `Upload failed: ${problem.message}`);
  } finally {
    button.disabled = false;
  }
}

// The playground hands a program over in the address; it waits in the session while its author signs in.
async function takeProgram() {
  if (location.hash.startsWith("#bot=")) sessionStorage.setItem("program", location.hash.slice(5));
  const form = document.querySelector("form.drop");
  const [name, packed] = (form && sessionStorage.getItem("program"))?.split(":") ?? [];
  if (!packed) return;
  sessionStorage.removeItem("program");
  history.replaceState(null, "", location.pathname);
  const bytes = Uint8Array.from(atob(packed.replaceAll("-", "+").replaceAll("_", "/")), (character) => character.charCodeAt(0));
  const text = await new Response(new Blob([bytes]).stream().pipeThrough(new DecompressionStream("gzip"))).text();
  const given = new DataTransfer();
  given.items.add(new File([text], name, { type: "text/x-python" }));
  form.querySelector("input[type=file]").files = given.files;
  form.querySelector("button").focus();
}
takeProgram().catch(() => null); // a damaged link leaves the form empty

document.addEventListener("dragover", (event) => event.target.closest?.(".drop") && event.preventDefault());
document.addEventListener("drop", (event) => {
  const form = event.target.closest?.(".drop");
  if (!form) return;
  event.preventDefault();
  const entries = [...event.dataTransfer.items].map((item) => item.webkitGetAsEntry()).filter(Boolean);
  if (entries.length) send(form, Promise.all(entries.map((entry) => filesOf(entry))).then((each) => each.flat()));
});
document.addEventListener("submit", (event) => {
  const form = event.target;
  if (!form.matches(".drop")) return;
  event.preventDefault();
  const files = [...form.querySelectorAll("input[type=file]")].flatMap((input) => [...input.files]);
  if (!files.length) say(form, "Choose a file or a folder first.");
  else send(form, files.map((file) => [file.webkitRelativePath || file.name, file]));
});

// A form with data-keep stays as it is filled in when the server rejects it, and shows the reason.
document.addEventListener("submit", async (event) => {
  const form = event.target;
  if (!form.matches("[data-keep]") || event.submitter?.formMethod === "get") return;
  event.preventDefault();
  const button = event.submitter ?? form.querySelector("button");
  if (!form.querySelector("[role=alert]")) form.append(Object.assign(document.createElement("p"), { className: "bad", role: "alert" }));
  button.disabled = true;
  try {
    const body = new URLSearchParams(new FormData(form, event.submitter));
    const answer = await fetch(form.getAttribute("action"), { method: "POST", body });
    if (answer.redirected) return location.assign(answer.url);
    if (answer.status === 401) return signInAgain();
    const page = new DOMParser().parseFromString(await answer.text(), "text/html");
    if (page.querySelector("main form")) return form.submit();  // to the page that asks for a confirmation
    say(form, [...page.querySelectorAll("main .panel p:not(:has(a))")].map((line) => line.textContent).join(" "));
  } catch (problem) {
    say(form, `The form wasn't sent: ${problem.message}`);
  } finally {
    button.disabled = false;
  }
});

// Back and reload lead from the answer to a form to the form's page: they don't send the form again.
// A browser may refuse to store anything.
const stored = (() => { try { return sessionStorage; } catch { return {}; } })();
if (document.querySelector("[data-answer]") && stored.form) history.replaceState(null, "", stored.form);
document.addEventListener("submit", ({ target }) => {
  if (target.getAttribute("method") !== "post") return;
  if (target.matches("[data-login]")) return ["form", "typed", "unsent"].forEach((name) => delete stored[name]);  // it signs out
  stored.form = location.href;
  stored.typed = JSON.stringify([keyOf(target), fieldsOf(target).map(({ value, checked }) => [value, checked])]);
});

// A form is filled in again, without passwords, once its user has signed in after the end of a session, or has gone back.
const fieldsOf = (form) => [...form.querySelectorAll("input[name]:not([type=password], [type=file], [type=hidden]), select, textarea")];
function keyOf(form) {
  const login = document.querySelector("form[data-login]")?.dataset.login;
  const item = ["table", "index"].map((name) => form.elements[name]?.value);  // and its first field: of which item it is
  const shown = fieldsOf(form).map((field) => field.defaultValue).find(Boolean);
  return [login, location.pathname, [...document.forms].indexOf(form), form.getAttribute("action"), ...item, shown].join(" ");
}

function signInAgain() {
  stored.unsent = stored.typed;
  location.replace(`/sign-in?then=${encodeURIComponent(location.pathname + location.search)}`);
}

if (document.querySelector("[data-ended]") && stored.typed) signInAgain();
else if (!document.querySelector("[data-back]")) delete stored.typed;
const [unsent, typed] = JSON.parse(stored.unsent ?? "[]");
if (unsent && location.pathname === "/sign-in") document.querySelector("h1").insertAdjacentHTML("afterend", '<p class="panel bad" role="alert">Nothing was saved. Sign in, then send the form again: it is filled in as before.</p>');
for (const form of document.forms) {
  if (keyOf(form) !== unsent) continue;
  delete stored.unsent;
  fieldsOf(form).forEach((field, place) => ([field.value, field.checked] = typed[place]));
  for (let part = form; (part = part.parentElement?.closest("details")); ) part.open = true;
  form.querySelector("button:not([type=button])")?.focus();
}

// A second click on a button would cancel the answer to the first, which may be a session or a secret that is shown once.
let sent = new Map();
addEventListener("pageshow", ({ persisted }) => {
  sent = new Map();
  if (persisted) delete stored.unsent; // the form is as it was
});
document.addEventListener("submit", (event) => {
  const button = event.submitter ?? event.target;
  if (performance.now() - (sent.get(button) ?? -Infinity) < ONCE_MS) event.preventDefault();
  else if (!event.defaultPrevented) sent.set(button, performance.now());
});

// Signing out deletes the programs that the playground stored for the login, and offers to download them before.
document.querySelector("form[data-login]")?.addEventListener("submit", (event) => {
  const form = event.target;
  try {
    const keys = ["program", "versions", "history"].map((key) => `coup-${form.dataset.login}/${key}`);
    const [program, versions] = keys.map((key) => localStorage.getItem(key));
    if (program === null && versions === null) return localStorage.removeItem("coup-login");
    const texts = [`--- The program ---\n\n${program ?? ""}`, ...JSON.parse(versions ?? "[]").map(({ number, text }) => `--- Version ${number} ---\n\n${text}`)];
    const dialog = document.createElement("dialog");
    dialog.innerHTML = '<form method="dialog" class="stack"><p>This browser stores your programs of the playground. They are deleted when you sign out.</p><p><a class="button" download="playground.txt">Download them</a> <button value="out" class="danger">Delete them and sign out</button> <button>Cancel</button></p></form>';
    dialog.querySelector("a").href = `data:text/plain;charset=utf-8,${encodeURIComponent(texts.join("\n\n"))}`;
    dialog.addEventListener("close", () => {
      if (dialog.returnValue === "out") {
        for (const key of [...keys, "coup-login"]) localStorage.removeItem(key);
        form.submit();
      }
      dialog.remove();
    });
    document.body.append(dialog);
    dialog.showModal();
    event.preventDefault();
  } catch {
    // the browser stores nothing
  }
});

// A time is typed in the reader's zone.
for (const field of document.querySelectorAll("[data-zone]")) {
  const at = field.form.elements.at.value; // an offset that is the reader's at that time is shown as their zone
  if (!field.value || +new Date(at) === +new Date(at + field.value)) field.value = Intl.DateTimeFormat().resolvedOptions().timeZone;
  if (!document.getElementById("zones")) {
    const zones = Object.assign(document.createElement("datalist"), { id: "zones" });
    zones.append(...Intl.supportedValuesOf("timeZone").map((zone) => new Option(zone)));
    document.body.append(zones);
  }
  field.setAttribute("list", "zones");
}

// What is typed as a password can be looked at.
for (const field of document.querySelectorAll("input[type=password]")) {
  const box = Object.assign(document.createElement("input"), { type: "checkbox" });
  const label = document.createElement("label");
  label.className = "tick";
  label.append(box, " Show it");
  box.addEventListener("change", () => (field.type = box.checked ? "text" : "password"));
  field.form.addEventListener("submit", () => (field.type = "password")); // else the browser remembers it as a text
  field.closest("label").after(label);
}

for (const button of document.querySelectorAll(".print")) button.addEventListener("click", () => window.print());

for (const button of document.querySelectorAll("[data-back]")) button.addEventListener("click", () => {
  if (stored.typed) stored.unsent = stored.typed;
  history.back();
});

// A link to a page that takes long to compute shows progress until the page comes.
for (const link of document.querySelectorAll("[data-slow]")) {
  const bar = link.parentElement.querySelector("progress");
  link.addEventListener("click", (event) => (bar.hidden = event.ctrlKey || event.metaKey));
  addEventListener("pageshow", () => (bar.hidden = true)); // also after Back
}

// A button next to a link or token copies it.
for (const text of navigator.clipboard ? document.querySelectorAll("[data-copy]") : []) {
  const button = document.createElement("button");
  button.type = "button";
  button.textContent = "Copy";
  button.addEventListener("click", async () => {
    await navigator.clipboard.writeText(text.textContent);
    button.textContent = "Copied";
  });
  text.after(button);
}
