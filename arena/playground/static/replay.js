// Shows a replay page over the playground, in a frame with an origin of its own.

import { h } from "./dom.js";

const viewing = document.getElementById("viewing");

/** Show a page made by arena.replay. */
export function openReplay(html) {
  viewing.querySelector("iframe")?.remove();
  viewing.append(h("iframe", { title: "Replay", sandbox: "allow-scripts", srcdoc: html }));
  viewing.showModal();
}

viewing.addEventListener("close", () => viewing.querySelector("iframe")?.remove());
