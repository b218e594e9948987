// A kit for Coup Arena bots: it handles the messages of the protocol, and calls a method of your bot for each move.
//
// Copy this file next to your bot. It requires only Node.js 18 or newer. This is kit version 9.
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
// Write a method for each kind of request that you want to answer. It gets the Game and returns an element of
// game.legal or its index. For other requests, and for null and undefined, the kit plays game.legal[0], a safe move
// (income, pass, show the card ...). console.log writes to standard error, where it can't disturb the protocol.
"use strict";

const fs = require("node:fs");

const OF_VARIANTS = { keep_shown: "keepShown", examine_show: "examineShow", examine_decide: "examineDecide" };
const KINDS = ["turn", "challenge", "block", "prove", "lose", "exchange", "draft", "allegiance"];
// Actions and keys of the moves in all rules.
const MOVES = " action target income foreign_aid coup tax assassinate steal exchange examine convert embezzle " +
  "pass challenge block show decline lose keep keep_shown pick side reveal examined ";

// Counts by role: Object.keys returns the counted roles; a role that was never counted reads as 0.
function counts() {
  return new Proxy({}, { get: (own, role) => own[role] ?? (typeof role === "string" ? 0 : undefined) });
}

// Counts of one player, identified by its handle, over all games of the match so far.
class History {
  claimed = 0; // claims of a role, by actions and by blocks
  challenged = 0; // its claims that were challenged
  proven = 0; // challenged claims that it proved
  caught = 0; // challenged claims that it didn't prove
  challenges = 0; // challenges that it made
  wonChallenges = 0; // challenges that it made and won
  blocks = 0;

  // caught divided by challenged; null before the first challenge.
  get bluffRate() { return this.challenged ? this.caught / this.challenged : null; }
}

// A player at the table. Its public state is that of the latest request; its counts are those of this game.
class Player {
  #game;

  constructor(game, seat, handle, history) {
    this.#game = game;
    this.seat = seat;
    this.handle = handle; // the same in all games of the match, unlike the seat
    this.history = history; // counts of the whole match
    this.claims = counts(); // by role: its claims with cards that it may still hold
    this.caught = counts(); // by role: its challenged claims that it didn't prove
    this.shown = counts(); // by role: its proofs
    this.blocks = counts(); // by role: its blocks
  }

  get coins() { return this.#game.state.players[this.seat].coins; }
  // Number of face-down cards; 0: it is out of the game, or in a draft.
  get influence() { return this.#game.state.players[this.seat].influence; }
  get revealed() { return this.#game.state.players[this.seat].revealed; } // its lost cards, face up
  get alive() { return this.influence > 0 || !this.revealed.length; } // in a draft no player has cards
  // "loyalist" or "reformist"; null without sides, or before they are chosen.
  get allegiance() { return this.#game.state.players[this.seat].allegiance ?? null; }
  // Cards that it certainly holds, from you.known of the request. Two equal roles are two cards.
  get known() { return this.#certain.has ?? []; }
  get lacks() { return this.#certain.lacks ?? []; } // roles that it certainly lacks, but for those of which you see every card
  get #certain() { return this.#game.request.you.known?.players?.find(({ seat }) => seat === this.seat) ?? {}; }
}

// The game as your seat sees it: one object for the whole match.
// Between requests it has the values of the latest request, or of the start of the game. In gameOver, state and cards
// are final and nothing is known.
class Game {
  #histories = new Map();
  #doubt = { seat: 0, role: "" }; // the latest challenge
  #random = null;
  #words = []; // statements for the next answer

  constructor(hello) {
    this.rules = hello.ruleset ?? {}; // hello.ruleset
    this.limits = hello.limits ?? {};
    this.match = hello.match ?? {}; // games, seats, your_handle, handles
    this.botSeed = hello.bot_seed ?? "";
    this.gameSeed = ""; // of this game; empty before the first game, and with an arena that doesn't send it
    this.request = {}; // the request as received; game_start before the first request of a game
    this.players = []; // by seat
    this.winner = null; // in gameOver: the seat that won; null: a draw
    this.survivors = []; // in gameOver: the seats that won or share the draw
  }

  // The kind of request: "turn", "challenge", "block" ...; empty without a request.
  get kind() { return this.request.kind ?? ""; }
  // All legal moves, as received; the first is a safe move.
  get legal() { return this.request.legal ?? []; }
  get number() { return this.request.game ?? 0; } // number of the game in the match, from 0
  get state() { return this.request.state; } // the public state as received
  get seat() { return this.request.you.seat; } // your seat in this game
  get cards() { return this.request.you.cards; } // your face-down cards
  get drawn() { return this.request.you.drawn ?? []; } // in exchange: the cards that you drew; else empty
  // In examineDecide: the opponent's card that you see; else null.
  get seen() { return this.request.you.seen ?? null; }
  get turn() { return this.state.turn; } // number of the turn, from 1, counting all players' turns
  get actor() { return this.state.actor; } // the seat whose turn it is
  get me() { return this.players[this.seat]; } // your own player, as the others see it
  // The other living players, clockwise from you.
  get opponents() {
    const { seat, players } = this;
    return [...players.slice(seat + 1), ...players.slice(0, seat)].filter((player) => player.alive);
  }

  // The undecided action: actor, action, and target if any; empty at your turn.
  get pending() { return this.request.pending ?? {}; }
  // The undecided claim: seat, role, and block (true: the claim of a block); else empty.
  get claim() { return this.request.claim ?? {}; }
  // In block: whether the actor proved the action's claim this turn.
  get proven() { return this.request.proven ?? false; }
  get challenger() { return this.request.challenger ?? null; } // in prove: the seat that challenges you; else null
  // In lose: why you lose a card: "coup", "assassinate" or "challenge"; else null.
  get reason() { return this.request.reason ?? null; }

  // Returns a random number, 0 to 1. Each game seeds the generator with gameSeed; before the first game its seed is
  // botSeed. So a game can be repeated: its random numbers don't depend on earlier games.
  random() {
    this.#random ??= generator(this.gameSeed || this.botSeed);
    return this.#random();
  }

  // Returns the first legal move with this action or key, or null: find("income"), find("steal", 2) (at seat 2),
  // find("challenge"), find("pass"), find("block", "duke"), find("lose", "captain"), find("keep_shown", true).
  find(word, what = null) {
    return this.moves(word).find((move) => what === null || (move[word] ?? move.target) === what) ?? null;
  }

  // Returns all legal moves with this action or key: moves("steal"), moves("block"). Throws for a word of no rules.
  moves(word) {
    const found = this.legal.filter((move) => move.action === word || Object.hasOwn(move, word));
    if (!found.length && !MOVES.includes(` ${word} `)) throw new Error(`no rules have a move "${word}", only${MOVES}`);
    return found;
  }

  // Returns the probability, 0 to 1, that a seat holds at least one card of a role, from the cards that you see.
  //
  // It is 1 - C(U-d, k) / C(U, k): of U unseen cards d have the role, and k are the seat's. Claims don't count, but
  // you.known of the request does: the result is 0 or 1 where that is certain. For not_duke it is the probability that
  // the seat has no duke. After a draft, values other than 0 and 1 are guesses.
  odds(seat, role) {
    if (role.startsWith("not_")) return 1 - this.odds(seat, role.slice(4));
    const { you, state } = this.request;
    if (seat === you.seat) return you.cards.includes(role) ? 1 : 0;
    const known = you.known?.players ?? [];
    const { has = [], lacks = [] } = known.find((each) => each.seat === seat) ?? {};
    if (has.includes(role)) return 1;
    const sight = [...you.cards, ...(you.drawn ?? []), ...(you.discards ?? []), ...(you.known?.deck ?? [])];
    sight.push(...state.players.flatMap(({ revealed }) => revealed), ...known.flatMap((each) => each.has ?? []));
    const deck = this.rules.deck ?? {};
    const hidden = (role) => (deck[role] ?? 0) - sight.filter((card) => card === role).length;
    let unseen = Object.values(deck).reduce((sum, copies) => sum + copies, -sight.length);
    const copies = hidden(role);
    const cards = state.players[seat].influence - has.length;
    let elsewhere = 0; // hidden cards of other players that lack the role
    for (const other of known) {
      if (other.lacks?.includes(role)) elsewhere += state.players[other.seat].influence - (other.has ?? []).length;
    }
    if (cards <= 0 || copies <= 0 || unseen < cards || lacks.includes(role)) return 0;
    if (copies > unseen - elsewhere - cards) return 1; // only this hand has room for them
    unseen -= lacks.length ? lacks.reduce((sum, other) => sum + hidden(other), 0) : elsewhere;
    let none = 1; // C(unseen - copies, cards) / C(unseen, cards), a card at a time
    for (let card = 0; card < cards; card++) none *= Math.max(unseen - copies - card, 0) / (unseen - card);
    return 1 - none;
  }

  // Returns an event as text, with the players' handles: "B steals from C"; empty if it has no text.
  tell(event) {
    const { event: word, replaced, how, says, action, role } = event;
    const kept = word === "shown" && replaced === false;
    const names = [word, how ?? says ?? action, kept ? "kept" : replaced && "replaced"];
    names.push(role && (word === "unproven" ? role : "role"), ...["target", "cards"].filter((key) => key in event));
    const parts = names.filter(Boolean);
    while (parts.length && !Object.hasOwn(WORDS, parts.join("."))) parts.pop();
    return (WORDS[parts.join(".")] ?? "").replace(/\{(\w+)\}/g, (whole, field) => {
      const value = event[field];
      if (["seat", "target", "claimant"].includes(field)) return this.players[value].handle;
      if (field === "text") return String(value).replace(/[“”]/g, "'"); // so that it can't close the quotation
      if (field === "delta") return value < 0 ? `${value}` : `+${value}`;
      return Array.isArray(value) ? value.join(" and ") || "nothing" : String(value);
    });
  }

  // Adds a statement to your next answer. All players see it; it binds no player. Without talk nothing is sent.
  //
  // say("hold", "duke"), say("lack", "duke"), say("attack", 2), say("spare", 2), say("doubt", "duke", 2), and if the
  // rules allow it, say("text", "Peace?"). At most 4, one of them a text. Statements of others are "say" events.
  say(says, what, target = null) {
    if ((this.rules.talk ?? "off") === "off") return;
    const seat = typeof what === "number" ? what : target;
    const part = typeof what === "number" ? {} : { [says === "text" ? "text" : "role"]: what };
    this.#words.push({ says, ...part, ...(seat === null ? {} : { target: seat }) });
  }

  // For the kit: returns and clears the statements for this answer.
  _said() {
    return this.#words.length ? { say: this.#words.splice(0) } : {};
  }

  // For the kit: starts a game.
  _begin(start, handles) {
    this.request = start;
    this.gameSeed = start.game_seed ?? "";
    if (this.gameSeed) this.#random = null;
    this.winner = null;
    this.survivors = [];
    this.players = handles.map((handle, seat) => {
      if (!this.#histories.has(handle)) this.#histories.set(handle, new History());
      return new Player(this, seat, handle, this.#histories.get(handle));
    });
  }

  // For the kit: stores the final state, and your cards from the latest event that contains them.
  _end(message) {
    const { you, state } = this.request;
    const left = { ...you, cards: [...you.cards] };
    for (const event of message.events ?? []) {
      if (event.cards) left.cards = [...event.cards];
      else if (event.event === "lost" && event.seat === you.seat) {
        left.cards = left.cards.filter((card, place, cards) => place !== cards.indexOf(event.role));
      }
    }
    for (const name of ["drawn", "seen", "known"]) delete left[name];
    this.request = { ...message, state: message.state ?? state, you: left };
    if (!this.state.players[you.seat]?.influence) left.cards = [];
    this.winner = message.winner;
    this.survivors = message.survivors;
  }

  // For the kit: updates the counts; forgets claims of a role when its card is gone, and all when any card may have
  // changed.
  _follow({ event: word, seat, role, claim, claimant, target, replaced }) {
    const player = this.players[seat];
    if (!player) return;
    const { history } = player;
    const claimed = word === "action" ? claim : word === "block" ? role : undefined;
    if (claimed !== undefined) {
      player.claims[claimed]++;
      history.claimed++;
    }
    if (word === "block") {
      player.blocks[role]++;
      history.blocks++;
    } else if (word === "challenge") {
      this.#doubt = { seat, role };
      history.challenges++;
      this.players[claimant].history.challenged++;
    } else if (word === "shown" || word === "shown_hand") {
      player.shown[role ?? this.#doubt.role]++;
      history.proven++;
    } else if (word === "unproven") {
      player.caught[role]++;
      history.caught++;
      this.players[this.#doubt.seat].history.wonChallenges++;
    }
    if (word === "examined" && replaced) forget(this.players[target].claims, role); // you may know the card
    else if (["shown_hand", "exchanged", "forfeit"].includes(word)) forget(player.claims);
    else if (["shown", "lost", "unproven"].includes(word) && replaced !== false) forget(player.claims, role);
  }
}

// Forgets the claims of a role; without a role, all claims.
function forget(claims, role) {
  for (const each of role === undefined ? Object.keys(claims) : [role]) delete claims[each];
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

// The texts of events, as in protocol/event_texts.json.
const TABLE = `action.income={seat} takes income|action.foreign_aid={seat} takes foreign aid|action.tax={seat} takes tax
action.steal={seat} steals from {target}|action.assassinate={seat} sends an assassin to {target}
action.coup={seat} launches a coup against {target}|action.exchange={seat} exchanges
action.examine={seat} examines {target}|action.convert={seat} changes sides
action.convert.target={seat} converts {target}|action.embezzle={seat} embezzles the reserve|action={seat} plays {action}
coins={seat} {delta}|challenge={seat} challenges|shown={seat} shows the {role}
shown.kept={seat} shows the {role} and keeps it|shown_hand={seat} shows {roles}|unproven={seat} doesn't show the {role}
unproven.not_duke={seat} concedes|lost={seat} loses the {role}|exiled={seat} is out|block={seat} blocks as {role}
exchanged={seat} returns {count}|exchanged.cards={seat} keeps {cards}|forfeit={seat} forfeits with {roles}
drafted={seat} has drafted|drafted.cards={seat} has drafted {cards}|allegiances=the sides are {sides}
converted={target} is a {allegiance} now|examined={seat} hands {target}'s card back
examined.role={seat} hands {target}'s {role} back|examined.replaced={seat} has {target}'s card replaced
examined.replaced.role={seat} has {target}'s {role} replaced|resolved.target_gone=the action ends, its target is out
resolved.actor_gone=the action ends, its player is out|say.hold={seat} says: I hold the {role}
say.lack={seat} says: I have no {role}|say.attack={seat} says: I will attack {target}
say.spare={seat} says: I won't attack {target}|say.doubt={seat} says: {target} has no {role}
say.text={seat} says: “{text}”`;
const WORDS = Object.fromEntries(TABLE.split(/[|\n]/).map((row) => row.split("=")));

// The base class of bots: extend it, and write the methods that you need.
class Bot {
  name = ""; // for logs, at most 64 characters; by default the class's name
  version = "";
  careful = false; // true: if a method fails, the kit prints the error, plays legal[0] and continues

  #game = null;

  /* eslint no-unused-vars: ["error", { "args": "none" }] -- the methods below show their arguments */
  turn(game) {} // choose the action of your turn; by default income
  challenge(game) {} // challenge game.claim, or pass (the default)
  block(game) {} // block game.pending by claiming a role, or pass (the default)
  prove(game) {} // show the card that you claimed (the default), or decline
  lose(game) {} // choose the card to lose; game.reason is the reason
  exchange(game) {} // choose the cards to keep from game.cards and game.drawn; by default your hand
  keepShown(game) {} // keep the card that you showed, or replace it (the default)
  examineShow(game) {} // choose the card to show to the inquisitor
  examineDecide(game) {} // hand back game.seen (the default), or replace it
  draft(game) {} // choose your first card from a set of five
  allegiance(game) {} // choose your side
  other(game) {} // answer a kind of request that this kit doesn't know; game.legal[0] is a safe move

  matchStart(game) {} // prepare for the match: game.rules, game.limits and game.match are known, the players aren't yet
  gameStart(game) {} // prepare for a game: your seat, your cards and the players are known
  event(game, event) {} // process an event; each comes once, in order, before the next request's method
  gameOver(game) {} // learn from a finished game: game.winner and game.survivors are known
  fault(game, error) {} // process a fault that the referee counted: error.message explains what to fix
  matchOver(game) {} // clean up after the match; half a second is left

  // Processes a message of the referee; returns the answer, or null if it needs none. Does no input or output.
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
          game._begin(message, message.state.players.map((_, seat) => String(seat))); // there was no game_start
        }
        game.request = message;
        this.#follow(message);
        return { id: message.id, choice: this.#choice(message), ...game._said() };
      case "game_start":
        game._begin(message, message.players);
        this.#notify("gameStart", message);
        break;
      case "game_over":
        this.#follow(message);
        game._end(message);
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
    const { kind } = message;
    const method = KINDS.includes(kind) ? kind : Object.hasOwn(OF_VARIANTS, kind) ? OF_VARIANTS[kind] : "other";
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

  // Prints where a method failed; then continues if the bot is careful, else throws the error again.
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

// Returns the index of a move in the legal moves; throws if it isn't legal.
function index(method, move, legal) {
  if (move === null || move === undefined) return 0;
  if (Number.isInteger(move) && move >= 0 && move < legal.length) return move;
  const word = (each) => JSON.stringify(Object.entries(each).map(([key, value]) => [key, [value].flat().sort()]).sort());
  let found = legal.indexOf(move);
  if (found < 0 && typeof move === "object") found = legal.findIndex((each) => word(each) === word(move));
  if (found < 0) {
    const shown = move instanceof Promise ? "a Promise (the method can't be async)" : JSON.stringify(move);
    throw new Error(`${method}() returned ${shown}, which is neither in game.legal nor an index of it`);
  }
  return found;
}

// Yields the lines of standard input as they arrive.
function* lines() {
  const chunk = Buffer.allocUnsafe(1 << 16);
  let pieces = []; // of an incomplete line; joined once, since a line may be long
  for (;;) {
    let size;
    try {
      size = fs.readSync(0, chunk, 0, chunk.length, null);
    } catch (error) {
      if (error.code === "EOF") return; // Windows
      if (error.code !== "EAGAIN") throw error;
      Atomics.wait(new Int32Array(new SharedArrayBuffer(4)), 0, 0, 1); // another process made the pipe non-blocking
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

// Prints the methods whose first parameter is `game` and that neither the kit nor the bot calls.
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

// Plays: reads the referee's messages from standard input and answers them until the match is over.
// From now on, all output of `console` goes to standard error.
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
      if (error.code === "EPIPE") return; // the arena has ended
      throw error;
    }
  }
}

module.exports = { Bot, Game, History, Player, run };
