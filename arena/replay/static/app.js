// The page of recorded matches: a match, a game, a viewer and a moment of it.
//
// `state` is all that the page shows; each change of it draws the page again.

import { control, percent } from "./cards.js";
import { answersPanel, claimsPanel, stderrPanel, verdict } from "./details.js";
import { copies, plain, read, toggleTheme } from "./dom.js";
import { start } from "./event_text.js";
import { gamesDialog, margin } from "./games.js";
import { highlights } from "./highlights.js";
import { byTurn, LOG_LIST, logPanel, turnItem } from "./log.js";
import { link, parsed, placed } from "./moment.js";
import { unpacked } from "./packed.js";
import { h, render } from "./preact.min.js";
import { curve, firstLink, mean, reviewPanel } from "./review.js";
import { callNames, claimText, happening, makeScene, tellersFor, unfolded, whereabouts, winnerText } from "./scene.js";
import { seatsAt, tableView } from "./seats.js";
import { lanes, marksLegend, timeline } from "./timeline.js";
import { seen } from "./view.js";

/** @type {[string[], string][]} */
const KEYS = [
  [["→", "←"], "one step forward or back"],
  [["Shift →", "Shift ←"], "one turn forward or back"],
  [["n", "p"], "next or previous mark, except standard error"],
  [["Home", "End"], "start, end of the game"],
  [["Space"], "play or pause"],
  [["j", "k"], "next or previous game"],
  [["g"], "list of games"],
  [["+", "-"], "faster, slower"],
  [["v"], "change the view: all cards, the knowledge of each seat, public information"],
  [["t"], "show what is true next to what was likely"],
  [["d"], "switch between dark and light"],
  [["?"], "show this help"],
];

/** @type {[number, string][]} */
const SPEEDS = [
  [2400, "slow"],
  [1200, "normal"],
  [500, "fast"],
  [120, "very fast"],
];

const NOTE_MS = 250; // browsers refuse an address that changes with every frame
const SCROLL_MS = 100; // scrolling costs as much as a whole step

const page = document.getElementById("page");
const find = (selector) => page.querySelector(selector);
const title = document.title;
const catalogue = read("words");
const matches = unpacked(read("matches"));
const review = read("review");
const front = read("front");
const home = read("home");
const everyGame = matches.flatMap((match, at) => match.games.map((_, game) => ({ match: at, game })));
// The bot that the page is about: the list shows how it went out.
const subject = front ?? (matches[0].viewers?.length === 1 ? matches[0].bots[matches[0].viewers[0]] : null);

const state = {
  match: 0,
  game: 0,
  index: 0,
  seat: null, // the viewer, as in view.js
  truth: front === null, // whether hidden cards are shown too
  eyes: null, // the bot whose knowledge is shown, by name; null: all cards; "": public knowledge
  speed: SPEEDS[1][0],
  timer: null, // while it plays
  order: everyGame, // of the list of games
  drawn: "", // the game and the viewer that `scene` is of
};

let scene = null; // see scene.js, and what is drawn once for it: `lanes`, `turns` and their items

const match = () => matches[state.match];
const game = () => match().games[state.game];

/** The possible viewers, the first one preselected. A page may contain only a part of the cards. */
function viewerChoices() {
  const { viewers } = match();
  return [...(viewers ? viewers.map((bot) => game().seating.indexOf(bot)) : [null, ...game().seating.keys()]), -1];
}

// ---- the page

function draw() {
  const truth = state.truth && !match().viewers;
  const drawn = JSON.stringify([state.match, state.game, state.seat, truth]);
  if (drawn !== state.drawn) {
    scene = makeScene(catalogue, match(), game(), { seat: state.seat, truth }, href);
    scene.lanes = lanes(scene.marks, scene.thought);
    scene.turns = byTurn(scene.lines);
    scene.items = scene.turns.map((turn) => turnItem(turn));
    scene.highlights = highlights(scene);
  }
  const { index } = state;
  const where = whereabouts(scene, index);
  const text = happening(scene, index);
  const panel = h("section", { class: "panel below", "aria-label": "the marks of the bar" }, marksLegend());
  const beside = [review && reviewPanel(review, scene, home), highlightsPanel(), logView(), answersPanel(scene, index), stderrPanel(scene, index), claimsPanel(scene, index), panel];
  const main = h("main", {}, h("div", { class: "place" }, tableSection(where, text)), h("div", { class: "beside" }, beside));
  const live = h("p", { class: "unseen", "aria-live": "polite" }, state.timer === null ? `${where}: ${text}` : "");
  render([headerView(), main, controlsView(`${where}: ${text}`), live, gamesView(), helpDialog()], page);
  scrollLog(drawn !== state.drawn);
  state.drawn = drawn;
  clearTimeout(notingTimer);
  notingTimer = setTimeout(noteAddress, NOTE_MS);
}

function headerView() {
  const winner = winnerText(scene) ?? "a draw";
  const chosen = `${gameTitle(match(), game())} · ${winner}`;
  const views = viewerChoices();
  const option = (seat) => h("option", { value: seat ?? "", key: seat }, seat === null ? "All cards" : seat < 0 ? "Public information" : `Seat ${seat + 1}: ${plain(scene.players[seat].name)}`);
  const view = (event) => setViewer(event.target.value === "" ? null : Number(event.target.value));
  return h(
    "header",
    {},
    h("h1", {}, home ? [h("a", { href: home[0] }, plain(home[1])), " · "] : null, title),
    h(
      "div",
      { class: "choices" },
      h(
        "span",
        { class: "group" },
        iconButton("back", "previous game", "k", () => showNextGame(-1), { disabled: !nextGame(-1) }),
        button("chosen", `${chosen} ▾`, "g", openGames, `${chosen}, list of games`),
        iconButton("forth", "next game", "j", () => showNextGame(1), { disabled: !nextGame(1) }),
      ),
      h(
        "span",
        { class: "group" },
        h("select", { "aria-label": "whose cards are shown", hidden: views.length === 1, value: state.seat ?? "", onchange: view }, views.map(option)),
        button("truth", "Truth", "t", () => setTruth(!state.truth), "Truth", { hidden: state.seat === null || Boolean(match().viewers), "aria-pressed": String(state.truth) }),
      ),
    ),
    h("span", { class: "group tools" }, iconButton("theme", "switch between dark and light", "d", toggleTheme), button("help", "?", "?", () => find("#help").showModal(), "help")),
  );
}

function tableSection(where, text) {
  const { moments, known, players, seat, truth } = scene;
  const moment = moments[state.index];
  const facts = [
    `court deck: ${moment.deck}`,
    match().ruleset.reformation ? `treasury reserve: ${moment.reserve}` : "",
    seat !== null && truth ? "framed: the player holds it" : "",
    seat === -1 && state.eyes ? `\u2068${plain(state.eyes)}\u2069 isn't in this match: public information` : "",
  ];
  const stage = h(
    "div",
    { class: "stage" },
    h("h2", { class: "turn-text" }, where),
    h("p", { class: "sentence" }, text),
    h("p", { class: "claim-text" }, claimLine()),
    h("p", { class: "facts muted small" }, facts.filter(Boolean).join(" · ")),
  );
  const roles = Object.keys(match().ruleset.deck);
  const nearest = Math.max(seat ?? players.findIndex(({ name }) => plain(name) === "you"), 0);
  return tableView(seatsAt(moments, state.index, known[state.index], { players, roles, seat, truth }), nearest, stage);
}

/** The line below the sentence: the claim of this turn with its odds, or how the game ended. */
function claimLine() {
  if (state.index === scene.moments.length - 1)
    return h("strong", { class: "won" }, `${start(winnerText(scene) ?? "A draw")}: ${scene.tellers.tellEnd(game().reason)}`);
  const found = claimText(scene, state.index);
  const known = scene.seat === null || scene.truth || found?.claim.seat === scene.seat;
  return found && [found.text, known ? [" · ", verdict(found.claim.honest)] : null];
}

/** The log with the line of this moment marked, or the last line before it. */
function logView() {
  let at = state.index;
  while (at > 0 && !scene.lines[at]) at--;
  const items = scene.turns.map((turn, place) => (turn.entries.some(([index]) => index === at) ? turnItem(turn, at) : scene.items[place]));
  return logPanel(h("ol", LOG_LIST, items));
}

/** What people talk about after a game, at its end: each with a link to its moment; null before. */
function highlightsPanel() {
  if (state.index < scene.moments.length - 1) return null;
  const copy = (hash) => navigator.clipboard && h("button", { type: "button", class: "tool", key: hash, onclick: copies(new URL(hash, location.href).href) }, "Copy link");
  const item = ({ heading, text, index }) => {
    const hash = href(scene.moments[index]);
    return h("li", { key: heading }, h("a", { href: hash }, heading), h("p", {}, `Turn ${scene.moments[index].turn}: ${text}.`), copy(hash));
  };
  return h("section", { class: "panel highlights", "aria-labelledby": "highlights-title" }, h("h2", { id: "highlights-title" }, "Moments of this game"), h("ul", {}, scene.highlights.map(item)));
}

let scrollTimer = null;

/** Scroll the log to its marked line; at once if it is of another game. */
function scrollLog(now) {
  const scrollNow = () => {
    scrollTimer = null;
    const list = find(".log .turns");
    const line = list.querySelector("[aria-current]");
    const lines = list.querySelectorAll(".line");
    if (line) list.scrollTop = line === lines[lines.length - 1] ? list.scrollHeight : line.offsetTop - list.clientHeight / 2;
  };
  if (now) scrollNow();
  else scrollTimer ??= setTimeout(scrollNow, SCROLL_MS);
}

function controlsView(text) {
  const { index } = state;
  const last = index === scene.moments.length - 1;
  const playing = state.timer !== null;
  return h(
    "section",
    { class: "controls", "aria-label": "Moments" },
    timeline(scene.lanes, scene.moments.length, index, text, go),
    review && curve(review, scene, index, go),
    h(
      "div",
      { class: "buttons" },
      h(
        "span",
        { class: "group" },
        iconButton("start", "start of the game", "Home", () => go(0), { disabled: index === 0, edge: true }),
        iconButton("markback", "previous mark", "p", () => goToMark(-1)),
        iconButton("back", "one step back", "←", () => go(index - 1), { disabled: index === 0 }),
        iconButton(playing ? "pause" : "play", playing ? "pause" : "play", "Space", () => setPlaying(!playing)),
        iconButton("forth", "one step forward", "→", () => go(index + 1), { disabled: last }),
        iconButton("mark", "next mark", "n", () => goToMark(1)),
        iconButton("end", "end of the game", "End", () => go(Infinity), { disabled: last, edge: true }),
      ),
      h("span", { class: "position" }, index ? `Turn ${scene.moments[index].turn} of ${game().turns}` : `The deal, ${game().turns} turns`),
      h("select", { "aria-label": "speed", value: state.speed, onchange: (event) => setSpeed(Number(event.target.value)) }, SPEEDS.map(([pause, word]) => h("option", { value: pause, key: word }, word))),
      marksLegend(),
    ),
  );
}

function button(word, text, key, onclick, label = text, more = {}) {
  return h("button", { type: "button", class: word, onclick, title: `${label} (${key})`, "aria-label": label, ...more }, text);
}

function iconButton(drawing, label, key, onclick, { edge = false, ...more } = /** @type {any} */ ({})) {
  return button(edge ? "icon edge" : "icon", control(drawing), key, onclick, label, more);
}

function gamesView() {
  const dialog = find("#games");
  const about = review
    ? "The mean win probability after each decision shows how close a game was."
    : "How close a game was: the cards left to the winner and to the best other player. The longer game comes first if these are equal.";
  const headings = [subject === null ? "turns" : "out in turn", review ? "mean chance" : "cards left"];
  const rows = dialog?.open ? state.order.map(gameRow) : [];
  return gamesDialog(rows, everyGame.length, { headings, about, closest: state.order !== everyGame, sort: toggleOrder });
}

/** A game's row of the list. */
function gameRow({ match: at, game: place }) {
  const one = matches[at];
  const played = one.games[place];
  const chance = review && mean(review, one, played);
  const cards = review ? null : margin(played, unfolded(played).at(-1));
  const end = findExit(one, played);
  const seat = state.seat === viewerChoices()[0] ? null : viewerSeat(at, place);
  return {
    href: link({ match: matchInLink(one), game: played.game, turn: end?.turn ?? null, step: end?.within ?? null, seat }),
    title: gameTitle(one, played),
    winner: played.winner === null ? null : one.bots[played.seating[played.winner]],
    end: tellersFor(catalogue, []).tellEnd(played.reason),
    exit: end?.text ?? "",
    turns: end?.turn ?? played.turns,
    closeness: review ? (chance < 0 ? "" : percent(chance)) : cards.join(" : "),
    rank: review ? chance : played.turns / 1e6 - (cards[0] - cards[1]), // higher for closer games
    current: at === state.match && place === state.game,
  };
}

/** How the page's bot went out of a game: { turn, within, text } of the moment, undefined if it didn't. */
function findExit(one, played) {
  const seat = played.seating.indexOf(one.bots.indexOf(subject));
  const moments = unfolded(played);
  const last = moments.find((moment) => moment.out[seat]);
  if (!last) return undefined;
  const events = moments.slice(0, last.index + 1).flatMap((each) => (each.step && each.turn === last.turn ? seen(each.step.events, seat) : []));
  const names = callNames(one, played);
  return { turn: last.turn, within: last.within, text: tellersFor(catalogue, names).story(events, names) };
}

function helpDialog() {
  const rows = KEYS.map(([keys, text]) => h("tr", {}, h("td", {}, keys.map((key) => [h("kbd", {}, key), " "])), h("td", {}, text)));
  return h(
    "dialog",
    { id: "help", "aria-labelledby": "help-title" },
    h("h2", { id: "help-title" }, "Keys"),
    h("table", {}, h("tbody", {}, rows)),
    h("h2", {}, "Marks"),
    marksLegend(),
    h("h2", {}, "About this page"),
    h(
      "p",
      {},
      "A step is one set of questions that the referee asks at once, with the answers and their result. “Likely” is the probability that a player " +
        "holds at least one card of a role, given the visible cards. It ignores how players behave. The address of the page is a " +
        "link to the current moment.",
    ),
    h("form", { method: "dialog" }, h("button", {}, "Close")),
  );
}

// ---- navigation

/** Go to the moment in a link's part after "#". Parts that are missing or don't exist stay, or become the first. */
function followLink(hash) {
  const asked = parsed(hash);
  const at = Math.max(0, asked.match === null ? 0 : matches.findIndex((one) => one.match === asked.match));
  const place = Math.max(0, asked.game === null ? 0 : matches[at].games.findIndex((one) => one.game === asked.game));
  state.seat = asked.seat;
  showGame(at, place, (moments) => placed(moments, asked));
}

/** Follow a link within the page at once: a browser follows it later, or never if `noteAddress` changes the address. */
function followClick(event) {
  const pressed = event.target.closest('a[href^="#"]');
  if (pressed === null || event.button || event.ctrlKey || event.metaKey || event.shiftKey || event.altKey) return;
  event.preventDefault();
  find("#games").close();
  const hash = pressed.getAttribute("href");
  noteAddress();
  writeAddress(hash === location.hash ? "replaceState" : "pushState", hash);
  followLink(hash);
}

/** Show a game at the moment that `where` selects. */
function showGame(at, place, where = (moments) => 0) {
  const moved = at !== state.match || place !== state.game || !scene;
  Object.assign(state, { match: at, game: place });
  if (!viewerChoices().includes(state.seat)) [state.seat] = viewerChoices();
  const away = state.eyes && !match().bots.includes(state.eyes);
  if (state.seat !== -1 || !away) state.eyes = viewerName();
  if (moved) stopPlaying();
  state.index = where(unfolded(game()));
  draw();
}

/** The game by an offset in the list; undefined after its end. */
function nextGame(by) {
  return state.order[state.order.findIndex((one) => one.match === state.match && one.game === state.game) + by];
}

/** Show another game as the same bot sees it, from its seat there. */
function showNextGame(by) {
  const next = nextGame(by);
  if (next) showGameAsViewer(next.match, next.game);
}

function showGameAsViewer(at, place) {
  state.seat = viewerSeat(at, place);
  showGame(at, place);
}

/** The seat of the viewing bot in a game; -1 if it doesn't play there, for public knowledge. */
function viewerSeat(at, place) {
  return state.eyes === null ? null : matches[at].games[place].seating.indexOf(matches[at].bots.indexOf(state.eyes));
}

/** The name of the bot whose view is shown: null for all cards, "" for a spectator. */
function viewerName() {
  return state.seat === null ? null : (match().bots[game().seating[state.seat]] ?? "");
}

function setViewer(seat) {
  state.seat = seat;
  state.eyes = viewerName();
  draw();
}

function setTruth(truth) {
  state.truth = truth;
  draw();
}

function openGames() {
  find("#games").showModal();
  draw();
  find("#games [aria-current]")?.focus();
}

/** List the closest games first, or again all games in the order in which they were played. */
function toggleOrder() {
  const closest = state.order === everyGame;
  const ranks = closest && new Map(everyGame.map((one) => [one, gameRow(one).rank]));
  state.order = closest ? everyGame.toSorted((one, other) => ranks.get(other) - ranks.get(one)) : everyGame;
  draw();
}

/** Show the moment of an index, or the nearest one that exists. */
function go(index) {
  state.index = Math.max(0, Math.min(index, scene.moments.length - 1));
  draw();
}

function goByTurn(by) {
  const { moments } = scene;
  const begins = moments.filter((moment) => moment.index === 0 || moment.within === 0).map((moment) => moment.index);
  const next = by > 0 ? begins.find((index) => index > state.index) : begins.findLast((index) => index < state.index);
  go(next ?? (by > 0 && moments[state.index].turn ? moments.length - 1 : 0));
}

function goToMark(by) {
  // A bot may write at every request, so this doesn't stop the playback.
  const marked = scene.marks.flatMap((words, index) => (words.some((word) => word !== "stderr") ? [index] : []));
  const next = by > 0 ? marked.find((index) => index > state.index) : marked.findLast((index) => index < state.index);
  if (next !== undefined) go(next);
}

function stopPlaying() {
  clearTimeout(state.timer);
  state.timer = null;
}

function setPlaying(on) {
  stopPlaying();
  if (on && state.index >= scene.moments.length - 1) state.index = 0;
  if (on) state.timer = setTimeout(playStep, state.speed);
  draw();
}

function playStep() {
  const ends = state.index + 1 >= scene.moments.length - 1;
  if (document.hidden || !ends) state.timer = setTimeout(playStep, state.speed);
  else stopPlaying();
  if (document.hidden) return;
  go(state.index + 1);
  if (ends) document.dispatchEvent(new Event("replayend"));
}

function setSpeed(pause) {
  state.speed = pause;
  if (state.timer !== null) setPlaying(true);
  else draw();
}

function changeSpeed(by) {
  const place = SPEEDS.findIndex(([pause]) => pause === state.speed) + by;
  if (SPEEDS[place]) setSpeed(SPEEDS[place][0]);
}

function pressKey(event) {
  if (event.ctrlKey || event.altKey || event.metaKey || document.querySelector("dialog[open]")) return;
  const at = event.target;
  if (at.closest?.("select, textarea, input:not([type=range])")) return;
  if (event.key === " " && at.closest?.("button, a, summary, select")) return; // these elements use the key themselves
  const act = {
    ArrowRight: () => (event.shiftKey ? goByTurn(1) : go(state.index + 1)),
    ArrowLeft: () => (event.shiftKey ? goByTurn(-1) : go(state.index - 1)),
    Home: () => go(0),
    End: () => go(Infinity),
    " ": () => setPlaying(state.timer === null),
    j: () => showNextGame(1),
    k: () => showNextGame(-1),
    n: () => goToMark(1),
    p: () => goToMark(-1),
    g: openGames,
    "+": () => changeSpeed(1),
    "=": () => changeSpeed(1), // the key of +, without shift
    "-": () => changeSpeed(-1),
    v: () => setViewer(viewerChoices()[(viewerChoices().indexOf(state.seat) + 1) % viewerChoices().length]),
    t: () => setTruth(!state.truth),
    d: toggleTheme,
    "?": () => find("#help").showModal(),
  }[event.key];
  if (!act) return;
  event.preventDefault();
  act();
}

// ---- addresses

function gameTitle(one, played) {
  return `${matches.length > 1 ? `Match ${one.match + 1} · ` : ""}Game ${played.game + 1}`;
}

function matchInLink(one = match()) {
  return matches.length > 1 ? one.match : null;
}

function href(moment) {
  const where = moment.index ? { turn: moment.turn, step: moment.within } : {};
  const { seat } = state;
  return link({ match: matchInLink(), game: game().game, ...where, seat: seat === viewerChoices()[0] ? null : seat });
}

let notingTimer = null;

function noteAddress() {
  writeAddress("replaceState", href(scene.moments[state.index]));
}

/** Set the address; `method` decides whether "back" leads to the previous one. */
function writeAddress(method, hash) {
  try {
    history[method](null, "", hash);
  } catch {
    // If the browser refuses, the address stays.
  }
}

// ---- the beginning

// The event's address, because `noteAddress` may have changed the window's.
window.addEventListener("hashchange", (event) => followLink(new URL(event.newURL).hash));
page.addEventListener("click", followClick);
document.addEventListener("keydown", pressKey);
const place = read("place");
const ends = location.hash === "#end"; // the address of a table's page after its match
const plays = location.hash === "#play" && !matchMedia("(prefers-reduced-motion: reduce)").matches;
followLink(location.hash || (place ?? (review && firstLink(review)) ?? ""));
if (front !== null && !place && ["", "#", "#play"].includes(location.hash)) {
  state.eyes = front; // in all games; the reader may also show hidden cards
  showGameAsViewer(state.match, state.game);
}
if (review?.person && matchMedia("(width >= 68rem)").matches) find(".felt").scrollIntoView(); // else advice comes first
if (ends) {
  const last = everyGame.at(-1);
  showGameAsViewer(last.match, last.game);
  go(Infinity);
}
if (plays) {
  const start = ([part]) => part.isIntersecting && (shown.disconnect(), setPlaying(true));
  const shown = new IntersectionObserver(start, { threshold: 0.3 });
  shown.observe(find(".place"));
}
