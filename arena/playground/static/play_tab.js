// The tab in which a visitor plays at a table of bots: the table's page, with the worker in place of a server.

import { plain, read } from "./dom.js";
import { h, refill, setText } from "./elements.js";
import { remember, remembered, rememberedValue } from "./memory.js";
import { call, listen, restart } from "./python.js";

const PRESETS = read("presets"); // {name, about, counts} of each, in order
const SAMPLES = read("samples"); // {name, about, level} of each, the strongest first
const OWN = { name: "mybot", about: "Your program, as it is in the other tab.", level: "" };
const BOTS = [OWN, ...SAMPLES];
const FEW = 6; // bots that are offered before "more"
const SILENCE_MS = 8_000; // of one's own bot, after which the worker is ended

const frame = h("iframe", { id: "table", title: "The table" });
const waiting = { text: h("p", { role: "status" }), bar: h("progress", { "aria-label": "Python" }) };
const again = h("button", { class: "main", onclick: openTable }, "Play again");
const wait = h("div", { class: "wait" }, waiting.text, waiting.bar, again);
let settings = { rules: "coup", bots: ["honest", "bluffer", "opportunist"] };
let newest = 0; // the number of the newest table
let started = false; // Python
let failed = false; // the worker was ended, and a match with one's own bot

/** Fill the tab, and open the table of the last visit. */
export function fill() {
  const last = rememberedValue("table");
  if (last && fits(last)) settings = last;
  document.getElementById("new-table").onclick = choose;
  document.getElementById("play-now").onclick = openTable;
  document.getElementById("invite").onclick = invite;
  if (location.hash === "#play-now") openTable();
  listen(({ text, ready, loaded }) => {
    const ended = started && !ready;
    started = ready;
    if (failed) return;
    setText(waiting.text, ready ? "The cards are dealt." : text);
    waiting.bar.value = loaded;
    if (!ended) return;
    // The worker was ended, and the match with it. One's own bot would delay what the other tab does next.
    if (!newest) return;
    if (settings.bots.includes(OWN.name)) fail("Python was stopped, and the match with it.");
    else openTable();
  });
}

/** On a ladder open a table for people, elsewhere copy the address of this page. */
async function invite() {
  if (location.pathname.startsWith("/playground/")) return location.assign("/tables/new");
  const copied = await navigator.clipboard?.writeText(location.href.split("#")[0]).then(() => true, () => false);
  setText(document.querySelector("#invite b"), copied ? "The address is copied" : "Copy the address of this page");
}

function fail(text) {
  failed = waiting.bar.hidden = true;
  wait.hidden = again.hidden = false;
  setText(waiting.text, text);
}

function fits({ rules, bots = [] }) {
  return PRESETS.some(({ name, counts }) => name === rules && counts.includes(bots.length + 1)) && bots.every((bot) => BOTS.some(({ name }) => name === bot));
}

/** Show the table's page and start a match there. */
async function openTable() {
  const number = ++newest;
  document.getElementById("welcome")?.replaceWith(frame, wait);
  if (failed) setText(waiting.text, "The cards are dealt.");
  wait.hidden = waiting.bar.hidden = failed = false;
  again.hidden = true;
  await new Promise((resolve) => {
    frame.onload = resolve;
    frame.src = `${read("table-url")}?rules=${settings.rules}&table=${number}`;
  });
  if (number !== newest) return;
  follow();
  const source = remembered("program") ?? read("first-bot");
  const seed = crypto.getRandomValues(new Uint32Array(1))[0];
  const first = await play("open_table", { ...settings, source, pace: remembered("pace") ?? "normal", seed });
  if (number !== newest) return;
  wait.hidden = !failed;
  first.forEach(send);
  if (document.activeElement === document.body) frame.focus(); // the keys are the table's
}

/** Call a function of the table. If one's own bot gives no answer, even inside C, end the worker and so the match. */
async function play(name, value) {
  const number = newest;
  let line = null;
  let timer;
  const end = () => {
    if (number === newest) fail(`The match failed: ${OWN.name}${line ? `, line ${line} or one next to it` : ""}, gave no answer for ${SILENCE_MS / 1000} seconds. Change it, and play again.`);
    restart();
    if (number !== newest) openTable(); // its call waited for this one
  };
  const watch = (reached) => {
    clearTimeout(timer);
    line = reached || line;
    if (reached !== 0) timer = setTimeout(end, SILENCE_MS);
  };
  const none = (error) => (failed || number !== newest ? [] : Promise.reject(error));
  return call(`person_table.${name}`, [value], watch).catch(none).finally(() => clearTimeout(timer));
}

function send(message) {
  frame.contentWindow.postMessage(message, location.origin);
}

/** Follow the links of the table's page, and let it have the theme of the page around it, and the other way round. */
function follow() {
  frame.contentDocument.addEventListener("click", async (event) => {
    const link = event.target.closest("a")?.getAttribute("href");
    if (link) event.preventDefault();
    if (link === "#write") document.getElementById("tab-write").click();
    if (link === "#replay") openReplay((await call("person_table.replay")).page);
    if (link === "#review") openReview(event.target);
  });
  const inner = frame.contentDocument.documentElement;
  if (root.dataset.theme) copyTheme(root, inner);
  new MutationObserver(() => copyTheme(inner, root)).observe(inner, { attributeFilter: ["data-theme"] });
}

const root = document.documentElement;
new MutationObserver(() => copyTheme(root, frame.contentDocument?.documentElement)).observe(root, { attributeFilter: ["data-theme"] });

function copyTheme(from, to) {
  if (to && from.dataset.theme !== to.dataset.theme) to.dataset.theme = from.dataset.theme;
}

addEventListener("message", async ({ data, source }) => {
  if (source !== frame.contentWindow || !wait.hidden) return;
  const message = JSON.parse(data);
  if (message.rematch && settings.bots.includes(OWN.name)) return openTable(); // with the program as it is now
  const number = newest;
  const answers = await play("answer", message);
  if (number === newest) answers.forEach(send);
});

const REVIEWING = "Reviewing your moves …";
const viewing = document.getElementById("viewing");
viewing.addEventListener("close", () => viewing.querySelector("iframe")?.remove());

/** Show the replay with a review, which takes the worker some seconds. */
async function openReview(link) {
  const text = link.textContent;
  if (text === REVIEWING) return; // a second click
  link.textContent = REVIEWING;
  const { page } = await call("person_table.review").finally(() => (link.textContent = text));
  openReplay(page);
}

/** Show a replay page over the playground, in a frame with an origin of its own. */
function openReplay(html) {
  viewing.querySelector("iframe")?.remove(); // of a first of two clicks
  viewing.append(h("iframe", { title: "Replay", sandbox: "allow-scripts", srcdoc: html }));
  viewing.showModal();
}

// --- another table

const dialog = document.getElementById("setup");

function choose() {
  const rules = h("select", { id: "rules", onchange: () => draw() }, PRESETS.map(({ name }) => h("option", { value: name, selected: name === settings.rules }, name)));
  const about = h("p", { class: "muted" });
  const count = h("select", { id: "players", onchange: () => draw() });
  const bots = h("ol", { class: "opponents" });
  let chosen = [...settings.bots];
  const draw = () => {
    const preset = PRESETS.find(({ name }) => name === rules.value);
    about.textContent = preset.about ?? "";
    const wanted = Number(count.value) || chosen.length + 1;
    const size = preset.counts.includes(wanted) ? wanted : preset.counts.findLast((each) => each < wanted) ?? preset.counts[0];
    refill(count, preset.counts.map((each) => h("option", { value: each, selected: each === size }, `${each}`)));
    const names = SAMPLES.map(({ name }) => name);
    while (chosen.length < size - 1) chosen.push(names[chosen.length % names.length]);
    chosen = chosen.slice(0, size - 1);
    refill(bots, chosen.map((bot, place) => h("li", {}, opponent(place, bot, (name) => (chosen[place] = name)))));
  };
  const start = () => {
    settings = { rules: rules.value, bots: chosen };
    remember("table", JSON.stringify(settings));
    openTable();
  };
  draw();
  refill(
    dialog,
    h("h2", { tabindex: -1, autofocus: true }, "New table"),
    h("form", { method: "dialog", onsubmit: ({ submitter }) => submitter.value === "open" && start() },
      h("div", { class: "choices" }, h("label", {}, "Rules ", rules), h("label", {}, "Players ", count)),
      about,
      h("h3", {}, "Your opponents"),
      bots,
      h("div", { class: "choices" }, h("button", { class: "main", value: "open" }, "Deal the cards"), h("button", { value: "close" }, "Cancel")),
    ),
  );
  dialog.showModal();
}

function opponent(place, bot, choose) {
  const about = h("span", { class: "muted" });
  const explain = (name) => {
    const { about: what, level } = BOTS.find((sample) => sample.name === name);
    about.textContent = plain(`${what} ${level}`);
  };
  const offer = (bots, chosen) => {
    const rest = bots.length < BOTS.length ? h("option", { value: "" }, "more …") : null;
    refill(select, bots.map(({ name }) => h("option", { selected: name === chosen }, name)), rest);
  };
  const change = () => {
    if (!select.value) return offer(BOTS, bot);
    bot = select.value;
    explain(bot);
    choose(bot);
  };
  const select = h("select", { "aria-label": `Opponent ${place + 1}`, onchange: change });
  offer(BOTS.filter(({ name }, index) => index < FEW || name === bot), bot);
  explain(bot);
  return [select, about];
}
