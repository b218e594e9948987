// What is asked of a player: the question, advice, the hand, and a button for each move. Pure but for what a press does.
//
// A button's key names its request and its option: while a request is open its buttons stay the same elements, so that a
// press that began on one can't be lost, or count for an option of a later request.

import { TIPS } from "./advice.js";
import { avatar, badge, card, coins, moveSign, price, title } from "./cards.js";
import { plain } from "./dom.js";
import { startCondition, steps } from "./lobby.js";
import { remembered } from "./memory.js";
import { h } from "./preact.min.js";
import { labels } from "./seats.js";

const TIMES = 3; // how often a tip is shown

/** The request that the player can answer now, because all events before it have been shown; null without one. */
export function openRequest({ frame, sent, motion }) {
  const ask = frame?.game?.ask;
  return ask && ask.id !== sent && !motion.isShowing ? ask : null;
}

/** Whether the player may pass until their turn: it isn't their turn, and no move is asked that can't be passed. */
export function canPassOn(state) {
  const { game } = state.frame;
  const ask = openRequest(state);
  return ask ? ask.options[0].letter === "p" : Boolean(game) && game.actor !== game.seat;
}

/** The only move of a turn, as [option, choice]; null if there are several, or words could go with it.
 * Of other requests the hidden cards decide how many moves there are: a quick answer would tell them to the others. */
export function onlyMove(state) {
  const ask = openRequest(state);
  const choices = ask?.kind === "turn" && state.frame.table.talk === "off" ? ask.options.flatMap((option) => option.choices.map(([index]) => [option, index])) : [];
  return choices.length === 1 ? choices[0] : null;
}

/** Whether the player is out of the game, and the page has shown it. */
function isOut({ frame: { table, game }, motion }) {
  return table.state === "playing" && Boolean(game) && !game.end && game.seat !== null && motion.now.out[game.seat];
}

/** The question as text, or what is awaited. */
export function question(state) {
  const { frame, motion, option } = state;
  const { table, game } = frame;
  const ask = openRequest(state);
  if (table.state === "open") return startCondition(table);
  if (table.state === "void") return `The match failed: ${plain(table.why ?? "")}`;
  if (ask) return option ? `${title(plain(moveText(option)))}${costs(option, state.rules)}. Whom?` : plain(ask.question);
  if (game?.end) return motion.isShowing ? "" : plain(game.end);
  if (!game) return "The match is starting.";
  if (isOut(state)) return "You are out.";
  const onlySelfAsked = String(game.asked) === String(game.seat);
  const waiting = motion.isShowing || onlySelfAsked ? "" : game.waiting;
  return plain(waiting || "Waiting for the other players.");
}

/** The cost of an action, as text. */
function costs(option, rules) {
  const found = new Set(rules.actions.filter((row) => row.action === option.action && row.cost).map((row) => row.cost));
  return found.size ? ` (costs ${[...found].join(" or ")} coins)` : "";
}

/** The advice on the open request: the warning to a player with one card, and a tip for the first requests. */
export function advice(state) {
  const ask = openRequest(state);
  if (!ask || state.option) return "";
  const tip = Number(remembered(`met-${ask.kind}`)) < TIMES ? TIPS[ask.kind] : "";
  return [lastCard(ask, state.frame.game, state.motion.now.pending), tip].filter(Boolean).join(" ");
}

function lastCard(ask, game, pending) {
  if (game.seats[game.seat].cards.length !== 1) return "";
  const aimed = pending?.action === "assassinate" && pending.target === game.seat && (ask.kind === "block" || ask.blocks.length > 0);
  const doubts = ask.kind === "challenge" ? "If you challenge and are wrong, you are out." : "";
  return [aimed ? "If you pass, you lose your last card and are out." : "", doubts].filter(Boolean).join(" ");
}

/** The players in order of rank, with their face-up cards, and the duration of the game; null before its end. */
export function result({ frame: { table, game }, motion }) {
  if (!game?.end || motion.isShowing || table.state === "open") return null;
  const last = game.seats.map((seat, place) => place).filter((place) => !motion.gone.includes(place));
  const rows = [...last, ...motion.gone.toReversed()].map((place) => game.seats[place]);
  const minutes = game.duration_s < 60 ? "" : `${Math.floor(game.duration_s / 60)} min `;
  const cards = (seat) => [seat.revealed.map((role) => card(role, "lost")), seat.out ? null : seat.cards.map((role) => card(role))];
  return [
    h("ol", { class: "places" }, rows.map((seat) => h("li", { class: seat.own ? "own" : null }, h("bdi", {}, plain(seat.name)), " ", cards(seat)))),
    h("p", { class: "muted" }, `${game.turn} turns, ${minutes}${game.duration_s % 60} s`),
  ];
}

/** The player's part in the move, claims and coins; with the hand it stands for the player's seat. */
export function ownStatus({ frame: { game }, motion }) {
  const hidden = !game || game.seat === null || (Boolean(game.end) && !motion.isShowing); // the result shows all cards
  const now = hidden ? null : motion.seats[game.seat];
  return h(
    "div",
    { class: "self", hidden },
    h("div", { class: "label" }, now && labels(now)),
    h("div", { class: "claims" }, now?.claims.length ? [h("span", { class: "muted small" }, "claimed"), now.claims.map(badge)] : null),
    h("div", { class: "coins" }, now && !now.out ? coins(now.coins, now.change) : null),
  );
}

/** The player's cards, as buttons if the open request chooses among them. */
export function hand(state, actions) {
  const { frame: { game }, motion, chosen } = state;
  if (!game || game.seat === null || (game.end && !motion.isShowing)) return null;
  const ask = openRequest(state);
  const own = game.seats[game.seat];
  const cards = !ask ? motion.now.hands[game.seat] : ask.kind === "draft" ? ask.options.flatMap((option) => option.cards) : [...own.cards, ...own.drawn];
  const choice = (role, place) => {
    const option = ask?.options.find((each) => each.cards[0] === role);
    if (!option) return card(role);
    const several = ask.kind === "exchange";
    const press = several ? actions.guard(() => actions.keep(ask, place)) : actions.guard(() => actions.choose(option));
    return h("button", { class: "choice", key: `${askKey(state)} ${place}`, "aria-pressed": several ? String(chosen.includes(place)) : null, onclick: press }, card(role));
  };
  return [cards.map(choice), motion.now.revealed[game.seat].map((role) => card(role, "lost"))];
}

/** The names of requests are unique within a match. */
function askKey({ frame: { table, game } }) {
  return `${table.match} ${game.ask.id}`;
}

/** The option of an exchange that keeps the chosen cards. */
function keptOption(ask, { frame: { game }, chosen }) {
  const own = game.seats[game.seat];
  const key = (cards) => cards.toSorted().join();
  const cards = chosen.map((place) => [...own.cards, ...own.drawn][place]);
  return ask.options.find((option) => key(option.cards) === key(cards));
}

/** The buttons: of the open request, or of what can be done next. */
export function moves(state, actions) {
  const ask = openRequest(state);
  if (isOut(state)) {
    if (state.watching !== null) return null;
    const button = (text, watches) => h("button", { class: "move", key: text, onclick: actions.guard(() => actions.watch(watches)) }, text);
    return [button("Watch", true), button("Finish now", false)];
  }
  if (!ask) return state.motion.isShowing ? null : steps(state.frame.table, actions);
  return state.option ? targets(state, actions) : options(ask, state, actions);
}

function options(ask, state, actions) {
  const { rules } = state;
  const key = askKey(state);
  const row = (option) => rules.actions.find((each) => each.action === option.action);
  const isTried = (option) => option.choices.every(([index]) => state.coach?.tried?.includes(index));
  const offered = [...ask.options, ...ask.blocks].map((option) => [
    option.action,
    h(
      "button",
      { class: ["move", option.bluff && "bluff", isTried(option) && "tried"].filter(Boolean).join(" "), key: `${key} ${option.number}`, onclick: actions.guard(() => actions.choose(option)) },
      h("span", { class: "signs" }, h("kbd", {}, option.action ? option.letter : option.number), moveSign(option, row(option)), option.bluff ? h("span", { class: "tag bluffing" }, "bluff") : null),
      h("span", { class: "what" }, plain(moveText(option)), claimTag(row(option)), " ", price(row(option)?.cost), h("span", { class: "does" }, effectText(row(option)))),
    ),
  ]);
  const order = rules.actions.map((each) => each.action);
  const sorted = [...offered, ...unpaid(ask, state)].toSorted(([one], [other]) => order.indexOf(one) - order.indexOf(other));
  return [ask.kind === "exchange" ? keepButton(ask, state, actions) : null, sorted.map(([, button]) => button)];
}

function keepButton(ask, state, actions) {
  const chosen = keptOption(ask, state);
  const count = ask.options[0].cards.length;
  if (!chosen) return h("p", { class: "keep", key: "keep" }, `Choose ${count} ${count === 1 ? "card" : "cards"} to keep`);
  return h("button", { class: "move keep", key: `${askKey(state)} keep`, onclick: actions.guard(() => actions.choose(chosen)) }, plain(chosen.text));
}

/** The actions that the player can't pay, as disabled buttons. */
function unpaid(ask, { frame: { game }, rules }) {
  if (ask.kind !== "turn") return [];
  const { coins: owned } = game.seats[game.seat];
  const first = (row, place) => rules.actions.findIndex((each) => each.action === row.action) === place;
  const rows = rules.actions.filter((row, place) => row.cost > owned && first(row, place) && !ask.options.some((option) => option.action === row.action));
  return rows.map((row) => [
    row.action,
    h("button", { class: "move", key: row.action, disabled: true }, moveSign(row, row), h("span", { class: "what" }, moveText({ action: row.action, choices: [0, 0] }), claimTag(row), h("span", { class: "does" }, `needs ${row.cost} coins`))),
  ]);
}

/** The possible targets of the chosen action. */
function targets(state, actions) {
  const { frame: { game }, option, rules } = state;
  const rows = rules.actions.filter((row) => row.action === option.action); // for oneself, then for a target
  const aim = ([index, seat], place) => {
    const { coins: owned, cards } = game.seats[seat] ?? {};
    const holds = seat === null ? price(rows[0]?.cost) : h("span", { class: "does" }, `${owned} ${owned === 1 ? "coin" : "coins"}, ${cards.length} ${cards.length === 1 ? "card" : "cards"}`);
    return h(
      "button",
      { class: "move", key: `${askKey(state)} at ${index}`, onclick: actions.guard(() => actions.answer(index)) },
      h("kbd", {}, String(place + 1)),
      seat === null ? null : avatar(game.seats[seat].handle),
      h("span", { class: "what" }, seat === null ? "yourself" : plain(game.seats[seat].name), seat === null ? null : holds),
      seat === null ? holds : null,
    );
  };
  const back = h("button", { class: "move back", key: `${askKey(state)} back`, onclick: actions.guard(() => actions.choose(null)) }, h("kbd", {}, "Esc"), "other moves");
  return [option.choices.map(aim), back];
}

/** An area over each seat that is a possible target of the chosen action, by seat. */
export function targetAreas(state, actions) {
  if (!openRequest(state) || !state.option) return new Map();
  return new Map(state.option.choices.map(([index, seat]) => [seat, h("span", { class: "aimed", key: `${askKey(state)} at ${index}`, onclick: actions.guard(() => actions.answer(index)) })]));
}

function effectText(row) {
  return row && Number(remembered("games") ?? 0) < TIMES ? row.effect : "";
}

/** A move as text, without the targets that are chosen next. */
function moveText({ action, choices, text = "" }) {
  return action && choices.length > 1 ? action.replace("_", " ") : text.replace(/ \(\d+ coins\)$/, ""); // a coin shows the price
}

/** The role that an action claims, as text after its name. */
function claimTag(row) {
  return row?.claim ? h("span", { class: "claim" }, row.claim.startsWith("no ") ? ` claiming ${row.claim}` : ` as ${row.claim}`) : null;
}
