// The lobby of a table: its settings, its players, and the possible next actions. Pure but for what a press sends.

import { avatar, tenths } from "./cards.js";
import { copies, plain, read } from "./dom.js";
import { Component, createRef, h } from "./preact.min.js";

/** How long events are shown. */
export const PACES = ["slow", "normal", "fast", "instant"];

const KINDS = { bot: "a bot", person: "a person", program: "a remote bot" };

const home = read("home");
const invited = read("invitation");
const rulesets = read("rulesets");
const chosen = createRef(); // the list of bots to add
const FEW = 6; // bots that are offered before "more"

/** The condition that the table waits for before its first match, as text. */
export function startCondition(table) {
  if (table.start?.close || table.start?.bots) return "Start when the players are here.";
  if (table.manages) return "Add a bot, or wait for a player.";
  const [free, present] = [true, false].map((is) => table.places.filter((place) => place.free === is));
  if (table.opener && present.length > 1) return `${plain(table.opener)} starts the match.`;
  return free.length ? "Waiting for a player." : waitingText(present.filter((place) => !place.here));
}

/** The actions while no request is open. */
export function steps(table, actions) {
  const you = table.places.find((place) => place.you);
  const step = (text, message, first = true) =>
    h("button", { key: JSON.stringify(message), class: first ? "move first" : "move", onclick: actions.guard(() => actions.send(message)) }, text);
  const wanting = (text, message) => {
    if (!you) return null;
    const others = table.places.filter((place) => place.kind === "person" && !place.again && place.here);
    return you.again ? h("p", {}, others.length ? waitingText(others) : "Waiting for players.") : step(text, message);
  };
  if (table.state === "between") return [wanting("Next game", { go_on: true })];
  if (table.state === "playing") return [];
  const join = read("join");
  const link = (href, text, first = false) => h("a", { key: href, class: first ? "move first" : "move", href }, text);
  const take = !you && join && table.again && table.places.some((place) => place.free) ? link(join, "Take a seat", true) : null;
  const ending = table.replay?.startsWith("#") ? table.replay : `${table.replay}#end`; // the playground opens replays itself
  const { empty, bots, close } = table.start ?? {};
  const stays = table.places.length - empty;
  if (table.state === "open") {
    const fill = empty > 0 && bots && step(`Start with ${empty} more ${empty === 1 ? "bot" : "bots"}`, { start: "bots" });
    return [fill, close && step(empty > 0 ? `Start with ${stays} players` : "Start", { start: "close" }, !fill), take];
  }
  return [
    table.again ? wanting("Play again", { rematch: true }) : null,
    you?.again && empty > 0 && close ? step(`Start with ${stays} players`, { start: "close" }) : null,
    take,
    table.replay ? link(ending, home ? "See how it ended" : "See all cards and the best moments") : null,
    table.replay && you && read("reviews") ? link(table.replay.startsWith("#") ? "#review" : `${table.replay}?review=1`, "Review my game") : null,
    table.write ? link(table.write, "Write a bot") : null,
    home ? link(home[0], `Back to ${plain(home[1])}`) : null,
  ];
}

/** The players, absent ones and those that want to continue; never which have answered. `seats`: of the present game. */
export function peoplePanel(table, seats, send) {
  const open = table.state === "open";
  const order = seats.map((seat) => seat.handle);
  const places = table.places.toSorted((one, other) => order.indexOf(one.handle) - order.indexOf(other.handle));
  return h(
    "section",
    { class: "panel", "aria-labelledby": "people-title" },
    h("h2", { id: "people-title" }, order.length ? "Players in the order of turns" : "At the table"),
    h("ul", { class: "people" }, places.map((place) => personItem(place, table, send))),
    table.manages
      ? h("details", { class: "change-places", open }, h("summary", {}, "Change the seats"), h("div", { class: "arrange" }, table.expandable ? additions(table.bots, send) : null))
      : null,
    invited ? invitation(invited, open) : null,
  );
}

function personItem(place, table, send) {
  const known = place.name ?? (place.free ? "a free seat" : KINDS[place.kind]);
  const bot = table.bots?.find((each) => place.kind === "bot" && each.name === place.name?.replace(/ \(\d+\)$/, ""));
  const marks = [
    place.name !== null && (place.you ? h("bdi", {}, plain(place.name)) : KINDS[place.kind]),
    bot && strength(bot),
    place.delay_ms !== null && `${place.delay_ms} ms away`,
    place.won > 0 && `won ${Number(place.won.toFixed(2))}`,
    ["over", "void"].includes(table.state) && place.again && "wants to play again",
  ];
  return h(
    "li",
    { class: place.free ? "free" : null, key: `${place.number} ${place.handle}` },
    place.handle ? avatar(place.handle) : null,
    place.you ? "you" : place.free ? h("span", { class: "muted" }, known) : h("bdi", {}, plain(known)),
    marks.filter(Boolean).map((mark) => h("span", { class: "muted" }, mark)),
    place.here || place.free ? null : h("span", { class: "tag gone" }, table.state === "open" ? "awaited" : "away"),
    table.manages ? h("button", { class: "tool remove", "aria-label": `Remove ${plain(known)}`, onclick: () => send({ remove: place.number }) }, "✕") : null,
  );
}

/** The controls with which the opener adds bots and places between matches. */
function additions(bots, send) {
  const add = (text, what) => h("button", { key: text, onclick: () => send({ add: what() }) }, text);
  return [
    bots.length ? [h(BotList, { bots }), add("Add the bot", () => ({ bot: chosen.current.value }))] : null,
    add("Add a seat", () => ({ place: true })),
    add("Add a remote bot", () => ({ program: true })),
  ];
}

/** The list of bots to add: the first few, and the others after "more". */
class BotList extends Component {
  render({ bots }, { all = bots.length <= FEW }) {
    const option = (bot) => h("option", { key: bot.name, value: bot.name }, [plain(bot.name), strength(bot)].filter(Boolean).join(" · "));
    const more = all ? null : h("option", { key: "more", value: "" }, "more …");
    const change = (event) => event.target.value || this.setState({ all: true });
    return h("select", { ref: chosen, "aria-label": "Bot", onchange: change }, (all ? bots : bots.slice(0, FEW)).map(option), more);
  }
}

/** The controls with which the opener changes the rules and the pace before the first match. */
function settings(table, send) {
  const rules = rulesets.map(({ name, about, max_seats }) =>
    h("option", { key: name, value: name, disabled: table.places.length > max_seats }, `${name}: ${about}${table.places.length > max_seats ? ` (at most ${max_seats} players)` : ""}`),
  );
  const select = (label, value, change, options) => h("label", {}, label, h("select", { value, onchange: (event) => change(event.target.value) }, options));
  return h(
    "div",
    { class: "arrange" },
    select("Rules", table.rules, (name) => send({ rules: name }), rules),
    select("Pace", table.pace, (pace) => send({ table_pace: pace }), PACES.map((pace) => h("option", { key: pace, value: pace }, pace))),
  );
}

/** The settings of the table, and the players that it waits for. `about`: the rules, as text. */
export function termsPanel(table, about, send) {
  const far = table.places.some((place) => place.kind === "program");
  const terms = [
    [`Rules: ${table.rules}${about ? ` (${about})` : ""}`, `${table.games} ${table.games === 1 ? "game" : "games"}`, `clock: ${clock(table.clock)}`, `pace: ${table.pace}`].join("; "),
    table.open_names ? "All players use their names." : "Bots play under letters. Their names are shown after the match.",
    far && `A remote bot runs on its author's machine and isn't frozen while others think. Its clock: ${clock(table.program_clock)}.`,
    `Matches here aren't rated. A player who is away keeps the seat: ${table.clock ? "when their time runs out, the arena plays a safe move (income or pass)" : "the others wait"}.`,
  ];
  return h("section", { class: "panel lobby" }, h("h2", {}, "Before the match"), table.manages && rulesets ? settings(table, send) : null, h("ul", {}, terms.filter(Boolean).map((text) => h("li", {}, plain(text)))));
}

/** A bot's rank and rating, if it has them. */
function strength({ rank, rating }) {
  const place = rank.length ? `rank ${rank[0] === rank.at(-1) ? rank[0] : `${rank[0]}-${rank.at(-1)}`}` : null;
  const [value, , high] = rating ?? [];
  return [place, rating && `rating ${tenths(value)}${high === null ? "" : ` ± ${tenths(high - value)}`}`].filter(Boolean).join(", ");
}

/** The link to the table, and its QR code, for the opener. */
function invitation({ link, code }, open) {
  const field = h("input", { readonly: true, value: link, "aria-label": "Invitation link", onfocus: (event) => event.target.select() });
  const copy = navigator.clipboard && h("button", { onclick: copies(link) }, "Copy");
  return h("details", { class: "invitation", open }, h("summary", {}, "Invite players"), h("div", { class: "arrange" }, field, copy), h("img", { class: "qr", src: code, alt: "QR code of the invitation link" }));
}

function waitingText(places) {
  const names = places.map((place) => plain(place.name ?? KINDS[place.kind]));
  return names.length ? `Waiting for ${names.join(", ")}.` : "The match is starting.";
}

function clock(times) {
  if (!times) return "none";
  return `${times.move_s} s a move${times.game_s ? `, then ${times.game_s} s for a whole game` : ""}`;
}
