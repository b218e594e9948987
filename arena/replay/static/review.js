// The report of `arena review` on the games: the curve of a bot's chances under the timeline, its costly decisions, their patterns.

import { name, percent, tenths, title } from "./cards.js";
import { head } from "./details.js";
import { plain } from "./dom.js";
import { link, placed } from "./moment.js";
import { h } from "./preact.min.js";
import { chance, knowledge } from "./view.js";

const WIDE = 1000; // of the drawing, which is stretched to the slider
const MAX_ADVICE = 5; // moves of a game

/** Return an estimate as text: "92 % (88 to 96)". Pure. */
export function estimated({ value, low, high }) {
  return `${percent(value)} (${Math.round(100 * low)} to ${Math.round(100 * high)})`;
}

function pointsOf(review, match, game) {
  return review.curves.find((one) => one.match === match.match && one.game === game.game)?.points ?? [];
}

/** The mean win probability of a game: how close it was; -1 where there is none. */
export function mean(review, match, game) {
  const points = pointsOf(review, match, game);
  return points.length ? points.reduce((sum, { estimate }) => sum + estimate.value, 0) / points.length : -1;
}

/** The link to the most costly decision of the page's games, null without one. */
export function firstLink({ costly_decisions: [worst] }) {
  return worst ? href(worst) : null;
}

function costlyOf(review, match, game) {
  return review.costly_decisions.filter((one) => one.match === match.match && one.game === game.game);
}

/** The panel of a review at a game. `home`: the address of the table and its name, or null. */
export function reviewPanel(review, scene, home) {
  if (review.person) return ownPanel(review, scene, home);
  const { match, game } = scene;
  const { bot, costly_decisions: costly, patterns, games, lost, caution } = review;
  const here = costlyOf(review, match, game);
  return h(
    "section",
    { class: "panel review", "aria-labelledby": "review-title" },
    h("h2", { id: "review-title" }, "Why ", name(bot), " lost"),
    h("h3", {}, "Costly decisions of this game"),
    here.length ? costlyTable(here, false) : h("p", {}, "No decision was clearly costly."),
    h(
      "details",
      {},
      h("summary", {}, `All costly decisions (${costly.length}) of ${games === lost ? "" : `the first ${games} of `}${lost} lost games`),
      costlyTable(costly, true),
    ),
    h("h3", {}, "Patterns, in wins given away in 100 lost games"),
    patterns.length
      ? h("ul", {}, patterns.map(({ cost, text, count }) => h("li", {}, h("strong", {}, tenths(cost.value)), ` (${tenths(cost.low)} to ${tenths(cost.high)}): ${text}, ${count} times`)))
      : h("p", {}, "No pattern stands out."),
    h("p", { class: "muted small" }, caution),
  );
}

/** The panel of a player's own games: what cost most, in words. */
function ownPanel(review, scene, home) {
  const here = costlyOf(review, scene.match, scene.game).slice(0, MAX_ADVICE);
  const gain = ({ cost }) => [cost.value, cost.low, cost.high].map((share) => Math.round(100 * share));
  const item = (one) => {
    const [more, low, high] = gain(one);
    return h("li", { key: href(one) }, h("a", { href: href(one), onclick: () => document.querySelector(".felt").scrollIntoView() }, `Turn ${one.turn}`), h("p", {}, `${better(one, scene)}. `, h("span", { class: "muted" }, `About ${more} more wins in 100 games like this (${low} to ${high}).`)));
  };
  return h(
    "section",
    { class: "panel highlights advice", "aria-labelledby": "review-title" },
    h("h2", { id: "review-title" }, "What you could do better"),
    here.length ? h("ul", {}, here.map(item)) : review.decisions ? h("p", {}, "No move of this game was clearly costly.") : null,
    h("p", { class: "muted small" }, review.caution),
    home ? h("a", { href: home[0] }, "Play again at the table") : null,
  );
}

/** A costly decision in words, to the player who took it. */
function better({ kind, turn, step, seat, move, better_move: other }, { match, moments, labels }) {
  if (kind !== "challenge") return plain(`You could have chosen to ${other} rather than to ${move}`);
  const { claims } = moments[placed(moments, { turn, step }) - 1];
  const claim = claims.at(-1);
  const odds = chance(knowledge(moments, match.ruleset, seat)[claim.index].chances[claim.seat], claim.role);
  return `You could have ${other === "challenge" ? "challenged" : "passed"}: ${labels[claim.seat]} held ${/^[aeiou]/.test(claim.role) ? "an" : "a"} ${title(claim.role)} in ${cases(odds)}`;
}

/** A probability as cases of a few, within two percent: "1 of 4 cases". */
function cases(odds) {
  if (odds === 0 || odds === 1) return odds ? "every case" : "no case";
  const of = [2, 3, 4, 5, 6, 8, 10, 20].find((all) => Math.round(odds * all) % all && Math.abs(Math.round(odds * all) / all - odds) < 0.02) ?? 100;
  return `${Math.round(odds * of)} of ${of} cases`;
}

/** The curve of the bot's chances with a moment marked; a click on it calls `go(index)`. Null without one. */
export function curve(review, { match, game, moments }, index, go) {
  const points = pointsOf(review, match, game);
  if (!points.length) return null;
  const last = moments.length - 1;
  const indexes = points.map((point) => placed(moments, point));
  const x = (at) => ((at / last) * WIDE).toFixed(1);
  const y = (chance) => (100 - 100 * chance).toFixed(1);
  const line = (end) => points.map(({ estimate }, place) => `${x(indexes[place])},${y(estimate[end])}`);
  const dear = (one) => h("path", { class: "dear", d: `M${x(placed(moments, one))} ${y(one.win_probability.value)}h0` });
  const place = indexes.findLastIndex((one) => one <= index);
  const { estimate, turn } = points[Math.max(place, 0)];
  const words = `${review.person ? "Your chance of winning" : `\u2068${plain(review.bot)}\u2069 wins`}: ${place < 0 ? "no decision yet" : `${estimated(estimate)} after ${review.person ? "your" : "its"} decision in turn ${turn}`}`;
  const press = (event) => {
    const box = event.currentTarget.getBoundingClientRect();
    go(Math.round(((event.clientX - box.left) / box.width) * last));
  };
  return h(
    "figure",
    { class: "chances" },
    h("figcaption", {}, words),
    h(
      "div",
      { class: "plot" },
      h(
        "svg",
        { viewBox: `0 0 ${WIDE} 100`, preserveAspectRatio: "none", role: "img", "aria-label": words, onclick: press },
        [0, 50, 100].map((at) => h("line", { class: "grid", x1: 0, x2: WIDE, y1: at, y2: at })),
        h("polygon", { class: "band", points: [...line("high"), ...line("low").reverse()].join(" ") }),
        h("polyline", { class: "line", points: line("value").join(" ") }),
        costlyOf(review, match, game).map(dear),
        h("line", { class: "present", x1: x(index), x2: x(index), y1: 0, y2: 100 }),
      ),
      h("div", { class: "scale", "aria-hidden": "true" }, [100, 50, 0].map((share) => h("span", {}, `${share} %`))),
    ),
  );
}

function costlyTable(costly, all) {
  const row = (one) =>
    h(
      "tr",
      {},
      h("td", {}, h("a", { href: href(one) }, all ? `match ${one.match + 1}, game ${one.game + 1}, turn ${one.turn}` : String(one.turn))),
      h("td", {}, plain(one.move)),
      h("td", {}, plain(one.better_move)),
      h("td", { class: "number" }, estimated(one.cost)),
    );
  return h(
    "div",
    { class: "scroll", tabindex: "0", role: "group", "aria-label": all ? "all costly decisions" : "costly decisions of this game" },
    h("table", {}, head(all ? "moment" : "turn", "it chose", "better", "given away"), h("tbody", {}, costly.map(row))),
  );
}

/** The link to a costly decision's moment, in the eyes of the bot. */
function href({ match, game, turn, step, seat }) {
  return link({ match, game, turn, step, seat });
}
