// Settings and programs that the browser stores for a player. If it stores nothing, each visit is the first.

const PROGRAMS = ["program", "versions", "history"]; // keys that belong to the login of a ladder
const LOGIN = "coup-login"; // the key of the login whose programs may be stored; a ladder's page removes it at the end
let owner = "";

const isForeign = (key) => owner && PROGRAMS.includes(key) && localStorage.getItem(LOGIN) !== owner;
const place = (key) => (owner && PROGRAMS.includes(key) ? `coup-${owner}/${key}` : `coup-${key}`);

export function remembered(key) {
  try {
    return localStorage.getItem(place(key));
  } catch {
    return null;
  }
}

/** Return a stored value, null if there is none or its text isn't JSON. */
export function rememberedValue(key) {
  try {
    return JSON.parse(remembered(key));
  } catch {
    return null;
  }
}

export function remember(key, value) {
  try {
    if (!isForeign(key)) localStorage.setItem(place(key), value);
  } catch {
    // each visit is the first
  }
}

/**
 * Keep programs for a login from now on; "" for none, null if it can't be asked: then the last one.
 * A login without a program gets those that were stored without a login.
 */
export function keepProgramsFor(login) {
  try {
    owner = login ?? localStorage.getItem(LOGIN) ?? "";
    if (!owner) return localStorage.removeItem(LOGIN);
    localStorage.setItem(LOGIN, owner);
    for (const key of remembered("program") === null ? PROGRAMS : []) {
      const value = localStorage.getItem(`coup-${key}`);
      if (value !== null) localStorage.setItem(place(key), value);
      localStorage.removeItem(`coup-${key}`);
    }
  } catch {
    // nothing is stored
  }
}
