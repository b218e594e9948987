// The rules of a game, for the rules page and the dialog of a live table.

import { card, moveSign, price, title } from "./cards.js";
import { plain, read } from "./dom.js";
import { h, render } from "./preact.min.js";

const actionText = (action) => action.replace("_", " ");

/** Return the elements that show the rules; `rules`: from `make_rules_object`. */
export function rulesView(rules, level = "h3") {
  return [
    rules.about && h("p", { class: "muted" }, plain(rules.about)),
    h("p", {}, plain(rules.players)),
    h(level, {}, "Roles"),
    h("ul", { class: "roles" }, rules.roles.map(roleItem)),
    h(level, {}, "Actions"),
    h("ul", { class: "actions" }, rules.actions.map(actionItem)),
    h(level, {}, "Differences from the standard rules"),
    rules.differences.length ? sentences(rules.differences) : h("p", {}, "None: these are the standard rules."),
    h(level, {}, "All rules"),
    rules.sections.map(([heading, texts]) => h("details", { open: heading === "Blocks" }, h("summary", {}, plain(heading)), sentences(texts))),
  ];
}

function roleItem({ role, allows, blocks }) {
  const texts = [allows.length && `allows ${allows.map(actionText).join(", ")}`, blocks.length && `blocks ${blocks.map(actionText).join(", ")}`];
  return h("li", {}, card(role), h("span", {}, texts.filter(Boolean).join("; ") || "has no effect of its own"));
}

function actionItem({ action, effect, cost, claim, blockers }) {
  const marks = [claim && `claims ${claim}`, blockers ? `can be blocked by ${blockers}` : "can't be blocked", !claim && "can't be challenged"];
  return h(
    "li",
    {},
    moveSign({ action }, { claim }),
    h("b", {}, title(actionText(action))),
    price(cost),
    h("p", {}, plain(effect), h("span", { class: "muted small" }, plain(marks.filter(Boolean).join("; ")))),
  );
}

function sentences(texts) {
  return h("ul", {}, texts.map((text) => h("li", {}, plain(text))));
}

const page = document.getElementById("rules-page"); // on the rules page
if (page) {
  const home = read("home");
  const heading = h("h1", {}, home && h("a", { href: home[0] }, plain(home[1])), home && " · ", `Rules: ${plain(read("rules").name)}`);
  render([heading, rulesView(read("rules"), "h2")], page);
}
