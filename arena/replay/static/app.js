// The page of recorded matches: it chooses a match, a game, a viewer and a moment.

import { control, percent } from "./cards.js";
import { Answers, claiming, Claims, Stderr, verdict } from "./details.js";
import { h, plain, read, refill, say, shade } from "./dom.js";
import { Games, margin } from "./games.js";
import { Log, stepText } from "./log.js";
import { link, parsed, placed } from "./moment.js";
import { unpacked } from "./packed.js";
import { Review } from "./review.js";
import { MARKS, Scrubber } from "./scrubber.js";
import { fold } from "./state.js";
import { Table } from "./table.js";
import { answers, chance, faults, knowledge, seen } from "./view.js";
import { moveOf, words } from "./words.js";

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

const SPEEDS = [
  [2400, "slow"],
  [1200, "normal"],
  [500, "fast"],
  [120, "very fast"],
];

class App {
  constructor(matches, table, front, review, place) {
    this.matches = matches;
    this.review = review && new Review(review, matches, (index) => this.go(index));
    const [{ bots, viewers }] = matches;
    this.bot = front ?? (viewers?.length === 1 ? bots[viewers[0]] : null); // the bot that the page is about: the list shows how it went out
    this.tellers = (names) => words(table, names.indexOf("you"));
    this.state = { match: 0, game: 0, index: 0, seat: null, truth: front === null }; // seat: as in view.js
    this.eyes = null; // the bot whose knowledge is shown, by name; null: all cards; "": public knowledge
    this.timer = null;
    this.speed = SPEEDS[1][0];
    this.folded = new Map(); // moments by game
    this.build();
    // The event's address, because `note` may have changed the window's.
    window.addEventListener("hashchange", (event) => this.follow(new URL(event.newURL).hash));
    document.getElementById("page").addEventListener("click", (event) => this.click(event));
    document.addEventListener("keydown", (event) => this.key(event));
    const plays = location.hash === "#play" && !matchMedia("(prefers-reduced-motion: reduce)").matches;
    this.follow(location.hash || (place ?? this.review?.first ?? ""));
    if (front !== null && !place && ["", "#", "#play"].includes(location.hash)) this.lookAs(front);
    const start = ([part]) => part.isIntersecting && (seen.disconnect(), this.play(true));
    const seen = new IntersectionObserver(start, { threshold: 0.3 });
    if (plays) seen.observe(this.place);
  }

  get match() {
    return this.matches[this.state.match];
  }

  get game() {
    return this.match.games[this.state.game];
  }

  /** The possible viewers, the first one preselected. A page may contain only a part of the cards. */
  get lookers() {
    const { viewers } = this.match;
    return [...(viewers ? viewers.map((bot) => this.game.seating.indexOf(bot)) : [null, ...this.game.seating.keys()]), -1];
  }

  get truth() {
    return this.state.truth && !this.match.viewers;
  }

  // ---- fixed parts of the page

  build() {
    this.games = new Games(
      this.matches,
      (place) => this.row(place),
      [this.bot === null ? "turns" : "out in turn", this.review ? "mean chance" : "cards left"],
      this.review
        ? "The mean win probability after each decision shows how close a game was."
        : "How close a game was: the cards left to the winner and to the best other player. The longer game comes first if these are equal.",
    );
    this.gameChoice = button("chosen", "", "g", () => this.games.open(this.state), "list of games");
    this.seatChoice = h("select", {
      "aria-label": "whose cards are shown",
      onchange: () => this.look(this.seatChoice.value === "" ? null : Number(this.seatChoice.value)),
    });
    this.truthButton = button("truth", "Truth", "t", () => this.tell(!this.state.truth));
    this.gameBack = iconButton("back", "previous game", "k", () => this.leaf(-1));
    this.gameForth = iconButton("forth", "next game", "j", () => this.leaf(1));
    this.themeButton = iconButton("theme", "switch between dark and light", "d", () => shade());
    this.helpButton = button("help", "?", "?", () => this.help.showModal(), "help");

    this.turnText = h("h2", { class: "turn-text" });
    this.sentence = h("p", { class: "sentence" });
    this.claimText = h("p", { class: "claim-text" });
    this.facts = h("p", { class: "facts muted small" });
    this.place = h("div", { class: "place" }); // the table of the game stands here
    this.scrubber = new Scrubber((index) => this.go(index));
    this.log = new Log();
    this.answers = new Answers();
    this.claims = new Claims();
    this.stderr = new Stderr();
    this.live = h("p", { class: "unseen", "aria-live": "polite" });
    this.position = h("span", { class: "position" });

    this.toStart = iconButton("start", "start of the game", "Home", () => this.go(0));
    this.markBack = iconButton("markback", "previous mark", "p", () => this.jump(-1));
    this.stepBack = iconButton("back", "one step back", "←", () => this.go(this.state.index - 1));
    this.playButton = iconButton("play", "play", "Space", () => this.play(this.timer === null));
    this.stepForth = iconButton("forth", "one step forward", "→", () => this.go(this.state.index + 1));
    this.markForth = iconButton("mark", "next mark", "n", () => this.jump(1));
    this.toEnd = iconButton("end", "end of the game", "End", () => this.go(Infinity));
    this.toStart.classList.add("edge");
    this.toEnd.classList.add("edge");
    this.speedChoice = h("select", { "aria-label": "speed", onchange: () => this.pace(Number(this.speedChoice.value)) });
    refill(
      this.speedChoice,
      SPEEDS.map(([pause, text]) => h("option", { value: pause, selected: pause === this.speed }, text)),
    );

    this.help = help();
    refill(
      document.getElementById("page"),
      h(
        "header",
        {},
        h("h1", {}, document.title),
        h(
          "div",
          { class: "choices" },
          h("span", { class: "group" }, this.gameBack, this.gameChoice, this.gameForth),
          h("span", { class: "group" }, this.seatChoice, this.truthButton),
        ),
        h("span", { class: "group tools" }, this.themeButton, this.helpButton),
      ),
      h(
        "main",
        {},
        this.place,
        h(
          "div",
          { class: "beside" },
          this.review?.panel,
          this.log.element,
          this.answers.element,
          this.stderr.element,
          this.claims.element,
          h("section", { class: "panel below", "aria-label": "the marks of the bar" }, legend()),
        ),
      ),
      h(
        "section",
        { class: "controls", "aria-label": "Moments" },
        this.scrubber.element,
        this.review?.figure,
        h(
          "div",
          { class: "buttons" },
          h(
            "span",
            { class: "group" },
            this.toStart,
            this.markBack,
            this.stepBack,
            this.playButton,
            this.stepForth,
            this.markForth,
            this.toEnd,
          ),
          this.position,
          this.speedChoice,
          legend(),
        ),
      ),
      this.live,
      this.games.element,
      this.help,
    );
  }

  // ---- navigation

  /** Go to the moment in a link's part after "#". Parts that are missing or don't exist stay, or become the first. */
  follow(hash) {
    const asked = parsed(hash);
    const match = Math.max(0, asked.match === null ? 0 : this.matches.findIndex((one) => one.match === asked.match));
    const game = Math.max(0, asked.game === null ? 0 : this.matches[match].games.findIndex((one) => one.game === asked.game));
    this.state.seat = asked.seat;
    this.open(match, game, (moments) => placed(moments, asked));
  }

  /** Follow a link within the page at once: a browser follows it later, or never if `note` changes the address. */
  click(event) {
    const link = event.target.closest('a[href^="#"]');
    if (link === null || event.button || event.ctrlKey || event.metaKey || event.shiftKey || event.altKey) return;
    event.preventDefault();
    const hash = link.getAttribute("href");
    this.note();
    write(hash === location.hash ? "replaceState" : "pushState", hash);
    this.follow(hash);
  }

  /** Show a game at the moment that `where` selects. */
  open(match, game, where = () => 0) {
    const moved = match !== this.state.match || game !== this.state.game || !this.moments;
    Object.assign(this.state, { match, game });
    if (!this.lookers.includes(this.state.seat)) [this.state.seat] = this.lookers;
    const away = this.eyes && !this.match.bots.includes(this.eyes);
    if (this.state.seat !== -1 || !away) this.eyes = this.looker;
    if (moved) this.play(false);
    this.moments = this.unfolded(this.game);
    this.load();
    this.show(where(this.moments));
  }

  unfolded(game) {
    if (!this.folded.has(game)) this.folded.set(game, fold(game));
    return this.folded.get(game);
  }

  leaf(by) {
    const next = this.games.next(this.state, by);
    if (next) this.turnTo(next.game, next.match);
  }

  /** Show another game as the same bot sees it, from its seat there. */
  turnTo(game, match) {
    this.state.seat = this.seatIn(match, game);
    this.open(match, game);
  }

  /** The seat of the viewing bot in a game; -1 if it doesn't play there, for public knowledge. */
  seatIn(match, game) {
    const { bots, games } = this.matches[match];
    return this.eyes === null ? null : games[game].seating.indexOf(bots.indexOf(this.eyes));
  }

  /** The name of the bot whose view is shown: null for all cards, "" for a spectator. */
  get looker() {
    const { seat } = this.state;
    return seat === null ? null : (this.match.bots[this.game.seating[seat]] ?? "");
  }

  /** A game's row of the list. */
  row({ match: at, game: place }) {
    const match = this.matches[at];
    const game = match.games[place];
    const chance = this.review?.mean(match, game);
    const cards = this.review ? null : margin(game, this.unfolded(game).at(-1));
    const end = this.exit(match, game);
    return {
      href: link({ match: this.several(match), game: game.game, turn: end?.turn ?? null, step: end?.within ?? null, seat: this.state.seat === this.lookers[0] ? null : this.seatIn(at, place) }),
      title: this.title(match, game),
      winner: game.winner === null ? null : match.bots[game.seating[game.winner]],
      end: this.tellers([]).tellEnd(game.reason),
      exit: end?.text ?? "",
      turns: end?.turn ?? game.turns,
      closeness: this.review ? (chance < 0 ? "" : percent(chance)) : cards.join(" : "),
      rank: this.review ? chance : game.turns / 1e6 - (cards[0] - cards[1]),
    };
  }

  /** How the page's bot went out of a game: { turn, within, text } of the moment, undefined if it didn't. */
  exit(match, game) {
    const seat = game.seating.indexOf(match.bots.indexOf(this.bot));
    const moments = this.unfolded(game);
    const last = moments.find((moment) => moment.out[seat]);
    if (!last) return undefined;
    const events = moments.slice(0, last.index + 1).flatMap((one) => (one.step && one.turn === last.turn ? seen(one.step.events, seat) : []));
    const names = this.callNames(match, game);
    return { turn: last.turn, within: last.within, text: this.tellers(names).story(events, names) };
  }

  /** The players' names by seat, isolated from the text around them; a person who plays as "you" is addressed. */
  callNames(match, game) {
    return game.seating.map((bot) => (match.bots[bot] === "you" ? "you" : `\u2068${plain(match.bots[bot])}\u2069`));
  }

  title(match, game) {
    return `${this.matches.length > 1 ? `Match ${match.match} · ` : ""}Game ${game.game}`;
  }

  /** Show the view of the bot of this name, in all games; the reader may also show hidden cards. */
  lookAs(name) {
    this.eyes = name;
    this.turnTo(this.state.game, this.state.match);
  }

  look(seat) {
    this.state.seat = seat;
    this.eyes = this.looker;
    this.load();
    this.show(this.state.index);
  }

  tell(truth) {
    this.state.truth = truth;
    this.load();
    this.show(this.state.index);
  }

  go(index) {
    this.show(Math.max(0, Math.min(index, this.moments.length - 1)));
  }

  turn(by) {
    const { turn } = this.moments[this.state.index];
    const begins = this.moments.filter((moment) => moment.index === 0 || moment.within === 0).map((moment) => moment.index);
    const next = by > 0 ? begins.find((index) => index > this.state.index) : begins.findLast((index) => index < this.state.index);
    this.go(next ?? (by > 0 && turn ? this.moments.length - 1 : 0));
  }

  jump(by) {
    // A bot may write at every request, so this doesn't stop the playback.
    const marked = this.marks.flatMap((words, index) => (words.some((word) => word !== "stderr") ? [index] : []));
    const next = by > 0 ? marked.find((index) => index > this.state.index) : marked.findLast((index) => index < this.state.index);
    if (next !== undefined) this.go(next);
  }

  play(on) {
    clearTimeout(this.timer);
    this.timer = null;
    if (on && this.moments) {
      if (this.state.index >= this.moments.length - 1) this.go(0);
      this.timer = setTimeout(() => this.tick(), this.speed);
    }
    refill(this.playButton, control(on ? "pause" : "play"));
    this.playButton.setAttribute("aria-label", on ? "pause" : "play");
  }

  tick() {
    if (!document.hidden) this.go(this.state.index + 1);
    if (this.state.index >= this.moments.length - 1) {
      this.play(false);
      document.dispatchEvent(new Event("replayend"));
    } else this.timer = setTimeout(() => this.tick(), this.speed);
  }

  hasten(by) {
    const place = SPEEDS.findIndex(([pause]) => pause === this.speed) + by;
    if (SPEEDS[place]) this.pace(SPEEDS[place][0]);
  }

  pace(pause) {
    this.speed = pause;
    this.speedChoice.value = pause;
    if (this.timer !== null) this.play(true);
  }

  key(event) {
    if (event.ctrlKey || event.altKey || event.metaKey || this.help.open || this.games.element.open) return;
    const at = event.target;
    if (at.closest?.("select, textarea, input:not([type=range])")) return;
    if (event.key === " " && at.closest?.("button, a, summary, select")) return; // these elements use the key themselves
    const act = {
      ArrowRight: () => (event.shiftKey ? this.turn(1) : this.go(this.state.index + 1)),
      ArrowLeft: () => (event.shiftKey ? this.turn(-1) : this.go(this.state.index - 1)),
      Home: () => this.go(0),
      End: () => this.go(Infinity),
      " ": () => this.play(this.timer === null),
      j: () => this.leaf(1),
      k: () => this.leaf(-1),
      n: () => this.jump(1),
      p: () => this.jump(-1),
      g: () => this.games.open(this.state),
      "+": () => this.hasten(1),
      "=": () => this.hasten(1), // the key of +, without shift
      "-": () => this.hasten(-1),
      v: () => this.look(this.lookers[(this.lookers.indexOf(this.state.seat) + 1) % this.lookers.length]),
      t: () => this.tell(!this.state.truth),
      d: () => shade(),
      "?": () => this.help.showModal(),
    }[event.key];
    if (!act) return;
    event.preventDefault();
    act();
  }

  // ---- a game, as a viewer sees it

  load() {
    const { game, match, moments, truth } = this;
    const { seat } = this.state;
    this.names = game.seating.map((bot) => plain(match.bots[bot]));
    this.told = this.callNames(match, game);
    this.words = this.tellers(this.told);
    this.known = knowledge(moments, match.ruleset, seat);
    this.entries = game.stderr ?? [];
    if (seat !== null) this.entries = this.entries.filter((entry) => entry.seat === seat);
    this.marks = this.marked();
    this.texts = moments.map((moment) => this.text(moment));

    this.choose();
    this.table = new Table(
      game.seating.map((bot) => ({ name: match.bots[bot], handle: match.handles[bot] })),
      Object.keys(match.ruleset.deck),
      Math.max(seat ?? this.names.indexOf("you"), 0),
    );
    refill(this.table.stage, this.turnText, this.sentence, this.claimText, this.facts);
    refill(this.place, this.table.root);
    this.scrubber.load(
      this.marks,
      moments.map((moment) => (moment.step ? Math.max(0, ...answers(moment.step, seat).map((given) => given[2] ?? 0)) : 0)),
    );
    this.log.load(
      moments.map((moment, index) =>
        this.texts[index] || index === 0
          ? {
              turn: index ? moment.turn : 0,
              title: index ? `Turn ${moment.turn} · ${this.told[moment.actor]}` : "Before the game",
              text: index ? this.texts[index] : "The cards are dealt",
              href: this.href(moment),
              marks: this.marks[index].filter((mark) => mark !== "stderr"),
              claims: moments.at(-1).claims.filter((claim) => claim.index === index),
            }
          : null,
      ),
    );
    this.review?.load(match, game, moments);
    const who = this.told[seat] ?? "a spectator";
    const guess = match.ruleset.draft ? " After a draft it is only an estimate." : "";
    this.claims.load(`How likely each claim was for ${who} when it was made, given the visible cards.${guess}`, seat === null || truth, seat !== -1 || truth);
  }

  /** Fill the choices of the header for this match and game. */
  choose() {
    const { game, match } = this;
    const { seat } = this.state;
    const winner = this.winner(game);
    say(this.gameChoice, `${this.title(match, game)} · ${winner ?? "a draw"} ▾`);
    this.gameChoice.setAttribute("aria-label", `${this.gameChoice.textContent.slice(0, -2)}, list of games`);
    this.gameBack.disabled = !this.games.next(this.state, -1);
    this.gameForth.disabled = !this.games.next(this.state, 1);
    refill(
      this.seatChoice,
      this.lookers.map((place) =>
        h("option", { value: place ?? "" }, place === null ? "All cards" : place < 0 ? "Public information" : `Seat ${place}: ${this.names[place]}`),
      ),
    );
    this.seatChoice.hidden = this.lookers.length === 1;
    this.seatChoice.value = seat ?? "";
    this.truthButton.hidden = seat === null || Boolean(match.viewers);
    this.truthButton.setAttribute("aria-pressed", String(this.state.truth));
  }

  /** The winner and "wins", as text; null for a draw. */
  winner(game) {
    const name = this.told[game.winner];
    return name ? addressed(name, "wins") : null;
  }

  several(match = this.match) {
    return this.matches.length > 1 ? match.match : null;
  }

  href(moment) {
    const where = moment.index ? { turn: moment.turn, step: moment.within } : {};
    const { seat } = this.state;
    return link({ match: this.several(), game: this.game.game, ...where, seat: seat === this.lookers[0] ? null : seat });
  }

  /** The words of MARKS at each moment, as far as the viewer may know. */
  marked() {
    const { seat } = this.state;
    const final = this.moments.at(-1).claims;
    const wrote = new Set(this.entries.map((entry) => entry.turn ?? 0));
    return this.moments.map((moment) => {
      const found = new Set(moment.marks);
      if (seat !== null && !this.truth) {
        const told = final.some(
          (claim) => claim.index === moment.index && !claim.honest && (claim.seat === seat || claim.outcome === "caught"),
        );
        if (!told) found.delete("bluff");
      }
      if (moment.step && !faults(moment.step, seat).length) found.delete("fault");
      if (moment.within === 0 && wrote.has(moment.index ? moment.turn : 0)) found.add("stderr");
      return MARKS.map(([word]) => word).filter((word) => found.has(word));
    });
  }

  /** A step as text; "" for a step without text. */
  text(moment) {
    if (!moment.step) return "";
    return stepText(this.words, moment.step.kind, seen(moment.step.events, this.state.seat), this.told);
  }

  // ---- a moment

  show(index) {
    this.state.index = index;
    const { game, match, moments } = this;
    const { seat } = this.state;
    const moment = moments[index];
    const last = index === moments.length - 1;
    const where = index ? `Turn ${moment.turn} · ${this.told[moment.actor]}` : `Game ${game.game}`;
    const text = this.texts[index] || (index ? "…" : `The cards are dealt. ${addressed(this.told[moment.actor], "plays")} first`);

    this.table.show(moments, index, this.known[index], { seat, truth: this.truth });
    say(this.turnText, where);
    say(this.sentence, text);
    refill(this.claimText, this.spoken(moment, last));
    say(
      this.facts,
      [
        `court deck: ${moment.deck}`,
        match.ruleset.reformation ? `treasury reserve: ${moment.reserve}` : "",
        seat !== null && this.truth ? "framed: the player holds it" : "",
        seat === -1 && this.eyes ? `\u2068${plain(this.eyes)}\u2069 isn't in this match: public information` : "",
      ]
        .filter(Boolean)
        .join(" · "),
    );
    const given = moment.step ? answers(moment.step, seat) : [];
    const codes = new Map(moment.step ? faults(moment.step, seat) : []);
    this.answers.show(
      moment.step?.kind ?? null,
      given.map(([giver, word, us]) => ({
        name: match.bots[game.seating[giver]],
        text: this.move(word),
        us,
        fault: codes.get(giver),
      })),
      moment.step ? moment.step.answers.length - given.length : 0,
      index
        ? []
        : (game.unattributed_faults ?? [])
            .filter(([by]) => seat === null || by === seat)
            .map(([by, code, count]) => ({ name: match.bots[game.seating[by]], code, count })),
    );
    this.claims.show(moment.claims, (claim) => this.behind(claim), index);
    const turn = index ? moment.turn : 0;
    this.stderr.show(
      this.entries
        .filter((entry) => (entry.turn ?? 0) === turn)
        .map((entry) => ({ name: match.bots[game.seating[entry.seat]], text: entry.text })),
      index ? `turn ${moment.turn}` : "the start of the game",
      this.entries.length > 0,
    );
    this.log.show(index);
    this.scrubber.show(index, `${where}: ${text}`);
    this.review?.show(index);
    say(this.position, index ? `Turn ${moment.turn} of ${game.turns}` : `The deal, ${game.turns} turns`);
    this.toStart.disabled = this.stepBack.disabled = index === 0;
    this.toEnd.disabled = this.stepForth.disabled = last;
    if (this.timer === null) say(this.live, `${where}: ${text}`);
    clearTimeout(this.noted);
    this.noted = setTimeout(() => this.note(), 250); // browsers refuse an address that changes with every frame
  }

  /** The line below the sentence: the claim of this turn with its odds, or how the game ended. */
  spoken(moment, last) {
    if (last) {
      const winner = this.winner(this.game);
      const reason = this.words.tellEnd(this.game.reason);
      return h("strong", { class: "won" }, `${winner ?? "A draw"}: ${reason}`);
    }
    const claim = moment.claims.at(-1);
    if (!claim || claim.turn !== moment.turn || moment.pending === null) return null;
    const { likely } = this.behind(claim);
    const parts = [addressed(this.told[claim.seat], claiming(claim.role))];
    if (likely !== null) parts.push(`: ${percent(likely)} likely to ${this.told[this.state.seat] ?? "a spectator"}`);
    const truth = this.state.seat === null || this.truth || likely === null;
    return [parts.join(""), truth ? [" · ", verdict(claim.honest)] : null];
  }

  behind(claim) {
    const { index, seat } = claim;
    const likely = seat === this.state.seat ? null : chance(this.known[index].chances[seat], claim.role);
    return { name: this.match.bots[this.game.seating[seat]], likely, href: this.href(this.moments[index]) };
  }

  move(word) {
    const move = moveOf(word);
    return move === null ? "leaves the game" : this.words.tellMove(move, this.told) || word;
  }

  note() {
    write("replaceState", this.href(this.moments[this.state.index]));
  }
}

/** Set the address; `method` decides whether "back" leads to the previous one. */
function write(method, hash) {
  try {
    history[method](null, "", hash);
  } catch {
    // If the browser refuses, the address stays.
  }
}

/** A name with its verb; "you" takes the second person. */
function addressed(name, verb) {
  return `${name} ${name === "you" ? verb.replace(/s\b/, "") : verb}`;
}

function button(word, text, key, onclick, label = text) {
  return h("button", { type: "button", class: word, onclick, title: `${label} (${key})`, "aria-label": label }, text);
}

function iconButton(drawing, label, key, onclick) {
  return h("button", { type: "button", class: "icon", onclick, title: `${label} (${key})`, "aria-label": label }, control(drawing));
}

function legend() {
  return h(
    "ul",
    { class: "legend", "aria-label": "marks" },
    [...MARKS, ["thought", "thinking time"]].map(([word, text]) => h("li", {}, h("i", { class: `mark ${word}` }), text)),
  );
}

function help() {
  const dialog = h(
    "dialog",
    { "aria-labelledby": "help-title" },
    h("h2", { id: "help-title" }, "Keys"),
    h(
      "table",
      {},
      h("tbody", {}, KEYS.map(([keys, text]) => h("tr", {}, h("td", {}, keys.map((key) => [h("kbd", {}, key), " "])), h("td", {}, text)))),
    ),
    h("h2", {}, "Marks"),
    legend(),
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
  return dialog;
}

new App(unpacked(read("matches")), read("words"), read("front"), read("review"), read("place"));
