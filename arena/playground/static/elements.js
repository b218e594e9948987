// Elements of the page. Text is inserted as text, never as HTML.

const SVG = "http://www.w3.org/2000/svg";

/** Make an element: h("button", { class: "quiet", onclick: f }, "text", child, null). */
export function h(tag, attributes, ...children) {
  return fill(document.createElement(tag), attributes, children);
}

/** Make an SVG element in the same way. */
export function svg(tag, attributes, ...children) {
  return fill(document.createElementNS(SVG, tag), attributes, children);
}

function fill(element, attributes, children) {
  for (const [name, value] of Object.entries(attributes ?? {})) {
    if (name.startsWith("on")) element.addEventListener(name.slice(2), value);
    else if (value === true) element.setAttribute(name, "");
    else if (value !== false && value !== null && value !== undefined) element.setAttribute(name, value);
  }
  refill(element, ...children);
  return element;
}

/** Replace an element's children. */
export function refill(element, ...children) {
  element.replaceChildren(...children.flat(Infinity).filter((child) => child !== null && child !== undefined && child !== false));
}

/** Set an element's text if it differs: unchanged text is neither drawn nor read out again. */
export function setText(element, text) {
  if (element.textContent !== text) element.textContent = text;
}
