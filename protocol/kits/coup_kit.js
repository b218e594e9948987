// A kit for bots of the Coup arena: it reads and writes the lines, and asks you for moves.
//
// Copy this one file beside your bot; it needs Node.js 18 or newer and nothing else. This is kit version 7.
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

const OF_VARIANTS = { keep_shown: "keepShown", examine_show: "examineShow", examine_decide: "examineDecide" };
const KINDS = ["turn", "challenge", "block", "prove", "lose", "exchange", "draft", "allegiance"];

// How often, by role: Object.keys has what was counted, and what wasn't reads as 0.
function counts() {
  return new Proxy({}, { get: (own, role) => own[role] ?? (typeof role === "string" ? 0 : undefined) });
}

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
  get bluffRate() { return this.challenged ? this.caught / this.challenged : null; }
}

// A player at the table. What it has is that of the latest request; what it did is of this game.
class Player {
  #game;

  constructor(game, seat, handle, history) {
    this.#game = game;
    this.seat = seat;
    this.handle = handle; // stays the same in all games of the match; seats don't
    this.history = history; // of the whole match
    this.claims = counts(); // role -> how often it claimed it with cards that it may still hold
    this.caught = counts(); // role -> how often it couldn't, or wouldn't, prove it
    this.shown = counts(); // role -> how often it proved it
    this.blocks = counts(); // role -> how often it blocked with it
  }

  get coins() { return this.#game.state.players[this.seat].coins; }
  // How many cards it has face down; 0: it is out of the game.
  get influence() { return this.#game.state.players[this.seat].influence; }
  get revealed() { return this.#game.state.players[this.seat].revealed; } // its lost cards, face up
  get alive() { return this.influence > 0; }
  // "loyalist" or "reformist"; null where there are no sides, or not yet.
  get allegiance() { return this.#game.state.players[this.seat].allegiance ?? null; }
  // Roles of cards that it certainly holds, as you.known of the request says; two of a role: twice.
  get known() { return this.#certain.has ?? []; }
  get lacks() { return this.#certain.lacks ?? []; } // roles that it certainly doesn't hold, as you.known says
  get #certain() { return this.#game.request.you.known?.players?.find(({ seat }) => seat === this.seat) ?? {}; }
}

// The game as your seat sees it. One object for the whole match; all but the raw messages is worked out when asked.
// Between requests it stays as the latest request, or the start of the game, said. In gameOver the state and your cards
// are those of the end, and nothing is known any more.
class Game {
  #histories = new Map();
  #doubt = { seat: 0, role: "" }; // the latest challenge
  #random = null;
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

  // What is asked: "turn", "challenge", "block" ...; empty before the first request of a game.
  get kind() { return this.request.kind ?? ""; }
  // Every move that you may choose, as on the wire; the first is a quiet one.
  get legal() { return this.request.legal ?? []; }
  get number() { return this.request.game ?? 0; } // the number of the game in the match, from 0
  get state() { return this.request.state; } // the public state as on the wire
  get seat() { return this.request.you.seat; } // your seat in this game
  get cards() { return this.request.you.cards; } // your cards
  get drawn() { return this.request.you.drawn ?? []; } // the cards that you drew, in exchange; else none
  // The card of another that you look at, in examineDecide; else null.
  get seen() { return this.request.you.seen ?? null; }
  get turn() { return this.state.turn; } // the number of the turn, from 1, over all players together
  get actor() { return this.state.actor; } // the seat whose turn it is
  get me() { return this.players[this.seat]; } // you, as the others see you
  // The others who are still in the game, clockwise from you.
  get opponents() {
    const { seat, players } = this;
    return [...players.slice(seat + 1), ...players.slice(0, seat)].filter((player) => player.alive);
  }

  // The action that is being decided: actor, action and perhaps target; empty at your turn.
  get pending() { return this.request.pending ?? {}; }
  // The claim to challenge or to prove: seat, role, and block, whether a block claims it; else empty.
  get claim() { return this.request.claim ?? {}; }
  // In block: whether the action's claim was challenged and proven this turn.
  get proven() { return this.request.proven ?? false; }
  get challenger() { return this.request.challenger ?? null; } // in prove: the seat that challenges you; else null
  // In lose: what you lose the influence to, "coup", "assassinate" or "challenge"; else null.
  get reason() { return this.request.reason ?? null; }

  // A random number, 0 to 1, by a generator that each game's gameSeed seeds anew, before the first game botSeed.
  // So a game can be repeated: its dice don't depend on how many were rolled before it.
  random() {
    this.#random ??= generator(this.gameSeed || this.botSeed);
    return this.#random();
  }

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
  // what players claim, but of what you.known of the request says: it is 0 or 1 where that is certain. For the claim
  // not_duke it is how likely the seat has no duke. After a draft, where cards are chosen and half of them are away, it
  // is a guess where it is neither 0 nor 1.
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
    let elsewhere = 0; // hidden cards of others who lack the role
    for (const other of known) {
      if (other.lacks?.includes(role)) elsewhere += state.players[other.seat].influence - (other.has ?? []).length;
    }
    if (cards <= 0 || copies <= 0 || unseen < cards || lacks.includes(role)) return 0;
    if (copies > unseen - elsewhere - cards) return 1; // they have no place but this hand
    unseen -= lacks.length ? lacks.reduce((sum, other) => sum + hidden(other), 0) : elsewhere;
    let none = 1; // C(unseen - copies, cards) / C(unseen, cards), a card at a time
    for (let card = 0; card < cards; card++) none *= Math.max(unseen - copies - card, 0) / (unseen - card);
    return 1 - none;
  }

  // An event in words, players by their handles: "B steals from C"; empty for what has no words.
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
      if (field === "text") return String(value).replace(/[“”]/g, "'"); // it can't end its own quotation
      if (field === "delta") return value < 0 ? `${value}` : `+${value}`;
      return Array.isArray(value) ? value.join(" and ") || "nothing" : String(value);
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

  // For the kit: what is said beside this answer.
  _said() {
    return this.#words.length ? { say: this.#words.splice(0) } : {};
  }

  // For the kit: a game begins.
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

  // For the kit: takes in the table that a game leaves, and your cards: those of the latest event that says them.
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

  // For the kit: counts what a player did; forgets claims of a role when a card of it has gone, and all where the cards
  // may be others.
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
    if (word === "examined" && replaced) forget(this.players[target].claims, role); // you may know which card went
    else if (["shown_hand", "exchanged", "forfeit"].includes(word)) forget(player.claims);
    else if (["shown", "lost", "unproven"].includes(word) && replaced !== false) forget(player.claims, role);
  }
}

// Forgets the claims of a role, or all.
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

// The words of events, as in the arena's own table (protocol/words.json).
const TABLE = `action.income={seat} takes income|action.foreign_aid={seat} takes foreign aid|action.tax={seat} takes tax
action.steal={seat} steals from {target}|action.assassinate={seat} sends an assassin to {target}
action.coup={seat} launches a coup against {target}|action.exchange={seat} exchanges
action.examine={seat} examines {target}|action.convert={seat} changes sides
action.convert.target={seat} converts {target}|action.embezzle={seat} embezzles the reserve
action={seat} plays {action}|coins={seat} {delta}|challenge={seat} challenges|shown={seat} shows the {role}
shown.kept={seat} shows the {role} and keeps it|shown_hand={seat} shows {roles}
unproven={seat} doesn't show the {role}|unproven.not_duke={seat} concedes|lost={seat} loses the {role}
exiled={seat} is out|block={seat} blocks as {role}|exchanged={seat} returns {count}
exchanged.cards={seat} keeps {cards}|forfeit={seat} forfeits with {roles}|drafted={seat} has drafted
drafted.cards={seat} has drafted {cards}|allegiances=the sides are {sides}|converted={target} is a {allegiance} now
examined={seat} hands {target}'s card back|examined.role={seat} hands {target}'s {role} back
examined.replaced={seat} has {target}'s card replaced|examined.replaced.role={seat} has {target}'s {role} replaced
resolved.target_gone=it has no effect|resolved.actor_gone=it has no effect|say.hold={seat} says: I hold the {role}
say.lack={seat} says: I have no {role}|say.attack={seat} says: I will attack {target}
say.spare={seat} says: I won't attack {target}|say.doubt={seat} says: {target} has no {role}
say.text={seat} says: “{text}”`;
const WORDS = Object.fromEntries(TABLE.split(/[|\n]/).map((row) => row.split("=")));

// A bot: write a class of your own that extends this one, with the methods that you need.
class Bot {
  name = ""; // in the match's log; without one it is the class's name
  version = "";
  careful = false; // true: where a method of yours fails, the bot says so, plays legal[0] and goes on

  #game = null;

  /* eslint no-unused-vars: ["error", { "args": "none" }] -- the methods below show what they are given */
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

  matchStart(game) {} // game.rules, game.limits and game.match are known, the players aren't yet
  gameStart(game) {}
  event(game, event) {} // each event once, in order, after game has taken it in, before the next request's method
  gameOver(game) {} // game.winner is known
  fault(game, error) {} // the referee counted a fault; error.message says what to repair
  matchOver(game) {} // half a second is left

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
