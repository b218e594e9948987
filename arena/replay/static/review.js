// The report of `arena review` on the games: the curve of a bot's chances under the scrubber, its costly decisions, their patterns.

import { percent } from "./cards.js";
import { drawn, h, name, plain, refill, say } from "./dom.js";
import { link } from "./moment.js";

const WIDE = 1000; // of the drawing, which is stretched to the scrubber

/** Return the indexes of the moments in which a seat made decisions { turn, kind }, in their order. Pure. */
export function indexes(game, seat, decisions) {
  const asked = game.steps.flatMap((step, place) => {
    const own = step.answers.some(([giver]) => giver === seat) && !step.faults?.some(([by]) => by === seat);
    return own ? [{ turn: step.turn, kind: step.kind, index: place + 1 }] : [];
  });
  let next = 0;
  return decisions.map(({ turn, kind }) => {
    const place = asked.findIndex((one, at) => at >= next && one.turn === turn && one.kind === kind);
    if (place >= 0) next = place + 1;
    return asked[place]?.index ?? 0;
  });
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
    return points.length ? points.reduce((sum, { value }) => sum + value, 0) / points.length : -1;
  }

  click(event, go) {
    const box = this.plot.getBoundingClientRect();
    go(Math.round(((event.clientX - box.left) / box.width) * this.last));
  }

  /** Show the review of a game. */
  load(match, game) {
    const curve = this.curve(match, game);
    this.figure.hidden = !curve?.points.length;
    const costly = this.review.costly_decisions.filter((one) => one.match === match.match && one.game === game.game);
    refill(this.here, h("h3", {}, "Costly decisions of this game"), costly.length ? this.table(costly, false) : h("p", {}, "No decision was clearly costly."));
    this.points = curve?.points ?? [];
    this.last = game.steps.length;
    this.indexes = curve ? indexes(game, curve.seat, curve.points) : [];
    const x = (place) => ((this.indexes[place] / this.last) * WIDE).toFixed(1);
    const y = (chance) => (100 - 100 * Math.max(0, Math.min(1, chance))).toFixed(1);
    const line = (sign) => this.points.map(({ value, standard_error: error }, place) => `${x(place)},${y(value + sign * 2 * error)}`);
    refill(
      this.drawing,
      drawn("polygon", { class: "band", points: [...line(1), ...line(-1).reverse()].join(" ") }),
      drawn("polyline", { class: "line", points: line(0).join(" ") }),
      costly.map(({ curve_index: place, win_probability: value }) => drawn("path", { class: "dear", d: `M${x(place)} ${y(value)}h0` })),
    );
  }

  /** Mark the present moment. */
  show(index) {
    for (const end of ["x1", "x2"]) this.now.setAttribute(end, ((index / this.last) * WIDE).toFixed(1));
    const place = this.indexes.findLastIndex((one) => one <= index);
    const { value, standard_error: error, turn } = this.points[Math.max(place, 0)] ?? {};
    const bot = `\u2068${plain(this.review.bot)}\u2069`;
    const told = place < 0 ? "no decision yet" : `${percent(value)} ± ${Math.round(200 * error)} after its decision in turn ${turn}`;
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
              h("td", { class: "number" }, `${Math.round(100 * one.cost)} ± ${Math.round(200 * one.cost_error)} %`),
            ),
          ),
        ),
      ),
    );
  }

  /** The link to a costly decision's moment, in the eyes of the bot. */
  href({ match, game, seat, curve_index: place, turn }) {
    const held = this.matches.find((one) => one.match === match);
    const found = held?.games.find((one) => one.game === game);
    const curve = found && this.curve(held, found);
    if (!curve) return link({ match, game, turn, seat });
    const index = indexes(found, seat, curve.points)[place];
    const first = found.steps.findIndex((step) => step.turn === turn);
    return link({ match, game, turn, step: Math.max(0, index - 1 - first), seat });
  }
}
