// The report of `arena review` on the games: the curve of a bot's chances under the scrubber, its costly decisions, their patterns.

import { percent } from "./cards.js";
import { drawn, h, name, plain, refill, say } from "./dom.js";
import { link, placed } from "./moment.js";

const WIDE = 1000; // of the drawing, which is stretched to the scrubber

/** Return an estimate as text: "92 % (88 to 96)". Pure. */
export function estimated({ value, low, high }) {
  return `${percent(value)} (${Math.round(100 * low)} to ${Math.round(100 * high)})`;
}

export class Review {
  /** `go(index)` is called when the curve is clicked. */
  constructor(review, matches, go) {
    Object.assign(this, { review, matches });
    this.now = drawn("line", { class: "present", y1: 0, y2: 100 });
    this.drawing = drawn("g", {});
    this.words = h("figcaption", {});
    this.plot = drawn(
      "svg",
      { viewBox: `0 0 ${WIDE} 100`, preserveAspectRatio: "none", role: "img", onclick: (event) => this.click(event, go) },
      [0, 50, 100].map((y) => drawn("line", { class: "grid", x1: 0, x2: WIDE, y1: y, y2: y })),
      this.drawing,
      this.now,
    );
    const scale = [100, 50, 0].map((share) => h("span", {}, `${share} %`));
    this.figure = h("figure", { class: "chances" }, this.words, h("div", { class: "plot" }, this.plot, h("div", { class: "scale", "aria-hidden": "true" }, scale)));
    this.here = h("div", {});
    const { bot, costly_decisions: costly, patterns, games, lost, caution } = review;
    this.panel = h(
      "section",
      { class: "panel review", "aria-labelledby": "review-title" },
      h("h2", { id: "review-title" }, "Why ", name(bot), " lost"),
      this.here,
      h(
        "details",
        {},
        h("summary", {}, `All costly decisions (${costly.length}) of ${games === lost ? "" : `the first ${games} of `}${lost} lost games`),
        this.table(costly, true),
      ),
      h("h3", {}, "Patterns, in wins given away in 100 lost games"),
      patterns.length
        ? h("ul", {}, patterns.map(({ cost, text, count }) => h("li", {}, h("strong", {}, cost.value.toFixed(1)), ` (${cost.low.toFixed(1)} to ${cost.high.toFixed(1)}): ${text}, ${count} times`)))
        : h("p", {}, "No pattern stands out."),
      h("p", { class: "muted small" }, caution),
    );
  }

  curve(match, game) {
    return this.review.curves.find((one) => one.match === match.match && one.game === game.game);
  }

  /** The mean win probability of a game: how close it was; -1 where there is none. */
  mean(match, game) {
    const points = this.curve(match, game)?.points ?? [];
    return points.length ? points.reduce((sum, { estimate }) => sum + estimate.value, 0) / points.length : -1;
  }

  click(event, go) {
    const box = this.plot.getBoundingClientRect();
    go(Math.round(((event.clientX - box.left) / box.width) * this.last));
  }

  /** The link to the most costly decision of the page's games, null without one. */
  get first() {
    const [worst] = this.review.costly_decisions;
    return worst ? this.href(worst) : null;
  }

  /** Show the review of a game with these moments. */
  load(match, game, moments) {
    const curve = this.curve(match, game);
    this.figure.hidden = !curve?.points.length;
    const costly = this.review.costly_decisions.filter((one) => one.match === match.match && one.game === game.game);
    refill(this.here, h("h3", {}, "Costly decisions of this game"), costly.length ? this.table(costly, false) : h("p", {}, "No decision was clearly costly."));
    this.points = curve?.points ?? [];
    this.last = game.steps.length;
    this.indexes = this.points.map((point) => placed(moments, point));
    const at = (index) => ((index / this.last) * WIDE).toFixed(1);
    const y = (chance) => (100 - 100 * chance).toFixed(1);
    const line = (end) => this.points.map(({ estimate }, place) => `${at(this.indexes[place])},${y(estimate[end])}`);
    refill(
      this.drawing,
      drawn("polygon", { class: "band", points: [...line("high"), ...line("low").reverse()].join(" ") }),
      drawn("polyline", { class: "line", points: line("value").join(" ") }),
      costly.map((one) => drawn("path", { class: "dear", d: `M${at(placed(moments, one))} ${y(one.win_probability.value)}h0` })),
    );
  }

  /** Mark the present moment. */
  show(index) {
    for (const end of ["x1", "x2"]) this.now.setAttribute(end, ((index / this.last) * WIDE).toFixed(1));
    const place = this.indexes.findLastIndex((one) => one <= index);
    const { estimate, turn } = this.points[Math.max(place, 0)] ?? {};
    const bot = `\u2068${plain(this.review.bot)}\u2069`;
    const told = place < 0 ? "no decision yet" : `${estimated(estimate)} after its decision in turn ${turn}`;
    say(this.words, `${bot} wins: ${told}`);
    this.plot.setAttribute("aria-label", this.words.textContent);
  }

  table(costly, all) {
    return h(
      "div",
      { class: "scroll", tabindex: "0", role: "group", "aria-label": all ? "all costly decisions" : "costly decisions of this game" },
      h(
        "table",
        {},
        h("thead", {}, h("tr", {}, ...[all ? "moment" : "turn", "it chose", "better", "given away"].map((text) => h("th", { scope: "col" }, text)))),
        h(
          "tbody",
          {},
          costly.map((one) =>
            h(
              "tr",
              {},
              h("td", {}, h("a", { href: this.href(one) }, all ? `match ${one.match}, game ${one.game}, turn ${one.turn}` : String(one.turn))),
              h("td", {}, plain(one.move)),
              h("td", {}, plain(one.better_move)),
              h("td", { class: "number" }, estimated(one.cost)),
            ),
          ),
        ),
      ),
    );
  }

  /** The link to a costly decision's moment, in the eyes of the bot. */
  href({ match, game, turn, step, seat }) {
    return link({ match, game, turn, step, seat });
  }
}
