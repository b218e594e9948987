// Events and moves as text, from the message catalogue event_texts.json, as protocol/event_text.py describes them.

const SEATS = ["seat", "target", "claimant"];

/**
 * Return the tellers of a table (protocol/event_texts.json): `tell`, `tellMove`, `tellEnd` and `story`; names are by seat.
 * The seat `you` is addressed in the second person if its name is "you".
 */
export function words(table, you = null) {
  const told = (part, keys, fields, names) => {
    const key = keys.find((candidate) => Object.hasOwn(table[part], candidate));
    return key === undefined
      ? ""
      : SEATS.reduce((text, field) => (you !== null && fields[field] === you ? addressed(text, field) : text), table[part][key]).replace(/\{(\w+)\}/g, (whole, field) => inWords(field, fields, names, table));
  };
  const tell = (event, names) => told("events", eventNames(event), event, names);
  return {
    tell,
    tellMove: (move, names) => told("moves", moveNames(move), move, names),
    /** The reason for a game's end as text; the reason itself if it has no text. */
    tellEnd: (reason) => (Object.hasOwn(table.endings, reason) ? table.endings[reason] : reason),
    /** Several events as one line; changes of coins are omitted unless `coins` is true. */
    story(events, names, coins = false) {
      let line = "";
      for (const event of events) {
        const text = event.event === "coins" && !coins ? "" : tell(event, names);
        if (text) line += (line ? (table.joins[event.event] ?? table.join) : "") + text;
      }
      return line;
    },
  };
}

const IRREGULAR = { is: "are", has: "have", "can't": "can't", "doesn't": "don't", launches: "launch" };

// A text in the second person for the seat in this field.
function addressed(text, field) {
  const verb = (word) => IRREGULAR[word] ?? word.replace(/s$/, "");
  return text
    .replace(`{${field}}'s`, "your")
    .replace(new RegExp(`\\{${field}\\} ([a-z']+)(.*? and )?(keeps|concedes|doesn't)?`), (whole, first, middle, second) =>
      `{${field}} ${verb(first)}${middle ?? ""}${second ? verb(second) : ""}`);
}

// The possible keys of a text, the most specific first.
function eventNames(event) {
  const word = event.event;
  switch (word) {
    case "action":
      return [...(event.target === undefined ? [] : [`action.${event.action}.target`]), `action.${event.action}`, word];
    case "resolved":
      return [`resolved.${event.how}`, word];
    case "say":
      return [`say.${event.says}`, word];
    case "examined": {
      const base = event.replaced ? "examined.replaced" : "examined";
      return [...(event.role === undefined ? [] : [`${base}.role`]), base, word];
    }
    default: {
      if (word === "shown" && event.replaced === false) return ["shown.kept", word];
      const particular = event.cards === undefined ? [] : [`${word}.cards`];
      if (event.held !== undefined) {
        const truth = event.held ? "held" : "lacking"; // where all cards are known
        particular.push(`${word}.${event.role}.${truth}`, `${word}.${truth}`);
      }
      return [...particular, ...(event.role === undefined ? [] : [`${word}.${event.role}`]), word];
    }
  }
}

function moveNames(move) {
  const word = Object.keys(move)[0] ?? "";
  if (word === "action") {
    return [...(move.target === undefined ? [] : [`action.${move.action}.target`]), `action.${move.action}`, word];
  }
  return typeof move[word] === "object" ? [word] : [`${word}.${move[word]}`, word];
}

function inWords(field, fields, names, table) {
  const value = fields[field];
  if (SEATS.includes(field) && typeof value === "number") return names[value];
  if (field === "text") return String(value).replace(/[“”]/g, "'"); // it can't end its own quotation
  if (field === "sides") return value.map((side, seat) => `${names[seat]} (${side})`).join(", ");
  if (field === "delta") return value < 0 ? `${value}` : `+${value}`;
  if (Array.isArray(value)) return value.join(table.and) || "nothing";
  return String(value);
}

/** Return the move that a word of a record's notation stands for ("steal:2"), as in `legal`; null for a forfeit. */
export function moveOf(word) {
  if (word === "#") return null;
  if (Object.hasOwn(SINGLE, word)) return SINGLE[word];
  const [verb, rest] = word.split(":");
  if (verb === "keep") return { keep: rest.split("+") };
  if (["block", "show", "lose", "pick", "side", "reveal"].includes(verb)) return { [verb]: rest };
  return rest === undefined ? { action: verb } : { action: verb, target: Number(rest) };
}

const SINGLE = {
  "-": { pass: true },
  "!": { challenge: true },
  decline: { decline: true },
  keep_shown: { keep_shown: true },
  replace_shown: { keep_shown: false },
  hand_back: { examined: "hand_back" },
  force_swap: { examined: "force_swap" },
};

/** A text that begins a sentence. */
export const start = (text) => text.replace(/^you\b/, "You");
