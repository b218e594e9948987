// The page of a table for a player or a spectator. Each frame of the server contains the whole state.
//
// `state` is all that the page shows; each change of it draws the page again.

import { INVOLVED, keysView, minute } from "./advice.js";
import { alerts, alertTo, markTitle, notify, offerView, playEventSound, setVolume } from "./alerts.js";
import { card, name } from "./cards.js";
import { chatPanel, emptyChat, withMessage } from "./chat.js";
import { plain, read, toggleTheme } from "./dom.js";
import { fly } from "./flights.js";
import { answerButton, coachMoves, coachView, lessonsView } from "./lessons.js";
import { openLine } from "./line.js";
import { PACES, peoplePanel, termsPanel } from "./lobby.js";
import { byTurn, Following, LOG_LIST, logPanel, turnItem } from "./log.js";
import { remember, remembered } from "./memory.js";
import { Motion } from "./motion.js";
import { h, render } from "./preact.min.js";
import { advice, canPassOn, hand, moves, onlyMove, openRequest, ownStatus, question, result, targetAreas } from "./prompt.js";
import { rulesView } from "./rules.js";
import { meters, tableView } from "./seats.js";

const CALM_MS = 400; // after a new question, in which a click or a key was meant for the previous one
const ONLY_MS = 1500; // before the only move of a turn is played
const BUBBLE_MS = 6000;
const MAX_BUBBLE_PX = 80; // the height of a bubble
const AGAIN_MS = [500, 1000, 2000, 4000, 8000];
const CLOSED = 1000;
const TAKEN = 4001;
const WITHDRAWN = 4003;
const UNKNOWN = 4004;

const home = read("home");
const given = read("rules");
const page = document.getElementById("page");
const find = (selector) => page.querySelector(selector);

const state = {
  rules: given.actions ? given : given[new URLSearchParams(location.search).get("rules")],
  frame: null,
  motion: new Motion(read("words"), (events) => events && state.frame ? (draw(), playEventSound(events), fly(events, state.frame.game.seat)) : draw()),
  option: null, // the option whose target is being chosen
  chosen: [], // places of the offered cards that the player keeps
  sent: null, // the request that was answered
  kept: null, // the answer to a block request that may follow, as {game, turn, block}; block null: pass
  watching: null, // of a player who is out: whether to watch the rest, or to finish at once; null: not yet chosen
  passing: false, // whether requests that don't involve the player are passed until their turn
  offered: false, // whether sounds and notifications are offered, at the player's first wait
  notice: null, // {text, label, act} above the table
  sure: null, // {text, no, yes, act} that the player is asked before a risk
  hint: null,
  list: null, // the lessons to choose from, in place of a table
  coach: null, // the words of a lesson
  chat: emptyChat,
  places: [], // of the table; those of a frame with an end are shown after its last event
  bubbles: new Map(), // by handle: {text, below, number}
  asked: "", // what the buttons are for
  calmUntil: 0,
  early: false, // whether the buttons have just come
  deadline: null, // of the open request
  window: null, // the present window of questions, and when its clock ends
  windowEnd: null,
};

// ---- the connection to the server

let socket = null;
let failed = 0; // connections in a row
let live = false; // whether the page has shown the events before the next frame

function connect() {
  const line = (socket = openLine(read("socket")));
  line.onopen = () => {
    state.sent = null; // answers given meanwhile were lost
    live = false;
    if (remembered("pace")) send({ pace: remembered("pace") });
    const pace = location.hash.slice(1); // chosen on the form that opened the table
    if (!PACES.includes(pace)) return;
    send({ table_pace: pace });
    history.replaceState(null, "", location.pathname + location.search);
  };
  line.onmessage = (event) => receive(JSON.parse(event.data));
  line.onclose = (event) => line === socket && handleClose(event.code, event.reason); // the second of two presses replaces the first
}

function handleClose(code, reason) {
  const back = home && { label: `Back to ${home[1]}`, act: () => location.assign(home[0]) };
  if (code === CLOSED) return showNotice("This table is closed.", back);
  if (code === TAKEN) return showNotice("This seat is open in another tab.", { label: "Play here", act: connect });
  if (code === WITHDRAWN || (code === UNKNOWN && home)) return showNotice(`You don't have a seat at this table: ${plain(reason)}.`, back);
  if (code === UNKNOWN) return showNotice("This table is unknown. It may have been closed.");
  showNotice("Connection lost. Your seat is kept. Reconnecting …", { label: "Try now", act: () => location.reload() });
  setTimeout(connect, AGAIN_MS[Math.min(failed++, AGAIN_MS.length - 1)]);
}

function send(message) {
  if (socket.readyState === WebSocket.OPEN) socket.send(JSON.stringify(message));
}

function receive(message) {
  if (message.chat) return receiveChat(message);
  if (message.hint) return showHint(message.hint);
  if (message.list !== undefined) Object.assign(state, { list: message.list, frame: null, coach: null, sent: null, option: null });
  if (message.coach) Object.assign(state, { coach: message.coach, sent: null });
  if (!message.table) return draw();
  failed = 0;
  if (state.frame && state.frame.table.rules !== message.table.rules) return location.reload(); // the page has its rules from the server
  receiveFrame(message);
  draw();
}

/** Store a frame, answer its request or alert the player to it, and start to show its events. */
function receiveFrame(frame) {
  const before = state.frame;
  const { table, game } = frame;
  state.frame = frame;
  const ask = game?.ask ?? null;
  const isNew = ask?.id !== before?.game?.ask?.id;
  if (isNew) {
    Object.assign(state, { option: null, chosen: [] });
    if (state.sure?.ask) find("#sure").close();
  }
  if (ask?.id !== state.sent) state.sent = null; // a new match counts from 1
  if (ask && isNew && !answerByItself(ask, game)) alertTo(plain(ask.question), true);
  alertToChange(before, frame);
  state.deadline = ask && ask.clock_s !== null ? performance.now() + 1000 * ask.clock_s : null;
  state.notice = missedNotice(table);
  if (game) state.motion.showFrame(game, `${table.match} ${game.number}`, live);
  live = true;
  if (!game || game.end || !game.seats[game.seat]?.out) state.watching = null;
  if (state.watching === false) skip();
}

/** Alert the player to the start or the end of a game, and offer sounds at the first wait. */
function alertToChange(before, { table, game }) {
  if (before?.table.state === "open" && table.state === "playing") alertTo("The game starts.", false);
  if (game?.end && !before?.game?.end) {
    if (!state.coach) remember("games", String(1 + Number(remembered("games"))));
    if (before) alertTo(plain(game.end), false);
  }
  const waits = table.state === "playing" && game?.seat != null && !game.ask;
  if (waits && !alerts.volume && !state.coach && remembered("offered") === null) {
    state.offered = true;
    remember("offered", "on");
  }
}

/** Answer a request by the kept answer or by passing, and return whether it is answered. */
function answerByItself(ask, game) {
  const { kept } = state;
  state.kept = null;
  if (ask.kind === "turn") state.passing = false;
  const pass = ask.options.find((option) => option.letter === "p");
  const same = kept && ask.kind === "block" && kept.game === game.number && kept.turn === game.turn && !ask.proven;
  const wanted = same ? (kept.block ? ask.options.find((option) => option.block === kept.block) : pass) : null;
  const option = wanted ?? (!ask.involved && (state.passing || remembered("autopass") === "on") ? pass : null);
  if (option) submit(ask, option.choices[0][0], option);
  return Boolean(option);
}

/** The notice to the player, and no other, that their time ran out, or that the table couldn't be changed. */
function missedNotice({ state: phase, missed: count, spare, manages, why }) {
  if (manages && why && phase !== "void") return { text: "Your change of the table failed. Try again, or choose another bot." };
  if (!count || !["playing", "between"].includes(phase)) return null;
  if (spare === 0)
    return { text: "Your time ran out several times in a row. The arena plays your seat with safe moves.", label: "Take your seat back", act: () => send({ back: true }) };
  const next = spare === 1 ? "If your time runs out again, the arena plays your seat until you return." : "Your seat is kept.";
  return { text: `Your time ran out. The arena played a safe move for you (income or pass). ${next}` };
}

function showNotice(text, button = null) {
  state.notice = { text, ...button };
  draw();
}

function receiveChat(message) {
  state.chat = withMessage(state.chat, message);
  const seats = "writes" in message ? [] : (state.frame?.game?.seats ?? []);
  const line = "writes" in message ? null : message.chat.at(-1);
  if (line) alertTo(`${plain(line.name)}: ${plain(line.text)}`, false);
  for (const { id, handle, text } of message.chat.filter((line) => seats.some((seat) => seat.handle === line.handle))) {
    const seat = find(`.seat[data-seat="${seats.findIndex((each) => each.handle === handle)}"]`);
    if (!seat) continue;
    const below = seat.getBoundingClientRect().top - find(".felt").getBoundingClientRect().top < MAX_BUBBLE_PX;
    state.bubbles.set(handle, { text, below, id });
    setTimeout(() => state.bubbles.get(handle)?.id === id && (state.bubbles.delete(handle), draw()), BUBBLE_MS);
  }
  draw();
  const field = find("#chat-field");
  if (message.problem && field && !field.value) field.value = state.chat.sent;
}

function showHint(hint) {
  state.hint = hint;
  draw();
  if (!find("#hint").open) find("#hint").showModal();
}

// ---- the page

function draw() {
  if (!state.frame) return render([headerView(), bannerView(), state.list && lessonsView(state.list), dialogViews()], page);
  const { table, game } = state.frame;
  const ask = openRequest(state);
  const asked = JSON.stringify([table.state, game?.number, ask?.id, state.option?.number]);
  if (asked !== state.asked) {
    ignoreEarlyPresses();
    const move = onlyMove(state);
    clearTimeout(answerTimer);
    if (move) answerTimer = setTimeout(() => openRequest(state)?.id === ask.id && commit(ask, move[1], move[0]), ONLY_MS);
  }
  state.asked = asked;
  if (game && !state.motion.isShowing) timeQuestions(table, game);
  if (!game?.end || !state.motion.isShowing) state.places = table.places;
  const held = page.contains(document.activeElement) && document.activeElement.closest(".moves, .own-cards");
  render([headerView(), bannerView(), mainView(), dialogViews()], page);
  if (held && document.activeElement === document.body) find(".ask").focus({ preventScroll: true });
  markTitle(Boolean(ask));
}

function headerView() {
  const { table, game } = state.frame ?? {};
  const seated = table?.places.some((place) => place.you);
  const tool = (text, onclick, more) => h("button", { class: "tool", onclick, ...more }, text);
  return h(
    "header",
    {},
    state.coach ? h("h1", {}, h("a", { href: "#" }, state.coach.all), " · ", state.coach.lesson) : h("h1", {}, home ? [h("a", { href: home[0] }, plain(home[1])), " · "] : null, TITLE, " ", h("span", { class: "muted" }, table?.games > 1 && game ? `game ${game.number + 1} of ${table.games}` : "")),
    h(
      "div",
      { class: "choices" },
      tool("Rules", () => find("#rules-box").showModal()),
      seated ? tool("Odds", () => send({ hint: true })) : null,
      tool(alerts.volume ? "Sound on" : "Sound off", toggleSound, { class: "tool sound", "aria-pressed": String(alerts.volume > 0) }),
      tool("Settings", () => find("#settings").showModal()),
      seated && !state.coach && ["playing", "between"].includes(table.state) ? tool("Leave", leave) : null,
      tool("◐", toggleTheme, { "aria-label": "switch between dark and light" }),
      tool("?", () => find("#help").showModal(), { "aria-label": "keys" }),
    ),
  );
}

const TITLE = document.title;

function bannerView() {
  const { text, label, act } = state.notice ?? {};
  return h("div", { class: "banner", role: "status" }, state.offered && !text ? offerView(() => ((state.offered = false), draw())) : null, text ? h("p", {}, text) : null, act ? h("button", { key: label, onclick: act }, label) : null);
}

function mainView() {
  const { table, game } = state.frame;
  const { motion } = state;
  const people = peoplePanel({ ...table, places: state.places }, game?.seats ?? [], send);
  const open = table.state === "open";
  return h(
    "main",
    { class: "playing" },
    h(
      "div",
      { class: "board" },
      h("div", { class: "place" }, open ? [people, termsPanel(table, state.rules.about, send)] : game ? tableSection() : null),
      h(
        "section",
        { class: "panel ask", "aria-label": "What is asked", tabindex: -1 },
        h("div", { class: "own-cards", role: "group", "aria-label": "Your cards" }, hand(state, actions)),
        promptView(),
        autoView(),
      ),
    ),
    h(
      "div",
      { class: "beside" },
      logPanel(h(Following, { of: motion.log, list: LOG_LIST }, byTurn(motion.log).map((turn) => turnItem(turn)))),
      h("div", { class: "lobby-side" }, open || state.coach ? null : people),
      chatPanel(state.chat, (text) => {
        state.chat.sent = text;
        send({ chat: text });
      }),
      h("details", { class: "panel minute", open: remembered("games") === null && !state.coach }, h("summary", {}, "The game in a minute"), minute(state.rules, table.places.length)),
    ),
  );
}

function tableSection() {
  const { motion, bubbles, frame: { table, game } } = state;
  const aimed = targetAreas(state, actions);
  const gone = table.places.filter((each) => each.kind === "person" && !each.here).map((each) => each.handle);
  const shown = motion.seats.map((seat, place) => ({ ...seat, away: gone.includes(seat.handle), aim: aimed.get(place), bubble: bubbleView(bubbles.get(seat.handle)) }));
  const reserve = game.reserve === null ? "" : `, ${motion.now.reserve} in the reserve`;
  const stage = h(
    "div",
    { class: motion.isShowing ? "stage busy" : "stage", "data-kind": motion.beat ? (motion.beat.kind ?? motion.beat.events[0].event) : "", onclick: skip },
    h("p", { class: "muted" }, `Turn ${motion.now.turn}, ${motion.now.deck} ${motion.now.deck === 1 ? "card" : "cards"} in the deck${reserve}`),
    h("p", { class: "sentence" }, motion.sentence),
    h("div", { class: "stage-cards" }, motion.shown.map((role) => card(role, "fresh"))),
    h("button", { class: "tool skip", title: "Space" }, "Skip"),
    h("span", { class: "heap" }), // where coins and cards of the middle come from
  );
  return tableView(shown, game.seat ?? 0, stage);
}

function bubbleView(bubble) {
  return bubble && h("p", { class: bubble.below ? "bubble below" : "bubble", "aria-hidden": "true", key: bubble.id }, plain(bubble.text));
}

function promptView() {
  const { coach, motion, frame: { table, game } } = state;
  const seated = table.places.some((place) => place.you);
  const coached = coach?.more && !motion.isShowing;
  const { text, late } = timeLeft();
  return h(
    "div",
    { class: "prompt" },
    h("div", { class: "asked" }, h("h2", { class: "question", "aria-live": "assertive" }, coached ? coach.title : question(state)), h("div", { class: "standing" }, h("span", { class: late ? "timer late" : "timer" }, text), ownStatus(state))),
    h("p", { class: "news", "aria-live": "polite" }, game && !(game.end && !motion.beat) && !motion.begins ? motion.sentence : ""),
    coach ? coachView(state) : h("p", { class: "tip" }, advice(state)),
    h("input", { class: "words", maxlength: 200, "aria-label": "Say this with your move", placeholder: "for example: hold duke, attack B", hidden: !seated || table.talk === "off" || table.state !== "playing" }),
    h("div", { class: "result" }, coach ? null : result(state)),
    h("div", { class: state.early ? "moves early" : "moves", role: "group", "aria-label": "Your moves" }, coached ? coachMoves(state, actions) : [moves(state, actions), coach && answerButton(state, actions)]),
  );
}

function autoView() {
  const { table, game } = state.frame;
  const seated = table.places.some((place) => place.you);
  const hidden = state.coach || !seated || table.state !== "playing" || !game || Boolean(game.seats[game.seat]?.out) || openRequest(state)?.kind === "turn";
  const always = (event) => remember("autopass", event.target.checked ? "on" : "off");
  return h(
    "div",
    { class: "auto", hidden },
    h("button", { class: "tool", hidden: !table.skip, onclick: () => send({ skip: true }) }, "Continue without absent players"),
    h("button", { class: "tool", title: INVOLVED, hidden: !canPassOn(state), "aria-pressed": String(state.passing), onclick: passOn }, "Pass until my turn"),
    h("label", { class: "small muted", title: INVOLVED, hidden: !canPassOn(state) }, h("input", { type: "checkbox", checked: remembered("autopass") === "on", onchange: always }), "always, even if I could block"),
  );
}

function dialogViews() {
  const pace = (event) => {
    remember("pace", event.target.value);
    send({ pace: event.target.value });
  };
  const volume = { type: "range", min: 0, max: 100, step: 5, "aria-label": "Sound volume", value: alerts.volume, onchange: (event) => (setVolume(Number(event.target.value)), draw()) };
  const paces = PACES.map((each) => h("option", { key: each, value: each }, each));
  return [
    dialog("hint", "Odds", state.hint && hintView(state.hint)),
    dialog("rules-box", "The rules of this game", h("div", { class: "rules" }, RULES_VIEW)),
    dialog("help", "Keys", KEYS_VIEW),
    dialog("settings", "Settings", [
      h("label", {}, "Pace of the table ", h("select", { onchange: pace, value: remembered("pace") ?? state.frame?.table.pace }, paces)),
      h("label", {}, "Sound volume ", h("input", volume)),
      h("label", {}, h("input", { type: "checkbox", checked: alerts.notifies, onchange: async (event) => (await notify(event.target.checked), draw()) }), " notify me of my turn, the start, the end and the chat while I look elsewhere"),
    ]),
    dialog("sure", "Are you sure?", state.sure && sureView(state.sure), null),
  ];
}

// Unchanged elements are drawn once.
const RULES_VIEW = rulesView(state.rules);
const KEYS_VIEW = keysView();

function dialog(id, heading, text, close = h("form", { method: "dialog" }, h("button", {}, "Close"))) {
  return h("dialog", { id, key: id, "aria-label": heading }, h("h2", { tabindex: -1, autofocus: true }, heading), h("div", { class: "text" }, text), close);
}

/** How likely each player holds each role. */
function hintView({ roles, rows, lines }) {
  const likely = (chances) => meters(chances.map((chance, place) => [roles[place], chance]), []);
  return [
    rows.length ? h("p", { class: "muted" }, "How likely each player holds a role, given the cards that you see.") : null,
    h("dl", { class: "likely" }, rows.map(([who, chances]) => h("div", {}, h("dt", {}, name(who)), h("dd", {}, likely(chances))))),
    lines.map((line) => h("p", {}, plain(line))),
  ];
}

function sureView({ text, no, yes, act: press, key }) {
  return h(
    "div",
    { class: state.early ? "early" : "", key },
    h("p", {}, text),
    h("button", { class: "move first", onclick: guard(() => find("#sure").close()) }, no),
    h("button", { class: "move", onclick: guard(press) }, yes),
  );
}

/** Ignore clicks and keys for a moment, because something else was at this position. */
function ignoreEarlyPresses() {
  clearTimeout(calmTimer);
  state.calmUntil = performance.now() + CALM_MS;
  state.early = true;
  calmTimer = setTimeout(() => {
    state.early = false;
    draw();
  }, CALM_MS);
}

let calmTimer = null;
let answerTimer = null; // a request with one move

// ---- actions of the player

/** A handler that makes a press count, unless it was meant for what was there before. */
function guard(press) {
  return (event) => state.early || event.timeStamp < state.calmUntil || press();
}

const actions = { guard, choose, answer, keep, send, watch };

function choose(option) {
  state.option = option;
  if (!option || option.choices.length > 1) return draw();
  answer(option.choices[0][0], option);
}

function answer(choice, option = state.option) {
  const { ask } = state.frame.game;
  state.option = null;
  if (!option.risk) return commit(ask, choice, option);
  askFirst({ ask, text: option.risk, no: "Choose again", yes: plain(option.text), act: () => commit(ask, choice, option) });
}

/** Select or deselect a card of an exchange; with too many, the first one is deselected. */
function keep(ask, place) {
  const others = state.chosen.filter((each) => each !== place);
  state.chosen = others.length < state.chosen.length ? others : [...others, place].slice(-ask.options[0].cards.length);
  draw();
}

function askFirst(sure) {
  state.sure = { ...sure, key: performance.now() };
  ignoreEarlyPresses();
  draw();
  find("#sure").showModal();
  find("#sure button").focus();
}

function leave() {
  const text = "You forfeit this game. The others finish it, and then the match ends.";
  askFirst({ text, no: "Stay", yes: "Leave", act: () => (find("#sure").close(), send({ leave: true })) });
}

function commit(ask, choice, option) {
  if (state.sure?.ask) find("#sure").close();
  submit(ask, choice, option);
  draw();
}

/** Send an answer. A block that may follow is kept: the answer to a challenge request is then to pass. */
function submit(ask, choice, option) {
  const { number, turn } = state.frame.game;
  const laterBlock = ask.blocks.includes(option);
  if (laterBlock || (ask.blocks.length && option.letter === "p")) state.kept = { game: number, turn, block: laterBlock ? option.block : null };
  const words = find(".words");
  send({ answer: { id: ask.id, choice: laterBlock ? ask.options[0].choices[0][0] : choice, say: words?.value ?? "" } });
  if (words) words.value = "";
  remember(`met-${ask.kind}`, String(1 + Number(remembered(`met-${ask.kind}`))));
  Object.assign(state, { sent: ask.id, option: null, offered: false });
}

/** Start or stop passing until the player's turn, except for moves that involve the player. */
function passOn() {
  if (!canPassOn(state) && !state.passing) return;
  state.passing = !state.passing;
  const game = state.frame?.game;
  if (state.passing && game?.ask && game.ask.id !== state.sent) answerByItself(game.ask, game);
  draw();
}

/** Watch the rest of a game, or see its end as soon as it is played. */
function watch(watches) {
  state.watching = watches;
  if (!watches) skip();
  draw();
}

function toggleSound() {
  setVolume(alerts.volume ? 0 : 50);
  draw();
}

function skip() {
  if (state.motion.isShowing) send({ hurry: true });
  state.motion.showAll();
}

function pressKey(event) {
  const at = event.target;
  const field = at.closest?.("select, input");
  if (event.repeat && !field && ["Enter", " "].includes(event.key)) event.preventDefault(); // a repeated key would press a button again
  if (event.key === "Escape" && at.id === "chat-field") at.blur();
  if (event.repeat || event.ctrlKey || event.altKey || event.metaKey || field || document.querySelector("dialog[open]")) return;
  if (event.key === " " && state.motion.isShowing && !at.closest?.("button, a, summary")) {
    event.preventDefault();
    return skip();
  }
  const show = { h: () => send({ hint: true }), r: () => find("#rules-box").showModal(), "?": () => find("#help").showModal() }[event.key];
  const move = state.frame && moveForKey(event.key);
  const other = show ?? { m: toggleSound, d: toggleTheme, u: passOn, "/": () => find("#chat-field")?.focus() }[event.key];
  if (!move && !other) return;
  event.preventDefault();
  if ((move || event.key === "u") && (state.early || event.timeStamp < state.calmUntil)) return;
  (move ?? other)();
}

/** What a key does as a move: moves come first, because their letters are always the same. */
function moveForKey(pressed) {
  const ask = openRequest(state);
  const entered = pressed === "Enter" && !document.activeElement?.closest?.("button, a");
  if (!ask) {
    const first = find(".moves .first");
    return entered && first ? () => first.click() : null;
  }
  if (state.option) {
    const found = state.option.choices[Number(pressed) - 1];
    const named = state.option.choices.find(([, seat]) => seat !== null && state.frame.game.seats[seat].handle.toLowerCase() === pressed);
    if (found || named) return () => answer((found ?? named)[0]);
    return pressed === "Escape" ? () => choose(null) : null;
  }
  const option = [...ask.options, ...ask.blocks].find((each) => pressed === each.number || pressed === each.letter);
  if (option) return () => choose(option);
  return entered && ask.options[0].letter === "p" ? () => choose(ask.options[0]) : null;
}

// ---- time

/** Run a clock for the asked players if people are among them. It never starts or ends at an answer. */
function timeQuestions({ match, clock: times, places }, { number, asked, seats, waiting }) {
  const present = JSON.stringify([match, number, state.motion.lines.length, waiting]);
  if (present === state.window) return;
  const timed = state.window && times && places.some((place) => place.kind === "person" && asked.some((seat) => seats[seat].handle === place.handle));
  state.windowEnd = timed ? performance.now() + 1000 * times.move_s : null;
  state.window = present;
}

/** The seconds that are left, as text. */
function timeLeft() {
  const open = Boolean(openRequest(state));
  const end = open ? state.deadline : state.motion.isShowing ? null : state.windowEnd;
  const left = end ? Math.max(0, end - performance.now()) / 1000 : null;
  return { text: left === null ? "" : `${Math.ceil(left)} s`, late: open && left !== null && left < 10 };
}

document.addEventListener("keydown", pressKey);
setInterval(() => state.frame && find(".timer")?.textContent !== timeLeft().text && draw(), 250);
draw();
connect();
