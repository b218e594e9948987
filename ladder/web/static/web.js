// The script of all pages: times of the reader's zone, refreshes, and forms.

// ---- times

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

localTimes(document);
setInterval(() => localTimes(document), 60_000);

// ---- addresses

// The address of a match leads to a moment of its games: /matches/812#game=7&turn=14
function followMoment() {
  const frame = document.querySelector("iframe[data-follow]");
  if (!frame || !location.hash.startsWith("#game=")) return;
  frame.contentWindow.location.replace(new URL(location.hash, frame.src));
  frame.scrollIntoView();
}

// An address leads to what is folded, too.
function unfoldTarget() {
  const target = location.hash && document.getElementById(location.hash.slice(1)); // :target isn't set yet
  if (target?.matches?.("details")) target.open = true;
}

for (const read of [followMoment, unfoldTarget]) {
  read();
  addEventListener("hashchange", read);
}
for (const page of document.querySelectorAll(":is(.top nav, .tabs) [aria-current]")) page.parentElement.scrollLeft = page.offsetLeft - page.parentElement.offsetLeft - 32; // where the pages take more than a row

// ---- refreshes: a page requests itself again when the ladder has changed

const REFRESH_MS = 30_000; // at least, and not all pages at once
const AWAITED_MS = 1_000; // of a page with data-soon, which people wait before
const isAwaited = () => document.querySelector("[data-soon]") !== null;
let refreshedAt = performance.now();
let isScheduled = false;

function scheduleRefresh() {
  if (isScheduled) return;
  isScheduled = true;
  const [pause, spread] = isAwaited() ? [AWAITED_MS, 0] : [REFRESH_MS, 1_000 + Math.random() * 4_000];
  setTimeout(refresh, Math.max(0, refreshedAt + pause - performance.now()) + spread);
}

function refresh() {
  isScheduled = false;
  const main = document.getElementById("main");
  if (document.hidden || isInUse(main)) return scheduleRefresh();
  refreshedAt = performance.now();
  window.htmx?.trigger(main, "changed");
}

// A refresh would lose what is typed or pressed now.
function isInUse(part) {
  const isChanged = (field) => (field.type === "checkbox" ? field.checked !== field.defaultChecked : field.value !== field.defaultValue);
  return [...part.querySelectorAll("form[method=post] input:not([type=hidden]), textarea")].some(isChanged) || part.matches(":active") || (part.contains(document.activeElement) && document.activeElement.matches("input, select, textarea")) || part.querySelector("[data-still], details[open] form[method=post]") !== null;
}

// Return the parts of the page by their row and text; a name that several parts have is given to none.
function partsByName(selector) {
  const parts = new Map();
  for (const part of document.querySelectorAll(`#main ${selector}`)) {
    const name = `${part.closest("tr")?.cells[0].textContent} ${part.outerHTML}`;
    parts.set(name, parts.has(name) ? null : part);
  }
  return parts;
}

// Return a function that gives the new content the folds and the focus of the old one.
function keepPlace() {
  const openByName = [...partsByName("summary")].map(([name, summary]) => [name, summary?.parentElement.open]);
  const tag = document.activeElement.localName;
  const [focused] = [...partsByName(tag)].find(([, part]) => part === document.activeElement) ?? [];
  return () => {
    const summaries = partsByName("summary");
    for (const [name, open] of openByName) if (summaries.get(name)) summaries.get(name).parentElement.open = open;
    if (focused && document.activeElement === document.body) partsByName(tag).get(focused)?.focus({ preventScroll: true });
  };
}

let restorePlace = () => {};
document.body.addEventListener("htmx:beforeSwap", ({ detail }) => {
  restorePlace = keepPlace();
  if (detail.elt.id !== "main" || !isInUse(detail.elt)) return;
  detail.shouldSwap = false; // a form was opened since the request
  scheduleRefresh();
});
document.body.addEventListener("htmx:afterSwap", () => {
  localTimes(document.getElementById("main"));
  offerPasswordText();
  restorePlace();
});
document.addEventListener("visibilitychange", () => document.hidden || scheduleRefresh());
if (document.querySelector("[data-feed]")) {
  const feed = new EventSource(isAwaited() ? "/changes?soon=true" : "/changes");
  feed.onmessage = scheduleRefresh;
  feed.addEventListener("chat", readChat);
  document.addEventListener("visibilitychange", readChat);
  setInterval(() => isAwaited() && scheduleRefresh(), 10_000); // some of its numbers change without an event
  setInterval(scheduleRefresh, 60_000); // and deadlines pass
}

let chatTimer = 0;
function readChat() {
  const lines = document.getElementById("chat-lines");
  clearTimeout(chatTimer);
  if (!lines || document.hidden) return;
  if (isInUse(lines)) chatTimer = setTimeout(readChat, AWAITED_MS);
  else window.htmx?.trigger(lines, "chat");
}

// Nothing needs htmx before the first paint; the pages of an exported site never do.
if (document.querySelector("[hx-get]")) addEventListener("load", () => requestAnimationFrame(() => setTimeout(() => document.head.append(Object.assign(document.createElement("script"), { src: new URL("htmx.min.js", import.meta.url) })))));

// ---- forms

// A form that htmx sends shows why it was refused.
document.body.addEventListener("htmx:responseError", ({ detail }) => {
  const page = new DOMParser().parseFromString(detail.xhr.responseText, "text/html");
  if (detail.elt.matches("form")) showProblem(detail.elt, page.querySelector("#main .panel p")?.textContent ?? "");
});

// Return the files below a dropped entry, each with its path.
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

function showProblem(form, text) {
  const alert = form.querySelector("[role=alert]");
  alert.textContent = text.replace(/^[a-z](?=[a-z']* )/, (letter) => letter.toUpperCase()); // not of a file's name
  alert.hidden = !text;
}

function sizeProblem(files, max) {
  const total = files.reduce((sum, [, file]) => sum + file.size, 0) / 2 ** 20;
  return total > max ? `The upload has ${total.toFixed(1)} MB; at most ${max} MB are allowed.` : "";
}

// Send a bot with the paths of its files; the form stays filled in when the server rejects it.
async function submitFiles(form, found) {
  const button = form.querySelector("button");
  button.disabled = true;
  try {
    const files = await found;
    const problem = sizeProblem(files, Number(form.dataset.most));
    showProblem(form, problem);
    if (problem) return;
    const body = new FormData();
    for (const name of ["name", "owner", "at"]) if (form.elements[name]) body.append(name, form.elements[name].value);
    for (const [path, file] of files) body.append("files", file, path);
    const response = await fetch("/api/submissions", { method: "POST", body });
    const result = await response.json();
    if (result.duplicate) showProblem(form, `These files are identical to version ${result.number} of ${result.name}. No version was added.`);
    else if (response.ok) location.assign(`/bots/${encodeURIComponent(result.name)}/${result.number}#checks`);
    else showProblem(form, response.status === 401 ? "Your session has ended. Sign in in another tab, then submit again." : result.error);
  } catch (problem) {
    showProblem(form, `Upload failed: ${problem.message}`);
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
  if (entries.length) submitFiles(form, Promise.all(entries.map((entry) => filesOf(entry))).then((each) => each.flat()));
});
document.addEventListener("submit", (event) => {
  const form = event.target;
  if (!form.matches(".drop")) return;
  event.preventDefault();
  const files = [...form.querySelectorAll("input[type=file]")].flatMap((input) => [...input.files]);
  if (!files.length) showProblem(form, "Choose a file or a folder first.");
  else submitFiles(form, files.map((file) => [file.webkitRelativePath || file.name, file]));
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
    showProblem(form, [...page.querySelectorAll("main .panel p:not(:has(a))")].map((line) => line.textContent).join(" "));
  } catch (problem) {
    showProblem(form, `The form wasn't sent: ${problem.message}`);
  } finally {
    button.disabled = false;
  }
});

// Back and reload lead from the answer to a form to the form's page: they don't send the form again.
// A browser may refuse to store anything.
const session = (() => { try { return sessionStorage; } catch { return {}; } })();
if (document.querySelector("[data-answer]") && session.form) history.replaceState(null, "", session.form);
document.addEventListener("submit", ({ target }) => {
  if (target.getAttribute("method") !== "post") return;
  if (target.matches("[data-login]")) return ["form", "typed", "unsent"].forEach((name) => delete session[name]); // it signs out
  session.form = location.href;
  session.typed = JSON.stringify([keyOf(target), fieldsOf(target).map(({ value, checked }) => [value, checked])]);
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
  session.unsent = session.typed;
  location.replace(`/sign-in?then=${encodeURIComponent(location.pathname + location.search)}`);
}

if (document.querySelector("[data-ended]") && session.typed) signInAgain();
else if (!document.querySelector("[data-back]")) delete session.typed;
const [unsent, typed] = JSON.parse(session.unsent ?? "[]");
if (unsent && location.pathname === "/sign-in") document.querySelector("h1").insertAdjacentHTML("afterend", '<p class="panel bad" role="alert">Nothing was saved. Sign in, then send the form again: it is filled in as before.</p>');
for (const form of document.forms) {
  if (keyOf(form) !== unsent) continue;
  delete session.unsent;
  fieldsOf(form).forEach((field, place) => ([field.value, field.checked] = typed[place]));
  for (let part = form; (part = part.parentElement?.closest("details")); ) part.open = true;
  form.querySelector("button:not([type=button])")?.focus();
}

// A second click on a button would cancel the answer to the first, which may be a session or a secret that is shown once.
const ONCE_MS = 10_000;
let sentAt = new Map();
addEventListener("pageshow", ({ persisted }) => {
  sentAt = new Map();
  if (persisted) delete session.unsent; // the form is as it was
});
document.addEventListener("submit", (event) => {
  const button = event.submitter ?? event.target;
  if (performance.now() - (sentAt.get(button) ?? -Infinity) < ONCE_MS) event.preventDefault();
  else if (!event.defaultPrevented) sentAt.set(button, performance.now());
});

// Signing out deletes the programs that the playground stored for the login, and offers to download them before.
document.querySelector("form[data-login]")?.addEventListener("submit", (event) => {
  const form = event.target;
  try {
    const keys = ["program", "versions", "history"].map((key) => `coup-${form.dataset.login}/${key}`);
    const [program, versions] = keys.map((key) => localStorage.getItem(key));
    if (program === null && versions === null) return localStorage.removeItem("coup-login");
    const texts = [`--- The program ---\n\n${program ?? ""}`, ...JSON.parse(versions ?? "[]").map(({ number, text }) => `--- Version ${number} ---\n\n${text}`)];
    const dialog = Object.assign(document.createElement("dialog"), { ariaLabel: "Sign out" });
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
function offerPasswordText() {
  for (const field of document.querySelectorAll("input[type=password]:not([data-offered])")) {
    field.dataset.offered = "";
    const box = Object.assign(document.createElement("input"), { type: "checkbox" });
    const label = Object.assign(document.createElement("label"), { className: "tick" });
    label.append(box, " Show it");
    box.addEventListener("change", () => (field.type = box.checked ? "text" : "password"));
    field.form.addEventListener("submit", () => (field.type = "password")); // else the browser remembers it as a text
    field.parentElement.after(label);
  }
}
offerPasswordText();

// A link to a page that takes long to compute shows progress until the page comes.
const progressOf = (link) => link.parentElement.querySelector("progress");
addEventListener("pageshow", () => document.querySelectorAll("[data-slow]").forEach((link) => (progressOf(link).hidden = true))); // also after Back

document.addEventListener("click", ({ target, ctrlKey, metaKey }) => {
  const pressed = target.closest(".print, [data-back], [data-slow]");
  if (pressed?.matches(".print")) print();
  if (pressed?.matches("[data-slow]")) progressOf(pressed).hidden = ctrlKey || metaKey;
  if (!pressed?.matches("[data-back]")) return;
  if (session.typed) session.unsent = session.typed;
  history.back();
});

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
