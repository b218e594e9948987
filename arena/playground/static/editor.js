// The editor of the program: Ace behind a few functions, so that another one can take its place.

import { h } from "./elements.js";

const load = (tag, attributes) =>
  new Promise((resolve, reject) => document.head.append(h(tag, { ...attributes, onload: resolve, onerror: () => reject(new Error("The editor can't be loaded.")) })));

/** Make the editor in an element. Returns {text, setText, open, history, mark, onChange}. */
export async function makeEditor(element) {
  await Promise.all([load("script", { src: "./ace.js" }), load("link", { rel: "stylesheet", href: "./ace.css" })]);
  const { ace } = window;
  ace.config.set("useStrictCSP", true);
  const options = { mode: "ace/mode/python", fontSize: 14, tabSize: 4, useSoftTabs: true, useWorker: false, showPrintMargin: false, wrap: true };
  const editor = ace.edit(element, { ...options, enableKeyboardAccessibility: true });
  const { Range } = ace.require("ace/range");
  const dark = matchMedia("(prefers-color-scheme: dark)");
  const root = document.documentElement;
  const paint = () => editor.setTheme((root.dataset.theme ?? (dark.matches ? "dark" : "light")) === "dark" ? "ace/theme/github_dark" : "ace/theme/github");
  paint();
  dark.onchange = paint;
  new MutationObserver(paint).observe(root, { attributes: true });
  new ResizeObserver(() => editor.resize()).observe(element);
  let markers = [];
  return {
    text: () => editor.getValue(),
    setText: (text) => editor.setValue(text, -1),
    /** Show a text, with what can be undone as from `history`, or null. */
    open: (text, history) => (editor.session.setValue(text), history && editor.session.getUndoManager().fromJSON(history)),
    history: () => editor.session.getUndoManager().toJSON(),
    onChange: (act) => editor.session.on("change", act),
    /** Mark the lines of problems, {line, column, message}, in place of those marked before. */
    mark: (problems) => {
      for (const marker of markers) editor.session.removeMarker(marker);
      const placed = problems.filter(({ line }) => line);
      markers = placed.map(({ line }) => editor.session.addMarker(new Range(line - 1, 0, line - 1, 1), "wrong-line", "fullLine"));
      editor.session.setAnnotations(placed.map(({ line, column, message }) => ({ row: line - 1, column: (column ?? 1) - 1, text: message, type: "error" })));
      if (placed.length) editor.gotoLine(placed[0].line, (placed[0].column ?? 1) - 1);
    },
  };
}
