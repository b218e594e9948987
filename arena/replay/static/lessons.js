// Lessons at the table: frames that the engine made before, in place of a server, and the words between them.

import { card, title } from "./cards.js";
import { plain } from "./dom.js";
import { remember, remembered, rememberedValue } from "./memory.js";
import { h } from "./preact.min.js";

const DAY_MS = 86_400_000;
const PACES = { slow: 1.75, normal: 1, fast: 0.5, instant: 0 }; // as those of the server

/** The names of the lessons that this browser has finished. */
const finished = () => rememberedValue("lessons") ?? [];

/**
 * A connection that plays a lesson of the page: `#2` is the second, `#today` the puzzle of the day, and no number the list of
 * all. Its messages have `coach` in addition to a frame: {all, lesson, title, text, wrong, tried, more, cards, place, of, next}; `list` in place of both.
 */
export class LessonLine {
  lessons; onclose; onmessage; onopen; play; puzzles;
  readyState = WebSocket.OPEN;
  run = 0;

  constructor({ packed, play, puzzles }) {
    Object.assign(this, { play, puzzles });
    this.open(Uint8Array.from(atob(packed), (character) => character.charCodeAt(0)));
  }

  async open(bytes) {
    this.lessons = await new Response(new Blob([bytes]).stream().pipeThrough(new DecompressionStream("deflate"))).json();
    addEventListener("hashchange", () => this.begin());
    this.onopen();
    this.begin();
  }

  begin() {
    this.number = location.hash === "#today" ? today(this.lessons) : Number(location.hash.slice(1)) - 1;
    this.lesson = this.lessons[this.number];
    this.place = 0;
    this.shown = false;
    this.run += 1;
    const list = { done: finished(), play: this.play, puzzles: this.puzzles, lessons: this.lessons.map(({ title, about, theme }) => ({ title, about, theme })) };
    this.tell({ list: this.lesson ? null : list });
    if (this.lesson) this.show();
  }

  tell(message) {
    this.onmessage({ data: JSON.stringify(message) });
  }

  get part() {
    return this.lesson.parts[this.place];
  }

  show() {
    const { title, table, parts, theme } = this.lesson;
    const { game, title: heading, say, cards, right } = this.part;
    const last = this.place === parts.length - 1;
    const pace = PACES[remembered("pace")] ?? 1;
    const events = game.events.map((event) => ({ ...event, ms: pace * event.ms }));
    if (last && !this.shown) remember("lessons", JSON.stringify([...new Set([...finished(), title])]));
    const next = last ? { number: this.number + 2, title: this.lessons[this.number + 1]?.title, play: this.play, puzzles: this.puzzles } : null;
    this.coach = { all: theme ? "Puzzles" : "Lessons", lesson: title, title: heading ?? "", text: say, more: right === undefined, cards, place: this.place + 1, of: parts.length, next };
    this.tell({ table: { ...table, match: this.run }, game: { ...game, events }, coach: this.coach });
  }

  send(text) {
    const { answer, hint, next } = JSON.parse(text);
    if (next && this.part.right !== undefined) this.shown = true; // the answer of a puzzle
    if (hint && this.lesson) this.tell({ hint: this.part.hint });
    const why = answer && this.part.why?.[answer.choice];
    if (why) {
      const { text, tried = [], task = text } = this.coach;
      this.coach = { ...this.coach, text: why, task, wrong: true, tried: [...tried, answer.choice] };
      setTimeout(() => this.tell({ coach: this.coach }));
    } else if (answer || next) setTimeout(() => this.go());
  }

  go() {
    this.place += 1;
    this.show();
  }
}

/** The words of a lesson, once the events before them have been shown. */
export function coachView({ coach, motion, option, rules }) {
  if (motion.isShowing) return null;
  const cards = coach.cards && h("ul", { class: "taught" }, rules.roles.map((row) => h("li", { key: row.role }, card(row.role), h("span", {}, h("b", {}, title(row.role)), deeds(row, rules.actions)))));
  const wrong = coach.wrong && !option; // a correction ends with the next press
  return h("div", { class: wrong ? "coach wrong" : "coach", "aria-live": "polite" }, prose(wrong ? coach.text : (coach.task ?? coach.text)), cards, h("progress", { value: coach.place, max: coach.of, "aria-label": "Progress of the lesson" }));
}

/** What a card does, as text. */
function deeds({ allows, blocks }, actions) {
  const actionText = (action) => action.replace("_", " ");
  const able = allows.map((action) => {
    const { effect, cost } = actions.find((row) => row.action === action && row.claim);
    return `${actionText(action)}: ${effect}${cost ? ` for ${cost} coins` : ""}`;
  });
  return plain([...able, blocks.length ? `blocks ${blocks.map(actionText).join(", ")}` : null].filter(Boolean).join("; "));
}

/** Paragraphs, with **strong** words. */
function prose(text) {
  const words = (line) => line.split("**").map((part, place) => (place % 2 ? h("strong", {}, plain(part)) : plain(part)));
  return text.split("\n\n").map((line) => h("p", {}, words(line.replaceAll("\n", " "))));
}

/** What a learner can do when no move is asked. */
export function coachMoves({ coach }, actions) {
  if (!coach.next) return h("button", { class: "move first", key: `next ${coach.place}`, onclick: actions.guard(() => actions.send({ next: true })) }, "Continue");
  const { number, title, play, puzzles } = coach.next;
  const link = (href, text, first) => h("a", { class: first ? "move first" : "move", key: href, href }, text);
  return [title ? link(`#${number}`, `Next: ${title}`, true) : null, play ? link(play, "Play a game", !title) : null, puzzles && !title ? link(puzzles, "Puzzles", !play) : null, link("#", `All ${coach.all.toLowerCase()}`)];
}

/** The button with which the solver of a puzzle gives up after a wrong move. */
export function answerButton({ coach, option }, actions) {
  if (!coach.tried || coach.all !== "Puzzles" || option) return null;
  return h("button", { class: "move back", key: "answer", onclick: actions.guard(() => actions.send({ next: true })) }, "Show the answer");
}

/** The place of the puzzle of the day. */
const today = (puzzles) => Math.floor(Date.now() / DAY_MS) % puzzles.length;

/** The list of all lessons, or of all puzzles. */
export function lessonsView({ lessons, done, play, puzzles }) {
  const row = (sign, title, about, href) => {
    const solved = done.includes(title);
    return h(
      "li",
      { key: title },
      h("a", { class: "panel lesson", href }, h("span", { class: solved ? "number done" : "number" }, solved ? "✓" : sign), h("span", {}, h("b", {}, title), h("span", { class: "muted" }, about)), solved ? h("span", { class: "unseen" }, "finished") : null),
    );
  };
  const item = (lesson) => {
    const number = lessons.indexOf(lesson) + 1;
    return row(lesson.theme ? "?" : String(number), lesson.title, lesson.about, `#${number}`);
  };
  const page = (name, about, ...rows) => h("main", { class: "lessons" }, h("h2", {}, name), h("p", { class: "muted" }, about), rows);
  const themes = [...new Set(lessons.map(({ theme }) => theme).filter(Boolean))].map((theme) => [theme, lessons.filter((lesson) => lesson.theme === theme)]);
  const solved = (part) => `${part.filter(({ title }) => done.includes(title)).length} of ${part.length} solved`;
  if (themes.length)
    return page(
      "Find the best move",
      "In each position, one move wins clearly more games than all others.",
      h("ol", {}, row("?", "Puzzle of the day", lessons[today(lessons)].about, "#today")),
      themes.map(([theme, part]) => h("details", { key: theme }, h("summary", {}, theme, h("span", { class: "muted" }, ` · ${solved(part)}`)), h("ol", {}, part.map(item)))),
    );
  return page(
    "Learn by playing",
    "Begin with a guided game. Then each lesson takes a minute or two.",
    h("ol", {}, lessons.map(item)),
    puzzles ? [h("h2", {}, "Puzzles"), h("ol", {}, row("?", "Puzzle of the day", "Find the move that wins most often.", `${puzzles}#today`), row("?", "All puzzles", "A collection by theme.", puzzles))] : null,
    play ? h("p", {}, h("a", { class: "move first", href: play }, "Play now")) : null,
  );
}
