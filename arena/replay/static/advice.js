// Advice to a player: keys, tips for first requests, and the game in a minute.

import { plain } from "./dom.js";
import { legend } from "./log.js";
import { h } from "./preact.min.js";

/** @type {[string[], string][]} */
const KEYS = [
  [["1", "2", "…"], "choose the move with this number or letter; of two meanings of a key, the move comes first"],
  [["Enter"], "pass, if you can"],
  [["Space"], "skip what is being shown"],
  [["Esc"], "back to the moves, while you choose a target"],
  [["u"], "pass until your turn, unless a move involves you"],
  [["h"], "odds: how likely the other players hold each role"],
  [["r"], "rules of this game"],
  [["m"], "turn the sound on or off"],
  [["d"], "switch between dark and light"],
  [["say"], "say something with a move, if the rules allow talk: hold duke, lack duke, attack B, spare B, doubt B duke, or your own words"],
  [["/"], "write to the table, if it has a chat"],
  [["?"], "show this help"],
];

// Tips for a player's first requests, by the kind of request.
export const TIPS = {
  turn: "Choose an action. You may claim a role that you don't hold. If no player challenges you, the action works anyway.",
  challenge: "Challenge if you think that the claim is a lie. The player who is wrong loses a card.",
  block: "You may block this action by claiming a role that blocks it. The other players may challenge your claim.",
  prove: "A player challenges your claim. Show the card, and the challenger loses a card; you draw a new one. Decline, and you lose a card.",
  lose: "Choose the card that you lose. It is turned face up. Without cards you are out.",
  exchange: "Choose the cards that you keep. The others go back into the deck.",
  keep_shown: "You proved your claim. Keep the card that all players have seen, or replace it from the deck.",
  examine_show: "A player examines one of your cards. No other player sees it.",
  examine_decide: "Only you have seen this card. Return it, or make its owner replace it.",
  draft: "Choose the card that you start with. No other player sees it.",
  allegiance: "You can't attack players of your own side while the other side has players.",
};

// The game for new players; the table below it has the actions.
const MINUTE = [
  "Only you see your cards. A player without cards is out. The last player wins.",
  "On your turn you take one action. Some actions claim a role. You may claim any role. Claiming a role that you don't hold is a bluff.",
  "When a player claims a role, the others may challenge. If the player shows the card, the challenger loses a card. Otherwise the player loses a card.",
  "Some actions can be blocked by claiming the right role. That claim can be challenged too.",
  "A coup can't be blocked and claims no role. Pass if you have no reason to act.",
  "Rules lists all cards and actions. Odds shows how likely the other players hold each role.",
];

export const INVOLVED = "A move involves you if it is your action, or aims at you. Others are passed whatever you hold: a stop would show your cards.";

/** Effect, cost and claim of an action, from the action table. */
function does(row) {
  return [row.effect, row.cost && `costs ${row.cost} coins`, row.claim && `claims ${row.claim}`, row.blockers && `stopped by ${row.blockers}`].filter(Boolean).join("; ");
}

/** The rules for a new player at a table of `seats`, as a list. */
export function minute({ actions, facts, decks }, seats) {
  const deck = decks.find(([counts]) => counts.includes(seats))?.[1];
  const rows = actions.map((row) => h("li", {}, h("b", {}, row.action.replace("_", " ")), `: ${does(row)}`));
  return h("ul", {}, [...MINUTE, ...facts, deck].filter(Boolean).map((text) => h("li", {}, plain(text))), rows);
}

/** The keys, and the signs of the log. */
export function keysView() {
  const rows = KEYS.map(([keys, what]) => [h("dt", {}, keys.map((key) => h("kbd", {}, key))), h("dd", {}, what)]);
  return [h("dl", { class: "keys" }, rows), legend()];
}
