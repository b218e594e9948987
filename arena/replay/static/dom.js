// The theme, the clipboard, the data and the untrusted text of a page.

/** Switch between the dark and the light theme. */
export function toggleTheme() {
  const root = document.documentElement;
  const dark = root.dataset.theme ? root.dataset.theme === "dark" : matchMedia("(prefers-color-scheme: dark)").matches;
  root.dataset.theme = dark ? "light" : "dark";
}

/** A press of a button copies a text, and the button says so. */
export function copies(text) {
  return ({ target }) => navigator.clipboard.writeText(text).then(() => (target.textContent = "Copied"));
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
