// The tab in which a visitor writes a bot and plays it against sample bots.

import { drawn, h, read, refill, say } from "./dom.js";
import { makeEditor } from "./editor.js";
import { call, listen, restart } from "./python.js";

const SAMPLES = read("samples"); // {name, about}
const FIRST_OPPONENTS = ["honest", "counter", "turtle"];
const SILENCE_MS = 6_000; // without a beat, after which the worker is ended
const MAX_VERSIONS = 20;
const NAME = "mybot";
const SEED = 1; // the same deals for all versions

const stored = (name, otherwise) => JSON.parse(localStorage.getItem(`playground-${name}`)) ?? otherwise;
const store = (name, value) => localStorage.setItem(`playground-${name}`, JSON.stringify(value));
const percent = (value) => `${(100 * value).toFixed(1)} %`;

let editor;
let versions = stored("versions", []); // {number, text, rate, results: {settings: worth}}, the newest last
let trial = null; // that is played: {match, line, beatAt, reason, keep}; the line is the one that the guard saw last

const play = h("button", { class: "main", id: "run", onclick: () => run(200) }, "Play 200 games");
const stop = h("button", { class: "main", hidden: true, onclick: () => end("You stopped the games") }, "Stop");
const opponents = FIRST_OPPONENTS.map((name, place) => h("select", { "aria-label": `Opponent ${place + 1}`, onchange: () => store("opponents", chosenNames()) }));
const chosen = h("p", { class: "opponents" }, "against", opponents);
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
    ["Game", "Bot", "Player"].map((title) => [h("h2", {}, title), h("dl", {}, read("kit")[title].map(([name, about]) => [h("dt", {}, name), h("dd", {}, about)]))]));

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
      chosen, results, kit, replay),
  );
  editor = await makeEditor(area, { "Ctrl-Enter": () => run(200) });
  editor.open(stored("program", read("first-bot")), stored("history", null));
  addEventListener("pagehide", () => store("history", editor.history()));
  editor.onChange(() => (store("program", editor.text()), editor.mark([])));
  showVersions();
  await openLink();
  addEventListener("hashchange", openLink);
  listen(({ ready }) => ready || trial || say(state, "You can read and change the program while Python loads."));
  await isReady();
  if (!trial) say(state, versions.length ? "" : "The first bot claims the duke every turn. See how many games it wins.");
  if (location.pathname.startsWith("/playground/")) ladder.hidden = !(await fetch("/submit")).ok;
}

// --- games

/** Play the program; before it, the latest other version on the same deals, if it hasn't played them. */
async function run(games) {
  if (trial) return;
  const own = (trial = { match: 0, line: null, beatAt: Infinity, reason: null, keep: null });
  const source = editor.text();
  const values = { source, opponents: chosenNames().map(findOpponent), games, seed: SEED };
  const settings = `${chosenNames()} ${games}`;
  notice.hidden = true;
  showReplay(null);
  showProblems([]);
  for (const each of [difference, rates, lost, printed]) each.hidden = true;
  count({ played: 0, games });
  toggle(true);
  const watchdog = setInterval(() => performance.now() - own.beatAt > SILENCE_MS && end("silence"), 250);
  try {
    await isReady();
    const before = versions.findLast(({ text }) => text !== source);
    if (before && !before.results[settings]) {
      await playTrial(own, { ...values, source: before.text }, (progress) => {
        count(progress, ` Version ${before.number} plays the same deals first.`);
        if (progress.done && isSound(progress)) before.results[settings] = progress.worth;
      });
    }
    await playTrial(own, { ...values, previous: before?.results[settings] }, (progress) => show(progress, source, settings, before));
  } catch (error) {
    if (own.reason === "silence") await nameLoop(own, values);
    else say(state, own.reason ? `${own.reason}${own.keep?.() ?? ""}.` : error.message);
  } finally {
    clearInterval(watchdog);
    trial = null;
    toggle(false);
  }
}

function toggle(plays) {
  const focused = document.activeElement === (plays ? play : stop);
  play.hidden = plays;
  stop.hidden = bar.hidden = !plays;
  if (focused) (plays ? stop : play).focus();
}

const chosenNames = () => opponents.map(({ value }) => value).filter(Boolean);
const findOpponent = (name) => (SAMPLES.some((sample) => sample.name === name) ? name : { name, source: versions.find(({ number }) => `version ${number}` === name).text });
const isReady = () => new Promise((resolve) => listen(({ ready }) => ready && resolve()));

async function playTrial(own, values, act) {
  const beat = () => (own.beatAt = performance.now());
  const next = (progress) => {
    beat();
    own.match = progress.worth.length;
    act(progress);
  };
  await call("trial.run_trial", [values], next, beat);
  own.beatAt = Infinity;
}

/** End the games, with the worker that plays them. reason: for the visitor, or "silence". */
function end(reason) {
  if (!trial) return;
  Object.assign(trial, { reason, beatAt: Infinity });
  restart();
}

/** Play the match that gave no answer again, with a guard that names the line of the endless loop. */
async function nameLoop(own, values) {
  say(state, "No answer for 6 seconds. The match is played again to find the line.");
  own.reason = null;
  await isReady();
  const see = (reached) => Object.assign(own, { line: reached, beatAt: performance.now() });
  const message = "this line, or one next to it, gave no answer for 6 seconds: it takes too long, or never ends";
  const { problem } = await call("trial.find_endless_loop", [{ ...values, match: own.match }], null, see).catch(() => ({ problem: { line: own.line, message } }));
  own.beatAt = Infinity;
  if (problem) showProblems([problem]);
  say(state, problem ? "The games were stopped." : "This time the match came to its end: this computer may be busy. Play again.");
}

// --- results

const isSound = ({ problem, faults }) => !problem && !faults.length;

const counted = ({ played, games }) => `${played.toLocaleString("en")} of ${games.toLocaleString("en")} games`;

function count(progress, more = "") {
  bar.value = progress.played / progress.games;
  say(state, `${counted(progress)}.${more}`);
}

function show(progress, source, settings, before) {
  const { played, games, faults, problem, done, verdict } = progress;
  count(progress, verdict && !done ? " The comparison is certain: you can stop, and the version is kept." : "");
  printed.hidden = !progress.output;
  say(printed.lastChild, progress.output);
  const found = problem ? [problem] : faults;
  rates.hidden = !played || found.length > 0;
  difference.hidden = (!progress.difference && !done) || found.length > 0;
  if (found.length) {
    const reason = "The games stopped. Fix this, and play again";
    trial.keep = null;
    showProblems(found);
    say(state, `${reason}.`);
    if (found.some(({ restart }) => restart)) end(reason);
    return;
  }
  showRates(progress);
  trial.keep = () => (keepVersion(source, settings, progress), ` after ${counted(progress)}; the version is kept`);
  const more = done && !verdict && games < 1000 && [" ", h("button", { onclick: () => run(1000) }, "Play 1,000 games")];
  difference.className = verdict ?? "";
  if (progress.difference) refill(difference, h("b", {}, `Against version ${before.number}: `), progress.difference, ".", more);
  else say(difference, "Now look at a lost game, change the program, and play again: the new version is compared with this one.");
  if (!done) return;
  trial.keep();
  showLost(progress.lost);
}

function showProblems(found) {
  editor.mark(found);
  refill(
    problems,
    found.map(({ line, message, count, at, traceback }) =>
      h("div", { class: "problem" },
        h("p", {}, h("b", {}, line ? `Line ${line}: ` : ""), message),
        count && h("p", { class: "muted" }, `${count} ${count === 1 ? "time" : "times"}, first in match ${at.match}, game ${at.game}${at.turn ? `, turn ${at.turn}, when asked for “${at.kind}”` : ""}.`),
        traceback && h("details", {}, h("summary", {}, "Traceback"), h("pre", { tabindex: 0 }, traceback)))),
  );
}

function showRates({ win_rates, fair_share }) {
  refill(
    rates,
    h("caption", {}, `Games won, with the 95 % interval. Equal bots win ${percent(fair_share)} each.`),
    h("tbody", {}, win_rates.map(({ name, value, low, high }) =>
      h("tr", { class: name === NAME && "own" },
        h("th", { scope: "row" }, name), h("td", { class: "number" }, percent(value)),
        h("td", {}, drawn("svg", { viewBox: "0 0 100 10", preserveAspectRatio: "none", "aria-hidden": "true" },
          drawn("rect", { width: 100 * value, y: 1, height: 8, class: "share" }),
          drawn("rect", { x: 100 * low, width: 100 * (high - low), y: 4, height: 2, class: "interval" }),
          drawn("rect", { x: 100 * fair_share, width: 0.6, height: 10, class: "fair" }))),
        h("td", { class: "muted number" }, `${(100 * low).toFixed(1)} to ${percent(high)}`)))),
  );
}

function showLost(games) {
  lost.hidden = !games.length;
  refill(
    lost,
    h("h2", {}, "Lost games"),
    h("ol", {}, games.map(({ match, game, turn, seat, winner, cause }) =>
      h("li", {}, h("button", { onclick: () => openGame({ match, game, turn, seat }) }, `Match ${match}, game ${game}, turn ${turn}`), h("span", {}, `${cause}. `, h("span", { class: "muted" }, winner ? `${winner} won.` : "Draw."))))),
  );
}

async function openGame(place) {
  try {
    showReplay((await call("trial.show_game", [place])).page);
  } catch {
    say(state, "These games are no longer stored. Play again.");
  }
}

/** Show a replay page in place of the results; null: the results. */
function showReplay(page) {
  const from = document.activeElement;
  results.hidden = chosen.hidden = kit.hidden = page !== null;
  replay.hidden = page === null;
  const back = h("button", { onclick: () => (showReplay(null), from?.focus()) }, "Back to the results");
  refill(replay, page && [back, h("iframe", { title: "Replay", sandbox: "allow-scripts", srcdoc: page })]);
  if (page) back.focus();
}

// --- versions, links and files

function keepVersion(source, settings, { win_rates, worth, done }) {
  let version = versions.find(({ text }) => text === source);
  if (!version) versions.push((version = { number: (versions.at(-1)?.number ?? 0) + 1, text: source, results: {} }));
  if (done || version.rate === undefined) version.rate = win_rates.find(({ name }) => name === NAME).value;
  if (done) version.results[settings] = worth;
  versions = versions.slice(-MAX_VERSIONS);
  store("versions", versions);
  showVersions();
}

function showVersions() {
  const option = (value, text = value) => h("option", { value }, text);
  const newest = versions.toReversed();
  refill(earlier, option("", "Earlier versions"), option(0, "The first bot"), newest.map(({ number, rate }) => option(number, `Version ${number}: won ${percent(rate)}`)));
  const names = stored("opponents", FIRST_OPPONENTS);
  for (const [place, select] of opponents.entries()) {
    refill(select, SAMPLES.map(({ name, about }) => h("option", { value: name, title: about }, name)), newest.map(({ number }) => option(`version ${number}`)), place && option("", "no bot"));
    select.value = names[place] ?? "";
    if (select.selectedIndex < 0) select.value = FIRST_OPPONENTS[place];
  }
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

/** Show the program of the address, if there is one; it isn't played before the visitor presses a button. */
async function openLink() {
  const data = location.hash.match(/^#bot=[^:]*:([\w-]+)$/)?.[1];
  if (!data) return;
  const own = editor.text();
  try {
    const bytes = Uint8Array.from(atob(data.replaceAll("-", "+").replaceAll("_", "/")), (character) => character.charCodeAt(0));
    const text = await new Response(new Blob([bytes]).stream().pipeThrough(new DecompressionStream("gzip"))).text();
    if (text === own) return;
    editor.setText(text);
    refill(notice, "This program came with a link. Read it before you play it. ", h("button", { onclick: () => (editor.setText(own), (notice.hidden = true)) }, "Back to my program"));
  } catch {
    refill(notice, "The program in this link is damaged.");
  }
  notice.hidden = false;
  window.history.replaceState(null, "", "#write");
}

async function share() {
  const link = await packProgram();
  window.history.replaceState(null, "", link);
  await navigator.clipboard?.writeText(location.href).catch(() => null);
  say(shared, `The address of this page now contains the program: ${location.href.length.toLocaleString("en")} characters.`);
}

async function download() {
  const { file, zip } = await call("trial.pack_folder", [{ source: editor.text(), name: NAME }]);
  h("a", { href: `data:application/zip;base64,${zip}`, download: file }).click();
}

async function submit() {
  window.open(`/submit${await packProgram()}`, "_blank", "noopener");
}
