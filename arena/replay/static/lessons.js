// Lessons at the table: frames that the engine made before, in place of a server, and the words between them.

import { card, title } from "./cards.js";
import { plain, read } from "./dom.js";
import { remember, remembered, rememberedValue } from "./memory.js";
import { h } from "./preact.min.js";

const DAY_MS = 86_400_000;
const PACES = { slow: 1.75, normal: 1, fast: 0.5, instant: 0 }; // as those of the server

/** The names of the lessons that this browser has finished. */
const finished = () => rememberedValue("lessons") ?? [];

/**
 * A connection that plays a lesson of the page: `#2` is the second, and no number the list of all. Its messages have
 * `coach` in addition to a frame: {title, text, wrong, more, cards, place, of, next}; `list` in place of both.
 */
export class LessonLine {
  lessons; onclose; onmessage; onopen; play; run;
  readyState = WebSocket.OPEN;

  constructor({ lessons, play }) {
    Object.assign(this, { lessons, play, run: 0 });
    addEventListener("hashchange", () => this.begin());
    setTimeout(() => {
      this.onopen();
      this.begin();
    });
  }

  begin() {
    this.number = Number(location.hash.slice(1)) - 1;
    this.lesson = this.lessons[this.number];
    this.place = 0;
    this.run += 1;
    const list = { done: finished(), play: this.play, lessons: this.lessons.map(({ title, about, theme }) => ({ title, about, theme })) };
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
    const { title, table, parts } = this.lesson;
    const { game, title: heading, say, cards, right } = this.part;
    const last = this.place === parts.length - 1;
    const pace = PACES[remembered("pace")] ?? 1;
    const events = game.events.map((event) => ({ ...event, ms: pace * event.ms }));
    if (last) remember("lessons", JSON.stringify([...new Set([...finished(), title])]));
    const next = last ? { number: this.number + 2, title: this.lessons[this.number + 1]?.title, play: this.play } : null;
    this.coach = { lesson: title, title: heading ?? "", text: say, more: right === undefined, cards, place: this.place + 1, of: parts.length, next };
    this.tell({ table: { ...table, match: this.run }, game: { ...game, events }, coach: this.coach });
  }

  send(text) {
    const { answer, hint, next } = JSON.parse(text);
    if (hint && this.lesson) this.tell({ hint: this.part.hint });
    const why = answer && this.part.why?.[answer.choice];
    if (why) setTimeout(() => this.tell({ coach: { ...this.coach, text: why, wrong: true } }));
    else if (answer || next) setTimeout(() => this.go());
  }

  go() {
    this.place += 1;
    this.show();
  }
}

/** The words of a lesson, once the events before them have been shown. */
export function coachView({ coach, motion, rules }) {
  if (motion.busy) return null;
  const cards = coach.cards && h("ul", { class: "taught" }, rules.roles.map((row) => h("li", { key: row.role }, card(row.role), h("span", {}, h("b", {}, title(row.role)), deeds(row, rules.actions)))));
  const state = coach.wrong ? "coach wrong" : "coach";
  return h("div", { class: state, "aria-live": "polite" }, prose(coach.text), cards, h("progress", { value: coach.place, max: coach.of, "aria-label": "Progress of the lesson" }));
}

/** What a card does, as text. */
function deeds({ allows, blocks }, actions) {
  const called = (action) => action.replace("_", " ");
  const able = allows.map((action) => `${called(action)}: ${actions.find((row) => row.action === action && row.claim).effect}`);
  return plain([...able, blocks.length ? `blocks ${blocks.map(called).join(", ")}` : null].filter(Boolean).join("; "));
}

/** Paragraphs, with **strong** words. */
function prose(text) {
  const words = (line) => line.split("**").map((part, place) => (place % 2 ? h("strong", {}, plain(part)) : plain(part)));
  return text.split("\n\n").map((line) => h("p", {}, words(line.replaceAll("\n", " "))));
}

/** What a learner can do when no move is asked. */
export function coachMoves({ coach }, act) {
  if (!coach.next) return h("button", { class: "move first", key: `next ${coach.place}`, onclick: act(() => act.send({ next: true })) }, "Continue");
  const { number, title, play } = coach.next;
  const link = (href, text, first) => h("a", { class: first ? "move first" : "move", key: href, href }, text);
  return [title ? link(`#${number}`, `Next: ${title}`, true) : null, play ? link(play, "Play now", !title) : null, link("#", "All lessons")];
}

/** The list of all lessons. */
export function lessonsView({ lessons, done, play }) {
  const puzzles = lessons.filter(({ theme }) => theme);
  const daily = puzzles[Math.floor(Date.now() / DAY_MS) % puzzles.length];
  const numbered = (lesson) => item(lesson, lessons.indexOf(lesson));
  const themes = [...new Set(puzzles.map(({ theme }) => theme))].map((theme) => [theme, puzzles.filter((puzzle) => puzzle.theme === theme)]);
  const solved = (part) => `${part.filter(({ title }) => done.includes(title)).length} of ${part.length} solved`;
  const item = ({ title, about, theme }, place) =>
    h(
      "li",
      { key: title },
      h("a", { class: "panel lesson", href: `#${place + 1}` }, h("span", { class: done.includes(title) ? "number done" : "number" }, done.includes(title) ? "✓" : theme ? "?" : String(place + 1)), h("span", {}, h("b", {}, title), h("span", { class: "muted" }, about)), done.includes(title) ? h("span", { class: "unseen" }, "finished") : null),
    );
  return h(
    "main",
    { class: "lessons" },
    h("h2", {}, "Learn by playing"),
    h("p", { class: "muted" }, "Begin with a guided game. Then each lesson takes a minute or two."),
    h("ol", {}, lessons.filter(({ theme }) => !theme).map(numbered)),
    daily ? [h("h2", {}, "Puzzle of the day"), h("ol", {}, numbered(daily)), h("h2", {}, "All puzzles")] : null,
    themes.map(([theme, part]) => h("details", { key: theme }, h("summary", {}, theme, h("span", { class: "muted" }, ` · ${solved(part)}`)), h("ol", {}, part.map(numbered)))),
    play ? h("p", {}, h("a", { class: "move first", href: play }, "Play now")) : null,
  );
}
