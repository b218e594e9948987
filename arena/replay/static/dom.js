// Elements, text and data of a page. Text goes in as text: nothing here reads HTML.

const SVG = "http://www.w3.org/2000/svg";

/** Make an element: h("button", { class: "quiet", onclick: f }, "text", child, null). */
export function h(tag, attributes, ...children) {
  return filled(document.createElement(tag), attributes, children);
}

/** The same for a part of a drawing. */
export function drawn(tag, attributes, ...children) {
  return filled(document.createElementNS(SVG, tag), attributes, children);
}

function filled(element, attributes, children) {
  for (const [name, value] of Object.entries(attributes ?? {})) {
    if (name.startsWith("on")) element.addEventListener(name.slice(2), value);
    else if (value === true) element.setAttribute(name, "");
    else if (value !== false && value !== null && value !== undefined) element.setAttribute(name, value);
  }
  element.append(...children.flat(Infinity).filter((child) => child !== null && child !== undefined && child !== false));
  return element;
}

/** Put an element's children in place of those it has. */
export function refill(element, ...children) {
  element.replaceChildren(...children.flat(Infinity).filter((child) => child !== null && child !== undefined && child !== false));
}

/** Set an element's text if it is another: unchanged text is neither drawn nor read out again. */
export function say(element, text) {
  if (element.textContent !== text) element.textContent = text;
}

/** Turn dark to light, and back. */
export function shade() {
  const root = document.documentElement;
  const dark = root.dataset.theme ? root.dataset.theme === "dark" : matchMedia("(prefers-color-scheme: dark)").matches;
  root.dataset.theme = dark ? "light" : "dark";
}

/** Return the value that Python's `data(name, value)` put into the page. */
export function read(name) {
  return JSON.parse(document.getElementById(name).textContent);
}

// Controls, marks that turn the direction of writing, halves of surrogate pairs, other blanks than the plain one.
const UNSHOWN = /[\p{C}\p{Zl}\p{Zp}]/gu;

/** Return untrusted text with escapes for invisible characters; `lines`: newlines and tabs stay. */
export function plain(text, lines = false) {
  return String(text).replace(UNSHOWN, (character) => {
    if (lines && (character === "\n" || character === "\t")) return character;
    const code = character.codePointAt(0);
    if (code < 256) return `\\x${code.toString(16).padStart(2, "0")}`;
    return code < 65536 ? `\\u${code.toString(16).padStart(4, "0")}` : `\\U${code.toString(16).padStart(8, "0")}`;
  });
}

/** An untrusted name, isolated from the text around it if its direction differs. */
export function name(text) {
  return h("bdi", { class: "name", title: plain(text) }, plain(text));
}
