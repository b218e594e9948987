// The chat of a table: lines of people and spectators. A player's line is also a bubble at the seat.

import { plain } from "./dom.js";
import { Following } from "./log.js";
import { h } from "./preact.min.js";

const MOST = 300;

/** The chat before its first message; it is hidden then. */
export const silence = { mode: null, writes: false, lines: [], problem: "", sent: "" };

/**
 * The chat after a message: lines, all of them with a `mode`; ids of deleted lines; or a problem with the last line.
 * Pure.
 */
export function heard(before, { chat, mode, writes, deleted = [], problem = "" }) {
  const kept = mode ? [] : before.lines.filter(({ id }) => !deleted.includes(id));
  return { ...before, ...(mode ? { mode, writes } : {}), lines: [...kept, ...chat], problem };
}

/** The panel; `write(text)` sends a line. It is closed during a game if its mode is "between". */
export function chatPanel({ mode, writes, lines, problem }, state, write) {
  const closed = mode === "between" && state === "playing";
  const said = lines.map((line) =>
    h("li", { key: line.id }, h("time", { class: "muted small" }, clock(line.at)), " ", h("b", {}, h("bdi", {}, plain(line.name))), " ", h("bdi", {}, plain(line.text))),
  );
  const field = { id: "chat-field", class: "words", maxlength: MOST, disabled: closed, placeholder: closed ? "open between games" : "/ to write" };
  const submit = (event) => {
    event.preventDefault();
    const input = event.target.elements[0];
    if (input.value.trim()) write(input.value.trim());
    input.value = "";
  };
  return h(
    "section",
    { class: "panel chat", hidden: mode === null, "aria-labelledby": "chat-title" },
    h("h2", { id: "chat-title" }, "Chat"),
    h(Following, { of: lines, list: { class: "lines", tabindex: 0, "aria-live": "polite", "aria-labelledby": "chat-title" } }, said),
    h("p", { class: "bad", role: "alert" }, plain(problem)),
    writes ? h("form", { class: "write", onsubmit: submit }, h("input", { ...field, "aria-label": "Write to the table", autocomplete: "off", enterkeyhint: "send" }), h("button", {}, "Send")) : null,
  );
}

function clock(at) {
  return new Date(1000 * at).toLocaleTimeString(undefined, { hour: "2-digit", minute: "2-digit" });
}
