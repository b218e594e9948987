// The chat of a table: lines of people and spectators. A player's line is also a bubble at the seat.

import { plain } from "./dom.js";
import { Following } from "./log.js";
import { h } from "./preact.min.js";

/** The chat before its first message; it is hidden then. */
export const emptyChat = { writes: null, closed: "", max_characters: 0, lines: [], problem: "", sent: "" };

/**
 * The chat after a message: lines, all of them with `writes`; why it is `closed` now; ids of deleted lines; or a
 * problem with the last line. Pure.
 */
export function withMessage(before, { chat, deleted = [], problem = "", ...rules }) {
  const kept = "writes" in rules ? [] : before.lines.filter(({ id }) => !deleted.includes(id));
  return { ...before, ...rules, lines: [...kept, ...chat], problem };
}

/** The panel; `write(text)` sends a line. */
export function chatPanel({ writes, closed, max_characters, lines, problem }, write) {
  const said = lines.map((line) =>
    h("li", { key: line.id }, h("time", { class: "muted small" }, clock(line.at)), " ", h("b", {}, h("bdi", {}, plain(line.name))), " ", h("bdi", {}, plain(line.text))),
  );
  const field = { id: "chat-field", class: "words", maxlength: max_characters, disabled: closed !== "", placeholder: closed || "/ to write" };
  const submit = (event) => {
    event.preventDefault();
    const input = event.target.elements[0];
    if (input.value.trim()) write(input.value.trim());
    input.value = "";
  };
  return h(
    "section",
    { class: "panel chat", hidden: writes === null, "aria-labelledby": "chat-title" },
    h("h2", { id: "chat-title" }, "Chat"),
    h(Following, { of: lines, list: { class: "lines", tabindex: 0, "aria-live": "polite", "aria-labelledby": "chat-title" } }, said),
    h("p", { class: "bad", role: "alert" }, plain(problem)),
    writes ? h("form", { class: "write", onsubmit: submit }, h("input", { ...field, "aria-label": "Write to the table", autocomplete: "off", enterkeyhint: "send" }), h("button", {}, "Send")) : null,
  );
}

function clock(at) {
  return new Date(1000 * at).toLocaleTimeString(undefined, { hour: "2-digit", minute: "2-digit" });
}
