// A kit for bots of the Coup arena: it reads and writes the lines, follows the game, and asks you for moves.
//
// Copy this one file beside your bot; it needs Node.js 18 or newer and nothing else. This is kit version 6.
//
//     const { Bot, run } = require("./coup_kit.js");
//
//     class MyBot extends Bot {
//       turn(game) {
//         return game.cards.includes("duke") ? game.find("tax") : game.legal[0];
//       }
//     }
//
//     if (require.main === module) run(new MyBot());
//
// Each kind of request has a method: turn, challenge, block, prove, lose, exchange, and those of variants. It gets the
// Game, and returns an element of game.legal or its index. What you don't write plays game.legal[0], which is always a
// quiet move, and so do null and undefined. console.log goes to standard error, where it can't break the conversation.
"use strict";

const fs = require("node:fs");

const METHODS = {
  turn: "turn",
  challenge: "challenge",
  block: "block",
  prove: "prove",
  lose: "lose",
  exchange: "exchange",
  keep_shown: "keepShown",
  examine_show: "examineShow",
  examine_decide: "examineDecide",
  draft: "draft",
  allegiance: "allegiance",
};

// What can be claimed, in any variant; not_duke is an embezzler's claim.
const ROLES = ["ambassador", "assassin", "captain", "contessa", "duke", "inquisitor", "not_duke"];

// What one player did in all games of the match so far. Players are told apart by their handles.
class History {
  claimed = 0; // claims of a role, by actions and by blocks
  challenged = 0; // its claims that somebody challenged
  proven = 0; // those of them that it proved
  caught = 0; // those that it couldn't, or wouldn't, prove
  challenges = 0; // challenges that it made
  wonChallenges = 0; // those of them that caught somebody
  blocks = 0;

  // How many of its challenged claims were bluffs, 0 to 1; null before the first.
  get bluffRate() {
    return this.challenged ? this.caught / this.challenged : null;
  }
}

// A player at the table. What it has is that of the latest request; what it did is of this game.
class Player {
  #game;

  constructor(game, seat, handle, history) {
    const counts = () => Object.create(game._zeros());
    this.#game = game;
    this.seat = seat;
    this.handle = handle; // stays the same in all games of the match; seats don't
    this.history = history; // of the whole match
    // Counts by role are sparse: Object.keys has what was counted, and what wasn't reads as 0.
    this.claims = counts(); // role -> how often it claimed it with cards that it may still hold
    this.caught = counts(); // role -> how often it couldn't, or wouldn't, prove it
    this.shown = counts(); // role -> how often it proved it
    this.blocks = counts(); // role -> how often it blocked with it
    this.known = []; // roles that it certainly holds, since it showed or you saw a card, and kept it
    this._lacks = new Set(); // for the kit: roles that it certainly doesn't hold
  }

  get coins() {
    return this.#game.state.players[this.seat].coins;
  }

  // How many cards it has face down; 0: it is out of the game.
  get influence() {
    return this.#game.state.players[this.seat].influence;
  }

  // Its lost cards, face up.
  get revealed() {
    return this.#game.state.players[this.seat].revealed;
  }

  get alive() {
    return this.influence > 0;
  }

  // "loyalist" or "reformist"; null where there are no sides, or not yet.
  get allegiance() {
    return this.#game.state.players[this.seat].allegiance ?? null;
  }
}

// The game as your seat sees it. One object for the whole match; all but the raw messages is worked out when asked.
// Between requests it stays as the latest request, or the start of the game, said. In gameOver your cards, and the
// coins, cards and sides of all, are those of the end.
class Game {
  #histories = new Map();
  #doubt = { seat: 0, role: "" }; // the latest challenge
  #random = null;
  #zeros = null; // what counts read where nothing was counted
  #hand = []; // your cards before the latest events
  #drawn = []; // what you drew to exchange
  #deck = []; // cards that certainly lie in the court deck
  #words = []; // to be said beside the next answer

  constructor(hello) {
    this.rules = hello.ruleset ?? {}; // the fields of hello.ruleset
    this.limits = hello.limits ?? {};
    this.match = hello.match ?? {}; // games, seats, your_handle, handles
    this.botSeed = hello.bot_seed ?? "";
    this.gameSeed = ""; // of this game; empty before the first, and where the arena is too old to send it
    this.request = {}; // the request as it came, or game_start before the first one of a game
    this.players = []; // by seat
    this.winner = null; // in gameOver: the seat that won; null: a draw
    this.survivors = []; // in gameOver: the seats that won or share the draw
  }

  // --- what the request says -----------------------------------------------------------------------------------------

  // What is asked: "turn", "challenge", "block" ...; empty before the first request of a game.
  get kind() {
    return this.request.kind ?? "";
  }

  // Every move that you may choose, as on the wire; the first is a quiet one.
  get legal() {
    return this.request.legal ?? [];
  }

  // The number of the game in the match, from 0.
  get number() {
    return this.request.game ?? 0;
  }

  // The public state as on the wire.
  get state() {
    return this.request.state;
  }

  // Your seat in this game.
  get seat() {
    return this.request.you.seat;
  }

  // Your cards.
  get cards() {
    return this.request.you.cards;
  }

  // The cards that you drew, in exchange; else none.
  get drawn() {
    return this.request.you.drawn ?? [];
  }

  // The card of another that you look at, in examineDecide; else null.
  get seen() {
    return this.request.you.seen ?? null;
  }

  // The number of the turn, from 1, over all players together.
  get turn() {
    return this.state.turn;
  }

  // The seat whose turn it is.
  get actor() {
    return this.state.actor;
  }

  // You, as the others see you.
  get me() {
    return this.players[this.seat];
  }

  // The others who are still in the game, clockwise from you.
  get opponents() {
    const { seat, players } = this;
    return [...players.slice(seat + 1), ...players.slice(0, seat)].filter((player) => player.alive);
  }

  // The action that is being decided: actor, action and perhaps target; empty at your turn.
  get pending() {
    return this.request.pending ?? {};
  }

  // The claim to challenge or to prove: seat, role, and block, whether a block claims it; else empty.
  get claim() {
    return this.request.claim ?? {};
  }

  // In block: whether the action's claim was challenged and proven this turn.
  get proven() {
    return this.request.proven ?? false;
  }

  // In prove: the seat that challenges you; else null.
  get challenger() {
    return this.request.challenger ?? null;
  }

  // In lose: what you lose the influence to, "coup", "assassinate" or "challenge"; else null.
  get reason() {
    return this.request.reason ?? null;
  }

  // A random number, 0 to 1, by a generator that each game's gameSeed seeds anew, before the first game botSeed.
  // So a game can be repeated: its dice don't depend on how many were rolled before it.
  random() {
    this.#random ??= generator(this.gameSeed || this.botSeed);
    return this.#random();
  }

  // --- what helps to choose ------------------------------------------------------------------------------------------

  // The first legal move of an action or key, or null: find("income"), find("steal", 2) (at seat 2), find("challenge"),
  // find("pass"), find("block", "duke"), find("lose", "captain"), find("keep_shown", true).
  find(word, what = null) {
    return this.moves(word).find((move) => what === null || (move[word] ?? move.target) === what) ?? null;
  }

  // All legal moves of an action or key: moves("steal"), moves("block").
  moves(word) {
    return this.legal.filter((move) => move.action === word || Object.hasOwn(move, word));
  }

  // How likely a seat holds at least one card of a role, 0 to 1, from the cards that you can see.
  //
  // It is 1 - C(U-d, k) / C(U, k): of U unseen cards d are of the role, and k are the seat's. It takes no account of
  // what players claim. It is 0 or 1 where that is certain: of yourself, of a card that a player showed and kept, or you
  // looked at, of a role that it couldn't show where proving is automatic, and of cards that you know to lie in the
  // deck. For the claim not_duke it is how likely the seat has no duke. After a draft, where cards are chosen and half
  // of them are away, it is a guess where it is neither 0 nor 1.
  odds(seat, role) {
    if (role.startsWith("not_")) return 1 - this.odds(seat, role.slice(4));
    const { you } = this.request;
    if (seat === you.seat) return you.cards.includes(role) ? 1 : 0;
    const player = this.players[seat];
    if (player.known.includes(role)) return 1;
    if (player._lacks.has(role)) return 0;
    const sight = [...you.cards, ...(you.drawn ?? []), ...(you.discards ?? []), ...this.#deck];
    let elsewhere = 0; // hidden cards of others who lack the role
    for (const other of this.players) {
      sight.push(...other.revealed);
      if (other.seat === you.seat) continue;
      sight.push(...other.known);
      if (other._lacks.has(role)) elsewhere += other.influence - other.known.length;
    }
    const deck = this.rules.deck ?? {};
    const hidden = (role) => (deck[role] ?? 0) - sight.filter((card) => card === role).length;
    let unseen = Object.values(deck).reduce((sum, copies) => sum + copies, 0) - sight.length;
    const copies = hidden(role);
    const cards = player.influence - player.known.length;
    if (cards <= 0 || copies <= 0 || unseen < cards) return 0;
    if (copies > unseen - elsewhere - cards) return 1; // they have no place but this hand
    if (player._lacks.size) for (const other of player._lacks) unseen -= hidden(other);
    else unseen -= elsewhere;
    let none = 1;
    for (let card = 0; card < cards; card++) none *= Math.max(unseen - copies - card, 0) / (unseen - card);
    return 1 - none;
  }

  // An event in words, players by their handles: "B steals from C"; empty for what has no words.
  tell(event) {
    const name = names(event).find((each) => Object.hasOwn(WORDS, each));
    if (name === undefined) return "";
    return WORDS[name].replace(/\{(\w+)\}/g, (whole, field) => {
      const value = event[field];
      if (["seat", "target", "claimant"].includes(field)) return this.players[value].handle;
      if (field === "text") return String(value).replace(/[“”]/g, "'"); // it can't end its own quotation
      if (field === "delta") return value < 0 ? `${value}` : `+${value}`;
      return Array.isArray(value) ? value.join(AND) || "nothing" : String(value);
    });
  }

  // Says something beside your next answer; all hear it, and nobody is bound. Without talk it isn't sent.
  //
  // say("hold", "duke"), say("lack", "duke"), say("attack", 2), say("spare", 2), say("doubt", "duke", 2), and where the
  // rules allow it, say("text", "Peace?"). At most 4, one of them a text. Others' words are events, "say".
  say(says, what, target = null) {
    if ((this.rules.talk ?? "off") === "off") return;
    const seat = typeof what === "number" ? what : target;
    const part = typeof what === "number" ? {} : { [says === "text" ? "text" : "role"]: what };
    this.#words.push({ says, ...part, ...(seat === null ? {} : { target: seat }) });
  }

  // --- following the game --------------------------------------------------------------------------------------------

  // For the kit: what is said beside this answer.
  _said() {
    return this.#words.length ? { say: this.#words.splice(0) } : {};
  }

  // For the kit: a game begins.
  _begin(start, handles) {
    this.request = start;
    this.#hand = [...start.you.cards];
    this.#drawn = [];
    this.#deck = [];
    this.gameSeed = start.game_seed ?? "";
    if (this.gameSeed) this.#random = null;
    this.winner = null;
    this.survivors = [];
    this.players = handles.map((handle, seat) => {
      if (!this.#histories.has(handle)) this.#histories.set(handle, new History());
      return new Player(this, seat, handle, this.#histories.get(handle));
    });
  }

  // For the kit: what counts read where nothing was counted.
  _zeros() {
    if (!this.#zeros) {
      const zero = { value: 0, writable: true }; // not enumerable
      const roles = [...ROLES, ...Object.keys(this.rules.deck ?? {})];
      this.#zeros = Object.defineProperties({}, Object.fromEntries(roles.map((role) => [role, zero])));
    }
    return this.#zeros;
  }

  // For the kit: a request's events are taken in.
  _asked({ cards, drawn }) {
    this.#hand = [...cards];
    this.#drawn = drawn ?? [];
    if (drawn) take(this.#deck, drawn);
  }

  // For the kit: makes the table that the last events of a game leave.
  _end(message) {
    const { state, you } = this.request;
    const players = state.players.map((player) => ({ ...player, revealed: [...player.revealed] }));
    for (const event of message.events ?? []) {
      const player = players[event.seat];
      if (event.event === "coins") player.coins += event.delta;
      else if (event.event === "drafted") player.influence = 2;
      else if (event.event === "converted") players[event.target].allegiance = event.allegiance;
      else if (event.event === "allegiances") event.sides.forEach((side, seat) => (players[seat].allegiance = side));
      else if (event.event === "lost") {
        player.influence--;
        player.revealed.push(event.role);
      } else if (event.event === "forfeit") {
        player.influence = 0;
        player.revealed.push(...event.roles);
      }
    }
    const left = { ...you, cards: players[you.seat].influence ? [...this.#hand].sort() : [] };
    delete left.drawn;
    delete left.seen;
    this.request = { ...message, state: { ...state, players }, you: left };
  }

  #examined(target, event) {
    if (!event.replaced) {
      if (event.role !== undefined) know(target, event.role);
    } else if (event.role === undefined) {
      renewed(target);
      this.#thin(1);
    } else {
      forget(target, event.role); // you know which card went
      target._lacks.clear();
      this.#swap(target, [event.role], event, this.rules.examine_replace === "draw_first");
    }
  }

  // Cards go to the deck, and as many come from it.
  #swap(player, back, event, drawFirst = false) {
    if (!drawFirst) this.#deck.push(...back);
    if (player.seat === this.seat && event.cards) {
      const came = [...event.cards];
      take(this.#hand, back);
      take(came, this.#hand);
      take(this.#deck, came);
      this.#hand = [...event.cards];
    } else this.#thin(back.length);
    if (drawFirst) this.#deck.push(...back);
  }

  // Somebody drew cards that you don't see: of each role as many fewer are certain.
  #thin(count) {
    for (const role of new Set(this.#deck)) take(this.#deck, Array(count).fill(role));
  }

  // For the kit: take in one event.
  _follow(event) {
    const player = this.players[event.seat];
    switch (event.event) {
      case "action":
        if (event.claim !== undefined) claimed(player, event.claim);
        break;
      case "block":
        claimed(player, event.role);
        more(player.blocks, event.role);
        player.history.blocks++;
        break;
      case "challenge":
        this.#doubt = event;
        player.history.challenges++;
        this.players[event.claimant].history.challenged++;
        break;
      case "shown":
        more(player.shown, event.role);
        player.history.proven++;
        if (event.replaced === false) know(player, event.role);
        else {
          forget(player, event.role);
          player._lacks.clear();
          this.#swap(player, [event.role], event);
        }
        break;
      case "shown_hand":
        more(player.shown, this.#doubt.role);
        player.history.proven++;
        renewed(player);
        this.#swap(player, event.roles, event);
        break;
      case "unproven":
        more(player.caught, event.role);
        delete player.claims[event.role];
        player.history.caught++;
        this.players[this.#doubt.seat].history.wonChallenges++;
        if (event.role.startsWith("not_")) {
          const sure = this.rules.prove === "automatic" || this.rules.embezzle_concede === false;
          if (sure) know(player, event.role.slice(4));
        } else if (this.rules.prove === "automatic") player._lacks.add(event.role);
        break;
      case "lost":
        forget(player, event.role);
        if (player.seat === this.seat) take(this.#hand, [event.role]);
        break;
      case "drafted":
        if (event.cards) this.#hand = [...event.cards];
        break;
      case "exchanged":
        renewed(player);
        if (event.cards && this.#drawn.length) {
          const back = [...this.#hand, ...this.#drawn];
          take(back, event.cards);
          this.#deck.push(...back);
          this.#hand = [...event.cards];
          this.#drawn = [];
        } else this.#thin(event.count);
        break;
      case "forfeit":
        renewed(player);
        break;
      case "examined":
        this.#examined(this.players[event.target], event);
        break;
    }
  }
}

function more(counts, role) {
  counts[role] = (counts[role] ?? 0) + 1;
}

function claimed(player, role) {
  more(player.claims, role);
  player.history.claimed++;
}

function know(player, role) {
  if (!player.known.includes(role)) player.known.push(role);
}

// One card of this role has gone; the player's other card is the same as before.
function forget(player, role) {
  delete player.claims[role];
  player.known = player.known.filter((card) => card !== role);
}

// All its cards may be others now.
function renewed(player) {
  for (const role of Object.keys(player.claims)) delete player.claims[role];
  player.known = [];
  player._lacks.clear();
}

// Takes cards from a list, where they are in it.
function take(cards, gone) {
  for (const role of gone) {
    const place = cards.indexOf(role);
    if (place >= 0) cards.splice(place, 1);
  }
}

// Returns a generator of random numbers, 0 to 1 (mulberry32), seeded by a string.
function generator(seed) {
  let state = 0x9e3779b9;
  for (const letter of seed) state = Math.imul(state ^ letter.charCodeAt(0), 0x01000193) >>> 0;
  return () => {
    state = (state + 0x6d2b79f5) >>> 0;
    let mixed = Math.imul(state ^ (state >>> 15), state | 1);
    mixed ^= mixed + Math.imul(mixed ^ (mixed >>> 7), mixed | 61);
    return ((mixed ^ (mixed >>> 14)) >>> 0) / 2 ** 32;
  };
}

// The words of events, as in the arena's own table (protocol/words.json).
const WORDS = {
  "action.income": "{seat} takes income",
  "action.foreign_aid": "{seat} takes foreign aid",
  "action.tax": "{seat} takes tax",
  "action.steal": "{seat} steals from {target}",
  "action.assassinate": "{seat} sends an assassin to {target}",
  "action.coup": "{seat} launches a coup against {target}",
  "action.exchange": "{seat} exchanges",
  "action.examine": "{seat} examines {target}",
  "action.convert": "{seat} changes sides",
  "action.convert.target": "{seat} converts {target}",
  "action.embezzle": "{seat} embezzles the reserve",
  action: "{seat} plays {action}",
  coins: "{seat} {delta}",
  challenge: "{seat} challenges",
  shown: "{seat} shows the {role}",
  "shown.kept": "{seat} shows the {role} and keeps it",
  shown_hand: "{seat} shows {roles}",
  unproven: "{seat} doesn't show the {role}",
  "unproven.held": "{seat} has the {role} and doesn't show it",
  "unproven.lacking": "{seat} can't show the {role}",
  "unproven.not_duke": "{seat} concedes",
  "unproven.not_duke.held": "{seat} concedes, though without a duke",
  "unproven.not_duke.lacking": "{seat} has a duke and concedes",
  lost: "{seat} loses the {role}",
  exiled: "{seat} is out",
  block: "{seat} blocks as {role}",
  exchanged: "{seat} returns {count}",
  "exchanged.cards": "{seat} keeps {cards}",
  forfeit: "{seat} forfeits with {roles}",
  drafted: "{seat} has drafted",
  "drafted.cards": "{seat} has drafted {cards}",
  allegiances: "the sides are {sides}",
  converted: "{target} is a {allegiance} now",
  examined: "{seat} hands {target}'s card back",
  "examined.role": "{seat} hands {target}'s {role} back",
  "examined.replaced": "{seat} has {target}'s card replaced",
  "examined.replaced.role": "{seat} has {target}'s {role} replaced",
  "resolved.done": "",
  "resolved.blocked": "",
  "resolved.failed": "",
  "resolved.target_gone": "it has no effect",
  "resolved.actor_gone": "it has no effect",
  resolved: "",
  "say.hold": "{seat} says: I hold the {role}",
  "say.lack": "{seat} says: I have no {role}",
  "say.attack": "{seat} says: I will attack {target}",
  "say.spare": "{seat} says: I won't attack {target}",
  "say.doubt": "{seat} says: {target} has no {role}",
  "say.text": "{seat} says: “{text}”",
  say: "",
};
const AND = " and ";

// The names under which an event's words may stand, the most particular first.
function names(event) {
  const word = event.event;
  if (word === "action") {
    const name = `action.${event.action}`;
    return [...("target" in event ? [`${name}.target`] : []), name, word];
  }
  if (word === "resolved") return [`resolved.${event.how}`, word];
  if (word === "say") return [`say.${event.says}`, word];
  if (word === "shown" && event.replaced === false) return ["shown.kept", word];
  if (word === "examined") {
    const base = event.replaced ? "examined.replaced" : "examined";
    return [...("role" in event ? [`${base}.role`] : []), base, word];
  }
  return [...("cards" in event ? [`${word}.cards`] : []), ...("role" in event ? [`${word}.${event.role}`] : []), word];
}

// A bot: write a class of your own that extends this one, with the methods that you need.
class Bot {
  name = ""; // in the match's log; without one it is the class's name
  version = "";
  careful = false; // true: where a method of yours fails, the bot says so, plays legal[0] and goes on

  #game = null;

  /* eslint no-unused-vars: ["error", { "args": "none" }] -- the methods below show what they are given */
  // --- requests: return an element of game.legal, or its index -------------------------------------------------------

  turn(game) {} // the action of your turn; by default income
  challenge(game) {} // challenge game.claim, or pass, as by default
  block(game) {} // block game.pending by claiming a role, or pass, as by default
  prove(game) {} // show the card that you claimed, as by default, or decline
  lose(game) {} // the card to lose
  exchange(game) {} // what to keep of game.cards and game.drawn; by default your cards
  keepShown(game) {} // keep the card that you have shown, or have it replaced, as by default
  examineShow(game) {} // the card that the inquisitor sees
  examineDecide(game) {} // hand back the card game.seen, as by default, or have it replaced
  draft(game) {} // the card to begin with
  allegiance(game) {} // your side
  other(game) {} // a kind of request that this kit doesn't know; game.legal[0] is a quiet move there too

  // --- what happens: nothing is returned -----------------------------------------------------------------------------

  matchStart(game) {} // game.rules, game.limits and game.match are known, the players aren't yet
  gameStart(game) {}
  event(game, event) {} // each event once, in order, after game has taken it in, before the next request's method
  gameOver(game) {} // game.winner is known
  fault(game, error) {} // the referee counted a fault; error.message says what to repair
  matchOver(game) {} // half a second is left

  // --- one message ---------------------------------------------------------------------------------------------------

  // Takes in one message of the referee; returns the answer, or null if it wants none. No input or output.
  reply(message) {
    if (message.type === "hello") {
      this.#game = new Game(message);
      this.#notify("matchStart", message);
      const hello = { type: "hello", name: (this.name || this.constructor.name).slice(0, 64) };
      if (this.version) hello.version = this.version.slice(0, 64);
      return hello;
    }
    const game = (this.#game ??= new Game({}));
    switch (message.type) {
      case "request":
        if (game.players.length !== message.state.players.length) {
          game._begin(message, message.state.players.map((_, seat) => String(seat))); // no game_start came
        }
        game.request = message;
        this.#follow(message);
        game._asked(message.you);
        if (game.seen !== null) know(game.players[game.pending.target], game.seen);
        return { id: message.id, choice: this.#choice(message), ...game._said() };
      case "game_start":
        game._begin(message, message.players);
        this.#notify("gameStart", message);
        break;
      case "game_over":
        this.#follow(message);
        game._end(message);
        game.winner = message.winner;
        game.survivors = message.survivors;
        this.#notify("gameOver", message);
        break;
      case "error":
        this.#notify("fault", message, message);
        break;
      case "match_over":
        this.#notify("matchOver", message);
        break;
    }
    return null;
  }

  #choice(message) {
    const method = Object.hasOwn(METHODS, message.kind) ? METHODS[message.kind] : "other";
    try {
      return index(method, this[method](this.#game), message.legal);
    } catch (error) {
      this.#failed(method, message, error);
      return 0;
    }
  }

  #follow(message) {
    const wanted = this.event !== Bot.prototype.event;
    for (const event of message.events ?? []) {
      this.#game._follow(event);
      if (wanted) this.#notify("event", message, event);
    }
  }

  #notify(method, message, ...about) {
    try {
      this[method](this.#game, ...about);
    } catch (error) {
      this.#failed(method, message, error);
    }
  }

  // Says where a method failed; then plays on if the bot is careful, else lets the failure end it.
  #failed(method, message, error) {
    let where = message.type;
    if (where === "request") {
      where = `request ${message.id}: ${message.kind}, game ${message.game}, turn ${message.state.turn}`;
      where += `, legal ${JSON.stringify(message.legal)}`;
    }
    process.stderr.write(`coup_kit: ${this.constructor.name}.${method} failed at ${where}\n`);
    if (!this.careful) throw error;
    process.stderr.write(`${error?.stack ?? error}\n`);
  }
}

// Returns where a move is in the legal ones; throws where it isn't.
function index(method, move, legal) {
  if (move === null || move === undefined) return 0;
  if (Number.isInteger(move) && move >= 0 && move < legal.length) return move;
  const word = (each) => JSON.stringify(Object.entries(each).map(([key, value]) => [key, [value].flat().sort()]).sort());
  let found = legal.indexOf(move);
  if (found < 0 && typeof move === "object") found = legal.findIndex((each) => word(each) === word(move));
  if (found < 0) {
    const shown = move instanceof Promise ? "a Promise (it can't be async)" : JSON.stringify(move);
    throw new Error(`${method}() returned ${shown}, which is neither in game.legal nor an index of it`);
  }
  return found;
}

// Yields the lines of standard input, as they come.
function* lines() {
  const chunk = Buffer.allocUnsafe(1 << 16);
  let pieces = []; // of a line that hasn't ended; joined once, since a line may be long
  for (;;) {
    let size;
    try {
      size = fs.readSync(0, chunk, 0, chunk.length, null);
    } catch (error) {
      if (error.code === "EOF") return; // Windows
      if (error.code !== "EAGAIN") throw error;
      Atomics.wait(new Int32Array(new SharedArrayBuffer(4)), 0, 0, 1); // whoever shares the pipe made it non-blocking
      continue;
    }
    if (size === 0) break;
    let rest = chunk.subarray(0, size);
    for (let end = rest.indexOf(10); end >= 0; end = rest.indexOf(10)) {
      const line = Buffer.concat([...pieces, rest.subarray(0, end)]).toString();
      pieces = [];
      rest = rest.subarray(end + 1);
      yield line;
    }
    if (rest.length) pieces.push(Buffer.from(rest));
  }
  if (pieces.length) yield Buffer.concat(pieces).toString();
}

// Names the methods that look like a request's, with `game` first, and that neither the kit nor the bot calls.
function reportUncalled(bot) {
  const known = Object.getOwnPropertyNames(Bot.prototype).filter((name) => !["constructor", "reply"].includes(name));
  for (let type = bot.constructor; type !== Bot && type?.prototype instanceof Bot; type = Object.getPrototypeOf(type)) {
    for (const [name, { value }] of Object.entries(Object.getOwnPropertyDescriptors(type.prototype))) {
      if (typeof value !== "function" || name in Bot.prototype || name.startsWith("_")) continue;
      const takesGame = /^[^(]*\(\s*game\b/.test(Function.prototype.toString.call(value));
      const source = [bot.constructor, type].join("\n");
      const calls = new RegExp(`[.\\]"'\`]\\s*${name.replaceAll("$", "\\$")}\\b`);
      if (!takesGame || calls.test(source)) continue;
      process.stderr.write(`coup_kit: the kit never calls ${bot.constructor.name}.${name}; it calls ${known.join(", ")}\n`);
    }
  }
}

// Plays: reads the referee's lines from standard input and answers them, until the match is over. Whatever the program
// prints with `console` from now on goes to standard error.
function run(bot) {
  globalThis.console = new console.Console(process.stderr);
  reportUncalled(bot);
  for (const line of lines()) {
    const message = JSON.parse(line);
    const answer = bot.reply(message);
    if (answer === null) {
      if (message.type === "match_over") return;
      continue;
    }
    try {
      fs.writeSync(1, JSON.stringify(answer) + "\n");
    } catch (error) {
      if (error.code === "EPIPE") return; // the arena has gone
      throw error;
    }
  }
}

module.exports = { Bot, Game, History, Player, run };
