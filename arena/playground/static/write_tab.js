// The tab in which a visitor writes a bot and plays it against sample bots.

import { read } from "./dom.js";
import { makeEditor } from "./editor.js";
import { h, refill, setText, svg } from "./elements.js";
import { remember, remembered, rememberedValue } from "./memory.js";
import { call, listen, restart, whenReady } from "./python.js";

const SAMPLES = read("samples"); // {name, about}
const FIRST_OPPONENTS = ["honest", "counter", "turtle"];
const SILENCE_MS = 6_000; // without a beat, after which the worker is ended
const MAX_VERSIONS = 20;
const NAME = "mybot";
const SEED = 1; // the same deals for all versions

const store = (name, value) => remember(name, JSON.stringify(value));
const percent = (value) => `${(100 * value).toFixed(1)} %`;

let editor;
let versions = rememberedValue("versions") ?? []; // {number, text, results: {opponents: worth}}, the newest last
let trial = null; // that is played: {match, line, beatAt, reason, result}; the line is the one that the guard saw last
let latest = null; // the last finished result: {progress, before, source}

const play = h("button", { class: "main", id: "run", onclick: () => run(200) }, "Play 200 games");
const stop = h("button", { class: "main", hidden: true, onclick: () => end("stop") }, "Stop");
const opponents = FIRST_OPPONENTS.map((name, place) => h("select", { "aria-label": `Opponent ${place + 1}`, onchange: () => (store("opponents", chosenNames()), showVersions()) }));
const chosen = h("p", { class: "against" }, "against", opponents);
const baseline = h("select", { id: "baseline" });
const compared = h("p", { class: "against", hidden: true }, h("label", { for: "baseline" }, "Compare with"), baseline);
const earlier = h("select", { "aria-label": "Earlier versions", onchange: () => openVersion(Number(earlier.value)) });
const state = h("p", { class: "muted", role: "status" });
const bar = h("progress", { max: 1, value: 0, "aria-label": "games played", hidden: true });
const problems = h("div", { role: "alert" });
const difference = h("p", { id: "difference", role: "status", hidden: true });
const rates = h("table", { id: "rates", hidden: true });
const lost = h("section", { id: "lost", hidden: true });
const printed = h("details", { hidden: true }, h("summary", {}, "What the bot printed"), h("pre", { tabindex: 0 }));
const results = h("div", { class: "results" }, problems, difference, rates, lost, printed);
const replay = h("section", { class: "replay", "aria-label": "Replay", hidden: true });
const notice = h("p", { class: "notice", role: "status", hidden: true });
const shared = h("span", { class: "muted", role: "status" });

const kit =
  h("details", { class: "kit" }, h("summary", {}, "What a bot can ask and do"),
    Object.entries(read("kit")).map(([title, rows]) => [h("h2", {}, title), h("dl", {}, rows.map(([name, about]) => [h("dt", {}, name), h("dd", {}, about.split("`").map((part, place) => (place % 2 ? h("code", {}, part) : part)))]))]));

/** Fill the tab. */
export async function fill(panel) {
  const area = h("div", { id: "editor" });
  const ladder = h("button", { class: "tool", hidden: true, onclick: submit }, "Submit to the ladder");
  panel.append(
    h("div", { class: "program" },
      h("div", { class: "tools" }, earlier,
        h("button", { class: "tool", onclick: download }, "Download"),
        h("button", { class: "tool", onclick: share }, "Copy a link"), ladder, shared),
      notice, area),
    h("div", { class: "side" },
      h("div", { class: "go" }, play, stop, h("kbd", {}, "Ctrl Enter"), state, bar),
      chosen, compared, results, kit, replay),
  );
  editor = await makeEditor(area);
  document.addEventListener("keydown", (event) => {
    if (panel.hidden || event.key !== "Enter" || !(event.ctrlKey || event.metaKey)) return;
    event.preventDefault(); // a button with the focus isn't pressed, too
    run(200);
  });
  editor.open(remembered("program") ?? read("first-bot"), rememberedValue("history"));
  addEventListener("pagehide", () => store("history", editor.history()));
  editor.onChange(() => (remember("program", editor.text()), editor.mark([])));
  showVersions();
  await openLink();
  addEventListener("hashchange", openLink);
  listen(({ ready }) => ready || trial || setText(state, "You can read and change the program while Python loads."));
  await whenReady();
  if (!trial) setText(state, versions.length ? "" : "See how many games this bot wins.");
  if (location.pathname.startsWith("/playground/")) ladder.hidden = !(await fetch("/submit")).ok;
}

// --- games

/** Play the program; before it, the version to compare it with on the same deals, if it hasn't played them. */
async function run(games) {
  if (trial) return;
  const own = (trial = { match: 0, line: null, beatAt: Infinity, reason: null, result: null });
  const source = editor.text();
  const names = `${chosenNames()}`;
  const values = { source, opponents: chosenNames().map(findOpponent), games, seed: SEED };
  const before = findBaseline(source);
  notice.hidden = true;
  showReplay(null);
  showProblems([]);
  count({ played: 0, games });
  toggle(true);
  showLost([]); // Python can't open a game while it plays
  const watchdog = setInterval(() => performance.now() - own.beatAt > SILENCE_MS && end("silence"), 250);
  try {
    await whenReady();
    if (own.reason) throw new Error(own.reason);
    if (before && wonGames(before, names).length < games) {
      await playTrial(own, { ...values, source: before.text }, (progress) => {
        count(progress, ` Version ${before.number} plays the same deals first.`);
        if (progress.done && !progress.faults.length) before.results[names] = progress.worth;
      });
    }
    await playTrial(own, { ...values, previous: before?.results[names] }, (progress) => show({ progress, source, names, before }));
  } catch (error) {
    if (own.reason === "silence") await nameLoop(own, values);
    else if (own.reason === "stop") showStopped(own);
    else setText(state, own.reason ?? error.message);
  } finally {
    clearInterval(watchdog);
    trial = null;
    toggle(false);
  }
}

function toggle(plays) {
  const focused = document.activeElement === (plays ? play : stop) || (plays && [difference, lost].some((each) => each.contains(document.activeElement)));
  play.hidden = plays;
  stop.hidden = bar.hidden = !plays;
  if (focused) (plays ? stop : play).focus();
}

const chosenNames = () => opponents.map(({ value }) => value).filter(Boolean);
const findOpponent = (name) => (SAMPLES.some((sample) => sample.name === name) ? name : { name, source: versions.find(({ number }) => `version ${number}` === name).text });

async function playTrial(own, values, act) {
  await call("trial.run_trial", [values], (progress) => {
    own.beatAt = performance.now();
    if (!progress) return;
    own.match = progress.worth.length;
    act(progress);
  });
  own.beatAt = Infinity;
}

/** End the games, with the worker that plays them. reason: "stop", "silence", or a text for the visitor. */
function end(reason) {
  if (!trial) return;
  Object.assign(trial, { reason, beatAt: Infinity });
  restart();
}

/** Play the match that gave no answer again, with a guard that names the line of the endless loop. */
async function nameLoop(own, values) {
  setText(state, "No answer for 6 seconds. The match is played again to find the line.");
  own.reason = null;
  await whenReady();
  const see = (reached) => Object.assign(own, { line: reached, beatAt: performance.now() });
  const message = "this line, or one next to it, gave no answer for 6 seconds: it takes too long, or never ends";
  const { problem } = await call("trial.find_endless_loop", [{ ...values, match: own.match }], see).catch(() => ({ problem: { line: own.line, message } }));
  own.beatAt = Infinity;
  if (problem) showProblems([problem]);
  setText(state, problem ? "The games were stopped." : "This time the match came to its end: this computer may be busy. Play again.");
}

// --- results

function count({ played, games }, more = "") {
  bar.value = played / games;
  setText(state, `${played.toLocaleString("en")} of ${games.toLocaleString("en")} games.${more}`);
}

/** Show a result of the program while it plays: {progress, source, names, before}. */
function show(result) {
  const { faults, done, verdict, output } = result.progress;
  count(result.progress, verdict && !done ? " The comparison is certain: you can stop." : "");
  if (faults.length) {
    const reason = "The games stopped. Fix this, and play again.";
    trial.result = null;
    showProblems(faults);
    showOutput(output);
    setText(state, reason);
    if (faults.some(({ restart }) => restart)) end(reason);
    return;
  }
  trial.result = result;
  draw(result, done);
  if (!done) return;
  latest = result;
  keepVersion(result);
}

/** Show the last finished result again, unless the stopped games have decided or are the first. */
function showStopped({ result }) {
  const finished = result?.progress.verdict ? null : latest;
  latest = finished ?? result ?? latest;
  if (result) keepVersion(result);
  if (latest) draw(latest, true);
  setText(state, `${state.textContent} You stopped${result ? "; the version is kept" : ""}.${finished ? " The result below is that of the games before." : ""}`);
}

function draw({ progress, before }, ended) {
  const { verdict, games, done } = progress;
  showRates(progress);
  showOutput(progress.output);
  showLost(ended ? progress.lost : []);
  const more = ended && !verdict && (games < 1000 || !done) && [" ", h("button", { onclick: () => run(1000) }, "Play 1,000 games")];
  difference.hidden = !progress.difference && !ended;
  difference.className = verdict ?? "";
  if (progress.difference) refill(difference, h("b", {}, `Compared with version ${before.number}: `), `${progress.difference}.`, more);
  else setText(difference, "Now look at a lost game, change the program, and play again: the new version is compared with this one.");
}

function showOutput(output) {
  printed.hidden = !output;
  setText(printed.lastChild, output);
}

/** Show problems in place of results; without problems, the results stay. */
function showProblems(found) {
  editor.mark(found);
  if (found.length) {
    latest = null;
    for (const each of [difference, rates, lost, printed]) each.hidden = true;
  }
  refill(
    problems,
    found.map(({ line, message, count, at, traceback }) =>
      h("div", { class: "problem" },
        h("p", {}, h("b", {}, line ? `Line ${line}: ` : ""), message),
        count && h("p", { class: "muted" }, `${count} ${count === 1 ? "time" : "times"}, first in match ${at.match + 1}, game ${at.game + 1}${at.turn ? `, turn ${at.turn}, when asked for “${at.kind}”` : ""}.`),
        traceback && h("details", {}, h("summary", {}, "Traceback"), h("pre", { tabindex: 0 }, traceback)))),
  );
}

function showRates({ win_rates, fair_share }) {
  rates.hidden = false;
  refill(
    rates,
    h("caption", {}, `Games won, with the 95 % interval. Equal bots win ${percent(fair_share)} each.`),
    h("tbody", {}, win_rates.map(({ name, value, interval: [low, high] }) =>
      h("tr", { class: name === NAME && "own" },
        h("th", { scope: "row" }, name), h("td", { class: "number" }, percent(value)),
        h("td", {}, svg("svg", { viewBox: "0 0 100 10", preserveAspectRatio: "none", "aria-hidden": "true" },
          svg("rect", { width: 100 * value, y: 1, height: 8, class: "share" }),
          svg("rect", { x: 100 * low, width: 100 * (high - low), y: 4, height: 2, class: "interval" }),
          svg("rect", { x: 100 * fair_share, width: 0.6, height: 10, class: "fair" }))),
        h("td", { class: "muted number" }, `${(100 * low).toFixed(1)} to ${percent(high)}`)))),
  );
}

function showLost(games) {
  lost.hidden = !games.length;
  refill(
    lost,
    h("h2", {}, "Lost games"),
    h("ol", {}, games.map((each) =>
      h("li", {},
        h("button", { onclick: async () => showReplay((await call("trial.show_game", [each])).page) }, `Match ${each.match + 1}, game ${each.game + 1}, turn ${each.turn}`),
        h("span", {}, `${each.cause}. `, h("span", { class: "muted" }, each.winner ? `${each.winner} won.` : "Draw."))))),
  );
}

/** Show a replay page in place of the results; null: the results. */
function showReplay(page) {
  const from = document.activeElement;
  results.hidden = chosen.hidden = kit.hidden = page !== null;
  compared.hidden = page !== null || baseline.length < 2;
  replay.hidden = page === null;
  const back = h("button", { onclick: () => (showReplay(null), from?.focus()) }, "Back to the results");
  refill(replay, page && [back, h("iframe", { title: "Replay", sandbox: "allow-scripts", srcdoc: page })]);
  if (page) back.focus();
}

// --- versions, links and files

function keepVersion({ progress, source, names }) {
  let version = versions.find(({ text }) => text === source);
  if (!version) versions.push((version = { number: (versions.at(-1)?.number ?? 0) + 1, text: source, results: {} }));
  if (progress.played > wonGames(version, names).length) version.results[names] = progress.worth;
  versions = versions.slice(-MAX_VERSIONS);
  store("versions", versions);
  showVersions();
}

/** Return a version's share of the win in each game against these opponents. */
const wonGames = ({ results }, names) => results[names]?.flat() ?? [];
const mean = (values) => values.reduce((sum, value) => sum + value, 0) / values.length;

/** Return the version to compare a program with: the chosen one, else the best against the same opponents, else the newest. */
function findBaseline(source) {
  const others = versions.filter(({ text, results }) => text !== source && Object.keys(results).length);
  const won = (version) => wonGames(version, chosenNames());
  const played = others.filter((each) => won(each).length >= 100).sort((one, other) => mean(won(one)) - mean(won(other))); // fewer games say too little
  return others.find(({ number }) => number === Number(baseline.value)) ?? played.at(-1) ?? others.at(-1);
}

/** Return a version's result: against the chosen opponents, else against others. */
function describe({ number, results }) {
  const names = results[chosenNames()] ? `${chosenNames()}` : (Object.keys(results).at(-1) ?? "");
  const won = wonGames({ results }, names);
  return `Version ${number}: ${names ? `won ${percent(mean(won))} of ${won.length.toLocaleString("en")} games against ${names.replaceAll(",", ", ")}` : "not played"}`;
}

function showVersions() {
  const option = (value, text = value) => h("option", { value }, text);
  const newest = versions.toReversed();
  const names = rememberedValue("opponents") ?? FIRST_OPPONENTS;
  for (const [place, select] of opponents.entries()) {
    refill(select, SAMPLES.map(({ name, about }) => h("option", { value: name, title: about }, name)), newest.map(({ number }) => option(`version ${number}`)), place && option("", "no bot"));
    select.value = names[place] ?? "";
    if (select.selectedIndex < 0) select.value = FIRST_OPPONENTS[place];
  }
  const describeAll = (some) => some.map((version) => option(version.number, describe(version)));
  const played = newest.filter(({ results }) => Object.keys(results).length);
  const kept = baseline.value;
  refill(earlier, option("", "Earlier versions"), option(0, "The first bot"), describeAll(newest));
  refill(baseline, option("", "the best earlier version"), describeAll(played));
  baseline.value = played.some(({ number }) => number === Number(kept)) ? kept : "";
  compared.hidden = !played.length;
}

function openVersion(number) {
  editor.setText(number ? versions.find((each) => each.number === number).text : read("first-bot"));
  earlier.value = "";
}

/** Return the program for an address: what follows "#" is sent to no server. */
async function packProgram() {
  const stream = new Blob([editor.text()]).stream().pipeThrough(new CompressionStream("gzip"));
  const bytes = new Uint8Array(await new Response(stream).arrayBuffer());
  return `#bot=${NAME}.py:${btoa(String.fromCharCode(...bytes)).replaceAll("+", "-").replaceAll("/", "_").replaceAll("=", "")}`;
}

/** Show the program of the address, if there is one, and keep the visitor's own as a version. A button starts games. */
async function openLink() {
  const data = location.hash.match(/^#bot=[^:]*:([\w-]+)$/)?.[1];
  if (!data) return;
  window.history.replaceState(null, "", "#write");
  const own = editor.text();
  const isOwn = own !== read("first-bot");
  try {
    const bytes = Uint8Array.from(atob(data.replaceAll("-", "+").replaceAll("_", "/")), (character) => character.charCodeAt(0));
    const text = await new Response(new Blob([bytes]).stream().pipeThrough(new DecompressionStream("gzip"))).text();
    if (text === own) return;
    if (isOwn) keepVersion({ progress: { played: 0 }, source: own });
    store("table", null); // a table with this bot would begin without a button
    editor.setText(text);
    const back = h("button", { onclick: () => (editor.setText(own), (notice.hidden = true)) }, isOwn ? "Back to my bot" : "Start my own");
    refill(notice, "This program came with a link. Read it before you play it. ", isOwn && "Your own is in “Earlier versions”. ", back);
  } catch {
    refill(notice, "The program in this link is damaged.");
  }
  notice.hidden = false;
}

async function share() {
  const link = new URL(await packProgram(), location.href).href;
  try {
    await navigator.clipboard.writeText(link);
    setText(shared, `Link copied: ${link.length.toLocaleString("en")} characters.`);
  } catch {
    refill(shared, "Copy this link: ", h("input", { readonly: true, value: link, "aria-label": "Link", onfocus: ({ target }) => target.select() }));
  }
}

async function download() {
  const { file, zip } = await call("trial.pack_folder", [{ source: editor.text(), name: NAME }]);
  h("a", { href: `data:application/zip;base64,${zip}`, download: file }).click();
  refill(shared, `Unpack ${file}, then check the bot: `, h("code", {}, `arena check ${NAME}`));
}

async function submit() {
  window.open(`/submit${await packProgram()}`, "_blank", "noopener");
}
