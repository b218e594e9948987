// Elements, text and data of a page. Text is inserted as text, never as HTML.

const SVG = "http://www.w3.org/2000/svg";

/** Make an element: h("button", { class: "quiet", onclick: f }, "text", child, null). */
export function h(tag, attributes, ...children) {
  return filled(document.createElement(tag), attributes, children);
}

/** Make an SVG element in the same way. */
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

/** Replace an element's children. */
export function refill(element, ...children) {
  element.replaceChildren(...children.flat(Infinity).filter((child) => child !== null && child !== undefined && child !== false));
}

/** Set an element's text if it differs: unchanged text is neither drawn nor read out again. */
export function say(element, text) {
  if (element.textContent !== text) element.textContent = text;
}

/** Switch between the dark and the light theme. */
export function shade() {
  const root = document.documentElement;
  const dark = root.dataset.theme ? root.dataset.theme === "dark" : matchMedia("(prefers-color-scheme: dark)").matches;
  root.dataset.theme = dark ? "light" : "dark";
}

/** Return the value that Python's `json_element(name, value)` put into the page. */
export function read(name) {
  return JSON.parse(document.getElementById(name).textContent);
}

// Control characters, direction marks, halves of surrogate pairs, and blanks other than the space.
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
