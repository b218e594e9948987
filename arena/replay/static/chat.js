// The chat of a table: lines of people and spectators, and bubbles at the seats of players that write.

import { h, plain, refill, say } from "./dom.js";

const BUBBLE_MS = 6000;
const MOST = 300;
const MAX_BUBBLE_PX = 80; // the height of a bubble

/** `send` sends a message; `seat(handle)` returns the element of a player's seat, or undefined. */
export class Chat {
  constructor(send, seat) {
    this.send = send;
    this.seat = seat;
    this.lines = h("ol", { class: "lines", tabindex: 0, "aria-live": "polite", "aria-labelledby": "chat-title" });
    this.problem = h("p", { class: "bad", role: "alert" });
    this.input = h("input", { class: "words", maxlength: MOST, "aria-label": "Write to the table", autocomplete: "off", enterkeyhint: "send" });
    this.form = h("form", { class: "write", onsubmit: (event) => this.write(event) }, this.input, h("button", {}, "Send"));
    const title = h("h2", { id: "chat-title" }, "Chat");
    this.panel = h("section", { class: "panel chat", hidden: true, "aria-labelledby": "chat-title" }, title, this.lines, this.problem, this.form);
    document.addEventListener("keydown", (event) => this.key(event));
  }

  /** Take a message: lines, all of them with a `mode`; ids of deleted lines; or a problem with the last line. */
  take({ chat, mode, writes, deleted = [], problem = "" }) {
    if (mode) {
      [this.mode, this.writes] = [mode, writes];
      refill(this.lines);
      this.panel.hidden = false;
    }
    const low = this.lines.scrollHeight - this.lines.scrollTop - this.lines.clientHeight < 40; // unless someone reads above
    for (const line of chat) {
      this.lines.append(h("li", { "data-line": line.id }, h("time", { class: "muted small" }, clock(line.at)), " ", h("b", {}, h("bdi", {}, plain(line.name))), " ", h("bdi", {}, plain(line.text))));
      if (!mode && line.handle) this.bubble(line);
    }
    for (const id of deleted) this.lines.querySelector(`[data-line="${Number(id)}"]`)?.remove();
    if (low) this.lines.scrollTop = this.lines.scrollHeight;
    say(this.problem, plain(problem));
    if (problem && !this.input.value) this.input.value = this.sent ?? "";
    this.show();
  }

  /** Show whether the reader may write now. */
  show(state = this.state) {
    this.state = state;
    const closed = this.mode === "between" && state === "playing";
    this.form.hidden = !this.writes;
    this.input.disabled = closed;
    this.input.placeholder = closed ? "open between games" : "/ to write";
  }

  write(event) {
    event.preventDefault();
    const text = this.input.value.trim();
    if (!text) return;
    this.send({ chat: text });
    [this.sent, this.input.value] = [text, ""];
  }

  bubble({ handle, text }) {
    const seat = this.seat(handle);
    if (!seat) return;
    const above = seat.getBoundingClientRect().top - seat.closest(".felt").getBoundingClientRect().top;
    const bubble = h("p", { class: above < MAX_BUBBLE_PX ? "bubble below" : "bubble", "aria-hidden": "true" }, plain(text));
    seat.querySelector(".bubble")?.remove();
    seat.append(bubble);
    setTimeout(() => bubble.remove(), BUBBLE_MS);
  }

  key(event) {
    if (event.key === "Escape" && event.target === this.input) this.input.blur();
    const busy = event.target.closest?.("input, select, textarea") || document.querySelector("dialog[open]");
    if (event.key !== "/" || busy || event.ctrlKey || event.metaKey || this.panel.hidden || this.form.hidden) return;
    event.preventDefault();
    this.input.focus();
  }
}

function clock(at) {
  return new Date(1000 * at).toLocaleTimeString(undefined, { hour: "2-digit", minute: "2-digit" });
}
