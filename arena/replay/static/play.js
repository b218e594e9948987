// The page of a table for a player or a spectator. Each frame of the server contains the whole state.

import { Alerts } from "./alerts.js";
import { avatar, card, moveSign, price, title } from "./cards.js";
import { Chat } from "./chat.js";
import { h, plain, read, refill, say, shade } from "./dom.js";
import { openLine } from "./line.js";
import { legend } from "./log.js";
import { Lobby } from "./lobby.js";
import { remember, remembered } from "./memory.js";
import { Motion } from "./motion.js";
import { rulesView } from "./rules.js";
import { meters } from "./table.js";

const KEYS = [
  [["1", "2", "…"], "choose the move with this number or letter; of two meanings of a key, the move comes first"],
  [["Enter"], "pass, if you can"],
  [["Space"], "skip what is being shown"],
  [["Esc"], "back to the moves, while you choose a target"],
  [["u"], "pass until your turn, unless a move involves you"],
  [["h"], "hint: how likely the other players hold each role"],
  [["r"], "rules of this game"],
  [["m"], "turn the sound on or off"],
  [["d"], "switch between dark and light"],
  [["say"], "say something with a move, if the rules allow talk: hold duke, lack duke, attack B, spare B, doubt B duke, or your own words"],
  [["/"], "write to the table, if it has a chat"],
  [["?"], "show this help"],
];

// Tips for a player's first requests, by the kind of request.
const TIPS = {
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
  "Rules lists all cards and actions. Hint shows how likely the other players hold each role.",
];

const INVOLVED = "A move involves you if it is your action, or aims at you. Others are passed whatever you hold: a stop would show your cards.";

const TIMES = 3; // how often a tip is shown

const PACES = ["slow", "normal", "fast", "instant"];

const CALM_MS = 400; // after a new question, in which a click or a key was meant for the previous one
const AGAIN_MS = [500, 1000, 2000, 4000, 8000];
const CLOSED = 1000;
const TAKEN = 4001;
const WITHDRAWN = 4003;
const UNKNOWN = 4004;

const given = read("rules");
const RULES = given.actions ? given : given[new URLSearchParams(location.search).get("rules")];

class Play {
  constructor(path) {
    this.path = path;
    this.card = RULES.actions;
    this.frame = null;
    this.option = null; // the option whose target is being chosen
    this.sent = null; // the request that was answered
    this.kept = null; // the answer to a block request that may follow, as {game, turn, block}; block null: pass
    this.passing = false; // whether requests that don't involve the player are passed until their turn
    this.failed = 0;
    this.live = false; // whether the page has shown the events before the next frame
    this.chosenCards = []; // indices of the offered cards that the player keeps
    this.alerts = new Alerts();
    this.motion = new Motion(() => this.show(), () => this.send({ hurry: true }));
    this.build();
    document.addEventListener("keydown", (event) => this.key(event));
    for (const each of [this.moves, this.sure.text]) each.addEventListener("click", (event) => each.classList.contains("early") && event.stopPropagation(), true);
    setInterval(() => this.tick(), 250);
    this.connect();
  }

  // ---- the connection to the server

  connect() {
    this.socket = openLine(this.path);
    this.socket.onopen = () => {
      this.sent = null; // answers given meanwhile were lost
      this.live = false;
      if (remembered("pace")) this.send({ pace: remembered("pace") });
    };
    this.socket.onmessage = (event) => this.take(JSON.parse(event.data));
    this.socket.onclose = (event) => this.closed(event.code, event.reason);
  }

  closed(code, reason) {
    const home = read("home");
    if (code === CLOSED) return this.notice("This table is closed.", home && [`Back to ${home[1]}`, () => location.assign(home[0])]);
    if (code === TAKEN) return this.notice("This seat is open in another tab.", ["Play here", () => this.connect()]);
    if (code === WITHDRAWN || (code === UNKNOWN && home)) return this.notice(`You don't have a seat at this table: ${plain(reason)}.`, home && [`Back to ${home[1]}`, () => location.assign(home[0])]);
    if (code === UNKNOWN) return this.notice("This table is unknown. It may have been closed.");
    const pause = AGAIN_MS[Math.min(this.failed++, AGAIN_MS.length - 1)];
    this.notice("Connection lost. Your seat is kept. Reconnecting …", ["Try now", () => location.reload()]);
    setTimeout(() => this.connect(), pause);
  }

  send(message) {
    if (this.socket.readyState === WebSocket.OPEN) this.socket.send(JSON.stringify(message));
  }

  take(message) {
    if (message.chat) return this.chat.take(message);
    if (message.hint) return this.hint(message.hint);
    this.failed = 0;
    const { table, game } = message;
    const before = this.frame;
    const asked = before?.game?.ask?.id;
    this.frame = message;
    const ask = game?.ask ?? null;
    if (ask?.id !== asked) [this.option, this.chosenCards] = [null, []];
    if (ask?.id !== this.sent) this.sent = null; // a new match counts from 1
    if (ask && ask.id !== asked && !this.answered(ask, game)) this.alerts.alert(plain(ask.question), true);
    if (before?.table.state === "open" && table.state === "playing") this.alerts.alert("The game starts.", false);
    if (game?.end && !this.ended) {
      remember("games", String(1 + Number(remembered("games"))));
      if (before) this.alerts.alert(plain(game.end), false);
    }
    this.ended = game?.end ?? null;
    this.deadline = ask && ask.clock_s !== null ? performance.now() + 1000 * ask.clock_s : null;
    this.missed(table);
    if (game) this.motion.take(game, `${table.match} ${game.number}`, this.live);
    this.live = true;
    this.show();
  }

  /** Answer a request by the kept answer or by passing, and return whether it is answered. */
  answered(ask, game) {
    const kept = this.kept;
    this.kept = null;
    if (ask.kind === "turn") this.passing = false;
    const pass = ask.options.find((option) => option.letter === "p");
    const same = kept && ask.kind === "block" && kept.game === game.number && kept.turn === game.turn && !ask.proven;
    const wanted = same ? (kept.block ? ask.options.find((option) => option.block === kept.block) : pass) : null;
    const option = wanted ?? (!ask.involved && (this.passing || remembered("autopass") === "on") ? pass : null);
    if (option) this.commit(ask, option.choices[0][0], option);
    return Boolean(option);
  }

  /** Show the player, and no other, that their time ran out, or that the table couldn't be changed. */
  missed({ state, missed, spare, manages, why }) {
    if (manages && why && state !== "void") return this.notice("Your change of the table failed. Try again, or choose another bot.");
    if (!missed || !["playing", "between"].includes(state)) return this.notice(null);
    const next = spare === 1 ? "If your time runs out again, the arena plays your seat until you return." : "Your seat is kept.";
    if (spare === 0) this.notice("Your time ran out several times in a row. The arena plays your seat with safe moves.", ["Take your seat back", () => this.send({ back: true })]);
    else this.notice(`Your time ran out. The arena played a safe move for you (income or pass). ${next}`);
  }

  // ---- fixed parts of the page

  build() {
    const home = read("home");
    this.banner = h("div", { class: "banner", role: "status" });
    this.question = h("h2", { class: "question", "aria-live": "assertive" });
    this.clock = h("span", { class: "timer" });
    this.tip = h("p", { class: "tip" });
    this.words = h("input", { class: "words", maxlength: 200, "aria-label": "Say this with your move", placeholder: "for example: hold duke, attack B", hidden: true });
    this.moves = h("div", { class: "moves", role: "group", "aria-label": "Your moves" });
    this.passButton = h("button", { class: "tool", title: INVOLVED, onclick: () => this.passOn() }, "Pass until my turn");
    const always = h("input", { type: "checkbox", checked: remembered("autopass") === "on", onchange: () => remember("autopass", always.checked ? "on" : "off") });
    this.skipButton = h("button", { class: "tool", onclick: () => this.send({ skip: true }) }, "Continue without absent players");
    this.auto = h("div", { class: "auto", hidden: true }, this.skipButton, this.passButton, h("label", { class: "small muted", title: INVOLVED }, always, "always pass where I'm not involved, even if I could block"));
    this.hand = this.motion.hand;
    this.place = h("div", { class: "place" });
    this.result = h("div", { class: "result" });
    this.paceChoice = h("select", { onchange: () => this.setPace() }, PACES.map((pace) => h("option", { value: pace }, pace)));
    this.hints = dialog("Hint");
    this.rules = dialog("The rules of this game");
    this.help = dialog("Keys");
    this.side = h("div", { class: "lobby-side" });
    this.lobby = new Lobby((message) => this.send(message));
    this.chat = new Chat((message) => this.send(message), (handle) => this.motion.table?.places[this.frame.game.seats.findIndex((seat) => seat.handle === handle)]?.element);
    this.minute = h("details", { class: "panel minute", open: remembered("games") === null }, h("summary", {}, "The game in a minute"), minute(RULES));
    this.hintButton = h("button", { class: "tool", hidden: true, onclick: () => this.send({ hint: true }) }, "Hint");
    this.leaveButton = h("button", { class: "tool", hidden: true, onclick: () => this.leave() }, "Leave");
    this.count = h("span", { class: "muted" });
    this.sure = dialog("Are you sure?", null);
    this.settings = dialog("Settings");
    refill(
      this.settings.text,
      h("label", {}, "Pace of the table ", this.paceChoice),
      h("label", {}, "Sound volume ", this.alerts.volume),
      h("label", {}, this.alerts.notifies, " notify me of my turn, of the start and of the end while I look elsewhere"),
    );
    refill(this.rules.text, h("div", { class: "rules" }, rulesView(RULES)));
    refill(this.help.text, h("dl", { class: "keys" }, KEYS.map(([keys, what]) => [h("dt", {}, keys.map((key) => h("kbd", {}, key))), h("dd", {}, what)])), legend());
    refill(
      document.getElementById("page"),
      h(
        "header",
        {},
        h("h1", {}, home ? h("a", { href: home[0] }, plain(home[1])) : null, home ? " · " : null, document.title, " ", this.count),
        h(
          "div",
          { class: "choices" },
          h("button", { class: "tool", onclick: () => this.rules.box.showModal() }, "Rules"),
          this.hintButton,
          this.alerts.soundButton,
          h("button", { class: "tool", onclick: () => this.settings.box.showModal() }, "Settings"),
          this.leaveButton,
          h("button", { class: "tool", "aria-label": "switch between dark and light", onclick: () => shade() }, "◐"),
          h("button", { class: "tool", "aria-label": "keys", onclick: () => this.help.box.showModal() }, "?"),
        ),
      ),
      this.banner,
      h(
        "main",
        { class: "playing" },
        h(
          "div",
          { class: "board" },
          this.place,
          h(
            "section",
            { class: "panel ask", "aria-label": "What is asked" },
            this.hand,
            h("div", { class: "prompt" }, h("div", { class: "asked" }, this.motion.self, this.clock, this.question), this.motion.news, this.tip, this.words, this.result, this.moves),
            this.auto,
          ),
        ),
        h("div", { class: "beside" }, this.motion.log.element, this.side, this.chat.panel, this.minute),
      ),
      [this.hints, this.rules, this.help, this.settings, this.sure].map((each) => each.box),
    );
  }

  /** Show how likely each player holds each role. */
  hint({ roles, rows, lines }) {
    const likely = (chances) => meters(chances.map((chance, place) => [roles[place], chance]), []);
    refill(
      this.hints.text,
      rows.length ? h("p", { class: "muted" }, "How likely each player holds a role, given the cards that you see.") : null,
      h("dl", { class: "likely" }, rows.map(([name, chances]) => h("div", {}, h("dt", {}, h("bdi", {}, plain(name))), h("dd", {}, likely(chances))))),
      lines.map((line) => h("p", {}, plain(line))),
    );
    if (!this.hints.box.open) this.hints.box.showModal();
  }

  notice(text, action = null) {
    if (text && text === this.noticed) return; // a click on its button may have begun
    this.noticed = text;
    refill(this.banner, text && h("p", {}, text), action && h("button", { onclick: action[1] }, action[0]));
  }

  // ---- display

  show() {
    const { table, game } = this.frame;
    const isLobby = table.state === "open";
    if (isLobby !== this.isLobby) {
      refill(this.place, isLobby ? [this.lobby.root, this.lobby.terms] : this.motion.place);
      if (!isLobby) refill(this.side, this.lobby.root);
    }
    this.isLobby = isLobby;
    this.lobby.show(table, game?.seats);
    this.chat.show(table.state);
    say(this.count, table.games > 1 && game ? `game ${game.number + 1} of ${table.games}` : "");
    const seated = table.places.some((place) => place.you);
    this.hintButton.hidden = !seated;
    this.leaveButton.hidden = !(seated && ["playing", "between"].includes(table.state));
    this.auto.hidden = !seated || table.state !== "playing" || !game || Boolean(game.seats[game.seat]?.out);
    this.skipButton.hidden = !table.skip;
    this.passButton.hidden = !this.canPassOn;
    this.passButton.setAttribute("aria-pressed", String(this.passing));
    this.paceChoice.value = remembered("pace") ?? table.pace;
    const { busy } = this.motion;
    const open = this.open;
    this.auto.hidden ||= open?.kind === "turn";
    if (game && !busy) this.timeWindow(table, game);
    if (game && open) this.drawOffer(game.seats[game.seat], open);
    else if (game) this.motion.drawHand();
    this.aimAtSeats(open);
    say(this.question, this.asked(table, game, open));
    this.words.hidden = !seated || table.talk === "off" || table.state !== "playing";
    refill(this.result, game?.end && !busy && table.state !== "open" ? this.places(game) : null);
    const tip = open && !this.option && Number(remembered(`met-${open.kind}`)) < TIMES ? TIPS[open.kind] : "";
    say(this.tip, [open && !this.option && this.lastCard(open, game), tip].filter(Boolean).join(" "));
    refill(this.moves, open ? this.options(open, game) : busy ? null : this.lobby.steps(table));
    const asked = JSON.stringify([table.state, game?.number, open?.id, this.option?.number]);
    if (asked !== this.shown) this.calm(this.moves);
    this.shown = asked;
    this.alerts.mark(Boolean(open));
    this.tick();
  }

  /** Run a clock for the asked players if people are among them. It never starts or ends at an answer. */
  timeWindow({ match, clock, places }, { number, asked, seats, waiting }) {
    const key = JSON.stringify([match, number, this.motion.count, waiting]);
    if (key === this.window) return;
    const isTimed = this.window && clock && places.some((place) => place.kind === "person" && asked.some((seat) => seats[seat].handle === place.handle));
    this.windowEnd = isTimed ? performance.now() + 1000 * clock.move_s : null;
    this.window = key;
  }

  /** The request that the player can answer now, because all events before it have been shown. */
  get open() {
    const ask = this.frame?.game?.ask;
    return ask && ask.id !== this.sent && !this.motion.busy ? ask : null;
  }

  /** Whether the player may pass until their turn: it isn't their turn, and no move is asked that can't be passed. */
  get canPassOn() {
    const { game } = this.frame;
    return this.open ? this.open.options[0].letter === "p" : Boolean(game) && game.actor !== game.seat;
  }

  /** The warning to a player with one card. */
  lastCard(ask, game) {
    if (game.seats[game.seat].cards.length !== 1) return "";
    const { pending } = this.motion.now;
    const aimed = pending?.action === "assassinate" && pending.target === game.seat && (ask.kind === "block" || ask.blocks.length > 0);
    const doubts = ask.kind === "challenge" ? "If you challenge and are wrong, you are out." : "";
    return [aimed ? "If you pass, you lose your last card and are out." : "", doubts].filter(Boolean).join(" ");
  }

  /** The players in order of rank, with their face-up cards, and the duration of the game. */
  places(game) {
    const { gone } = this.motion;
    const last = game.seats.map((seat, place) => place).filter((place) => !gone.includes(place));
    const rows = [...last, ...gone.toReversed()].map((place) => game.seats[place]);
    const minutes = game.duration_s < 60 ? "" : `${Math.floor(game.duration_s / 60)} min `;
    return [
      h("ol", { class: "places" }, rows.map((seat) => h("li", { class: seat.own ? "own" : null }, h("bdi", {}, plain(seat.name)), " ", seat.revealed.map((role) => card(role, "lost")), seat.out ? null : seat.cards.map((role) => card(role))))),
      h("p", { class: "muted" }, `${game.turn} turns, ${minutes}${game.duration_s % 60} s`),
    ];
  }

  setPace() {
    remember("pace", this.paceChoice.value);
    this.send({ pace: this.paceChoice.value });
  }

  /** Ignore clicks and keys for a moment, because something else was at this position. */
  calm(where) {
    clearTimeout(this.calming);
    this.calmUntil = performance.now() + CALM_MS;
    where.classList.add("early");
    this.calming = setTimeout(() => [this.moves, this.sure.text].forEach((each) => each.classList.remove("early")), CALM_MS);
  }

  asked(table, game, ask) {
    if (table.state === "open") return this.lobby.awaits(table);
    if (table.state === "void") return `The match failed: ${plain(table.why ?? "")}`;
    if (ask) return this.option ? `${title(plain(called(this.option)))}${this.costs()}. Whom?` : plain(ask.question);
    if (game?.end) return this.motion.busy ? "" : plain(game.end);
    if (!game) return "The match is starting.";
    return plain((!this.motion.busy && String(game.asked) !== String(game.seat) && game.waiting) || "Waiting for the other players.");
  }

  /** The cost of the chosen action, as text. */
  costs() {
    const found = new Set(this.card.filter((row) => row.action === this.option.action && row.cost).map((row) => row.cost));
    return found.size ? ` (costs ${[...found].join(" or ")} coins)` : "";
  }

  /** The actions that the player can't pay, as disabled buttons. */
  unpaid(ask, game) {
    const { coins } = game.seats[game.seat];
    const rows = ask.kind === "turn" ? this.card.filter((row, place) => row.cost > coins && this.card.findIndex((each) => each.action === row.action) === place && !ask.options.some((option) => option.action === row.action)) : [];
    return rows.map((row) => [row.action, h("button", { class: "move", disabled: true }, moveSign(row, row), h("span", { class: "what" }, called({ action: row.action, choices: [0, 0] }), claimed(row), h("span", { class: "does" }, `needs ${row.cost} coins`)))]);
  }

  options(ask, game) {
    if (this.option) {
      const back = h("button", { class: "move back", onclick: () => this.choose(null) }, h("kbd", {}, "Esc"), "other moves");
      return [...this.option.choices.map(([index, seat], place) => this.aim(game, index, seat, place)), back];
    }
    const chosen = ask.kind === "exchange" ? this.chosen(ask) : null;
    const count = ask.options[0].cards.length;
    const keep =
      ask.kind === "exchange" &&
      (chosen ? h("button", { class: "move keep", onclick: () => this.choose(chosen) }, plain(chosen.text)) : h("p", { class: "keep" }, `Choose ${count} ${count === 1 ? "card" : "cards"} to keep`));
    const row = (option) => this.card.find((each) => each.action === option.action);
    const others = [...ask.options, ...ask.blocks].map((option) => [
      option.action,
      h(
        "button",
        { class: `move${option.bluff ? " bluff" : ""}`, onclick: () => this.choose(option) },
        h("span", { class: "signs" }, h("kbd", {}, option.action ? option.letter : option.number), moveSign(option, row(option)), option.bluff ? h("span", { class: "tag bluffing" }, "bluff") : null),
        h("span", { class: "what" }, plain(called(option)), claimed(row(option)), " ", price(row(option)?.cost), h("span", { class: "does" }, this.does(option))),
      ),
    ]);
    const order = this.card.map((each) => each.action);
    const all = [...others, ...this.unpaid(ask, game)].toSorted(([one], [other]) => order.indexOf(one) - order.indexOf(other));
    return [keep, ...all.map(([, button]) => button)];
  }

  /** Show the player's cards, as buttons if the open request chooses among them. */
  drawOffer(own, ask) {
    const cards = ask.kind === "draft" ? ask.options.flatMap((option) => option.cards) : [...own.cards, ...own.drawn];
    const button = (role, place) => {
      const option = ask.options.find((each) => each.cards[0] === role);
      if (!option) return card(role);
      const act = ask.kind === "exchange" ? () => this.keep(ask, place) : () => this.choose(option);
      const pressed = ask.kind === "exchange" ? String(this.chosenCards.includes(place)) : null;
      return h("button", { class: "choice", "aria-pressed": pressed, onclick: () => this.late() && act() }, card(role));
    };
    this.motion.drawHand(cards, button);
  }

  /** Select or deselect a card of an exchange; with too many, the first one is deselected. */
  keep(ask, place) {
    const others = this.chosenCards.filter((each) => each !== place);
    this.chosenCards = others.length < this.chosenCards.length ? others : [...others, place].slice(-ask.options[0].cards.length);
    this.show();
    this.hand.children[place].focus();
  }

  /** The option that keeps the chosen cards. */
  chosen(ask) {
    const own = this.frame.game.seats[this.frame.game.seat];
    const key = (cards) => cards.toSorted().join();
    const cards = this.chosenCards.map((place) => [...own.cards, ...own.drawn][place]);
    return ask.options.find((option) => key(option.cards) === key(cards));
  }

  /** Make the possible targets of the chosen action buttons. */
  aimAtSeats(ask) {
    const choices = new Map((ask && this.option ? this.option.choices : []).map(([index, seat]) => [seat, index]));
    this.motion.table?.places.forEach(({ element }, seat) => {
      const index = choices.get(seat);
      element.classList.toggle("aim", index !== undefined);
      element.onclick = index === undefined ? null : () => this.late() && this.answer(index);
    });
  }

  /** Return whether the request has been shown long enough for a click to be meant for it. */
  late() {
    return !this.moves.classList.contains("early");
  }

  does(option) {
    const row = this.card.find((each) => each.action === option.action);
    return row && Number(remembered("games") ?? 0) < TIMES ? row.effect : "";
  }

  aim(game, index, seat, place) {
    const whom = seat === null ? "yourself" : plain(game.seats[seat].name);
    const rows = this.card.filter((row) => row.action === this.option.action); // for oneself, then for a target
    const { coins, cards } = game.seats[seat] ?? {};
    const holds = seat === null ? price(rows[0]?.cost) : h("span", { class: "does" }, `${coins} ${coins === 1 ? "coin" : "coins"}, ${cards.length} ${cards.length === 1 ? "card" : "cards"}`);
    return h("button", { class: "move", onclick: () => this.answer(index) }, h("kbd", {}, String(place + 1)), seat === null ? null : avatar(game.seats[seat].handle), h("span", { class: "what" }, whom, seat === null ? null : holds), seat === null ? holds : null);
  }

  // ---- actions of the player

  choose(option) {
    this.option = option;
    if (!option || option.choices.length > 1) return this.show();
    this.answer(option.choices[0][0], option);
  }

  answer(choice, option = this.option) {
    const { ask } = this.frame.game;
    this.option = null;
    if (!option.risk) return this.commit(ask, choice, option);
    this.confirm(option.risk, "Choose again", plain(option.text), () => this.commit(ask, choice, option));
  }

  /** Start or stop passing until the player's turn, except for moves that involve the player. */
  passOn() {
    if (!this.canPassOn && !this.passing) return;
    this.passing = !this.passing;
    const ask = this.frame?.game?.ask;
    if (this.passing && ask && ask.id !== this.sent && this.answered(ask, this.frame.game)) return;
    this.show();
  }

  confirm(text, no, yes, act) {
    refill(
      this.sure.text,
      h("p", {}, text),
      h("button", { class: "move first", onclick: () => this.sure.box.close() }, no),
      h("button", { class: "move", onclick: act }, yes),
    );
    this.sure.box.showModal();
    this.sure.text.querySelector("button").focus();
    this.calm(this.sure.text);
  }

  leave() {
    this.confirm("You forfeit this game. The others finish it, and then the match ends.", "Stay", "Leave", () => {
      this.sure.box.close();
      this.send({ leave: true });
    });
  }

  /** Send an answer. A block that may follow is kept: the answer to a challenge request is then to pass. */
  commit(ask, choice, option) {
    if (this.sure.box.open) this.sure.box.close();
    const { number, turn } = this.frame.game;
    const later = ask.blocks.includes(option);
    if (later || (ask.blocks.length && option.letter === "p")) this.kept = { game: number, turn, block: later ? option.block : null };
    this.send({ answer: { id: ask.id, choice: later ? ask.options[0].choices[0][0] : choice, say: this.words.value } });
    this.words.value = "";
    remember(`met-${ask.kind}`, String(1 + Number(remembered(`met-${ask.kind}`))));
    this.sent = ask.id;
    this.option = null;
    this.show();
  }

  key(event) {
    const field = event.target.closest?.("select, input");
    if (event.repeat && !field && ["Enter", " "].includes(event.key)) event.preventDefault(); // a repeated key would press a button again
    if (event.repeat || event.ctrlKey || event.altKey || event.metaKey || document.querySelector("dialog[open]")) return;
    if (field) return;
    if (event.key === " " && this.motion.busy && !event.target.closest?.("button, a, summary")) {
      event.preventDefault();
      return this.motion.skip();
    }
    const act = { h: () => this.send({ hint: true }), r: () => this.rules.box.showModal(), "?": () => this.help.box.showModal() }[event.key];
    const move = this.pressed(event.key);
    const other = act ?? { m: () => this.alerts.toggle(), d: () => shade(), u: () => this.passOn() }[event.key];
    if (!move && !other) return;
    event.preventDefault();
    if ((move || event.key === "u") && (!this.late() || event.timeStamp < this.calmUntil)) return;
    (move ?? other)();
  }

  /** Handle a key of a move: moves come first, because their letters are always the same. */
  pressed(key) {
    const ask = this.open;
    if (!ask) {
      const first = this.moves.querySelector("button.first");
      return key === "Enter" && first && !document.activeElement?.closest?.("button, a") ? () => first.click() : null;
    }
    if (this.option) {
      const found = this.option.choices[Number(key) - 1];
      const named = this.option.choices.find(([, seat]) => seat !== null && this.frame.game.seats[seat].handle.toLowerCase() === key);
      if (found || named) return () => this.answer((found ?? named)[0]);
      return key === "Escape" ? () => this.choose(null) : null;
    }
    const option = [...ask.options, ...ask.blocks].find((each) => key === each.number || key === each.letter);
    if (option) return () => this.choose(option);
    const passes = key === "Enter" && ask.options[0].letter === "p" && !document.activeElement?.closest?.("button, a");
    return passes ? () => this.choose(ask.options[0]) : null;
  }

  // ---- time

  tick() {
    const end = this.open ? this.deadline : this.motion.busy ? null : this.windowEnd;
    const left = end ? Math.max(0, end - performance.now()) / 1000 : null;
    say(this.clock, left === null ? "" : `${Math.ceil(left)} s`);
    this.clock.classList.toggle("late", Boolean(this.open) && left !== null && left < 10);
  }
}

/** A move as text, without the targets that are chosen next. */
function called({ action, choices, text }) {
  return action && choices.length > 1 ? action.replace("_", " ") : text;
}

/** The role that an action claims, as text after its name. */
function claimed(row) {
  return row?.claim ? h("span", { class: "claim" }, row.claim.startsWith("no ") ? ` claiming ${row.claim}` : ` as ${row.claim}`) : null;
}

/** Effect, cost and claim of an action, from the action table. */
function does(row) {
  return [row.effect, row.cost && `costs ${row.cost} coins`, row.claim && `claims ${row.claim}`, row.blockers && `stopped by ${row.blockers}`].filter(Boolean).join("; ");
}

function minute({ actions, facts }) {
  const rows = actions.map((row) => h("li", {}, h("b", {}, row.action.replace("_", " ")), `: ${does(row)}`));
  return h("ul", {}, [...MINUTE, ...facts].map((text) => h("li", {}, plain(text))), rows);
}

function dialog(heading, close = h("form", { method: "dialog" }, h("button", {}, "Close"))) {
  const text = h("div", { class: "text" });
  const box = h("dialog", { "aria-label": heading }, h("h2", { tabindex: -1, autofocus: true }, heading), text, close);
  return { box, text };
}

new Play(read("socket"));
