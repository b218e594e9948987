// A bar over all moments of a game: a slider, marks above it, thinking time below them.

import { time } from "./cards.js";
import { h, refill } from "./dom.js";

/** The kinds of mark, in the order of their lanes: the word of a moment's `marks`, and what it means. */
export const MARKS = [
  ["challenge", "challenge"],
  ["bluff", "bluff"],
  ["loss", "loss of a card"],
  ["fault", "fault"],
  ["stderr", "standard error"],
];

export class Scrubber {
  /** `go(index)` is called when the slider is moved. */
  constructor(go) {
    this.lanes = h("div", { class: "lanes", "aria-hidden": "true" });
    this.times = h("div", { class: "times", "aria-hidden": "true" });
    this.slider = h("input", {
      type: "range",
      min: 0,
      max: 0,
      step: 1,
      "aria-label": "moment of the game",
      oninput: () => go(Number(this.slider.value)),
    });
    this.element = h("div", { class: "scrubber" }, this.lanes, this.times, this.slider);
  }

  /** Show a game. `marks[k]`: the words of MARKS at moment k; `thought[k]`: its longest answer's time in us. */
  load(marks, thought) {
    const last = Math.max(1, marks.length - 1);
    this.slider.max = marks.length - 1;
    const kinds = MARKS.map(([word]) => word).filter((word) => marks.some((words) => words.includes(word)));
    this.lanes.style.setProperty("--lanes", kinds.length);
    refill(
      this.lanes,
      marks.flatMap((words, index) =>
        words.map((word) => placed(h("i", { class: `mark ${word}` }), index / last, kinds.indexOf(word))),
      ),
    );
    const most = Math.max(1, ...thought);
    refill(
      this.times,
      thought.map((us, index) => {
        if (!us) return null;
        const bar = placed(h("i", { class: "took", title: time(us) }), index / last, 0);
        bar.style.setProperty("--value", (Math.log10(1 + us / 20) / Math.log10(1 + most / 20)).toFixed(3));
        return bar;
      }),
    );
    this.times.title = `thinking time, up to ${time(most)}`;
    this.element.classList.toggle("dense", marks.length > 200);
  }

  /** Move the slider; `text` describes the position. */
  show(index, text) {
    this.slider.value = index;
    this.slider.setAttribute("aria-valuetext", text);
  }
}

function placed(element, share, lane) {
  element.style.setProperty("--share", share.toFixed(4));
  element.style.setProperty("--lane", lane);
  return element;
}
